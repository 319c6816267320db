// Where a monotone function is 0, and points to integrate on. Boost.Math's tools stay behind this wall.
#pragma once

#include <functional>
#include <vector>

#include "stats/interval.hpp"

namespace retrygate::stats {

// `f` is continuous on the bracket and changes its sign once; its values at the two ends have different
// signs, or one is 0. To the last bits of a double. Source: Alefeld, Potra and Shi, "Algorithm 748: enclosing
// zeros of continuous functions", 1995.
double root(const std::function<double(double)>& f, Interval bracket);

// The same for a root somewhere above `start`: the bracket begins `step` wide and is widened by doubling.
double root_above(const std::function<double(double)>& f, double start, double step);

struct Node {
  double at = 0;
  double weight = 0;
};
// Integral of f over the interval = sum of weight * f(at): 20 points of Gauss and Legendre on panels that are
// at most `panel` wide.
std::vector<Node> gauss_legendre(Interval, double panel);

}  // namespace retrygate::stats
