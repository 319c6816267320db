#include "properties/search.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rapidcheck.h>
#include <rapidcheck/state.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "policies/base/rng.hpp"

namespace retrygate {
namespace {

namespace rcd = rc::detail;

// The attempt numbers of one search, and in which order its cases take them.
class Numbers {
 public:
  Numbers(const Trial& trial, const Order& order)
      : all_(attempt_numbers().begin(),
             attempt_numbers().begin() + static_cast<std::ptrdiff_t>(numbers_tried(trial.jumps))),
        order_(order.first) {
    if (order.last && *order.last >= 1) {
      std::erase_if(all_, [&](std::int64_t n) { return n > *order.last; });
      if (*order.last <= dense_to && all_.back() < *order.last) all_.push_back(*order.last);
    }
    std::erase_if(order_, [&](std::int64_t n) { return n < 1 || (!trial.jumps && n > dense_to); });
    order_.insert(order_.end(), all_.begin(), all_.end());
    ahead_ = order_.size() - all_.size();
    all_.insert(all_.end(), order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(ahead_));
    std::sort(all_.begin(), all_.end());
    all_.erase(std::unique(all_.begin(), all_.end()), all_.end());
  }
  // Where the number of case i stands among all of them, in their order.
  std::size_t of_case(int i) const {
    const auto at = static_cast<std::size_t>(i);
    const std::size_t rest = order_.size() - ahead_;
    const std::int64_t n = order_[at < ahead_ ? at : ahead_ + (at - ahead_) % rest];
    return static_cast<std::size_t>(std::lower_bound(all_.begin(), all_.end(), n) - all_.begin());
  }
  std::int64_t operator[](std::size_t place) const { return all_[place]; }

 private:
  std::vector<std::int64_t> all_;  // increasing
  std::vector<std::int64_t> order_;
  std::size_t ahead_ = 0;  // of order_ come once, the others again and again
};

// Fixed by the number of the case, shrinks towards the first attempt.
rc::Gen<std::size_t> attempt_index(std::size_t start) {
  return rc::Gen<std::size_t>([start](const rc::Random&, int) {
    return rc::shrinkable::shrinkRecur(start,
                                       [](std::size_t x) { return rc::shrink::towards<std::size_t>(x, 0); });
  });
}

// What was drawn, as far as it is not the least: complaints name the attempt and what they chose themselves.
std::string drawn(const Case& c) {
  std::vector<std::string> parts;
  if (c.seed != 0) parts.push_back(fmt::format("seed {}", c.seed));
  if (c.client != 0) parts.push_back(fmt::format("client {}", c.client));
  if (c.call != 0) parts.push_back(fmt::format("call {}", c.call));
  if (c.started != Duration{}) parts.push_back(fmt::format("call started at {}", to_string(c.started)));
  return parts.empty() ? "" : fmt::format(" [{}]", fmt::join(parts, ", "));
}

// number:path, the path being the number of the smaller case that was taken at each step.
struct Place {
  int number = 0;
  std::vector<std::size_t> path;
};

std::string to_string(const Place& p) { return fmt::format("{}:{}", p.number, fmt::join(p.path, ".")); }

template <class Number>
bool read_number(std::string_view& text, Number& into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

std::optional<Place> parse_place(std::string_view text) {
  Place place;
  const auto skip = [&text](char mark) {
    if (text.empty() || text.front() != mark) return false;
    text.remove_prefix(1);
    return true;
  };
  // Every case before it has to be passed over: the limit of --cases.
  if (!read_number(text, place.number) || !skip(':') || place.number < 0 || place.number > 1'000'000)
    return std::nullopt;
  while (!text.empty()) {
    std::size_t step = 0;
    if (!place.path.empty() && !skip('.')) return std::nullopt;
    if (!read_number(text, step)) return std::nullopt;
    place.path.push_back(step);
  }
  return place;
}

// What all cases have beside their attempt. Shrinks towards nothing.
Case drawn_case() {
  Case c;
  c.seed = *rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << 32);
  c.client = *rc::gen::inRange<std::uint64_t>(0, 10'000);
  c.call = *rc::gen::inRange<std::uint64_t>(0, 1'000);
  c.started = Duration::ns(*rc::gen::inRange<std::int64_t>(0, 100'000'000'000));
  return c;
}

class Search {
 public:
  Search(const Trial& trial, Blame blame) : trial_(trial), blame_(blame) {}
  virtual ~Search() = default;

  Finding run() {
    if (trial_.replay) return replayed();
    if (trial_.cases < 1) return {Verdict::unsure, "no case was tried", {}};
    rc::Random random(trial_.seed);
    for (int i = 0; i < trial_.cases; ++i) {
      const auto first = property(i)(random.split(), rc::kNominalSize);
      if (!fails(first)) continue;
      Finding found = shrunk(first, {i, {}});
      found.counterexample.elsewhere = elsewhere();
      return found;
    }
    return {};
  }

 protected:
  // The case of a number, which fails where something is wrong.
  virtual rc::Gen<rcd::CaseDescription> property(int number) = 0;

  void trying(const std::string& what, const Case& c) const {
    if (trial_.trying) trial_.trying(what + drawn(c));
  }
  [[noreturn]] void fail(const Case& c, const Wrong& wrong) {
    failed_ = wrong.text + drawn(c);
    failed_attempt_ = wrong.attempt.value_or(c.attempt);
    RC_FAIL(failed_);
  }

  const Trial& trial_;

 private:
  using Property = rc::Shrinkable<rcd::CaseDescription>;

  static bool fails(const Property& p) { return p.value().result.type == rcd::CaseResult::Type::Failure; }

  // The one case that is asked for.
  Finding replayed() {
    const auto place = parse_place(*trial_.replay);
    if (!place) return {Verdict::broken, fmt::format("'{}' is the place of no case", *trial_.replay), {}};
    rc::Random random(trial_.seed);
    rc::Random own = random.split();
    for (int i = 0; i < place->number; ++i) own = random.split();
    Property at = property(place->number)(own, rc::kNominalSize);
    for (const std::size_t step : place->path) {
      auto candidates = at.shrinks();
      rc::Maybe<Property> next;
      for (std::size_t i = 0; i <= step; ++i) next = candidates.next();
      if (!next) return {};
      at = *next;
    }
    if (!fails(at)) return {};
    return {Verdict::fails, {}, {failed_, failed_, to_string(*place), {}, {}, {}}};
  }

  Finding shrunk(const Property& first, Place place) {
    if (trial_.first_failure) trial_.first_failure(failed_);
    Finding found{Verdict::fails, {}, {failed_, failed_, {}, {}, {}, {}}};
    std::size_t next_place = 0;
    auto candidates = first.shrinks();
    for (int tried = 0; tried < trial_.shrinks; ++tried) {
      const auto next = candidates.next();
      if (!next) break;
      if (fails(*next)) {
        found.counterexample.shrunk = failed_;
        place.path.push_back(next_place);
        next_place = 0;
        candidates = next->shrinks();
      } else {
        ++next_place;
      }
    }
    found.counterexample.place = to_string(place);
    return found;
  }

  // Which of all cases fail.
  std::string elsewhere() {
    rc::Random random(trial_.seed);
    std::set<std::int64_t> attempts;
    int failed = 0;
    for (int i = 0; i < trial_.cases; ++i) {
      if (!fails(property(i)(random.split(), rc::kNominalSize))) continue;
      ++failed;
      attempts.insert(failed_attempt_);
    }
    // A subject that remembers what it was asked before fails but once.
    if (failed == 0) return fmt::format("none of {} cases fails when it is asked again", trial_.cases);
    std::string text = fmt::format("{} of {} cases fail", failed, trial_.cases);
    if (blame_ == Blame::attempt)
      text += fmt::format(", after attempts {}", ranges({attempts.begin(), attempts.end()}, 6));
    return text;
  }

  Blame blame_;
  std::string failed_;  // the text of the case that failed last
  std::int64_t failed_attempt_ = 0;
};

class CaseSearch final : public Search {
 public:
  CaseSearch(const Trial& trial, const std::function<std::optional<Wrong>(const Case&)>& complaint,
             Blame blame, const Order& order)
      : Search(trial, blame), complaint_(complaint), numbers_(trial, order) {}

 private:
  rc::Gen<rcd::CaseDescription> property(int number) override {
    const std::size_t start = numbers_.of_case(number);
    return rcd::toProperty([this, start] {
      const std::int64_t attempt = numbers_[*attempt_index(start)];
      Case c = drawn_case();
      c.attempt = attempt;
      c.permille = *rc::gen::inRange<std::int64_t>(0, 1'300);
      c.choice = *rc::gen::inRange<std::uint64_t>(0, 1'000'000);
      trying(fmt::format("attempt {}", c.attempt), c);
      if (const auto wrong = complaint_(c)) fail(c, *wrong);
    });
  }

  const std::function<std::optional<Wrong>(const Case&)>& complaint_;
  Numbers numbers_;
};

// Every sequence is a valid one, so RapidCheck's own model, of what may come next, is empty: the machine
// knows what the subject must do.
struct Anything {};
struct Player {
  std::unique_ptr<Machine> machine;
  std::optional<std::string> wrong;
};

class Play final : public rc::state::Command<Anything, Player> {
 public:
  Play() {
    const auto one_of = [](std::size_t n) {
      return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::size_t>(0, n));
    };
    command_.kind = one_of(retrygate::Command::kinds);
    command_.how = one_of(retrygate::Command::choices);
    command_.also = one_of(retrygate::Command::choices);
  }
  void run(const Anything&, Player& player) const override {
    player.wrong = player.machine->run(command_);
    if (player.wrong) RC_FAIL(*player.wrong);
  }
  void show(std::ostream& out) const override {
    out << command_.kind << ' ' << command_.how << ' ' << command_.also;
  }

 private:
  retrygate::Command command_;
};

class SequenceSearch final : public Search {
 public:
  SequenceSearch(const Trial& trial, int longest,
                 const std::function<std::unique_ptr<Machine>(const Case&)>& machine)
      : Search(trial, Blame::several), longest_(longest), machine_(machine) {}

 private:
  rc::Gen<rcd::CaseDescription> property(int number) override {
    return rcd::toProperty([this, number] {
      const auto sequences =
          rc::state::gen::commands<Anything>(Anything{}, rc::state::gen::execOneOfWithArgs<Play>());
      // RapidCheck takes from 1 to one more than the size.
      const auto commands = *rc::gen::resize(std::min(2 * number + 1, longest_ - 1), sequences);
      const Case c = drawn_case();
      trying(fmt::format("a sequence of {} commands", commands.size()), c);
      Player player{machine_(c), {}};
      try {
        rc::state::runAll(commands, Anything{}, player);
      } catch (const rcd::CaseResult&) {
        fail(c, {*player.wrong});
      }
    });
  }

  int longest_;
  const std::function<std::unique_ptr<Machine>(const Case&)>& machine_;
};

}  // namespace

std::size_t pick(const Case& c, std::size_t place, std::size_t n) {
  if (c.choice == 0) return 0;
  return static_cast<std::size_t>(detail::mix(c.choice, place + 1) % n);
}

const std::vector<std::int64_t>& attempt_numbers() {
  static const std::vector<std::int64_t> numbers = [] {
    std::vector<std::int64_t> all;
    for (std::int64_t n = 1; n <= 70; ++n) all.push_back(n);
    for (const std::int64_t n :
         {std::int64_t{96}, std::int64_t{127}, std::int64_t{128}, std::int64_t{129}, std::int64_t{255},
          std::int64_t{256}, std::int64_t{257}, std::int64_t{1023}, std::int64_t{1024}, std::int64_t{1025},
          std::int64_t{1026}, std::int64_t{1100}, std::int64_t{10'000}, std::int64_t{1'000'000},
          std::int64_t{1} << 31})
      all.push_back(n);
    return all;
  }();
  return numbers;
}

std::size_t numbers_tried(bool jumps) {
  const auto& all = attempt_numbers();
  if (jumps) return all.size();
  return static_cast<std::size_t>(std::upper_bound(all.begin(), all.end(), dense_to) - all.begin());
}

std::string ranges(const std::vector<std::int64_t>& numbers, std::size_t parts_most) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    parts.push_back(last == i ? std::to_string(numbers[i])
                              : fmt::format("{}..{}", numbers[i], numbers[last]));
    i = last + 1;
  }
  if (parts.size() > parts_most) {
    parts.resize(parts_most);
    parts.back() = fmt::format("... {}", numbers.back());
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

Finding search(const Trial& trial, const std::function<std::optional<Wrong>(const Case&)>& complaint,
               Blame blame, const Order& order) {
  return CaseSearch(trial, complaint, blame, order).run();
}

Finding search_sequences(const Trial& trial, int longest,
                         const std::function<std::unique_ptr<Machine>(const Case&)>& machine) {
  return SequenceSearch(trial, longest, machine).run();
}

}  // namespace retrygate
