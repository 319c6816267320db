// Boundaries for a few planned looks at accumulating data, so that the chance to reject under the null
// hypothesis is alpha over all looks together.
#pragma once

#include <optional>
#include <vector>

namespace retrygate::stats {

enum class BoundaryShape {
  obrien_fleming,  // critical values constant / sqrt(information): strict early, nearly free at the end
  pocock,          // the same critical value at every look
  spending_obrien_fleming,  // alpha spent as by O'Brien and Fleming, for looks at any times
  spending_pocock,          // the same for Pocock
  spending_power            // alpha * information^gamma
};

struct SequentialPlan {
  BoundaryShape shape = BoundaryShape::obrien_fleming;
  std::vector<double> information{1.0};  // of each look, rising in (0, 1]; the constant shapes end at 1
  double alpha = 0.025;                  // in (0, 0.5) for one side, in (0, 1) for both together
  bool two_sided = false;
  double gamma = 2;  // > 0, of spending_power
};

struct SequentialBoundary {
  std::vector<double> critical;   // of |Z|, of Z when one-sided; infinite where nothing is spent
  std::vector<double> spent;      // chance to have rejected by then
  std::vector<double> nominal_p;  // P(Z > critical)
  std::optional<double> constant;
};

// By numerical integration of the joint law of the test statistics, to about 1e-10.
// Sources: Armitage, McPherson and Rowe 1969; Pocock 1977; O'Brien and Fleming 1979; Lan and DeMets 1983;
// Jennison and Turnbull, "Group Sequential Methods", 2000, chapter 19.
SequentialBoundary group_sequential(const SequentialPlan&);

}  // namespace retrygate::stats
