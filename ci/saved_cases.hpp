// Cases that failed, kept in a file of the user: the next check tries them first.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "policies/base/error.hpp"
#include "properties/token.hpp"

namespace retrygate::ci {

// {"schema":"retrygate.cases/1","cases":{SUBJECT:{INVARIANT:TOKEN}}}
class SavedCases {
 public:
  // No file: no cases. What cannot be read, or is none of ours: the error, and the file is left alone.
  static Result<SavedCases> read(const std::string& path);

  // Of this subject; what another version wrote in another form is passed over.
  std::vector<Token> of(const std::string& subject) const;

  // To be written by `write`. Of an invariant the newest case stays.
  void keep(const std::string& subject, const Token&);
  void drop(const std::string& subject, const std::string& invariant);

  // Lays what was kept and dropped over what the file holds by now, so that nothing of another run is lost:
  // one writer at a time, all or nothing. Makes the file's folder; does nothing when nothing changed.
  Result<void> write(const std::string& path) const;

 private:
  using Tokens = std::map<std::string, std::string>;  // by invariant
  std::map<std::string, Tokens> cases_;               // by subject
  std::map<std::string, Tokens> changes_;             // an empty token: to be dropped
};

}  // namespace retrygate::ci
