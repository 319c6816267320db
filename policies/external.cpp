#include "policies/external.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "policies/base/json.hpp"
#include "policies/retry_after.hpp"

namespace retrygate {
namespace {

constexpr int version = 1;
constexpr std::string_view protocol = "retrygate-policy";
constexpr std::array stops = {Stop::success, Stop::attempts, Stop::deadline, Stop::not_retryable,
                              Stop::budget,  Stop::breaker,  Stop::cancelled};

// A text as a JSON string, quotes included.
std::string quoted(std::string_view text) { return write_json(to_value(std::string(text)), Layout::compact); }

bool is_date(std::string_view header) {
  return !header.empty() && std::string_view("MTWFS").find(header.front()) != std::string_view::npos;
}

// The members of a question after its id.
std::string body(const Question& q) {
  const Attempt& a = q.attempt;
  std::string out = fmt::format(R"("client":{},"call":{},"attempt":{})", q.client, q.call, a.number);
  if (q.kind == Question::Kind::cancelled) out += R"(,"event":"cancel")";
  if (q.kind == Question::Kind::may_send) out += R"(,"ask":"send")";
  out += fmt::format(R"(,"started_ns":{},"now_ns":{})", a.call_started.since_start.ns(),
                     a.finished.since_start.ns());
  if (q.kind == Question::Kind::ended) {
    const Status status = a.outcome.status;
    if (status.kind() == Status::Kind::transport)
      out += fmt::format(R"(,"error":"{}")", to_string(status));
    else if (status.kind() == Status::Kind::grpc)
      out += fmt::format(R"(,"status":"{}")", to_string(status));
    else
      out += fmt::format(R"(,"status":{})", status.code());
    if (const std::string_view header = a.outcome.retry_after_text; header.data() != nullptr) {
      out += fmt::format(R"(,"retry_after":{})", quoted(header));
      if (is_date(header)) out += fmt::format(R"(,"date":{})", quoted(to_http_date(a.finished)));
    }
  }
  if (a.deadline != Instant::never()) out += fmt::format(R"(,"deadline_ns":{})", a.deadline.since_start.ns());
  return out + fmt::format(R"(,"idempotent":{})", a.idempotent);
}

const Value* find(const Table& table, std::string_view key) {
  for (const Member& m : table) {
    if (m.key == key) return &m.value;
  }
  return nullptr;
}

// A whole number; JavaScript writes large ones as 1e+21, which saturates. Nothing if it is no whole number.
std::optional<std::int64_t> whole(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value.data)) return *integer;
  const auto* number = std::get_if<double>(&value.data);
  if (number == nullptr || *number != std::floor(*number)) return std::nullopt;
  if (*number >= 0x1p63) return Duration::max().ns();
  if (*number <= -0x1p63) return Duration::min().ns();
  return static_cast<std::int64_t>(*number);
}

// Its last lines, without the newline at the end.
std::string last_lines(std::string text, std::size_t lines = 6) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  std::size_t begin = text.size();
  for (std::size_t i = 0; i < lines && begin != std::string::npos && begin > 0; ++i)
    begin = text.rfind('\n', begin - 1);
  return begin == std::string::npos || begin == 0 ? text : text.substr(begin + 1);
}

// What programs write most often that is no answer, and what to do about it.
std::string_view advice(const std::string& line) {
  if (line.find("NaN") != std::string::npos || line.find("Infinity") != std::string::npos)
    return " (JSON has neither NaN nor Infinity)";
  if (!line.starts_with('{')) return " (stdout is for answers alone: write everything else to stderr)";
  return "";
}

std::string shortened(const std::string& line) {
  constexpr std::size_t most = 300;
  return line.size() <= most ? line : fmt::format("{}... ({} bytes)", line.substr(0, most), line.size());
}

}  // namespace

tl::expected<Decision, std::string> read_answer(const std::string& line, std::int64_t id, bool may_send) {
  const auto wrong = [](std::string text) { return tl::unexpected(std::move(text)); };
  const auto document = parse_json(line, "answer");
  if (!document)
    return wrong(
        fmt::format("wrote a line that is no answer: {}{}", document.error().front().message, advice(line)));
  const auto* table = std::get_if<Table>(&document->data);
  if (table == nullptr) return wrong("wrote a line that is no JSON object");
  const Value* number = find(*table, "id");
  if (number == nullptr) return wrong("wrote a line without an \"id\"");
  const auto given = whole(*number);
  if (given && *given > 0 && *given < id) return wrong(fmt::format("answered question {} twice", *given));
  if (given != id) return wrong(fmt::format("answered with the wrong id where {} is due", id));
  const Value* wait = find(*table, "wait_ns");
  const Value* stop = find(*table, "stop");
  const Value* send = may_send ? find(*table, "send") : nullptr;
  if ((wait != nullptr) + (stop != nullptr) + (send != nullptr) != 1)
    return wrong(may_send ? "must answer with one of \"send\", \"wait_ns\" and \"stop\""
                          : "must answer with either \"wait_ns\" or \"stop\"");
  if (send != nullptr) {
    const auto* flag = std::get_if<bool>(&send->data);
    if (flag == nullptr || !*flag) return wrong("may answer \"send\" with true alone");
    return Decision::wait({});
  }
  if (wait != nullptr) {
    const auto ns = whole(*wait);
    if (!ns) return wrong("must give \"wait_ns\" as a whole number of nanoseconds");
    return Decision::wait(Duration::ns(*ns));
  }
  const auto* word = std::get_if<std::string>(&stop->data);
  for (const Stop why : stops) {
    if (word != nullptr && *word == to_string(why)) return Decision::stop(why);
  }
  return wrong(
      "must give \"stop\" as one of success, attempts, deadline, not-retryable, budget, breaker, cancelled");
}

tl::expected<Introduction, std::string> read_greeting(const std::string& line) {
  const auto document = parse_json(line, "greeting");
  const auto* table = document ? std::get_if<Table>(&document->data) : nullptr;
  if (table == nullptr)
    return tl::unexpected(std::string("answered the greeting with a line that is no JSON object"));
  const Value* spoken = find(*table, protocol);
  if (spoken == nullptr || whole(*spoken) != version)
    return tl::unexpected(fmt::format("does not say \"{}\":{} in answer to the greeting", protocol, version));
  Errors complaints;
  Reader reader(*document, complaints);
  Introduction said;
  said.name = reader.text("name").value_or("");
  said.seeded = reader.flag("seeded").value_or(true);
  said.jumps = reader.flag("jumps").value_or(false);
  for (const std::string& word : reader.texts("can")) {
    said.can_before = said.can_before || word == "before";
    said.can_cancel = said.can_cancel || word == "cancel";
  }
  if (!complaints.empty())
    return tl::unexpected(fmt::format("greets with a mistake: {}", complaints.front().message));
  return said;
}

std::string to_string(const ProtocolFault& fault) {
  std::string text = fault.what;
  if (!fault.question.empty()) text += fmt::format("\nit was told: {}", shortened(fault.question));
  if (!fault.answer.empty()) text += fmt::format("\nit wrote:    {}", shortened(fault.answer));
  if (!fault.said.empty()) text += fmt::format("\nits stderr:  {}", fault.said);
  return text;
}

ProtocolFault ExternalProgram::told(std::string what, std::string question, std::string answer) {
  if (!question.empty() && question.back() == '\n') question.pop_back();
  return {"the program " + std::move(what), std::move(question), std::move(answer),
          last_lines(process_.stderr_tail()), false};
}

tl::expected<ExternalProgram, ProtocolFault> ExternalProgram::launch(const std::string& command, Seed seed,
                                                                     const Value* contract,
                                                                     ProcessLimits limits) {
  auto process = Process::start(command, limits);
  if (!process) return tl::unexpected(ProtocolFault{process.error().front().message, {}, {}, {}, false});
  // The seed is a text: it has 64 bits, and JSON numbers of many languages have 53.
  const std::string hello =
      fmt::format("{{\"{}\":{},\"seed\":\"{}\",\"contract\":{}}}\n", protocol, version, seed.value,
                  contract != nullptr ? write_json(*contract, Layout::compact) : "{}");
  process->exchange(hello, 0);
  return ExternalProgram(std::move(*process), hello);
}

std::optional<ProtocolFault> ExternalProgram::greet() {
  const Process::Heard heard = process_.exchange({}, 1);
  const auto fail = [&](std::string what, std::string answer = {}) {
    return fault_ = told(std::move(what), hello_, std::move(answer));
  };
  if (heard.lapse) {
    const bool late = heard.lapse->kind == Lapse::Kind::late;
    fail(fmt::format("{} when it was greeted{}", heard.lapse->what,
                     late ? " (does it flush its output after each line?)" : ""));
    fault_->late = late;
    return fault_;
  }
  const std::string& line = heard.lines.front();
  auto said = read_greeting(line);
  if (!said) return fail(std::move(said.error()), line);
  introduction_ = std::move(*said);
  return std::nullopt;
}

tl::expected<ExternalProgram, ProtocolFault> ExternalProgram::start(const std::string& command, Seed seed,
                                                                    const Value* contract,
                                                                    ProcessLimits limits) {
  auto program = launch(command, seed, contract, limits);
  if (!program) return program;
  if (auto fault = program->greet()) return tl::unexpected(std::move(*fault));
  return program;
}

std::vector<Decision> ExternalProgram::ask(std::span<const Question> questions) {
  std::vector<Decision> decisions;
  if (fault_ || questions.empty()) return decisions;
  std::string text;
  std::vector<std::size_t> begins;
  for (const Question& q : questions) {
    begins.push_back(text.size());
    text += fmt::format("{{\"id\":{},{}}}\n", ++last_id_, body(q));
  }
  const auto line_of = [&](std::size_t i) {
    return text.substr(begins[i], text.find('\n', begins[i]) - begins[i]);
  };
  const std::int64_t first_id = last_id_ - static_cast<std::int64_t>(questions.size()) + 1;
  const Process::Heard heard = process_.exchange(text, questions.size());
  decisions.reserve(questions.size());
  for (std::size_t i = 0; i < heard.lines.size(); ++i) {
    auto answer = read_answer(heard.lines[i], first_id + static_cast<std::int64_t>(i),
                              questions[i].kind == Question::Kind::may_send);
    if (!answer) {
      fault_ = told(std::move(answer.error()), line_of(i), heard.lines[i]);
      return decisions;
    }
    decisions.push_back(*answer);
  }
  if (heard.lapse) {
    const std::size_t next = std::min(decisions.size(), questions.size() - 1);
    const bool late = heard.lapse->kind == Lapse::Kind::late;
    const std::size_t unanswered = questions.size() - next;
    fault_ = told(
        heard.lapse->what + (late ? " (does it flush its output?)" : "") +
            (unanswered > 1 ? fmt::format("; of {} lines without an answer this is the first", unanswered)
                            : ""),
        line_of(next));
    fault_->late = late;
  }
  return decisions;
}

std::optional<ProtocolFault> ExternalProgram::finish() {
  if (fault_) return fault_;
  const Process::Heard rest = process_.finish();
  if (!rest.lines.empty())
    fault_ = told(rest.lines.front().find("\"id\"") != std::string::npos
                      ? "answered more than it was asked: a question was answered twice"
                      : "wrote a line that nobody asked for",
                  {}, rest.lines.front());
  else if (rest.lapse)
    fault_ = told(fmt::format("{} after its input had ended", rest.lapse->what));
  return fault_;
}

}  // namespace retrygate
