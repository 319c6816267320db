// Sums that do not lose digits: a value as the unevaluated sum of two doubles (106 bits), and exact
// summation. Sources: T. J. Dekker, "A floating-point technique for extending the available precision", 1971;
// J. R. Shewchuk, "Adaptive precision floating-point arithmetic and fast robust geometric predicates", 1997.
#pragma once

#include <cmath>
#include <vector>

namespace retrygate::stats {

struct Twofold {
  double hi = 0, lo = 0;  // |lo| is at most half a unit in the last place of hi
  double value() const { return hi + lo; }
};

// a + b exactly (Knuth).
inline Twofold two_sum(double a, double b) {
  const double sum = a + b, from_b = sum - a;
  return {sum, (a - (sum - from_b)) + (b - from_b)};
}

inline Twofold operator+(Twofold a, Twofold b) {
  const Twofold high = two_sum(a.hi, b.hi), low = two_sum(a.lo, b.lo);
  const Twofold once = two_sum(high.hi, high.lo + low.hi);
  return two_sum(once.hi, once.lo + low.lo);
}
inline Twofold operator-(Twofold a) { return {-a.hi, -a.lo}; }
inline Twofold operator-(Twofold a, Twofold b) { return a + -b; }
inline Twofold operator*(Twofold a, double b) {
  const double product = a.hi * b;
  return two_sum(product, std::fma(a.hi, b, -product) + a.lo * b);
}
inline Twofold operator/(Twofold a, double b) {
  const double quotient = a.hi / b;
  const Twofold rest = a - Twofold{quotient} * b;
  return two_sum(quotient, rest.value() / b);
}

// An exact sum of doubles that neither overflow nor underflow: parts that do not overlap, in rising size.
class ExactSum {
 public:
  void add(double x) {
    std::size_t kept = 0;
    for (const double part : parts_) {
      const Twofold sum = two_sum(x, part);
      if (sum.lo != 0) parts_[kept++] = sum.lo;
      x = sum.hi;
    }
    parts_.resize(kept);
    parts_.push_back(x);
  }
  Twofold value() const {
    Twofold sum;
    for (const double part : parts_) sum = sum + Twofold{part};
    return sum;
  }

 private:
  std::vector<double> parts_;
};

}  // namespace retrygate::stats
