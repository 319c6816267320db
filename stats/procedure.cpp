#include "stats/procedure.hpp"

#include <fmt/format.h>

#include <cmath>

#include "stats/distributions.hpp"

namespace retrygate::stats {
namespace {

bool has_nan(const Value& value) {
  if (const auto* number = std::get_if<double>(&value.data)) return std::isnan(*number);
  if (const auto* items = std::get_if<Array>(&value.data)) {
    for (const Value& item : *items) {
      if (has_nan(item)) return true;
    }
  }
  if (const auto* members = std::get_if<Table>(&value.data)) {
    for (const Member& member : *members) {
      if (has_nan(member.value)) return true;
    }
  }
  return false;
}

}  // namespace

Result<Value> run(const Procedure& procedure, const Value& the_case) {
  Errors complaints;
  Reader reader(the_case, complaints);
  if (!complaints.empty()) return tl::unexpected(std::move(complaints));
  Result<Value> result;
  try {
    result = procedure.run(reader);
  } catch (const OutOfReach& e) {
    return failure(the_case.where,
                   fmt::format("'{}' cannot be computed from numbers so large or so small ({})", procedure.id,
                               e.what()));
  }
  if (!complaints.empty()) return tl::unexpected(std::move(complaints));
  if (result) RG_ASSERT(!has_nan(*result), procedure.id);
  return result;
}

}  // namespace retrygate::stats
