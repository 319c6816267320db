#include "ci/json_io.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "ci/samples.hpp"
#include "policies/base/hash.hpp"

namespace retrygate::ci {
namespace {
using Json = nlohmann::ordered_json;

Json params_json(const Cell& cell) {
  Json params = Json::object();
  for (const std::string& param : cell.params) {
    const std::size_t equals = param.find('=');
    params[param.substr(0, equals)] = param.substr(equals + 1);
  }
  return params;
}

Json sample_json(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

// Indented by so much, or on one line (-1). Names come from command lines and files: bytes that are no UTF-8
// become U+FFFD.
std::string dumped(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string schedule_json(const std::string& policy, const Schedule& schedule) {
  Json rows = Json::array();
  for (const ScheduleRow& row : schedule.rows) {
    rows.push_back({{"n", row.n},
                    {"lo_s", row.lo.seconds()},
                    {"mean_s", row.mean.seconds()},
                    {"hi_s", row.hi.seconds()},
                    {"lo_so_far_s", row.lo_so_far.seconds()},
                    {"mean_so_far_s", row.mean_so_far.seconds()},
                    {"hi_so_far_s", row.hi_so_far.seconds()}});
  }
  const Json all = {{"policy", policy},
                    {"exact", schedule.exact},
                    {"mean_exact", schedule.mean_exact},
                    {"ends", schedule.ends},
                    {"retries", rows}};
  return dumped(all, 1);
}

std::string list_json(const std::vector<ListRow>& rows) {
  Json all = Json::array();
  for (const ListRow& row : rows) {
    Json one = {{"id", row.id}};
    for (const auto& [key, value] : row.columns) one[key] = value;
    all.push_back(std::move(one));
  }
  return dumped(all, 1);
}

std::string report_json(const Report& report) {
  const auto number = [](std::optional<double> value) { return value ? Json(*value) : Json(nullptr); };
  Json verdicts = Json::array();
  for (const VerdictRow& row : report.verdicts) {
    verdicts.push_back({{"subject", row.subject},
                        {"invariant", row.invariant},
                        {"level", row.level},
                        {"evidence", row.evidence},
                        {"verdict", row.verdict},
                        {"claim", row.claim},
                        {"counterexample", row.counterexample},
                        {"repeat", row.repeat},
                        {"waiver", row.waiver.empty() ? Json(nullptr) : Json(row.waiver)},
                        {"unshrunk", row.unshrunk.empty() ? Json(nullptr) : Json(row.unshrunk)},
                        {"elsewhere", row.elsewhere.empty() ? Json(nullptr) : Json(row.elsewhere)}});
  }
  Json coverage = Json::array();
  for (const CoverageRow& row : report.coverage)
    coverage.push_back({{"subject", row.subject}, {"tried", row.tried}, {"not_tried", row.not_tried}});
  Json comparisons = Json::array();
  for (const ComparisonRow& row : report.comparisons) {
    Json sensitivity = Json::array();
    for (const SensitivityRow& test : row.sensitivity) {
      sensitivity.push_back({{"method", test.method},
                             {"verdict", test.verdict},
                             {"p_worse", test.p_worse},
                             {"p_adjusted", test.p_adjusted},
                             {"p_within", test.p_within},
                             {"low", number(test.low)},
                             {"high", number(test.high)}});
    }
    comparisons.push_back({{"scenario", row.scenario},
                           {"params", row.params},
                           {"baseline", row.baseline},
                           {"candidate", row.candidate},
                           {"metric", row.metric},
                           {"unit", row.unit},
                           {"better", row.better},
                           {"baseline_mean", number(row.baseline_mean)},
                           {"candidate_mean", number(row.candidate_mean)},
                           {"effect", number(row.effect)},
                           {"low", number(row.low)},
                           {"high", number(row.high)},
                           {"relative", row.relative},
                           {"question", row.question},
                           {"margin", row.margin.empty() ? Json(nullptr) : Json(row.margin)},
                           {"verdict", row.verdict.empty() ? Json(nullptr) : Json(row.verdict)},
                           {"p", number(row.p)},
                           {"p_adjusted", number(row.p_adjusted)},
                           {"method", row.method},
                           {"law", row.law},
                           {"assumes", row.assumes},
                           {"sensitivity", std::move(sensitivity)},
                           {"seeds", row.seeds},
                           {"seed_range", row.seed_range},
                           {"decided_at", row.decided_at ? Json(*row.decided_at) : Json(nullptr)},
                           {"pairing_gain", number(row.pairing_gain)},
                           {"seeds_needed", row.seeds_needed ? Json(*row.seeds_needed) : Json(nullptr)},
                           {"headline", row.headline}});
  }
  Json changes = Json::array();
  for (const PolicyChange& change : report.changes) {
    changes.push_back({{"stored", change.stored},
                       {"now", change.now},
                       {"in_file", change.in_file},
                       {"removed", change.removed},
                       {"added", change.added}});
  }
  Json scenarios = Json::array(), runs = Json::array();
  for (const ScenarioOrigin& one : report.provenance.scenarios)
    scenarios.push_back(
        {{"id", one.id}, {"summary", one.summary}, {"hash", one.hash}, {"params", one.params}});
  for (const RunOrigin& one : report.provenance.runs) {
    runs.push_back({{"scenario", one.scenario},
                    {"params", one.params},
                    {"policy", one.policy},
                    {"definition", one.definition},
                    {"seeds", one.seeds},
                    {"digest", one.digest}});
  }
  Json growth = Json::array();
  for (const GrowthRow& row : report.growth) {
    Json points = Json::array();
    for (const GrowthPoint& point : row.points)
      points.push_back({{"size", point.size},
                        {"baseline", point.baseline},
                        {"candidate", point.candidate},
                        {"effect", number(point.effect)},
                        {"low", number(point.low)},
                        {"high", number(point.high)}});
    growth.push_back({{"scenario", row.scenario},
                      {"baseline", row.baseline},
                      {"candidate", row.candidate},
                      {"metric", row.metric},
                      {"unit", row.unit},
                      {"key", row.key},
                      {"seeds", row.seeds},
                      {"points", std::move(points)},
                      {"laws", row.laws}});
  }
  Json all = {{"schema", "retrygate.report/1"},
              {"run",
               {{"version", report.run.version},
                {"suite", report.run.suite},
                {"summary", report.run.summary},
                {"seeds", report.run.seeds},
                {"command", report.run.command}}},
              {"verdicts", verdicts},
              {"coverage", std::move(coverage)},
              {"comparisons", comparisons},
              {"growth", std::move(growth)},
              {"changes", std::move(changes)},
              {"blocked", report.blocked},
              {"notes", report.notes},
              {"provenance",
               {{"commit", report.provenance.commit},
                {"random_streams", report.provenance.random_streams},
                {"scenarios", std::move(scenarios)},
                {"runs", std::move(runs)}}},
              {"verdict", verdict_word(report)},
              {"exit", static_cast<int>(report.code)}};
  for (const Errors* errors : {&report.refused, &report.unstarted}) {
    for (const Error& error : *errors)
      all["errors"].push_back({{"file", error.where.file},
                               {"line", error.where.line},
                               {"column", error.where.column},
                               {"message", error.message},
                               {"hint", error.hint}});
  }
  return dumped(all, 1);
}

std::string samples_json(const std::vector<SampleTable>& tables, const PartOfRun& part) {
  Json cells = Json::array();
  for (const SampleTable& table : tables) {
    for (const Cell& cell : table.cells) {
      Json digests = Json::array(), metrics = Json::object();
      for (const std::uint64_t digest : cell.digests) digests.push_back(hex(digest));
      for (std::size_t m = 0; m < table.metrics.size(); ++m) {
        Json column = Json::array();
        for (const std::optional<double>& value : cell.samples[m]) column.push_back(sample_json(value));
        metrics[table.metrics[m]] = std::move(column);
      }
      cells.push_back({{"policy", cell.policy},
                       {"definition", cell.definition},
                       {"scenario", cell.scenario},
                       {"params", params_json(cell)},
                       {"seeds", cell.seeds},
                       {"digest", std::move(digests)},
                       {"metrics", std::move(metrics)},
                       {"sum", hex(sum_of(cell, table.metrics))}});
    }
  }
  Json all = {{"schema", "retrygate.samples/1"}};
  if (part.shard.count > 1) all["shard"] = fmt::format("{}/{}", part.shard.index, part.shard.count);
  if (part.shard.count > 1 || !part.complete) all["complete"] = part.complete;
  all["cells"] = std::move(cells);
  return dumped(all, -1);
}

std::string samples_json_lines(const SampleTable& table) {
  std::string out;
  for (const Cell& cell : table.cells) {
    for (std::size_t i = 0; i < cell.seeds.size(); ++i) {
      Json metrics = Json::object();
      for (std::size_t m = 0; m < table.metrics.size(); ++m)
        metrics[table.metrics[m]] = sample_json(cell.samples[m][i]);
      out += dumped({{"policy", cell.policy},
                     {"definition", cell.definition},
                     {"scenario", cell.scenario},
                     {"params", params_json(cell)},
                     {"seed", cell.seeds[i]},
                     {"digest", hex(cell.digests[i])},
                     {"metrics", std::move(metrics)}},
                    -1);
    }
  }
  return out;
}

std::string verdicts_json(const Report& report) {
  Json subjects = Json::array();
  for (const VerdictRow& row : report.verdicts) {
    if (subjects.empty() || subjects.back()["subject"] != row.subject) {
      subjects.push_back({{"subject", row.subject}, {"verdicts", Json::array()}});
      for (const CoverageRow& went : report.coverage) {
        if (went.subject != row.subject) continue;
        subjects.back()["tried"] = went.tried;
        subjects.back()["not_tried"] = went.not_tried;
      }
    }
    subjects.back()["verdicts"].push_back(
        {{"invariant", row.invariant},
         {"level", row.level},
         {"evidence", row.evidence},
         {"verdict", row.verdict},
         {"counterexample", row.counterexample.empty() ? Json(nullptr) : Json(row.counterexample)},
         {"unshrunk", row.unshrunk.empty() ? Json(nullptr) : Json(row.unshrunk)},
         {"elsewhere", row.elsewhere.empty() ? Json(nullptr) : Json(row.elsewhere)},
         {"repeat", row.repeat}});
  }
  return dumped({{"schema", "retrygate.verdicts/1"}, {"subjects", std::move(subjects)}}, 1);
}

std::string claims_json(const std::vector<ClaimRow>& rows) {
  Json all = Json::array();
  for (const ClaimRow& row : rows) {
    all.push_back({{"experiment", row.experiment},
                   {"claim", row.claim},
                   {"published", row.published},
                   {"ours", row.ours},
                   {"verdict", row.verdict},
                   {"why", row.why}});
  }
  return dumped(all, 1);
}

namespace {

// All of it, or errno says why not.
bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t done = ::write(file, text.data(), text.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(done));
  }
  return true;
}

// While it lives, a signal that asks the program to end waits: what a writer leaves beside the file would
// stay there. Only the thread that writes is running then.
class SignalsWait {
 public:
  SignalsWait() {
    sigset_t some;
    ::sigemptyset(&some);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&some, signal);
    ::pthread_sigmask(SIG_BLOCK, &some, &before_);
  }
  ~SignalsWait() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;

 private:
  sigset_t before_{};
};

// A device or a pipe is written to, never replaced by a file.
Result<void> write_through(const std::string& path, std::string_view text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const bool good = file >= 0 && write_all(file, text);
  const std::string why = std::strerror(errno);
  if (file >= 0) ::close(file);
  if (good) return {};
  return failure({path, 0, 0}, "cannot write this file: " + why);
}

bool is_device(const std::string& path) {
  std::error_code fault;
  const auto status = std::filesystem::status(path, fault);
  return std::filesystem::exists(status) && std::filesystem::is_other(status);
}

// A symbolic link stays one: what it names is replaced.
std::string replaced_by(const std::string& path) {
  std::error_code fault;
  const std::filesystem::path target = std::filesystem::weakly_canonical(path, fault);
  return fault ? path : target.string();
}

// A new file beside another one; below 0, and errno says why, if there can be none.
struct Beside {
  int file = -1;
  std::string name;
};
Beside open_beside(const std::string& real) {
  Beside beside;
  // A name that nobody has: another writer's, or one left behind by a writer that was killed.
  for (int n = 0; n < 1000; ++n) {
    beside.name = fmt::format("{}.{}.{}.tmp", real, ::getpid(), n);
    beside.file = ::open(beside.name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (beside.file >= 0 || errno != EEXIST) break;
  }
  return beside;
}

tl::unexpected<Errors> unchanged(const std::string& path, std::string_view cannot) {
  return failure({path, 0, 0}, fmt::format("cannot {} this file: {}", cannot, std::strerror(errno)),
                 "nothing was changed");
}

}  // namespace

Result<void> has_place(const std::string& path) {
  if (path == standard_stream || is_device(path)) return {};
  const SignalsWait wait;
  const std::string real = replaced_by(path);
  if (std::error_code fault; std::filesystem::is_directory(real, fault)) {
    errno = EISDIR;
    return unchanged(path, "replace");
  }
  const Beside beside = open_beside(real);
  if (beside.file < 0) return unchanged(path, "create");
  ::close(beside.file);
  ::unlink(beside.name.c_str());
  return {};
}

Result<std::string> read_input(const std::string& path) {
  return read_file(path == standard_stream ? "/dev/stdin" : path);
}

Result<void> write_file(const std::string& path, std::string_view text, Existing existing) {
  if (path == standard_stream) {
    fmt::print("{}", text);
    return {};
  }
  if (is_device(path)) return write_through(path, text);
  const SignalsWait wait;
  const std::string real = replaced_by(path);
  const Beside beside = open_beside(real);
  const int file = beside.file;
  const auto refuse = [&](std::string_view cannot) {
    const int why = errno;
    ::unlink(beside.name.c_str());
    errno = why;
    return unchanged(path, cannot);
  };
  if (file < 0) return refuse("create");
  if (!write_all(file, text)) {
    const int why = errno;
    ::close(file);
    errno = why;
    return refuse("write");
  }
  const bool synced = ::fsync(file) == 0;
  if (::close(file) != 0 || !synced) return refuse("write");
  if (existing == Existing::replaced) {
    if (::rename(beside.name.c_str(), real.c_str()) != 0) return refuse("replace");
    return {};
  }
  // A second name for it is refused where there is a file, even one that has just come.
  if (::link(beside.name.c_str(), real.c_str()) != 0) return refuse("create");
  ::unlink(beside.name.c_str());
  return {};
}

}  // namespace retrygate::ci
