// A queue for what mostly comes in order: a ring for what does, a small heap for the rest. Constant delays
// never touch the heap; a random one costs a heap as small as what is under way.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

namespace retrygate {

// First in, first out, in one block of memory that doubles.
template <class T>
class Ring {
 public:
  bool empty() const { return head_ == tail_; }
  std::size_t size() const { return tail_ - head_; }
  const T& front() const { return items_[head_ & mask_]; }
  const T& back() const { return items_[(tail_ - 1) & mask_]; }
  void clear() { head_ = tail_ = 0; }
  void pop() { ++head_; }
  void push(const T& item) {
    if (size() == items_.size()) [[unlikely]]
      grow();
    items_[tail_++ & mask_] = item;
  }

 private:
  void grow() {
    std::vector<T> larger(std::max<std::size_t>(16, 2 * items_.size()));
    for (std::size_t i = head_; i != tail_; ++i) larger[i - head_] = items_[i & mask_];
    tail_ -= head_;
    head_ = 0;
    items_ = std::move(larger);
    mask_ = items_.size() - 1;
  }

  std::vector<T> items_;
  std::size_t head_ = 0, tail_ = 0, mask_ = 0;
};

// The least T first. T is ordered by <.
template <class T>
class Lane {
 public:
  bool empty() const { return ring_.empty() && heap_.empty(); }
  std::size_t size() const { return ring_.size() + heap_.size(); }
  void clear() {
    ring_.clear();
    heap_.clear();
  }
  void push(const T& item) {
    if (ring_.empty() || !(item < ring_.back())) {
      ring_.push(item);
    } else {
      heap_.push_back(item);
      std::push_heap(heap_.begin(), heap_.end(), after);
    }
  }
  const T& front() const { return heap_first() ? heap_.front() : ring_.front(); }
  void pop() {
    if (!heap_first()) return ring_.pop();
    std::pop_heap(heap_.begin(), heap_.end(), after);
    heap_.pop_back();
  }

 private:
  static bool after(const T& a, const T& b) { return b < a; }
  bool heap_first() const { return !heap_.empty() && (ring_.empty() || heap_.front() < ring_.front()); }

  Ring<T> ring_;
  std::vector<T> heap_;
};

}  // namespace retrygate
