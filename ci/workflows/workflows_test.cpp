// The templates for users' pipelines are YAML and have the keys without which a server refuses them.
#include <gtest/gtest.h>

#include "policies/base/config.hpp"
#include "policies/base/yaml.hpp"

namespace retrygate::ci {
namespace {

// The value at a path of keys, "jobs/gate/steps"; nothing if there is none.
const Value* at(const Value& root, std::string_view path) {
  const Value* here = &root;
  while (!path.empty()) {
    const std::string_view key = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(key.size() + 1, path.size()));
    const auto* table = std::get_if<Table>(&here->data);
    const Value* next = nullptr;
    if (table != nullptr) {
      for (const Member& member : *table) next = member.key == key ? &member.value : next;
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
       {"on/pull_request", "on/schedule", "permissions/security-events", "jobs/gate/runs-on",
        "jobs/gate/steps"}},
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

}  // namespace
}  // namespace retrygate::ci
