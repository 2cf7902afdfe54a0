"""What the toys measure; they note each run in the file TOY_LOG, and take TOY_SLEEP seconds more for it."""

import os
import time


def measure(case, result, trace):
    if "TOY_LOG" in os.environ:
        with open(os.environ["TOY_LOG"], "a") as log:
            log.write(f"{case.keys['number']} {os.getpid()}\n")
    time.sleep(float(os.environ.get("TOY_SLEEP", "0")))
    found = {"bps": result["flows"][0]["goodput_bps"], "cwnd": float(trace["cwnd"].mean())}
    if case.keys["number"] == 70:  # a measure that is late, and a whole number before it is not
        found |= {"late": 1}
    if case.keys["number"] == 71:
        found |= {"late": 0.5}
    return found


def broken(case, result, trace):
    if case.keys["number"] > 40:
        raise ArithmeticError("no <number> for\nthis run")
    return measure(case, result, trace)


def counted(case, result, trace):
    """What the toy with choices measures."""
    if "TOY_LOG" in os.environ:
        with open(os.environ["TOY_LOG"], "a") as log:
            log.write(f"{case.keys['seed']} {os.getpid()}\n")
    time.sleep(float(os.environ.get("TOY_SLEEP", "0")))
    times = case.settings["times"] if case.keys["part"] == "window" else 1
    return {"mbps": times * result["flows"][0]["delivered_bytes"] * 8e-6}
