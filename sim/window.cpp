#include "sim/window.hpp"

#include <algorithm>

namespace retrygate {

void StampWindows::count() {
  if (cursors_.empty()) return;
  const std::int64_t* const fresh = stamps_.data() + kept_;
  std::int64_t most = 0;
  for (Cursor& c : cursors_) {
    const std::int64_t width = c.width;
    std::int64_t inside = c.most;
    for (const std::int64_t *s = fresh, *const end = next_; s != end; ++s)
      inside += *s - s[-inside] < width ? 1 : 0;
    c.most = inside;
    most = std::max(most, inside);
  }
  // The next stamps are compared with the last `most` ones.
  const auto keep =
      std::min(static_cast<std::size_t>(most), static_cast<std::size_t>(next_ - stamps_.data()));
  std::copy(next_ - keep, next_, stamps_.data());
  if (stamps_.size() < 2 * keep + at_once) stamps_.resize(2 * (2 * keep + at_once));
  kept_ = keep;
  next_ = stamps_.data() + keep;
  end_ = stamps_.data() + stamps_.size();
}

}  // namespace retrygate
