"""Is the best algorithm in the group that `bentpipe advise` puts first? Prints a row for docs/advise.md.

    python scripts/advise_truth.py shared               # one of LINKS
    python scripts/advise_truth.py shared --runs 60

The truth comes from runs of their own: every algorithm, other seeds, `bp.run_many`, and the mean of what the
flows report. Nothing of them has passed through the code that ranks.
"""

from __future__ import annotations

import argparse
import math
import time
from typing import Any

import bentpipe as bp
from bentpipe.advice.question import Candidate, Question
from bentpipe.advice.ranking import SAME, fast_enough
from bentpipe.advice.spans import Span, span
from bentpipe.advice.trials import Trials

LINKS: dict[str, dict[str, Any]] = {
    "geo": {"rate": "10 Mbit/s", "rtt": "600 ms", "per": "1e-4"},
    "shared": {"rate": "5 Mbit/s", "rtt": "560 ms", "flows": 5},
    "leo": {"rate": "20 Mbit/s", "rtt": "40 ms", "per": "1e-3", "goal": "delay"},
}
FAR = 100_000
"""Seeds of the truth begin here."""


def main() -> None:
    """Prints the row, and what it rests on as comments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("link", choices=LINKS)
    parser.add_argument("--runs", type=int, default=60)
    given = parser.parse_args()
    asked = LINKS[given.link]
    answers = {}
    for name in ("30 s", "thorough"):
        since = time.monotonic()
        answers[name] = bp.advise(**asked, thorough=name == "thorough")
        print(f"# {name}: {time.monotonic() - since:.0f} s, {answers[name].schedule}", flush=True)
    final = answers["thorough"].schedule.final
    assert final is not None
    reckless = set(answers["thorough"].flagged)
    since = time.monotonic()
    truth = measure(asked, given.runs, final.run_s)
    print(f"# truth: {time.monotonic() - since:.0f} s, {given.runs} runs of {final.run_s:g} s", flush=True)
    delay = asked.get("goal") == "delay"
    fast = fast_enough({name: Trials(Candidate(name, name, name), values) for name, values in truth.items()})
    fine = {
        name: values for name, values in truth.items() if name not in reckless and (name in fast or not delay)
    }
    key = "queue_p95_s" if delay else "goodput_bps"
    means = {name: math.fsum(values[key]) / len(values[key]) for name, values in fine.items()}
    order = sorted(means, key=lambda name: means[name] if delay else -means[name])
    best = order[0]
    alike = [n for n in order if abs(means[n] - means[best]) <= max(SAME * means[best], 1e-3 if delay else 0)]
    print("# true order:", ", ".join(f"{name} {means[name]:.4g}" for name in order[:8]))
    print("# reckless:", ", ".join(sorted(reckless)) or "none")
    for name, answer in answers.items():
        group = list(answer.groups[0])
        found = best in group
        print(
            f"| {given.link} | {name} | {answer.schedule} | {best} | {'yes' if found else 'no'} | "
            f"{sum(one in group for one in alike)} of {len(alike)} | {len(group)} | {answer.recommended} |"
        )
        print(f"# group: {', '.join(group)}; flagged {', '.join(answer.flagged) or 'none'}", flush=True)


def measure(asked: dict[str, Any], runs: int, run_s: float) -> dict[str, dict[str, list[float]]]:
    """Goodput and queueing delay of every algorithm, run by run."""
    spans: dict[str, Span] = {
        name: span(name, asked[name]) for name in asked if name in ("rate", "rtt", "per")
    }
    question = Question(
        link=asked.get("link"), spans=spans, flows=asked.get("flows", 1), seed=FAR
    ).loaded()  # fmt: skip
    candidates, _ = question.candidates(())
    found: dict[str, dict[str, list[float]]] = {
        one.id: {"goodput_bps": [], "queue_p95_s": []} for one in candidates
    }
    for n in range(runs):
        results = bp.run_many([question.alone(one, n, run_s) for one in candidates])
        floor = min(flow["rtt_min_s"] for result in results for flow in result.json["flows"])
        for one, result in zip(candidates, results, strict=True):
            flows = [flow for flow in result.json["flows"] if flow["name"].startswith("asked")]
            found[one.id]["goodput_bps"].append(math.fsum(flow["goodput_bps"] for flow in flows))
            waits = [flow["rtt_p95_s"] - floor for flow in flows]
            found[one.id]["queue_p95_s"].append(math.fsum(waits) / len(waits))
    return found


if __name__ == "__main__":
    main()
