#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>

#include "policies/base/toml.hpp"
#include "policies/importers/importer.hpp"

namespace retrygate {

std::string to_toml(const Imported& imported) {
  std::string out;
  for (const ImportedPolicy& policy : imported.policies)
    out += fmt::format("{}# from {}\n[policy.{}]\n{}", out.empty() ? "" : "\n", to_string(policy.where),
                       policy.name, write_toml(policy.table));
  return out;
}

namespace importing {

Keys& Keys::set(std::string key, std::vector<std::string> words) {
  Array items;
  for (std::string& word : words) {
    std::int64_t number = 0;
    const char* end = word.data() + word.size();
    const auto [at, fault] = std::from_chars(word.data(), end, number);
    if (fault == std::errc{} && at == end)
      items.push_back({{}, number});
    else
      items.push_back({{}, std::move(word)});
  }
  return add(std::move(key), std::move(items));
}

std::optional<std::int64_t> count(Reader& table, std::string_view key) {
  const auto n = table.integer(key);
  constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
  if (!n || (*n >= 0 && *n <= most)) return n;
  table.fail(key, fmt::format("'{}' must lie in 0..{}, not {}", key, most, *n));
  return std::nullopt;
}

std::optional<Duration> seconds(Reader& table, std::string_view key, bool needed) {
  const auto text = table.text(key);
  if (!text) {
    if (needed && !table.has(key))
      table.fail(table.where(), fmt::format("'{}' is missing", key), "for example \"0.1s\"");
    return std::nullopt;
  }
  if (!text->ends_with('s') || text->size() < 2 ||
      std::isdigit(static_cast<unsigned char>(*(text->end() - 2))) == 0) {
    table.fail(key, fmt::format("'{}' must be in seconds with an s", key), "for example \"0.1s\"");
    return std::nullopt;
  }
  const auto d = keep(parse_duration(*text, table.where(key)), table.complaints());
  if (d && *d <= Duration{}) table.fail(key, fmt::format("'{}' must be above 0", key));
  return d;
}

const Value* at(const Value& table, std::string_view key) {
  const auto* members = std::get_if<Table>(&table.data);
  if (members == nullptr) return nullptr;
  const auto found =
      std::find_if(members->begin(), members->end(), [&](const Member& m) { return m.key == key; });
  return found != members->end() ? &found->value : nullptr;
}

std::string free_name(std::string_view text, const std::vector<ImportedPolicy>& taken) {
  std::string name;
  for (const char c : text) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '-';
  if (name.empty()) name = "policy";
  const auto is_taken = [&](const std::string& wanted) {
    return std::any_of(taken.begin(), taken.end(), [&](const ImportedPolicy& p) { return p.name == wanted; });
  };
  if (!is_taken(name)) return name;
  int number = 2;
  while (is_taken(fmt::format("{}-{}", name, number))) ++number;
  return fmt::format("{}-{}", name, number);
}

}  // namespace importing
}  // namespace retrygate
