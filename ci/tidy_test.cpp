// The rules of CONTRIBUTING.md that a program can check. Each rule is a function of a file's path and text,
// so that each is also shown a file that breaks it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "policies/base/config.hpp"

namespace retrygate::ci {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

const std::filesystem::path root = RETRYGATE_SOURCE_DIR;

struct File {
  std::string path;  // from the repository root
  std::string text;
};

// Every C++ file of the five modules.
const std::vector<File>& sources() {
  static const std::vector<File> all = [] {
    std::vector<File> found;
    for (const char* module : {"policies", "sim", "stats", "properties", "ci"}) {
      for (const auto& entry : std::filesystem::recursive_directory_iterator(root / module)) {
        const std::string extension = entry.path().extension().string();
        if (extension != ".cpp" && extension != ".hpp") continue;
        found.push_back({std::filesystem::relative(entry.path(), root).generic_string(),
                         *read_file(entry.path().string())});
      }
    }
    return found;
  }();
  return all;
}

bool under(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && path.size() > folder.size() && path[folder.size()] == '/';
}

bool is_test(std::string_view path) { return path.ends_with("_test.cpp"); }

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> all;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    all.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return all;
}

// "stats/decide.hpp" or "<fmt/format.h>", as written.
std::vector<std::string> includes_of(const File& file) {
  std::vector<std::string> all;
  for (const std::string& line : lines_of(file.text)) {
    if (!line.starts_with("#include ")) continue;
    const std::string what = line.substr(9);
    if (what.starts_with('"'))
      all.push_back(what.substr(1, what.rfind('"') - 1));
    else
      all.push_back(what.substr(0, what.find('>') + 1));
  }
  return all;
}

// Who may include whom: a folder, and the folders that its files may name. The first entry that fits counts.
struct Row {
  std::string_view folder;
  std::vector<std::string_view> may_include;
};
const std::vector<Row> table = {
    {"policies/base", {"policies/base"}},
    {"policies", {"policies"}},
    {"sim", {"policies", "sim"}},
    {"stats", {"policies/base", "stats"}},
    {"properties", {"policies", "sim", "stats", "properties"}},
    {"ci/consumer", {"policies"}},
    {"ci", {"policies", "sim", "stats", "properties", "ci"}},
};

std::vector<std::string> wrong_includes(const File& file) {
  std::vector<std::string> wrong;
  const auto row =
      std::find_if(table.begin(), table.end(), [&](const Row& r) { return under(file.path, r.folder); });
  for (const std::string& include : includes_of(file)) {
    if (include.starts_with('<')) continue;
    const bool allowed =
        row != table.end() && std::any_of(row->may_include.begin(), row->may_include.end(),
                                          [&](std::string_view folder) { return under(include, folder); });
    if (!allowed)
      wrong.push_back(fmt::format("{} may not include {}", file.path, include));
    else if (!std::filesystem::exists(root / include))
      wrong.push_back(fmt::format("{} includes {}, which is not at the repository root", file.path, include));
  }
  return wrong;
}

// A library and the files that may include it; tests may also use GoogleTest.
struct Wall {
  std::string_view library;
  std::vector<std::string_view> files;
};
const std::vector<Wall> walls = {
    {"<toml++/", {"policies/base/config.cpp"}},
    {"<nlohmann/", {"policies/base/json.cpp", "ci/json_io.cpp"}},
    {"<yaml-cpp/", {"policies/base/yaml.cpp"}},
    {"<boost/", {"stats/distributions.cpp", "stats/numeric.cpp"}},
    {"<Eigen/", {"stats/regression.cpp", "stats/resample.cpp"}},
    {"<rapidcheck", {"properties/search.cpp", "sim/properties_test.cpp"}},
    {"<CLI/", {"ci/main.cpp", "ci/calibration/calibrate.cpp"}},
    {"<mpi.h>", {"ci/crew/mpi.cpp"}},
    {"<benchmark/", {"ci/bench/parts.cpp"}},
    {"<fschuetz04/", {"ci/bench/peers/storm_simcpp20.cpp"}},
    {"<gtest/", {"properties/gtest.hpp"}},
    {"<gmock/", {}},
};

std::vector<std::string> breached_walls(const File& file) {
  std::vector<std::string> wrong;
  for (const std::string& include : includes_of(file)) {
    for (const Wall& wall : walls) {
      if (!include.starts_with(wall.library)) continue;
      const bool test_library = wall.library.starts_with("<g") && is_test(file.path);
      if (!test_library && std::find(wall.files.begin(), wall.files.end(), file.path) == wall.files.end())
        wrong.push_back(fmt::format("{} may not include {}", file.path, include));
    }
  }
  return wrong;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Is `name` there, not as a part of a longer name? `name` may begin or end with other characters.
bool names(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const bool open = at == 0 || !is_word(name.front()) || !is_word(text[at - 1]);
    const std::size_t end = at + name.size();
    const bool closed = end == text.size() || !is_word(name.back()) || !is_word(text[end]);
    if (open && closed) return true;
  }
  return false;
}

struct Ban {
  std::string_view name, why;
  std::vector<std::string_view> exempt;  // files
};
// Below ci/: what differs between libraries or machines, or reads the real time.
const std::vector<Ban> bans = {
    {"std::random_device", "draws come from Rng", {}},
    {"std::mt19937", "draws come from Rng", {}},
    {"std::mt19937_64", "draws come from Rng", {}},
    {"rand(", "draws come from Rng", {}},
    {"srand(", "draws come from Rng", {}},
    {"system_clock", "virtual time only", {}},
    {"steady_clock", "virtual time only", {}},
    {"high_resolution_clock", "virtual time only", {}},
    {"sleep_for", "virtual time only", {}},
    // The watch over a foreign process lives in real time.
    {"clock_gettime", "virtual time only", {"policies/process.cpp"}},
    {"std::regex", "slow to compile and to run", {}},
    {"TempDir(", "tests run beside each other: Scratch is a folder of its own", {}},
    {"using namespace std;", "names say where they come from", {}},
};

std::vector<std::string> banned_names(const File& file) {
  std::vector<std::string> wrong;
  if (under(file.path, "ci")) return wrong;
  int number = 0;
  for (std::string line : lines_of(file.text)) {
    ++number;
    line = line.substr(0, line.find("//"));
    for (const Ban& ban : bans) {
      if (names(line, ban.name) &&
          std::find(ban.exempt.begin(), ban.exempt.end(), file.path) == ban.exempt.end())
        wrong.push_back(fmt::format("{}:{}: {}: {}", file.path, number, ban.name, ban.why));
    }
    for (std::size_t at = line.find("std::"); at != std::string::npos; at = line.find("std::", at + 1)) {
      std::size_t end = at + 5;
      while (end < line.size() && is_word(line[end])) ++end;
      if (std::string_view(line).substr(at, end - at).ends_with("_distribution"))
        wrong.push_back(fmt::format("{}:{}: std distributions differ between libraries", file.path, number));
    }
  }
  return wrong;
}

// The folders that a CMakeLists.txt makes shelves of.
std::vector<std::string> shelves() {
  std::vector<std::string> all;
  for (const char* module : {"policies", "sim", "stats", "properties", "ci"}) {
    for (const std::string& line : lines_of(*read_file((root / module / "CMakeLists.txt").string()))) {
      const std::size_t call = line.find("retrygate_shelf(");
      if (call == std::string::npos) continue;
      const std::size_t begin = line.find(' ', call) + 1;
      all.push_back(fmt::format("{}/{}", module, line.substr(begin, line.find(' ', begin) - begin)));
    }
  }
  return all;
}

std::vector<std::string> off_the_shelf(const File& file, const std::vector<std::string>& folders) {
  const std::filesystem::path path(file.path);
  if (path.extension() != ".cpp" || is_test(file.path) ||
      std::find(folders.begin(), folders.end(), path.parent_path().string()) == folders.end())
    return {};
  const std::string function = fmt::format("void add_{}(Shelf<", path.stem().string());
  if (file.text.find(function) != std::string::npos) return {};
  return {fmt::format("{} does not define {}..>&)", file.path, function)};
}

std::vector<std::string> unfinished(const File& file) {
  std::vector<std::string> wrong;
  // In two halves, so that this file does not hold them.
  for (const std::string& word :
       {std::string("TO") + "DO", std::string("FIX") + "ME", std::string("XX") + "X",
        std::string("HA") + "CK", std::string("/ho") + "me/"}) {
    if (names(file.text, word)) wrong.push_back(fmt::format("{} says {}", file.path, word));
  }
  return wrong;
}

// The order of an unordered container differs between libraries. Below ci/ nothing may go through one:
// membership and look-ups only.
std::vector<std::string> unordered_walks(const File& file) {
  std::vector<std::string> wrong;
  if (under(file.path, "ci")) return wrong;
  std::vector<std::string> containers;  // names that are declared with such a type
  for (std::string line : lines_of(file.text)) {
    line = line.substr(0, line.find("//"));
    std::size_t at = line.find("std::unordered_");
    if (at == std::string::npos) continue;
    int depth = 0;
    for (; at < line.size() && (depth > 0 || line[at] != '>'); ++at) {
      if (line[at] == '<') ++depth;
      if (line[at] == '>' && --depth == 0) break;
    }
    while (at < line.size() && !is_word(line[at])) ++at;
    std::size_t end = at;
    while (end < line.size() && is_word(line[end])) ++end;
    if (end > at) containers.push_back(line.substr(at, end - at));
  }
  int number = 0;
  for (std::string line : lines_of(file.text)) {
    ++number;
    line = line.substr(0, line.find("//"));
    const std::size_t loop = line.find("for (");
    const std::size_t colon = loop == std::string::npos ? loop : line.find(" : ", loop);
    for (const std::string& name : containers) {
      const bool walked = colon != std::string::npos && names(line.substr(colon), name);
      if (walked || names(line, name + ".begin(") || names(line, name + ".cbegin("))
        wrong.push_back(
            fmt::format("{}:{}: the order of {} differs between libraries", file.path, number, name));
    }
  }
  return wrong;
}

std::vector<std::string> unguarded(const File& file) {
  if (!file.path.ends_with(".hpp") || file.text.find("\n#pragma once\n") != std::string::npos) return {};
  return {file.path + " lacks #pragma once"};
}

std::vector<std::string> without_purpose(const File& file) {
  if (!file.path.ends_with(".hpp") || file.text.starts_with("// ")) return {};
  return {file.path + " does not say in its first line what it is"};
}

template <class Rule>
std::vector<std::string> everywhere(const Rule& rule) {
  std::vector<std::string> all;
  for (const File& file : sources()) {
    for (std::string& fault : rule(file)) all.push_back(std::move(fault));
  }
  return all;
}

TEST(Tidy, SeesTheFiles) { EXPECT_GT(sources().size(), 100u); }

TEST(Tidy, IncludesFollowTheTableAndStartAtTheRoot) {
  EXPECT_THAT(everywhere(wrong_includes), IsEmpty());
  EXPECT_THAT(wrong_includes({"stats/x.cpp", "#include \"sim/run.hpp\"\n"}), SizeIs(1));
  EXPECT_THAT(wrong_includes({"policies/base/x.cpp", "#include \"policies/policy.hpp\"\n"}), SizeIs(1));
  EXPECT_THAT(wrong_includes({"sim/x.cpp", "#include \"run.hpp\"\n"}), SizeIs(1));
  EXPECT_THAT(wrong_includes({"sim/x.cpp", "#include \"sim/no_such_file.hpp\"\n"}), SizeIs(1));
  EXPECT_THAT(wrong_includes({"sim/x.cpp", "#include \"sim/run.hpp\"\n"}), IsEmpty());
}

TEST(Tidy, LibrariesStayBehindTheirWalls) {
  EXPECT_THAT(everywhere(breached_walls), IsEmpty());
  EXPECT_THAT(breached_walls({"sim/x.cpp", "#include <nlohmann/json.hpp>\n"}), SizeIs(1));
  EXPECT_THAT(breached_walls({"stats/x.hpp", "#include <Eigen/Dense>\n"}), SizeIs(1));
  EXPECT_THAT(breached_walls({"stats/x.cpp", "#include <gtest/gtest.h>\n"}), SizeIs(1));
  EXPECT_THAT(breached_walls({"stats/x_test.cpp", "#include <gtest/gtest.h>\n"}), IsEmpty());
}

TEST(Tidy, EveryWalledFileExists) {
  for (const Wall& wall : walls) {
    for (const std::string_view file : wall.files)
      EXPECT_TRUE(std::filesystem::exists(root / file)) << "a wall around a file that is gone: " << file;
  }
}

TEST(Tidy, NothingBelowCiDependsOnTheMachine) {
  EXPECT_THAT(everywhere(banned_names), IsEmpty());
  for (const char* bad : {"std::normal_distribution<double> d;", "int x = rand();", "std::random_device r;",
                          "auto t = std::chrono::steady_clock::now();", "std::regex r;"})
    EXPECT_THAT(banned_names({"sim/x.cpp", bad}), SizeIs(1)) << bad;
  EXPECT_THAT(banned_names({"sim/x.cpp", "operand(1);  // unlike rand()\n"}), IsEmpty());
}

TEST(Tidy, NothingGoesThroughAnUnorderedContainer) {
  EXPECT_THAT(everywhere(unordered_walks), IsEmpty());
  const std::string declared = "std::unordered_map<int, std::pair<int, int>> seen_;\n";
  EXPECT_THAT(unordered_walks({"sim/x.cpp", declared + "for (const auto& [k, v] : seen_) f(k);\n"}),
              SizeIs(1));
  EXPECT_THAT(unordered_walks({"sim/x.cpp", declared + "auto at = seen_.begin();\n"}), SizeIs(1));
  EXPECT_THAT(unordered_walks({"sim/x.cpp", declared + "if (seen_.contains(3)) g();\n"}), IsEmpty());
  EXPECT_THAT(unordered_walks({"sim/x.cpp", declared + "for (int x : unseen_) f(x);\n"}), IsEmpty());
}

// What CMake compiles: the plan of Ninja, and the sources that are compiled in groups.
std::string build_plan() {
  const std::filesystem::path build = RETRYGATE_BUILD_DIR;
  std::string plan = read_file((build / "build.ninja").string()).value_or("");
  for (const char* module : {"policies", "sim", "stats", "properties", "ci"}) {
    const auto groups = build / module / "CMakeFiles" / fmt::format("{}_test.dir/Unity", module);
    if (!std::filesystem::exists(groups)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(groups)) {
      if (entry.path().extension() == ".cxx") plan += read_file(entry.path().string()).value_or("");
    }
  }
  return plan;
}

// A test that no build makes passes for ever.
TEST(Tidy, EveryTestIsBuilt) {
  const std::string plan = build_plan();
  const auto built = [&](const std::string& path) {
    const std::string source = (root / path).generic_string();
    return plan.find(": CXX_COMPILER__") != std::string::npos &&
           (plan.find(fmt::format("#include \"{}\"", source)) != std::string::npos ||
            plan.find(fmt::format(" {} ||", source)) != std::string::npos);
  };
  int seen = 0;
  for (const File& file : sources()) {
    if (!is_test(file.path)) continue;
    ++seen;
    EXPECT_TRUE(built(file.path)) << file.path << " is in no test program";
  }
  EXPECT_GT(seen, 50);
  EXPECT_FALSE(built("ci/no_such_test.cpp"));
}

TEST(Tidy, EveryFileOfAShelfAddsItself) {
  const auto folders = shelves();
  EXPECT_THAT(folders, testing::Contains("ci/reporters"));
  EXPECT_THAT(everywhere([&](const File& file) { return off_the_shelf(file, folders); }), IsEmpty());
  EXPECT_THAT(off_the_shelf({"ci/reporters/x.cpp", "void add_y(Shelf<Reporter>& s) {}"}, folders), SizeIs(1));
  EXPECT_THAT(off_the_shelf({"ci/reporters/x.cpp", "void add_x(Shelf<Reporter>& s) {}"}, folders), IsEmpty());
}

TEST(Tidy, NothingIsLeftUnfinished) {
  EXPECT_THAT(everywhere(unfinished), IsEmpty());
  EXPECT_THAT(unfinished({"sim/x.cpp", "// " + std::string("TO") + "DO: more\n"}), SizeIs(1));
}

TEST(Tidy, HeadersSayWhatTheyAreAndAreReadOnce) {
  EXPECT_THAT(everywhere(unguarded), IsEmpty());
  EXPECT_THAT(everywhere(without_purpose), IsEmpty());
  EXPECT_THAT(unguarded({"sim/x.hpp", "// x\nint x;\n"}), SizeIs(1));
  EXPECT_THAT(without_purpose({"sim/x.hpp", "#pragma once\n"}), SizeIs(1));
}

TEST(Tidy, EveryModuleHasItsGuide) {
  for (const char* module : {"policies", "sim", "stats", "properties", "ci"}) {
    const auto text = read_file((root / module / "README.md").string());
    ASSERT_TRUE(text) << module;
    EXPECT_TRUE(text->starts_with("# ")) << module;
  }
}

}  // namespace
}  // namespace retrygate::ci
