// The report as SARIF 2.1.0, for code scanning: a broken promise is a result at the policy's line in its
// file, a regression one at the suite. Rule id = invariant id.
#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "ci/report.hpp"
#include "policies/base/hash.hpp"
#include "policies/base/json.hpp"
#include "properties/invariant.hpp"

namespace retrygate::ci {
namespace {

Value text(std::string_view value) { return to_value(std::string(value)); }
Member entry(std::string key, std::string_view value) { return {std::move(key), {}, text(value)}; }
Value sarif_message(std::string_view words) { return to_value(Table{entry("text", words)}); }

// A path as a URI (RFC 3986): what is not unreserved is encoded. A relative one is relative to the root of
// the repository, where pipelines run.
std::string uri(const std::string& path) {
  const std::filesystem::path normal = std::filesystem::path(path).lexically_normal();
  std::string out = normal.is_absolute() ? "file://" : "";
  for (const char c : normal.generic_string()) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter || std::string_view("-._~/").find(c) != std::string_view::npos)
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
  return out;
}

Value location(const Where& where, std::string_view subject) {
  Table place = {member("logicalLocations", Array{to_value(Table{entry("fullyQualifiedName", subject)})})};
  // Only a file has a place; a policy named on the command line has none.
  if (where.file.ends_with(".toml")) {
    Table physical = {member("artifactLocation", Table{entry("uri", uri(where.file))})};
    if (where.line > 0)
      physical.push_back(
          member("region", Table{member("startLine", std::int64_t{where.line}),
                                 member("startColumn", std::int64_t{std::max(1, where.column)})}));
    place.insert(place.begin(), member("physicalLocation", std::move(physical)));
  }
  return to_value(std::move(place));
}

// Stays the same from run to run, so that a finding is recognised: no numbers, no line.
Value fingerprint(std::string_view what, std::string_view subject, std::string_view rule) {
  return to_value(Table{entry("retrygate/v1", hex(fnv1a(fmt::format("{}\n{}\n{}", what, subject, rule))))});
}

Value result(std::string_view rule, std::string_view level, std::string_view words, Value place,
             Value print) {
  return to_value(Table{entry("ruleId", rule),
                        entry("level", level),
                        {"message", {}, sarif_message(words)},
                        member("locations", Array{std::move(place)}),
                        {"partialFingerprints", {}, std::move(print)}});
}

std::string sarif_document(const Report& report) {
  Array results, rules;
  std::set<std::string> used;
  const auto use = [&](const std::string& id, std::string_view claim, std::string_view why) {
    if (!used.insert(id).second) return;
    rules.push_back(to_value(Table{entry("id", id),
                                   {"shortDescription", {}, sarif_message(claim)},
                                   {"fullDescription", {}, sarif_message(why)},
                                   {"help", {}, sarif_message(fmt::format("retrygate explain {}", id))}}));
  };
  for (const VerdictRow& row : report.verdicts) {
    const bool waived = row.verdict == "waived";
    if (row.verdict != "fails" && !waived) continue;
    const Invariant* invariant = invariants().find(row.invariant);
    use(row.invariant, row.claim, invariant != nullptr ? invariant->why : row.claim);
    results.push_back(
        result(row.invariant, is_violation(row) || (waived && row.level == "MUST") ? "error" : "warning",
               fmt::format("{}: {} {} Repeat: {}", row.subject, row.claim, row.counterexample, row.repeat),
               location(row.where, row.subject), fingerprint("check", row.subject, row.invariant)));
    // A finding that the suite accepts for a while is shown as such, not left out.
    if (waived)
      std::get<Table>(results.back().data)
          .push_back(member("suppressions",
                            Array{to_value(Table{entry("kind", "external"), entry("status", "accepted"),
                                                 entry("justification", row.waiver)})}));
  }
  for (const ComparisonRow& row : report.comparisons) {
    if (row.verdict != "fail") continue;
    const Fault& fault = fault_of(row);
    use(std::string(fault.id), fault.claim,
        "The suite says by how much a metric may change; the simulation shows otherwise, beyond chance.");
    results.push_back(
        result(fault.id, "error",
               fmt::format("{} on {}, {}: {}", row.candidate, world_of(row), row.metric, row.headline),
               location(row.where, row.candidate), fingerprint(world_of(row), row.candidate, row.metric)));
  }
  const Table driver = {entry("name", "retrygate"), entry("version", report.run.version),
                        member("rules", std::move(rules))};
  Table run = {member("tool", Table{member("driver", driver)}), member("results", std::move(results))};
  if (!report.refused.empty() || !report.unstarted.empty()) {
    const auto notifications = [](const Errors& errors) {
      Array all;
      for (const Error& error : errors)
        all.push_back(
            to_value(Table{entry("level", "error"),
                           {"message", {}, sarif_message(error.message)},
                           member("locations", Array{location(error.where, to_string(error.where))})}));
      return all;
    };
    Table invocation = {member("executionSuccessful", false)};
    if (!report.refused.empty())
      invocation.push_back(member("toolConfigurationNotifications", notifications(report.refused)));
    if (!report.unstarted.empty())
      invocation.push_back(member("toolExecutionNotifications", notifications(report.unstarted)));
    run.push_back(member("invocations", Array{to_value(std::move(invocation))}));
  }
  const Table log = {entry("$schema", "https://json.schemastore.org/sarif-2.1.0.json"),
                     entry("version", "2.1.0"), member("runs", Array{to_value(run)})};
  return write_json(to_value(log)) + "\n";
}

}  // namespace

void add_sarif(Shelf<Reporter>& shelf) {
  shelf.add({"sarif", "report.sarif", "SARIF 2.1.0, for code scanning", &sarif_document});
}

}  // namespace retrygate::ci
