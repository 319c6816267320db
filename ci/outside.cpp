#include "ci/outside.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ci/json_io.hpp"
#include "policies/program_policy.hpp"
#include "policies/trace.hpp"
#include "properties/outside.hpp"

namespace retrygate::ci {
namespace {

// What a command that repeats a check needs beside the subject.
std::string options_to_repeat(const std::optional<NamedContract>& contract) {
  return contract ? fmt::format(" --contract {}", shell_word(contract->name)) : "";
}

// After the last failed attempt of a call, how long a client may still be waiting for its next one.
Duration patience(const Contract& c) {
  constexpr Duration when_nothing_is_promised = Duration::s(60);
  if (!c.cap) return when_nothing_is_promised;
  const Duration jitter = c.cap_kind == CapKind::before_jitter ? *c.cap * 2 : Duration{};
  return std::max({*c.cap + jitter, c.retry_after_max.value_or(Duration{})});
}

}  // namespace

bool is_program(const std::string& subject) { return subject.starts_with(program_prefix); }

Result<void> check_program_as(const ShownSubject& shown, const std::string& reference,
                              const std::string& command, const Contract& promised,
                              const Value* contract_text, const CheckRequest& request, CaseKeeper& keeper,
                              Report& report) {
  OutsideOptions options{keeper.options_for(reference)};
  options.contract_text = contract_text;
  std::optional<Token> token;
  if (request.replay) {
    auto read = read_token(*request.replay, reference, {"--replay", 1, 1});
    if (!read) return tl::unexpected(std::move(read.error()));
    token = std::move(*read);
  }
  auto result = token ? replay_program(*token, reference, command, promised, options)
                      : check_program(reference, command, promised, options);
  if (!result) {
    report.unstarted.push_back(
        {shown.where, fmt::format("{} was not checked: {}", shown.name, to_string(result.error())), {}});
    report.code = worst({report.code, ExitCode::internal});
    return {};
  }
  keeper.add(result->rows, shown);
  report.coverage.push_back({shown.name, result->coverage.tried, result->coverage.not_tried});
  return {};
}

Result<Report> check_programs(const std::vector<std::string>& subjects,
                              const std::optional<NamedContract>& contract, const CheckRequest& request) {
  Report report;
  CaseKeeper keeper(request, report);
  const Contract promised = contract ? contract->contract : Contract{};
  for (const std::string& subject : subjects) {
    const auto done = check_program_as({subject, {}, options_to_repeat(contract)}, subject,
                                       subject.substr(program_prefix.size()), promised,
                                       contract ? &contract->source : nullptr, request, keeper, report);
    if (!done) return tl::unexpected(done.error());
  }
  keeper.close();
  return report;
}

Result<Report> check_recording(const std::string& path, const std::optional<NamedContract>& contract,
                               const CheckRequest& request) {
  const Contract promised = contract ? contract->contract : Contract{};
  const auto text = read_input(path);
  if (!text) return tl::unexpected(text.error());
  auto trace = parse_trace(*text, path, patience(promised));
  if (!trace) return tl::unexpected(trace.error());
  Report report;
  CheckRequest once = request;  // a recording has no cases to keep
  once.cases_file.clear();
  CaseKeeper keeper(once, report);
  auto result = check_trace(path, std::move(*trace), promised, {keeper.options_for(path)});
  for (retrygate::VerdictRow& row : result.rows)
    row.counterexample.repeat =
        fmt::format("retrygate check --trace {} --only {}", shell_word(path), row.invariant->id);
  keeper.add(result.rows, {path, {}, options_to_repeat(contract)});
  report.coverage.push_back({path, result.coverage.tried, result.coverage.not_tried});
  return report;
}

void append(Report& a, const Report& b) {
  a.verdicts.insert(a.verdicts.end(), b.verdicts.begin(), b.verdicts.end());
  a.coverage.insert(a.coverage.end(), b.coverage.begin(), b.coverage.end());
  a.envelopes.insert(a.envelopes.end(), b.envelopes.begin(), b.envelopes.end());
  a.unstarted.insert(a.unstarted.end(), b.unstarted.begin(), b.unstarted.end());
  a.notes.insert(a.notes.end(), b.notes.begin(), b.notes.end());
  a.code = worst({a.code, b.code});
}

}  // namespace retrygate::ci
