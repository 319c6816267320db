#!/usr/bin/env python3
"""Makes support.csv and facts.csv from a catalogue of shipped policies (JSON): make_support.py policies.json

Each entry of the catalogue was read from a library's source; its bounds are expressions in the library's
parameters, the number n of the retry and, where the law depends on it, the delay before (prev). They are
evaluated here, in Python, and nowhere else: the tests compare the C++ replicas with the tables.

support.csv: id,n,previous,lo_s,hi_s,drawn_to_s
  previous    blank: any, or none before; else the delay before in seconds; "any": the envelope that a whole
              call may reach, a bound without endpoints to meet
  lo_s, hi_s  the closed support in seconds
  drawn_to_s  the law is even on [lo_s, drawn_to_s), cut at hi_s; blank where it is not even
facts.csv: id,cap_s,exceeds_cap (yes, no, blank where there is no cap)
"""
import csv
import json
import math
import os
import sys

NO_DELAY_LAW = {"finagle-retry-budget", "client-go-rest", "reqwest-retry", "budget-grpc-retry-throttling",
                "budget-envoy", "budget-tower-linkerd", "budget-aws-quota"}
# Not even: decorrelated-v2, one draw for sign and size.
NOT_EVEN = {"polly-v8-exponential-jitter", "cockatiel", "oban", "socketio-backo2"}


def f(t):
    return 2**t * math.tanh(math.sqrt(4 * t))


def fibstop(n, m):
    a, b = 1, 1
    for _ in range(n - 1):
        if a >= m:
            break
        a, b = b, a + b
    return a


def cut_each_step(p, n):
    current = p["init"]
    for _ in range(n - 1):
        if current >= 1e15:
            break
        current = int(current * p["mult"])
    return current


def http_java(p, n):
    current = p["init"]
    for _ in range(n - 1):
        current = p["cap"] if current >= p["cap"] / p["mult"] else int(current * p["mult"])
    return current


def spring7(p, n):
    current = p["init"]
    for _ in range(n - 1):
        current = min(int(current * p["mult"]), p["cap"])
    j = p["j"] * (current // p["init"])
    return max(current - j, p["init"]), min(current + j, p["cap"]) - (1 if j else 0)


def seconds_and_nanoseconds(p, n):
    c = min(p["base"] * 2**(n - 1), p["cap"])
    whole, rest = divmod(c, 1000)
    product = p["ratio"] * whole
    top = math.ceil(product) - 1 if whole else 0  # the draw stays below the ratio
    return c, min(p["cap"], c + top * 1000 + p["ratio"] * rest)


def random4j(p, n, cap):
    x = cut_each_step(p, n)
    return max(1, min(x * (1 - p["r"]), cap)), min(x * (1 + p["r"]) + 1, cap)


def finagle_exponential(p, n, prev):
    if n == 1:
        return p["start"], p["start"]
    bound = prev * 2**(n - 1)
    return (p["cap"], p["cap"]) if bound >= p["cap"] else (0, bound)


# Where the expressions of the catalogue miss what the source does; the evidence is in README.md.
CORRECTED = {
    "finagle-exponential-jittered": finagle_exponential,
    "resilience4j-exponential": lambda p, n, _: (min(cut_each_step(p, n), p["cap"]),) * 2,
    "resilience4j-exponential-random": lambda p, n, _: random4j(p, n, p["cap"]),
    "google-http-java": lambda p, n, _: (math.floor(http_java(p, n) * (1 - p["r"])),
                                      math.ceil(http_java(p, n) * (1 + p["r"]) + 1) - 1),
    "spring-framework-7": lambda p, n, _: spring7(p, n),
    "tower-exponential": lambda p, n, _: seconds_and_nanoseconds(p, n),
    "socketio-backo2": lambda p, n, _: (min(p["cap"], 0.55 * p["base"] * 2**(n - 1) + 1),
                                     min(p["cap"], 1.5 * p["base"] * 2**(n - 1) - 1)),
}
DRAWN_TO = {
    "kafka-client": lambda p, n: 1.2 * min(p["init"] * p["mult"]**(n - 1), p["cap"]),
    "resilience4j-exponential-random": lambda p, n: random4j(p, n, 1e300)[1],
    # Whole seconds of the interval are cut, which leaves gaps.
    "tower-exponential": lambda p, n: p["base"] * 2**(n - 1) * (1 + p["ratio"]) if n <= 5 else None,
    # An even draw over [base, base f^k).
    "spring-framework-7": lambda p, n: spring7(p, n)[1] + 1,
}
UNIT = {"s": 1.0, "ms": 1e-3}


def rows_of(entry):
    p = entry["params"]
    unit = UNIT[entry["unit"]]
    jitter = entry["jitter"]
    stateful = "prev" in jitter["lo_expr"] + jitter["hi_expr"]
    scope = {"f": f, "fibstop": fibstop, "floor": math.floor, "log2": math.log2, "min": min, "max": max}
    cap = p.get(entry["cap_param"]) if entry["cap_param"] else None

    def value(expression, n, prev, **others):
        return eval(expression, {"__builtins__": {}}, {**scope, **p, "n": n, "prev": prev, **others})

    for n in range(1, 41):
        if stateful:
            first = p.get(entry["prev0"], 0)
            start = first or p["base"]
            previous = [None] if n == 1 else sorted({start, 1.7 * start, 5 * start, cap / 2, cap})
        else:
            first, previous = 0, [None]
        for prev in previous:
            before = first if prev is None else prev
            if entry["id"] in CORRECTED:
                lo, hi = CORRECTED[entry["id"]](p, n, before)
            else:
                lo, hi = (value(jitter[key], n, before) for key in ("lo_expr", "hi_expr"))
            drawn_to = None
            if entry["id"] in DRAWN_TO:
                drawn_to = DRAWN_TO[entry["id"]](p, n)
            elif entry["id"] not in NOT_EVEN:
                drawn_to = hi
                if jitter["applied"] == "before_cap" and cap is not None:
                    drawn_to = value(jitter["hi_expr"], n, before, **{entry["cap_param"]: 1e300})
            text = "" if prev is None else repr(prev * unit)
            yield [entry["id"], n, text, repr(lo * unit), repr(hi * unit),
                   "" if drawn_to is None else repr(drawn_to * unit)]
    for n, lo, hi in entry["samples_s"] if stateful else []:
        yield [entry["id"], n, "any", repr(lo), repr(hi), ""]


def main(catalogue):
    with open(catalogue, encoding="utf-8") as file:
        entries = json.load(file)
    folder = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(folder, "support.csv"), "w", newline="", encoding="utf-8") as file:
        file.write("# made by make_support.py; corrected against the catalogue: " + " ".join(sorted(CORRECTED)) + "\n")
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["id", "n", "previous", "lo_s", "hi_s", "drawn_to_s"])
        for entry in entries:
            if entry["id"] in NO_DELAY_LAW:
                continue
            rows = list(rows_of(entry))
            out.writerows(rows)
            # The catalogue's own samples agree where nothing was corrected.
            if entry["id"] not in CORRECTED and not any(row[2] for row in rows):
                for n, lo, hi in entry["samples_s"]:
                    row = rows[n - 1]
                    for sample, own in ((lo, float(row[3])), (hi, float(row[4]))):
                        if abs(sample - own) > 1e-5 * abs(own) + 1e-9:
                            sys.exit(f"{entry['id']} n={n}: sample {sample}, expression {own}")
    with open(os.path.join(folder, "facts.csv"), "w", newline="", encoding="utf-8") as file:
        file.write("# made by make_support.py\n")
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["id", "cap_s", "exceeds_cap"])
        for entry in entries:
            cap = entry["params"].get(entry["cap_param"]) if entry["cap_param"] else None
            exceeds = entry["exceeds_own_cap"]
            if cap is not None and exceeds is not None:
                out.writerow([entry["id"], repr(cap * UNIT[entry["unit"]]), "yes" if exceeds else "no"])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
