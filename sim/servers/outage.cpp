// Outages: windows of time in which every request fails. Given, periodic, Poisson, or read from a log.
#include "policies/base/hash.hpp"
#include "policies/trace.hpp"
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

  bool poisson() const { return gap > Duration{}; }
  bool any() const {
    return poisson() ||
           std::any_of(given.begin(), given.end(), [](const Window& one) { return one.start < one.end; });
  }
};

class Outage : public Stage {
 public:
  Outage(const Windows& w, const World& world) : refusal_(w.refusal), hang_(w.hang), poisson_(w.poisson()) {
    std::vector<Window> all = w.given;
    if (w.every > Duration{} && !w.given.empty()) {
      const Window first = w.given.front();
      for (Duration shift = w.every; first.start + shift < world.horizon; shift += w.every)
        all.push_back({first.start + shift, first.end + shift});
    }
    if (w.poisson()) {
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
    if (windows_.empty()) return poisson_ ? std::optional(Instant{}) : std::nullopt;
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
  bool hang_, poisson_;
};

std::vector<Window> read_log(Reader& table, const std::string& path) {
  std::vector<Window> windows;
  const auto text = keep(read_file(path), table.complaints());
  if (!text) return windows;
  for (const LoggedOutage& one :
       keep(parse_outages(*text, path), table.complaints()).value_or(std::vector<LoggedOutage>{})) {
    if (!one.start) {
      table.fail({path, 1, 1}, "this log has lengths, but not when the outages began",
                 "a stage needs the columns start and end, or start and length");
      break;
    }
    windows.push_back({*one.start, *one.start + one.length});
  }
  return windows;
}

std::string contents_of(const std::vector<Window>& windows) {
  std::uint64_t hash = fnv1a("windows");
  for (const Window& one : windows) hash = fnv1a(fmt::format("{} {},", one.start.ns(), one.end.ns()), hash);
  return fmt::format("{} windows, {:016x}", windows.size(), hash);
}

Windows read_windows(Reader& table) {
  Windows w;
  if (const auto path = table.text("file"))
    w.given = read_log(table, path_beside(table.where("file"), *path));
  const Duration start = table.duration("start").value_or(Duration{});
  if (const auto length = table.duration("length")) w.given.push_back({start, start + *length});
  w.every = table.duration("every").value_or(Duration{});
  if (w.every > Duration{} && w.given.size() != 1)
    table.fail("every", "'every' repeats one window", "give its 'start' and 'length'");
  w.gap = table.duration("gap").value_or(Duration{});
  w.least = table.duration("min").value_or(Duration{});
  w.most = table.duration("max").value_or(w.least);
  if (!table.has("length") && !table.has("file") && !table.has("gap"))
    table.fail("length", "an outage needs to be some time",
               "'start' and 'length', 'gap' and 'max', or a CSV 'file'");
  if (table.has("start") && !table.has("length")) table.fail("start", "'start' needs a 'length'");
  if (table.has("gap") && !table.has("max") && !table.has("min"))
    table.fail("gap", "'gap' needs a 'max'", "outages take from 'min' (0) to 'max'");
  for (const char* key : {"min", "max"}) {
    if (table.has(key) && !table.has("gap")) table.fail(key, fmt::format("'{}' belongs to a 'gap'", key));
  }
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
             "CSV `file` with columns start, end; answers `answer` (503), or never with `hang = true`",
             [](Reader& table) {
               const Windows w = read_windows(table);
               StageSpec spec;
               spec.random = w.poisson();
               spec.faults = w.any();
               for (const auto& [key, gap] : {std::pair("every", w.every), std::pair("gap", w.gap)}) {
                 if (gap == Duration{} || gap >= spec.fault_gap) continue;
                 spec.fault_gap = gap;
                 spec.fault_gap_where = table.where(key);
               }
               if (table.has("file")) spec.contents = contents_of(w.given);
               spec.make = [w](const World& world) { return std::make_unique<Outage>(w, world); };
               return spec;
             }});
}

}  // namespace retrygate
