// The processes that share one sweep: this one alone, or the ranks of an MPI job.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ci/merge.hpp"

namespace retrygate::ci {

class Crew {
 public:
  virtual ~Crew() = default;
  virtual std::size_t rank() const = 0;  // 0 .. size() - 1; rank 0 writes and speaks
  virtual std::size_t size() const = 0;
  // What each rank said, by rank, on rank 0; nothing elsewhere. Every rank calls it, in the same order as the
  // other calls.
  virtual std::vector<std::string> gather(const std::string& said) = 0;
  // What rank 0 said, on every rank. Every rank calls it.
  virtual int agree(int said) = 0;
};

// The crew of this program, to be held until its end: `retrygate` is alone (crew/alone.cpp), `retrygate-mpi`
// asks MPI (crew/mpi.cpp).
std::unique_ptr<Crew> enlist();

// Every rank brings its part of the samples, or what stopped it. On rank 0: all parts by rank, or all errors,
// each with the ranks that met it if not all did; elsewhere nothing.
struct Gathered {
  std::vector<SampleText> parts;
  std::string errors;
};
Gathered gather_parts(Crew&, const Result<std::string>& own);

}  // namespace retrygate::ci
