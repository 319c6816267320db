#!/usr/bin/env python3
"""Exponential backoff with full jitter, 100 ms to 5 s, 8 attempts, as a program that retrygate can check."""
import json
import os
import random


def decide(told):
    if told.get("status") in range(200, 300):
        return {"stop": "success"}
    if told["attempt"] >= 8:
        return {"stop": "attempts"}
    ceiling_s = min(5.0, 0.1 * 2 ** min(told["attempt"] - 1, 60))
    return {"wait_ns": round(random.uniform(0, ceiling_s) * 1e9)}


def answer(line):
    told = json.loads(line)
    if "retrygate-policy" in told:
        random.seed(int(told["seed"]))
        return {"retrygate-policy": 1, "name": "full jitter in Python", "jumps": True}
    return {"id": told["id"], **decide(told)}


# Whole batches: read what is there, answer every line of it, write once. A program that answers line by line
# works too, if it flushes after each.
rest = b""
while chunk := os.read(0, 1 << 20):
    *lines, rest = (rest + chunk).split(b"\n")
    out = "".join(json.dumps(answer(line)) + "\n" for line in lines).encode()
    while out:
        out = out[os.write(1, out):]
