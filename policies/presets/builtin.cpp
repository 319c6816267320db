// The built-in compositions. Defaults (policies/README.md): base 100ms, factor 2, cap 5s hard, 12
// attempts; fixed waits 500ms.
#include "policies/composed.hpp"
#include "policies/preset.hpp"

namespace retrygate {
namespace {

Parts defaults(GrowthKind growth, Jitter jitter = {}, Duration base = Duration::ms(100)) {
  Parts parts;
  parts.backoff = {growth, base, 2};
  parts.jitter = jitter;
  parts.cap = {growth == GrowthKind::none ? Duration::max() : Duration::s(5), CapKind::hard};
  parts.limits.max_attempts = 12;
  return parts;
}

template <GrowthKind growth, JitterKind jitter = JitterKind::none, std::int64_t base_ms = 100>
AnyPolicy make(Reader& parameters) {
  const Jitter kind{jitter, jitter == JitterKind::proportional ? 0.1 : 0,
                    jitter == JitterKind::additive ? Duration::ms(100) : Duration{}};
  return compose(read_parts(parameters, defaults(growth, kind, Duration::ms(base_ms))));
}

constexpr std::string_view brooker =
    "M. Brooker, 'Exponential Backoff And Jitter', AWS Architecture Blog, 2015";

}  // namespace

void add_builtin(Shelf<Preset>& all) {
  Family shelf(all, "Built-in");
  using enum GrowthKind;
  using J = JitterKind;
  shelf.add(
      {"immediate", "retries at once, without any delay", "the limiting case of every law", &make<none>});
  shelf.add(
      {"fixed", "the same delay every time (500ms)", "the constant law", &make<constant, J::none, 500>});
  shelf.add({"linear", "base * n", "the linear law", &make<linear>});
  shelf.add({"exponential", "base * factor^(n-1), no jitter", brooker, &make<exponential>});
  shelf.add({"full-jitter", "U[0, min(cap, base * factor^(n-1))]", brooker, &make<exponential, J::full>});
  shelf.add({"equal-jitter", "half of the exponential ceiling fixed, half drawn", brooker,
             &make<exponential, J::equal>});
  shelf.add({"decorrelated", "U[base, 3 * previous delay], clamped to cap", brooker,
             &make<exponential, J::decorrelated>});
  shelf.add({"proportional", "the exponential ceiling +- ratio (0.1)",
             "RFC 6298-style spread; gRPC A6 uses +-20 %", &make<exponential, J::proportional>});
  shelf.add({"additive", "the exponential ceiling + U[0, max] (100ms)",
             "Google Cloud Storage retry guide: truncated exponential backoff with added jitter",
             &make<exponential, J::additive>});
}

}  // namespace retrygate
