#include "policies/find_contract.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "policies/base/json.hpp"
#include "policies/base/shelf.hpp"

namespace retrygate {
namespace {

Result<Value> load(const std::string& path) {
  if (!path.ends_with(".json")) return load_toml(path);
  const auto text = read_file(path);
  if (!text) return tl::unexpected(text.error());
  return parse_json(*text, path);
}

const Value* table_at(const Value& outer, std::string_view key) {
  const auto* members = std::get_if<Table>(&outer.data);
  if (members == nullptr) return nullptr;
  for (const Member& m : *members) {
    if (m.key == key && std::holds_alternative<Table>(m.value.data)) return &m.value;
  }
  return nullptr;
}

// The names of [contract.NAME] tables; none when the table is a contract itself.
std::vector<std::string_view> names_in(const Value& table) {
  std::vector<std::string_view> names;
  for (const Member& m : std::get<Table>(table.data)) {
    if (!std::holds_alternative<Table>(m.value.data)) return {};
    names.push_back(m.key);
  }
  return names;
}

Result<Value> pick(const Value& file, const std::string& path, std::string_view name, const Where& where) {
  const Value* outer = table_at(file, "contract");
  if (name.empty()) {
    if (outer == nullptr) return file;
    const auto names = names_in(*outer);
    if (names.empty()) return *outer;
    if (names.size() == 1) return std::get<Table>(outer->data).front().value;
    return failure(where, fmt::format("{} has several contracts", path),
                   fmt::format("write {}#NAME with one of: {}", path, fmt::join(names, ", ")));
  }
  const auto names = outer != nullptr ? names_in(*outer) : std::vector<std::string_view>{};
  if (std::find(names.begin(), names.end(), name) != names.end()) return *table_at(*outer, name);
  return failure(where, fmt::format("{} has no [contract.{}]{}", path, name, did_you_mean(name, names)),
                 names.empty() ? "it has no [contract.NAME] table at all"
                               : fmt::format("it has: {}", fmt::join(names, ", ")));
}

Result<Value> contract_table(std::string_view reference, const Where& where) {
  if (reference.starts_with('{')) return parse_json(reference, where.file);
  const std::size_t hash = reference.rfind('#');
  const std::string path(reference.substr(0, hash));
  const std::string_view name = hash == std::string_view::npos ? "" : reference.substr(hash + 1);
  return load(path).and_then([&](const Value& file) { return pick(file, path, name, where); });
}

}  // namespace

Result<NamedContract> find_contract(std::string_view reference, Where where) {
  auto table = contract_table(reference, where);
  if (!table) return tl::unexpected(table.error());
  Errors complaints;
  Reader reader(*table, complaints);
  Contract contract = read_contract(reader);
  reader.finish();
  if (!complaints.empty()) return tl::unexpected(std::move(complaints));
  return NamedContract{std::string(reference), std::move(contract), std::move(*table)};
}

}  // namespace retrygate
