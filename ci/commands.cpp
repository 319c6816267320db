#include "ci/commands.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ci/evidence.hpp"
#include "ci/outside.hpp"
#include "ci/version.hpp"

namespace retrygate::ci {
namespace {

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

CaseKeeper::CaseKeeper(const CheckRequest& request, Report& report) : request_(request), report_(report) {
  if (request.cases_file.empty()) return;
  if (auto read = SavedCases::read(request.cases_file)) {
    saved_ = std::move(*read);
    saving_ = true;
  } else {
    report.notes.push_back("No saved case is tried: " + to_string(read.error().front()));
  }
}

Options CaseKeeper::options_for(const std::string& subject) const {
  Options options{Seed{request_.seed}, request_.cases, request_.only, saved_.of(subject)};
  if (request_.first_failure)
    options.first_failure = [this, subject](const Invariant& invariant, const std::string& unshrunk) {
      request_.first_failure(subject, invariant.id, unshrunk);
    };
  return options;
}

void CaseKeeper::add(const std::vector<retrygate::VerdictRow>& rows, const ShownSubject& shown) {
  for (const retrygate::VerdictRow& row : rows) {
    const Counterexample& found = row.counterexample;
    const std::string id(row.invariant->id);
    std::string text = row.note;
    if (!found.shrunk.empty()) text += (text.empty() ? "" : "; ") + found.shrunk;
    std::string repeat = found.repeat.empty()
                             ? fmt::format("retrygate check {} --only {} --seed {} --cases {}",
                                           shell_word(row.subject), id, request_.seed, request_.cases)
                             : found.repeat;
    repeat += shown.options;
    if (request_.strict) repeat += " --strict";
    report_.verdicts.push_back({shown.name,
                                id,
                                std::string(to_string(row.invariant->level)),
                                std::string(to_string(row.invariant->evidence)),
                                std::string(to_string(row.verdict)),
                                std::string(row.invariant->claim),
                                text,
                                std::move(repeat),
                                shown.where,
                                {},
                                found.unshrunk == found.shrunk ? "" : found.unshrunk,
                                found.elsewhere});
    // What was not asked is not mended.
    const auto saved = saved_.of(row.subject);
    if (row.verdict == Verdict::not_promised &&
        std::any_of(saved.begin(), saved.end(), [&](const Token& token) { return token.invariant == id; }))
      report_.notes.push_back(fmt::format(
          "{}: the saved case of {} is kept: this is not promised now, and the case was not tried.",
          shown.name, id));
    if (row.mended) {
      report_.notes.push_back(fmt::format("{}: the saved case of {} no longer fails and was removed ({}).",
                                          shown.name, id, to_string(*row.mended)));
      saved_.drop(row.subject, id);
    }
    if (row.verdict == Verdict::fails) {
      if (const auto token = parse_token(found.token)) saved_.keep(row.subject, *token);
    }
  }
}

void CaseKeeper::close() {
  if (!saving_) return;
  if (const auto written = saved_.write(request_.cases_file); !written)
    report_.notes.push_back("The cases that failed are not saved: " + to_string(written.error().front()));
}

Result<Report> check_policies(const std::vector<NamedPolicy>& subjects, const CheckRequest& request) {
  if (Errors errors = unknown_invariants(request.only, {"--only", 1, 1}); !errors.empty())
    return tl::unexpected(std::move(errors));
  Report report;
  CaseKeeper keeper(request, report);
  for (const NamedPolicy& named : subjects) {
    const ShownSubject shown{named.name, named.where};
    if (named.program) {
      const auto done = check_program_as(shown, named.reference, named.program->policy.command(),
                                         named.program->policy.contract(), &named.program->contract, request,
                                         keeper, report);
      if (!done) return tl::unexpected(done.error());
      continue;
    }
    report.envelopes.push_back(envelope_of(named));
    const Subject subject = subject_of(named);
    const Options options = keeper.options_for(subject.name);
    if (request.replay) {
      const auto token = read_token(*request.replay, subject.name, {"--replay", 1, 1});
      if (!token) return tl::unexpected(token.error());
      keeper.add({replay(*token, subject, options)}, shown);
      report.coverage.push_back({named.name, "the one case of the token", {}});
      continue;
    }
    keeper.add(check(subject, options), shown);
    Coverage coverage = coverage_of(subject, options);
    report.coverage.push_back({named.name, std::move(coverage.tried), std::move(coverage.not_tried)});
  }
  keeper.close();
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
  bool left_out = false;
  std::string out;
  for (const Cell& cell : table.cells) {
    out += fmt::format("{}{} on {}, {} {}: {}\n", out.empty() ? "" : "\n", cell.policy, cell.scenario,
                       cell.seeds.size(), cell.seeds.size() == 1 ? "seed" : "seeds", cell.definition);
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
      left_out |= missing > 0;
    }
  }
  if (left_out)
    out +=
        "\nA mean is over the seeds that got there; `compare` and `gate` count the others as the horizon.\n";
  return out;
}

}  // namespace retrygate::ci
