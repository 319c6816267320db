#include "sim/server.hpp"

#include <fmt/format.h>

namespace retrygate {
namespace {

// One form for one meaning: keys sorted, values as they are written.
std::string text_of(const Value& value) {
  struct Printer {
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(std::int64_t n) const { return fmt::format("{}", n); }
    std::string operator()(double x) const { return fmt::format("{}", x); }
    std::string operator()(const std::string& s) const { return fmt::format("\"{}\"", s); }
    std::string operator()(const Array& items) const {
      std::vector<std::string> texts;
      for (const Value& item : items) texts.push_back(text_of(item));
      return fmt::format("[{}]", fmt::join(texts, ", "));
    }
    std::string operator()(const Table& table) const {
      std::vector<std::string> texts;
      for (const Member& member : table) texts.push_back(member.key + " = " + text_of(member.value));
      std::sort(texts.begin(), texts.end());
      return fmt::format("{{{}}}", fmt::join(texts, ", "));
    }
  };
  return std::visit(Printer{}, value.data);
}

}  // namespace

std::vector<StageSpec> read_stages(Reader& table) {
  std::vector<StageSpec> all;
  const Value* list = table.any("stages");
  std::size_t i = 0;
  for (Reader& stage : table.tables("stages")) {
    const Value& value = std::get<Array>(list->data)[i++];
    const auto kind = stage.text("kind");
    const ServerKind* family = kind ? servers().find(*kind) : nullptr;
    if (family == nullptr) {
      const std::vector<std::string_view> known = servers().ids();
      if (!kind)
        stage.fail("kind", "a stage needs a 'kind'", fmt::format("one of: {}", fmt::join(known, ", ")));
      else
        stage.fail("kind", fmt::format("no stage '{}'{}", *kind, did_you_mean(*kind, known)),
                   fmt::format("one of: {}", fmt::join(known, ", ")));
      continue;
    }
    StageSpec spec = family->read(stage);
    stage.finish();
    spec.kind = *kind;
    spec.text = text_of(value);
    all.push_back(std::move(spec));
  }
  return all;
}

Chain::Chain(const std::vector<StageSpec>& specs, const World& world, Stage* owner) : owner_(owner) {
  World own = world;
  for (std::uint32_t i = 0; i < specs.size(); ++i) {
    // The stages inside stage n of a chain are numbered from 256 (n + 1) on.
    own.number = owner == nullptr ? i : 256 * (world.number + 1) + i;
    stages_.push_back(specs[i].make(own));
    const Stage& stage = *stages_.back();
    if (stage.counts()) counting_.push_back(i);
    if (!counting_.empty()) first_counting_ = counting_.front();
    hops_ = hops_ || stage.is_hop();
    suspends_ = suspends_ || stage.holds() || (stage.delays() && i + 1 < specs.size());
  }
}

std::optional<Instant> Chain::last_fault_end() const {
  std::optional<Instant> last;
  for (const auto& stage : stages_) {
    if (const auto end = stage->last_fault_end()) last = std::max(last.value_or(*end), *end);
  }
  return last;
}

void Chain::tell_counting(const Request& request, std::uint32_t passed, Instant now) {
  for (const std::uint32_t i : counting_) {
    if (i >= passed) break;
    stages_[i]->leave(request, now);
  }
}

Step Chain::later(Request& request, Agenda& agenda) {
  agenda.go_on(agenda.hold(request));
  return Step::hold;
}

void Agenda::start() {
  now_ = {};
  due_ = never;
  pushed_ = 0;
  inner_requests_ = 0;
  wasted_ = {};
  stuck_.reset();
  events_.clear();
  held_.clear();
  free_.clear();
  done_.clear();
}

std::uint32_t Agenda::hold(const Request& request) {
  if (free_.empty()) {
    held_.push_back(request);
    return static_cast<std::uint32_t>(held_.size() - 1);
  }
  const std::uint32_t ticket = free_.back();
  free_.pop_back();
  held_[ticket] = request;
  return ticket;
}

void Agenda::release(std::uint32_t ticket, Step step) {
  Request request = held_[ticket];
  if (step == Step::pass && !request.chain->last(request.stage)) return go_on(ticket);
  free_.push_back(ticket);
  if (step == Step::answer)
    request.chain->answered(request, now_);
  else
    step = request.chain->go(request, request.stage + 1, *this);
  if (step == Step::answer) finished(request);
}

void Agenda::handle_next() {
  const Event e = events_.front();
  events_.pop();
  now_ = {Duration::ns(e.order.time)};
  if (e.stage != nullptr) return e.stage->wake(e.token, *this);
  Request request = held_[e.token];
  free_.push_back(e.token);
  if (request.chain->go(request, request.stage + 1, *this) == Step::answer) finished(request);
}

void Agenda::finished(Request& request) {
  if (Stage* owner = request.chain->owner())
    owner->finished(request, *this);
  else
    done_.push_back(request);
}

}  // namespace retrygate
