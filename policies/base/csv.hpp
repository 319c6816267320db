// Lines of CSV files (RFC 4180), as people and spreadsheets write them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policies/base/error.hpp"

namespace retrygate {

struct CsvCell {
  std::string text;
  Where where;  // of its first character
};
using CsvRow = std::vector<CsvCell>;

// The cells of one line: commas, and quotes around what holds commas or quotes; blanks around a cell, and the
// carriage return of other systems, are dropped. `number` is the line's, from 1.
CsvRow csv_row(std::string_view line, const std::string& source, int number);

}  // namespace retrygate
