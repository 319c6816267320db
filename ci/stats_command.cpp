#include "ci/stats_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "ci/json_io.hpp"
#include "policies/base/csv.hpp"
#include "policies/base/json.hpp"
#include "stats/procedure.hpp"

namespace retrygate::ci {
namespace {

using stats::Procedure;
using stats::procedures;

Result<const Procedure*> find_procedure(const std::string& id, Where where) {
  if (const Procedure* found = procedures().find(id)) return found;
  return failure(
      std::move(where),
      fmt::format("no statistical test is called '{}'{}", id, did_you_mean(id, procedures().ids())),
      "`retrygate list tests` shows all");
}

Result<Value> run_case(const Value& the_case) {
  Errors complaints;
  Reader reader(the_case, complaints);
  const auto test = reader.text("test");
  if (!test && complaints.empty()) reader.fail(the_case.where, "'test' is missing: the procedure to run");
  if (!complaints.empty()) return tl::unexpected(std::move(complaints));
  return find_procedure(*test, reader.where("test")).and_then([&](const Procedure* procedure) {
    return stats::run(*procedure, the_case);
  });
}

std::string id_of(const Value& the_case, std::size_t place) {
  if (const auto* members = std::get_if<Table>(&the_case.data)) {
    for (const Member& member : *members) {
      if (const auto* text = std::get_if<std::string>(&member.value.data); text && member.key == "id")
        return *text;
    }
  }
  return fmt::format("#{}", place + 1);
}

std::string shown(const Value& value) {
  if (const auto* number = std::get_if<double>(&value.data); number && std::isfinite(*number))
    return fmt::format("{:.6g}", *number);
  if (const auto* text = std::get_if<std::string>(&value.data)) return *text;
  if (std::holds_alternative<std::nullptr_t>(value.data)) return "not defined";
  if (const auto* items = std::get_if<Array>(&value.data)) {
    std::vector<std::string> all;
    for (const Value& item : *items) all.push_back(shown(item));
    return fmt::format("{}", fmt::join(all, "  "));
  }
  return write_json(value, Layout::compact);
}

std::string table_text(const Value& result) {
  std::string out;
  for (const Member& member : std::get<Table>(result.data))
    out += fmt::format("  {:<24} {}\n", member.key, shown(member.value));
  return out;
}

std::optional<double> number_of(std::string_view cell) {
  double number = 0;
  const auto [end, fault] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  if (fault != std::errc{} || end != cell.data() + cell.size() || !std::isfinite(number)) return std::nullopt;
  return number;
}

struct CsvColumn {
  std::string name;  // empty without a header
  std::vector<double> values;
  int blank_line = 0;  // of its first blank cell; 0: there is none
};

// Adds the columns of a CSV text; a cell that is no number is an error with its place. Columns may end early:
// a value below a blank cell would stand beside another row's value, and is an error.
void read_columns(std::string_view text, const std::string& path, std::vector<CsvColumn>& columns,
                  Errors& errors) {
  const std::size_t first = columns.size();
  std::size_t width = 0;
  int line_number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line_number;
    const CsvRow row = csv_row(line, path, line_number);
    if (row.size() == 1 && row.front().text.empty()) continue;
    const bool first_row = columns.size() == first;
    if (first_row) {
      width = row.size();
      columns.resize(first + width);
      const bool header =
          std::none_of(row.begin(), row.end(), [](const CsvCell& cell) { return number_of(cell.text); });
      if (header) {
        for (std::size_t i = 0; i < width; ++i) columns[first + i].name = row[i].text;
        continue;
      }
    }
    for (std::size_t i = 0; i < std::max(row.size(), width); ++i) {
      const bool blank = i >= row.size() || row[i].text.empty();
      if (blank && i < width && width > 1) {
        int& since = columns[first + i].blank_line;
        if (since == 0) since = line_number;
        continue;
      }
      const auto& [text_of_cell, where] = row[i];
      const auto number = number_of(text_of_cell);
      if (!number)
        errors.push_back({where, fmt::format("'{}' is no finite number", text_of_cell), ""});
      else if (i >= width)
        errors.push_back({where, fmt::format("this line has more than {} values", width), ""});
      else if (columns[first + i].blank_line != 0)
        errors.push_back({where,
                          fmt::format("a value below a blank cell (line {})", columns[first + i].blank_line),
                          "only the end of a column may be blank"});
      else
        columns[first + i].values.push_back(*number);
    }
  }
  if (columns.size() == first) errors.push_back({{path, 0, 0}, "this file holds no numbers", ""});
}

Value list_of(const std::vector<double>& values) {
  Array all;
  for (const double v : values) {
    // Counts and indices are whole numbers.
    if (v == std::floor(v) && std::abs(v) < 1e15)
      all.push_back({{}, static_cast<std::int64_t>(v)});
    else
      all.push_back({{}, v});
  }
  return {{}, std::move(all)};
}

Value case_of(const std::vector<CsvColumn>& columns, Value params) {
  Table all{{"params", {}, std::move(params)}};
  const bool named =
      std::none_of(columns.begin(), columns.end(), [](const CsvColumn& c) { return c.name.empty(); });
  const auto add = [&](const std::string& key, Value value) {
    for (const Member& member : all) {
      if (member.key == key) return;
    }
    all.push_back({key, {}, std::move(value)});
  };
  if (named) {
    for (const CsvColumn& column : columns) add(column.name, list_of(column.values));
  }
  add("x", list_of(columns.front().values));
  if (columns.size() > 1) add("y", list_of(columns[1].values));
  Array groups, table;
  bool even = true;
  for (const CsvColumn& column : columns) {
    groups.push_back(list_of(column.values));
    even = even && column.values.size() == columns.front().values.size();
  }
  add("groups", {{}, std::move(groups)});
  if (even) {
    for (std::size_t row = 0; row < columns.front().values.size(); ++row) {
      std::vector<double> values;
      for (const CsvColumn& column : columns) values.push_back(column.values[row]);
      table.push_back(list_of(values));
    }
    add("table", {{}, std::move(table)});
  }
  return {{}, std::move(all)};
}

}  // namespace

Result<StatsOutput> stats_of_cases(const std::string& path, bool json) {
  const auto parsed =
      read_input(path).and_then([&](const std::string& text) { return parse_json(text, path); });
  if (!parsed) return tl::unexpected(parsed.error());
  const auto* cases = std::get_if<Array>(&parsed->data);
  if (cases == nullptr) return failure(parsed->where, "a file of cases is a JSON array");
  StatsOutput out;
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < cases->size(); ++i) {
    const std::string id = id_of((*cases)[i], i);
    const auto result = run_case((*cases)[i]);
    std::string error;
    if (!result) {
      out.code = ExitCode::usage;
      error = to_string(result.error());
      while (error.ends_with('\n')) error.pop_back();
    }
    if (json) {
      Table row{member("id", id)};
      row.push_back(result ? Member{"result", {}, *result} : member("error", error));
      lines.push_back(write_json(to_value(std::move(row)), Layout::compact));
    } else {
      out.text += fmt::format("{}\n{}", id, result ? table_text(*result) : "  " + error + "\n");
    }
  }
  if (json) out.text = lines.empty() ? "[]\n" : fmt::format("[\n{}\n]\n", fmt::join(lines, ",\n"));
  return out;
}

Result<StatsOutput> stats_of_files(const StatsRequest& request, bool json) {
  Errors errors;
  const auto procedure = keep(find_procedure(request.test, {"TEST", 1, 1}), errors);
  std::vector<CsvColumn> columns;
  for (const std::string& path : request.files) {
    if (const auto text = keep(read_input(path), errors)) read_columns(*text, path, columns, errors);
  }
  if (request.files.empty()) errors.push_back({{"FILE", 0, 0}, "no CSV file with the numbers is given", ""});
  Value params{{}, Table{}};
  for (const std::string& text : request.set) {
    if (const auto more = keep(parse_overrides(text, {"--set", 1, 1}), errors))
      params = overlaid(params, *more);
  }
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  const auto result = stats::run(**procedure, case_of(columns, std::move(params)));
  if (!result) return tl::unexpected(result.error());
  if (json) return StatsOutput{write_json(*result) + "\n"};
  return StatsOutput{fmt::format("{}: {}\n  assumes {}\n\n{}", (*procedure)->id, (*procedure)->summary,
                                 (*procedure)->assumes, table_text(*result))};
}

}  // namespace retrygate::ci
