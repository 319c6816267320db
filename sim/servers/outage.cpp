// Outages: windows of time in which every request fails. Given, periodic, Poisson, or read from a log.
#include <fstream>

#include "sim/servers.hpp"

namespace retrygate {
namespace {

struct Window {
  Duration start, end;  // half-open
};

struct Windows {
  std::vector<Window> given;
  Duration every;        // periodic: the first window repeats; 0 is not periodic
  Duration gap;          // Poisson: mean from start to start, exponential; 0 is none
  Duration least, most;  // of the Poisson outages' uniform length
  Refusal refusal;
  bool hang = false;  // the request is never answered
};

class Outage : public Stage {
 public:
  Outage(const Windows& w, const World& world) : refusal_(w.refusal), hang_(w.hang) {
    std::vector<Window> all = w.given;
    if (w.every > Duration{} && !w.given.empty()) {
      const Window first = w.given.front();
      for (Duration shift = w.every; first.start + shift < world.horizon; shift += w.every)
        all.push_back({first.start + shift, first.end + shift});
    }
    if (w.gap > Duration{}) {
      const StreamKey key = world.key(Stream::faults);
      Duration start;
      for (std::uint64_t number = 0;; ++number) {
        Rng rng = key.at(0, number);
        // At least 1 ns, so that a tiny mean gap cannot hold time still.
        start += std::max(Duration::ns(1), rng.exponential(w.gap));
        if (start >= world.horizon) break;
        all.push_back({start, start + rng.between(w.least, w.most)});
      }
    }
    std::sort(all.begin(), all.end(), [](const Window& a, const Window& b) { return a.start < b.start; });
    for (const Window& one : all) {  // their union
      if (one.end <= one.start) continue;
      if (!windows_.empty() && one.start <= windows_.back().end)
        windows_.back().end = std::max(windows_.back().end, one.end);
      else
        windows_.push_back(one);
    }
    advance(Duration::min());
  }

  Step arrive(Request& request, Agenda&) override {
    const Duration now = request.at.since_start;
    if (now >= window_.end) advance(now);
    if (now < window_.start) return Step::pass;
    if (hang_) request.at = Instant::never();
    return refusal_.answer(request);
  }
  Instant refuses_until(Instant now) const override {
    const bool inside = window_.start <= now.since_start && now.since_start < window_.end;
    return inside && !hang_ ? Instant{window_.end} : now;
  }
  std::optional<Instant> last_fault_end() const override {
    if (windows_.empty()) return std::nullopt;
    return Instant{windows_.back().end};
  }

 private:
  void advance(Duration now) {
    while (next_ < windows_.size() && windows_[next_].end <= now) ++next_;
    window_ = next_ < windows_.size() ? windows_[next_] : Window{Duration::max(), Duration::max()};
  }

  std::vector<Window> windows_;  // disjoint, in order
  std::size_t next_ = 0;         // the first that has not ended
  Window window_;                // that one; at the end of time when there is none
  Refusal refusal_;
  bool hang_;
};

// A log of outages: one window a line, start and end with units ("12s,13.5s"), a header line is skipped.
void read_log(Reader& table, const std::string& path, std::vector<Window>& windows) {
  std::ifstream in(path);
  if (!in) return table.fail("file", fmt::format("cannot read '{}'", path), "a CSV file of start,end");
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    const std::size_t comma = line.find(',');
    if (line.empty() || (number == 1 && line.find_first_of("0123456789") == std::string::npos)) continue;
    const auto start = parse_duration(line.substr(0, comma), {path, number, 1});
    const auto end =
        comma == std::string::npos
            ? Result<Duration>(failure({path, number, 1}, "a line needs start,end"))
            : parse_duration(line.substr(comma + 1), {path, number, static_cast<int>(comma) + 2});
    if (!start) keep(start, table.complaints());
    if (!end) keep(end, table.complaints());
    if (start && end) windows.push_back({*start, *end});
  }
}

Windows read_windows(Reader& table) {
  Windows w;
  if (const auto path = table.text("file")) read_log(table, *path, w.given);
  const Duration start = table.duration("start").value_or(Duration{});
  if (const auto length = table.duration("length")) w.given.push_back({start, start + *length});
  w.every = table.duration("every").value_or(Duration{});
  if (w.every > Duration{} && w.given.size() != 1)
    table.fail("every", "'every' repeats one window", "give its 'start' and 'length'");
  w.gap = table.duration("gap").value_or(Duration{});
  w.least = table.duration("min").value_or(Duration{});
  w.most = table.duration("max").value_or(w.least);
  if (w.least > w.most) table.fail("max", "'max' is below 'min'");
  w.hang = table.flag("hang").value_or(false);
  w.refusal = read_refusal(table, 503);
  return w;
}

}  // namespace

void add_outage(Shelf<ServerKind>& shelf) {
  shelf.add({"outage",
             "fails everything in windows: `start`+`length` (repeated `every`), Poisson (`gap`, `min`, "
             "`max`), or a "
             "CSV `file` of start,end; answers `answer` (503), or never with `hang = true`",
             [](Reader& table) {
               const Windows w = read_windows(table);
               StageSpec spec;
               spec.random = w.gap > Duration{};
               spec.make = [w](const World& world) { return std::make_unique<Outage>(w, world); };
               return spec;
             }});
}

}  // namespace retrygate
