#include "ci/crew.hpp"

#include <fmt/format.h>

#include <map>

namespace retrygate::ci {
namespace {

// The first character tells a part from errors.
constexpr char part_mark = '+', error_mark = '-';

}  // namespace

Gathered gather_parts(Crew& crew, const Result<std::string>& own) {
  const std::vector<std::string> said =
      crew.gather(own ? part_mark + *own : error_mark + to_string(own.error()));
  Gathered all;
  std::map<std::string, std::vector<std::size_t>> errors;
  for (std::size_t rank = 0; rank < said.size(); ++rank) {
    std::string text = said[rank].substr(1);
    if (said[rank][0] == part_mark)
      all.parts.push_back({fmt::format("rank {}", rank), std::move(text)});
    else
      errors[std::move(text)].push_back(rank);
  }
  for (const auto& [text, ranks] : errors) {
    if (ranks.size() < said.size())
      all.errors += fmt::format("on {} {} of {}:\n", ranks.size() == 1 ? "rank" : "ranks",
                                fmt::join(ranks, ", "), said.size());
    all.errors += text;
  }
  return all;
}

}  // namespace retrygate::ci
