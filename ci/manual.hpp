// What the command line offers, as plain values. The man page and the shell completion are made from it, so
// that they cannot differ from `--help`.
#pragma once

#include <string>
#include <vector>

namespace retrygate::ci {

struct OptionEntry {
  std::vector<std::string> names;  // "--format"; of a positional argument its name, "SUITE"
  std::string text;                // what it is for
  std::vector<std::string> words;  // the only values that it takes; empty: any
  bool positional = false, takes_value = false, required = false, repeats = false;
};

struct CommandEntry {
  std::string name, text;
  std::vector<OptionEntry> options;
};

struct Manual {
  std::string text;      // one sentence
  std::string overview;  // what the command prints when it is given nothing: examples
  std::vector<OptionEntry> options;
  std::vector<CommandEntry> commands;
};

// The page retrygate(1) for man(1), in the macros of man(7). It has no date: the same program gives the same
// page.
std::string man_page(const Manual&);

// A bash script that completes commands, options, their words and everything that `list` lists.
std::string bash_completion(const Manual&);
// The same for zsh, by way of its bashcompinit: to be sourced from ~/.zshrc.
std::string zsh_completion(const Manual&);

}  // namespace retrygate::ci
