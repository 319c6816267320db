#include "ci/commands.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ci/evidence.hpp"
#include "ci/version.hpp"
#include "properties/check.hpp"

namespace retrygate::ci {
namespace {

std::string repeat_command(const NamedPolicy& named, std::string_view invariant,
                           const CheckRequest& request) {
  return fmt::format("retrygate check '{}' --only {} --seed {} --cases {}", named.name, invariant,
                     request.seed, request.cases);
}

// The worst of a report's verdicts as an exit code, whatever their evidence.
ExitCode code_of(const std::vector<VerdictRow>& rows) {
  ExitCode code = ExitCode::pass;
  for (const VerdictRow& row : rows) {
    if (row.verdict == "broken") code = worst({code, ExitCode::internal});
    if (is_violation(row)) code = worst({code, ExitCode::violation});
  }
  return code;
}

}  // namespace

Errors unknown_invariants(const std::vector<std::string>& ids, const Where& where) {
  Errors errors;
  for (const std::string& id : ids) {
    if (invariants().find(id) == nullptr) {
      errors.push_back({where,
                        fmt::format("unknown invariant '{}'{}", id, did_you_mean(id, invariants().ids())),
                        "`retrygate list invariants` shows all"});
    }
  }
  return errors;
}

Result<Report> check_policies(const std::vector<NamedPolicy>& subjects, const CheckRequest& request) {
  if (Errors errors = unknown_invariants(request.only, {"--only", 1, 1}); !errors.empty())
    return tl::unexpected(std::move(errors));
  Report report;
  for (const NamedPolicy& named : subjects) {
    report.envelopes.push_back(envelope_of(named));
    const Subject subject{named.name, named.policy, named.policy.contract(), named.preset->deviations};
    for (const retrygate::VerdictRow& row :
         check(subject, {Seed{request.seed}, request.cases, request.only})) {
      const Counterexample& found = row.counterexample;
      std::string text = row.note;
      if (!found.shrunk.empty()) text += (text.empty() ? "" : "; ") + found.shrunk;
      report.verdicts.push_back({named.name, std::string(row.invariant->id),
                                 std::string(to_string(row.invariant->level)),
                                 std::string(to_string(row.invariant->evidence)),
                                 std::string(to_string(row.verdict)), std::string(row.invariant->claim), text,
                                 repeat_command(named, row.invariant->id, request), named.where});
    }
  }
  report.run.version = version();
  report.provenance = {std::string(commit()), random_streams_version, {}, {}};
  return report;
}

void conclude(Report& report, const CheckRequest& request) {
  for (VerdictRow& row : report.verdicts) row.strict = request.strict;
  report.code = worst({report.code, code_of(report.verdicts)});
  const auto unsure = [](const VerdictRow& row) { return row.verdict == "unsure"; };
  report.undecided = request.inconclusive != Inconclusive::pass &&
                     std::any_of(report.verdicts.begin(), report.verdicts.end(), unsure);
  if (report.undecided && request.inconclusive == Inconclusive::fail)
    report.code = worst({report.code, ExitCode::inconclusive});
}

std::string samples_text(const SampleTable& table) {
  std::string out;
  for (const Cell& cell : table.cells) {
    out += fmt::format("{}{} on {}, {} seeds: {}\n", out.empty() ? "" : "\n", cell.policy, cell.scenario,
                       cell.seeds.size(), cell.definition);
    out += fmt::format("  {:<16} {:>14} {:>14} {:>14}\n", "metric", "mean", "lowest", "highest");
    for (std::size_t m = 0; m < table.metrics.size(); ++m) {
      std::vector<double> reached;
      for (const std::optional<double>& value : cell.samples[m]) {
        if (value) reached.push_back(*value);
      }
      const std::size_t missing = cell.seeds.size() - reached.size();
      if (reached.empty()) {
        out += fmt::format("  {:<16} {:>14}\n", table.metrics[m], "not reached");
        continue;
      }
      double sum = 0;
      for (const double value : reached) sum += value;
      const auto [lowest, highest] = std::minmax_element(reached.begin(), reached.end());
      out += fmt::format("  {:<16} {:>14.6g} {:>14.6g} {:>14.6g}{}\n", table.metrics[m],
                         sum / static_cast<double>(reached.size()), *lowest, *highest,
                         missing == 0 ? "" : fmt::format("   not reached in {} seeds", missing));
    }
  }
  return out;
}

}  // namespace retrygate::ci
