// Adjusted p values over a family of tests.
#pragma once

#include <span>
#include <vector>

namespace retrygate::stats {

// Holm's step-down adjustment, in the order given. p in [0, 1].
// Source: S. Holm, "A simple sequentially rejective multiple test procedure", 1979.
std::vector<double> holm(std::span<const double> p);

}  // namespace retrygate::stats
