#include "stats/multiplicity.hpp"

#include <fmt/format.h>

#include "stats/case.hpp"
#include "stats/procedure.hpp"

namespace retrygate::stats {
namespace {

Member adjusted(std::string key, Adjustment adjustment, const std::vector<std::optional<double>>& p,
                std::size_t family) {
  Array values;
  for (const auto& value : adjust(adjustment, p, family)) values.push_back(to_value(value));
  return member(std::move(key), std::move(values));
}

Result<Value> p_adjust(Reader& the_case) {
  const auto p = gappy(the_case, "p");
  std::size_t given = 0;
  for (const auto& value : p) {
    if (!value) continue;
    ++given;
    if (*value < 0 || *value > 1) the_case.fail("p", fmt::format("a p value of {} is none", *value));
  }
  Reader settings = params(the_case);
  const auto family = integer_or(settings, "n", static_cast<std::int64_t>(given),
                                 static_cast<std::int64_t>(given), 1'000'000);
  if (wrong(the_case)) return failure_of(the_case);
  const auto tests = static_cast<std::size_t>(family);
  return to_value(Table{member(Status::ok), adjusted("bonferroni", Adjustment::bonferroni, p, tests),
                        adjusted("holm", Adjustment::holm, p, tests),
                        adjusted("hochberg", Adjustment::hochberg, p, tests),
                        adjusted("hommel", Adjustment::hommel, p, tests),
                        adjusted("BH", Adjustment::benjamini_hochberg, p, tests),
                        adjusted("BY", Adjustment::benjamini_yekutieli, p, tests)});
}

}  // namespace

void add_multiplicity(Shelf<Procedure>& shelf) {
  shelf.add(
      {"p_adjust", "adjusts p values for how many tests were made",
       "valid p values; Hochberg, Hommel and BH: independent or positively dependent",
       "Holm 1979; Hochberg 1988; Hommel 1988; Benjamini and Hochberg 1995; Benjamini and Yekutieli 2001",
       p_adjust});
}

}  // namespace retrygate::stats
