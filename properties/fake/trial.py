#!/usr/bin/env python3
"""Policies that no report is about: faulty ones, and unusual ones that are right. `trial.py NAME`, see
trial_test.cpp. Each is a function of a call's memory and of what is told about the attempt that has ended."""
import calendar
import email.utils
import math
import os
import random
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../policies/adapters/python"))
import protocol

BASE_S, CAP_S, ATTEMPTS, LIMIT_S = 0.1, 5.0, 8, 30.0
RETRIED = {408, 429, 500, 502, 503, 504}
START_S = calendar.timegm((2026, 1, 1, 0, 0, 0))
process = {"calls": 0, "draws": 0}


def ceiling(n):
    return min(CAP_S, BASE_S * 2 ** min(n - 1, 60))


def full(n):
    return random.uniform(0, ceiling(n))


def over(n):
    return n >= ATTEMPTS


def header(told, shift_s=0, base=10):
    """Seconds that a Retry-After asks for; None without one, or when it is malformed."""
    text = told.get("retry_after", "").strip(" ")
    if text.isascii() and text.isdigit():
        octal = base == 8 and text.startswith("0") and all(c in "01234567" for c in text)
        return int(text, 8 if octal else 10)
    date = email.utils.parsedate_tz(text)
    try:
        return max(0, email.utils.mktime_tz(date) - START_S - told["now_ns"] / 1e9 + shift_s)
    except (TypeError, ValueError, OverflowError):
        return None


def hinted(told, asked_s):
    own_s = ceiling(told["attempt"])
    return "attempts" if over(told["attempt"]) else max(own_s, min(60, asked_s or 0))


def tenths(call, told, n):
    """Jitter in whole tenths of a second."""
    return "attempts" if over(n) else random.randint(0, round(ceiling(n) * 10)) / 10


def triangle(call, told, n):
    return "attempts" if over(n) else random.triangular(0, ceiling(n))


def sequence(call, told, n):
    """Even steps of the golden section in place of draws: right for one client, in step for two."""
    process["draws"] += 1
    return "attempts" if over(n) else process["draws"] * 0.6180339887498949 % 1 * ceiling(n)


def one_draw(call, told, n):
    share = call.setdefault("share", random.random())
    return "attempts" if over(n) else share * ceiling(n)


def in_pairs(call, told, n):
    """Retries 2 and 3 share a draw, 4 and 5 the next one."""
    if n % 2 == 0 or n == 1:
        call["share"] = random.random()
    return "attempts" if over(n) else call["share"] * ceiling(n)


def retry_3(call, told, n):
    """The third retry comes out of half of its interval."""
    return "attempts" if over(n) else random.uniform(0, ceiling(n) / (2 if n == 3 else 1))


def restarts(call, told, n):
    """From some retry on, the second argument, delays are those of the first retries again."""
    return full(n if n < int(sys.argv[2]) else n - int(sys.argv[2]) + 1)


def only_http(call, told, n):
    """Lost connections do not count."""
    return "attempts" if over(n) and "status" in told else full(n)


def per_kind(call, told, n):
    kind = told.get("status", told.get("error"))
    call[kind] = call.get(kind, 0) + 1
    return "attempts" if over(call[kind]) else full(n)


def tired(call, told, n):
    """After 30 calls of the process delays double."""
    if n == 1:
        process["calls"] += 1
        call["tired"] = process["calls"] > 30
    return "attempts" if over(n) else min(CAP_S, full(n) * (2 if call["tired"] else 1))


def second_call(call, told, n):
    """A client's later calls wait twice as long."""
    return "attempts" if over(n) else ceiling(n) * (2 if told["call"] > 0 else 1)


def later_all(call, told, n):
    if n == 1 and told.get("status") not in RETRIED:
        return "not-retryable"
    return "attempts" if over(n) else full(n)


def later_unsafe(call, told, n):
    if n == 1 and not told["idempotent"] and told.get("error") != "connect-refused":
        return "not-retryable"
    return "attempts" if over(n) else full(n)


def absolute(call, told, n):
    """The time of day is taken for the time that has passed."""
    return "deadline" if told["now_ns"] / 1e9 + ceiling(n) > LIMIT_S else ceiling(n)


def sum_of_waits(call, told, n):
    """What the attempts take does not count against the limit."""
    call["waited_s"] = call.get("waited_s", 0) + ceiling(n)
    return "deadline" if call["waited_s"] > LIMIT_S else ceiling(n)


def whole_seconds(call, told, n):
    """Reckons with the protocol's date, which has whole seconds, and so waits up to a second longer."""
    into_s = told["now_ns"] % 10**9 / 1e9 if "date" in told else 0
    return hinted(told, header(told, shift_s=into_s))


def octal(call, told, n):
    return hinted(told, header(told, base=8))


def local_time(call, told, n):
    """Dates are read an hour off."""
    return hinted(told, header(told, shift_s=3600))


def asctime_local(call, told, n):
    """A date that names no zone is taken for one of a place an hour away."""
    no_zone = "GMT" not in told.get("retry_after", "GMT") and ":" in told["retry_after"]
    return hinted(told, header(told, shift_s=3600 if no_zone else 0))


def one_form(call, told, n):
    """Knows dates with a comma after three letters, and no other."""
    text = told.get("retry_after", "")
    return hinted(told, header(told) if ":" not in text or text[3:4] == "," else None)


def free_with_header(call, told, n):
    """Only attempts without a header count."""
    if header(told) is None:
        return hinted(told, None)
    return hinted({**told, "attempt": min(n, ATTEMPTS - 1)}, header(told))


def until_2038(call, told, n):
    """Keeps dates in 31 bits of seconds."""
    asked_s = header(told)
    if "date" in told and START_S + (asked_s or 0) >= 2**31:
        raise OverflowError("timestamp out of range for platform time_t")
    return hinted(told, asked_s)


def bid_to_retry(call, told, n):
    """Takes a header for leave to send again, whatever failed."""
    refused = told.get("status") not in RETRIED
    return "not-retryable" if header(told) is None and refused else hinted(told, header(told))


def bid_to_repeat(call, told, n):
    """The same, and for leave to repeat what may not be repeated."""
    sent = told.get("error") not in ("dns", "connect-refused", "connect-timeout", "tls")
    refused = sent and not told["idempotent"]
    return "not-retryable" if header(told) is None and refused else hinted(told, header(told))


def tls_raises(call, told, n):
    return "attempts" if over(n) else {"tls": None}.get(told.get("error"), full(n)) + 0


def plateau(call, told, n):
    """Grows at every second retry."""
    return min(CAP_S, BASE_S * 2 ** min((n - 1) // 2 * 2, 60))


def sticky(call, told, n):
    """A header counts for the rest of the call."""
    call["asked_s"] = max(call.get("asked_s", 0), header(told) or 0)
    return hinted(told, call["asked_s"])


def for_all(call, told, n):
    """A header counts for whoever comes next."""
    process["asked_s"] = max(process.get("asked_s", 0), min(60, header(told) or 0))
    return hinted(told, process["asked_s"])


def unbilled(call, told, n):
    """An attempt that the server puts off does not count."""
    call["free"] = call.get("free", 0) + (header(told) is not None)
    return hinted({**told, "attempt": max(1, n - call["free"])}, header(told))


def adds_duration(call, told, n):
    """The time that the attempt took is waited once more."""
    took_s = (told["now_ns"] - call.get("started_ns", told["started_ns"])) / 1e9
    wait_s = ceiling(n) + took_s
    call["started_ns"] = told["now_ns"] + round(wait_s * 1e9)
    return wait_s


def forgets(call, told, n):
    """Counts attempts in a table that holds 256 calls."""
    counts, key = process.setdefault("counts", {}), (told["client"], told["call"])
    counts[key] = counts.pop(key, 0) + 1
    if len(counts) > 256:
        counts.pop(next(iter(counts)))
    return ceiling(counts[key])


def bucket(call, told, n, rate=2.0):
    """Ten tokens, two more a second."""
    clients = process.setdefault("buckets", {})
    tokens, at_s = clients.get(told["client"], (10.0, 0.0))
    now_s = told["now_ns"] / 1e9
    tokens = min(10.0, tokens + rate * (now_s - at_s))
    paid = not over(n) and tokens >= 1
    clients[told["client"]] = tokens - paid, now_s
    return "attempts" if over(n) else ceiling(n) if paid else "budget"


def leaky_bucket(call, told, n):
    return bucket(call, told, n, rate=3.0)


def dry_bucket(call, told, n):
    return bucket(call, told, n, rate=1.0)


def few_seeds(call, told, n):
    """The seeds of all processes are one of four."""
    if "few" not in process:
        process["few"] = True
        random.seed(random.getrandbits(2))
    return right(call, told, n)


def seeded_by(seed_of):
    """Every process draws as its seed says, after this was done to it."""
    real = random.seed
    random.seed = lambda seed: real(seed_of(seed))
    return right


def modulo():
    return seeded_by(lambda seed: seed % int(sys.argv[2]))


def upper_half():
    return seeded_by(lambda seed: seed >> 32)


def by_the_second():
    return seeded_by(lambda seed: int(time.time()))


def streams(call, told, n):
    """Each client has one of so many streams, and waits whole seconds."""
    if over(n):
        return "attempts"
    if n == 1:
        call["draws"] = random.Random(random.randrange(int(sys.argv[2])))
    return call["draws"].randint(0, min(60, 4 * 2 ** (n - 1)))


def remembers(call, told, n):
    """Decorrelated: the delay before is kept up to so many seconds."""
    drawn_s = random.uniform(BASE_S, 3 * call.get("last_s", BASE_S))
    call["last_s"] = min(drawn_s, float(sys.argv[2]))
    return min(CAP_S, drawn_s)


# ---- right, and unusual


def right(call, told, n):
    return "attempts" if over(n) else full(n)


def floor(call, told, n):
    return "attempts" if over(n) else random.uniform(0.05, ceiling(n))


def one(call, told, n):
    return "attempts"


def zero(call, told, n):
    return "attempts" if over(n) else 0


def at_cap(call, told, n):
    return "attempts" if over(n) else random.uniform(0, CAP_S)


def point(call, told, n):
    return "attempts" if over(n) else BASE_S


def server(call, told, n):
    """The server alone says when, and whether."""
    asked_s = header(told)
    if asked_s is None or asked_s > 60:
        return "not-retryable"
    return "attempts" if over(n) else asked_s


def down(call, told, n):
    return "attempts" if over(n) else math.floor(full(n) * 1000) / 1000


def up(call, told, n):
    return "attempts" if over(n) else math.ceil(full(n) * 1000) / 1000


def polynomial(call, told, n):
    return "attempts" if over(n) else min(60.0, 0.25 * n**1.5)


def table(call, told, n):
    return "attempts" if n > 5 else [0, 0.1, 1, 10, 60][n - 1]


def elapsed(call, told, n):
    wait_s = full(n)
    used_s = (told["now_ns"] - told["started_ns"]) / 1e9
    return "deadline" if used_s + wait_s > LIMIT_S else wait_s


def acquires(call, told, n):
    """Is told of no attempt that it has not let through."""
    if "ask" in told:
        call["sent"] = n
        return True
    assert call["sent"] == n
    return full(n) if n < ATTEMPTS else "attempts"


def new_call():
    call = {}
    return lambda told: decide(call, told, told["attempt"])


decide = globals()[sys.argv[1].replace("-", "_")]
if decide in (modulo, upper_half, by_the_second):
    decide = decide()
protocol.serve(sys.argv[1], new_call, can=["before"] if decide is acquires else [])
