// The templates for users' pipelines are YAML and have the keys without which a server refuses them.
#include <gtest/gtest.h>

#include "ci/golden/transcript.hpp"
#include "policies/base/config.hpp"
#include "policies/base/yaml.hpp"

namespace retrygate::ci {
namespace {

// The value at a path of keys, "jobs/gate/steps"; nothing if there is none.
const Value* at(const Value& all, std::string_view path) {
  const Value* here = &all;
  while (!path.empty()) {
    const std::string_view key = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(key.size() + 1, path.size()));
    const auto* members = std::get_if<Table>(&here->data);
    const Value* next = nullptr;
    if (members != nullptr) {
      for (const Member& member : *members) next = member.key == key ? &member.value : next;
    }
    if (next == nullptr) return nullptr;
    here = next;
  }
  return here;
}

struct Template {
  const char* file;
  std::vector<std::string_view> keys;
};

TEST(Workflow, TemplatesAreYamlWithWhatTheirServersNeed) {
  const Template templates[] = {
      {"action.yml", {"name", "description", "inputs/suite/required", "runs/using", "runs/steps"}},
      {"github.yml",
       {"on/pull_request", "on/schedule", "jobs/gate/permissions/security-events", "jobs/gate/runs-on",
        "jobs/gate/steps", "jobs/comment/permissions/pull-requests", "jobs/comment/steps"}},
      {"gitlab.yml", {"retrygate/script", "retrygate/artifacts/reports/junit", "retrygate/artifacts/when"}}};
  for (const Template& one : templates) {
    const std::string path = std::string(RETRYGATE_SOURCE_DIR "/ci/workflows/") + one.file;
    const auto documents = parse_yaml(*read_file(path), path);
    ASSERT_TRUE(documents) << to_string(documents.error());
    ASSERT_EQ(documents->size(), 1U) << path;
    for (const std::string_view key : one.keys)
      EXPECT_NE(at(documents->front(), key), nullptr) << path << " lacks " << key;
    EXPECT_EQ(at(documents->front(), "no/such/key"), nullptr);
  }
}

std::string workflow_text(const Value& document, std::string_view path) {
  const Value* value = at(document, path);
  const auto* text = value != nullptr ? std::get_if<std::string>(&value->data) : nullptr;
  return text != nullptr ? *text : "";
}

Value workflow(const char* file) {
  const std::string path = std::string(RETRYGATE_SOURCE_DIR "/ci/workflows/") + file;
  return parse_yaml(*read_file(path), path)->front();
}

// The package that ci/make-package builds on Debian 12 needs libraries that other distributions name
// otherwise.
TEST(Workflow, ThePackageIsInstalledWhereItWasBuilt) {
  EXPECT_EQ(workflow_text(workflow("github.yml"), "jobs/gate/container"), "debian:12");
  EXPECT_EQ(workflow_text(workflow("gitlab.yml"), "retrygate/image"), "debian:12");
}

// Root in a container has no sudo, and needs none.
TEST(Workflow, TheActionInstallsAsRootAndAsAnotherUser) {
  const Value action = workflow("action.yml");
  const auto& steps = std::get<Array>(at(action, "runs/steps")->data);
  const std::string install = workflow_text(steps.front(), "run");
  ASSERT_NE(install, "");
  const Scratch scratch;
  for (const auto& [name, text] :
       {std::pair("id", "echo $FAKE_UID"), std::pair("apt-get", "echo apt-get \"$@\" >>calls"),
        std::pair("sudo", "echo sudo \"$@\" >>calls")}) {
    write(scratch.path() / "bin" / name, fmt::format("#!/bin/sh\n{}\n", text));
    std::filesystem::permissions(scratch.path() / "bin" / name, std::filesystem::perms::owner_all);
  }
  write(scratch.path() / "install.sh", install);
  for (const auto& [uid, prefix] : {std::pair("0", ""), std::pair("1000", "sudo ")}) {
    std::filesystem::remove(scratch.path() / "calls");
    const Ran ran =
        run(fmt::format("PATH=\"$PWD/bin:$PATH\" FAKE_UID={} PACKAGE=x.deb bash -e install.sh", uid),
            scratch.path());
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(contents(scratch.path() / "calls"),
              fmt::format("{0}apt-get update -q\n{0}apt-get install -qy {1}/x.deb\n", prefix,
                          std::filesystem::canonical(scratch.path()).string()));
  }
}

}  // namespace
}  // namespace retrygate::ci
