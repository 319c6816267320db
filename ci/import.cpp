#include "ci/import.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ci/json_io.hpp"
#include "policies/importers/importer.hpp"

namespace retrygate::ci {
namespace {

std::string warning(const Error& e) {
  return fmt::format("{}: warning: {}\n{}", to_string(e.where), e.message,
                     e.hint.empty() ? "" : fmt::format("  hint: {}\n", e.hint));
}

// The policies as they read back from what is written. What contradicts itself in our terms is said of the
// settings that it is made from.
Result<std::vector<NamedPolicy>> read_back(const Imported& imported, const std::string& toml) {
  const auto file = parse_toml(toml, "imported");
  if (!file) return tl::unexpected(file.error());
  Errors errors;
  std::vector<NamedPolicy> policies;
  const Value* tables = importing::at(*file, "policy");
  for (const Member& m : std::get<Table>(tables->data)) {
    auto policy = read_policy(m.key, m.value);
    if (policy) {
      policies.push_back(std::move(*policy));
      continue;
    }
    const auto origin = std::find_if(imported.policies.begin(), imported.policies.end(),
                                     [&](const ImportedPolicy& p) { return p.name == m.key; });
    for (Error e : policy.error()) {
      e.where = origin->where;
      errors.push_back(std::move(e));
    }
  }
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  return policies;
}

}  // namespace

Result<ImportOutput> import_policies(const std::string& kind, const std::string& path) {
  const Importer* importer = importers().find(kind);
  if (importer == nullptr)
    return failure({"KIND", 1, 1},
                   fmt::format("unknown kind '{}'{}", kind, did_you_mean(kind, importers().ids())),
                   "known: envoy, gateway, grpc, step-functions");
  const auto text = read_input(path);
  if (!text) return tl::unexpected(text.error());
  auto imported = importer->read(*text, path);
  if (!imported) return tl::unexpected(by_place(std::move(imported.error())));
  ImportOutput output{to_toml(*imported), {}, ExitCode::pass};
  for (const Error& e : by_place(imported->warnings)) output.told += warning(e);
  const auto policies = read_back(*imported, output.toml);
  if (!policies) return tl::unexpected(policies.error());
  const auto report = check_policies(*policies, {});
  if (!report) return tl::unexpected(report.error());
  for (const NamedPolicy& policy : *policies) {
    int held = 0;
    std::string failed;
    for (const VerdictRow& row : report->verdicts) {
      if (row.subject != policy.name) continue;
      held += row.verdict == "holds" ? 1 : 0;
      if (row.verdict == "fails" || row.verdict == "broken")
        failed += fmt::format("\n  {} ({}): {}", row.invariant, row.level, row.counterexample);
    }
    output.told += fmt::format("checked {}: {} invariants hold{}{}\n", policy.name, held,
                               failed.empty() ? "" : ", these do not:", failed);
  }
  output.code = report->code;
  return output;
}

}  // namespace retrygate::ci
