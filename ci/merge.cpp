#include "ci/merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "ci/samples.hpp"
#include "policies/base/hash.hpp"
#include "policies/base/json.hpp"

namespace retrygate::ci {
namespace {

const Array& items(Reader& table, std::string_view key) {
  static const Array none;
  const Value* value = table.any(key);
  const Array* list = value == nullptr ? nullptr : std::get_if<Array>(&value->data);
  if (list != nullptr) return *list;
  table.fail(key, fmt::format("'{}' must be a list", key));
  return none;
}

// A number, or null where it was not reached.
std::optional<double> sample(Reader& table, const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value.data)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&value.data)) return *real;
  if (!std::holds_alternative<std::nullptr_t>(value.data))
    table.fail(value.where, "a sample must be a number, or null where it was not reached");
  return std::nullopt;
}

struct Part {
  std::vector<std::string> metrics;
  std::vector<Cell> cells;
};

Cell read_cell(Reader& table, std::vector<std::string>& metrics) {
  Cell cell;
  cell.policy = table.text("policy").value_or("");
  cell.definition = table.text("definition").value_or("");
  cell.scenario = table.text("scenario").value_or("");
  if (auto params = table.table("params")) {
    for (const std::string& key : params->keys())
      cell.params.push_back(key + "=" + params->text(key).value_or(""));
  }
  for (const Value& seed : items(table, "seeds")) {
    if (const auto* whole = std::get_if<std::int64_t>(&seed.data); whole != nullptr && *whole >= 0)
      cell.seeds.push_back(static_cast<std::uint64_t>(*whole));
    else
      table.fail(seed.where, "a seed must be a whole number, not below 0");
  }
  for (const Value& digest : items(table, "digest")) {
    const auto* text = std::get_if<std::string>(&digest.data);
    std::uint64_t bits = 0;
    if (text == nullptr || std::from_chars(text->data(), text->data() + text->size(), bits, 16).ptr !=
                               text->data() + text->size())
      table.fail(digest.where, "a digest must be a text of hexadecimal digits");
    cell.digests.push_back(bits);
  }
  if (auto columns = table.table("metrics")) {
    metrics = columns->keys();
    for (const std::string& id : metrics) {
      std::vector<std::optional<double>>& column = cell.samples.emplace_back();
      for (const Value& value : items(*columns, id)) column.push_back(sample(*columns, value));
      if (column.size() != cell.seeds.size()) columns->fail(id, "there must be one value per seed");
    }
  }
  if (cell.digests.size() != cell.seeds.size()) table.fail("digest", "there must be one digest per seed");
  // Files of earlier versions have none.
  if (const auto sum = table.text("sum");
      sum && table.complaints().empty() && *sum != hex(sum_of(cell, metrics)))
    table.fail("sum", "these samples were altered: they do not fit their 'sum'", "run this part again");
  table.ignore_rest();
  return cell;
}

// Which part of its run a file says to be; 1/1 where it says nothing. An interrupted one is of no use.
Shard read_part(Reader& file) {
  Shard part;
  if (const auto text = file.text("shard"))
    part = keep(parse_shard(*text, file.where("shard")), file.complaints()).value_or(part);
  if (!file.flag("complete").value_or(true))
    file.fail("complete", "this run was interrupted: seeds are missing", "run it again");
  return part;
}

// Are all parts of one run there, each once?
void all_there(const std::vector<SampleText>& files, const std::vector<Shard>& parts, Errors& errors) {
  const std::size_t count = parts.front().count;
  std::vector<const SampleText*> found(count);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const Where where{files[i].source, 0, 0};
    const auto [index, of] = parts[i];
    if (of != count) {
      errors.push_back({where,
                        fmt::format("this is a part of {}, and {} one of {}", of, files[0].source, count),
                        "merge the parts of one run"});
      return;
    }
    if (count > 1 && found[index - 1] != nullptr)
      errors.push_back({where,
                        fmt::format("part {}/{} is in {}, too", index, count, found[index - 1]->source),
                        "merge each part once"});
    found[index - 1] = &files[i];
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (found[i] == nullptr)
      errors.push_back(
          {{"merge", 1, 1}, fmt::format("part {}/{} is missing", i + 1, count), "merge all parts"});
  }
}

// In place: by seed.
void order(Cell& cell, Errors& errors) {
  std::vector<std::size_t> by_seed(cell.seeds.size());
  std::iota(by_seed.begin(), by_seed.end(), std::size_t{0});
  std::stable_sort(by_seed.begin(), by_seed.end(),
                   [&](std::size_t a, std::size_t b) { return cell.seeds[a] < cell.seeds[b]; });
  Cell sorted = cell;
  for (std::size_t i = 0; i < by_seed.size(); ++i) {
    sorted.seeds[i] = cell.seeds[by_seed[i]];
    sorted.digests[i] = cell.digests[by_seed[i]];
    for (std::size_t m = 0; m < cell.samples.size(); ++m) sorted.samples[m][i] = cell.samples[m][by_seed[i]];
  }
  cell = std::move(sorted);
  if (const auto twice = std::adjacent_find(cell.seeds.begin(), cell.seeds.end()); twice != cell.seeds.end())
    errors.push_back(
        {{"merge", 1, 1},
         fmt::format("seed {} of {} on {} is in two of the files", *twice, cell.policy, cell.scenario),
         "merge each part once"});
}

}  // namespace

Result<SampleTable> merge_samples(const std::vector<SampleText>& parts) {
  Errors errors;
  SampleTable all;
  std::vector<Shard> shards;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const auto document = keep(parse_json(parts[p].text, parts[p].source), errors);
    if (!document) continue;
    Reader file(*document, errors);
    if (file.text("schema") != "retrygate.samples/1")
      file.fail("schema", "this is no file that `sim --format json` wrote", "schema retrygate.samples/1");
    shards.push_back(read_part(file));
    std::vector<Cell> cells;
    for (Reader& table : file.tables("cells")) {
      std::vector<std::string> metrics;
      cells.push_back(read_cell(table, metrics));
      if (p == 0 && cells.size() == 1) all.metrics = metrics;
      if (metrics != all.metrics) table.fail("metrics", "the files hold different metrics");
    }
    file.ignore_rest();
    if (p == 0) {
      all.cells = std::move(cells);
      continue;
    }
    const auto same = [](const Cell& a, const Cell& b) {
      return std::tie(a.policy, a.definition, a.scenario, a.params) ==
             std::tie(b.policy, b.definition, b.scenario, b.params);
    };
    if (!std::equal(cells.begin(), cells.end(), all.cells.begin(), all.cells.end(), same)) {
      file.fail("cells", fmt::format("these are not the policies and scenarios of {}", parts[0].source),
                "parts of one run differ in --shard alone");
      continue;
    }
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
      append(all.cells[c].seeds, cells[c].seeds);
      append(all.cells[c].digests, cells[c].digests);
      for (std::size_t m = 0; m < all.metrics.size() && m < cells[c].samples.size(); ++m)
        append(all.cells[c].samples[m], cells[c].samples[m]);
    }
  }
  if (errors.empty() && !parts.empty()) all_there(parts, shards, errors);
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  for (Cell& cell : all.cells) order(cell, errors);
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  return all;
}

}  // namespace retrygate::ci
