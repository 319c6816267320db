#include "policies/base/yaml.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <charconv>
#include <cmath>
#include <sstream>

namespace retrygate {
namespace {

constexpr int deepest_node = 64;
// An alias may stand for another one ten times over, nine times in a row.
constexpr int values_most = 1'000'000;

// A plain scalar by YAML 1.2's core schema.
decltype(Value::data) plain(const std::string& text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return nullptr;
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  const char* begin = text.data() + (text.front() == '+' ? 1 : 0);
  const char* end = text.data() + text.size();
  std::int64_t whole = 0;
  if (const auto [at, fault] = std::from_chars(begin, end, whole); fault == std::errc{} && at == end)
    return whole;
  double number = 0;
  if (const auto [at, fault] = std::from_chars(begin, end, number);
      fault == std::errc{} && at == end && std::isfinite(number))
    return number;
  return text;
}

class NodeReader {
 public:
  explicit NodeReader(const std::string& source) : source_(source) {}

  // Nothing after a fault.
  std::optional<Value> build(const YAML::Node& node, int depth = 0) {
    Value value{where(node), nullptr};
    if (++values_ > values_most) return fail(node, fmt::format("more than {} values", values_most));
    if (depth > deepest_node) return fail(node, fmt::format("nested deeper than {}", deepest_node));
    if (node.IsScalar()) {
      value.data = node.Tag() == "!" ? decltype(Value::data)(node.Scalar()) : plain(node.Scalar());
    } else if (node.IsSequence()) {
      Array items;
      for (const YAML::Node& item : node) {
        auto built = build(item, depth + 1);
        if (!built) return std::nullopt;
        items.push_back(std::move(*built));
      }
      value.data = std::move(items);
    } else if (node.IsMap()) {
      Table members;
      for (const auto& pair : node) {
        if (!pair.first.IsScalar()) return fail(pair.first, "a key must be a text");
        for (const Member& m : members) {
          if (m.key == pair.first.Scalar())
            return fail(pair.first, fmt::format("'{}' is given twice", pair.first.Scalar()));
        }
        auto built = build(pair.second, depth + 1);
        if (!built) return std::nullopt;
        members.push_back({pair.first.Scalar(), where(pair.first), std::move(*built)});
      }
      // A block of keys begins with its first one; yaml-cpp does not say so.
      if (node.Style() == YAML::EmitterStyle::Block && !members.empty()) value.where = members.front().where;
      value.data = std::move(members);
    }
    return value;
  }
  Errors take_errors() { return std::move(errors_); }

 private:
  Where where(const YAML::Node& node) const {
    return {source_, node.Mark().line + 1, node.Mark().column + 1};
  }
  std::optional<Value> fail(const YAML::Node& node, std::string message) {
    errors_.push_back({where(node), std::move(message), ""});
    return std::nullopt;
  }

  const std::string& source_;
  Errors errors_;
  int values_ = 0;
};

// yaml-cpp 0.7 takes a mark that belongs to nothing, the comma of "{},", for the beginning of a document, and
// does not read on: it would make empty documents until memory ends. Throws where a document begins where the
// last one did.
class Advances : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (mark.pos <= last_) throw YAML::ParserException(mark, "nothing may stand here");
    last_ = mark.pos;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
  }
  void OnMapEnd() override {}

 private:
  int last_ = -1;  // bytes from the beginning
};

}  // namespace

Result<std::vector<Value>> parse_yaml(std::string_view text, const std::string& source) {
  std::vector<Value> documents;
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    for (Advances handler; parser.HandleNextDocument(handler);) {
    }
    for (const YAML::Node& node : YAML::LoadAll(std::string(text))) {
      NodeReader builder(source);
      auto value = builder.build(node);
      if (!value) return tl::unexpected(builder.take_errors());
      documents.push_back(std::move(*value));
    }
  } catch (const YAML::Exception& fault) {
    return failure({source, fault.mark.line + 1, fault.mark.column + 1},
                   fmt::format("this is no YAML: {}", fault.msg));
  }
  return documents;
}

}  // namespace retrygate
