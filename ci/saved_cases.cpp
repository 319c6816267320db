#include "ci/saved_cases.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "ci/json_io.hpp"
#include "policies/base/json.hpp"

namespace retrygate::ci {
namespace {

constexpr std::string_view cases_schema = "retrygate.cases/1";

const Value* member_of(const Value& value, std::string_view key) {
  const auto* table = std::get_if<Table>(&value.data);
  if (table == nullptr) return nullptr;
  for (const Member& m : *table) {
    if (m.key == key) return &m.value;
  }
  return nullptr;
}

// Held by one process at a time; given back when it ends, however it ends.
class Lock {
 public:
  static Result<Lock> take(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    int done = -1;
    while (file >= 0 && (done = ::flock(file, LOCK_EX)) != 0 && errno == EINTR) continue;
    if (done == 0) return Lock(file);
    const std::string why = std::strerror(errno);
    if (file >= 0) ::close(file);
    return failure({path, 0, 0}, "cannot lock this file: " + why);
  }
  Lock(Lock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  Lock& operator=(Lock&&) = delete;
  ~Lock() {
    if (file_ >= 0) ::close(file_);
  }

 private:
  explicit Lock(int file) : file_(file) {}
  int file_;
};

}  // namespace

Result<SavedCases> SavedCases::read(const std::string& path) {
  SavedCases saved;
  std::error_code fault;
  if (!std::filesystem::exists(path, fault) && !fault) return saved;
  const auto text = read_file(path);
  if (!text) return tl::unexpected(text.error());
  const auto document = parse_json(*text, path);
  if (!document) return tl::unexpected(document.error());
  const Value* named = member_of(*document, "schema");
  const Value* cases = member_of(*document, "cases");
  const auto* name = named == nullptr ? nullptr : std::get_if<std::string>(&named->data);
  const auto* subjects = cases == nullptr ? nullptr : std::get_if<Table>(&cases->data);
  if (name == nullptr || *name != cases_schema || subjects == nullptr)
    return failure({path, 1, 1}, "this file holds no saved cases", "remove it, or give --no-save");
  for (const Member& subject : *subjects) {
    const auto* tokens = std::get_if<Table>(&subject.value.data);
    if (tokens == nullptr) continue;
    for (const Member& one : *tokens) {
      if (const auto* token = std::get_if<std::string>(&one.value.data))
        saved.cases_[subject.key][one.key] = *token;
    }
  }
  return saved;
}

std::vector<Token> SavedCases::of(const std::string& subject) const {
  std::vector<Token> tokens;
  if (const auto found = cases_.find(subject); found != cases_.end()) {
    for (const auto& [invariant, text] : found->second) {
      if (auto token = read_token(text, subject, {})) tokens.push_back(std::move(*token));
    }
  }
  return tokens;
}

void SavedCases::keep(const std::string& subject, const Token& token) {
  changes_[subject][token.invariant] = to_string(token);
}

void SavedCases::drop(const std::string& subject, const std::string& invariant) {
  changes_[subject][invariant] = "";
}

Result<void> SavedCases::write(const std::string& path) const {
  if (changes_.empty()) return {};
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code fault;
  if (!folder.empty()) std::filesystem::create_directories(folder, fault);
  const auto lock = Lock::take(path + ".lock");
  if (!lock) return tl::unexpected(lock.error());
  auto now = read(path);
  if (!now) return tl::unexpected(now.error());
  const auto before = now->cases_;
  for (const auto& [subject, tokens] : changes_) {
    for (const auto& [invariant, token] : tokens) {
      if (token.empty())
        now->cases_[subject].erase(invariant);
      else
        now->cases_[subject][invariant] = token;
    }
  }
  if (now->cases_ == before) return {};
  Table subjects;
  for (const auto& [subject, tokens] : now->cases_) {
    Table one;
    for (const auto& [invariant, token] : tokens) one.push_back(member(invariant, token));
    if (!one.empty()) subjects.push_back(member(subject, std::move(one)));
  }
  const Value document =
      to_value(Table{member("schema", std::string(cases_schema)), member("cases", subjects)});
  return write_file(path, write_json(document) + "\n");
}

}  // namespace retrygate::ci
