// Budgets and breakers: what all calls of a client share. Random sequences of commands are given to the
// subject and to models written from the contract alone; the subject must do what one of the models allows.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <list>
#include <memory>
#include <vector>

#include "properties/walk.hpp"

namespace retrygate {
namespace {

using Complaint = std::optional<std::string>;

constexpr int commands_at_most = 48;  // commands of a sequence
constexpr double close = 1e-6;        // tokens: sums of doubles may round either way

// What the subject does, told to a model. Each returns a complaint or nothing.
struct Model {
  virtual ~Model() = default;
  // Before a send; `waited` is for how long the gate has put it off.
  virtual Complaint asked(std::int64_t attempt, Instant now, Duration waited, bool admitted) = 0;
  virtual Complaint ended(std::int64_t attempt, Instant now, bool success, bool call_over) = 0;
  // The gate has refused a retry: its call is over, and has failed.
  virtual void refused(Instant) {}
  virtual Complaint decided(Instant now, const Decision&) = 0;  // after a failure
  bool timed_out = false;                                       // how the last attempt that failed did
};

// An adaptive rate is cut by answers that ask for less, and by no other failure.
Status failing(const Subject& subject) {
  const Contract& c = subject.contract;
  const Status too_many = Status::http(429);
  const bool adaptive = c.budget && c.budget->kind == BudgetKind::aws_adaptive;
  return adaptive && (!c.retry_on || c.retry_on->contains(too_many)) ? too_many : retryable(subject);
}

// Sequences are made of calls, one after the other or some at once; a command is a burst of one kind.
class Run final : public Sequence {
 public:
  // Refusals for another reason than this one end a call and say nothing about the model; `refused` is set
  // when a retry is refused for this one.
  Run(const Subject& subject, const Case& c, std::unique_ptr<Model> model, Stop reason, bool& refused)
      : subject_(subject),
        case_(c),
        model_(std::move(model)),
        reason_(reason),
        failure_(failing(subject)),
        client_(fresh_client(subject)),
        now_{c.started},
        refused_(refused) {}

 private:
  Complaint play(const Command& command, bool& over) override {
    constexpr std::array<int, Command::choices> bursts{1, 3, 20, 130};
    const int times = bursts.at(command.how);
    if (command.kind < 3) {
      // One that is open lets somebody try.
      if (subject_.contract.breaker && command.also == 1) pass(2);
      const bool times_out = command.also == 2 && timeouts_cost_more();
      told_.push_back(
          times == 1
              ? fmt::format("a call whose first attempt {}", times_out ? "times out" : "fails")
              : fmt::format("a call whose first {} attempts {}", times, times_out ? "time out" : "fail"));
      return call(times, times_out ? timeout : failure_);
    }
    if (command.kind == 3) {
      told_.push_back(times == 1 ? "a call that succeeds"
                                 : fmt::format("{} calls that succeed, one after another", times));
      for (int k = 0; k < times; ++k) {
        auto wrong = call(0, failure_);
        if (wrong && times > 1) return fmt::format("in call {} of these, {}", k + 1, *wrong);
        if (wrong) return wrong;
      }
      return {};
    }
    if (command.kind == 4) {
      pass(command.how == 1 && command.also == 1 ? almost_open_for : command.how);
      return {};
    }
    if (!subject_.contract.breaker) return storm();
    if (command.how < 2) pass(2);  // so that one that is open may try
    const bool fails = command.also == 0;
    if (auto wrong = at_once(fails)) return wrong;
    // Whether what was sent before a change of state still counts, no contract says. A success too many
    // does nothing to failures in a row; of a share it is one more call.
    over = fails || subject_.contract.breaker->failure_ratio > 0;
    return {};
  }
  static constexpr std::size_t almost_open_for = 4;
  void pass(std::size_t how_long) {
    const Duration open_for =
        subject_.contract.breaker ? subject_.contract.breaker->open_for : Duration::s(1);
    const Duration almost = std::max(open_for / 2, open_for - Duration::us(7'013));
    const std::array<Duration, 5> lengths{Duration::us(1'013), open_for / 2, open_for + Duration::us(7'013),
                                          Duration::s(1'000), almost};
    now_ = now_ + lengths.at(how_long);
    told_.push_back("a pause of " + to_string(lengths.at(how_long)));
  }

  // More calls start at the same time than may be on trial. All that are sent succeed, or the first one
  // fails.
  Complaint at_once(bool fails) {
    const auto calls =
        static_cast<std::size_t>(std::min<std::int64_t>(subject_.contract.breaker->trials, 20) + 2);
    told_.push_back(fmt::format("{} calls at once, {}", calls,
                                fails ? "of which the first to end fails" : "that succeed"));
    std::vector<Case> cases(calls, case_);
    std::vector<std::unique_ptr<CallUnderTest>> sent;
    for (Case& c : cases) {
      c.call = ++calls_;
      c.started = now_.since_start;
      auto one = std::make_unique<CallUnderTest>(subject_, c, client_);
      const Decision decision = one->ask(1, now_);
      if (decision.stops() && decision.why() != reason_) continue;
      if (auto wrong = model_->asked(1, now_, {}, !decision.stops())) return wrong;
      if (!decision.stops()) sent.push_back(std::move(one));
    }
    now_ = now_ + Duration::ms(1);
    for (const auto& one : sent) {
      const Decision decision = one->tell(1, now_, {{fails ? failure_ : Status::http(200)}});
      if (auto wrong = model_->ended(1, now_, !fails, !fails || decision.stops())) return wrong;
      if (fails) return model_->decided(now_, decision);
    }
    return {};
  }

  // One of several calls that are under way.
  struct Live {
    Live(const Subject& subject, const Case& c, Slot& client, Instant now)
        : made_for(c), call(subject, made_for, client), due(now) {}
    Case made_for;
    CallUnderTest call;
    std::int64_t attempt = 1;
    Instant due;
  };
  // As many calls as it takes to spend the budget, however fast it refills: all start at the same time and
  // fail, and what comes next is whatever is due first. After three attempts their callers have gone.
  Complaint storm() {
    const auto& budget = subject_.contract.budget;
    constexpr int storms_most = 2;
    if (!budget || ++storms_ > storms_most) return {};
    double retries = 0;
    switch (budget->kind) {
      case BudgetKind::token_bucket:
      case BudgetKind::aws_quota:
        retries = budget->capacity / budget->cost;
        break;
      case BudgetKind::grpc_throttle:
        retries = budget->capacity / 2;
        break;
      case BudgetKind::ratio:
        retries =
            20 + 1.2 * budget->reserve_per_s * budget->window.seconds() / (1 - std::min(0.5, budget->ratio));
        break;
      case BudgetKind::aws_adaptive:
      case BudgetKind::sre_throttle:
        return {};  // these count what is answered, in any order
    }
    std::list<Live> live;
    Case next_call = case_;
    next_call.started = now_.since_start;
    const int calls = static_cast<int>(std::min(retries, 197.0)) + 3;
    told_.push_back(fmt::format("{} calls at once, of which every attempt fails", calls));
    for (int left = calls; left > 0; --left) {
      next_call.call = ++calls_;
      live.emplace_back(subject_, next_call, client_, now_);
    }
    while (!live.empty()) {
      const auto next = std::min_element(live.begin(), live.end(),
                                         [](const Live& a, const Live& b) { return a.due < b.due; });
      now_ = std::max(now_, next->due);
      bool over = false;
      if (auto wrong = attempt(*next, over)) return wrong;
      if (over) live.erase(next);
    }
    return {};
  }
  Complaint attempt(Live& one, bool& over) {
    constexpr std::int64_t attempts = 3;
    const Decision gate = one.call.ask(one.attempt, now_);
    if (!gate.stops() && gate.delay() > Duration{}) {
      one.due = now_ + gate.delay();
      return {};
    }
    over = gate.stops();
    if (over && gate.why() != reason_) return {};
    refused_ = refused_ || over;
    if (auto wrong = model_->asked(one.attempt, now_, {}, !over)) return wrong;
    if (over) return {};
    const Decision decision = one.call.tell(one.attempt, now_, {{failure_}});
    note(decision);
    model_->timed_out = failure_ == timeout;
    over = decision.stops() || one.attempt == attempts;
    if (auto wrong = model_->ended(one.attempt, now_, false, decision.stops())) return wrong;
    if (auto wrong = model_->decided(now_, decision)) return wrong;
    one.due = now_ + std::max(Duration{}, decision.delay());
    ++one.attempt;
    return {};
  }
  void note(const Decision& d) { refused_ = refused_ || (d.stops() && d.why() == reason_); }

  static constexpr Status timeout = Status::transport(TransportError::timeout);
  bool timeouts_cost_more() const {
    const auto& [budget, on] = std::tie(subject_.contract.budget, subject_.contract.retry_on);
    return budget && budget->kind == BudgetKind::aws_quota && (!on || on->contains(timeout));
  }

  // A call whose first `failures` attempts fail.
  Complaint call(int failures, Status failure) {
    Case c = case_;
    c.call = ++calls_;
    c.started = now_.since_start;
    CallUnderTest call(subject_, c, client_);
    for (std::int64_t n = 1;; ++n) {
      bool admitted = true;
      if (auto wrong = ask(call, n, admitted)) return wrong;
      if (!admitted) {
        if (n > 1) model_->refused(now_);
        return {};
      }
      now_ = now_ + Duration::ms(1);
      const bool success = n > failures;
      const Decision decision = call.tell(n, now_, {{success ? Status::http(200) : failure}});
      note(decision);
      if (!success) model_->timed_out = failure == timeout;
      const bool over = success || decision.stops();
      if (auto wrong = model_->ended(n, now_, success, over)) return wrong;
      if (!success) {
        if (auto wrong = model_->decided(now_, decision)) return wrong;
      }
      if (over) return {};
      now_ = now_ + std::max(Duration{}, decision.delay());
    }
  }

  Complaint ask(CallUnderTest& call, std::int64_t attempt, bool& admitted) {
    const Instant first_asked = now_;
    for (;;) {
      const Decision decision = call.ask(attempt, now_);
      if (decision.stops() || decision.delay() <= Duration{}) {
        admitted = !decision.stops();
        if (!admitted && decision.why() != reason_) return {};
        refused_ = refused_ || !admitted;
        return model_->asked(attempt, now_, now_ - first_asked, admitted);
      }
      now_ = now_ + decision.delay();
      // Half a request per second is the least rate of the adaptive mode.
      if (now_ - first_asked > Duration::s(60) && !subject_.contract.breaker)
        return fmt::format("attempt {} is kept waiting for a minute and more", attempt);
    }
  }

  const Subject& subject_;
  Case case_;
  std::unique_ptr<Model> model_;
  Stop reason_;
  Status failure_;
  Slot client_;
  Instant now_;
  std::uint64_t calls_ = 0;
  int storms_ = 0;
  bool& refused_;
};

// ---- budgets ----

// Tokens of one reading of the contract: a retry is paid when it is decided, or when it is sent.
struct Tokens {
  const Budget& b;
  bool eager;
  double left = b.capacity;
  Instant at = {};
  double last_cost = 0;
  double at_hand = 0;  // when it was last asked for a retry
  bool wrong = false;

  void refill(Instant now) {
    if (b.kind == BudgetKind::token_bucket)
      left = std::min(b.capacity, left + b.refill_per_s * (now - at).seconds());
    at = now;
  }
  double needed(bool timed_out) const {
    if (b.kind == BudgetKind::grpc_throttle) return b.capacity / 2;
    return timed_out && b.kind == BudgetKind::aws_quota ? b.timeout_cost : b.cost;
  }
  // gRPC retries while strictly more than half is left; the others while the cost is there.
  bool surely(bool enough, bool timed_out) const {
    const double least = needed(timed_out);
    if (b.kind == BudgetKind::grpc_throttle) return enough ? left > least : left <= least;
    return enough ? left >= least + close : left < least - close;
  }
  void pay(bool timed_out) {
    if (b.kind == BudgetKind::grpc_throttle) return;
    last_cost = needed(timed_out);
    left = std::max(0.0, left - last_cost);
  }
};

class TokenModel final : public Model {
 public:
  explicit TokenModel(const Budget& b) : readings_{Tokens{b, true}, Tokens{b, false}} {}

  Complaint asked(std::int64_t attempt, Instant now, Duration, bool admitted) override {
    for (Tokens& t : readings_) {
      t.refill(now);
      if (attempt == 1) {
        t.last_cost = 0;
        continue;
      }
      t.at_hand = t.left;
      if (t.eager) {
        t.wrong = t.wrong || !admitted;
        continue;
      }
      if (t.surely(!admitted, timed_out)) t.wrong = true;
      if (admitted) t.pay(timed_out);
    }
    if (attempt == 1) return {};
    return verdict(admitted ? "a retry is sent" : "a retry is refused", attempt);
  }
  Complaint ended(std::int64_t attempt, Instant now, bool success, bool) override {
    attempt_ = attempt;
    for (Tokens& t : readings_) {
      t.refill(now);
      if (t.b.kind == BudgetKind::grpc_throttle)
        // Thousandths: the specification allows three decimals of the ratio and no more.
        t.left = std::round(1000 * std::clamp(t.left + (success ? t.b.ratio : -1), 0.0, t.b.capacity)) / 1000;
      if (t.b.kind == BudgetKind::aws_quota && success)
        t.left = std::min(t.b.capacity, t.left + (t.last_cost > 0 ? t.last_cost : 1));
    }
    return {};
  }
  Complaint decided(Instant, const Decision& d) override {
    if (d.stops() && d.why() != Stop::budget) return {};
    for (Tokens& t : readings_) {
      t.at_hand = t.left;
      if (d.stops() && t.surely(true, timed_out)) t.wrong = true;
      if (!d.stops() && t.eager) {
        if (t.surely(false, timed_out)) t.wrong = true;
        t.pay(timed_out);
      }
    }
    return verdict(d.stops() ? "a retry is refused" : "a retry is decided", attempt_ + 1);
  }

 private:
  Complaint verdict(std::string_view what, std::int64_t attempt) const {
    if (!readings_[0].wrong || !readings_[1].wrong) return {};
    const auto& [eager, lazy] = readings_;
    const bool agree = std::abs(eager.at_hand - lazy.at_hand) < close;
    const std::string left = agree ? fmt::format("{:.6g}", eager.at_hand)
                                   : fmt::format("{:.6g} (or {:.6g}, if a retry is paid when it is sent)",
                                                 eager.at_hand, lazy.at_hand);
    return fmt::format("{} (attempt {}) with {} of {:.6g} tokens left; it takes {} {:.6g}", what, attempt,
                       left, eager.b.capacity,
                       eager.b.kind == BudgetKind::grpc_throttle ? "more than" : "at least",
                       eager.needed(timed_out));
  }
  std::array<Tokens, 2> readings_;
  std::int64_t attempt_ = 0;
};

// Calls and retries within the window. What is between half a window and one and a half ago may count or not:
// a budget may keep slices.
class RatioModel final : public Model {
 public:
  explicit RatioModel(const Budget& b) : b_(b) {}
  Complaint asked(std::int64_t attempt, Instant now, Duration, bool admitted) override {
    if (attempt == 1) {
      if (admitted) calls_.push_back(now);
      return {};
    }
    if (!admitted) return denied(now);
    retries_.push_back(now);
    to_come_ = std::max(0, to_come_ - 1);
    const double most = b_.ratio * count(calls_, now, 1.5) + 1.5 * b_.reserve_per_s * b_.window.seconds();
    const double made = count(retries_, now, 0.5);
    if (made <= most + 1 + close) return {};
    return fmt::format("{} retries within {}, at most {:.6g} are allowed", made, to_string(b_.window), most);
  }
  Complaint ended(std::int64_t, Instant, bool, bool) override { return {}; }
  Complaint decided(Instant now, const Decision& d) override {
    if (!d.stops()) ++to_come_;
    return d.stops() && d.why() == Stop::budget ? denied(now) : Complaint{};
  }

 private:
  double count(const std::vector<Instant>& times, Instant now, double windows) const {
    const Duration within = b_.window.scaled(windows);
    return static_cast<double>(
        std::count_if(times.begin(), times.end(), [&](Instant t) { return now - t <= within; }));
  }
  Complaint denied(Instant now) const {
    // The reserve of a second, however it is kept: for the whole window, or second by second.
    const double reserve = b_.reserve_per_s * std::min(1.0, b_.window.seconds());
    const double least = b_.ratio * count(calls_, now, 0.5) + reserve;
    const double made = count(retries_, now, 1.5) + to_come_;
    if (made + 1 > least - close) return {};
    return fmt::format("a retry is refused although {} were made within {} and {:.6g} are allowed at least",
                       made, to_string(b_.window), least);
  }
  const Budget& b_;
  std::vector<Instant> calls_, retries_;
  int to_come_ = 0;  // retries that were decided and not sent
};

// The rate of aws-adaptive, between what the contract surely allows and what it surely forbids.
class AdaptiveModel final : public Model {
 public:
  AdaptiveModel(const Budget& b, bool throttled) : b_(b), throttled_(throttled) {}

  Complaint asked(std::int64_t attempt, Instant now, Duration waited, bool admitted) override {
    if (!admitted) return {};  // a quota beside the rate
    if (now - last_ > waited + Duration::ms(2)) in_a_row_.clear();
    in_a_row_.push_back(waited);
    refill(now);
    if (cut_ && tokens_ < 1 - close)
      return fmt::format(
          "attempt {} is sent with at most {:.3g} of a token, at {:.6g} sends per second at most", attempt,
          tokens_, rate());
    tokens_ = std::max(0.0, tokens_ - 1);
    return raised();
  }
  Complaint ended(std::int64_t, Instant now, bool success, bool) override {
    last_ = now;
    answers_.push_back(now);
    while (now - answers_.front() > 2 * b_.window) answers_.pop_front();
    // A measurement counts the answers of up to two windows and divides by one at least.
    measured_ = std::max(measured_, static_cast<double>(answers_.size()) / b_.window.seconds());
    refill(now);
    if (success) {
      rate_ = 2 * measured_;
    } else {
      in_a_row_.clear();
      if (throttled_) {
        rate_ = b_.beta * (cut_ ? std::min(rate_, measured_) : measured_);
        tokens_ = std::min(cut_ ? tokens_ : burst(), burst());
        cut_ = true;
      }
    }
    return {};
  }
  Complaint decided(Instant, const Decision&) override { return {}; }

 private:
  double rate() const { return std::max(rate_, b_.rate_per_s_min); }  // no higher than that
  double burst() const { return std::max(rate(), 1.0); }
  void refill(Instant now) {
    tokens_ = std::min(burst(), tokens_ + rate() * (now - at_).seconds());
    at_ = now;
  }
  // After a hundred successes without a pause the rate has left its lowest value, wherever it was cut.
  Complaint raised() {
    constexpr std::size_t settled = 50;
    if (in_a_row_.size() < 2 * settled) return {};
    double waited = 0;
    for (std::size_t i = in_a_row_.size() - settled; i < in_a_row_.size(); ++i)
      waited += in_a_row_[i].seconds();
    if (waited <= settled / (2 * b_.rate_per_s_min)) return {};
    return fmt::format("after {} successes in a row {} sends still wait {:.3g} s in all", in_a_row_.size(),
                       settled, waited);
  }

  const Budget& b_;
  bool throttled_;  // is a failure an answer that asks for less?
  bool cut_ = false;
  double rate_ = 0, tokens_ = 0, measured_ = 0;  // at most
  Instant at_, last_;
  std::deque<Instant> answers_;
  std::vector<Duration> in_a_row_;  // waits of the sends since the last failure or pause
};

// Requests and accepts within the window, each between half a window and one and a half. What chance alone
// can explain is kept apart from what it cannot by the probability of the whole run of answers: 2^-64.
class SreModel final : public Model {
 public:
  SreModel(const Budget& b, bool refuses_load) : b_(b), refuses_load_(refuses_load) {}

  Complaint asked(std::int64_t, Instant now, Duration, bool admitted) override {
    const double most = share(count(requests_, now, 1.5), count(accepts_, now, 0.5));
    const double least =
        share(count(requests_, now, 0.5), count(accepts_, now, 1.5) + count(unknown_, now, 1.5));
    requests_.push_back(now);
    if (!admitted && most <= 0) return "a send is refused although enough of them are accepted";
    log2_admitted_ = admitted ? log2_admitted_ + std::log2(1 - least) : 0;
    log2_refused_ = admitted ? 0 : log2_refused_ + std::log2(most);
    if (log2_admitted_ < -64) return "sends go on being let through although next to none is accepted";
    if (log2_refused_ < -64) return "sends go on being refused although most of them are accepted";
    return {};
  }
  Complaint ended(std::int64_t, Instant now, bool success, bool) override {
    if (success)
      accepts_.push_back(now);
    else if (!refuses_load_)
      unknown_.push_back(now);
    return {};
  }
  Complaint decided(Instant, const Decision&) override { return {}; }

 private:
  double share(double requests, double accepts) const {
    return std::max(0.0, (requests - b_.k * accepts) / (requests + 1));
  }
  double count(const std::vector<Instant>& times, Instant now, double windows) const {
    const Duration within = b_.window.scaled(windows);
    const auto first =
        std::partition_point(times.begin(), times.end(), [&](Instant t) { return now - t > within; });
    return static_cast<double>(times.end() - first);
  }
  const Budget& b_;
  bool refuses_load_;  // is a failure surely one that counts as not accepted?
  std::vector<Instant> requests_, accepts_, unknown_;
  double log2_admitted_ = 0, log2_refused_ = 0;
};

std::unique_ptr<Model> model_of(const Subject& subject) {
  const Budget& b = *subject.contract.budget;
  switch (b.kind) {
    case BudgetKind::ratio:
      return std::make_unique<RatioModel>(b);
    case BudgetKind::aws_adaptive:
      return std::make_unique<AdaptiveModel>(b, failing(subject) == Status::http(429));
    case BudgetKind::sre_throttle:
      return std::make_unique<SreModel>(b, failing(subject) == Status::http(503));
    case BudgetKind::token_bucket:
    case BudgetKind::grpc_throttle:
    case BudgetKind::aws_quota:
      break;
  }
  return std::make_unique<TokenModel>(b);
}

Finding budget_conserved(const Subject& subject, const Trial& trial) {
  bool spent = false;
  const Finding found = search_sequences(trial, commands_at_most, [&](const Case& c) {
    return std::make_unique<Run>(subject, c, model_of(subject), Stop::budget, spent);
  });
  const bool counts = subject.contract.budget->kind != BudgetKind::aws_adaptive;  // else it only slows down
  if (found.verdict != Verdict::holds || spent || !counts || trial.replay) return found;
  return {Verdict::unsure, "the budget was never spent in what was tried", {}};
}

// ---- breakers ----

class BreakerModel final : public Model {
 public:
  explicit BreakerModel(const Breaker& b) : b_(b) {}

  Complaint asked(std::int64_t attempt, Instant now, Duration, bool admitted) override {
    // A breaker around calls is asked at their start.
    if (b_.unit == BreakerUnit::call && attempt > 1) return {};
    if (state_ == State::open && now >= opened_ + b_.open_for) {
      state_ = State::half_open;
      in_a_row_ = trials_ = 0;
    }
    const bool full = state_ == State::half_open && trials_ >= b_.trials;
    if (admitted && state_ == State::open)
      return fmt::format("attempt {} is sent {} after the breaker opened for {}", attempt,
                         to_string(now - opened_), to_string(b_.open_for));
    if (admitted && full)
      return fmt::format("attempt {} is sent while the breaker is half open and {} are on trial", attempt,
                         trials_);
    if (!admitted && state_ != State::open && !full)
      return fmt::format(
          "attempt {} is refused although the breaker is {}", attempt,
          state_ == State::closed ? closed_yet() : fmt::format("half open with {} on trial", trials_));
    if (admitted && state_ == State::half_open) ++trials_;
    return {};
  }
  Complaint ended(std::int64_t, Instant now, bool success, bool call_over) override {
    if (b_.unit == BreakerUnit::attempt || call_over) count(now, success);
    return {};
  }
  void refused(Instant now) override {
    if (b_.unit == BreakerUnit::call) count(now, false);
  }
  Complaint decided(Instant, const Decision& d) override {
    if (d.stops() && d.why() == Stop::breaker && state_ != State::open)
      return "a failed call ends because of the breaker, which is not open";
    return {};
  }

 private:
  enum class State { closed, open, half_open };

  // "closed: 1 of the last calls failed in a row, 5 open it"
  std::string closed_yet() const {
    const std::string_view what = b_.unit == BreakerUnit::call ? "calls" : "attempts";
    if (b_.failures > 0)
      return fmt::format("closed: {} {} have failed in a row, and {} open it", in_a_row_, what, b_.failures);
    return fmt::format("closed: {} of the last {} {} have failed, and it takes {:.6g} % of {} to open it",
                       std::count(last_.begin(), last_.end(), true), last_.size(), what,
                       100 * b_.failure_ratio, b_.window_calls);
  }

  void count(Instant now, bool success) {
    if (state_ == State::half_open) {
      --trials_;
      if (!success) return open(now);
      if (++in_a_row_ >= b_.successes) close_again();
      return;
    }
    if (state_ == State::open) return;
    in_a_row_ = success ? 0 : in_a_row_ + 1;
    if (b_.failures > 0 && in_a_row_ >= b_.failures) return open(now);
    if (b_.failures > 0) return;
    last_.push_back(!success);
    if (static_cast<std::int64_t>(last_.size()) > b_.window_calls) last_.pop_front();
    const auto failed = static_cast<double>(std::count(last_.begin(), last_.end(), true));
    if (static_cast<std::int64_t>(last_.size()) == b_.window_calls &&
        failed >= b_.failure_ratio * static_cast<double>(b_.window_calls) - close)
      open(now);
  }
  void open(Instant now) {
    state_ = State::open;
    opened_ = now;
  }
  void close_again() {
    state_ = State::closed;
    in_a_row_ = 0;
    last_.clear();
  }

  const Breaker& b_;
  State state_ = State::closed;
  Instant opened_;
  std::int64_t in_a_row_ = 0;
  std::int64_t trials_ = 0;  // under way
  std::deque<bool> last_;    // true: failed
};

Finding breaker_states(const Subject& subject, const Trial& trial) {
  bool refused = false;
  return search_sequences(trial, commands_at_most, [&](const Case& c) {
    return std::make_unique<Run>(subject, c, std::make_unique<BreakerModel>(*subject.contract.breaker),
                                 Stop::breaker, refused);
  });
}

}  // namespace

void add_shared(Shelf<Invariant>& shelf) {
  using enum Level;
  using enum Evidence;
  shelf.add(
      {"budget-conserved", must, exact,
       "Retries are refused when the budget is spent, and only then; it refills as declared.",
       "A budget that is never filled up again turns retries off for good; one that leaks does not protect.",
       "aws/aws-sdk-java-v2#5345", [](const Subject& s) { return s.contract.budget && !s.loop; },
       &budget_conserved});
  shelf.add({"breaker-states", must, exact,
             "The breaker opens, tries and closes after the declared outcomes of the declared unit.",
             "A breaker that counts attempts opens inside one call that would have succeeded.",
             "jvoegele/external_service#93", [](const Subject& s) { return s.contract.breaker && !s.loop; },
             &breaker_states});
}

}  // namespace retrygate
