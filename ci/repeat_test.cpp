// Every command that a report offers repeats what it stands beside, from the folder where the report was
// made.
#include <gmock/gmock.h>

#include <map>

#include "ci/golden/transcript.hpp"
#include "policies/base/json.hpp"

namespace retrygate::ci {
namespace {

const Value* entry_of(const Value& table, std::string_view key) {
  for (const Member& one : std::get<Table>(table.data)) {
    if (one.key == key) return &one.value;
  }
  return nullptr;
}

std::string text_at(const Value& table, std::string_view key) {
  const Value* value = entry_of(table, key);
  const auto* text = value != nullptr ? std::get_if<std::string>(&value->data) : nullptr;
  return text != nullptr ? *text : "";
}

// A folder with a quote in its name; in it a suite with policies, contracts, programs and recordings of its
// own, where something of each fails or stays open.
class RepeatCommands : public testing::Test {
 protected:
  RepeatCommands() {
    const std::filesystem::path folder = scratch_.path() / "it's ours";
    write(folder / "log.csv", "client,call,attempt,start,end,status\na,1,1,0s,0s,503\na,1,2,8s,8s,200\n");
    write(folder / "policies.toml", "[policy.narrow]\nkind = \"full-jitter\"\nelapsed = \"2s\"\n");
    write(folder / "contracts.toml", "[contract.far]\ncap = \"2ms\"\n");
    write(folder / "suite.toml", R"([policy.ours]
kind = "full-jitter"
elapsed = "1s"

[contract.slow]
cap = "1ms"

[[check]]
subjects = ["ours", "policies.toml#narrow", "full-jitter:elapsed=3s"]

[[check]]
subjects = ["exec:sh './it'\\''s ours/always.sh'"]
traces = ["log.csv"]
contract = "slow"
waivers = [{ subject = "log.csv", invariant = "cap-respected", reason = "known", until = "9999-12-31" }]

[[check]]
subjects = ["exec:sh './it'\\''s ours/always.sh'"]
contract = { cap = "3ms" }

[[check]]
subjects = ["exec:sh './it'\\''s ours/always.sh'"]
contract = "contracts.toml#far"

[[check]]
traces = ["log.csv"]
invariants = ["cap-respected", "degenerate-settings"]
contract = { cap = "5s" }
)");
    // Speaks the protocol and always waits 500 ms.
    write(folder / "always.sh",
          "read -r hello; echo '{\"retrygate-policy\":1}'\nwhile read -r l; do id=${l#*:}; id=${id%%,*}\n"
          "case $l in *'\"status\":20'*) echo \"{\\\"id\\\":$id,\\\"stop\\\":\\\"success\\\"}\";;\n"
          "*) echo \"{\\\"id\\\":$id,\\\"wait_ns\\\":500000000}\";; esac; done\n");
  }
  Scratch scratch_;
};

TEST_F(RepeatCommands, GiveTheSameVerdictAndCaseAgain) {
  const Ran gate = run("retrygate gate \"it's ours/suite.toml\" --format json", scratch_.path());
  ASSERT_EQ(gate.code, 1) << gate.err;
  const auto report = parse_json(gate.out, "report.json");
  ASSERT_TRUE(report) << to_string(report.error());
  std::map<std::string, int> seen;  // by subject
  for (const Value& row : std::get<Array>(entry_of(*report, "verdicts")->data)) {
    const std::string verdict = text_at(row, "verdict"), invariant = text_at(row, "invariant"),
                      repeat = text_at(row, "repeat"), subject = text_at(row, "subject");
    if (verdict != "fails" && verdict != "unsure" && verdict != "waived") continue;
    ++seen[subject];
    ASSERT_NE(repeat, "") << subject << " " << invariant;
    const Ran again = run(repeat + " --format json --no-save", scratch_.path());
    ASSERT_NE(again.code, 2) << repeat << "\n" << again.err;
    const auto verdicts = parse_json(again.out, "again.json");
    ASSERT_TRUE(verdicts) << repeat << "\n" << again.out << again.err;
    const auto& subjects = std::get<Array>(entry_of(*verdicts, "subjects")->data);
    ASSERT_EQ(subjects.size(), 1u) << repeat;
    const auto& rows = std::get<Array>(entry_of(subjects[0], "verdicts")->data);
    ASSERT_EQ(rows.size(), 1u) << repeat;
    EXPECT_EQ(text_at(rows[0], "invariant"), invariant);
    EXPECT_EQ(text_at(rows[0], "verdict"), verdict == "waived" ? "fails" : verdict) << repeat;
    EXPECT_EQ(text_at(rows[0], "counterexample"), text_at(row, "counterexample")) << repeat;
  }
  // Of each kind of subject there was something to repeat.
  EXPECT_EQ(seen.size(), 5u);
  EXPECT_GE(seen["log.csv"], 3);
  EXPECT_GE(seen["ours"], 1);
}

// What counts in the run counts in its repetition.
TEST_F(RepeatCommands, KeepWhatWasAskedFor) {
  const Ran check = run(
      "retrygate check --trace \"it's ours/log.csv\" --contract '{\"cap\":\"1s\"}' --strict --format json",
      scratch_.path());
  EXPECT_THAT(check.out, testing::HasSubstr("--strict")) << check.err;
}

}  // namespace
}  // namespace retrygate::ci
