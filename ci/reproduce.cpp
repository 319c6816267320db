#include "ci/reproduce.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "ci/layout.hpp"
#include "policies/base/shelf.hpp"
#include "sim/experiments/published.hpp"
#include "stats/parallel.hpp"

namespace retrygate::ci {
namespace {

struct Experiment {
  std::string_view name;
  std::vector<ClaimRow> (*run)(const Seeds&);
};
constexpr Experiment all_experiments[] = {{"retry-storm", &retry_storm_claims},
                              {"random-backoff", &random_backoff_claims},
                              {"rate-limited-fleet", &rate_limited_fleet_claims},
                              {"flaky-service", &flaky_service_claims},
                              {"decorator", &decorator_claims},
                              {"occ-contention", &occ_contention_claims}};

// "2.11 ..." -> 11.
int number_in_article(const ClaimRow& row) {
  int n = 0;
  const char* dot = row.claim.data() + row.claim.find('.');
  std::from_chars(dot + 1, row.claim.data() + row.claim.size(), n);
  return n;
}

struct TextColumn {
  std::size_t at, width;
};
constexpr std::size_t page = 100;
constexpr TextColumn number_column{0, 4}, verdict_column{6, 12}, claim_column{20, 26},
    published_column{48, 21}, ours_column{71, 29};
constexpr TextColumn why_column{20, page - 20};

struct Block {
  TextColumn column;
  std::string_view text;
};

// Blocks side by side, each wrapped in its own column.
std::string side_by_side(const std::vector<Block>& blocks) {
  std::vector<std::string> lines;
  for (const Block& block : blocks) {
    const auto text = broken(block.text, block.column.width, block.column.width);
    if (lines.size() < text.size()) lines.resize(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i].empty()) continue;
      lines[i].resize(std::max(lines[i].size(), block.column.at), ' ');
      lines[i] += text[i];
    }
  }
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

std::string heading(std::string_view experiment) {
  const auto known = articles();
  const auto at =
      std::find_if(known.begin(), known.end(), [&](const Article& a) { return a.experiment == experiment; });
  RG_ASSERT(at != known.end(), std::string(experiment));
  return fmt::format("{}: {}\n{}\n\n{}", at->experiment, at->title, at->source,
                     side_by_side({{number_column, "row"},
                                   {verdict_column, "verdict"},
                                   {claim_column, "claim"},
                                   {published_column, "published"},
                                   {ours_column, "ours"}}) +
                         side_by_side({{why_column, "why"}}));
}

// How many rows there are of each verdict, and what it says.
std::string totals(const std::vector<ClaimRow>& rows) {
  std::string out = fmt::format("{} published claims, and what was found:\n\n", rows.size());
  for (const ClaimWord& word : claim_words()) {
    const auto n = std::count_if(rows.begin(), rows.end(),
                                 [&](const ClaimRow& row) { return row.verdict == word.word; });
    out += fmt::format("{:>4}  {:<12}  {}\n", n, word.word, word.meaning);
  }
  return out;
}

}  // namespace

std::vector<std::string_view> experiments() {
  std::vector<std::string_view> names;
  for (const Experiment& experiment : all_experiments) names.push_back(experiment.name);
  return names;
}

Result<std::vector<ClaimRow>> reproduce(const std::string& name, const Seeds& seeds) {
  const auto known = experiments();
  if (name != "all" && std::find(known.begin(), known.end(), name) == known.end()) {
    return failure({"NAME", 1, 1}, fmt::format("unknown experiment '{}'{}", name, did_you_mean(name, known)),
                   fmt::format("known: all, {}", fmt::join(known, ", ")));
  }
  if (seeds.count() < 2)
    return failure({"--seeds", 1, 1}, "an interval over seeds needs at least two", "for example 1..200");
  std::vector<const Experiment*> wanted;
  for (const Experiment& experiment : all_experiments) {
    if (name == "all" || name == experiment.name) wanted.push_back(&experiment);
  }
  // Each experiment writes its own place, so the rows are the same on any number of threads.
  std::vector<std::vector<ClaimRow>> done(wanted.size());
  stats::in_parallel(wanted.size(), 0, [&](std::size_t i) { done[i] = wanted[i]->run(seeds); });
  std::vector<ClaimRow> rows;
  for (std::vector<ClaimRow>& more : done) {
    std::sort(more.begin(), more.end(), [](const ClaimRow& a, const ClaimRow& b) {
      return number_in_article(a) < number_in_article(b);
    });
    append(rows, std::move(more));
  }
  return rows;
}

std::string claims_text(const std::vector<ClaimRow>& rows) {
  std::string out = totals(rows);
  std::string_view experiment;
  for (const ClaimRow& row : rows) {
    if (row.experiment != experiment) {
      experiment = row.experiment;
      out += "\n\n" + heading(experiment);
    }
    const std::size_t space = row.claim.find(' ');
    const std::string_view claim = row.claim;
    out += "\n" + side_by_side({{number_column, claim.substr(0, space)},
                                {verdict_column, row.verdict},
                                {claim_column, claim.substr(space + 1)},
                                {published_column, row.published},
                                {ours_column, row.ours}});
    out += side_by_side({{why_column, row.why}});
  }
  return out;
}

}  // namespace retrygate::ci
