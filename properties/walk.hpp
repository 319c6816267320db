// Drives a policy through the attempts of a call, on virtual time that passes as the policy asks.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "properties/search.hpp"

namespace retrygate {

// Memory for one slot, aligned for anything.
class Slot {
 public:
  explicit Slot(std::size_t bytes) : words_(bytes / sizeof(std::max_align_t) + 1) {}
  std::byte* get() { return reinterpret_cast<std::byte*>(words_.data()); }

 private:
  std::vector<std::max_align_t> words_;
};

// A failure that the contract promises to retry.
Status retryable(const Contract&);
// One that the subject is also seen to retry after its first attempt, if there is any. What it does not
// repeat is for all-retryable to say, and must not keep everything else from being tried.
Status seen_to_retry(const Subject&);
Status retryable(const Subject&);  // its `failure`, else what its contract promises
// Failures of several kinds that the contract does not exclude, as far as a policy might tell them apart: one
// of them may have been forgotten, or be treated as something else. `retryable` where it excludes them all.
std::vector<Status> kinds_of_failure(const Contract&);
// A request that ended so has surely not reached the server.
bool never_arrived(Status);
// Answers of HTTP: those that end a call, and those that are none of them. With the ends of their ranges, and
// what load balancers and content networks have made up.
const std::vector<Status>& successes_of_http();
const std::vector<Status>& failures_of_http();

// How long attempts take that take their time: which is no part of the delay after them.
inline constexpr std::array attempt_lengths{Duration::us(1'500), Duration::ms(400), Duration::s(7),
                                            Duration::s(2'400)};

struct Step {
  std::int64_t attempt = 1;
  Instant started, ended;  // of the attempt
  Decision decision = Decision::stop(Stop::success);
  std::optional<Duration> previous;  // the delay decided before, when the attempts follow without a gap
};

struct Walk {
  std::vector<Step> steps;
  std::optional<std::string> raised;  // the text of an exception, which ended the walk
  // The wait decided after this attempt, if the walk came so far.
  const Step* wait_after(std::int64_t attempt) const;
};

// How an attempt ended, as the policy is told.
struct Told {
  Outcome outcome;
  bool idempotent = true;
  std::optional<Duration> deadline = {};  // of the caller, from the start of the call
};

// How an attempt ends, and how long it takes.
struct Scripted {
  Outcome outcome;
  Duration lasts = {};
};
// What happens in one call.
struct Script {
  std::function<Scripted(std::int64_t attempt, Instant started)> answer;
  bool idempotent = true;
  std::optional<Duration> deadline = {};
};

// One call from attempt 1 to `last`, or until the subject stops: a policy is told of each attempt, a loop is
// run and succeeds after the last. Attempts follow without a gap.
Walk drive(const Subject&, const Case& c, std::int64_t last, const Script&);

// The last retry that a call comes to: one less than max_attempts; where time is limited, some more than it
// was seen to have time for. Nothing else ends a call that fails: without both it goes on for ever.
std::optional<std::int64_t> last_retry(const Subject&);

// One call that fails, from attempt 1 to c.attempt, or until the subject stops. A policy's attempts follow
// without a gap to 1100; beyond it, 8 are made and the last is c.attempt.
Walk walk(const Subject&, const Case& c);

// A call whose attempts are fed one by one, for interleaving. `client` outlives it.
class CallUnderTest {
 public:
  CallUnderTest(const Subject&, const Case&, Slot& client);
  // A policy with a gate that has not let this attempt through is asked first, and as often as it puts it
  // off; what it is told of was made all the same. Whether it may refuse is for sequences of calls to say.
  Decision tell(std::int64_t attempt, Instant now, const Told&);
  Decision fail(std::int64_t attempt, Instant now) { return tell(attempt, now, {{failure_}}); }
  Decision succeed(std::int64_t attempt, Instant now) { return tell(attempt, now, {{Status::http(200)}}); }
  // What its gate says before this attempt; wait(0) when it has none.
  Decision ask(std::int64_t attempt, Instant now);

 private:
  const Subject& subject_;
  const Case& case_;
  Slot& client_;
  Slot call_;
  StreamKey key_;
  Status failure_;
  std::int64_t admitted_ = 0;  // the last attempt that the gate has let through
};

// Does the same case give the same decisions, with no draws of a generator of its own in between?
bool repeats(const Subject&);
// Are these two decisions about the same attempt the same, as far as such draws let them be compared? Calls
// that wait for other times run out of time at other attempts.
bool agree(const Subject&, const Decision&, const Decision&, std::int64_t attempt);

// The memory of a fresh client.
Slot fresh_client(const Subject&);

// Runs `body`, which returns a complaint or nothing; an exception of the policy is none: that is for
// `survives` to say.
template <class Body>
std::optional<std::string> unless_raised(Body body) {
  try {
    return body();
  } catch (...) {
    return std::nullopt;
  }
}

// A machine whose complaints name the commands that led there. It does nothing more once the subject has
// raised, or nothing can be said of what would come.
class Sequence : public Machine {
 public:
  std::optional<std::string> run(const Command&) final;

 protected:
  // `over` is set where nothing can be said of what would come after it.
  virtual std::optional<std::string> play(const Command&, bool& over) = 0;
  std::vector<std::string> told_;  // the commands so far

 private:
  bool over_ = false;
};

}  // namespace retrygate
