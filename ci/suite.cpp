#include "ci/suite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <numeric>

namespace retrygate::ci {
namespace {

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [at, fault] = std::from_chars(text.data(), end, value);
  if (fault != std::errc{} || at != end) return std::nullopt;
  return value;
}

class SuiteReader {
 public:
  SuiteReader(std::string folder, const Table* own, const std::vector<std::string_view>& metrics,
              Errors& complaints)
      : folder_(std::move(folder)), own_(own), metrics_(metrics), complaints_(complaints) {}

  // A policy of this file by its bare name, else whatever find_policy knows.
  std::optional<NamedPolicy> policy(const std::string& reference, const Where& where) {
    const auto same = [&](const Member& m) { return m.key == reference; };
    if (own_ != nullptr) {
      if (const auto at = std::find_if(own_->begin(), own_->end(), same); at != own_->end())
        return keep(read_policy(reference, at->value), complaints_);
    }
    return keep(find_policy(reference, where, folder_), complaints_);
  }

  enum class Needed { yes, no };
  std::vector<NamedPolicy> policies(Reader& table, std::string_view key, Needed needed = Needed::yes) {
    std::vector<NamedPolicy> all;
    for (const std::string& reference : table.texts(key)) {
      if (auto found = policy(reference, table.where(key))) all.push_back(std::move(*found));
    }
    if (!table.has(key) && needed == Needed::yes)
      table.fail(table.where(), fmt::format("this table lacks '{}'", key),
                 fmt::format("for example {} = [\"full-jitter\"]", key));
    return all;
  }

  void compare(Reader& table, std::vector<CompareTask>& into) {
    const auto reference = table.text("baseline");
    if (!table.has("baseline"))
      table.fail(table.where(), "this [[compare]] lacks 'baseline'",
                 "for example baseline = \"full-jitter\"");
    auto baseline = reference ? policy(*reference, table.where("baseline")) : std::nullopt;
    auto candidates = policies(table, "candidates", Needed::no);
    auto scenarios = table.texts("scenarios");
    if (scenarios.empty())
      table.fail("scenarios", "this [[compare]] names no scenario",
                 "for example scenarios = [\"outage-then-limit\"]");
    Seeds seeds;
    if (const auto text = table.text("seeds")) {
      if (auto parsed = keep(parse_seeds(*text, table.where("seeds")), complaints_)) seeds = *parsed;
    }
    std::vector<Margin> margins;
    if (auto inner = table.table("metrics")) {
      for (const std::string& metric : inner->keys()) {
        if (std::find(metrics_.begin(), metrics_.end(), metric) == metrics_.end()) {
          inner->fail(metric, fmt::format("unknown metric '{}'{}", metric, did_you_mean(metric, metrics_)),
                      fmt::format("known: {}", fmt::join(metrics_, ", ")));
          inner->any(metric);
        } else if (const auto text = inner->text(metric)) {
          if (auto margin = keep(parse_margin(metric, *text, inner->where(metric)), complaints_))
            margins.push_back(std::move(*margin));
        }
      }
    }
    if (!table.has("metrics"))
      table.fail(table.where(), "this [[compare]] lacks 'metrics': a gate needs margins",
                 "for example metrics = { peak_1s = \"10%\", gave_up = \"0.5\" }");
    const Where where = table.where();
    table.finish();
    if (baseline)
      into.push_back({std::move(*baseline),
                      std::move(candidates),
                      std::move(scenarios),
                      {},
                      seeds,
                      std::move(margins),
                      where});
  }

  void check(Reader& table, std::vector<CheckTask>& into) {
    CheckTask task{policies(table, "subjects"), table.texts("invariants")};
    table.finish();
    into.push_back(std::move(task));
  }

 private:
  std::string folder_;
  const Table* own_;
  const std::vector<std::string_view>& metrics_;
  Errors& complaints_;
};

}  // namespace

Result<Margin> parse_margin(const std::string& metric, std::string_view text, Where where) {
  Margin margin{metric, {}, text.ends_with('%'), std::string(text), std::move(where)};
  const bool time = metric.ends_with("_s");
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

Result<Suite> read_suite(const Value& file, const std::string& path,
                         const std::vector<std::string_view>& metrics) {
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
  const Value* own = root.any("policy");
  SuiteReader reader(std::filesystem::path(path).parent_path().string(),
                     own != nullptr ? std::get_if<Table>(&own->data) : nullptr, metrics, complaints);
  for (Reader& table : root.tables("compare")) reader.compare(table, suite.compare);
  for (Reader& table : root.tables("check")) reader.check(table, suite.check);
  if (!root.has("compare") && !root.has("check"))
    root.fail(root.where(), "this suite has nothing to do", "give it a [[compare]] or a [[check]]");
  root.finish();
  if (!complaints.empty()) return tl::unexpected(std::move(complaints));
  return suite;
}

Result<Suite> find_suite(const std::string& reference, const std::vector<std::string_view>& metrics) {
  for (const EmbeddedFile& shipped : shipped_suites()) {
    if (reference != (reference.empty() ? "" : shipped.id) || (reference.empty() && shipped.id != "default"))
      continue;
    auto file = parse_toml(shipped.text, std::string(shipped.path));
    if (!file) return tl::unexpected(std::move(file.error()));
    return read_suite(*file, std::string(shipped.path), metrics);
  }
  auto file = load_toml(reference);
  if (!file) return tl::unexpected(std::move(file.error()));
  return read_suite(*file, reference, metrics);
}

}  // namespace retrygate::ci
