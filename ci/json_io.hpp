// The one writer of JSON and of files.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ci/claims.hpp"
#include "ci/report.hpp"
#include "policies/named.hpp"
#include "policies/schedule.hpp"
#include "sim/sweep.hpp"

namespace retrygate::ci {

// {"policy":..,"retries":[{"n":1,"lo_s":..,"mean_s":..,"hi_s":..},..]}
std::string schedule_json(const std::string& policy, const Schedule&);

// An array of objects with `id` and the other columns.
struct ListRow {
  std::string id;
  std::vector<std::pair<std::string, std::string>> columns;
};
std::string list_json(const std::vector<ListRow>&);

// {"schema":"retrygate.report/1", "run":{..}, "verdicts":[..], "comparisons":[..], "verdict":.., "exit":..}
std::string report_json(const Report&);

// Schema retrygate.samples/1: {"schema":..,"cells":[{"policy":..,"scenario":..,"params":{..},"seeds":[..],
// "digest":[..],"metrics":{"requests":[..],..}}]}, null where not reached.
// What a part of a run says of itself, so that `merge` sees what is missing: "shard":"2/4","complete":true.
// The whole of a run says nothing; one that was interrupted "complete":false.
struct PartOfRun {
  Shard shard = {};
  bool complete = true;
};
std::string samples_json(const std::vector<SampleTable>&, const PartOfRun& = {});
// One object a line for every cell and seed:
// {"policy":..,"definition":..,"scenario":..,"params":{..},"seed":..,
// "digest":..,"metrics":{"requests":..,..}}, null where not reached.
std::string samples_json_lines(const SampleTable&);
// Schema retrygate.verdicts/1, subject by subject.
std::string verdicts_json(const Report&);

// An array of {"experiment","claim","published","ours","verdict","why"}.
std::string claims_json(const std::vector<ClaimRow>&);

// What happens to a file that is there already.
enum class Existing { replaced, kept };  // kept: that is an error
// All or nothing: the text is written beside the file, synced and put in its place. SIGINT and SIGTERM wait
// until that is done. The name "-" is standard output.
Result<void> write_file(const std::string& path, std::string_view text,
                        Existing existing = Existing::replaced);
// Would write_file find a place for it? To be asked before the work whose result the file will hold.
Result<void> has_place(const std::string& path);
constexpr std::string_view standard_stream = "-";  // as a file's name on the command line
// A file that the command line names; "-" is standard input.
Result<std::string> read_input(const std::string& path);

}  // namespace retrygate::ci
