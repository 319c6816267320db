#include "ci/command/init.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <iostream>

#include "ci/command/shared.hpp"
#include "ci/json_io.hpp"
#include "ci/suite.hpp"
#include "ci/version.hpp"

namespace retrygate::ci {
namespace {

// The answer to a question, `otherwise` when it is empty; nothing when there is nobody to answer.
std::optional<std::string> ask(std::string_view question, const std::string& otherwise) {
  fmt::print("{} [{}]: ", question, otherwise);
  std::fflush(stdout);
  std::string line;
  if (!std::getline(std::cin, line)) return std::nullopt;
  return line.empty() ? otherwise : line;
}

// Asks for what no option said, and again while the answer is wrong.
bool ask_all(InitCommand& command) {
  StarterRequest& request = command.request;
  struct Question {
    bool asked;
    std::string_view text;
    std::string* answer;
  };
  std::string scenarios;
  for (const EmbeddedFile& file : scenario_files())
    scenarios += fmt::format("{}{}", scenarios.empty() ? "" : ", ", file.id);
  const std::string which = fmt::format("What shall happen to its clients? Known: {}\nScenario", scenarios);
  const Question questions[] = {
      {command.ask_policy,
       "Which policy do you use? A name of `retrygate list policies`, with settings if you like\n"
       "(full-jitter:base=200ms,cap=10s,max_attempts=6), or FILE.toml#NAME\nPolicy",
       &request.policy},
      {command.ask_scenario, which, &request.scenarios[0]},
      {command.ask_pipeline, "Which pipeline? github, gitlab, shell or none\nPipeline", &request.pipeline},
      {command.ask_file, "Where shall the suite be?\nFile", &request.file},
  };
  for (const Question& question : questions) {
    const std::string otherwise = *question.answer;
    while (question.asked) {
      const auto answer = ask(question.text, otherwise);
      if (!answer) return false;
      *question.answer = *answer;
      const auto made = starter(request);
      if (made) break;
      fmt::print("{}", to_string(made.error()));
      *question.answer = otherwise;
    }
  }
  return true;
}

// Everything or nothing: what was made before a failure is taken away again.
Errors write_all(const std::vector<StarterFile>& files, bool force) {
  Errors errors;
  std::error_code fault;
  if (!force) {
    for (const StarterFile& file : files) {
      if (std::filesystem::exists(std::filesystem::symlink_status(file.path, fault)))
        errors.push_back({{file.path, 0, 0}, "there is such a file already", "--force replaces it"});
    }
  }
  std::vector<std::filesystem::path> made;
  for (const StarterFile& file : files) {
    if (!errors.empty()) break;
    const std::filesystem::path folder = std::filesystem::path(file.path).parent_path();
    if (!folder.empty()) std::filesystem::create_directories(folder, fault);
    const bool there = std::filesystem::exists(file.path, fault);
    if (auto done = write_file(file.path, file.text, force ? Existing::replaced : Existing::kept); !done)
      errors = std::move(done.error());
    else if (!there)
      made.emplace_back(file.path);
  }
  if (errors.empty()) return errors;
  for (const std::filesystem::path& file : made) std::filesystem::remove(file, fault);
  return errors;
}

}  // namespace

ExitCode init(InitCommand command) {
  // What the options say is looked at before anything is asked.
  auto files = starter(command.request);
  if (!files) return refuse(files.error());
  if (::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1) {
    if (!ask_all(command)) {
      fmt::print("\n");
      return refuse(
          {{{"init", 0, 0}, "no answer, so nothing was written", "options answer, too: init --help"}});
    }
    files = starter(command.request);
  }
  if (const Errors errors = write_all(*files, command.force); !errors.empty()) return refuse(errors);
  for (const StarterFile& file : *files) fmt::print("wrote {}\n", file.path);
  fmt::print("\nNext:\n  retrygate gate {}\n", command.request.file);
  const std::string& pipeline = command.request.pipeline;
  if (pipeline == "github" || pipeline == "gitlab")
    fmt::print("  Put retrygate_{}_amd64.deb, which ci/make-package builds, into tools/\n", version());
  if (pipeline == "gitlab")
    fmt::print("  Into .gitlab-ci.yml: include: [{{ local: {} }}]\n", (*files)[1].path);
  if (pipeline == "shell")
    fmt::print("  In your pipeline: bash {} {}\n", (*files)[1].path, command.request.file);
  fmt::print("  Commit the files; then change the policy and run the gate again\n");
  return ExitCode::pass;
}

}  // namespace retrygate::ci
