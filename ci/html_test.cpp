// The confidence report: what users name stays text, the policy lets its own scripts through and nothing
// else, and a large report stays small. The pages are kept in the build folder for ci/web/page_test.mjs.
#include "ci/html.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "ci/figures.hpp"
#include "ci/golden/transcript.hpp"
#include "ci/json_io.hpp"
#include "ci/report.hpp"
#include "ci/web_files.hpp"
#include "policies/base/json.hpp"

namespace retrygate::ci {
namespace {

const std::filesystem::path pages = std::filesystem::path(RETRYGATE_BUILD_DIR) / "pages";

std::string page_of(const Report& report) { return reporters().find("html")->render(report); }

void keep_page(const std::string& name, const std::string& page) {
  std::filesystem::create_directories(pages);
  ASSERT_TRUE(write_file((pages / name).string(), page));
}

// Text between the first `begin` after `from` and the next `end`.
std::string between(std::string_view text, std::string_view begin, std::string_view end,
                    std::size_t from = 0) {
  const std::size_t at = text.find(begin, from);
  if (at == std::string_view::npos) return {};
  const std::size_t start = at + begin.size();
  return std::string(text.substr(start, text.find(end, start) - start));
}

// SHA-256 by CMake, which is there wherever these tests are built.
std::string sha256_by_cmake(const std::string& text) {
  // These tests run beside themselves: html.browser begins with them.
  const std::string path = (pages / fmt::format("hashed-{}", ::getpid())).string();
  std::filesystem::create_directories(pages);
  if (!write_file(path, text)) return {};
  struct Gone {
    const std::string& path;
    ~Gone() { ::unlink(path.c_str()); }
  } gone{path};
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(
      popen(fmt::format("'{}' -E sha256sum '{}'", RETRYGATE_CMAKE, path).c_str(), "r"), &pclose);
  std::array<char, 65> hex{};
  if (!pipe || std::fgets(hex.data(), static_cast<int>(hex.size()), pipe.get()) == nullptr) return {};
  return hex.data();
}

// A report of `policies` candidates and `metrics` metrics, every part of it filled. The numbers are made up.
Report generated(std::size_t policies, std::size_t metrics, std::size_t seeds) {
  Report report;
  report.run = {"0.1.0", "generated", "As large as it comes", fmt::format("1..{}", seeds),
                "retrygate gate big.toml"};
  Rng rng(Seed{1});
  const auto policy = [](std::size_t i) { return fmt::format("full-jitter:base={}ms,cap=10s", 50 + i); };
  for (std::size_t m = 0; m < metrics; ++m) {
    const std::string metric = fmt::format("spread_attempt_{}_s", m);
    report.metrics.push_back({metric, "from the first to the last such request"});
    for (std::size_t p = 0; p <= policies; ++p) {
      SampleRow samples{"outage-then-limit", p == 0 ? "full-jitter" : policy(p), metric, {}};
      for (std::size_t s = 0; s < seeds; ++s)
        samples.values.push_back(s == 7 ? std::nullopt
                                        : std::optional(3 + rng.unit() + 0.01 * static_cast<double>(p)));
      report.samples.push_back(std::move(samples));
      if (p == 0) continue;
      ComparisonRow row{"outage-then-limit", "full-jitter", policy(p), metric, "s", "lower", 3.5, 3.7};
      row.relative = true;
      row.effect = 0.3 * rng.unit() - 0.15;
      row.low = *row.effect - 0.03;
      row.high = *row.effect + 0.03;
      row.margin = "10%";
      row.margin_amount = 0.1;
      row.verdict = *row.low > 0.1 ? "fail" : *row.high < 0.1 ? "pass" : "inconclusive";
      row.method = "bootstrap-t";
      row.p = row.p_adjusted = 0.0123;
      row.seeds = seeds;
      row.headline =
          "worse than the baseline by 6.2 % (90 % interval +3.2 % to +9.2 %); asked: not worse by more than "
          "10%: ";
      row.headline +=
          row.verdict == "pass" ? "that holds."
          : row.verdict == "fail"
              ? "that does not hold (adjusted p = 0.0123)."
              : "these seeds do not decide it; about 400 would. The signed rank test disagrees: by it "
                "this would be pass (p = 0.012); bootstrap-t decides.";
      for (const char* test : {"Student's t", "signed rank", "sign flips"})
        row.sensitivity.push_back({test, "pass", 0.99, 1, 0.0123, row.low, row.high});
      report.comparisons.push_back(std::move(row));
    }
  }
  Storm storm{"outage-then-limit", 1, Duration::ms(10), {}};
  for (std::size_t p = 0; p <= policies; ++p) {
    StormArm arm{p == 0 ? "full-jitter" : policy(p), {}, {}};
    for (int i = 0; i < 2000; ++i) {
      arm.sent.push_back(static_cast<std::int64_t>(rng.below(200)));
      arm.failed.push_back(arm.sent.back() / 2);
    }
    storm.arms.push_back(std::move(arm));
    Envelope envelope{p == 0 ? "full-jitter" : policy(p), true, {}};
    for (int n = 0; n < 24; ++n) {
      const Duration ceiling = std::min(Duration::s(10), Duration::ms(50) * (std::int64_t{1} << n));
      envelope.retries.push_back({{}, ceiling / 2, ceiling, {}});
      for (int k = 0; k < 16; ++k) envelope.retries.back().observed.push_back(rng.between({}, ceiling));
    }
    envelope.retries[3].observed[0] = Duration::s(11);  // what a broken policy would do
    report.envelopes.push_back(std::move(envelope));
    for (int i = 0; i < 35; ++i)
      report.verdicts.push_back(
          {report.envelopes.back().subject, fmt::format("invariant-{}", i), "MUST", "exact",
           i == 0 && p == 3   ? "fails"
           : i == 1 && p == 4 ? "deviates"
           : i < 20           ? "holds"
                              : "not-promised",
           "no delay is above the cap", i == 0 && p == 3 ? "retry 4 waits 11s, cap 10s" : "",
           "retrygate check x --only invariant-0"});
    report.provenance.runs.push_back({"outage-then-limit", report.envelopes.back().subject,
                                      "exponential 100ms x2", "1..200", "0123456789abcdef"});
  }
  report.storms.push_back(std::move(storm));
  for (std::size_t m = 0; m < metrics; ++m) {
    GrowthRow row{"outage-then-limit",
                  "full-jitter",
                  policy(1),
                  fmt::format("spread_attempt_{}_s", m),
                  "s",
                  "clients",
                  30,
                  {},
                  {"baseline: exponent 0.980 (0.950 .. 1.010)"}};
    for (const std::int64_t size : {200, 500, 1000, 2000, 5000}) {
      const double value = 0.02 * static_cast<double>(size);
      row.points.push_back({size, value, value * 1.25, 0.25, 0.2, 0.3});
    }
    report.growth.push_back(std::move(row));
  }
  report.provenance.commit = "0123456789ab";
  report.provenance.scenarios.push_back({"outage-then-limit", "200 clients at once", "0123456789abcdef", {}});
  report.code = ExitCode::violation;
  return report;
}

TEST(HtmlPage, FiftyPoliciesAndTwentyMetricsStayUnderThreeMegabytes) {
  const std::string page = page_of(generated(50, 20, 200));
  keep_page("large.html", page);
  EXPECT_LT(page.size(), 3'000'000u);
  EXPECT_EQ(count(page, "data-plot=\"forest\""), 20u);
  EXPECT_EQ(count(page, "data-plot=\"distribution\""), 20u);
  EXPECT_EQ(count(page, "data-plot=\"envelope\""), 51u);
  EXPECT_EQ(count(page, "data-plot=\"growth\""), 20u);
}

// A job summary of more than 1 MiB is dropped as a whole (docs.github.com, "Workflow commands").
TEST(Markdown, TheLargestReportsFitAJobSummary) {
  constexpr std::size_t most = 1'048'576;
  Report report = generated(50, 20, 200);
  const auto text = [&] { return reporters().find("markdown")->render(report); };
  EXPECT_LT(text().size(), most);
  // Of these nothing needs to be left out but the tests that never decide.
  EXPECT_EQ(text().substr(0, text().find("The same questions")).find("left out here"), std::string::npos);
  // Names as long as they come, a program that printed a megabyte, and what fails stands last.
  const std::string wide(300, '|');
  for (ComparisonRow& row : report.comparisons) {
    row.candidate = row.baseline = wide;
    row.verdict = "pass";
  }
  report.comparisons.back().verdict = "fail";
  report.comparisons.back().metric = "the_one_that_fails";
  for (VerdictRow& row : report.verdicts) row.verdict = "fails", row.level = "SHOULD";
  std::string noise(1'000'001, 'x');
  for (std::size_t i = 0; i + 1 < noise.size(); i += 2) noise.replace(i, 2, "\xc3\xa4");
  report.verdicts.back().level = "MUST";
  report.verdicts.back().counterexample = noise;
  report.verdicts.back().repeat = "retrygate check the-one-that-fails";
  report.notes = {noise};
  report.run.command = "retrygate gate big.toml";
  const std::string large = text();
  EXPECT_LT(large.size(), most);
  for (const char* kept :
       {"the&#95;one&#95;that&#95;fails | ", "<code>retrygate check the-one-that-fails</code>",
        "<code>retrygate gate big.toml</code>", "more are left out here"})
    EXPECT_NE(large.find(kept), std::string::npos) << kept;
  EXPECT_EQ(count(large, "<details>"), count(large, "</details>"));
  EXPECT_EQ(write_json(to_value(large)).find("\xef\xbf\xbd"), std::string::npos) << "cut within a character";
}

TEST(HtmlPage, TextOfUsersIsNeverMarkup) {
  const std::string evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\x01";
  Report report = generated(2, 2, 10);
  keep_page("small.html", page_of(report));
  const std::size_t scripts = count(page_of(report), "<script");
  report.run = {evil, evil, evil, evil, evil};
  for (ComparisonRow& row : report.comparisons) {
    row.scenario = row.baseline = row.candidate = row.metric = row.unit = row.margin = row.verdict =
        row.method = evil;
    row.headline = evil;
    row.sensitivity = {{evil, evil, 1, 1, 1, 1, 2}};
  }
  for (VerdictRow& row : report.verdicts) row = {evil, evil, evil, evil, "fails", evil, evil, evil};
  for (SampleRow& row : report.samples) row.scenario = row.policy = row.metric = evil;
  report.metrics = {{evil, evil}};
  report.storms[0].scenario = report.storms[0].arms[0].policy = evil;
  report.envelopes[0].subject = evil;
  for (GrowthRow& row : report.growth)
    row.scenario = row.baseline = row.candidate = row.metric = row.unit = row.key = row.laws[0] = evil;
  report.changes = {{evil, evil, {evil}, {evil}}};
  report.blocked = report.notes = {evil};
  report.provenance = {evil, 1, {{evil, evil, evil, {evil}}}, {{evil, evil, evil, evil, evil}}};
  const std::string page = page_of(report);
  keep_page("evil.html", page);
  EXPECT_EQ(count(page, "<img"), 0u);
  EXPECT_EQ(count(page, "alert(1)</script>"), 0u);
  EXPECT_EQ(count(page, "\x01"), 0u);
  EXPECT_LE(count(page, "<script"), scripts);
  // Data in scripts is JSON still.
  const std::string json = between(page, "<script type=\"application/json\">", "</script>");
  EXPECT_EQ(json.find('<'), std::string::npos);
  EXPECT_TRUE(parse_json(json, "page"));
}

TEST(HtmlPage, ItsPolicyAllowsItsOwnScriptsAndStyleAlone) {
  const std::string page = page_of(generated(1, 1, 3));
  const std::string policy = between(page, "Content-Security-Policy\" content=\"", "\"");
  EXPECT_TRUE(policy.starts_with("default-src 'none'; script-src 'sha256-")) << policy;
  EXPECT_EQ(policy.find("unsafe"), std::string::npos) << policy;
  const auto allowed = [&](const std::string& text) {
    return policy.find("'" + csp_hash(sha256_by_cmake(text)) + "'") != std::string::npos;
  };
  EXPECT_TRUE(allowed(between(page, "<style>", "</style>")));
  std::size_t scripts = 0;
  for (std::size_t at = page.find("<script>"); at != std::string::npos;
       at = page.find("<script>", at + 1), ++scripts)
    EXPECT_TRUE(allowed(between(page, "<script>", "</script>", at))) << "script " << scripts;
  EXPECT_EQ(scripts, plots_missing().empty() ? 2u : 1u);
  EXPECT_FALSE(allowed("alert(1)"));
  // Nothing outside is named where a browser would fetch it.
  for (const char* fetches : {"src=", "@import", "url(", "<link rel=\"stylesheet"})
    EXPECT_EQ(page.substr(0, page.find("<script>")).find(fetches), std::string::npos) << fetches;
  EXPECT_EQ(page.find("</script", page.find("</script>", page.rfind("<script>")) + 1), std::string::npos);
}

TEST(HtmlPage, SaysWhyThereAreNoPlotsAndKeepsTheirLicences) {
  const std::string page = page_of(generated(1, 1, 3));
  EXPECT_EQ(page.find("University of Washington Interactive Data Lab") != std::string::npos,
            plots_missing().empty());
  const bool plots = plots_missing().empty();
  EXPECT_GT(count(page, "<figure"), 0u);
  EXPECT_EQ(count(page, "<figure"), count(page, plots ? "The same as a table" : ", as a table</summary>"));
  // No caption of what is not there, and one notice, where the first plot would be.
  EXPECT_EQ(count(page, "<figcaption"), plots ? count(page, "<figure") : 0u);
  EXPECT_EQ(count(page, "The plots were left out"), plots ? 0u : 1u);
  if (!plots) {
    EXPECT_LT(page.find("The plots were left out"), page.find("<figure"));
    EXPECT_LT(page.find("At a glance"), page.find("The plots were left out"));
  }
}

TEST(HtmlPage, TheVerdictAndItsReasonComeFirst) {
  Report report = generated(2, 1, 10);
  for (ComparisonRow& row : report.comparisons) row.verdict = "pass";
  report.comparisons[1].verdict = "fail";
  report.comparisons[1].effect = 0.25;
  const std::string page = page_of(report);
  EXPECT_EQ(
      between(page, "<p class=\"reason\">", "</p>"),
      "1 of 2 comparisons is worse than allowed (first: spread_attempt_0_s of full-jitter:base=52ms,cap=10s, "
      "+25.0 %).");
  EXPECT_LT(page.find("<h1>"), page.find("<h2"));
  // The failing candidate is told of first.
  EXPECT_LT(page.find("<strong>full-jitter:base=52ms"), page.find("<strong>full-jitter:base=51ms"));
  report.verdicts.clear();
  report.code = ExitCode::pass;
  report.comparisons.pop_back();
  EXPECT_EQ(between(page_of(report), "<p class=\"reason\">", "</p>"), "1 comparison is within its margin.");
}

TEST(Html, ThinnedKeepsBothEndsAndTheSpread) {
  std::vector<double> x;
  for (int i = 0; i <= 1000; ++i) x.push_back(i);
  EXPECT_EQ(thinned(x, 5), (std::vector<double>{0, 250, 500, 750, 1000}));
  EXPECT_EQ(thinned({1, 2}, 5), (std::vector<double>{1, 2}));
}

// Both forms of the empty text's hash are by `openssl dgst -sha256`, the second with `-binary | base64`.
TEST(Html, AHashAsAPolicyHasIt) {
  EXPECT_EQ(csp_hash("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
}

}  // namespace
}  // namespace retrygate::ci
