#include "ci/outside.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "policies/trace.hpp"
#include "properties/outside.hpp"

namespace retrygate::ci {
namespace {

constexpr std::string_view prefix = "exec:";

// One word for the shell, whatever it holds.
std::string shell_word(std::string_view text) {
  std::string word = "'";
  for (const char c : text) {
    if (c == '\'')
      word += "'\\''";
    else
      word += c;
  }
  return word + "'";
}

std::string repeat_command(const std::string& subject, const std::optional<NamedContract>& contract,
                           std::string_view invariant, const CheckRequest& request) {
  const std::string promise = contract ? fmt::format(" --contract {}", shell_word(contract->name)) : "";
  return fmt::format("retrygate check {}{} --only {} --seed {}", subject, promise, invariant, request.seed);
}

void add(Report& report, const OutsideResult& result, const std::string& subject,
         const std::optional<NamedContract>& contract, const CheckRequest& request) {
  for (const retrygate::VerdictRow& row : result.rows) {
    std::string text = row.note;
    if (!row.counterexample.shrunk.empty()) text += (text.empty() ? "" : "; ") + row.counterexample.shrunk;
    report.verdicts.push_back({row.subject, std::string(row.invariant->id),
                               std::string(to_string(row.invariant->level)),
                               std::string(to_string(row.invariant->evidence)),
                               std::string(to_string(row.verdict)), std::string(row.invariant->claim), text,
                               repeat_command(subject, contract, row.invariant->id, request)});
  }
  report.notes.insert(report.notes.end(), result.notes.begin(), result.notes.end());
}

OutsideOptions options_of(const CheckRequest& request) {
  return {Seed{request.seed}, request.only, nullptr, {}};
}

// After the last failed attempt of a call, how long a client may still be waiting for its next one.
Duration patience(const Contract& c) {
  constexpr Duration when_nothing_is_promised = Duration::s(60);
  if (!c.cap) return when_nothing_is_promised;
  const Duration jitter = c.cap_kind == CapKind::before_jitter ? *c.cap * 2 : Duration{};
  return std::max({*c.cap + jitter, c.retry_after_max.value_or(Duration{})});
}

}  // namespace

bool is_program(const std::string& subject) { return subject.starts_with(prefix); }

Report check_programs(const std::vector<std::string>& subjects, const std::optional<NamedContract>& contract,
                      const CheckRequest& request) {
  Report report;
  for (const std::string& subject : subjects) {
    OutsideOptions options = options_of(request);
    if (contract) options.contract_text = &contract->source;
    const auto result = check_program(subject, subject.substr(prefix.size()),
                                      contract ? contract->contract : Contract{}, options);
    if (result) {
      add(report, *result, shell_word(subject), contract, request);
    } else {
      report.notes.push_back(fmt::format("{} was not checked: {}", subject, to_string(result.error())));
      report.code = worst({report.code, ExitCode::internal});
    }
  }
  return report;
}

Result<Report> check_recording(const std::string& path, const std::optional<NamedContract>& contract,
                               const CheckRequest& request) {
  const Contract promised = contract ? contract->contract : Contract{};
  const auto text = read_file(path);
  if (!text) return tl::unexpected(text.error());
  auto trace = parse_trace(*text, path, patience(promised));
  if (!trace) return tl::unexpected(trace.error());
  Report report;
  add(report, check_trace(path, std::move(*trace), promised, options_of(request)),
      fmt::format("--trace {}", shell_word(path)), contract, request);
  return report;
}

void append(Report& a, const Report& b) {
  a.verdicts.insert(a.verdicts.end(), b.verdicts.begin(), b.verdicts.end());
  a.envelopes.insert(a.envelopes.end(), b.envelopes.begin(), b.envelopes.end());
  a.notes.insert(a.notes.end(), b.notes.begin(), b.notes.end());
  a.code = worst({a.code, b.code});
}

}  // namespace retrygate::ci
