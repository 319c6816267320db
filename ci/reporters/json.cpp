// The report as JSON, schema retrygate.report/1.
#include "ci/json_io.hpp"
#include "ci/report.hpp"

namespace retrygate::ci {

void add_json(Shelf<Reporter>& shelf) { shelf.add({"json", "report.json", "for programs", &report_json}); }

}  // namespace retrygate::ci
