#include "policies/named.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace retrygate {
namespace {

Where shifted(Where where, std::size_t by) {
  where.column += static_cast<int>(by);
  return where;
}

Errors unknown_policy(std::string_view id, Where where) {
  return {{std::move(where), fmt::format("unknown policy '{}'{}", id, did_you_mean(id, presets().ids())),
           "`retrygate list policies` shows all; a policy of your own is written FILE.toml#name"}};
}

Result<NamedPolicy> make(std::string name, const Preset& preset, const Value& parameters, Where where) {
  Errors complaints;
  Reader reader(parameters, complaints);
  AnyPolicy policy = preset.make(reader);
  reader.finish();
  if (!complaints.empty()) return tl::unexpected(std::move(complaints));
  Table source = {{"kind", where, {where, std::string(preset.id)}}};
  for (const Member& m : std::get<Table>(parameters.data)) source.push_back(m);
  Value table{where, std::move(source)};
  std::string reference = name;
  return NamedPolicy{std::move(name), std::move(policy), std::move(where),
                     &preset,         std::move(table),  std::move(reference)};
}

// What stands in the place of a preset for a policy in another process.
const Preset& program_preset() {
  static const Preset preset{"exec", "a program that speaks the protocol retrygate-policy",
                             "the program itself (policies/adapters/README.md)", nullptr};
  return preset;
}

NamedPolicy make_program(std::string name, std::string command, Contract contract, Value contract_text,
                         Value source, Where where) {
  const ProgramPolicy policy(std::move(command), std::move(contract));
  std::string reference = name;
  return {std::move(name),
          policy,
          std::move(where),
          &program_preset(),
          std::move(source),
          std::move(reference),
          std::make_shared<const Program>(Program{policy, std::move(contract_text)})};
}

Error no_command(Where where) {
  return {std::move(where), "this names no command", "for example exec:python3 policy.py"};
}

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\n") == std::string_view::npos; }

// kind = "exec", its command, and what it promises.
Result<NamedPolicy> make_program_from_table(std::string name, const Value& table) {
  Errors complaints;
  Reader reader(table, complaints);
  (void)reader.text("kind");
  const auto command = reader.text("command");
  if (!reader.has("command"))
    reader.fail(table.where, fmt::format("policy '{}' lacks its 'command'", name),
                "for example command = \"python3 policy.py\"");
  else if (command && is_blank(*command))
    complaints.push_back(no_command(reader.where("command")));
  Contract contract = read_contract(reader);
  reader.finish();
  if (!complaints.empty()) return tl::unexpected(std::move(complaints));
  Value promised = table;
  std::erase_if(std::get<Table>(promised.data),
                [](const Member& m) { return m.key == "kind" || m.key == "command"; });
  return make_program(std::move(name), *command, std::move(contract), std::move(promised), table,
                      table.where);
}

// A `[policy.NAME]` table without its `kind`, which says which preset reads the rest.
Result<NamedPolicy> make_from_table(std::string name, Value table) {
  Errors complaints;
  Reader reader(table, complaints);
  const auto kind = reader.text("kind");
  if (!reader.has("kind"))
    reader.fail(table.where, fmt::format("policy '{}' lacks its 'kind'", name),
                "for example kind = \"full-jitter\"; `retrygate list policies` shows all");
  if (!complaints.empty()) return tl::unexpected(std::move(complaints));
  if (*kind == program_preset().id) return make_program_from_table(std::move(name), table);
  const Preset* preset = presets().find(*kind);
  Errors unknown;
  if (preset == nullptr) {
    // Its other mistakes are told as well, if one can guess what was meant.
    unknown = unknown_policy(*kind, reader.where("kind"));
    preset = presets().find(nearest(*kind, presets().ids()));
    if (preset == nullptr) return tl::unexpected(std::move(unknown));
  }
  Table& members = std::get<Table>(table.data);
  std::erase_if(members, [](const Member& m) { return m.key == "kind"; });
  auto made = make(std::move(name), *preset, table, table.where);
  if (unknown.empty()) return made;
  if (!made) unknown.insert(unknown.end(), made.error().begin(), made.error().end());
  return tl::unexpected(std::move(unknown));
}

const Value* member(const Value& table, std::string_view key) {
  for (const Member& m : std::get<Table>(table.data)) {
    if (m.key == key) return &m.value;
  }
  return nullptr;
}

Result<Value> policy_table(const std::string& path, std::string_view name, Where where) {
  auto file = load_toml(path);
  if (!file) return tl::unexpected(std::move(file.error()));
  const Value* policies = member(*file, "policy");
  const auto* table = policies != nullptr ? std::get_if<Table>(&policies->data) : nullptr;
  std::vector<std::string_view> known;
  if (table != nullptr) {
    for (const Member& m : *table) known.push_back(m.key);
  }
  const Value* found = table != nullptr ? member(*policies, name) : nullptr;
  if (found != nullptr && std::holds_alternative<Table>(found->data)) return *found;
  return failure(std::move(where),
                 fmt::format("{} has no [policy.{}]{}", path, name, did_you_mean(name, known)),
                 known.empty() ? "it has no [policy.NAME] table at all"
                               : fmt::format("it has: {}", fmt::join(known, ", ")));
}

}  // namespace

Result<NamedPolicy> read_policy(std::string name, const Value& table) {
  return make_from_table(std::move(name), table);
}

Result<NamedPolicy> started(const NamedPolicy& named, Seed seed, Repeats repeats, std::uint64_t salt) {
  if (!named.program) return named;
  const Seed own{detail::mix(seed.value, salt + 1)};
  const auto policy = named.program->policy.started(own, &named.program->contract);
  if (!policy)
    throw ProgramFault(
        fmt::format("{} cannot be started: {}", to_string(named.policy), to_string(policy.error())), false);
  if (repeats == Repeats::needed && !policy->introduction().seeded)
    return failure(named.where,
                   fmt::format("'{}' draws from a source of its own (\"seeded\":false): a run could not be "
                               "repeated",
                               named.name),
                   "it has to take its randomness from the seed that it is greeted with");
  NamedPolicy running = named;
  running.policy = *policy;
  return running;
}

Result<NamedPolicy> find_policy(std::string_view reference, Where where, const std::string& folder) {
  if (reference.starts_with(program_prefix)) {
    std::string command(reference.substr(program_prefix.size()));
    if (is_blank(command)) return tl::unexpected(Errors{no_command(std::move(where))});
    Table source = {member("kind", std::string("exec")), member("command", command)};
    return make_program(std::string(reference), std::move(command), {}, to_value(Table{}),
                        to_value(std::move(source)), std::move(where));
  }
  const std::size_t hash = reference.find('#');
  const std::size_t colon = reference.find(':', hash == std::string_view::npos ? 0 : hash);
  const std::string_view id = reference.substr(0, colon);
  Value overrides{where, Table{}};
  if (colon != std::string_view::npos) {
    auto parsed = parse_overrides(reference.substr(colon + 1), shifted(where, colon + 1));
    if (!parsed) return tl::unexpected(std::move(parsed.error()));
    overrides = std::move(*parsed);
  }
  if (hash != std::string_view::npos) {
    const std::string path =
        (std::filesystem::path(folder) / std::string(reference.substr(0, hash))).string();
    auto table = policy_table(
        path, reference.substr(hash + 1, colon == std::string_view::npos ? colon : colon - hash - 1),
        shifted(where, hash + 1));
    if (!table) return tl::unexpected(std::move(table.error()));
    auto made = make_from_table(std::string(reference), overlaid(std::move(*table), overrides));
    if (made) made->reference = path + std::string(reference.substr(hash));
    return made;
  }
  const Preset* preset = presets().find(id);
  if (preset == nullptr) {
    if (id.ends_with(".toml"))
      return failure(std::move(where), fmt::format("'{}' names a file but no policy in it", id),
                     fmt::format("write {}#NAME", id));
    return tl::unexpected(unknown_policy(id, std::move(where)));
  }
  return make(std::string(reference), *preset, overrides, where);
}

}  // namespace retrygate
