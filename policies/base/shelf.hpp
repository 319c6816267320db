// A sorted catalogue of things that can be looked up by id.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace retrygate {

// ", did you mean 'full-jitter'?" or an empty text: the candidate nearest to `word` by edit distance,
// if it is near enough to be a slip of the fingers.
// The candidate that may have been meant, or nothing.
std::string_view nearest(std::string_view word, const std::vector<std::string_view>& candidates);
std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates);

// Entry has a member `id` (text). Filled by the files of a folder, see ci/cmake/shelf.cmake.
template <class Entry>
class Shelf {
 public:
  void add(Entry entry) { entries_.push_back(std::move(entry)); }
  void sort() {
    std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.id < b.id; });
  }
  const Entry* find(std::string_view id) const {
    const auto at =
        std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.id == id; });
    return at == entries_.end() ? nullptr : &*at;
  }
  std::vector<std::string_view> ids() const {
    std::vector<std::string_view> all;
    for (const Entry& entry : entries_) all.push_back(entry.id);
    return all;
  }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  std::size_t size() const { return entries_.size(); }

 private:
  std::vector<Entry> entries_;
};

}  // namespace retrygate
