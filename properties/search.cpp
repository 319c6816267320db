#include "properties/search.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rapidcheck.h>

#include <algorithm>
#include <charconv>

#include "policies/base/rng.hpp"

namespace retrygate {
namespace {

namespace rcd = rc::detail;

// The attempt numbers of one search, and in which order its cases take them.
class Numbers {
 public:
  Numbers(const Trial& trial, const std::vector<std::int64_t>& first)
      : all_(attempt_numbers().begin(),
             attempt_numbers().begin() + static_cast<std::ptrdiff_t>(numbers_tried(trial.jumps))),
        order_(first) {
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

std::string text(const Case& c) {
  return fmt::format(
      "attempt {}, seed {}, client {}, call {}, call started at {}, {} permille of the limit used, choice {}",
      c.attempt, c.seed, c.client, c.call, to_string(c.started), c.permille, c.choice);
}

// seed:case:path, the path being the number of the smaller case that was taken at each step.
struct Token {
  std::uint64_t seed = 0;
  int number = 0;
  std::vector<std::size_t> path;
};

template <class Number>
bool read_number(std::string_view& text, Number& into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

std::optional<Token> parse_token(std::string_view text) {
  Token token;
  const auto skip = [&text](char mark) {
    if (text.empty() || text.front() != mark) return false;
    text.remove_prefix(1);
    return true;
  };
  if (!read_number(text, token.seed) || !skip(':') || !read_number(text, token.number) || !skip(':'))
    return std::nullopt;
  if (token.number < 0) return std::nullopt;
  while (!text.empty()) {
    std::size_t step = 0;
    if (!token.path.empty() && !skip('.')) return std::nullopt;
    if (!read_number(text, step)) return std::nullopt;
    token.path.push_back(step);
  }
  return token;
}

class Search {
 public:
  Search(const Trial& trial, const std::function<std::optional<std::string>(const Case&)>& complaint,
         const std::vector<std::int64_t>& first)
      : trial_(trial), complaint_(complaint), numbers_(trial, first) {}

  Finding run() {
    if (auto found = replayed()) return *found;
    if (trial_.cases < 1) return {Verdict::unsure, "no case was tried", {}};
    rc::Random random(trial_.seed);
    for (int i = 0; i < trial_.cases; ++i) {
      const auto first = property(i)(random.split(), rc::kNominalSize);
      if (fails(first)) return shrunk(first, {trial_.seed, i, {}});
    }
    return {};
  }

 private:
  using Property = rc::Shrinkable<rcd::CaseDescription>;

  rc::Gen<rcd::CaseDescription> property(int number) {
    const std::size_t start = numbers_.of_case(number);
    return rcd::toProperty([this, start] {
      Case c;
      c.attempt = numbers_[*attempt_index(start)];
      c.seed = *rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << 32);
      c.client = *rc::gen::inRange<std::uint64_t>(0, 10'000);
      c.call = *rc::gen::inRange<std::uint64_t>(0, 1'000);
      c.started = Duration::ns(*rc::gen::inRange<std::int64_t>(0, 100'000'000'000));
      c.permille = *rc::gen::inRange<std::int64_t>(0, 1'300);
      c.choice = *rc::gen::inRange<std::uint64_t>(0, 1'000'000);
      const auto wrong = complaint_(c);
      if (!wrong) return;
      failed_ = fmt::format("{}: {}", text(c), *wrong);
      RC_FAIL(failed_);
    });
  }

  static bool fails(const Property& p) { return p.value().result.type == rcd::CaseResult::Type::Failure; }

  // The case of the token, if it still fails.
  std::optional<Finding> replayed() {
    if (!trial_.replay) return std::nullopt;
    const auto token = parse_token(*trial_.replay);
    if (!token) return Finding{Verdict::broken, fmt::format("'{}' is no token", *trial_.replay), {}};
    rc::Random random(token->seed);
    rc::Random own = random.split();
    for (int i = 0; i < token->number; ++i) own = random.split();
    Property at = property(token->number)(own, rc::kNominalSize);
    for (const std::size_t step : token->path) {
      auto candidates = at.shrinks();
      rc::Maybe<Property> next;
      for (std::size_t i = 0; i <= step; ++i) next = candidates.next();
      if (!next) break;
      at = *next;
    }
    if (!fails(at)) return std::nullopt;
    return shrunk(at, *token);
  }

  Finding shrunk(const Property& first, Token token) {
    Finding found{Verdict::fails, {}, {failed_, failed_, {}, {}}};
    if (trial_.first_failure) trial_.first_failure(failed_);
    std::size_t place = 0;
    auto candidates = first.shrinks();
    for (int tried = 0; tried < trial_.shrinks; ++tried) {
      const auto next = candidates.next();
      if (!next) break;
      if (fails(*next)) {
        found.counterexample.shrunk = failed_;
        token.path.push_back(place);
        place = 0;
        candidates = next->shrinks();
      } else {
        ++place;
      }
    }
    found.counterexample.token =
        fmt::format("{}:{}:{}", token.seed, token.number, fmt::join(token.path, "."));
    return found;
  }

  const Trial& trial_;
  const std::function<std::optional<std::string>(const Case&)>& complaint_;
  Numbers numbers_;
  std::string failed_;  // the text of the case that failed last
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

Finding search(const Trial& trial, const std::function<std::optional<std::string>(const Case&)>& complaint,
               const std::vector<std::int64_t>& first) {
  return Search(trial, complaint, first).run();
}

}  // namespace retrygate
