"""W1 (ci/bench/yardsticks.hpp) as SimPy processes, one timeout an attempt. Usage: storm_simpy.py CLIENTS REPETITIONS"""
import random
import sys
import time
from collections import deque

import simpy


def storm(clients, rnd):
    env = simpy.Environment()
    limit = max(1, clients // 10)
    server = {"in_process": 0, "requests": 0}
    windows = [(0.1, deque()), (1.0, deque())]
    peaks = [0, 0]

    def client():
        yield env.timeout(0.0002 + 0.0018 * rnd())
        for attempt in range(12):
            server["requests"] += 1
            for i, (width, times) in enumerate(windows):
                times.append(env.now)
                while env.now - times[0] >= width:
                    times.popleft()
                peaks[i] = max(peaks[i], len(times))
            if env.now >= 1.0 and server["in_process"] < limit:
                server["in_process"] += 1
                yield env.timeout(0.05)
                server["in_process"] -= 1
                return
            wait = rnd() * min(5.0, 0.1 * 2**attempt)
            yield env.timeout(wait + 0.0004 + 0.0018 * (rnd() + rnd()))

    for _ in range(clients):
        env.process(client())
    env.run()
    return server["requests"], peaks


clients, repetitions = int(sys.argv[1]), int(sys.argv[2])
begin = time.perf_counter()
total, peak = 0, 0
for seed in range(repetitions):
    requests, peaks = storm(clients, random.Random(seed).random)
    total += requests
    peak += peaks[1]
seconds = time.perf_counter() - begin
print(f"{seconds * 1e9 / total} ns/attempt {total / repetitions} requests {peak / repetitions} peak_1s")
