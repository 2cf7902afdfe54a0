"""Tunes the parameters of A-LIAD for a set of links, and measures how much of the gain is over-fitted.

    python examples/evolve.py                 # 100 s of a processor
    python examples/evolve.py --quick         # to see that it works

The search is that of `bentpipe break`. It sees some links with some seeds. The result is then measured on
other links of the same ranges with other seeds, and on links of other ranges. The parameters of the paper are
the base on every link. The gain of a link is the logarithm of the ratio of goodput, less what a CUBIC flow
beside the algorithm loses in comparison with the base. So the search cannot win by taking from others.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import bentpipe as bp
from bentpipe import stats
from bentpipe.breaking.search import BATCH, Between, OneOf, Point, Search

ALGORITHM = "a-liad"
SPACE = (
    Between("beta_max", 0.05, 1.0),
    Between("beta", 0.05, 0.9),
    Between("delta", 1.05, 8.0, log=True),
    OneOf("decrease", ("epoch", "lifetime", "fixed")),
    OneOf("ack_mode", ("round", "eq6")),
    OneOf("start", ("hybrid", "standard")),
    OneOf("probe", ("linear", "eq3")),
    OneOf("at_w_max", ("linear", "probe")),
)
DURATION = "20 s"


@dataclass(frozen=True)
class Ranges:
    """Ranges of links: Mbit/s, ms of a round trip, bandwidth-delay products, packet error rates."""

    rate: tuple[float, float]
    rtt: tuple[float, float]
    buffer: tuple[float, float]
    loss: tuple[float, float]

    def drawn(self, count: int, seed: int) -> list[bp.Link]:
        """This number of links."""
        draw = random.Random(seed)

        def between(ends: tuple[float, float]) -> float:
            return ends[0] * math.pow(ends[1] / ends[0], draw.random())

        return [
            bp.Link(
                rate=f"{between(self.rate):.4g} Mbit/s",
                delay=f"{between(self.rtt) / 2:.4g} ms",
                queue=bp.DropTail(f"{between(self.buffer):.3g} bdp"),
                loss=bp.PacketError(float(f"{between(self.loss):.3g}")),
            )
            for _ in range(count)
        ]


GEO = Ranges((2, 8), (500, 650), (0.3, 1.5), (1e-5, 1e-3))
"""The ranges of the links of the search, and of those that are alike."""
LEO = Ranges((2, 8), (25, 90), (0.3, 1.5), (1e-5, 1e-3))
"""Other ranges, which the search never sees."""


def gains(points: Sequence[Point], links: Sequence[bp.Link], seeds: Sequence[int]) -> list[list[float]]:
    """For each point the gain on each link, a mean over the seeds."""
    ccs: list[str | Mapping[str, object]] = [ALGORITHM, *({"name": ALGORITHM, **point} for point in points)]
    scenarios = [
        bp.Scenario(
            links={"sat": link}, flows=[bp.Flow(cc, path=["sat"]), *others], duration=DURATION, seed=s
        )
        for cc in ccs
        for link in links
        for s in seeds
        for others in ([], [bp.Flow("cubic", path=["sat"], name="beside")])
    ]
    rates = iter([run.json["flows"] for run in bp.run_many(scenarios)])
    found = [[[_pair(next(rates), next(rates)) for _ in seeds] for _ in links] for _ in ccs]
    base = found[0]
    return [
        [
            sum(_gain(a, b) for a, b in zip(mine[i], base[i], strict=True)) / len(seeds)
            for i in range(len(links))
        ]
        for mine in found[1:]
    ]


def _pair(alone: Sequence[Mapping[str, float]], both: Sequence[Mapping[str, float]]) -> tuple[float, float]:
    """Goodput alone, and that of CUBIC beside it; 1 kbit/s more, so that a logarithm exists."""
    return alone[0]["goodput_bps"] + 1e3, both[1]["goodput_bps"] + 1e3


def _gain(ours: tuple[float, float], base: tuple[float, float]) -> float:
    return math.log(ours[0] / base[0]) + min(0.0, math.log(ours[1] / base[1]))


def shown(values: Sequence[float]) -> str:
    """A mean of logarithms as a ratio in percent, with its 95 % interval over the links."""
    found = stats.interval(values)
    centre, low, high = (100 * (math.exp(end) - 1) for end in (found.centre, found.low, found.high))
    return f"{centre:+6.1f} %  ({low:+.1f} to {high:+.1f} %, {len(values)} links)"


def main(arguments: Sequence[str] | None = None) -> None:
    """Searches, and prints the gain on seen and unseen links."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="few links and few batches")
    parser.add_argument("--batches", type=int, default=15, help=f"batches of {BATCH} points")
    parser.add_argument("--seeds", type=int, default=8, help="seeds of each link in the search")
    given = parser.parse_args(arguments)
    count, batches, each_link = (2, 1, 1) if given.quick else (6, given.batches, given.seeds)

    seen, seeds = GEO.drawn(count, seed=1), tuple(range(1, each_link + 1))
    search, tried = Search(SPACE, seed=1), []
    for _ in range(batches):
        points = search.ask()
        scores = [sum(each) / len(each) for each in gains(points, seen, seeds)]
        search.tell(scores)
        tried += zip(scores, points, strict=True)
    best = max(tried, key=lambda pair: pair[0])[1]
    print(f"{batches * BATCH} settings of {ALGORITHM}, {count} links with {len(seeds)} seeds; the best:")
    for name, value in sorted(best.items()):
        print(f"  {name} = {value if isinstance(value, str) else format(value, '.3g')}")

    fresh = tuple(seed + 100 for seed in seeds)
    rows = {
        "the links of the search": (seen, seeds),
        "these links, other seeds": (seen, fresh),
        "other links of these ranges": (GEO.drawn(2 * count, seed=2), fresh),
        "links of other ranges (LEO)": (LEO.drawn(2 * count, seed=3), fresh),
    }
    print("gain over the paper's parameters, less CUBIC's loss beside it:")
    found = {}
    for name, (links, own) in rows.items():
        (found[name],) = gains([best], links, own)
        print(f"  {name:28} {shown(found[name])}")
    fitted, held = (sum(found[name]) / len(found[name]) for name in list(found)[:3:2])
    if fitted > 0:
        missing = min(1.0, max(0.0, 1 - held / fitted))
        print(f"over-fitted: {100 * missing:.0f} % of the gain is not there on other links of these ranges")
    else:
        print("nothing was gained on the links of the search")


if __name__ == "__main__":
    main()
