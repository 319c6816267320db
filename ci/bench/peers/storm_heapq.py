"""W1 (ci/bench/yardsticks.hpp) with CPython's heapq. Usage: storm_heapq.py CLIENTS REPETITIONS"""
import heapq
import random
import sys
import time
from collections import deque


def storm(clients, rnd):
    limit = max(1, clients // 10)
    heap = [(0.0002 + 0.0018 * rnd(), client) for client in range(clients)]
    heapq.heapify(heap)
    attempts = [0] * clients
    windows = [(0.1, deque()), (1.0, deque())]
    peaks = [0, 0]
    requests = in_process = gave_up = 0
    while heap:
        now, client = heapq.heappop(heap)
        if client < 0:
            in_process -= 1
            continue
        requests += 1
        for i, (width, times) in enumerate(windows):
            times.append(now)
            while now - times[0] >= width:
                times.popleft()
            if len(times) > peaks[i]:
                peaks[i] = len(times)
        attempt = attempts[client]
        attempts[client] = attempt + 1
        if now >= 1.0 and in_process < limit:
            in_process += 1
            heapq.heappush(heap, (now + 0.05, -1))
        elif attempt + 1 == 12:
            gave_up += 1
        else:
            wait = rnd() * min(5.0, 0.1 * 2**attempt)
            heapq.heappush(heap, (now + wait + 0.0004 + 0.0018 * (rnd() + rnd()), client))
    return requests, peaks, gave_up


clients, repetitions = int(sys.argv[1]), int(sys.argv[2])
begin = time.perf_counter()
total, peak = 0, 0
for seed in range(repetitions):
    requests, peaks, _ = storm(clients, random.Random(seed).random)
    total += requests
    peak += peaks[1]
seconds = time.perf_counter() - begin
print(f"{seconds * 1e9 / total} ns/attempt {total / repetitions} requests {peak / repetitions} peak_1s")
