"""Speaks the protocol `retrygate-policy` version 1 for policies in Python (policies/adapters/README.md)."""
import json
import os
import random


def lines_of_stdin():
    """Batches of lines, as they come."""
    rest = b""
    while chunk := os.read(0, 1 << 20):
        *lines, rest = (rest + chunk).split(b"\n")
        if lines:
            yield lines


def serve(name, new_call, jumps=False, can=()):
    """Answers until stdin ends. `new_call()` makes what decides for a fresh call: a function from a finished
    attempt (the members of its line) to a delay in seconds, or to a reason to stop as a text. With "before" in
    `can` it is asked before each send, too, and lets one through by True. Randomness comes from the module
    `random`, which is seeded here.
    """
    calls = {}

    def answer(line):
        told = json.loads(line)
        if "retrygate-policy" in told:
            random.seed(int(told["seed"]))
            return {"retrygate-policy": 1, "name": name, "jumps": jumps, "can": list(can)}
        if told.get("status") in range(200, 300) or told.get("status") == "OK":
            return {"id": told["id"], "stop": "success"}
        key = told["client"], told["call"]
        if key not in calls:
            calls[key] = new_call()
        decided = calls[key](told)
        if decided is True:
            return {"id": told["id"], "send": True}
        if isinstance(decided, str):
            return {"id": told["id"], "stop": decided}
        return {"id": told["id"], "wait_ns": round(decided * 1e9)}

    for lines in lines_of_stdin():
        out = b""
        try:
            for line in lines:
                out += json.dumps(answer(line)).encode() + b"\n"
        finally:  # what was decided before an exception is still said
            while out:
                out = out[os.write(1, out):]
