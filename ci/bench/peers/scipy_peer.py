"""Bootstrap of 8 metrics x 200 seeds x 10,000 resamples with SciPy's vectorised `bootstrap` (percentile of the mean),
and a permutation test of 10^6 draws. Usage: scipy_peer.py bootstrap|permutation|import"""
import sys
import time

import numpy
from scipy import stats

rng = numpy.random.default_rng(1)
what = sys.argv[1]
if what == "bootstrap":
    data = rng.exponential(size=(8, 200))
    begin = time.perf_counter()
    stats.bootstrap((data,), numpy.mean, axis=1, n_resamples=10_000, method="percentile", vectorized=True,
                    confidence_level=0.9, random_state=rng)
    print(f"{(time.perf_counter() - begin) * 1e9} ns/attempt")
elif what == "permutation":
    x, y = rng.exponential(size=100), rng.exponential(size=100)

    def difference(a, b, axis):
        return numpy.mean(a, axis=axis) - numpy.mean(b, axis=axis)

    begin = time.perf_counter()
    stats.permutation_test((x, y), difference, vectorized=True, n_resamples=1_000_000, batch=10_000,
                           alternative="two-sided", random_state=rng)
    print(f"{(time.perf_counter() - begin) * 1e9} ns/attempt")
