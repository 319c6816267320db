#include "policies/base/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace retrygate {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t ns;
};
constexpr std::array<Unit, 6> units = {{{"ns", 1},
                                        {"us", 1'000},
                                        {"ms", 1'000'000},
                                        {"s", 1'000'000'000},
                                        {"m", 60'000'000'000},
                                        {"h", 3'600'000'000'000}}};

Duration nearest(long double ns) {
  RG_ASSERT(!std::isnan(ns), "a duration made from NaN");
  if (ns >= static_cast<long double>(Duration::max().ns())) return Duration::max();
  if (ns <= static_cast<long double>(Duration::min().ns())) return Duration::min();
  return Duration::ns(std::llrint(ns));
}

// Minutes and hours only when they come out whole: 90 s is "90s", not "1.5m".
const Unit& best_unit(std::uint64_t ns) {
  const Unit* best = &units[0];
  for (const Unit& u : units) {
    const auto size = static_cast<std::uint64_t>(u.ns);
    const bool whole_only = u.ns > 1'000'000'000;
    if (ns >= size && (!whole_only || ns % size == 0)) best = &u;
  }
  return *best;
}

}  // namespace

Duration Duration::seconds(double s) { return nearest(static_cast<long double>(s) * 1e9L); }

Duration Duration::scaled(double factor) const {
  return nearest(static_cast<long double>(ns_) * static_cast<long double>(factor));
}

std::string to_string(Duration d) {
  if (d == Duration::max()) return "no limit";
  if (d.ns() == 0) return "0s";
  const std::uint64_t ns =
      d.ns() < 0 ? 0 - static_cast<std::uint64_t>(d.ns()) : static_cast<std::uint64_t>(d.ns());
  const Unit& unit = best_unit(ns);
  const auto size = static_cast<std::uint64_t>(unit.ns);
  std::string text = fmt::format("{}{}", d.ns() < 0 ? "-" : "", ns / size);
  if (std::uint64_t rest = ns % size; rest != 0) {
    std::string digits;
    for (std::uint64_t place = size / 10; rest != 0; place /= 10) {
      digits += static_cast<char>('0' + rest / place);
      rest %= place;
    }
    text += "." + digits;
  }
  return text + std::string(unit.name);
}

std::string to_string(Instant t) { return to_string(t.since_start); }

Result<Duration> parse_duration(std::string_view text, Where where) {
  const auto refuse = [&](std::string message, std::string hint) {
    return tl::unexpected(Errors{Error{std::move(where), std::move(message), std::move(hint)}});
  };
  const std::string known = "write a number and one of ns us ms s m h, for example \"100ms\"";
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };

  std::size_t at = 0;
  const bool negative = !text.empty() && text[0] == '-';
  if (negative) ++at;
  const std::size_t first_digit = at;
  int128 whole = 0;
  for (; at < text.size() && is_digit(text[at]); ++at) {
    // Far above the range, and times the largest unit still far below 2^127.
    whole = std::min<int128>(whole * 10 + (text[at] - '0'), int128{1} << 80);
  }
  std::string_view fraction;
  if (at < text.size() && text[at] == '.') {
    const std::size_t start = ++at;
    while (at < text.size() && is_digit(text[at])) ++at;
    fraction = text.substr(start, at - start);
    if (fraction.empty()) return refuse(fmt::format("'{}' is not a duration", text), known);
  }
  if (at == first_digit) return refuse(fmt::format("'{}' is not a duration", text), known);
  std::string_view name = text.substr(at);
  if (name.starts_with(' ')) name.remove_prefix(1);
  if (name.empty())
    return refuse(fmt::format("'{}' needs a unit", text),
                  fmt::format("write \"{0}ms\" or \"{0}s\"", text.substr(0, text.find(' '))));
  const auto unit = std::find_if(units.begin(), units.end(), [&](const Unit& u) { return u.name == name; });
  if (unit == units.end())
    return refuse(fmt::format("'{}' is not a duration: unknown unit '{}'", text, name), known);

  // The largest unit, an hour, is 2^13 * 3^2 * 5^11 ns: a fraction of more than 13 places, its last one
  // not 0, is never whole. Digit by digit would not do: 0.0000000000025h is 9 ns, its 2 alone 7.2 ns.
  constexpr std::size_t most_places = 13;
  while (!fraction.empty() && fraction.back() == '0') fraction.remove_suffix(1);
  int128 numerator = 0;
  int128 denominator = 1;
  for (const char c : fraction.substr(0, most_places)) {
    numerator = numerator * 10 + (c - '0');
    denominator *= 10;
  }
  if (fraction.size() > most_places || unit->ns * numerator % denominator != 0)
    return refuse(fmt::format("'{}' is finer than 1 ns", text), "time is kept in whole nanoseconds");
  const int128 ns = whole * unit->ns + unit->ns * numerator / denominator;
  const int128 longest = int128{Duration::max().ns()} + (negative ? 1 : 0);
  if (ns > longest)
    return refuse(fmt::format("'{}' is longer than 292 years", text), "leave the key out for no limit");
  return Duration::ns(static_cast<std::int64_t>(negative ? -ns : ns));
}

}  // namespace retrygate
