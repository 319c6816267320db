#include "ci/calibration/false_alarms.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "policies/named.hpp"
#include "properties/check.hpp"

namespace retrygate {
namespace {

// What became of one invariant of one subject, over seeds.
struct Count {
  std::array<std::size_t, 6> verdicts{};  // by Verdict
  std::size_t of(Verdict v) const { return verdicts.at(static_cast<std::size_t>(v)); }
  std::size_t accusations() const { return of(Verdict::fails) + of(Verdict::broken); }
  void add(const Count& more) {
    for (std::size_t v = 0; v < verdicts.size(); ++v) verdicts.at(v) += more.verdicts.at(v);
  }
};
using Counts = std::vector<Count>;  // by subject, in it by invariant

void count_seed(const std::vector<Subject>& subjects, std::uint64_t seed, Counts& counts) {
  Options options;
  options.seed = Seed{seed};
  std::size_t at = 0;
  for (const Subject& subject : subjects) {
    for (const VerdictRow& row : check(subject, options))
      ++counts.at(at++).verdicts.at(static_cast<std::size_t>(row.verdict));
  }
}

// Seeds first, first + step ... in a process of its own, since RapidCheck is not made for threads. What it
// counts comes out of the pipe that is returned.
int counted_beside(const std::vector<Subject>& subjects, std::size_t first, std::size_t step,
                   std::size_t seeds) {
  std::array<int, 2> ends{};
  RG_ASSERT(::pipe(ends.data()) == 0, std::strerror(errno));
  const pid_t worker = ::fork();
  RG_ASSERT(worker >= 0, std::strerror(errno));
  if (worker > 0) {
    ::close(ends[1]);
    return ends[0];
  }
  ::close(ends[0]);
  Counts counts(subjects.size() * invariants().size());
  for (std::size_t seed = first; seed <= seeds; seed += step) count_seed(subjects, seed, counts);
  const auto* bytes = reinterpret_cast<const char*>(counts.data());
  for (std::size_t left = counts.size() * sizeof(Count); left > 0;) {
    const ssize_t n = ::write(ends[1], bytes, left);
    if (n <= 0) ::_exit(1);
    bytes += n;
    left -= static_cast<std::size_t>(n);
  }
  ::_exit(0);
}

void add_counted(int pipe, Counts& to) {
  Counts more(to.size());
  auto* bytes = reinterpret_cast<char*>(more.data());
  for (std::size_t left = more.size() * sizeof(Count); left > 0;) {
    const ssize_t n = ::read(pipe, bytes, left);
    RG_ASSERT(n > 0, "a process that counts has died");
    bytes += n;
    left -= static_cast<std::size_t>(n);
  }
  ::close(pipe);
  ::wait(nullptr);
  for (std::size_t i = 0; i < to.size(); ++i) to[i].add(more[i]);
}

Counts counted(const std::vector<Subject>& subjects, std::size_t seeds) {
  const std::size_t processes =
      std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, std::max<std::size_t>(1, seeds));
  std::fflush(nullptr);  // or each of them would write it again
  std::vector<int> pipes;
  for (std::size_t p = 1; p <= processes; ++p) pipes.push_back(counted_beside(subjects, p, processes, seeds));
  Counts all(subjects.size() * invariants().size());
  for (const int pipe : pipes) add_counted(pipe, all);
  return all;
}

}  // namespace

std::size_t false_alarms(std::size_t seeds) {
  std::vector<Subject> subjects;
  for (const Preset& preset : presets()) subjects.push_back(subject_of(*find_policy(preset.id, {})));
  const Counts counts = counted(subjects, seeds);
  fmt::print(
      "\nFalse alarms: all {} presets against every invariant that they promise, under {} seeds: stated at "
      "most 1e-9 for a check of one preset.\n\n"
      "| evidence | decided | holds | deviates as listed | unsure | accused |\n"
      "| --- | --- | --- | --- | --- | --- |\n",
      subjects.size(), seeds);
  std::size_t all = 0;
  for (const Evidence evidence : {Evidence::exact, Evidence::statistical}) {
    Count sum;
    std::size_t at = 0;
    for (const Subject& subject : subjects) {
      for (const Invariant& invariant : invariants()) {
        const Count& count = counts.at(at++);
        if (invariant.evidence != evidence) continue;
        sum.add(count);
        if (count.accusations() > 0)
          fmt::print(stderr, "{}: {} accuses it under {} seeds\n", subject.name, invariant.id,
                     count.accusations());
      }
    }
    const std::size_t decided =
        sum.of(Verdict::holds) + sum.of(Verdict::deviates) + sum.of(Verdict::unsure) + sum.accusations();
    fmt::print("| {} | {} | {} | {} | {} | {}{} |\n", to_string(evidence), decided, sum.of(Verdict::holds),
               sum.of(Verdict::deviates), sum.of(Verdict::unsure), sum.accusations(),
               sum.accusations() > 0 ? " **not kept**" : "");
    all += sum.accusations();
  }
  std::fflush(stdout);
  return all;
}

}  // namespace retrygate
