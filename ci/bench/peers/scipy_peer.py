"""The statistics of ci/bench/statistics.cpp with SciPy: the bootstrap of the mean of 8 metrics x 200 seeds x 10,000
resamples (vectorised, percentile), or a permutation test of 10^6 draws. Prints the seconds of that and the answers: of
the bootstrap the 5 % and 95 % points of the studentised means, made afterwards.
Usage: scipy_peer.py bootstrap|permutation FILE (one sample a line)"""
import sys
import time

import numpy
from scipy import stats

rng = numpy.random.default_rng(1)
data = numpy.loadtxt(sys.argv[2], delimiter=",")
begin = time.perf_counter()
if sys.argv[1] == "bootstrap":
    stats.bootstrap((data,), numpy.mean, axis=1, n_resamples=10_000, method="percentile", vectorized=True,
                    confidence_level=0.9, random_state=rng)
    seconds = time.perf_counter() - begin
    answers = []
    for sample in data:
        drawn = sample[rng.integers(0, len(sample), (10_000, len(sample)))]
        t = (drawn.mean(axis=1) - sample.mean()) / (drawn.std(axis=1, ddof=1) / len(sample) ** 0.5)
        answers += list(numpy.quantile(t, [0.05, 0.95]))
else:
    def difference(a, b, axis):
        return numpy.mean(a, axis=axis) - numpy.mean(b, axis=axis)

    result = stats.permutation_test((data[0], data[1]), difference, vectorized=True, n_resamples=1_000_000,
                                    batch=10_000, alternative="two-sided", random_state=rng)
    seconds = time.perf_counter() - begin
    answers = [result.pvalue]
print(seconds, *answers)
