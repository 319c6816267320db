#include "stats/case.hpp"

#include <fmt/format.h>

#include <cmath>

namespace retrygate::stats {
namespace {

// The list of numbers that `value` is, or complaints.
std::vector<double> numbers_of(Reader& reader, std::string_view key, const Value& value) {
  std::vector<double> all;
  const auto* items = std::get_if<Array>(&value.data);
  if (items == nullptr) {
    reader.fail(value.where, fmt::format("'{}' must be a list of numbers", key));
    return all;
  }
  for (const Value& item : *items) {
    if (const auto* integer = std::get_if<std::int64_t>(&item.data)) {
      all.push_back(static_cast<double>(*integer));
    } else if (const auto* number = std::get_if<double>(&item.data);
               number != nullptr && std::isfinite(*number)) {
      all.push_back(*number);
    } else {
      reader.fail(item.where, fmt::format("'{}' must hold finite numbers only", key));
    }
  }
  return all;
}

const Value* required(Reader& reader, std::string_view key) {
  const Value* value = reader.any(key);
  if (value == nullptr) reader.fail(reader.where(), fmt::format("'{}' is missing", key));
  return value;
}

std::string at_least(std::string_view key, std::size_t least, std::string_view of) {
  return fmt::format("'{}' needs at least {} {}{}", key, least, of, least == 1 ? "" : "s");
}

// The parameter, when it is there and not null.
const Value* given(Reader& reader, std::string_view key) {
  const Value* value = reader.any(key);
  if (value == nullptr || std::holds_alternative<std::nullptr_t>(value->data)) return nullptr;
  return value;
}

}  // namespace

std::vector<double> sample(Reader& reader, std::string_view key, std::size_t least) {
  const Value* value = required(reader, key);
  if (value == nullptr) return {};
  const std::size_t complaints = reader.complaints().size();
  std::vector<double> all = numbers_of(reader, key, *value);
  if (all.size() < least && reader.complaints().size() == complaints)
    reader.fail(value->where, at_least(key, least, "number"));
  return all;
}

Samples samples(Reader& reader, std::string_view key, std::size_t least) {
  const Value* value = required(reader, key);
  if (value == nullptr) return {};
  const auto* items = std::get_if<Array>(&value->data);
  if (items == nullptr) {
    reader.fail(value->where, fmt::format("'{}' must be a list of lists of numbers", key));
    return {};
  }
  if (items->size() < least) reader.fail(value->where, at_least(key, least, "list"));
  Samples all;
  for (const Value& item : *items) {
    all.push_back(numbers_of(reader, key, item));
    if (const auto* inner = std::get_if<Array>(&item.data); inner != nullptr && inner->empty())
      reader.fail(item.where, fmt::format("a list in '{}' is empty", key));
  }
  return all;
}

Samples rows(Reader& reader, std::string_view key) {
  Samples all = samples(reader, key);
  for (const auto& row : all) {
    if (row.size() == all.front().size()) continue;
    reader.fail(key, fmt::format("the rows of '{}' must be equally long", key));
    break;
  }
  return all;
}

std::vector<std::optional<double>> gappy(Reader& reader, std::string_view key) {
  const Value* value = required(reader, key);
  if (value == nullptr) return {};
  const auto* items = std::get_if<Array>(&value->data);
  if (items == nullptr) {
    reader.fail(value->where, fmt::format("'{}' must be a list of numbers or null", key));
    return {};
  }
  std::vector<std::optional<double>> all;
  for (const Value& item : *items) {
    if (std::holds_alternative<std::nullptr_t>(item.data)) {
      all.emplace_back();
    } else if (const auto* integer = std::get_if<std::int64_t>(&item.data)) {
      all.emplace_back(static_cast<double>(*integer));
    } else if (const auto* number = std::get_if<double>(&item.data);
               number != nullptr && std::isfinite(*number)) {
      all.emplace_back(*number);
    } else {
      reader.fail(item.where, fmt::format("'{}' must hold finite numbers or null only", key));
    }
  }
  return all;
}

std::optional<double> extended(Reader& reader, std::string_view key) {
  const Value* value = given(reader, key);
  if (value == nullptr) return std::nullopt;
  if (const auto* text = std::get_if<std::string>(&value->data)) {
    if (*text == "Infinity") return std::numeric_limits<double>::infinity();
    if (*text == "-Infinity") return -std::numeric_limits<double>::infinity();
    reader.fail(value->where,
                fmt::format("'{}' must be a number, \"Infinity\" or \"-Infinity\", not \"{}\"", key, *text));
    return std::nullopt;
  }
  return reader.number(key);
}

Reader params(Reader& the_case) {
  static const Value none{{}, Table{}};
  if (auto table = the_case.table("params")) return *table;
  return Reader(none, the_case.complaints());
}

double number_or(Reader& params, std::string_view key, double otherwise, double low, double high) {
  if (given(params, key) == nullptr) return otherwise;
  const auto number = params.number(key);
  if (!number) return otherwise;
  if (*number < low || *number > high)
    params.fail(key, fmt::format("'{}' must lie between {} and {}", key, low, high));
  return *number;
}

std::int64_t integer_or(Reader& params, std::string_view key, std::int64_t otherwise, std::int64_t low,
                        std::int64_t high) {
  if (given(params, key) == nullptr) return otherwise;
  const auto integer = params.integer(key);
  if (!integer) return otherwise;
  if (*integer < low || *integer > high)
    params.fail(key, fmt::format("'{}' must lie between {} and {}", key, low, high));
  return *integer;
}

std::int64_t whole(Reader& reader, std::string_view key, std::int64_t low, std::int64_t high) {
  if (required(reader, key) == nullptr) return low;
  const auto integer = reader.integer(key);
  if (!integer) return low;
  if (*integer < low)
    reader.fail(key, fmt::format("'{}' must be at least {}, not {}", key, low, *integer));
  else if (*integer > high)
    reader.fail(key, fmt::format("'{}' must be at most {}, not {}", key, high, *integer));
  else
    return *integer;
  return low;
}

namespace {

// A required number, or `otherwise` when it is absent or null and there is one; nothing after a complaint.
std::optional<double> number(Reader& reader, std::string_view key, std::optional<double> otherwise) {
  if (given(reader, key) == nullptr && otherwise) return otherwise;
  return required(reader, key) == nullptr ? std::nullopt : reader.number(key);
}

}  // namespace

double positive(Reader& reader, std::string_view key, std::optional<double> otherwise) {
  const auto value = number(reader, key, otherwise);
  if (value && *value > 0) return *value;
  if (value) reader.fail(key, fmt::format("'{}' must be above 0, not {}", key, *value));
  return 1;
}

double fraction(Reader& reader, std::string_view key, std::optional<double> otherwise) {
  const auto value = number(reader, key, otherwise);
  if (value && *value > 0 && *value < 1) return *value;
  if (value) reader.fail(key, fmt::format("'{}' must lie between 0 and 1, not {}", key, *value));
  return 0.5;
}

double level(Reader& params) {
  const double level = number_or(params, "conf_level", 0.95);
  if (!(level > 0 && level < 1)) params.fail("conf_level", "'conf_level' must lie between 0 and 1");
  return level;
}

Alternative alternative(Reader& params) {
  if (given(params, "alternative") == nullptr) return Alternative::two_sided;
  const auto word = params.word("alternative", {"two.sided", "less", "greater"});
  return static_cast<Alternative>(word.value_or(0));
}

Law law_of(Reader& params) {
  if (given(params, "method") == nullptr) return Law::exact;
  return static_cast<Law>(params.word("method", {"exact", "normal"}).value_or(0));
}

Draws draws_of(Reader& params) {
  Draws draws;
  draws.count = static_cast<std::uint64_t>(integer_or(params, "draws", 100'000, 1, 1'000'000'000));
  draws.seed = Seed{
      static_cast<std::uint64_t>(integer_or(params, "seed", 1, 0, std::numeric_limits<std::int64_t>::max()))};
  draws.threads = static_cast<unsigned>(integer_or(params, "threads", 1, 0, 1024));
  return draws;
}

bool wrong(Reader& the_case) { return !the_case.complaints().empty(); }
tl::unexpected<Errors> failure_of(Reader& the_case) { return tl::unexpected(the_case.complaints()); }

Member count(std::string key, std::size_t n) { return member(std::move(key), static_cast<std::int64_t>(n)); }

Member resamples_of(const PermutationTest& test) {
  return test.all ? member("resamples", std::string("all")) : count("resamples", test.counts.total);
}

Table members_of(const PermutationTest& test) {
  return {member(Status::ok),
          member("method", std::string(test.method)),
          member("statistic", test.statistic),
          count("permutations", test.counts.total),
          count("count_ge", test.counts.ge),
          count("count_le", test.counts.le),
          count("count_abs_ge", test.counts.abs_ge),
          member("p_value", test.p_value),
          member("p_value_abs", test.p_value_abs),
          resamples_of(test)};
}

Table members_of(const NormalRankTest& test) {
  return {member(test.status),
          member("method", std::string("normal")),
          member("statistic", test.statistic),
          member("mean", test.mean),
          member("variance", test.variance),
          member("z", test.z),
          member("p_value", test.p_value),
          member("p_less", test.p_less),
          member("p_greater", test.p_greater),
          member("z_no_continuity", test.z_no_continuity),
          member("p_value_no_continuity", test.p_value_no_continuity)};
}

Value shift_of(const Shift& shift) {
  return to_value(Table{member(Status::ok), member("method", std::string(shift.method)),
                        member("estimate", shift.estimate), member("ci_low", shift.low),
                        member("ci_high", shift.high), member("conf_level_achieved", shift.level_achieved),
                        count("order_index", shift.order_index)});
}

tl::unexpected<Errors> too_many(Reader& the_case, std::string_view instead) {
  the_case.fail("x", "too many values for the exact law", std::string("use ").append(instead));
  return failure_of(the_case);
}

}  // namespace retrygate::stats
