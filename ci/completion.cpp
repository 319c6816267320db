// Shell completion (ci/manual.hpp): one case per command and option, with the words that fit there.
#include <fmt/format.h>

#include "ci/catalogue.hpp"
#include "ci/manual.hpp"
#include "ci/reproduce.hpp"

namespace retrygate::ci {
namespace {

// The arguments that name something `list` knows; the same word means the same in every command but one: the
// baseline of `gate` is a file.
struct Named {
  std::string_view argument, kind;
};
constexpr Named named_arguments[] = {
    {"P", "policies"},           {"SUBJECT", "policies"},    {"--policy", "policies"},
    {"--candidate", "policies"}, {"--baseline", "policies"}, {"--scenario", "scenarios"},
    {"--metric", "metrics"},     {"--only", "invariants"},   {"TEST", "tests"},
    {"SUITE", "suites"},
};

std::string quoted(const std::vector<std::string>& words) {
  return fmt::format("'{}'", fmt::join(words, " "));
}

// As the shell reads it: a list of words, or a variable that holds one. Empty when there are none.
std::string words_for(const CommandEntry& command, const OptionEntry& option) {
  if (!option.words.empty()) return quoted(option.words);
  const std::string& name = option.names.back();
  if (command.name == "explain" && option.positional) {
    const auto ids = explained();
    return quoted({ids.begin(), ids.end()});
  }
  if (command.name == "reproduce" && option.positional)
    return fmt::format("'all {}'", fmt::join(experiments(), " "));
  if (command.name == "gate" && name == "--baseline") return {};
  for (const Named& one : named_arguments) {
    if (one.argument == name) return fmt::format("\"${}\"", one.kind);
  }
  return {};
}

}  // namespace

std::string bash_completion(const Manual& manual) {
  std::vector<std::string> first;
  for (const CommandEntry& command : manual.commands) first.push_back(command.name);
  for (const OptionEntry& option : manual.options)
    first.insert(first.end(), option.names.begin(), option.names.end());

  std::string lists, values, commands;
  for (const std::string_view kind : {"policies", "scenarios", "invariants", "tests", "metrics", "suites"}) {
    std::vector<std::string> ids;
    for (const ListRow& row : list_of(kind)) ids.push_back(row.id);
    lists += fmt::format("  local {}={}\n", kind, quoted(ids));
  }
  for (const CommandEntry& command : manual.commands) {
    std::vector<std::string> options;
    std::string argument;
    for (const OptionEntry& option : command.options) {
      const std::string words = words_for(command, option);
      if (option.positional) {
        if (argument.empty()) argument = words;
        continue;
      }
      for (const std::string& name : option.names) {
        options.push_back(name);
        if (option.takes_value)
          values += fmt::format("    '{} {}') words={} ;;\n", command.name, name, words);
      }
    }
    commands += fmt::format("      '{} -') words={} ;;\n      '{} ') words={} ;;\n", command.name,
                            quoted(options), command.name, argument);
  }
  // Where no word fits, `-o default` completes file names.
  return fmt::format(
      R"(# Completion of retrygate for bash; made by `retrygate completion bash`.
_retrygate() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}} words='' dash=''
{}  # bash takes --format=json for three words.
  if [[ $current == '=' ]]; then
    current=''
  elif [[ $previous == '=' ]]; then
    previous=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  if [[ $current == -* ]]; then dash='-'; fi
  if [[ $COMP_CWORD -eq 1 ]]; then
    words={}
  else
    case "${{COMP_WORDS[1]}} $previous" in
{}    *)
      case "${{COMP_WORDS[1]}} $dash" in
{}      esac
      ;;
    esac
  fi
  # The words hold no spaces, and zsh knows no mapfile.
  # shellcheck disable=SC2207
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _retrygate retrygate
)",
      lists, quoted(first), values, commands);
}

std::string zsh_completion(const Manual& manual) {
  return "# For ~/.zshrc: source <(retrygate completion zsh)\nautoload -Uz +X compinit && compinit\n"
         "autoload -Uz +X bashcompinit && bashcompinit\n" +
         bash_completion(manual);
}

}  // namespace retrygate::ci
