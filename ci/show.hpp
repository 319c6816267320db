// `retrygate show`: the schedule of a policy as text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policies/named.hpp"
#include "policies/schedule.hpp"

namespace retrygate::ci {

struct ShowRequest {
  std::int64_t retries = 11;
  std::optional<Duration> deadline;  // of the call
  std::optional<Duration> outage;    // its length
  std::vector<Duration> outages;     // lengths from a log
  std::string log;                   // its file
};

std::string show_text(const NamedPolicy&, const Schedule&, const ShowRequest&);

}  // namespace retrygate::ci
