#include "ci/suite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>

#include "ci/report.hpp"
#include "ci/samples.hpp"
#include "policies/base/json.hpp"
#include "properties/invariant.hpp"
#include "sim/metrics.hpp"
#include "stats/methods.hpp"

namespace retrygate::ci {
namespace {

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [at, fault] = std::from_chars(text.data(), end, value);
  if (fault != std::errc{} || at != end) return std::nullopt;
  return value;
}

const Value* own(const Table* tables, const std::string& name) {
  if (tables == nullptr) return nullptr;
  const auto at =
      std::find_if(tables->begin(), tables->end(), [&](const Member& m) { return m.key == name; });
  return at == tables->end() ? nullptr : &at->value;
}

// [key.NAME] for every NAME, or nothing.
const Table* named_tables(Reader& root, std::string_view key) {
  const Value* all = root.any(key);
  if (all == nullptr) return nullptr;
  const auto* tables = std::get_if<Table>(&all->data);
  if (tables == nullptr) root.fail(key, fmt::format("'{}' must hold tables, [{}.NAME]", key, key));
  return tables;
}

class SuiteReader {
 public:
  SuiteReader(const std::string& path, Reader& root, Errors& complaints)
      : path_(path),
        folder_(std::filesystem::path(path).parent_path()),
        policies_(named_tables(root, "policy")),
        contracts_(named_tables(root, "contract")),
        scenarios_(named_tables(root, "scenario")),
        complaints_(complaints) {}

  void compare(Reader& table, std::vector<CompareTask>& into) {
    const auto reference = table.text("baseline");
    if (!table.has("baseline"))
      table.fail(table.where(), "this [[compare]] lacks 'baseline'",
                 "for example baseline = \"full-jitter\"");
    auto baseline = reference ? policy(*reference, table.where("baseline")) : std::nullopt;
    std::vector<NamedPolicy> candidates;
    not_empty(table, "candidates");
    for (const auto& [candidate, where] : once(table, "candidates")) {
      if (auto found = policy(candidate, where)) candidates.push_back(std::move(*found));
    }
    std::optional<Over> over;
    if (const auto text = table.text("over"))
      over = keep(parse_over(*text, table.where("over")), complaints_);
    std::vector<std::vector<Scenario>> sizes;
    auto scenarios = this->scenarios(table, over, sizes);
    Seeds seeds;
    if (const auto text = table.text("seeds")) {
      if (auto parsed = keep(parse_seeds(*text, table.where("seeds")), complaints_)) seeds = *parsed;
    }
    auto asking = stats::Asking::not_worse;
    if (const auto text = table.text("question"))
      asking = keep(parse_asking(*text, table.where("question")), complaints_).value_or(asking);
    auto method = stats::Deciding::paired_mean;
    if (const auto text = table.text("method"))
      method = keep(stats::find_method(*text, table.where("method")), complaints_).value_or(method);
    auto margins = this->margins(table);
    for (Error& error : method_faults(method, margins, table.where("method")))
      complaints_.push_back(std::move(error));
    const Where where = table.where();
    table.finish();
    if (baseline)
      into.push_back({std::move(*baseline), std::move(candidates), std::move(scenarios), seeds,
                      std::move(margins), where, asking, method, std::move(over), std::move(sizes)});
  }

  void check(Reader& table, std::vector<CheckTask>& into) {
    CheckTask task;
    std::vector<std::string> names;
    for (const auto& [subject, where] : once(table, "subjects")) {
      if (subject.starts_with(program_prefix)) {
        task.programs.push_back(subject);
        task.places[subject] = where;
      } else if (auto found = policy(subject, where)) {
        task.subjects.push_back(std::move(*found));
      }
      names.push_back(subject);
    }
    for (const auto& [trace, where] : once(table, "traces")) {
      task.places[trace] = where;
      task.traces.push_back({trace, (folder_ / trace).string()});
      names.push_back(trace);
    }
    if (!table.has("subjects") && !table.has("traces"))
      table.fail(table.where(), "this [[check]] lacks 'subjects'",
                 "for example subjects = [\"full-jitter\"]");
    for (const char* key : {"subjects", "traces", "invariants"}) not_empty(table, key);
    task.contract = contract(table);
    if (task.contract && !task.subjects.empty() && task.programs.empty() && task.traces.empty())
      table.fail("contract", "the policies of this [[check]] state contracts of their own",
                 "'contract' is for exec:CMD and for traces");
    task.invariants = table.texts("invariants");
    for (const std::string& id : task.invariants) known_invariant(table, "invariants", id);
    not_again(task, names, table.where());
    for (Reader& waiver : table.tables("waivers")) {
      if (auto read = this->waiver(waiver, task, names)) task.waivers.push_back(std::move(*read));
    }
    table.finish();
    into.push_back(std::move(task));
  }

 private:
  // A policy of this file by its bare name, else whatever find_policy knows.
  std::optional<NamedPolicy> policy(const std::string& reference, const Where& where) {
    if (const Value* table = own(policies_, reference)) {
      auto found = keep(read_policy(reference, *table), complaints_);
      if (found) found->reference = fmt::format("{}#{}", path_, reference);
      return found;
    }
    return keep(find_policy(reference, where, folder_.string()), complaints_);
  }

  // One of this file by its bare name, else whatever find_scenario knows. `at` is where the overrides stand.
  std::optional<Scenario> scenario(const std::string& reference, const std::vector<std::string>& overrides,
                                   const Where& where, const Where& at) {
    const Value* written = own(scenarios_, reference);
    const bool file = reference.find(".toml") != std::string::npos;
    auto found = written != nullptr
                     ? read_scenario(reference, *written, overrides, at)
                     : find_scenario(file ? (folder_ / reference).string() : reference, where, overrides);
    if (found) return std::move(*found);
    for (Error& error : found.error()) {
      if (error.where.file == "--set") error.where = at;  // here it is a key
      complaints_.push_back(std::move(error));
    }
    return std::nullopt;
  }

  // The scenarios with their overrides; with `over` also each of them at every size.
  std::vector<Scenario> scenarios(Reader& table, const std::optional<Over>& over,
                                  std::vector<std::vector<Scenario>>& sizes) {
    std::vector<Scenario> all;
    const auto references = once(table, "scenarios");
    if (!table.has("scenarios"))
      table.fail(table.where(), "this [[compare]] names no scenario",
                 "for example scenarios = [\"outage-then-limit\"]");
    not_empty(table, "scenarios");
    const auto overrides = table.texts("set");
    for (const auto& [reference, where] : references) {
      auto found = scenario(reference, overrides, where, table.where("set"));
      if (!found) continue;
      all.push_back(std::move(*found));
      if (!over) continue;
      sizes.emplace_back();
      for (const std::int64_t size : over->sizes) {
        std::vector<std::string> set = overrides;
        set.push_back(fmt::format("{}={}", over->key, size));
        auto sized = scenario(reference, set, table.where("over"), table.where("over"));
        if (!sized) break;  // the same mistake at every size
        sizes.back().push_back(std::move(*sized));
      }
    }
    return all;
  }

  std::vector<Margin> margins(Reader& table) {
    std::vector<Margin> all;
    if (auto inner = table.table("metrics")) {
      if (inner->keys().empty())
        table.fail("metrics", "'metrics' is empty: nothing would be judged", metrics_hint);
      for (const std::string& metric : inner->keys()) {
        const auto text = inner->text(metric);
        if (!keep(find_metric(metric, inner->where(metric)), complaints_) || !text) continue;
        if (*text == "estimate")
          all.push_back(Margin{metric, {}, false, {}, inner->where(metric)});
        else if (auto margin = keep(parse_margin(metric, *text, inner->where(metric)), complaints_))
          all.push_back(std::move(*margin));
      }
    }
    const auto estimated = [](const Margin& margin) { return !margin.amount; };
    if (!all.empty() && std::all_of(all.begin(), all.end(), estimated))
      table.fail("metrics", "all of these metrics are only estimated: nothing would be judged", metrics_hint);
    if (!table.has("metrics"))
      table.fail(table.where(), "this [[compare]] lacks 'metrics': a gate needs margins", metrics_hint);
    return all;
  }

  struct Name {
    std::string text;
    Where where;
  };
  // One text or a list of texts, each with its own place.
  static std::vector<Name> named(Reader& table, std::string_view key) {
    const Value* value = table.any(key);
    const auto* list = value != nullptr ? std::get_if<Array>(&value->data) : nullptr;
    std::vector<Name> all;
    for (std::string& text : table.texts(key))
      all.push_back({std::move(text), list != nullptr ? (*list)[all.size()].where : table.where(key)});
    return all;
  }

  // The same, and what stands in it twice would be judged twice.
  static std::vector<Name> once(Reader& table, std::string_view key) {
    std::vector<Name> all;
    for (Name& one : named(table, key)) {
      const auto same =
          std::find_if(all.begin(), all.end(), [&](const Name& other) { return other.text == one.text; });
      if (same == all.end())
        all.push_back(std::move(one));
      else
        table.fail(one.where, fmt::format("'{}' stands in '{}' already", one.text, key), "name it once");
    }
    return all;
  }

  // A subject that an earlier [[check]] holds against the same invariants and the same contract.
  void not_again(const CheckTask& task, const std::vector<std::string>& names, const Where& where) {
    const std::string contract = task.contract ? write_json(task.contract->source, Layout::compact) : "";
    for (const std::string& name : names) {
      for (const Checked& earlier : checked_) {
        if (earlier.subject != name || earlier.contract != contract) continue;
        const auto twice =
            std::find_if(task.invariants.begin(), task.invariants.end(), [&](const std::string& id) {
              return std::find(earlier.invariants.begin(), earlier.invariants.end(), id) !=
                     earlier.invariants.end();
            });
        const bool all = task.invariants.empty() || earlier.invariants.empty();
        if (!all && twice == task.invariants.end()) continue;
        complaints_.push_back({where,
                               fmt::format("'{}' is checked{} in line {} already", name,
                                           all ? "" : fmt::format(" for {}", *twice), earlier.where.line),
                               "check it once"});
      }
      checked_.push_back({name, contract, task.invariants, where});
    }
  }

  // An empty list says that nothing is to be done: nobody means that, and it would pass.
  static void not_empty(Reader& table, std::string_view key) {
    const Value* value = table.any(key);
    const auto* list = value != nullptr ? std::get_if<Array>(&value->data) : nullptr;
    if (list != nullptr && list->empty())
      table.fail(key, fmt::format("'{}' is empty", key), "leave it out, or name something");
  }

  // A contract of this file by its bare name, one of another file, or one written out in place.
  std::optional<NamedContract> contract(Reader& table) {
    const Value* written = table.any("contract");
    if (written == nullptr) return std::nullopt;
    const auto read = [&](std::string name, const Value& value) -> std::optional<NamedContract> {
      Reader reader(value, complaints_);
      Contract promised = read_contract(reader);
      reader.finish();
      return NamedContract{std::move(name), std::move(promised), value};
    };
    if (std::holds_alternative<Table>(written->data))
      return read(write_json(*written, Layout::compact), *written);
    const auto reference = table.text("contract");
    if (!reference) return std::nullopt;
    if (const Value* value = own(contracts_, *reference))
      return read(fmt::format("{}#{}", path_, *reference), *value);
    return keep(find_contract((folder_ / *reference).string(), table.where("contract")), complaints_);
  }

  static bool known_invariant(Reader& table, std::string_view key, const std::string& id) {
    if (invariants().find(id) != nullptr) return true;
    table.fail(key, fmt::format("unknown invariant '{}'{}", id, did_you_mean(id, invariants().ids())),
               "`retrygate list invariants` shows all");
    return false;
  }

  std::optional<Waiver> waiver(Reader& table, const CheckTask& task, const std::vector<std::string>& names) {
    Waiver w;
    w.where = table.where();
    bool good = true;
    const auto need = [&](std::string_view key, std::string_view example) {
      const auto text = table.text(key);
      if (!table.has(key))
        table.fail(table.where(), fmt::format("this waiver lacks '{}'", key),
                   fmt::format("for example {} = \"{}\"", key, example));
      good = good && text && !text->empty();
      if (text && text->empty()) table.fail(key, fmt::format("'{}' is empty", key));
      return text.value_or("");
    };
    w.subject = need("subject", names.empty() ? "full-jitter" : names.front());
    w.invariant = need("invariant", "cap-respected");
    w.reason = need("reason", "fixed by the release of March");
    const std::string until = need("until", "2027-01-31");
    if (good && std::find(names.begin(), names.end(), w.subject) == names.end()) {
      table.fail("subject",
                 fmt::format("'{}' is no subject of this [[check]]{}", w.subject,
                             did_you_mean(w.subject, {names.begin(), names.end()})),
                 fmt::format("it has: {}", fmt::join(names, ", ")));
      good = false;
    }
    if (good && known_invariant(table, "invariant", w.invariant) && !task.invariants.empty() &&
        std::find(task.invariants.begin(), task.invariants.end(), w.invariant) == task.invariants.end())
      table.fail("invariant", fmt::format("'{}' is not checked here", w.invariant), "delete the waiver");
    if (const auto day = parse_day(until))
      w.until = *day;
    else if (!until.empty())
      table.fail("until", fmt::format("'{}' is no day", until), "write \"2027-01-31\"");
    table.finish();
    return good ? std::optional(std::move(w)) : std::nullopt;
  }

  static constexpr auto metrics_hint = "for example metrics = { peak_1s = \"10%\", gave_up = \"0.5\" }";

  struct Checked {
    std::string subject, contract;
    std::vector<std::string> invariants;  // empty: all
    Where where;
  };

  std::string path_;
  std::filesystem::path folder_;
  std::vector<Checked> checked_;
  const Table *policies_, *contracts_, *scenarios_;
  Errors& complaints_;
};

}  // namespace

std::optional<std::chrono::sys_days> parse_day(std::string_view text) {
  int year = 0;
  unsigned month = 0, day = 0;
  const auto read = [&](std::size_t from, std::size_t count, auto& into) {
    const char* begin = text.data() + from;
    const auto [at, fault] = std::from_chars(begin, begin + count, into);
    return fault == std::errc{} && at == begin + count;
  };
  if (text.size() != 10 || text[4] != '-' || text[7] != '-' || !read(0, 4, year) || !read(5, 2, month) ||
      !read(8, 2, day))
    return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                         std::chrono::day(day)};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date);
}

Result<Margin> parse_margin(const std::string& metric, std::string_view text, Where where) {
  Margin margin{metric, {}, text.ends_with('%'), std::string(text), std::move(where)};
  const bool time = metric.ends_with("_s");
  const auto known = find_metric(metric);
  if (known && yes_no(known->unit)) {
    const bool points = text.ends_with("pt");
    margin.amount = parse_number(text.substr(0, text.size() - (points ? 2 : margin.relative ? 1 : 0)));
    if (margin.amount && (points || margin.relative)) *margin.amount /= 100;
    if (!margin.amount || !(*margin.amount >= 0) || *margin.amount > 1)
      return failure(std::move(margin.where), fmt::format("'{}' is no margin for {}", text, metric),
                     "write \"5pt\": so many seeds of a hundred");
    margin.relative = false;
    margin.text = fmt::format("{:.6g}pt", 100 * *margin.amount);
    return margin;
  }
  if (margin.relative) {
    margin.amount = parse_number(text.substr(0, text.size() - 1));
    if (margin.amount) *margin.amount /= 100;
  } else if (const auto duration = parse_duration(text); duration && time) {
    margin.amount = duration->seconds();
  } else if (!time) {
    margin.amount = parse_number(text);
  }
  if (!margin.amount || !(*margin.amount >= 0) || *margin.amount > 1e18)
    return failure(std::move(margin.where), fmt::format("'{}' is no margin for {}", text, metric),
                   time ? "write \"10%\" or \"200ms\"" : "write \"10%\" or \"0.5\"");
  return margin;
}

std::vector<std::uint64_t> Seeds::values() const {
  std::vector<std::uint64_t> all(count());
  std::iota(all.begin(), all.end(), first);
  return all;
}

std::string to_string(const Seeds& seeds) {
  return seeds.first == seeds.last ? std::to_string(seeds.first)
                                   : fmt::format("{}..{}", seeds.first, seeds.last);
}

Result<Seeds> parse_seeds(std::string_view text, Where where) {
  const auto read = [](std::string_view part, std::uint64_t& into) {
    const char* end = part.data() + part.size();
    const auto [at, fault] = std::from_chars(part.data(), end, into);
    return fault == std::errc{} && at == end && !part.empty();
  };
  const std::size_t dots = text.find("..");
  Seeds seeds;
  const bool good = read(text.substr(0, dots), seeds.first) &&
                    (dots == std::string_view::npos || read(text.substr(dots + 2), seeds.last));
  if (dots == std::string_view::npos) seeds.last = seeds.first;
  if (!good || seeds.last < seeds.first)
    return failure(std::move(where), fmt::format("'{}' names no seeds", text),
                   "write a range such as 1..200, or one number");
  if (seeds.last - seeds.first >= 1'000'000)
    return failure(std::move(where), fmt::format("'{}' names more than a million seeds", text),
                   "write a shorter range");
  return seeds;
}

Result<stats::Asking> parse_asking(std::string_view text, Where where) {
  using enum stats::Asking;
  std::vector<std::string_view> words;
  for (const stats::Asking asking : {not_worse, better, equivalent}) {
    if (text == to_string(asking)) return asking;
    words.push_back(to_string(asking));
  }
  return failure(std::move(where), fmt::format("unknown question '{}'{}", text, did_you_mean(text, words)),
                 fmt::format("known: {}", fmt::join(words, ", ")));
}

Errors method_faults(stats::Deciding method, std::span<const Margin> margins, const Where& of_method) {
  Errors errors;
  for (const Margin& margin : margins) {
    const auto metric = find_metric(margin.metric);
    if (method == stats::Deciding::paired_shares && metric && !yes_no(metric->unit))
      errors.push_back({of_method,
                        fmt::format("{} is no yes/no metric, which paired-shares is for", margin.metric),
                        "`retrygate list methods` shows the others"});
  }
  return errors;
}

namespace {

// Comparisons that an earlier [[compare]] makes, too.
void no_comparison_twice(const std::vector<CompareTask>& tasks, Errors& complaints) {
  std::map<std::string, int> lines;  // of what was asked so far
  for (const CompareTask& task : tasks) {
    std::set<std::string> told;
    for (const NamedPolicy& candidate : task.candidates) {
      for (const Scenario& scenario : task.scenarios) {
        for (const Margin& margin : task.margins) {
          const std::string asked = fmt::format("{} of {} against {} on {}", margin.metric, candidate.name,
                                                task.baseline.name, world_of(scenario.id, scenario.params));
          const auto [earlier, fresh] =
              lines.try_emplace(fmt::format("{}\n{}\n{}\n{}", asked, scenario.definition,
                                            to_string(task.seeds), to_string(task.asking)),
                                task.where.line);
          if (!fresh && told.insert(asked).second)
            complaints.push_back({task.where,
                                  fmt::format("{} is compared in line {} already", asked, earlier->second),
                                  "ask it once: what is asked twice is judged twice"});
        }
      }
    }
  }
}

}  // namespace

Result<Suite> read_suite(const Value& file, const std::string& path) {
  Errors complaints;
  Reader root(file, complaints);
  Suite suite;
  suite.path = path;
  suite.name = std::filesystem::path(path).stem().string();
  if (auto table = root.table("suite")) {
    suite.name = table->text("name").value_or(suite.name);
    suite.summary = table->text("summary").value_or("");
    table->finish();
  }
  SuiteReader reader(path, root, complaints);
  for (Reader& table : root.tables("compare")) reader.compare(table, suite.compare);
  for (Reader& table : root.tables("check")) reader.check(table, suite.check);
  no_comparison_twice(suite.compare, complaints);
  if (suite.compare.empty() && suite.check.empty() && complaints.empty())
    root.fail(root.where(), "this suite has nothing to do", "give it a [[compare]] or a [[check]]");
  root.finish();
  if (!complaints.empty()) return tl::unexpected(by_place(std::move(complaints)));
  return suite;
}

namespace {

// Neither a shipped suite nor a file: those that ship and the TOML files of that folder may have been meant.
Errors no_such_suite(const std::string& reference) {
  std::vector<std::string> known;
  for (const EmbeddedFile& shipped : shipped_suites()) known.emplace_back(shipped.id);
  const std::filesystem::path folder = std::filesystem::path(reference).parent_path();
  std::error_code fault;
  for (const auto& entry : std::filesystem::directory_iterator(folder.empty() ? "." : folder, fault)) {
    if (entry.path().extension() == ".toml") known.push_back((folder / entry.path().filename()).string());
  }
  std::sort(known.begin(), known.end());
  return {{{reference, 0, 0},
           "there is no such suite file" + did_you_mean(reference, {known.begin(), known.end()}),
           "`retrygate list suites` shows those that ship; `retrygate init` writes a first one"}};
}

}  // namespace

Result<Suite> find_suite(const std::string& reference) {
  for (const EmbeddedFile& shipped : shipped_suites()) {
    if (reference != (reference.empty() ? "" : shipped.id) || (reference.empty() && shipped.id != "default"))
      continue;
    auto file = parse_toml(shipped.text, std::string(shipped.path));
    if (!file) return tl::unexpected(std::move(file.error()));
    return read_suite(*file, std::string(shipped.path));
  }
  if (std::error_code fault; !std::filesystem::exists(reference, fault) && !fault)
    return tl::unexpected(no_such_suite(reference));
  auto file = load_toml(reference);
  if (!file) return tl::unexpected(std::move(file.error()));
  return read_suite(*file, reference);
}

}  // namespace retrygate::ci
