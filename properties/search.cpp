#include "properties/search.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rapidcheck.h>

#include <exception>

namespace retrygate {
namespace {

namespace rcd = rc::detail;

// Fixed by the number of the case, shrinks towards the first attempt.
rc::Gen<std::size_t> attempt_index(std::size_t start) {
  return rc::Gen<std::size_t>([start](const rc::Random&, int) {
    return rc::shrinkable::shrinkRecur(start,
                                       [](std::size_t x) { return rc::shrink::towards<std::size_t>(x, 0); });
  });
}

std::string text(const Case& c) {
  return fmt::format(
      "attempt {}, seed {}, client {}, call {}, call started at {}, {} permille of the limit used", c.attempt,
      c.seed, c.client, c.call, to_string(c.started), c.permille);
}

}  // namespace

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

Finding search(const Trial& trial, const std::function<std::optional<std::string>(const Case&)>& complaint) {
  rc::Random random(trial.seed);
  std::string failed;  // the text of the case that failed last
  const std::size_t numbers = attempt_numbers().size();
  for (int i = 0; i < trial.cases; ++i) {
    const auto body = [&, start = static_cast<std::size_t>(i) % numbers] {
      Case c;
      c.attempt = attempt_numbers()[*attempt_index(start)];
      c.seed = *rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << 32);
      c.client = *rc::gen::inRange<std::uint64_t>(0, 10'000);
      c.call = *rc::gen::inRange<std::uint64_t>(0, 1'000);
      c.started = Duration::ns(*rc::gen::inRange<std::int64_t>(0, 100'000'000'000));
      c.permille = *rc::gen::inRange<std::int64_t>(0, 1'300);
      const auto wrong = complaint(c);
      if (!wrong) return;
      failed = fmt::format("{}: {}", text(c), *wrong);
      RC_FAIL(failed);
    };
    const rc::Gen<rcd::CaseDescription> property = rcd::toProperty(body);
    const auto first = property(random.split(), rc::kNominalSize);
    if (first.value().result.type != rcd::CaseResult::Type::Failure) continue;
    Finding found{Verdict::fails, {}, {failed, failed, {}, {}}};
    std::vector<std::size_t> path;
    std::size_t place = 0;
    auto candidates = first.shrinks();
    for (int tried = 0; tried < trial.shrinks; ++tried) {
      const auto next = candidates.next();
      if (!next) break;
      if (next->value().result.type == rcd::CaseResult::Type::Failure) {
        found.counterexample.shrunk = failed;
        path.push_back(place);
        place = 0;
        candidates = next->shrinks();
      } else {
        ++place;
      }
    }
    found.counterexample.token = fmt::format("{}:{}:{}", trial.seed, i, fmt::join(path, "."));
    return found;
  }
  return {};
}

}  // namespace retrygate
