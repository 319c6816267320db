// .NET: Polly and the Azure SDK. A TimeSpan counts ticks of 100 ns.
#include "policies/replica.hpp"

namespace retrygate {
namespace {

// U[base, max(base, min(cap, 3 * delay before))): the range, not the draw, is capped.
Duration contrib_decorrelated(const Numbers& p, const Drawing& d) {
  const Duration before = d.previous == Duration{} ? p.base : d.previous;
  return evenly(p.base, std::max(p.base, std::min(p.cap, before * 3)), d.rng);
}

constexpr std::string_view polly = "App-vNext/Polly 173d6d1d, src/Polly.Core/Retry/RetryHelper.cs";

}  // namespace

void add_dotnet(Shelf<Preset>& all) {
  Family shelf(all, ".NET");
  shelf.add({"polly-v8-constant-linear",
             "delay * n (or constant), +- 25 %, 3 retries",
             polly,
             [](Reader& r) {
               Recipe p(r);
               const Duration delay = p.duration("delay", Duration::s(2));
               const bool linear = p.flag("linear", true);
               p.parts.backoff = {linear ? GrowthKind::linear : GrowthKind::constant, delay};
               p.parts.jitter = p.flag("use_jitter", true) ? plus_minus(0.25) : no_jitter();
               p.parts.cap = {p.duration("max_delay", Duration::max()), CapKind::clamp};
               p.parts.limits = retries(3);
               return p.compose();
             },
             {{"jitter-alive-at-cap", "with a MaxDelay the jittered delay is cut: all clients wait the same",
               polly, false}}});
  shelf.add(
      {"polly-v8-exponential", "min(delay * 2^(n-1), MaxDelay), no jitter, 3 retries", polly, [](Reader& r) {
         Recipe p(r);
         const Duration delay = p.duration("delay", Duration::s(2));
         p.parts = exponential(delay, 2, no_jitter(), p.duration("cap", Duration::s(3600)));
         p.parts.limits = retries(3);
         return p.compose();
       }});
  shelf.add({"polly-v8-exponential-jitter",
             "decorrelated-v2 from `delay`, 3 retries",
             "App-vNext/Polly 173d6d1d, RetryHelper.cs, DecorrelatedJitterBackoffV2",
             [](Reader& r) {
               Recipe p(r);
               const Duration delay = p.duration("delay", Duration::s(2));
               p.parts = exponential(delay, 2, {JitterKind::decorrelated_v2, 0, {}},
                                     p.duration("max_delay", Duration::max()), CapKind::clamp);
               p.parts.limits = retries(3);
               p.parts.grid.tick = Duration::ns(100);
               return p.compose();
             },
             {{"jitter-alive-at-cap", "with a MaxDelay the delay is cut: all clients wait the same", polly,
               false}}});
  shelf.add(
      {"polly-contrib-aws-decorrelated", "U[base, min(cap, 3 * delay before))",
       "Polly-Contrib/Polly.Contrib.WaitAndRetry 7596d2da, Backoff.AwsDecorrelatedJitter.cs", [](Reader& r) {
         Recipe p(r);
         const Numbers numbers{p.duration("base", Duration::ms(10)), p.duration("cap", Duration::ms(100))};
         return p.draw("polly-contrib-aws-decorrelated", numbers, &contrib_decorrelated,
                       cap_promise(numbers.cap));
       }});
  shelf.add({"azure-net",
             "min(base * 2^(n-1) * U[0.8, 1.2), cap), 3 retries, Retry-After as a floor",
             "Azure/azure-sdk-for-net f85eb6b2 and 12008b5a, sdk/core/Azure.Core/src/DelayStrategy.cs",
             [](Reader& r) {
               Recipe p(r);
               const Duration base = p.duration("base", Duration::ms(800));
               p.parts =
                   exponential(base, 2, plus_minus(0.2), p.duration("cap", Duration::s(60)), CapKind::clamp);
               p.parts.limits = retries(3);
               p.parts.guards.retry_after.rule = RetryAfterRule::floor;
               return p.compose();
             },
             {{"jitter-alive-at-cap", "from retry 8 on every client waits the cap",
               "Azure/azure-sdk-for-net, DelayStrategy.cs", false}}});
}

}  // namespace retrygate
