#include "sim/experiments/flaky.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "policies/base/rng.hpp"
#include "sim/experiments/cpython.hpp"

namespace retrygate {
namespace {

// All times in milliseconds and double, as in the script.
constexpr double latency = 20;
constexpr double spacing = 5.0;
constexpr double window = spacing * (FlakyResult::requests - 1) + latency;

struct Outage {
  double begin, end;
  double reached;  // the latest end of this outage and all before it
};
using Outages = std::vector<Outage>;  // sorted by begin

// Does some outage cover the moment? One asks nearly in order, so the place of the last answer is never far
// off.
class Coverage {
 public:
  explicit Coverage(const Outages& outages) : outages_(outages) {}
  bool down(double now) {
    while (begun_ < outages_.size() && outages_[begun_].begin <= now) ++begun_;
    while (begun_ > 0 && now < outages_[begun_ - 1].begin) --begun_;
    return begun_ > 0 && now < outages_[begun_ - 1].reached;
  }

 private:
  const Outages& outages_;
  std::size_t begun_ = 0;  // outages before or at the moment last asked about
};

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

// Where random numbers come from: CPython's one stream in turn, or keys of (request, attempt).
class Chance {
 public:
  Chance(CPythonRandom& stream, std::uint64_t seed, bool common)
      : stream_(stream),
        common_(common),
        faults_(Seed{seed}, Stream::faults),
        policy_(Seed{seed}, Stream::policy) {}
  double failure(std::int64_t request, int attempt) {
    return common_ ? keyed(faults_, request, attempt) : stream_.random();
  }
  double jitter(std::int64_t request, int attempt) {  // [0.5, 1.5), as random.uniform(0.5, 1.5)
    return 0.5 + (1.5 - 0.5) * (common_ ? keyed(policy_, request, attempt) : stream_.random());
  }

 private:
  static double keyed(const StreamKey& key, std::int64_t request, int attempt) {
    return key.at(static_cast<std::uint64_t>(request), 0, static_cast<std::uint64_t>(attempt)).unit();
  }
  CPythonRandom& stream_;
  bool common_;
  StreamKey faults_, policy_;
};

double wait(Wait kind, std::int64_t request, int attempt, Chance& chance) {
  if (kind == Wait::none) return 0;
  if (kind == Wait::fixed) return 100;
  return std::ldexp(40.0, attempt - 1) * chance.jitter(request, attempt);
}

// sorted[int(q n)] of all successes. Those of first attempts took `latency` each; `later` took longer.
double quantile(std::vector<double>& later, std::int64_t first, double q) {
  const auto n = static_cast<double>(first) + static_cast<double>(later.size());
  if (n == 0) return 0;
  const auto rank = static_cast<std::int64_t>(q * n) - first;
  if (rank < 0) return latency;
  std::nth_element(later.begin(), later.begin() + rank, later.end());
  return later[static_cast<std::size_t>(rank)];
}

struct World {
  const Outages& outages;
  FlakyVariant variant;
  double healthy_failure;
};

FlakyRow run(std::string_view name, Wait kind, int max_attempts, const World& world, Chance& chance) {
  FlakyRow row{.policy = name};
  Coverage coverage(world.outages);
  ForwardCursor cursor(world.outages);
  std::vector<double> later;  // times of the successes that took more than one attempt
  // statistics.mean is exact before its one rounding; long double keeps 10,000 such terms exact enough.
  long double sum_later = 0;
  long double sum_failed = 0;
  for (std::int64_t k = 0; k < FlakyResult::requests; ++k) {
    const double arrival = spacing * static_cast<double>(k);
    double now = arrival;
    for (int attempt = 1; attempt <= max_attempts; ++attempt) {
      ++row.attempts;
      const bool truth = coverage.down(now);
      const bool told = world.variant == FlakyVariant::literal ? cursor.down(now) : truth;
      if (truth) ++row.truly_down;
      if (truth && !told) ++row.answered_up;
      if (!told && !(chance.failure(k, attempt) < world.healthy_failure)) {
        if (attempt == 1) {
          ++row.first_successes;
        } else {
          later.push_back(now + latency - arrival);
          sum_later += later.back();
        }
        break;
      }
      if (attempt < max_attempts)
        now += latency + wait(kind, k, attempt, chance);
      else
        sum_failed += now + latency - arrival;
    }
  }
  row.successes = row.first_successes + static_cast<std::int64_t>(later.size());
  const long double sum = latency * static_cast<long double>(row.first_successes) + sum_later;
  if (row.successes > 0) row.mean_ms = static_cast<double>(sum / static_cast<long double>(row.successes));
  row.mean_all_ms = static_cast<double>((sum + sum_failed) / static_cast<long double>(FlakyResult::requests));
  row.p95_ms = quantile(later, row.first_successes, 0.95);
  row.p99_ms = quantile(later, row.first_successes, 0.99);
  return row;
}

}  // namespace

FlakyResult flaky(std::uint64_t seed, FlakyVariant variant, double healthy_failure) {
  CPythonRandom random(seed);
  Outages outages;
  double t = 0;
  for (int i = 0; i < 300; ++i) {
    t += random.expovariate(1.0 / 2000.0);
    const double end = t + random.uniform(50, 500);
    outages.push_back({t, end, outages.empty() ? end : std::max(outages.back().reached, end)});
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
  const World world{outages, variant, healthy_failure};
  Chance chance(random, seed, variant == FlakyVariant::common);
  const auto play = [&](std::string_view name, Wait kind, int max_attempts) {
    const std::uint64_t before = random.draws();
    FlakyRow row = run(name, kind, max_attempts, world, chance);
    row.draws = random.draws() - before;
    return row;
  };
  result.rows = {play("no-retry", Wait::none, 1), play("fixed-100ms", Wait::fixed, 4),
                 play("backoff-40ms", Wait::backoff, 4)};
  return result;
}

}  // namespace retrygate
