#include "sim/experiments/flaky.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/experiments/cpython.hpp"

namespace retrygate {
namespace {

// All times in milliseconds and double, as in the script.
constexpr double latency = 20;
constexpr double healthy_failure = 0.01;
constexpr double spacing = 5.0;
constexpr double window = spacing * (FlakyResult::requests - 1) + latency;

struct Outage {
  double begin, end;
};
using Outages = std::vector<Outage>;

bool covered(const Outages& outages, double now) {
  return std::any_of(outages.begin(), outages.end(),
                     [&](const Outage& o) { return o.begin <= now && now < o.end; });
}

// The script's down(): a cursor that never goes back.
class ForwardCursor {
 public:
  explicit ForwardCursor(const Outages& outages) : outages_(outages) {}
  bool down(double now) {
    while (at_ < outages_.size() && outages_[at_].end < now) ++at_;
    return at_ < outages_.size() && outages_[at_].begin <= now && now < outages_[at_].end;
  }

 private:
  const Outages& outages_;
  std::size_t at_ = 0;
};

enum class Wait : std::uint8_t { none, fixed, backoff };

double wait(Wait kind, int attempt, CPythonRandom& random) {
  if (kind == Wait::none) return 0;
  if (kind == Wait::fixed) return 100;
  return std::ldexp(40.0, attempt - 1) * random.uniform(0.5, 1.5);
}

double quantile(const std::vector<double>& sorted, double q) {
  return sorted.empty() ? 0 : sorted[static_cast<std::size_t>(q * static_cast<double>(sorted.size()))];
}

FlakyRow run(std::string_view name, Wait kind, int max_attempts, FlakyVariant variant, const Outages& outages,
             CPythonRandom& random) {
  FlakyRow row{.policy = name};
  ForwardCursor cursor(outages);
  std::vector<double> times;
  const std::uint64_t drawn_before = random.draws();
  for (std::int64_t k = 0; k < FlakyResult::requests; ++k) {
    const double arrival = spacing * static_cast<double>(k);
    double now = arrival;
    for (int attempt = 1; attempt <= max_attempts; ++attempt) {
      ++row.attempts;
      const bool truth = covered(outages, now);
      const bool told = variant == FlakyVariant::literal ? cursor.down(now) : truth;
      if (truth) ++row.truly_down;
      if (truth && !told) ++row.answered_up;
      if (!told && !(random.random() < healthy_failure)) {
        times.push_back(now + latency - arrival);
        if (attempt == 1) ++row.first_successes;
        break;
      }
      if (attempt < max_attempts) now += latency + wait(kind, attempt, random);
    }
  }
  row.draws = random.draws() - drawn_before;
  row.successes = static_cast<std::int64_t>(times.size());
  std::sort(times.begin(), times.end());
  // statistics.mean is exact before its one rounding; long double keeps 10,000 such terms exact enough.
  long double sum = 0;
  for (const double t : times) sum += t;
  if (!times.empty()) row.mean_ms = static_cast<double>(sum / static_cast<long double>(times.size()));
  row.p95_ms = quantile(times, 0.95);
  row.p99_ms = quantile(times, 0.99);
  return row;
}

}  // namespace

FlakyResult flaky(std::uint64_t seed, FlakyVariant variant) {
  CPythonRandom random(seed);
  Outages outages;
  double t = 0;
  for (int i = 0; i < 300; ++i) {
    t += random.expovariate(1.0 / 2000.0);
    outages.push_back({t, t + random.uniform(50, 500)});
  }

  FlakyResult result;
  double down = 0;
  double in_union = 0;
  double reached = 0;
  for (const Outage& o : outages) {  // sorted by begin
    if (!(o.begin < window)) break;
    ++result.outages;
    down += o.end - o.begin;
    const double end = std::min(o.end, window);
    in_union += std::max(0.0, end - std::max(o.begin, reached));
    reached = std::max(reached, end);
  }
  result.down_fraction = down / window;
  result.covered_fraction = in_union / window;
  // One stream in turn, as printed: the second policy meets other random failures than the first.
  result.rows = {run("no-retry", Wait::none, 1, variant, outages, random),
                 run("fixed-100ms", Wait::fixed, 4, variant, outages, random),
                 run("backoff-40ms", Wait::backoff, 4, variant, outages, random)};
  return result;
}

}  // namespace retrygate
