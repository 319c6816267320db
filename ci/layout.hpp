// Text for a terminal: lines of at most 80 columns (bytes).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace retrygate::ci {

inline constexpr std::size_t columns = 80;

// What users wrote as a terminal, a browser or a parser of XML may have it: control characters, those that
// reorder a line included, bytes that are no UTF-8 and Unicode's noncharacters become U+FFFD, save the characters
// of `kept`.
std::string clean(std::string_view text, std::string_view kept = {});

// The words of a text in lines of at most `first` and then `rest` bytes; a longer word is cut between
// characters.
std::vector<std::string> broken(std::string_view text, std::size_t first, std::size_t rest);

// `first` and then the words of `text`; lines after the first are indented by `indent`. A word wider than a
// line is cut. Ends with a newline. The text is cleaned, here and below; a line break is a space.
std::string wrapped(const std::string& first, std::string_view text, std::size_t indent);
std::string wrapped(std::string_view text, std::size_t indent);

// The lines with what a CI server would obey escaped (`inert`); one that is wider for that is wrapped at its
// own indentation.
std::string inert_lines(std::string_view text);

// A command over several lines only as a shell reads it: cut at spaces outside of quotes, with a backslash.
std::string command_lines(const std::string& first, std::string_view command, std::size_t indent);

// The longest beginning of at most `most` bytes that ends with a whole character of UTF-8.
std::string_view beginning(std::string_view text, std::size_t most);

// At most `most` bytes, cut in the middle, between characters.
std::string shortened(const std::string& text, std::size_t most);

}  // namespace retrygate::ci
