// The bars of statistics: resampling and exact laws against SciPy and R, on the same numbers, one thread
// each, in one interleaved run. Every row also compares the answers. Prints one line per bar: name, value,
// bar, verdict; exit 1 when a bar is missed or answers differ, 3 when none was measured. Usage:
// retrygate_statistics_bars [--rounds N]
// [--only TEXT] [--python CMD] [--r CMD] PEERS_DIR
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "ci/bench/bar.hpp"
#include "stats/mann_whitney.hpp"
#include "stats/permutation.hpp"
#include "stats/resample.hpp"

namespace retrygate::bench {
namespace {

// One round of a contestant: how long the work took, and what came out.
struct Run {
  double seconds = 0;
  std::vector<double> answers;
};
using Contestant = std::function<std::optional<Run>()>;  // nothing: it is not there

Contestant timed(const std::function<std::vector<double>()>& work) {
  return [work]() -> std::optional<Run> {
    const auto now = [] { return std::chrono::steady_clock::now(); };
    const auto begin = now();
    std::vector<double> answers = work();
    return Run{std::chrono::duration<double>(now() - begin).count(), std::move(answers)};
  };
}

// A program that prints the seconds of its work and then the answers. Nothing when it fails to run.
Contestant program(const std::string& command) {
  return [command]() -> std::optional<Run> {
    const auto text = output_of(command + " 2>/dev/null");
    if (!text) return std::nullopt;
    std::istringstream numbers(*text);
    Run run;
    if (!(numbers >> run.seconds)) return std::nullopt;
    for (double answer; numbers >> answer;) run.answers.push_back(answer);
    return run;
  };
}

struct Bar {
  std::string name;
  Contestant ours, peer;
  double least;    // the median over rounds of peer time / our time
  double allowed;  // between two answers
};

Outcome race(const Bar& bar, int rounds) {
  std::vector<double> ratios;
  const std::string wanted = fmt::format(">= {}x", bar.least);
  for (int round = 0; round < rounds; ++round) {
    const auto ours = bar.ours(), theirs = bar.peer();
    if (!ours || !theirs) return report(bar.name, "-", wanted, Outcome::skipped);
    bool same = ours->answers.size() == theirs->answers.size() && !ours->answers.empty();
    double most = 0;
    for (std::size_t i = 0; same && i < ours->answers.size(); ++i)
      most = std::max(most, std::abs(ours->answers[i] - theirs->answers[i]));
    if (!same || !(most <= bar.allowed))
      return report(bar.name + ": other answers", fmt::format("off {:.2g}", most),
                    fmt::format("<= {:.2g}", bar.allowed), Outcome::missed);
    ratios.push_back(theirs->seconds / ours->seconds);
  }
  const double ratio = median(ratios);
  return report(bar.name, fmt::format("{:.1f}x", ratio), wanted,
                ratio >= bar.least ? Outcome::met : Outcome::missed);
}

std::vector<double> exponential(std::size_t n, Rng& rng, double shift = 0) {
  std::vector<double> x;
  for (std::size_t i = 0; i < n; ++i) x.push_back(shift - std::log1p(-rng.unit()));
  return x;
}

// One sample a line, all digits.
void write_samples(const std::filesystem::path& path, const std::vector<std::vector<double>>& samples) {
  std::ofstream file(path);
  for (const auto& sample : samples) file << fmt::format("{:.17g}\n", fmt::join(sample, ","));
}

int all(int rounds, const std::string& only, const std::string& python, const std::string& r) {
  std::string folder = (std::filesystem::temp_directory_path() / "retrygate-bars-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return 4;
  Rng rng(Seed{1});
  std::vector<std::vector<double>> eight;
  std::vector<stats::Pairs> metrics;
  for (int m = 0; m < 8; ++m) {
    eight.push_back(exponential(200, rng));
    metrics.push_back({std::vector<double>(200, 0), eight.back(), false});
  }
  const std::vector<std::vector<double>> two = {exponential(100, rng), exponential(100, rng, 0.2)},
                                         large = {exponential(200, rng), exponential(200, rng, 0.1)};
  const auto file = [&](const std::string& name, const std::vector<std::vector<double>>& samples) {
    write_samples(std::filesystem::path(folder) / name, samples);
    return " " + (std::filesystem::path(folder) / name).string();
  };
  const std::string of_eight = file("eight.csv", eight), of_two = file("two.csv", two),
                    of_large = file("large.csv", large);

  // The studentised bootstrap: its 5 % and 95 % points of each metric. The peers' timed work is only the
  // plain bootstrap of the means; what they need for the answers is not timed. Allowed: 6 standard errors of
  // the difference of two 95 % points of 10,000 draws, whose law has a density of at least 0.08 there.
  const Contestant bootstrap = timed([&] {
    std::vector<double> points;
    for (const stats::Studentized& s : stats::bootstrap_t(metrics, 10'000, Seed{1}, 1)) {
      points.push_back(s.replicates[500]);
      points.push_back(s.replicates[9500]);
    }
    return points;
  });
  const double of_points = 6 * std::sqrt(2 * 0.05 * 0.95 / 10'000) / 0.08;
  const Contestant permutation = timed([&] {
    return std::vector{
        stats::permute_difference(two[0], two[1], stats::Centre::mean, {1'000'000, Seed{1}, 1}).p_value};
  });
  const Contestant mann_whitney =
      timed([&] { return std::vector{stats::mann_whitney_exact(large[0], large[1])->p_value}; });
  const std::vector<Bar> bars = {
      {"bootstrap-t, 8 metrics x 200 x 10^4: SciPy", bootstrap, program(python + "bootstrap" + of_eight), 8,
       of_points},
      {"bootstrap-t, 8 metrics x 200 x 10^4: R boot", bootstrap, program(r + "bootstrap" + of_eight), 20,
       of_points},
      // 6 standard errors of the difference of two shares of 10^6 draws, doubled for two sides.
      {"permutation test, 10^6 draws: SciPy", permutation, program(python + "permutation" + of_two), 10,
       6 * std::sqrt(2 * 0.25 / 1e6) * 2},
      {"Mann-Whitney, exact, 200 + 200: R", mann_whitney, program(r + "mann-whitney" + of_large), 10, 1e-12}};
  std::vector<Outcome> outcomes;
  fmt::print("{:<44} {:>12} {:>12}\n", "bar of statistics", "value", "bar");
  for (const Bar& bar : bars) {
    if (bar.name.find(only) != std::string::npos) outcomes.push_back(race(bar, rounds));
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return closing(outcomes);
}

}  // namespace
}  // namespace retrygate::bench

int main(int argc, char** argv) {
  int rounds = 5;
  std::string only, peers, python = "/usr/bin/python3", r = "Rscript";
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const auto value = [&] { return ++i < argc ? argv[i] : ""; };
    if (argument == "--rounds")
      rounds = std::max(1, std::atoi(value()));
    else if (argument == "--only")
      only = value();
    else if (argument == "--python")
      python = value();
    else if (argument == "--r")
      r = value();
    else if (argument != "--large")  // of the other bars
      peers = argument;
  }
  return retrygate::bench::all(rounds, only, python + " " + peers + "/scipy_peer.py ",
                               r + " " + peers + "/boot_peer.R ");
}
