// The code printed in the five articles whose experiments `reproduce` runs, as printed. What their text
// claims and the code does not keep is a deviation; the claims one by one are in sim/experiments and
// ci/claims. What is wrong in a comparison of policies, and breaks no promise of one, stands under the
// invariant that is about synchrony and does not apply: it excuses nothing.
#include <charconv>
#include <cmath>

#include "policies/replica.hpp"

namespace retrygate {
namespace {

// By the titles under which they are found: their texts give no further address.
constexpr std::string_view a000 =
    "article 000: 重试与指数退避:加抖动和不加抖动的重试风暴 (retry storms with and without jitter), "
    "bigywater.tech, 爬虫工程 part 30";
constexpr std::string_view a001 =
    "article 001: 随机退避：让重试更聪明 (random backoff), sections on the kinds of jitter and on the "
    "decorator";
constexpr std::string_view a002 =
    "article 002: 重试不是闭眼再来一次:429 限流的指数退避与抖动 (backoff and jitter against 429), "
    "yd_293143657, Huawei Cloud developer community, 2026-11-07";
constexpr std::string_view a003 =
    "article 003: 指数退避真的更划算吗？我写了个模拟器亲手测了一遍 (a simulator of retries against outages)";
constexpr std::string_view a004 =
    "article 004: 用 Python 写一个可复用的重试装饰器：指数退避、随机抖动与幂等边界 (a reusable retry "
    "decorator "
    "in Python)";

// Of both policies: its cursor of outages only moves forward, so a retry hides the outage from later calls.
constexpr std::string_view comparison_003 =
    "'the same failures for all', 1.02 attempts on average, p95 of 20 ms 'at no cost', backoff no worse: one "
    "stream is shared, outages are passed over. Corrected: 1.20 and 1.24 attempts, p95 260 and 194 ms, and "
    "the fixed interval succeeds more often under 200 of 200 seeds";

Limits storm() { return attempts(12); }

AnyPolicy of_001(Reader& r, std::int64_t tries, Jitter jitter, Duration cap = Duration::s(30),
                 CapKind kind = CapKind::hard) {
  Recipe p(r);
  const Duration base = p.duration("base", Duration::ms(500));
  p.parts = exponential(base, 2, jitter, p.duration("cap", cap), kind);
  p.parts.limits = attempts(tries);
  return p.compose();
}

// Number(header): a missing header is 0, a date is no number, "1.5" and "-1" are numbers. A timer fires after
// 1 ms for what is negative or does not fit into 31 bits.
Duration number_or_jitter(const Numbers& p, const Drawing& d) {
  const std::string_view text = d.attempt.outcome.retry_after_text;
  double seconds = 0;
  if (!text.empty()) {
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (fault != std::errc{} || end != text.data() + text.size() || !std::isfinite(seconds))
      return evenly({}, capped_ceiling(p, d.n), d.rng, ms);
  } else if (d.attempt.outcome.retry_after) {
    seconds = d.attempt.outcome.retry_after->seconds();
  }
  if (seconds * 1000 < 1 || seconds * 1000 > 2147483647) return seconds == 0 ? Duration{} : ms;
  return cut(Duration::seconds(seconds), ms);
}

Parts of_002(Recipe& p) {
  const Duration base = p.duration("base", Duration::ms(200));
  Parts parts = exponential(base, 2, full_jitter());
  parts.grid = {Duration::ms(1), true};
  parts.limits = retries(5, on("429 503 connection-reset"));
  parts.limits.elapsed = Duration::s(15);
  parts.limits.at_elapsed = AtElapsed::ignore;
  return parts;
}

}  // namespace

void add_articles(Shelf<Preset>& all) {
  Family shelf(all, "Articles");
  shelf.add({"article-000-immediate", "12 attempts without any delay", a000, [](Reader& r) {
               Recipe p(r);
               p.parts = no_delay();
               p.parts.limits = storm();
               return p.compose();
             }});
  shelf.add(
      {"article-000-fixed",
       "0.5 s every time, 12 attempts",
       a000,
       [](Reader& r) {
         Recipe p(r);
         p.parts.backoff = {GrowthKind::constant, p.duration("delay", Duration::ms(500))};
         p.parts.limits = storm();
         return p.compose();
       },
       {{"fleet-spreads",
         "'without jitter slowest': all have succeeded after 4.8 s, with full jitter after 5.3 s in the "
         "same table",
         a000, false}}});
  shelf.add(
      {"article-000-exponential",
       "min(5 s, 0.1 s * 2^(n-1)), 12 attempts",
       a000,
       [](Reader& r) {
         Recipe p(r);
         const Duration base = p.duration("base", Duration::ms(100));
         p.parts = exponential(base, 2, no_jitter(), p.duration("cap", Duration::s(5)));
         p.parts.limits = storm();
         return p.compose();
       },
       {{"fleet-spreads",
         "'31.6 s, all succeeded': 26 of the 200 gave up, and 2.9 s against 31.6 s compares success with "
         "exhaustion; 'only 20 succeed per round' where a burst is shorter than 50 ms, else more",
         a000, false}}});
  shelf.add(
      {"article-000-full-jitter",
       "U[0, min(5 s, 0.1 s * 2^(n-1))], 12 attempts",
       a000,
       [](Reader& r) {
         Recipe p(r);
         const Duration base = p.duration("base", Duration::ms(100));
         p.parts = exponential(base, 2, full_jitter(), p.duration("cap", Duration::s(5)));
         p.parts.limits = storm();
         return p.compose();
       },
       {{"synchronised-without-jitter",
         "'jitter is fastest': 5.3 s against 4.8 s of the fixed interval, and twice its peak in 0.1 s (411 "
         "against 200), not only because all start together: the first two waves of retries overlap",
         a000, false}}});
  shelf.add(
      {"article-000-decorrelated", "min(5 s, U[0.1 s, 3 * delay before]), 12 attempts", a000, [](Reader& r) {
         Recipe p(r);
         const Duration base = p.duration("base", Duration::ms(100));
         p.parts = exponential(base, 2, {JitterKind::decorrelated, 0, {}}, p.duration("cap", Duration::s(5)),
                               CapKind::clamp);
         p.parts.limits = storm();
         return p.compose();
       }});
  shelf.add({"article-001-retry-fixed", "2 s every time, 5 attempts", a001, [](Reader& r) {
               Recipe p(r);
               p.parts.backoff = {GrowthKind::constant, p.duration("wait", Duration::s(2))};
               p.parts.limits = attempts(5);
               return p.compose();
             }});
  shelf.add(
      {"article-001-retry-exponential",
       "min(30 s, 0.5 s * 2^(n-1)), 6 attempts",
       a001,
       [](Reader& r) { return of_001(r, 6, no_jitter()); },
       {{"attempts-exact",
         "the text lists a sixth wait of 16 s, which is printed but never slept: 6 calls have 5 waits", a001,
         false},
        {"growth-law", "without a cap the text gives 512 s for the 10th retry; it is 256 s", a001, false}}});
  shelf.add(
      {"article-001-full-jitter",
       "U[0, min(30 s, 0.5 s * 2^(n-1))], 6 attempts",
       a001,
       [](Reader& r) { return of_001(r, 6, full_jitter()); },
       {{"fleet-spreads",
         "'steady, not pulsed': of 1000 clients 227 come in the fullest 100 ms of the first wave (200 on "
         "average)",
         a001, false}}});
  shelf.add({"article-001-equal-jitter", "v = min(30 s, 0.5 s * 2^(n-1)) / 2; v + U[0, v], 6 attempts", a001,
             [](Reader& r) { return of_001(r, 6, equal_jitter()); }});
  shelf.add({"article-001-decorrelated",
             "min(30 s, U[0.5 s, 3 * delay before]), 6 attempts",
             a001,
             [](Reader& r) {
               return of_001(r, 6, {JitterKind::decorrelated, 0, {}}, Duration::s(30), CapKind::clamp);
             },
             {{"jitter-alive-at-cap",
               "'thoroughly decorrelated', but a chain in which a third of the late waits is exactly the cap",
               a001, false}}});
  shelf.add(
      {"article-001-with-backoff",
       "the decorator: full jitter, 0.5 s to 30 s, 5 attempts",
       a001,
       [](Reader& r) {
         Recipe p(r);
         const Duration base = p.duration("base", Duration::ms(500));
         p.parts = exponential(base, 2, full_jitter(), p.duration("cap", Duration::s(30)));
         p.parts.limits = attempts(5);
         p.documented = [](Contract& c) { c.retry_on = on("429 500 502 503 504"); };
         return p.compose();
       },
       {{"only-retryable",
         "its RETRYABLE_STATUS is never used: every RequestException is retried, HTTP 400 and 401 too", a001},
        {"survives", "retries = 0 ends in `raise None`; base * 2**1100 raises OverflowError", a001, false}}});
  shelf.add({"article-001-tenacity",
             "tenacity's wait_exponential_jitter(0.5, max 30, jitter 1), 5 attempts",
             a001,
             [](Reader& r) {
               Recipe p(r);
               const Duration initial = p.duration("initial", Duration::ms(500));
               const Duration jitter = p.duration("jitter", Duration::s(1));
               const Duration most = p.duration("max", Duration::s(30));
               p.parts = exponential(initial, 2, up_to(jitter), most, CapKind::clamp);
               p.parts.limits = attempts(5);
               p.documented = [&](Contract& c) {
                 // The text: "exactly our hand-written logic", which is full jitter under a cap.
                 c.jitter = full_jitter();
                 c.cap_kind = CapKind::hard;
               };
               return p.compose();
             },
             {{"delay-in-bounds",
               "the text says it equals the hand-written full jitter; at the first retry it draws from [0.5, "
               "1.5] s, "
               "not [0, 0.5] s",
               "jd/tenacity 8.2.1, tenacity/wait.py (20000 draws)"},
              {"jitter-law", "the text says min(max, initial * 2^n) + U(0, jitter); tenacity clamps the sum",
               "jd/tenacity 8.2.1, tenacity/wait.py (20000 draws)"},
              {"jitter-alive-at-cap", "from retry 7 on every delay is exactly the maximum",
               "jd/tenacity 8.2.1, tenacity/wait.py (20000 draws)", false},
              {"fleet-spreads", "the first waits are drawn from [0.5, 1.5] s, not from [0, 0.5] s", a001}}});
  shelf.add({"article-001-fetch-async",
             "full jitter, 0.5 s to 20 s, 5 attempts; timeouts are not retried",
             a001,
             [](Reader& r) {
               Recipe p(r);
               const Duration base = p.duration("base", Duration::ms(500));
               p.parts = exponential(base, 2, full_jitter(), p.duration("cap", Duration::s(20)));
               p.parts.limits = attempts(5, on("4xx 5xx dns connect-refused tls connection-reset truncated"));
               p.documented = [](Contract& c) { c.retry_on = on("429 500 502 503 504 timeout"); };
               return p.compose();
             },
             {{"all-retryable",
               "ClientTimeout raises TimeoutError, which is no ClientError: a timeout ends the call",
               "article 001, checked with aiohttp 3.8.4"},
              {"only-retryable", "raise_for_status raises ClientError for HTTP 400 too: it is retried",
               "article 001, checked with aiohttp 3.8.4"}}});
  shelf.add(
      {"article-002-fixed",
       "the loop it warns of: 100 ms every time, 5 attempts",
       a002,
       [](Reader& r) {
         Recipe p(r);
         p.parts.backoff = {GrowthKind::constant, p.duration("wait", Duration::ms(100))};
         p.parts.grid.tick = Duration::ms(1);
         p.parts.limits = attempts(5);
         return p.compose();
       },
       {{"fleet-spreads",
         "the measured column 'fixed interval' is exponential without jitter: 200 + 400 + 800 ms and four "
         "calls of 30.75 ms are its 1523 ms",
         a002, false}}});
  shelf.add(
      {"article-002-retry",
       "Math.random() * 200 ms * 2^(n-1), 6 attempts, 15 s",
       a002,
       [](Reader& r) {
         Recipe p(r);
         p.parts = of_002(p);
         p.documented = [](Contract& c) { c.retry_on = on("429 503 connection-reset timeout"); };
         return p.compose();
       },
       {{"deadline-respected", "the 15 s are tested before the wait; with max = 20 a call runs 25.6 s", a002},
        {"all-retryable", "timeouts are called transient in the text; the code does not retry them", a002},
        {"growth-law", "the text puts retry n at t0 + base * 2^n; it starts at t0 + base * (2^n - 1)", a002,
         false},
        {"synchronised-without-jitter",
         "'faster because some hit the success window early': there is no such window, every draw lies below "
         "the wait without jitter",
         a002, false}}});
  shelf.add(
      {"article-002-retry-after",
       "Number(header) seconds if finite, else as article-002-retry",
       a002,
       [](Reader& r) {
         Recipe p(r);
         p.parts = of_002(p);
         const Numbers numbers{p.parts.backoff.base};
         p.documented = [](Contract& c) { c.retry_after = RetryAfterRule::exact; };
         return p.draw("article-002-retry-after", numbers, &number_or_jitter,
                       exponential_promise(numbers.base, 2, full_jitter(), Duration::max()));
       },
       {{"jitter-law", "without a header Number(null) is 0: the retry is immediate", a002},
        {"fleet-spreads", "without a header Number(null) is 0: all clients come back at once", a002},
        {"retry-after-parsed", "a date is no number and is ignored; \"1.5\" and \"-1\" are taken", a002},
        {"retry-after-not-early", "setTimeout fires after 1 ms for a wait of 2^31 ms or more", a002, false},
        {"cancel-prompt", "a signal that is aborted already sleeps the full time; listeners leak", a002,
         false},
        {"instances-independent", "without a header all delays are 0", a002},
        {"processes-independent", "without a header all delays are 0", a002},
        {"delay-not-zero", "without a header Number(null) is 0", a002}}});
  shelf.add({"article-003-fixed-100ms",
             "100 ms every time, 4 attempts",
             a003,
             [](Reader& r) {
               Recipe p(r);
               p.parts.backoff = {GrowthKind::constant, p.duration("delay", Duration::ms(100))};
               p.parts.limits = attempts(4);
               return p.compose();
             },
             {{"fleet-spreads", comparison_003, a003, false}}});
  shelf.add({"article-003-backoff-40ms",
             "40 ms * 2^(n-1) * U[0.5, 1.5), 4 attempts",
             a003,
             [](Reader& r) {
               Recipe p(r);
               p.parts = exponential(p.duration("base", Duration::ms(40)), 2, plus_minus(0.5));
               p.parts.limits = attempts(4);
               return p.compose();
             },
             {{"survives", "as printed, `40 * 2 (a - 1)` raises TypeError: the ** was lost", a003, false},
              {"synchronised-without-jitter", comparison_003, a003, false}}});
  shelf.add({"article-004-retry",
             "the decorator: U[0, min(10 s, 0.5 s * 2^(n-1))], 4 attempts",
             a004,
             [](Reader& r) {
               Recipe p(r);
               const Duration base = p.duration("base_delay", Duration::ms(500));
               const double backoff = p.number("backoff", 2, 1e-3, 1e3);
               p.parts = exponential(base, backoff, full_jitter(), p.duration("max_delay", Duration::s(10)));
               // The built-in TimeoutError and ConnectionError.
               p.parts.limits = attempts(4, on("timeout connect-timeout connect-refused connection-reset"));
               p.documented = [](Contract& c) {
                 c.retry_on = on("429 502 503 504 timeout connect-timeout connect-refused connection-reset");
               };
               return p.compose();
             },
             {{"all-retryable",
               "502, 503, 504 and throttling are to be retried, but the code knows no status", a004},
              {"deadline-respected",
               "the checklist wants the total below the caller's time-out; nothing tests it", a004, false},
              {"no-unsafe-repeat", "idempotency keys are asked for, not sent", a004, false},
              {"fleet-spreads",
               "'evenly spread in time': one wait is, a storm is not; its first waves overlap", a004, false},
              {"attempts-exact", "max_attempts = 0 returns None without a call; here at least 1 is demanded",
               a004, false}}});
}

}  // namespace retrygate
