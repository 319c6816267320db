#include "sim/experiments/printed.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <string>

namespace retrygate {

double tenacity_exponential_jitter(double initial, double max, double jitter, int attempt, double unit) {
  return std::max(0.0, std::min(std::ldexp(initial, attempt - 1) + jitter * unit, max));
}

std::optional<double> javascript_number(std::optional<std::string_view> header) {
  if (!header) return 0;
  std::string_view text = *header;
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  if (text.empty()) return 0;
  // Of what strtod reads, JavaScript takes decimals only; header values of other bases do not occur.
  if (text.find_first_not_of("0123456789+-.eE") != std::string_view::npos) return std::nullopt;
  const std::string copy(text);
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  if (end != copy.c_str() + copy.size()) return std::nullopt;
  return value;
}

double node_timeout_ms(double asked_ms) {
  return asked_ms >= 1 && asked_ms <= 2147483647.0 ? std::trunc(asked_ms) : 1;
}

LoopRun longest_run(const DeadlineLoop& loop, Duration call) {
  LoopRun run;
  for (int i = 0;; ++i) {
    ++run.calls;
    run.total += call;
    if (i >= loop.max || run.total > loop.deadline) return run;
    run.total += loop.base * (std::int64_t{1} << i);
  }
}

SleepRun printed_sleeps(Duration each, int sleeps, std::optional<Duration> abort_at) {
  SleepRun run;
  for (int i = 0; i < sleeps; ++i) {
    // addEventListener: an event that has been and gone does not come again, so after the abort only
    // the timer ends a sleep. {once: true} removes the listener when it is called, nothing else does.
    ++run.listeners;
    const bool event_comes = abort_at && *abort_at >= run.slept && *abort_at < run.slept + each;
    if (event_comes) {
      run.slept = *abort_at;
      run.listeners = 0;  // all registered ones are called
      return run;         // the promise is rejected
    }
    run.slept += each;
  }
  return run;
}

LoopEnding with_backoff(int retries) {
  LoopEnding end;
  for (int attempt = 0; attempt < retries; ++attempt) {
    ++end.calls;
    end.error_of_call = end.calls;  // last_exc = exc
    if (attempt == retries - 1) break;
  }
  // raise last_exc, which is None when no call was made.
  end.how = end.error_of_call > 0 ? Ending::raises_the_last_error : Ending::raises_type_error;
  return end;
}

LoopEnding retry_decorator(int attempts) {
  LoopEnding end;
  for (int attempt = 1; attempt <= attempts; ++attempt) {
    ++end.calls;
    if (attempt == attempts) {  // a bare raise in the handler
      end.how = Ending::raises_the_last_error;
      end.error_of_call = end.calls;
      return end;
    }
  }
  return end;  // the wrapper falls off its end
}

std::vector<double> decorator_ceilings(double base, double backoff, double max, int attempts) {
  std::vector<double> ceilings;
  double delay = base;
  for (int attempt = 1; attempt < attempts; ++attempt) {
    ceilings.push_back(std::min(delay, max));
    delay = std::min(delay * backoff, max);
  }
  return ceilings;
}

bool is_a(std::string_view name, std::string_view base) {
  struct Inherits {
    std::string_view name, from;
  };
  constexpr Inherits known[] = {
      {"OSError", "Exception"},
      {"ConnectionError", "OSError"},
      {"ConnectionResetError", "ConnectionError"},
      {"TimeoutError", "OSError"},  // asyncio.TimeoutError is this class since Python 3.11
      {"requests.RequestException", "OSError"},
      {"requests.HTTPError", "requests.RequestException"},
      {"requests.ConnectionError", "requests.RequestException"},
      {"requests.Timeout", "requests.RequestException"},
      {"requests.ReadTimeout", "requests.Timeout"},
      {"requests.ConnectTimeout", "requests.ConnectionError"},
      {"requests.ConnectTimeout", "requests.Timeout"},
      {"aiohttp.ClientError", "Exception"},
      {"aiohttp.ClientResponseError", "aiohttp.ClientError"},
      {"aiohttp.ClientConnectionError", "aiohttp.ClientError"},
  };
  if (name == base) return true;
  return std::any_of(std::begin(known), std::end(known),
                     [&](const Inherits& i) { return i.name == name && is_a(i.from, base); });
}

}  // namespace retrygate
