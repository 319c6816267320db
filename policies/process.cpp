#include "policies/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "policies/process_load.hpp"

extern char** environ;

namespace retrygate {
namespace detail {

// An end of a pipe.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { close(); }
  void close() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }
  bool open() const { return number_ >= 0; }
  int number() const { return number_; }

 private:
  int number_ = -1;
};

}  // namespace detail
namespace {

using detail::Descriptor;

struct Pipe {
  Descriptor read, write;
};

std::optional<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

void never_block(const Descriptor& end) {
  fcntl(end.number(), F_SETFL, fcntl(end.number(), F_GETFL) | O_NONBLOCK);
}

// Real time, for nothing but giving up on a program.
Duration now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return Duration::s(t.tv_sec) + Duration::ns(t.tv_nsec);
}

int poll_timeout_ms(Duration left) {
  return static_cast<int>(std::clamp<std::int64_t>(left.ns() / 1'000'000 + 1, 0, 60'000));
}

// Holds SIGPIPE back from this thread, and takes one that came meanwhile: a write to a program that is gone
// is an error code for us and no signal for whoever links us.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoPipeSignal() {
    if (!was_pending_) {
      const timespec at_once{};
      while (sigtimedwait(&pipe_, nullptr, &at_once) == -1 && errno == EINTR) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  sigset_t pipe_{}, before_{};
  bool was_pending_ = false;
};

// What is to become of a process that is started.
class Plan {
 public:
  Plan() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
    sigset_t none, pipe;
    sigemptyset(&none);
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &pipe);
    posix_spawnattr_setflags(&attributes_,
                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~Plan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  void give(const Descriptor& end, int as) { posix_spawn_file_actions_adddup2(&actions_, end.number(), as); }
  void give_nothing(int as) { posix_spawn_file_actions_addopen(&actions_, as, "/dev/null", O_RDWR, 0); }

  // Runs `/bin/sh -c text` in this group; 0: in one of its own. An error code, or 0 and its pid.
  int run(std::string text, pid_t group, pid_t& pid) {
    posix_spawnattr_setpgroup(&attributes_, group);
    std::string shell = "sh", option = "-c";
    std::array<char*, 4> arguments{shell.data(), option.data(), text.data(), nullptr};
    return posix_spawn(&pid, "/bin/sh", &actions_, &attributes_, arguments.data(), environ);
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

std::string how_it_ended(int status) {
  if (WIFEXITED(status)) return fmt::format("ended with exit code {}", WEXITSTATUS(status));
  if (WIFSIGNALED(status))
    return fmt::format("was ended by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  return "ended";
}

}  // namespace

struct Process::State {
  pid_t pid = -1;
  // Its group is ended when we are: the first process in it waits for this pipe to close, and then kills all.
  // A signal handler of ours could not do that after SIGKILL, nor for whoever links us.
  pid_t warden = -1;
  detail::Descriptor lifeline;
  ProcessLimits limits;
  detail::Descriptor in, out, err;  // its stdin, stdout, stderr
  std::string heard;                // of its stdout, not yet taken
  std::string tail;                 // of its stderr
  std::optional<int> status;

  ~State() {
    if (warden <= 0) return;
    kill(-warden, SIGKILL);
    if (pid > 0 && !status) waitpid(pid, nullptr, 0);
    waitpid(warden, nullptr, 0);  // last: until then the number of the group is no other's
  }

  // Waits for more of it until this time, and beyond it as long as the machine keeps it from running.
  class Patience {
   public:
    Patience(pid_t group, Duration least) : group_(group), least_(least) { begin(); }
    void begin() {
      since_ = now();
      looked_ = since_;
      load_.reset();
      until_ = since_ + least_;
    }
    Duration until() const { return until_; }
    // How long to sleep at most. Nothing: it is over.
    std::optional<Duration> left() {
      const Duration time = now();
      // What it does in the second half is what it is judged by.
      const Duration half_time = until_ - least_ / 2;
      if (!load_ && time >= half_time) {
        load_ = load_of_group(group_);
        looked_ = time;
      }
      if (time < until_) return (load_ ? until_ : half_time) - time;
      if (until_ >= since_ + least_ * 4 || !was_starved(load_, load_of_group(group_), time - looked_))
        return std::nullopt;
      load_.reset();
      until_ = until_ + least_;
      return least_ / 2;
    }
    Duration so_far() const { return until_ - since_; }

   private:
    pid_t group_;
    Duration least_;
    Duration since_, until_, looked_;
    std::optional<GroupLoad> load_;
  };

  // What is there of a pipe; closes it at its end. True while it may give more.
  static bool drain(Descriptor& from, std::string& into, std::size_t most) {
    std::array<char, 65536> block{};
    while (into.size() < most) {
      const ssize_t n = read(from.number(), block.data(), block.size());
      if (n > 0) {
        into.append(block.data(), static_cast<std::size_t>(n));
        continue;
      }
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return true;
      from.close();
      return false;
    }
    return true;
  }

  void drain_stderr() {
    if (!err.open()) return;
    std::string more;
    drain(err, more, 1 << 20);
    tail += more;
    if (tail.size() > limits.stderr_bytes) tail.erase(0, tail.size() - limits.stderr_bytes);
  }

  // Whole lines out of `heard`, at most so many.
  void take_lines(std::vector<std::string>& into, std::size_t most) {
    std::size_t begin = 0;
    while (into.size() < most) {
      const std::size_t end = heard.find('\n', begin);
      if (end == std::string::npos) break;
      std::size_t length = end - begin;
      if (length > 0 && heard[end - 1] == '\r') --length;
      into.push_back(heard.substr(begin, length));
      begin = end + 1;
    }
    heard.erase(0, begin);
  }

  bool write_some(std::string_view& text) {
    const NoPipeSignal guard;
    while (!text.empty()) {
      const ssize_t n = write(in.number(), text.data(), text.size());
      if (n > 0) {
        text.remove_prefix(static_cast<std::size_t>(n));
        continue;
      }
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return true;
      return false;  // it reads no more; what it has written is still to be heard
    }
    return true;
  }

  // Waits for the exit status until `give_up`.
  bool reap(Duration give_up) {
    while (!status) {
      int code = 0;
      const pid_t ended = waitpid(pid, &code, WNOHANG);
      if (ended == pid) status = code;
      if (ended != 0 || now() >= give_up) break;
      poll(nullptr, 0, 1);
    }
    return status.has_value();
  }

  Lapse ended(Duration give_up) {
    reap(give_up);
    drain_stderr();
    return {Lapse::Kind::ended,
            status ? how_it_ended(*status) : std::string("closed its output without ending")};
  }

  // Reads until `enough` lines are there or its output ends; writes `text` meanwhile.
  Heard converse(std::string_view text, std::size_t enough) {
    Heard result;
    take_lines(result.lines, enough);
    Patience patience(warden, limits.answer);
    while (result.lines.size() < enough || (!text.empty() && in.open())) {
      std::array<pollfd, 3> ends{};
      nfds_t n = 0;
      const auto watch = [&](const Descriptor& end, short events) {
        if (end.open()) ends.at(n++) = {end.number(), events, 0};
      };
      if (!text.empty()) watch(in, POLLOUT);
      watch(out, POLLIN);
      watch(err, POLLIN);
      const auto left = patience.left();
      if (!left) {
        drain_stderr();
        result.lapse =
            Lapse{Lapse::Kind::late, fmt::format("wrote nothing for {}", to_string(patience.so_far()))};
        break;
      }
      poll(ends.data(), n, poll_timeout_ms(*left));
      if (!text.empty() && in.open() && !write_some(text)) in.close();
      drain_stderr();
      const std::size_t before = result.lines.size();
      const bool goes_on = out.open() && drain(out, heard, limits.line_bytes + (std::size_t{1} << 20));
      take_lines(result.lines, enough);
      if (result.lines.size() > before) patience.begin();
      if (result.lines.size() >= enough) continue;
      if (heard.size() > limits.line_bytes && heard.find('\n') == std::string::npos) {
        result.lapse = Lapse{Lapse::Kind::long_line,
                             fmt::format("wrote a line of more than {} bytes", limits.line_bytes)};
        break;
      }
      if (!goes_on) {
        result.lapse = ended(patience.until());
        break;
      }
    }
    return result;
  }
};

Process::Process(std::unique_ptr<State> state) : state_(std::move(state)) {}
Process::Process(Process&&) noexcept = default;
Process& Process::operator=(Process&&) noexcept = default;
Process::~Process() = default;

Result<Process> Process::start(const std::string& command, ProcessLimits limits) {
  const auto fault = [&](int code) {
    return failure({}, fmt::format("cannot start a process: {}", std::strerror(code)));
  };
  auto in = make_pipe();
  auto out = make_pipe();
  auto err = make_pipe();
  auto lifeline = make_pipe();
  if (!in || !out || !err || !lifeline) return fault(errno);

  auto state = std::make_unique<State>();
  state->limits = limits;
  Plan warden;  // before the program: we may be killed at any time
  warden.give(lifeline->read, STDIN_FILENO);
  warden.give_nothing(STDOUT_FILENO);
  warden.give_nothing(STDERR_FILENO);
  if (const int code = warden.run("read -r nothing; kill -KILL 0", 0, state->warden); code != 0) {
    state->warden = -1;
    return fault(code);
  }
  Plan program;
  program.give(in->read, STDIN_FILENO);
  program.give(out->write, STDOUT_FILENO);
  program.give(err->write, STDERR_FILENO);
  if (const int code = program.run(command, state->warden, state->pid); code != 0) {
    state->pid = -1;
    return fault(code);
  }
  state->lifeline = std::move(lifeline->write);
  state->in = std::move(in->write);
  state->out = std::move(out->read);
  state->err = std::move(err->read);
  never_block(state->in);
  never_block(state->out);
  never_block(state->err);
  return Process(std::move(state));
}

Process::Heard Process::exchange(std::string_view text, std::size_t lines) {
  return state_->converse(text, lines);
}

Process::Heard Process::finish() {
  State& s = *state_;
  s.in.close();
  constexpr std::size_t more_than_enough = 16;  // of what nobody asked for
  Heard rest = s.converse({}, more_than_enough);
  if (rest.lapse && rest.lapse->kind == Lapse::Kind::ended && s.status == 0 && s.heard.empty())
    rest.lapse.reset();
  else if (rest.lapse && rest.lapse->kind == Lapse::Kind::late)
    rest.lapse->what = fmt::format("has not ended {} after its input did", to_string(s.limits.answer));
  if (!s.heard.empty()) rest.lines.push_back(std::move(s.heard));
  return rest;
}

std::string Process::stderr_tail() {
  state_->drain_stderr();
  return state_->tail;
}

}  // namespace retrygate
