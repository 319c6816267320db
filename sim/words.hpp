// Memory of a run: aligned, not cleared, never given back while the run's owner lives, and in huge pages
// where that pays.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace retrygate {

template <class T>
class Words {
  static_assert(std::is_trivially_default_constructible_v<T> && std::is_trivially_destructible_v<T>);

 public:
  // Room for n; what was there before is lost when there was not.
  void fit(std::size_t n) {
    if (n <= size_) return;
    const bool large = n * sizeof(T) >= 2 * huge_page;
    const std::size_t alignment = large ? huge_page : cache_line;
    words_.reset();
    words_ = {static_cast<T*>(::operator new (n * sizeof(T), std::align_val_t{alignment})), Free{alignment}};
    size_ = n;
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    // A wish: where it is not granted the pages are small.
    if (large) ::madvise(words_.get(), n * sizeof(T), MADV_HUGEPAGE);
#endif
  }
  std::size_t size() const { return size_; }
  T* data() const { return words_.get(); }
  T& operator[](std::size_t i) const { return words_.get()[i]; }

 private:
  static constexpr std::size_t cache_line = 64, huge_page = std::size_t{1} << 21;
  struct Free {
    std::size_t alignment = cache_line;
    void operator()(T* words) const { ::operator delete (words, std::align_val_t{alignment}); }
  };
  std::unique_ptr<T, Free> words_;
  std::size_t size_ = 0;
};

}  // namespace retrygate
