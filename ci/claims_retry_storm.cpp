// 200 clients start together against a server that is down for 1 s and then takes 20 at a time.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ci/claims.hpp"
#include "sim/experiments/calls.hpp"
#include "sim/experiments/published.hpp"

namespace retrygate::ci {
namespace {

const std::vector<std::string> policies = {"immediate",   "fixed",        "exponential",
                                           "full-jitter", "equal-jitter", "decorrelated"};

// The published run was made on a laptop. It lies between two models: zero latency (ideal), and a local
// network with a front of 0.1 ms a request and replies of 12 ms (lan). Clients without jitter spread a
// little when a request costs more; that decides how many slots free within one burst, so for them a
// curve of costs, 0.25 to 0.4 ms, with replies of 18 ms (busy).
struct Storm {
  Played ideal, lan;
  std::vector<Played> busy;
  Played small;  // ideal, 20 clients
  Played slow;   // 0.5 ms a request
};

Played with_front(int us, const char* reply, const std::vector<std::string>& which) {
  return Played("outage-then-limit",
                {fmt::format("front_service={}us", us), fmt::format("reply_latency={}", reply)}, which,
                {1, 2});
}

Storm play(const Seeds& seeds) {
  Storm storm{Played("outage-then-limit", {}, policies, seeds),
              Played("outage-then-limit-lan", {}, policies, seeds),
              {},
              Played("outage-then-limit", {"clients=20"}, policies, seeds),
              with_front(500, "0ms", {"immediate"})};
  for (int us = 250; us <= 400; us += 10)
    storm.busy.push_back(with_front(us, "18ms", {"fixed", "exponential"}));
  return storm;
}

// A metric along the curve of costs.
Column curve(const Storm& storm, std::string_view policy, std::string_view metric) {
  std::vector<double> values;
  for (const Played& played : storm.busy)
    values.insert(values.end(), played(policy, metric).values.begin(), played(policy, metric).values.end());
  return column(values);
}

struct Range {
  double low, high;
  bool holds(double x) const { return x >= low && x <= high; }
};
Range three_sd(const Column& c) {
  const double reach = 3 * std::sqrt(c.variance());
  return {c.mean() - reach, c.mean() + reach};
}
// From three standard deviations below the lower model to as much above the higher one.
Range both(const Column& a, const Column& b) {
  return {std::min(three_sd(a).low, three_sd(b).low), std::max(three_sd(a).high, three_sd(b).high)};
}

bool is(const Column& c, double x) { return c.low() == x && c.high() == x; }

std::vector<ClaimRow> immediate(const Storm& s) {
  const auto figures = [](std::string_view row) { return published(row).figures; };
  const auto requests = [](const Played& p) { return p("immediate", "requests"); };
  const auto gave_up = [](const Played& p) { return p("immediate", "gave_up"); };
  const bool whole = is(requests(s.ideal), figures("0.1")[0]) && is(gave_up(s.ideal), figures("0.1")[1]) &&
                     is(requests(s.lan), figures("0.1")[0]);
  const Column& peak = s.lan("immediate", "peak_100ms");
  const bool near = std::abs(peak.mean() / figures("0.2")[0] - 1) < 0.05;
  return {
      judged(
          "0.1",
          fmt::format("{} and {}; {} and {} when a request costs 0.5 ms", spread(requests(s.ideal)),
                      spread(gave_up(s.ideal)), spread(requests(s.slow)), spread(gave_up(s.slow))),
          !whole                                   ? Word::wrong
          : is(gave_up(s.slow), figures("0.1")[1]) ? Word::ok
                                                   : Word::ok_if,
          "true if the twelve rounds end within the outage: a server that takes more than 2400 requests/s"),
      judged("0.2",
             fmt::format("{} when a request costs 0.1 ms, {} when it costs nothing, {} when 0.5 ms",
                         spread(peak), spread(s.ideal("immediate", "peak_100ms")),
                         spread(s.slow("immediate", "peak_100ms"))),
             near ? Word::ok_if : Word::wrong,
             "true if a request costs 0.1 ms: 0.1 s divided by the cost of a request, the speed of that "
             "machine"),
      judged("0.3",
             fmt::format("{}; {} when a request costs 0.5 ms", spread(s.ideal("immediate", "peak_1s")),
                         spread(s.slow("immediate", "peak_1s"))),
             !is(s.ideal("immediate", "peak_1s"), figures("0.3")[0]) ? Word::wrong
             : is(s.slow("immediate", "peak_1s"), figures("0.3")[0]) ? Word::ok
                                                                     : Word::ok_if,
             "true if the whole storm takes less than 1 s, as in 0.1"),
      judged(
          "0.4",
          fmt::format("{} attempts; {} clients succeed", spread(s.ideal("immediate", "attempts_max")),
                      spread(s.ideal("immediate", "succeeded"))),
          is(s.ideal("immediate", "succeeded"), 0) ? Word::ok_if : Word::wrong,
          "true if the column counts only clients that succeed; here none does, after twelve attempts each"),
  };
}

std::vector<ClaimRow> without_jitter(const Storm& s) {
  const auto on_curve = [&](std::string_view policy, std::string_view metric, double x) {
    return curve(s, policy, metric).holds(x);
  };
  const auto& f5 = published("0.5").figures;
  const auto& f6 = published("0.6").figures;
  const auto& f7 = published("0.7").figures;
  const auto& f8 = published("0.8").figures;
  const double end = published("0.9").figures[0];
  const bool fixed_fits = on_curve("fixed", "requests", f5[0]) && on_curve("fixed", "completion_s", f5[1]) &&
                          on_curve("fixed", "attempts_max", f5[3]);
  const bool none_fits =
      on_curve("exponential", "requests", f7[0]) && on_curve("exponential", "gave_up", f7[1]) &&
      std::all_of(f7.begin() + 4, f7.end(), [&](double x) { return on_curve("exponential", "requests", x); });
  const auto line = [&](std::string_view policy) {
    return fmt::format("{}, {}", spread(s.ideal(policy, "peak_100ms")), spread(s.ideal(policy, "peak_1s")));
  };
  const double waits = total(failing_call("exponential")).seconds();
  const double from_one = total(failing_call("exponential:base=200ms")).seconds();
  const Column& finish = s.lan("exponential", "finish_s");
  return {
      judged(
          "0.5",
          fmt::format("{}, {} s, {} ideal; {}, {} s, {} busy", spread(s.ideal("fixed", "requests")),
                      spread(s.ideal("fixed", "completion_s"), 3), spread(s.ideal("fixed", "attempts_max")),
                      spread(curve(s, "fixed", "requests")), spread(curve(s, "fixed", "completion_s"), 3),
                      spread(curve(s, "fixed", "attempts_max"))),
          fixed_fits ? Word::ok_if : Word::wrong,
          "true if a request costs 0.25 to 0.4 ms and replies take 18 ms (busy): a burst of 200 then lasts "
          "50 to 80 ms, so slots free within it"),
      judged("0.6", line("fixed"),
             is(s.ideal("fixed", "peak_100ms"), f6[0]) && is(s.ideal("fixed", "peak_1s"), f6[1])
                 ? Word::ok
                 : Word::wrong,
             "half-open windows [t, t + w); a closed one of 1 s would hold three rounds"),
      judged("0.7",
             fmt::format(
                 "{}, {}, {} s ideal; {}, {}, {} s busy", spread(s.ideal("exponential", "requests")),
                 spread(s.ideal("exponential", "gave_up")), spread(s.ideal("exponential", "finish_s"), 4),
                 spread(curve(s, "exponential", "requests")), spread(curve(s, "exponential", "gave_up")),
                 spread(curve(s, "exponential", "finish_s"), 4)),
             none_fits ? Word::ok_if : Word::wrong,
             "true if the server is busy as in 0.5; all five published totals lie on that one curve"),
      judged("0.8", line("exponential"),
             is(s.ideal("exponential", "peak_100ms"), f8[0]) && is(s.ideal("exponential", "peak_1s"), f8[1])
                 ? Word::ok
                 : Word::wrong,
             "attempts at 0, 0.1, 0.3 and 0.7 s share the busiest second"),
      judged("0.9",
             fmt::format("{} s of waits; the last call ends at {} s on the lan", waits, spread(finish, 5)),
             end >= waits && end < from_one && std::abs(end - finish.mean()) < 0.3 ? Word::ok : Word::wrong,
             fmt::format("the exponent starts at 0; from 1 the waits alone would take {} s", from_one)),
  };
}

ClaimRow jittered(const Storm& s, std::string_view row, std::string_view policy) {
  const auto& figures = published(row).figures;
  const std::string_view metrics[] = {"requests", "peak_100ms", "peak_1s", "completion_s", "attempts_max"};
  std::string ideal, lan, outside;
  for (std::size_t i = 0; i < std::size(metrics); ++i) {
    const Column& a = s.ideal(policy, metrics[i]);
    const Column& b = s.lan(policy, metrics[i]);
    const std::string_view gap = i == 0 ? "" : ", ";
    ideal += fmt::format("{}{:.5g}", gap, a.mean());
    lan += fmt::format("{}{:.5g}", gap, b.mean());
    if (!both(a, b).holds(figures[i]))
      outside += fmt::format("{}{}", outside.empty() ? "" : ", ", metrics[i]);
  }
  return judged(
      row, fmt::format("means {} ideal; {} lan", ideal, lan), outside.empty() ? Word::ok : Word::ok_if,
      outside.empty()
          ? "each published figure lies within three standard deviations of a model, or between the two"
          : fmt::format("three standard deviations outside both models: {}", outside));
}

// P(the first n full-jitter waits fit into base) summed over n: how many requests a client is expected
// to send in [0, base]. The n waits are uniform on [0, c_1] .. [0, c_n], all c_i >= base, so the
// probability is the volume of a simplex, base^n / n! / (c_1 ... c_n).
double expected_in_first_base(const std::vector<Duration>& ceilings) {
  double sum = 1, term = 1;
  for (std::size_t n = 1; n <= ceilings.size(); ++n) {
    term *= ceilings.front().seconds() / (static_cast<double>(n) * ceilings[n - 1].seconds());
    sum += term;
  }
  return sum;
}

std::vector<ClaimRow> readings(const Storm& s) {
  std::vector<ClaimRow> rows;
  const double bound = published("0.12").figures[0];
  double most = 0;
  for (const std::string_view policy : {"fixed", "exponential", "decorrelated"})
    most = std::max({most, s.ideal(policy, "peak_100ms").high(), s.lan(policy, "peak_100ms").high()});
  rows.push_back(judged("0.12",
                        fmt::format("at most {} in every run; full jitter {}, equal jitter {}", most,
                                    spread(s.ideal("full-jitter", "peak_100ms")),
                                    spread(s.ideal("equal-jitter", "peak_100ms"))),
                        most <= bound ? Word::ok : Word::wrong,
                        "their waits are at least the base of 0.1 s; full and equal jitter wait less"));

  // Healthy rounds: attempts that start after the outage.
  const auto healthy = [](std::string_view policy, double attempts) {
    const auto delays = failing_call(policy);
    Duration now;
    double rounds = attempts;
    for (std::size_t k = 0; now < Duration::s(1); now += delays[k++]) --rounds;
    return rounds;
  };
  const double fixed_rounds = healthy("fixed", published("0.5").figures[3]);
  const double none_rounds = healthy("exponential", 12);
  const double fixed_each = 200 / fixed_rounds;
  const double none_each = (200 - published("0.7").figures[1]) / none_rounds;
  const double ideal_each = s.ideal("exponential", "succeeded").mean() / none_rounds;
  const double round = published("0.13").figures[0];
  rows.push_back(
      judged("0.13",
             fmt::format("{:.4g} in the ideal model; the article's own totals give {:.4g} (fixed) and "
                         "{:.4g} (without jitter)",
                         ideal_each, fixed_each, none_each),
             ideal_each != round                         ? Word::wrong
             : fixed_each == round && none_each == round ? Word::ok
                                                         : Word::imprecise,
             "true only while a burst is shorter than the 50 ms that a request takes"));

  const Column& again = s.ideal("full-jitter", "retry_peak_100ms");
  const double expected = 200 * expected_in_first_base(failing_call("exponential"));
  rows.push_back(judged("0.14",
                        fmt::format("full jitter: {:.4g} in any 0.1 s without the first attempts; with them "
                                    "{:.4g} are expected in [0, 0.1 s]",
                                    again.mean(), expected),
                        again.mean() > 200 ? Word::imprecise : Word::ok,
                        "not only the start: the first two waits of full jitter overlap"));

  const auto& f15 = published("0.15").figures;
  const double n20[] = {s.small("fixed", "completion_s").mean(),
                        s.small("exponential", "completion_s").mean(),
                        s.small("full-jitter", "completion_s").mean()};
  const bool holds = f15[3] > f15[1] && n20[0] > n20[2] && n20[1] > n20[2];
  rows.push_back(
      judged("0.15",
             fmt::format("20 clients: fixed {:.3g} s, without jitter {:.3g} s, full jitter {:.3g} s; 200 "
                         "clients: full jitter's 0.1 s peak {:.4g}, fixed {:.3g}",
                         n20[0], n20[1], n20[2], s.ideal("full-jitter", "peak_100ms").mean(),
                         s.ideal("fixed", "peak_100ms").mean()),
             holds ? Word::ok : Word::wrong,
             "fixed delays are unjittered too, and in the article's own table they finish before full "
             "jitter, with half the peak"));

  const Column& done = s.ideal("exponential", "completion_s");
  rows.push_back(judged(
      "0.16",
      fmt::format("{} of 200 succeed, {} give up, the last call ends at {} s",
                  spread(s.ideal("exponential", "succeeded")), spread(s.ideal("exponential", "gave_up")),
                  spread(s.ideal("exponential", "finish_s"), 4)),
      done.values.empty() ? Word::imprecise : Word::ok,
      "that is when the last client gave up or succeeded; completion is not reached, so 31.6 s against "
      "2.9 s compares exhaustion with completion"));

  rows.push_back(judged(
      "0.17",
      fmt::format("{} in any 0.1 s; every event is the same for all seeds: {}",
                  spread(s.ideal("exponential", "peak_100ms")),
                  s.ideal.same_for_all_seeds("exponential") ? "yes" : "no"),
      s.ideal.same_for_all_seeds("exponential") && !s.ideal.drew("exponential") ? Word::ok : Word::wrong,
      "in virtual time; the spread of the published totals is scheduling"));

  const auto& f18 = published("0.18").figures;
  const Column& time = s.lan("full-jitter", "completion_s");
  const Column& peak = s.lan("full-jitter", "peak_100ms");
  const auto ordinary = [&](double x) { return time.share_up_to(x) > .025 && time.share_up_to(x) < .975; };
  const bool times_fit = ordinary(f18[0]) && ordinary(f18[1]);
  const Range law = three_sd(peak);
  const bool peaks_fit =
      law.holds(f18[2]) && std::all_of(f18.begin() + 7, f18.end(), [&](double x) { return law.holds(x); });
  rows.push_back(
      judged("0.18",
             fmt::format("on the lan {} and {} s are percentiles {:.0f} and {:.0f}; peaks {}", f18[0], f18[1],
                         100 * time.share_up_to(f18[0]), 100 * time.share_up_to(f18[1]), spread(peak)),
             times_fit && peaks_fit ? Word::ok
             : times_fit            ? Word::imprecise
                                    : Word::wrong,
             "the times are ordinary: four seeds understate the spread. Peaks of 339 and 411 are not "
             "one law with a fixed latency: on a real machine it changes from run to run"));
  return rows;
}

}  // namespace

std::vector<ClaimRow> retry_storm_claims(const Seeds& seeds) {
  const Storm storm = play(seeds);
  std::vector<ClaimRow> rows = immediate(storm);
  append(rows, without_jitter(storm));
  append(rows, {jittered(storm, "0.10", "full-jitter"), jittered(storm, "0.11", "decorrelated")});
  append(rows, readings(storm));
  return rows;
}

}  // namespace retrygate::ci
