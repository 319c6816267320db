#!/usr/bin/env python3
"""The delays of Python libraries through the protocol: libraries.py tenacity|tenacity-random|backoff|urllib3.
No network and no sleep: the libraries' own functions are asked for the next delay.
"""
import sys

import protocol


def tenacity_wait(wait, stop_after):
    import tenacity

    stop = tenacity.stop_after_attempt(stop_after)

    def new_call():
        state = tenacity.RetryCallState(None, None, (), {})

        def decide(told):
            state.attempt_number = told["attempt"]
            return "attempts" if stop(state) else wait(state)

        return decide

    return new_call


def backoff_expo():
    import backoff

    def new_call():
        delays = backoff.expo(base=2, factor=0.1, max_value=5)
        next(delays)  # primes the generator, as the library's own decorator does
        return lambda told: backoff.full_jitter(delays.send(None))

    return new_call


def urllib3_retry():
    from urllib3.util.retry import RequestHistory, Retry

    failed = RequestHistory("GET", "/", None, 503, None)

    def new_call():
        return lambda told: Retry(
            total=None, backoff_factor=0.1, history=(failed,) * told["attempt"]
        ).get_backoff_time()

    return new_call


def main():
    kind = sys.argv[1]
    if kind.startswith("tenacity"):
        import tenacity

        wait = (
            tenacity.wait_random_exponential(multiplier=0.1, max=5)
            if kind == "tenacity-random"
            else tenacity.wait_exponential_jitter(initial=0.1, max=5, jitter=0.05)
        )
        protocol.serve(kind, tenacity_wait(wait, 1100))
    elif kind == "backoff":
        protocol.serve(kind, backoff_expo())
    elif kind == "urllib3":
        protocol.serve(kind, urllib3_retry(), jumps=True)
    else:
        sys.exit(f"libraries.py: nothing is called '{kind}'")


main()
