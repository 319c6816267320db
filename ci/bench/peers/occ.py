"""W2: clients that update one row under optimistic concurrency control (10 to 190 of them, five policies), as a plain
event loop: every message is an event. Model: sim/experiments/occ.hpp. Usage: occ.py REPETITIONS"""
import heapq
import random
import sys
import time


class Row:
    def __init__(self):
        self.version = self.calls = 0

    def read(self, client, _):
        return client.got_version, self.version

    def write(self, client, version):
        self.calls += 1
        won = version == self.version
        if won:
            self.version += 1
        return client.got_answer, won


class Client:
    def __init__(self, row, backoff, rnd):
        self.row, self.backoff, self.rnd = row, backoff, rnd
        self.attempt, self.sleep = 0, 5.0

    def got_version(self, _, version):
        return self.row.write, version

    def got_answer(self, _, won):
        if won:
            return None
        self.attempt += 1
        self.wait = self.backoff(self)
        return self.row.read, None


def capped(client):
    return min(2000.0, 5.0 * 2**client.attempt)


def exponential(client):
    return capped(client)


def decorrelated(client):
    client.sleep = min(2000.0, client.rnd.uniform(5.0, 3 * client.sleep))
    return client.sleep


def equal(client):
    v = capped(client)
    return v / 2 + client.rnd.uniform(0, v / 2)


def full(client):
    return client.rnd.uniform(0, capped(client))


def none(_):
    return 0.0


def contend(clients, backoff, rnd):
    row = Row()
    queue, number = [], 0
    for _ in range(clients):
        number += 1
        queue.append((abs(rnd.gauss(10, 2)), number, row.read, Client(row, backoff, rnd), None))
    heapq.heapify(queue)
    while queue:
        now, _, receive, client, payload = heapq.heappop(queue)
        client.wait = 0.0
        answer = receive(client, payload)
        if answer:
            number += 1
            heapq.heappush(queue, (now + client.wait + abs(rnd.gauss(10, 2)), number, answer[0], client, answer[1]))
    return row.calls


repetitions = int(sys.argv[1])
begin = time.perf_counter()
total = 0
for seed in range(repetitions):
    for backoff in (exponential, decorrelated, equal, full, none):
        for clients in range(10, 200, 10):
            total += contend(clients, backoff, random.Random(seed * 1000 + clients))
seconds = time.perf_counter() - begin
print(f"{seconds * 1e9 / total} ns/attempt {total / repetitions} calls")
