"""W4: the flaky service (10,000 requests, one per 5 ms, Poisson outages) as a plain Python script, three policies.
Usage: flaky.py REPETITIONS"""
import bisect
import random
import sys
import time


def run(seed):
    rnd = random.Random(seed)
    outages, now = [], 0.0
    for _ in range(300):
        now += rnd.expovariate(1 / 2000.0)
        outages.append((now, now + rnd.uniform(50, 500)))
    starts = [begin for begin, _ in outages]

    def down(now):
        # Outages may overlap, none is longer than 500 ms.
        i = bisect.bisect_right(starts, now)
        while i > 0 and starts[i - 1] > now - 500:
            i -= 1
            if now < outages[i][1]:
                return True
        return False

    attempts = 0
    rows = []
    for most, wait in (
        (1, None),
        (4, lambda k: 100.0),
        (4, lambda k: 40.0 * 2 ** (k - 1) * rnd.uniform(0.5, 1.5)),
    ):
        times = []
        for request in range(10000):
            arrival = now = 5.0 * request
            for k in range(1, most + 1):
                attempts += 1
                if not down(now) and not rnd.random() < 0.01:
                    times.append(now + 20 - arrival)
                    break
                if k < most:
                    now += 20 + wait(k)
        times.sort()
        rows.append((len(times), sum(times) / len(times), times[int(0.99 * len(times))]))
    return attempts, rows


repetitions = int(sys.argv[1])
begin = time.perf_counter()
total, successes = 0, 0
for seed in range(repetitions):
    attempts, rows = run(seed)
    total += attempts
    successes += rows[2][0]
seconds = time.perf_counter() - begin
print(f"{seconds * 1e9 / total} ns/attempt {successes / repetitions} successes")
