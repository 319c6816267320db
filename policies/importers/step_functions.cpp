// `Retry` of the states of an AWS Step Functions state machine (Amazon States Language).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "policies/base/json.hpp"
#include "policies/importers/importer.hpp"

namespace retrygate {
namespace {

using importing::at;

class StatesReader {
 public:
  // States, and those within Parallel branches and Map processors.
  void machine(const Value& value) {
    const Value* states = at(value, "States");
    const auto* members = states != nullptr ? std::get_if<Table>(&states->data) : nullptr;
    if (members == nullptr) return;
    for (const Member& state : *members) {
      if (const Value* retry = at(state.value, "Retry")) retriers(*retry, state.key);
      for (const char* inner : {"ItemProcessor", "Iterator"}) {
        if (const Value* nested = at(state.value, inner)) machine(*nested);
      }
      if (const Value* branches = at(state.value, "Branches")) {
        if (const auto* items = std::get_if<Array>(&branches->data)) {
          for (const Value& branch : *items) machine(branch);
        }
      }
    }
  }

  Imported result;
  Errors complaints;

 private:
  void warn(Where where, std::string message) {
    result.warnings.push_back({std::move(where), std::move(message), ""});
  }

  void retriers(const Value& list, const std::string& state) {
    const auto* items = std::get_if<Array>(&list.data);
    if (items == nullptr) {
      complaints.push_back({list.where, "'Retry' must be a list of retriers", ""});
      return;
    }
    for (const Value& item : *items) retrier(item, state, &item == &items->back());
    if (items->size() > 1)
      warn(list.where,
           fmt::format(
               "state {}: each retrier counts for itself, so one execution may be tried more often than "
               "any of them says",
               state));
  }

  void retrier(const Value& value, const std::string& state, bool last) {
    Reader table(value, complaints);
    const auto errors = table.texts("ErrorEquals");
    const Value* given = at(value, "ErrorEquals");
    if (given == nullptr)
      table.fail(table.where(), "'ErrorEquals' is missing");
    else if (const auto* names = std::get_if<Array>(&given->data); names == nullptr || names->empty())
      table.fail("ErrorEquals", "'ErrorEquals' must be a list of at least one error name",
                 "for example [\"States.Timeout\"]");
    const bool all = std::find(errors.begin(), errors.end(), "States.ALL") != errors.end();
    if (all && (errors.size() > 1 || !last))
      table.fail("ErrorEquals", "States.ALL must stand alone, and in the last retrier");
    const std::int64_t interval = within(table, "IntervalSeconds", 1, 1, 99'999'999);
    const std::int64_t retries = within(table, "MaxAttempts", 3, 0, 99'999'999);
    const double rate = table.number("BackoffRate").value_or(2);
    if (!(rate >= 1)) table.fail("BackoffRate", "'BackoffRate' must be at least 1");
    constexpr std::int64_t year_s = 31'622'400;  // MaxDelaySeconds must be below it
    const std::int64_t most = within(table, "MaxDelaySeconds", year_s, 1, year_s - 1);
    if (table.has("MaxDelaySeconds") && most <= interval)
      table.fail("MaxDelaySeconds", "'MaxDelaySeconds' must be above 'IntervalSeconds'");
    const auto jitter = table.word("JitterStrategy", {"NONE", "FULL"});
    table.any("Comment");
    table.finish();
    importing::Keys keys(jitter == 1 ? "full-jitter" : "exponential");
    keys.set("base", Duration::s(std::min(interval, most))).set("factor", rate).set("cap", Duration::s(most));
    keys.set("max_attempts", retries + 1);
    std::vector<std::string> others;
    for (const std::string& error : errors) {
      if (error != "States.ALL" && error != "States.Timeout") others.push_back(error);
    }
    if (errors.size() == 1 && errors.front() == "States.Timeout")
      keys.set("retry_on", std::vector<std::string>{"timeout"});
    else if (!others.empty())
      warn(table.where("ErrorEquals"),
           fmt::format("state {}: error names have no word in a policy; what is retried is left open ({})",
                       state, fmt::join(others, ", ")));
    result.policies.push_back({importing::free_name(state, result.policies), value.where, keys.take()});
  }

  static std::int64_t within(Reader& table, std::string_view key, std::int64_t otherwise, std::int64_t least,
                             std::int64_t most) {
    const auto value = table.integer(key);
    if (!value) return otherwise;
    if (*value < least || *value > most)
      table.fail(key, fmt::format("'{}' must lie in {}..{}, not {}", key, least, most, *value));
    return std::clamp(*value, least, most);
  }
};

Result<Imported> read_step_functions(std::string_view text, const std::string& source) {
  const auto machine = parse_json(text, source);
  if (!machine) return tl::unexpected(machine.error());
  StatesReader reader;
  reader.machine(*machine);
  if (!reader.complaints.empty()) return tl::unexpected(std::move(reader.complaints));
  if (reader.result.policies.empty())
    return failure(machine->where, "no state has a 'Retry' here",
                   "is this a state machine in Amazon States Language?");
  return std::move(reader.result);
}

}  // namespace

void add_step_functions(Shelf<Importer>& shelf) {
  shelf.add(
      {"step-functions", "Retry of an AWS Step Functions state machine (JSON)",
       "Amazon States Language, 'Errors', and AWS Step Functions developer guide, 'Retrying after an error'",
       &read_step_functions});
}

}  // namespace retrygate
