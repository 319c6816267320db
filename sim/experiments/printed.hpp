// Rules of printed code fragments and of the languages and libraries they use, as far as a claim hangs
// on them. Each is written from the documentation or the source named beside it.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "policies/base/units.hpp"

namespace retrygate {

// tenacity 8.2.1 wait_exponential_jitter as its source and docstring have it:
// max(0, min(initial * 2^(attempt-1) + U(0, jitter), max)). Seconds; `unit` in [0, 1].
double tenacity_exponential_jitter(double initial, double max, double jitter, int attempt, double unit);

// JavaScript's Number(header) (ECMAScript, StringToNumber; null is +0): nothing for NaN, infinite for
// what is too large. `header` is nothing where the response has none.
std::optional<double> javascript_number(std::optional<std::string_view> header);

// How long node waits when setTimeout is given so many milliseconds: 1 outside 1 .. 2^31 - 1.
// Source: Node 20, lib/internal/timers.js, constructor of Timeout.
double node_timeout_ms(double asked_ms);

// The fleet article's `retry`: gives up when its deadline has passed at the end of a call.
struct DeadlineLoop {
  Duration base = Duration::ms(200);
  int max = 5;  // retries
  Duration deadline = Duration::s(15);
};
struct LoopRun {
  int calls = 0;
  Duration total;
};
// Every call takes `call` and fails; Math.random() at its upper end.
LoopRun longest_run(const DeadlineLoop&, Duration call);

// The fleet article's abortable sleep, several in a row with one signal that is aborted at `abort_at`
// from the start of the first (before 0: already aborted; nothing: never).
struct SleepRun {
  Duration slept;
  int listeners = 0;  // still registered on the signal at the end
};
SleepRun printed_sleeps(Duration each, int sleeps, std::optional<Duration> abort_at);

// How a printed Python loop ends when every call raises.
enum class Ending { raises_the_last_error, raises_type_error, returns_none };
struct LoopEnding {
  int calls = 0;
  Ending how = Ending::returns_none;
  int error_of_call = 0;  // which call's error is raised; 0 is none
};
LoopEnding with_backoff(int retries);      // the random-backoff article, section 4
LoopEnding retry_decorator(int attempts);  // the decorator article

// The decorator's ceilings min(delay, max), where delay starts at `base` and grows by min(delay *
// backoff, max). Seconds.
std::vector<double> decorator_ceilings(double base, double backoff, double max, int attempts);

// Is the Python exception `name` a `base`, by inheritance? Knows the ones the articles speak about.
// Sources: Python 3.11 library reference, Exception hierarchy; requests 2.28 exceptions.py; aiohttp
// 3.8.4 client_exceptions.py.
bool is_a(std::string_view name, std::string_view base);

}  // namespace retrygate
