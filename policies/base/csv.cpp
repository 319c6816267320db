#include "policies/base/csv.hpp"

#include <algorithm>

namespace retrygate {

CsvRow csv_row(std::string_view line, const std::string& source, int number) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  CsvRow row;
  std::size_t at = 0;
  for (bool more = true; more;) {
    while (at < line.size() && blank(line[at])) ++at;
    CsvCell cell{{}, {source, number, static_cast<int>(at) + 1}};
    if (at < line.size() && line[at] == '"') {
      for (++at; at < line.size(); ++at) {
        if (line[at] == '"' && (at + 1 >= line.size() || line[at + 1] != '"')) break;
        if (line[at] == '"') ++at;
        cell.text += line[at];
      }
      at = std::min(line.find(',', at), line.size());
    } else {
      const std::size_t end = std::min(line.find(',', at), line.size());
      cell.text = line.substr(at, end - at);
      while (!cell.text.empty() && blank(cell.text.back())) cell.text.pop_back();
      at = end;
    }
    row.push_back(std::move(cell));
    more = at < line.size();
    ++at;
  }
  return row;
}

}  // namespace retrygate
