#include "ci/claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/experiments/published.hpp"
#include "stats/distributions.hpp"
#include "stats/resample.hpp"
#include "stats/sample.hpp"

namespace retrygate::ci {
namespace {

const std::vector<std::string> read = {
    "requests",     "peak_10ms", "peak_100ms", "peak_1s", "retry_peak_10ms", "retry_peak_100ms",
    "completion_s", "succeeded", "finish_s",   "gave_up", "attempts_mean",   "attempts_max"};

constexpr ClaimWord words_of_claims[] = {
    {Word::ok, "OK", "the published figure is reproduced, or the claim holds"},
    {Word::ok_if, "OK-IF", "it holds under a condition that was not published; the row names it"},
    {Word::imprecise, "IMPRECISE", "the figure or the word does not say what was measured"},
    {Word::inconsistent, "INCONSISTENT", "the article contradicts itself"},
    {Word::wrong, "WRONG", "it is not so; the row says what is"},
    {Word::open, "OPEN", "not decided; the row says what that would need"}};

}  // namespace

std::span<const ClaimWord> claim_words() { return words_of_claims; }

std::string_view to_string(Word word) { return words_of_claims[static_cast<std::size_t>(word)].word; }

ClaimRow judged(std::string_view row, std::string ours, Word word, std::string why) {
  const PublishedClaim& claim = published(row);
  return {std::string(article_of(claim).experiment),
          fmt::format("{} {}", claim.row, claim.claim),
          published_text(claim),
          std::move(ours),
          std::string(to_string(word)),
          std::move(why)};
}

void append(std::vector<ClaimRow>& rows, std::vector<ClaimRow> more) {
  for (ClaimRow& row : more) rows.push_back(std::move(row));
}

Word ok(bool yes) { return yes ? Word::ok : Word::wrong; }

Column column(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return {std::move(samples), 0};
}

double Column::low() const { return values.front(); }
double Column::high() const { return values.back(); }
double Column::mean() const { return stats::mean(values); }
double Column::variance() const { return *stats::describe(values).variance; }
double Column::standard_error() const { return *stats::describe(values).std_error; }
double Column::quantile(double q) const { return stats::quantile(values, q); }
double Column::share_up_to(double x) const {
  const auto end = std::upper_bound(values.begin(), values.end(), x);
  return static_cast<double>(end - values.begin()) / static_cast<double>(values.size());
}
double Column::share_of(double x) const {
  const auto n = std::count(values.begin(), values.end(), x);
  return static_cast<double>(n) / static_cast<double>(values.size());
}

Played::Played(std::string_view scenario, const std::vector<std::string>& overrides,
               const std::vector<std::string>& policies, const Seeds& seeds)
    : policies_(policies) {
  std::vector<NamedPolicy> named;
  for (const std::string& policy : policies) {
    auto found = find_policy(policy, {});
    RG_ASSERT(found.has_value(), to_string(found.error()));
    named.push_back(*std::move(found));
  }
  const auto found = find_scenario(scenario, {}, overrides);
  RG_ASSERT(found.has_value(), to_string(found.error()));
  auto table = sweep(named, {*found}, seeds.values(), read);
  RG_ASSERT(table.has_value(), to_string(table.error()));
  table_ = *std::move(table);
  for (const Cell& cell : table_.cells) {
    std::vector<Column>& metrics = columns_.emplace_back();
    for (const auto& samples : cell.samples) {
      std::vector<double> reached;
      for (const auto& sample : samples) {
        if (sample) reached.push_back(*sample);
      }
      const std::size_t missing = samples.size() - reached.size();
      metrics.push_back(column(std::move(reached)));
      metrics.back().not_reached = missing;
    }
  }
}

std::size_t Played::cell(std::string_view policy) const {
  const auto at = std::find(policies_.begin(), policies_.end(), policy);
  RG_ASSERT(at != policies_.end(), std::string(policy));
  return static_cast<std::size_t>(at - policies_.begin());
}

const Column& Played::operator()(std::string_view policy, std::string_view metric) const {
  const auto at = std::find(read.begin(), read.end(), metric);
  RG_ASSERT(at != read.end(), std::string(metric));
  return columns_[cell(policy)][static_cast<std::size_t>(at - read.begin())];
}

bool Played::same_for_all_seeds(std::string_view policy) const {
  const auto& digests = table_.cells[cell(policy)].digests;
  return std::all_of(digests.begin(), digests.end(), [&](std::uint64_t d) { return d == digests.front(); });
}

bool Played::drew(std::string_view policy) const {
  const auto& drew = table_.cells[cell(policy)].drew;
  return std::any_of(drew.begin(), drew.end(), [](bool d) { return d; });
}

Paired paired(const std::vector<double>& d) {
  const stats::Studentized s = stats::estimate({std::vector<double>(d.size()), d, false});
  const double half = stats::student_quantile(0.975, static_cast<double>(d.size() - 1)) * s.se;
  const auto below = std::count_if(d.begin(), d.end(), [](double x) { return x < 0; });
  return {s.effect, s.effect - half, s.effect + half, static_cast<std::size_t>(below), d.size()};
}

std::string in_words(const Paired& p, std::string_view unit) {
  return fmt::format("{:+.3f} {} [{:+.3f}, {:+.3f}]", p.mean, unit, p.low, p.high);
}

std::string joined(const std::vector<Duration>& delays) {
  std::string text;
  for (const Duration d : delays) text += (text.empty() ? "" : " ") + to_string(d);
  return text;
}

std::string spread(const Column& c, int digits) {
  if (c.values.empty()) return "not reached";
  if (c.low() == c.high()) return fmt::format("{:.{}g}", c.low(), digits);
  return fmt::format("{:.{}g}..{:.{}g}", c.low(), digits, c.high(), digits);
}

}  // namespace retrygate::ci
