#include "sim/experiments/published.hpp"

#include <fmt/args.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "policies/base/error.hpp"

namespace retrygate {
namespace {

// The index is the first number of the article's rows.
constexpr Article all_articles[] = {
    {"retry-storm", "Retries and exponential backoff: the retry storm with and without jitter",
     "bigywater.tech, series on crawlers, part 30"},
    {"random-backoff", "Random backoff: smarter retries", "an article in Chinese, address not known"},
    {"rate-limited-fleet", "Retrying is not trying again with closed eyes: backoff and jitter against 429",
     "yd_293143657, Huawei Cloud developer community, 2026-11-07"},
    {"flaky-service", "Is exponential backoff really the better deal? I wrote a simulator and measured it",
     "an article in Chinese, address not known"},
    {"decorator", "A reusable retry decorator in Python: backoff, random jitter, the limits of idempotency",
     "an article in Chinese, address not known"},
    {"occ-contention", "Exponential Backoff And Jitter",
     "M. Brooker, AWS Architecture Blog, 2015\n"
     "https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/"},
};

const std::vector<PublishedClaim>& claims() {
  static const std::vector<PublishedClaim> all = {
      // 200 clients, 1 s of outage, then at most 20 at a time; the last of two runs on a laptop.
      {"0.1", "immediate retry: requests, clients that gave up", "{} and {}", {2400, 200}},
      {"0.2", "immediate retry: most requests in any 0.1 s", "{}", {994}},
      {"0.3", "immediate retry: most requests in any 1 s", "{}", {2400}},
      {"0.4", "immediate retry: most attempts", "{}", {0}},
      {"0.5",
       "fixed 0.5 s: requests, last success, most attempts",
       "{}, {} s (first run {} s), {}",
       {1260, 4.8, 5.8, 10}},
      {"0.6", "fixed 0.5 s: most requests in any 0.1 s and 1 s", "{} and {}", {200, 400}},
      {"0.7",
       "exponential without jitter: requests, gave up, end",
       "{}, {} (first run {}), {} s; four more seeds: {}, {}, {}, {} requests",
       {1766, 26, 20, 31.6, 1570, 1438, 1840, 1840}},
      {"0.8", "without jitter: most requests in any 0.1 s and 1 s", "{} and {}", {200, 800}},
      {"0.9", "without jitter: the last call ends", "{} s", {31.6}},
      {"0.10",
       "full jitter: requests, most in 0.1 s and 1 s, last success, most attempts",
       "{}, {}, {}, {} s, {}",
       {1167, 411, 980, 5.3, 8}},
      {"0.11",
       "decorrelated jitter: requests, most in 0.1 s and 1 s, last success, most attempts",
       "{}, {}, {}, {} s, {}",
       {918, 200, 727, 2.9, 8}},
      {"0.12", "fixed, unjittered, decorrelated: no client comes twice within 0.1 s", "{}", {200}},
      {"0.13", "only so many succeed in a round of synchronous clients", "{}", {20}},
      {"0.14",
       "the first 0.1 s stays crowded because all clients start together",
       "{} to {} requests",
       {200, 400}},
      {"0.15",
       "unjittered retries are slowest and jittered ones fastest in every run",
       "{} s against {} and {} s; fixed {} s",
       {31.6, 5.3, 2.9, 4.8}},
      {"0.16", "without jitter: 'all succeeded after'", "{} s, with {} that gave up", {31.6, 26}},
      {"0.17", "without jitter the seed does not matter", "{} in any 0.1 s, four times", {200}},
      {"0.18",
       "full jitter: the main runs and four more seeds",
       "{} and {} s, peak {}; seeds {}, {}, {}, {} s, peaks {}, {}, {}, {}",
       {5.3, 5.6, 411, 3.8, 4.6, 3.5, 4.1, 339, 390, 387, 388}},

      {"1.1", "fixed wait of 2 s, retries=5: calls, sleeps", "{} and {}", {5, 4}},
      {"1.2",
       "exponential, base 0.5 s, cap 30 s: six waits",
       "{}, {}, {}, {}, {}, {} s",
       {.5, 1, 2, 4, 8, 16}},
      {"1.3", "full jitter: wait in [0, ceiling], uniform", "U[0, c]", {}},
      {"1.4", "equal jitter: half fixed, half uniform", "c/2 + U[0, c/2]", {}},
      {"1.5", "decorrelated: min(cap, U[base, 3 previous])", "the formula", {}},
      {"1.6", "decorrelated jitter is decorrelated most thoroughly", "in words", {}},
      {"1.7", "full jitter: most even, lowest total load, first choice", "in words", {}},
      {"1.8",
       "retries with full jitter arrive as a steady stream, not in pulses",
       "{} clients, steady",
       {1000}},
      {"1.9", "without a cap the 10th retry waits", "0.5 * 2^10 = {} s", {512}},
      {"1.10",
       "tenacity's wait_exponential_jitter is min(max, initial 2^n) + U[0, jitter]",
       "at the cap {} to {} s",
       {30, 31}},
      {"1.11", "that is the hand-written full jitter", "consistent", {}},
      {"1.12", "stop_after_attempt(5): calls, sleeps", "{} and {}", {5, 4}},
      {"1.13", "only what may pass is retried", "429 and 503; then {} statuses", {5}},
      {"1.14", "the asyncio version retries like the other one", "in words", {}},
      {"1.15", "the decorator at its edges: retries=0, attempt 1100", "not discussed", {}},
      {"1.16", "a circuit breaker fails fast past a threshold", "in words", {}},

      {"2.1", "'fixed interval' of 200 ms, success at the 4th try: total", "{} ms", {1523}},
      {"2.2", "full jitter: total", "{} ms", {1282}},
      {"2.3", "spread of the 20 requests of round 3", "{} ms fixed, {} ms full jitter", {5, 518}},
      {"2.4", "most requests in any 10 ms", "{} fixed, {} full jitter", {20, 4}},
      {"2.5", "full jitter divides the peak by", "{}", {5}},
      {"2.6",
       "jitter is faster since some clients hit the success window early",
       "{} ms < {} ms",
       {1282, 1523}},
      {"2.7", "retry n starts at t0 + base 2^n", "t0 + {} ms for n = 1", {400}},
      {"2.8",
       "ceilings with max=5, and what is multiplied by five",
       "{}, {}, {} ms ..; {} times",
       {200, 400, 800, 5}},
      {"2.9", "the deadline bounds the total", "{} ms", {15000}},
      {"2.10", "equal jitter: no wait near 0, higher peak than full jitter", "in words", {}},
      {"2.11", "Retry-After first, else jitter", "Number(header) where finite", {}},
      {"2.12", "the sleep can be aborted", "in code", {}},
      {"2.13", "429, 503, ECONNRESET and timeouts are retried", "in words, then code", {}},

      // Seed 42; success, attempts per request, mean and 95th percentile of latency.
      {"3.1", "outages in the window, share of time down", "{}, {} %", {24, 10.6}},
      {"3.2", "no-retry", "{} %, {}, {} ms, {} ms", {88.9, 1, 20, 20}},
      {"3.3", "fixed-100ms", "{} %, {}, {} ms, {} ms", {99.7, 1.02, 21.7, 20}},
      {"3.4", "backoff-40ms", "{} %, {}, {} ms, {} ms", {99.9, 1.02, 21.3, 20}},
      {"3.5", "all three policies meet the same outages and failures", "in words", {}},
      {"3.6", "attempts per request with retries", "{}", {1.02}},
      {"3.7", "p95 does not rise: retries cost no latency", "{} ms for all", {20}},
      {"3.8",
       "backoff succeeds a little more often and is as fast: interchangeable",
       "{:+} points, {:+} ms",
       {0.2, -0.4}},
      {"3.9", "whether to retry matters more than how", "{} % to {} % and more", {88.9, 99}},
      {"3.10", "with ten times the failures backoff's latency advantage opens up", "in words", {}},
      {"3.11", "the service is down for", "{} % of the time", {10.6}},
      {"3.12", "the service takes about one request per millisecond", "in words", {}},
      {"3.13", "the printed wait of backoff", "40 * 2  (a - 1) * uniform", {}},
      {"3.14", "mean latency with retries", "{} and {} ms", {21.7, 21.3}},

      {"4.1", "waits grow from 0.5 s by 2 to at most 10 s", "{}, {}, {} .. {} s", {.5, 1, 2, 10}},
      {"4.2", "max_attempts=4: calls, sleeps", "{} and {}", {4, 3}},
      {"4.3", "full jitter: U[0, min(delay, max)]", "the formula", {}},
      {"4.4", "equal jitter: half + U[0, half]", "in words", {}},
      {"4.5", "jitter spreads the retries evenly over time", "in words", {}},
      {"4.6",
       "retried: timeouts, resets, 502, 503, 504, throttling; by exception and status",
       "in words, then code",
       {}},
      {"4.7", "the last error is raised unchanged", "in words", {}},
      {"4.8", "all retries together end before the caller's timeout", "in words", {}},
      {"4.9", "with an idempotency key a repeat gets the first result", "in words", {}},
      {"4.10", "log each failure, asyncio.sleep, add a breaker", "in words", {}},

      // One contended row. The article's figures are graphs; 5.8 to 5.12 are what its program prints
      // (aws-samples/
      // aws-arch-backoff-simulator, commit 66cb169, under CPython 3.11 with random.seed(1): means of 100
      // runs) for
      // exponential, decorrelated, equal jitter, full jitter and no backoff.
      {"5.1",
       "100 clients: full jitter more than halves the calls of exponential backoff",
       "{} times as many",
       {2}},
      {"5.2", "100 clients: full jitter improves the time to completion", "in words", {}},
      {"5.3", "backoff without jitter takes more calls and more time than with any jitter", "in words", {}},
      {"5.4", "full and equal jitter make about as many calls, decorrelated more", "in words", {}},
      {"5.5",
       "equal jitter makes slightly more calls than full jitter and takes much longer",
       "in words",
       {}},
      {"5.6", "full jitter makes fewer calls than decorrelated, but takes slightly longer", "in words", {}},
      {"5.7", "no approach changes that the work grows as N^2", "N^{}", {2}},
      {"5.8",
       "the published program, 10 clients: calls and time by policy",
       "{}, {}, {}, {}, {} calls; {}, {}, {}, {}, {} s",
       {51.03, 37.87, 42.36, 38.65, 50.65, 3.59, 0.435, 0.733, 0.465, 0.382}},
      {"5.9",
       "the published program, 50 clients: calls and time by policy",
       "{}, {}, {}, {}, {} calls; {}, {}, {}, {}, {} s",
       {623.18, 372.71, 347.12, 332.37, 689.97, 36.033, 2.195, 4.278, 2.914, 1.138}},
      {"5.10",
       "the published program, 100 clients: calls and time by policy",
       "{}, {}, {}, {}, {} calls; {}, {}, {}, {}, {} s",
       {1846.14, 998.61, 812.53, 796.16, 2425.67, 63.309, 4.78, 6.54, 4.909, 2.031}},
      {"5.11",
       "the published program, 150 clients: calls and time by policy",
       "{}, {}, {}, {}, {} calls; {}, {}, {}, {}, {} s",
       {3536.08, 1759.42, 1324.89, 1318.89, 5142.43, 85.893, 6.561, 8.349, 6.435, 2.876}},
      {"5.12",
       "the published program, 190 clients: calls and time by policy",
       "{}, {}, {}, {}, {} calls; {}, {}, {}, {}, {} s",
       {5165.15, 2433.63, 1760.04, 1771.52, 7990.57, 100.766, 8.057, 9.498, 7.389, 3.532}},
  };
  return all;
}

}  // namespace

std::span<const Article> articles() { return all_articles; }
std::span<const PublishedClaim> published_claims() { return claims(); }

const PublishedClaim& published(std::string_view row) {
  const auto& all = claims();
  const auto at = std::find_if(all.begin(), all.end(), [&](const PublishedClaim& c) { return c.row == row; });
  RG_ASSERT(at != all.end(), std::string(row));
  return *at;
}

const Article& article_of(const PublishedClaim& claim) {
  std::size_t index = std::size(all_articles);
  std::from_chars(claim.row.data(), claim.row.data() + claim.row.find('.'), index);
  RG_ASSERT(index < std::size(all_articles), std::string(claim.row));
  return all_articles[index];
}

std::string published_text(const PublishedClaim& claim) {
  fmt::dynamic_format_arg_store<fmt::format_context> figures;
  for (const double figure : claim.figures) figures.push_back(figure);
  return fmt::vformat(claim.pattern, figures);
}

}  // namespace retrygate
