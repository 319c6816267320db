#include "ci/starter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "ci/suite.hpp"
#include "ci/version.hpp"
#include "policies/base/toml.hpp"

namespace retrygate::ci {
namespace {

constexpr std::string_view default_metrics[] = {"peak_100ms:10%", "peak_1s:10%", "completion_s:10%",
                                                "requests:5%", "gave_up:0.5"};

// Comment lines of at most 100 columns.
std::string comment(std::string_view text) {
  std::string out, line = "#";
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (line.size() + 1 + end > 100) {
      out += line + "\n";
      line = "#";
    }
    line += " " + std::string(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out + line + "\n";
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  std::size_t at = text.find(what);
  RG_ASSERT(at != std::string::npos, fmt::format("the template lacks '{}'", what));
  for (; at != std::string::npos; at = text.find(what, at + by.size())) text.replace(at, what.size(), by);
  return text;
}

std::string workflow(std::string_view id) {
  for (const EmbeddedFile& file : shipped_workflows()) {
    if (file.id == id) return std::string(file.text);
  }
  RG_ASSERT(false, std::string(id));
}

// The suite's metrics, each with its margin.
struct Metrics {
  std::vector<Margin> margins;
  std::vector<std::string> meanings;
};

Metrics read_metrics(const StarterRequest& request, Errors& errors) {
  std::vector<std::string> wanted = request.metrics;
  if (wanted.empty()) wanted.assign(std::begin(default_metrics), std::end(default_metrics));
  Metrics all;
  for (const std::string& text : wanted) {
    const std::size_t colon = text.find(':');
    const std::string id = text.substr(0, colon);
    const auto metric = keep(find_metric(id, {"--metric", 1, 1}), errors);
    if (!metric) continue;
    if (colon == std::string::npos) {
      errors.push_back({{"--metric", 1, 1},
                        fmt::format("{} lacks a margin: how much worse may it become?", id),
                        fmt::format("for example {}:10%", id)});
      continue;
    }
    auto margin = keep(parse_margin(id, std::string_view(text).substr(colon + 1),
                                    {"--metric", 1, static_cast<int>(colon) + 2}),
                       errors);
    if (!margin) continue;
    all.margins.push_back(std::move(*margin));
    all.meanings.push_back(metric->meaning);
  }
  return all;
}

Value texts(const std::vector<std::string>& all) {
  Array items;
  for (const std::string& text : all) items.push_back(to_value(text));
  return to_value(std::move(items));
}

// A [policy.NAME] table.
std::string policy_table(std::string_view name, const NamedPolicy& policy) {
  return fmt::format("[policy.{}]\n{}", name, write_toml(std::get<Table>(policy.source.data)));
}

// How the suite, which lies in a folder of its own, names a policy of a file.
std::string from_folder(const std::string& reference, const std::filesystem::path& folder) {
  const std::size_t hash = reference.find('#');
  const std::filesystem::path file = reference.substr(0, hash);
  return file.is_absolute() ? reference
                            : file.lexically_proximate(folder).generic_string() + reference.substr(hash);
}

std::string suite_text(const StarterRequest& request, const NamedPolicy& ours, const NamedPolicy& shipped,
                       const Metrics& metrics) {
  const bool in_a_file = request.policy.find('#') != std::string::npos;
  const std::string candidate =
      in_a_file ? from_folder(request.policy, std::filesystem::path(request.file).parent_path()) : "ours";
  std::string text =
      comment(fmt::format("May a change of this retry policy be merged? `retrygate gate {}` "
                          "says so; `retrygate explain WORD` explains every word of its "
                          "report, `retrygate list policies` what can be named here.",
                          request.file)) +
      "[suite]\nname = \"retry\"\n"
      "summary = \"Is the retry policy of this branch worse than the one that is in use?\"\n\n";
  text +=
      comment(request.baseline.empty()
                  ? "The policy that is in use. It stays as it is while a change is under review; when the "
                    "change is in production, copy the new settings here."
                  : "What the policy is compared with.") +
      policy_table("shipped", shipped) + "\n";
  if (in_a_file)
    text += comment(
        fmt::format("The policy of this branch is {}: what is changed there is judged here.", candidate));
  else
    text += comment(fmt::format("The policy of this branch: what is changed here is judged. `retrygate show "
                                "{}#ours` prints its delays. Times are a number and a unit: ns us ms s m h.",
                                request.file)) +
            policy_table("ours", ours);
  text += "# It promises, and the check below holds it to that:\n";
  for (const std::string& line : describe(ours.policy.contract())) text += comment("  " + line);
  text += "\n[[compare]]\nbaseline = \"shipped\"\n";
  text += fmt::format("candidates = {}\n", write_toml(texts({candidate})));
  text += comment(
      "What happens to the fleet; `retrygate list scenarios` shows more, and a [scenario.NAME] "
      "table in this file is one of your own.");
  text += fmt::format("scenarios = {}\n", write_toml(texts(request.scenarios)));
  if (request.set.empty())
    text += "# set = [\"clients=2000\"]    # the size of your fleet\n";
  else
    text += fmt::format("set = {}\n", write_toml(texts(request.set)));
  text += comment("Every seed is one run that both policies meet alike. More seeds, narrower intervals.") +
          "seeds = \"1..200\"\n\n";
  text += comment(
              "How much worse each metric may become: a share of what it is for the baseline, or an "
              "amount in its own unit. `retrygate list metrics` shows all.") +
          "[compare.metrics]\n";
  for (std::size_t i = 0; i < metrics.margins.size(); ++i) {
    const Margin& margin = metrics.margins[i];
    text += comment(metrics.meanings[i]) +
            fmt::format("{} = {}\n", margin.metric, write_toml(to_value(margin.text)));
  }
  text += "\n" +
          comment(
              "The promises of the policy, with a counterexample for each that does not hold. A failure "
              "that is known and accepted for a while is waived:") +
          fmt::format(
              "#   waivers = [{{ subject = {}, invariant = \"cap-respected\", reason = \"issue 17\", until = "
              "\"2027-01-31\" }}]\n[[check]]\nsubjects = {}\n",
              write_toml(to_value(candidate)), write_toml(texts({candidate})));
  return text;
}

// The template without what belongs to stored samples: the suite names its own baseline.
std::vector<StarterFile> pipeline_files(const StarterRequest& request) {
  const std::filesystem::path folder = std::filesystem::path(request.file).parent_path();
  const std::string step = (folder / "retrygate.sh").generic_string();
  const std::string package = fmt::format("tools/retrygate_{}_amd64.deb", version());
  const auto fitted = [&](std::string text) {
    return replaced(replaced(std::move(text), "tools/retrygate_0.1.0_amd64.deb", package), "retry/suite.toml",
                    request.file);
  };
  if (request.pipeline == "github") {
    std::string text = fitted(workflow("github"));
    const std::string_view begin = "          # The stored samples belong", end = "          package:";
    const std::size_t from = text.find(begin), to = text.find(end);
    RG_ASSERT(from < to && to != std::string::npos, "github.yml names its baseline before its package");
    text.erase(from, to - from);
    text = replaced(std::move(text), "against the stored baseline", "against the policy in use");
    const std::string action = ".github/actions/retrygate/";
    return {{".github/workflows/retrygate.yml", std::move(text)},
            {action + "action.yml", workflow("action")},
            {action + "retrygate.sh", workflow("retrygate")}};
  }
  if (request.pipeline == "gitlab") {
    std::string text = fitted(workflow("gitlab"));
    text = replaced(std::move(text), "  variables:\n    BASELINE: retry/baseline.json\n", "");
    text = replaced(std::move(text), "tools/retrygate.sh", step);
    return {{(folder / "gitlab-ci.yml").generic_string(), std::move(text)}, {step, workflow("retrygate")}};
  }
  if (request.pipeline == "shell") return {{step, workflow("retrygate")}};
  return {};
}

// The file's name goes into shell commands and YAML as it is.
void check_file(const std::string& file, Errors& errors) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./";
  if (file.ends_with(".toml") && file.find_first_not_of(plain) == std::string::npos && file[0] != '-') return;
  errors.push_back({{"FILE", 1, 1},
                    fmt::format("'{}' is no name for a suite", file),
                    "letters, digits and ./_- with .toml at the end, for example retry/suite.toml"});
}

}  // namespace

const std::vector<std::string>& pipelines() {
  static const std::vector<std::string> all = {"none", "github", "gitlab", "shell"};
  return all;
}

Result<std::vector<StarterFile>> starter(const StarterRequest& request) {
  Errors errors;
  check_file(request.file, errors);
  const auto ours = keep(find_policy(request.policy, {"--policy", 1, 1}), errors);
  const std::string& other = request.baseline.empty() ? request.policy : request.baseline;
  const auto shipped =
      other == request.policy ? ours : keep(find_policy(other, {"--baseline", 1, 1}), errors);
  for (const std::string& scenario : request.scenarios) {
    if (scenario.find(".toml") != std::string::npos)
      errors.push_back({{"--scenario", 1, 1},
                        fmt::format("'{}' is a file", scenario),
                        "name a shipped scenario here, and write your own into the suite"});
    else
      keep(find_scenario(scenario, {"--scenario", 1, 1}, request.set), errors);
  }
  const Metrics metrics = read_metrics(request, errors);
  if (std::find(pipelines().begin(), pipelines().end(), request.pipeline) == pipelines().end())
    errors.push_back({{"--workflow", 1, 1},
                      fmt::format("unknown pipeline '{}'", request.pipeline),
                      fmt::format("known: {}", fmt::join(pipelines(), ", "))});
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  std::vector<StarterFile> files = {{request.file, suite_text(request, *ours, *shipped, metrics)}};
  for (StarterFile& file : pipeline_files(request)) files.push_back(std::move(file));
  return files;
}

}  // namespace retrygate::ci
