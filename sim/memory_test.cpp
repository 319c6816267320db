#include "sim/memory.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "policies/base/testing.hpp"

namespace retrygate {
namespace {

class Memory : public testing::Test {
 protected:
  void file(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ + path).substr(0, (root_ + path).rfind('/')));
    std::ofstream(root_ + path) << text;
  }
  double limit() const { return memory_limit_bytes(root_); }

 private:
  Scratch scratch_;
  std::string root_ = scratch_.path();
};

TEST_F(Memory, WithoutAControlGroupItIsTheMachine) {
  const double machine = limit();
  EXPECT_GT(machine, 1e8);
  EXPECT_LE(memory_limit_bytes(), machine);
  file("/proc/self/cgroup", "0::/\n");
  file("/sys/fs/cgroup/memory.max", "max\n");
  EXPECT_EQ(limit(), machine);
}

TEST_F(Memory, TheTightestGroupOnTheWayDecides) {
  file("/proc/self/cgroup", "0::/a.slice/b\n");
  file("/sys/fs/cgroup/a.slice/memory.max", "3000000\n");
  EXPECT_EQ(limit(), 3e6);
  file("/sys/fs/cgroup/a.slice/b/memory.max", "max\n");
  EXPECT_EQ(limit(), 3e6);
  file("/sys/fs/cgroup/a.slice/b/memory.max", "2000000\n");
  EXPECT_EQ(limit(), 2e6);
  // A container that sees only its own part.
  file("/proc/self/cgroup", "0::/docker/0123\n");
  file("/sys/fs/cgroup/memory.max", "1000000\n");
  EXPECT_EQ(limit(), 1e6);
}

TEST_F(Memory, VersionOneToo) {
  file("/proc/self/cgroup", "4:cpu,cpuacct:/x\n3:memory:/x\n");
  file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  file("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "5000000\n");
  EXPECT_EQ(limit(), 5e6);
}

}  // namespace
}  // namespace retrygate
