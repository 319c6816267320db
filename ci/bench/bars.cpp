// The bars: our simulator against what a user would pick instead, all in one interleaved run.
// Prints one line per bar: name, value, bar, verdict. Exit 1 when a bar is missed, 3 when none was
// measured.
// Usage: retrygate_bars [--rounds N] [--only TEXT] [--large] [--python CMD] [--simcpp20 PROGRAM] PEERS_DIR
//        (PROGRAM: peers/storm_simcpp20.cpp, built)
//        retrygate_bars --storm CLIENTS POLICY RUNS      our own runs alone, for a profiler; prints the
//        requests
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "ci/bench/bar.hpp"
#include "ci/bench/yardsticks.hpp"
#include "policies/named.hpp"
#include "sim/experiments/flaky.hpp"
#include "sim/experiments/occ.hpp"
#include "sim/metrics.hpp"
#include "sim/run.hpp"
#include "sim/sweep.hpp"

namespace retrygate::bench {
namespace {

struct Settings {
  int rounds = 5;
  std::string only, peers;
  std::string python = "/usr/bin/python3", self;
  std::string simcpp20;  // nothing: not there
  bool large = false;    // the runs of 10^6 and 10^7 clients too
};

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// What one round of a contestant says: time of one unit of work, and a result to compare.
struct Score {
  double ns = 0;      // per attempt, or per whole task
  double result = 0;  // mean requests per run; 0 where there is nothing to compare
};
using Contestant = std::function<std::optional<Score>()>;  // nothing: it is not there

// What is written in this file has no mistakes.
template <class T>
T must(Result<T> result) {
  if (result) return std::move(*result);
  fmt::print(stderr, "{}", to_string(result.error()));
  std::exit(4);
}

Scenario storm_scenario(std::int64_t clients) {
  const std::string text = fmt::format(
      "horizon = \"600s\"\nclients = {}\nrequest_latency = \"uniform 200us 2ms\"\nreply_latency = \"uniform "
      "200us 2ms\"\n"
      "stages = [{{ kind = \"outage\", start = \"0s\", length = \"1s\" }}, {{ kind = \"concurrency-limit\", "
      "limit = {} }}, "
      "{{ kind = \"service\", time = \"50ms\" }}]\n",
      clients, std::max<std::int64_t>(1, clients / 10));
  return must(read_scenario("storm", must(parse_toml(text, "storm"))));
}

Scenario queueing_scenario(std::int64_t calls, double rho) {
  const double rate = rho * 20 / 0.05;
  const std::string text = fmt::format(
      "horizon = \"{}s\"\nclients = {}\narrivals = \"poisson\"\nrate_per_s = {}\nattempt_timeout = "
      "\"300ms\"\n"
      "stages = [{{ kind = \"queue\", workers = 20, service = \"exponential 50ms\" }}]\n",
      static_cast<std::int64_t>(static_cast<double>(calls) / rate * 2) + 100, calls, rate);
  return must(read_scenario("queueing", must(parse_toml(text, "queueing"))));
}

const std::vector<std::string> storm_metrics = {"peak_100ms", "peak_1s",  "completion_s",
                                                "gave_up",    "requests", "attempts_max"};

Measures measures(const std::vector<std::string>& ids) {
  std::vector<Metric> wanted;
  for (const std::string& id : ids) wanted.push_back(must(find_metric(id)));
  return measures_for(wanted);
}

// Our own run through the public types, as a sweep calls it: one Runner, one seed after the other.
Contestant ours(const Scenario& scenario, const char* reference, int repetitions,
                const std::vector<std::string>& ids) {
  return [=, policy = must(find_policy(reference, {})), asked = measures(ids)]() -> std::optional<Score> {
    Runner runner;
    RunOptions options;
    options.measures = &asked;
    std::int64_t requests = 0;
    const double begin = now_s();
    for (int i = 0; i < repetitions; ++i)
      requests +=
          runner.run(policy.policy, scenario, Seed{static_cast<std::uint64_t>(i) + 1}, options)->requests;
    const double seconds = now_s() - begin;
    return Score{seconds * 1e9 / static_cast<double>(requests),
                 static_cast<double>(requests) / static_cast<double>(repetitions)};
  };
}

// The study of contention for one row: five policies, 10 to 190 clients.
std::optional<Score> contention() {
  constexpr int repetitions = 10;
  std::int64_t calls = 0;
  const double begin = now_s();
  for (const char* reference :
       {"exponential:base=10ms,cap=2s,max_attempts=1000000",
        "decorrelated:base=5ms,cap=2s,max_attempts=1000000",
        "equal-jitter:base=10ms,cap=2s,max_attempts=1000000",
        "full-jitter:base=10ms,cap=2s,max_attempts=1000000", "immediate:max_attempts=1000000"}) {
    const AnyPolicy policy = must(find_policy(reference, {})).policy;
    for (std::int64_t clients = 10; clients < 200; clients += 10) {
      Contention row(policy, clients);
      for (std::uint64_t seed = 1; seed <= repetitions; ++seed) calls += row.run(Seed{seed}).calls;
    }
  }
  const auto all = static_cast<double>(calls);
  return Score{(now_s() - begin) * 1e9 / all, all / repetitions};
}

// A sweep over seeds on so many threads; time of the whole.
Contestant swept(unsigned threads) {
  return [=, policies = std::vector{must(find_policy("full-jitter", {}))},
          scenarios = std::vector{storm_scenario(200)}]() -> std::optional<Score> {
    std::vector<std::uint64_t> seeds(4000);
    std::iota(seeds.begin(), seeds.end(), 1);
    const double begin = now_s();
    const SampleTable table = must(sweep(policies, scenarios, seeds, storm_metrics, threads));
    return Score{(now_s() - begin) * 1e9, static_cast<double>(table.cells.size())};
  };
}

Contestant yardstick(std::uint64_t clients, Retry retry, int repetitions) {
  return [=]() -> std::optional<Score> {
    std::uint64_t requests = 0;
    const double begin = now_s();
    for (int i = 0; i < repetitions; ++i)
      requests += storm(clients, retry, static_cast<std::uint64_t>(i) + 1).requests;
    const double seconds = now_s() - begin;
    return Score{seconds * 1e9 / static_cast<double>(requests),
                 static_cast<double>(requests) / static_cast<double>(repetitions)};
  };
}

// A program that prints "X ns/attempt [Y ...]". Nothing when it fails to run.
Contestant program(const std::string& command) {
  return [=]() -> std::optional<Score> {
    const auto said = output_of(command + " 2>/dev/null");
    Score score;
    if (!said || std::sscanf(said->c_str(), "%lf ns/attempt %lf", &score.ns, &score.result) < 1)
      return std::nullopt;
    return score;
  };
}

// The median over rounds of peer time / our time must reach `least`. `absent`: the outcome without a peer.
Outcome faster(const Settings& settings, const std::string& name, const Contestant& us,
               const Contestant& peer, double least, double tolerance, Outcome absent) {
  std::vector<double> ratios;
  Score mine, theirs;
  for (int round = 0; round < settings.rounds; ++round) {
    const auto a = us(), b = peer();
    if (!a || !b) return report(name, "-", fmt::format(">= {}x", least), absent);
    mine = *a;
    theirs = *b;
    ratios.push_back(b->ns / a->ns);
  }
  if (mine.result > 0 && theirs.result > 0 && std::abs(mine.result / theirs.result - 1) > tolerance)
    return report(name + ": other results", fmt::format("{:.1f}", mine.result),
                  fmt::format("{:.1f}", theirs.result), Outcome::missed);
  const double ratio = median(ratios);
  return report(name, fmt::format("{:.1f}x", ratio), fmt::format(">= {}x", least),
                ratio >= least ? Outcome::met : Outcome::missed);
}

// Runs the storm alone, and says how many requests it took.
int storm_alone(std::int64_t clients, const char* reference, int runs) {
  const std::optional<Score> score = ours(storm_scenario(clients), reference, runs, storm_metrics)();
  fmt::print("{:.0f}\n", score->result * runs);
  return 0;
}

// Instructions per request by callgrind, which do not depend on what else the machine does: `many` runs less
// one, so that what happens once is not counted.
std::optional<double> instructions(const Settings& settings, std::int64_t clients, const char* reference,
                                   int many) {
  const auto count = [&](int runs) -> std::optional<std::pair<double, double>> {
    const std::string command =
        fmt::format("valgrind --tool=callgrind --callgrind-out-file=/dev/null {} --storm {} {} {} 2>&1",
                    settings.self, clients, reference, runs);
    const auto said = output_of(command);
    const std::size_t found = said ? said->find("Collected : ") : std::string::npos;
    if (found == std::string::npos) return std::nullopt;
    const double collected = std::atof(said->c_str() + found + 12);
    double requests = 0;
    std::istringstream lines(*said);
    for (std::string line; std::getline(lines, line);) std::sscanf(line.c_str(), "%lf", &requests);
    if (collected == 0) return std::nullopt;
    return std::pair(requests, collected);
  };
  const auto one = count(1), all = count(many);
  if (!one || !all) return std::nullopt;
  return (all->second - one->second) / (all->first - one->first);
}

// Peak memory of a process of its own that does the work; nothing if it failed.
std::optional<long> peak_kib(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    work();
    ::_exit(0);
  }
  rusage usage{};
  int status = 0;
  if (child < 0 || ::wait4(child, &status, 0, &usage) != child) return std::nullopt;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return std::nullopt;
  return usage.ru_maxrss;
}

Outcome memory(const std::string& name, std::int64_t clients, const char* reference, double most) {
  const Scenario scenario = storm_scenario(clients);
  const NamedPolicy policy = must(find_policy(reference, {}));
  const auto idle = peak_kib([] {});
  const Measures asked = measures(storm_metrics);
  RunOptions options;
  options.measures = &asked;
  const auto busy = peak_kib([&] {
    if (!run(policy.policy, scenario, Seed{1}, options)) ::_exit(1);
  });
  if (!idle || !busy) return report(name, "failed", fmt::format("<= {} B", most), Outcome::missed);
  const double bytes = static_cast<double>(*busy - *idle) * 1024 / static_cast<double>(clients);
  return report(name, fmt::format("{:.1f} B", bytes), fmt::format("<= {} B", most),
                bytes <= most ? Outcome::met : Outcome::missed);
}

int all(const Settings& settings) {
  fmt::print("{:<44} {:>12} {:>12}\n", "bar", "value", "bar");
  std::vector<Outcome> outcomes;
  const auto want = [&](const std::string& name) { return name.find(settings.only) != std::string::npos; };
  const auto bar = [&](const std::string& name, const Contestant& us, const Contestant& peer, double least,
                       double tolerance = 0.02, Outcome absent = Outcome::skipped) {
    if (want(name)) outcomes.push_back(faster(settings, name, us, peer, least, tolerance, absent));
  };
  const std::string python = settings.python + " " + settings.peers + "/";

  const Contestant small = ours(storm_scenario(200), "full-jitter", 1000, storm_metrics);
  bar("storm, 200 clients: priority_queue", small, yardstick(200, Retry::full, 1000), 3.5);
  // Where it was asked for, its absence is no excuse.
  bar("storm, 200 clients: simcpp20", small,
      settings.simcpp20.empty() ? Contestant([] { return std::nullopt; })
                                : program(settings.simcpp20 + " 200 400"),
      8, 0.02, settings.simcpp20.empty() ? Outcome::skipped : Outcome::missed);
  bar("storm, 200 clients: heapq", small, program(python + "storm_heapq.py 200 40"), 30);
  bar("storm, 200 clients: SimPy", small, program(python + "storm_simpy.py 200 10"), 75, 0.05);
  bar("storm, 200 clients, decorrelated: priority_queue",
      ours(storm_scenario(200), "decorrelated", 1000, storm_metrics),
      yardstick(200, Retry::decorrelated, 1000), 3);
  bar("storm, 10^4 clients: priority_queue", ours(storm_scenario(10'000), "full-jitter", 20, storm_metrics),
      yardstick(10'000, Retry::full, 20), 3.5);
  if (want("storm, 200 clients: two threads")) {
    const Contestant two = swept(2), one = swept(1);
    bar("storm, 200 clients: two threads against one", two, one, 1.75);
  }
  for (const auto& [clients, runs] : {std::pair(200, 21), std::pair(100'000, 2)}) {
    const std::string name = fmt::format("storm, {} clients: instructions a request", clients);
    if (!want(name)) continue;
    const auto counted = instructions(settings, clients, "full-jitter", runs);
    outcomes.push_back(report(name, counted ? fmt::format("{:.0f}", *counted) : "-", "<= 350",
                              !counted          ? Outcome::skipped
                              : *counted <= 350 ? Outcome::met
                                                : Outcome::missed));
  }
  bar("contention for a row, the whole study: Python", contention, program(python + "occ.py 1"), 50, 0.05);
  if (settings.large) {
    bar("storm, 10^6 clients: priority_queue",
        ours(storm_scenario(1'000'000), "full-jitter", 1, storm_metrics),
        yardstick(1'000'000, Retry::full, 1), 7);
    bar("storm, 10^7 clients: priority_queue",
        ours(storm_scenario(10'000'000), "full-jitter", 1, storm_metrics),
        yardstick(10'000'000, Retry::full, 1), 12);
    if (want("storm, 10^7 clients against 10^6")) {
      std::vector<double> growth;
      for (int round = 0; round < settings.rounds; ++round) {
        const auto million = ours(storm_scenario(1'000'000), "full-jitter", 1, storm_metrics)();
        const auto ten = ours(storm_scenario(10'000'000), "full-jitter", 1, storm_metrics)();
        growth.push_back(10 * ten->ns / million->ns);
      }
      outcomes.push_back(report("storm, 10^7 clients against 10^6",
                                fmt::format("{:.1f}x time", median(growth)), "<= 13x",
                                median(growth) <= 13 ? Outcome::met : Outcome::missed));
    }
    if (want("memory a client"))
      outcomes.push_back(memory("memory a client, 10^7, full jitter", 10'000'000, "full-jitter", 32));
    if (want("memory a client"))
      outcomes.push_back(memory("memory a client, 10^7, decorrelated", 10'000'000, "decorrelated", 56));
  }
  bar(
      "flaky service: Python",
      [] {
        std::int64_t attempts = 0, successes = 0;
        constexpr int repetitions = 50;
        const double begin = now_s();
        for (std::uint64_t seed = 1; seed <= repetitions; ++seed) {
          const FlakyResult result = flaky(seed, FlakyVariant::corrected);
          for (const FlakyRow& row : result.rows) attempts += row.attempts;
          successes += result.rows[2].successes;
        }
        return std::optional(Score{(now_s() - begin) * 1e9 / static_cast<double>(attempts),
                                   static_cast<double>(successes) / repetitions});
      },
      program(python + "flaky.py 20"), 30);
  const auto queueing_yardstick = [] {
    const double begin = now_s();
    const Queueing q = queueing(200'000, 0.85, 1);
    return std::optional(
        Score{(now_s() - begin) * 1e9 / static_cast<double>(q.attempts), static_cast<double>(q.attempts)});
  };
  bar("timeouts at a queue, load 0.85: priority_queue",
      ours(queueing_scenario(200'000, 0.85), "full-jitter:max_attempts=4", 1, {"requests", "completed"}),
      queueing_yardstick, 2, 0.05);

  return closing(outcomes);
}

}  // namespace
}  // namespace retrygate::bench

int main(int argc, char** argv) {
  retrygate::bench::Settings settings;
  settings.self = argv[0];
  if (argc == 5 && std::string_view(argv[1]) == "--storm")
    return retrygate::bench::storm_alone(std::atoll(argv[2]), argv[3], std::atoi(argv[4]));
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const auto value = [&] { return ++i < argc ? argv[i] : ""; };
    if (argument == "--rounds")
      settings.rounds = std::max(1, std::atoi(value()));
    else if (argument == "--only")
      settings.only = value();
    else if (argument == "--python")
      settings.python = value();
    else if (argument == "--simcpp20")
      settings.simcpp20 = value();
    else if (argument == "--large")
      settings.large = true;
    else
      settings.peers = argument;
  }
  return retrygate::bench::all(settings);
}
