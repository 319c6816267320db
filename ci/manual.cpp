#include "ci/manual.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ci/catalogue.hpp"
#include "ci/version.hpp"

namespace retrygate::ci {
namespace {

// A backslash begins an escape; a plain "-" would be printed as a hyphen that nobody can copy.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out;
}

// A line of text. A dot or an apostrophe at its beginning would be a request.
std::string roff_line(std::string_view text) {
  return (text.starts_with('.') || text.starts_with('\'') ? "\\&" : "") + roff(text) + "\n";
}

// "[--format WORD]", "SUITE", "[FILE ...]"
std::string synopsis(const OptionEntry& option) {
  std::string text = fmt::format("\\fB{}\\fR", roff(option.names.front()));
  if (option.positional) text = fmt::format("\\fI{}\\fR", roff(option.names.front()));
  if (option.takes_value && !option.positional) text += " \\fIVALUE\\fR";
  if (option.repeats) text += " ...";
  return option.required ? text : "[" + text + "]";
}

std::string described(const OptionEntry& option) {
  std::string head;
  for (const std::string& name : option.names)
    head += fmt::format("{}\\f{}{}\\fR", head.empty() ? "" : ", ", option.positional ? 'I' : 'B', roff(name));
  if (option.takes_value && !option.positional) head += " \\fIVALUE\\fR";
  std::string text = ".TP\n" + head + "\n" + roff_line(option.text);
  // Most texts already name the words.
  bool named = true;
  for (const std::string& word : option.words) named = named && option.text.find(word) != std::string::npos;
  if (!named) text += roff_line(fmt::format("One of: {}.", fmt::join(option.words, ", ")));
  return text;
}

std::string described(const CommandEntry& command) {
  std::string text = fmt::format(".SS {}\n{}.PP\n\\fBretrygate {}\\fR", roff(command.name),
                                 roff_line(command.text), roff(command.name));
  // --help is everywhere, and said once.
  const auto own = [](const OptionEntry& option) { return option.names.back() != "--help"; };
  for (const OptionEntry& option : command.options) text += own(option) ? " " + synopsis(option) : "";
  text += "\n";
  for (const OptionEntry& option : command.options) text += own(option) ? described(option) : "";
  return text;
}

std::string exit_codes() {
  std::string text;
  for (const char* code : {"0", "1", "2", "3", "4"}) {
    const std::string page = explanation(code).value();  // a title, an empty line, lines
    text += fmt::format(".TP\n\\fB{}\\fR\n", code);
    std::string_view rest = std::string_view(page).substr(page.find("\n\n") + 2);
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      text += roff_line(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return text;
}

}  // namespace

std::string man_page(const Manual& manual) {
  std::string text = fmt::format(
      ".TH RETRYGATE 1 \"\" \"retrygate {}\" \"User Commands\"\n.nh\n.ad l\n.SH NAME\nretrygate \\- {}"
      ".SH SYNOPSIS\n\\fBretrygate\\fR \\fICOMMAND\\fR [\\fIARGUMENTS\\fR]\n",
      roff(version()), roff_line(manual.text));
  text += ".SH DESCRIPTION\n";
  for (std::string_view rest = manual.overview; !rest.empty();) {
    const std::size_t end = std::min(rest.find("\n\n"), rest.size());
    const std::string_view part = rest.substr(0, end);
    const bool commands = part.starts_with("  ");
    text += commands ? ".PP\n.nf\n" : ".PP\n";
    for (std::string_view left = part; !left.empty();) {
      const std::size_t line = std::min(left.find('\n'), left.size());
      text += roff_line(left.substr(0, line));
      left.remove_prefix(std::min(line + 1, left.size()));
    }
    if (commands) text += ".fi\n";
    rest.remove_prefix(std::min(end + 2, rest.size()));
  }
  text += ".SH OPTIONS\n";
  for (const OptionEntry& option : manual.options) text += described(option);
  text += ".SH COMMANDS\n";
  for (const CommandEntry& command : manual.commands) text += described(command);
  text += ".SH EXIT STATUS\n" + exit_codes();
  text +=
      ".SH ENVIRONMENT\n.TP\n\\fBNO_COLOR\\fR\nWhen it is set and not empty, reports on a terminal have no "
      "colour unless \\fB\\-\\-color always\\fR asks for it.\n";
  return text;
}

}  // namespace retrygate::ci
