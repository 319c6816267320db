// The same work on any number of threads: pieces are numbered, and a piece depends on its number alone.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <system_error>
#include <thread>
#include <vector>

namespace retrygate::stats {

// Calls work(0) .. work(pieces - 1), each once, in any order; threads = 0 is one per core.
template <class Work>
void in_parallel(std::size_t pieces, unsigned threads, const Work& work) {
  if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
  std::atomic<std::size_t> next{0};
  const auto run = [&] {
    for (std::size_t piece = next++; piece < pieces; piece = next++) work(piece);
  };
  std::vector<std::jthread> others;
  try {
    for (unsigned t = 1; t < threads && t < pieces; ++t) others.emplace_back(run);
  } catch (const std::system_error&) {
    // The system has no more threads; those that started do the same work.
  }
  run();
}

}  // namespace retrygate::stats
