// What people and programs read, held to the files in ci/golden/: every reporter, the main commands, and
// every command that a README shows.
#include <gmock/gmock.h>

#include <map>
#include <sstream>

#include "ci/gate.hpp"
#include "ci/golden/transcript.hpp"
#include "ci/report.hpp"

namespace retrygate::ci {
namespace {

// A line of a golden transcript in place of "[exit 0]": the command may list more than the file has. What
// users can name must not vanish; a new name is no reason to renew anything.
constexpr std::string_view open_end = "[exit 0, more may be listed]";

// Lines of `golden` that `now` lacks, in this order.
std::string lines_lost(std::string_view golden, std::string_view now) {
  std::string lost;
  std::size_t from = 0;
  while (!golden.empty()) {
    const std::string line = std::string(golden.substr(0, golden.find('\n'))) + "\n";
    golden.remove_prefix(std::min(golden.size(), line.size()));
    const std::string wanted = line == std::string(open_end) + "\n" ? "[exit 0]\n" : line;
    std::size_t at = now.find(wanted, from);
    while (at != std::string_view::npos && at > 0 && now[at - 1] != '\n') at = now.find(wanted, at + 1);
    if (at == std::string_view::npos)
      lost += line;
    else
      from = at + wanted.size();
  }
  return lost;
}

// Compares with the file ci/golden/NAME. With RETRYGATE_RENEW_GOLDEN set the file is written anew, and the
// test fails if that changed it: the difference is for a person to read.
void expect_golden(const std::string& name, const std::string& now_unmasked) {
  const std::filesystem::path path = source_dir / "ci/golden" / name;
  const std::string now = masked(now_unmasked), golden = contents(path);
  if (std::getenv("RETRYGATE_RENEW_GOLDEN") != nullptr) {
    const bool open = golden.find(open_end) != std::string::npos;
    const std::string anew = open ? replaced(now, "[exit 0]", open_end) : now;
    if (anew == golden) return;
    write(path, anew);
    ADD_FAILURE() << "written anew: " << path << "; read what changed, then run without the variable";
    return;
  }
  const char* const how =
      "\nIf the change is meant, write the golden files anew (CONTRIBUTING.md) and "
      "read the difference.";
  if (golden.find(open_end) == std::string::npos)
    EXPECT_EQ(golden, now) << "ci/golden/" << name << how;
  else
    EXPECT_EQ(lines_lost(golden, now), "") << "ci/golden/" << name << " has lines that are gone" << how;
}

// One value in each field, so that a reporter that forgets one shows.
Report fixed_report() {
  Report report;
  report.run = {"9.8.7", "checkout", "Retry policy of the checkout client", "1..200",
                "retrygate gate checkout.toml --baseline 'our base.json'"};
  report.verdicts = {
      {"ours",
       "cap-respected",
       "MUST",
       "exact",
       "fails",
       "No delay exceeds the cap.",
       "after attempt 6 the delay is 12.8s, above the cap's 10s",
       "retrygate check 'policies.toml#ours' --replay cap-respected:1:200:0badcafe:43:0.1",
       {"policies.toml", 7, 3},
       "",
       "after attempt 44 the delay is 2562047h, above the cap's 10s [client 17]",
       "130 of 200 cases fail, after attempts 6..70, 96, ... 2147483648"},
      {"ours",
       "no-futile-wait",
       "SHOULD",
       "exact",
       "fails",
       "No wait that the deadline cuts off.",
       "attempt 3, seed 0: waits 4s with 1s left",
       "",
       {"policies.toml", 7, 3}},
      {"ours",
       "jitter-law",
       "MUST",
       "statistical",
       "unsure",
       "Delays follow the declared law.",
       "40 draws, 2000 are needed",
       "",
       {}},
      {"ours",
       "fits-timer",
       "MUST",
       "exact",
       "deviates",
       "A delay fits the timer.",
       "timers hold 2147483647ms (issue 17)",
       "",
       {}},
      {"ours",
       "jitter-alive-at-cap",
       "MUST",
       "statistical",
       "waived",
       "At the cap delays still differ.",
       "attempt 9: all 400 draws are 10s",
       "retrygate check 'policies.toml#ours' --only jitter-alive-at-cap --seed 1 --cases 200",
       {"policies.toml", 7, 3},
       "until 2027-01-31: issue 17"},
      {"ours", "survives", "MUST", "exact", "holds", "It never raises, dies or hangs.", "", "", {}},
      {"ours", "budget-conserved", "MUST", "exact", "not-promised", "A budget is kept.", "", "", {}},
      {"ours",
       "growth-law",
       "MUST",
       "exact",
       "broken",
       "Ceilings follow the law.",
       "the checker raised: x",
       "",
       {}}};
  report.coverage = {{"ours",
                      "attempts 1..12; 200 cases for each invariant",
                      {"attempts beyond its 12", "other settings than its own"}}};
  ComparisonRow row;
  row.scenario = "outage-then-limit";
  row.baseline = "full-jitter";
  row.candidate = "ours";
  row.metric = "completion_s";
  row.unit = "s";
  row.better = "lower";
  row.baseline_mean = 4.5;
  row.candidate_mean = 5.0625;
  row.effect = 0.125;
  row.low = 0.0625;
  row.high = 0.1875;
  row.relative = true;
  row.margin = "10%";
  row.verdict = "inconclusive";
  row.method = "bootstrap-t";
  row.p = 0.25;
  row.p_adjusted = 0.5;
  row.sensitivity = {{"signed-rank", "fail", 0.015625, 0.03125, 0.96875, 0.078125, 0.171875}};
  row.seeds = 200;
  row.params = {"clients=2000"};
  row.seed_range = "1..200";
  row.seeds_needed = 900;
  row.where = {"policies.toml", 9, 1};
  row.headline = "The mean rises by 12.5 %; the seeds do not decide whether that is within 10 %.";
  report.comparisons.push_back(row);
  row.metric = "gave_up";
  row.unit = "calls";
  row.baseline_mean = 0;
  row.candidate_mean = row.effect = row.low = row.high = 40;
  row.relative = false;
  row.margin = "0.5";
  row.verdict = "fail";
  row.method = "deterministic";
  row.p = row.p_adjusted = {};
  row.sensitivity.clear();
  row.seeds_needed = {};
  row.headline = "40 more calls give up.";
  report.comparisons.push_back(row);
  row.metric = "requests";
  row.unit = "1";
  row.margin = row.verdict = "";
  row.headline = "40 more requests.";
  report.comparisons.push_back(row);
  report.growth = {{"outage-then-limit",
                    "full-jitter",
                    "ours",
                    "requests",
                    "1",
                    "clients",
                    30,
                    {{200, 1000, 1250, 0.25, 0.125, 0.375}, {2000, 10000, 12500, 0.25, {}, {}}},
                    {"baseline: exponent 1.000", "candidate: exponent 1.000"}}};
  report.changes = {{"full-jitter", "ours", {"cap = 5s"}, {"cap = 10s"}}};
  report.blocked = {"seeds: 1..100 are stored, the suite says 1..200"};
  report.notes = {"attempts tried: 1..70, 96"};
  report.undecided = true;
  report.code = ExitCode::violation;
  return report;
}

// What stands between each `begin` and the next `end` is masked.
std::string without(std::string text, std::string_view begin, std::string_view end) {
  for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at)) {
    at += begin.size();
    text.erase(at, text.find(end, at) - at);
  }
  return text;
}

// A page without its scripts, style and figures, which depend on the packages that the build had;
// html_test.cpp looks at those.
std::string page_text(std::string page) {
  page = without(std::move(page), "<!--", "-->");
  page = without(std::move(page), "<script", "</script>");
  page = without(std::move(page), "<style>", "</style>");
  page = without(std::move(page), "Content-Security-Policy", ">");
  page = without(std::move(page), "<p class=\"notice\">The plots were left out", "</p>");
  // What is left of the plots, or of the notice in their place.
  page = replaced(std::move(page), "<!---->\n<script</script>\n", "");
  return replaced(std::move(page), "<p class=\"notice\">The plots were left out</p>\n", "");
}

// Of a page the fixed report is enough: those of the suites are large, and mostly figures.
void expect_reports(const std::string& name, const Report& report) {
  for (const Reporter& reporter : reporters()) {
    if (reporter.id == "html" && name != "fixed") continue;
    const std::string text = reporter.render(report);
    expect_golden(fmt::format("reports/{}.{}", name, reporter.id),
                  reporter.id == "html" ? page_text(text) : text);
  }
}

TEST(Golden, ReportersOnAFixedReport) { expect_reports("fixed", fixed_report()); }

TEST(Golden, ReportersOnTheShippedSuites) {
  for (const char* suite : {"default", "jitter-removed"}) {
    auto run = run_gate(*find_suite(suite), {});
    ASSERT_TRUE(run);
    run->report.run.command = fmt::format("retrygate gate {}", suite);
    // A few promises are enough here: that a new invariant is shown is not what these files are for.
    std::erase_if(run->report.verdicts, [](const VerdictRow& verdict) {
      return verdict.invariant != "cap-respected" && verdict.invariant != "jitter-law";
    });
    expect_reports(suite, run->report);
  }
}

// Runs the commands of a transcript again, in a copy of ci/golden/inputs.
TEST(Golden, Commands) {
  int seen = 0;
  for (const auto& file : std::filesystem::directory_iterator(source_dir / "ci/golden/commands")) {
    const Scratch scratch;
    std::filesystem::copy(source_dir / "ci/golden/inputs", scratch.path());
    std::istringstream lines(contents(file.path()));
    std::string now;
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("$ ")) continue;
      now += transcript(line.substr(2), run(line.substr(2), scratch.path()));
      ++seen;
    }
    expect_golden("commands/" + file.path().filename().string(), now);
  }
  EXPECT_GT(seen, 30);
}

TEST(Golden, TheComparisonSeesAChange) {
  EXPECT_EQ(masked(fmt::format("retrygate {} ({}) 0.12345678901234567 12345678901234567 a.bcdefghijklmnop",
                               version(), commit())),
            "retrygate VERSION (COMMIT) 0.123456789 12345678901234567 a.bcdefghijklmnop");
  EXPECT_EQ(lines_lost("a\nc\n", "a\nb\nc\n"), "");
  EXPECT_EQ(lines_lost("a\nc\n", "ab\nc\n"), "a\n");
  EXPECT_EQ(lines_lost("a\n[exit 0, more may be listed]\n", "a\nb\n[exit 0]\n"), "");
  EXPECT_EQ(lines_lost("a\n[exit 0, more may be listed]\n", "a\nb\n[exit 2]\n"),
            "[exit 0, more may be listed]\n");
}

// Documents.

struct Block {
  std::string language, text;
  std::string file;  // the last FILE.toml that was mentioned before it
};

struct Document {
  std::vector<Block> blocks;
  std::vector<std::string> commands;  // of blocks and of `code` within sentences
};

bool is_command(std::string_view line) {
  for (const std::string_view begin :
       {"retrygate ", "build/release/retrygate ", "./ci/", "cmake ", "ctest ", "npm ", "python3 "}) {
    if (line.starts_with(begin)) return true;
  }
  return false;
}

// Does it hold a word such as FILE, in whose place the reader puts something?
bool has_placeholder(std::string_view command) {
  const auto upper = [&](std::size_t i) { return std::isupper(static_cast<unsigned char>(command[i])) != 0; };
  for (std::size_t i = 1; i < command.size(); ++i) {
    const bool ends = i + 1 == command.size() || command[i + 1] == ' ';
    if (upper(i) && (upper(i - 1) || (command[i - 1] == ' ' && ends))) return true;
  }
  return command.find("..") != std::string_view::npos && command.find("1..") == std::string_view::npos;
}

std::string trimmed(std::string text) {
  text = text.substr(0, text.find("  #"));
  const std::size_t last = text.find_last_not_of(' ');
  return last == std::string::npos ? "" : text.substr(0, last + 1);
}

// The last word of `text` that ends in .toml.
std::string last_file(std::string_view text) {
  const std::size_t end = text.rfind(".toml");
  if (end == std::string_view::npos) return "";
  const std::size_t begin = text.find_last_of(" `(\n/", end) + 1;
  return std::string(text.substr(begin, end + 5 - begin));
}

Document read_document(const std::filesystem::path& path) {
  Document document;
  std::string prose;  // since the last block
  std::string before;
  const auto take_spans = [&] {
    for (std::size_t at = prose.find('`'); at != std::string::npos;) {
      const std::size_t end = prose.find('`', at + 1);
      if (end == std::string::npos) break;
      const std::string span = replaced(prose.substr(at + 1, end - at - 1), "\n", " ");
      // `retrygate gate` alone is the name of a command.
      const bool whole = std::count(span.begin(), span.end(), ' ') > 1 || span.starts_with("./");
      if (whole && is_command(span) && !has_placeholder(span)) document.commands.push_back(span);
      at = prose.find('`', end + 1);
    }
    prose.clear();
  };
  std::istringstream lines(contents(path));
  Block* open = nullptr;
  std::string unfinished;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) {
      take_spans();
      if (open != nullptr) {
        open = nullptr;
        continue;
      }
      document.blocks.push_back({line.substr(3), "", last_file(before)});
      open = &document.blocks.back();
      continue;
    }
    before += line + "\n";
    if (open == nullptr) {
      if (line.empty()) take_spans();
      prose += line + "\n";
      continue;
    }
    open->text += line + "\n";
    if (!open->language.empty() || (unfinished.empty() && !is_command(line))) continue;
    std::string command = trimmed(unfinished + line);
    unfinished.clear();
    if (command.ends_with('\\'))
      unfinished = trimmed(command.substr(0, command.size() - 1)) + " ";
    else if (!has_placeholder(command))
      document.commands.push_back(replaced(replaced(command, "  ", " "), "  ", " "));
  }
  take_spans();
  return document;
}

std::vector<std::filesystem::path> documents() {
  std::vector<std::filesystem::path> all = {"README.md", "CONTRIBUTING.md"};
  for (const char* module : {"policies", "sim", "properties", "stats", "ci"}) {
    for (const auto& file : std::filesystem::recursive_directory_iterator(source_dir / module)) {
      if (file.path().filename() == "README.md" &&
          file.path().string().find("node_modules") == std::string::npos)
        all.push_back(std::filesystem::relative(file.path(), source_dir));
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

// Commands that are shown and not run here, with the reason.
const std::map<std::string, std::string> not_run = {
    {"./ci/run-gate", "installs and builds; `retrygate gate` is run instead"},
    {"./ci/run-tests", "runs these tests"},
    {"cmake --preset package && cmake --build --preset package", "builds the project"},
    {"cmake --preset clang && cmake --build --preset clang && ctest --preset clang", "runs these tests"},
    {"retrygate check --trace attempts.csv --contract contract.toml",
     "needs the reader's recording; recorded_test.cpp has some"},
    {"retrygate import envoy route.yaml --out imported.toml",
     "needs the reader's route.yaml; importers_test.cpp reads such files"},
    {"retrygate reproduce all", "claims_test.cpp holds every row of it to figures from elsewhere"},
    {"retrygate check 'exec:python3 policies/adapters/examples/full_jitter.py' --contract "
     "policies/adapters/examples/contract.toml",
     "needs Python; adapters_test.cpp runs it where there is one"},
};

// A folder that looks to a reader like the checkout, with the files that the document shows.
void lay_out(const Document& document, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder / "build");
  std::filesystem::create_directory_symlink(RETRYGATE_BUILD_DIR, folder / "build/release");
  for (const char* name : {"ci", "policies"})
    std::filesystem::create_directory_symlink(source_dir / name, folder / name);
  for (const Block& block : document.blocks) {
    if (block.language == "toml" && !block.file.empty()) write(folder / block.file, block.text);
  }
  // "copy ci/suites/default.toml"
  for (const char* name : {"your-suite.toml", "suite.toml"}) {
    if (!std::filesystem::exists(folder / name))
      std::filesystem::copy(source_dir / "ci/suites/default.toml", folder / name);
  }
}

TEST(Golden, EveryCommandOfTheDocuments) {
  std::map<std::string, std::string> unseen = not_run;
  int seen = 0;
  for (const std::filesystem::path& path : documents()) {
    const Document document = read_document(source_dir / path);
    const Scratch scratch;
    lay_out(document, scratch.path());
    std::string now;
    for (const std::string& command : document.commands) {
      unseen.erase(command);
      if (not_run.contains(command)) continue;
      const Ran ran = run(command, scratch.path());
      EXPECT_LT(ran.code, 2) << path << ": " << command << "\n" << ran.err;
      now += transcript(command, ran);
      ++seen;
    }
    if (!now.empty()) expect_golden(fmt::format("documents/{}.txt", replaced(path.string(), "/", "-")), now);
  }
  EXPECT_GT(seen, 10);
  for (const auto& [command, reason] : unseen) ADD_FAILURE() << "no document shows it any more: " << command;
}

// Every TOML block is accepted by the command that reads such files.
TEST(Golden, EveryTomlBlockOfTheDocuments) {
  int seen = 0;
  for (const std::filesystem::path& path : documents()) {
    for (const Block& block : read_document(source_dir / path).blocks) {
      if (block.language != "toml") continue;
      const Scratch scratch;
      write(scratch.path() / "block.toml", block.text);
      const std::size_t begin = block.text.find('[') + 1;
      const std::string header = block.text.substr(begin, block.text.find(']') - begin);
      const std::string kind = header.substr(0, header.find('.')), name = header.substr(header.find('.') + 1);
      const std::string command = kind == "policy" ? fmt::format("retrygate check 'block.toml#{}'", name)
                                  : kind == "scenario"
                                      ? fmt::format(
                                            "retrygate sim --policy full-jitter --scenario block.toml#{} "
                                            "--seeds 1..2",
                                            name)
                                  : kind == "suite" || kind == "[check" ? "retrygate gate block.toml"
                                  : kind == "contract" ? "retrygate check exec:true --contract block.toml"
                                                       : "";
      ASSERT_NE(command, "") << path << " shows a block that no command reads: [" << header << "]";
      const Ran ran = run(command, scratch.path());
      // `true` speaks no protocol (4), and a suite may leave something open (3).
      EXPECT_NE(ran.code, 2) << path << ": " << command << "\n" << ran.err;
      ++seen;
    }
  }
  EXPECT_GE(seen, 4);
}

}  // namespace
}  // namespace retrygate::ci
