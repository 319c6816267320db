// The ranks of an MPI job as a crew. MPI stays here.
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <exception>

#include "ci/crew.hpp"
#include "ci/exit_code.hpp"

namespace retrygate::ci {
namespace {

// A count in MPI 3 is an int, so what is longer goes in pieces.
constexpr std::size_t piece = std::size_t{1} << 30;

class Ranks final : public Crew {
 public:
  Ranks() {
    // Threads compute; the main thread alone talks.
    int given = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given);
    int rank = 0, size = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    rank_ = static_cast<std::size_t>(rank);
    size_ = static_cast<std::size_t>(size);
  }
  // Who leaves by an exception cannot keep what the others wait for.
  ~Ranks() override {
    if (std::uncaught_exceptions() > 0) MPI_Abort(MPI_COMM_WORLD, static_cast<int>(ExitCode::internal));
    MPI_Finalize();
  }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  std::size_t rank() const override { return rank_; }
  std::size_t size() const override { return size_; }

  std::vector<std::string> gather(const std::string& said) override {
    std::vector<std::string> all;
    if (rank_ > 0) {
      const std::uint64_t length = said.size();
      MPI_Send(&length, 1, MPI_UINT64_T, 0, 0, MPI_COMM_WORLD);
      for (std::size_t at = 0; at < said.size(); at += piece)
        MPI_Send(said.data() + at, count(said.size() - at), MPI_CHAR, 0, 1, MPI_COMM_WORLD);
      return all;
    }
    all.push_back(said);
    for (std::size_t from = 1; from < size_; ++from) {
      const int source = static_cast<int>(from);
      std::uint64_t length = 0;
      MPI_Recv(&length, 1, MPI_UINT64_T, source, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      std::string& text = all.emplace_back(length, '\0');
      for (std::size_t at = 0; at < text.size(); at += piece)
        MPI_Recv(text.data() + at, count(text.size() - at), MPI_CHAR, source, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    }
    return all;
  }

  int agree(int said) override {
    MPI_Bcast(&said, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return said;
  }

 private:
  static int count(std::size_t left) { return static_cast<int>(std::min(left, piece)); }

  std::size_t rank_ = 0, size_ = 1;
};

}  // namespace

std::unique_ptr<Crew> enlist() { return std::make_unique<Ranks>(); }

}  // namespace retrygate::ci
