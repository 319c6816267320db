// A queue for what mostly comes in order: a ring for what does, a small heap for the rest. Constant delays
// never touch the heap; a random one costs a heap as small as what is under way.
#pragma once

#include <algorithm>
#include <cstdint>
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

// A heap with four children per node: half the levels of a binary one. The least T is the top.
template <class T>
class QuadHeap {
 public:
  QuadHeap() = default;
  QuadHeap(std::size_t n, const T& each) : items_(n, each) {}

  bool empty() const { return items_.empty(); }
  std::size_t size() const { return items_.size(); }
  void clear() { items_.clear(); }
  const T& top() const { return items_[0]; }
  void pop() {
    const T last = items_.back();
    items_.pop_back();
    if (!items_.empty()) replace(last);
  }
  // Pops the top and pushes another item.
  void replace(const T& item) {
    T* const items = items_.data();
    const std::size_t n = items_.size();
    std::size_t i = 0;
    for (;;) {
      const std::size_t first = 4 * i + 1, end = std::min(first + 4, n);
      if (first >= end) break;
      std::size_t least = first;
      for (std::size_t j = first + 1; j < end; ++j) least = items[j] < items[least] ? j : least;
      if (!(items[least] < item)) break;
      items[i] = items[least];
      i = least;
    }
    items[i] = item;
  }
  void push(const T& item) {
    std::size_t i = items_.size();
    items_.push_back(item);
    for (; i > 0 && item < items_[(i - 1) / 4]; i = (i - 1) / 4) items_[i] = items_[(i - 1) / 4];
    items_[i] = item;
  }

 private:
  std::vector<T> items_;
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
    if (ring_.empty() || !(item < ring_.back()))
      ring_.push(item);
    else
      heap_.push(item);
  }
  const T& front() const { return heap_first() ? heap_.top() : ring_.front(); }
  void pop() {
    if (heap_first())
      heap_.pop();
    else
      ring_.pop();
  }

 private:
  bool heap_first() const { return !heap_.empty() && (ring_.empty() || heap_.top() < ring_.front()); }

  Ring<T> ring_;
  QuadHeap<T> heap_;
};

}  // namespace retrygate
