"""The question put to `advise`: a link, its unknown values, competing flows, and the goal."""

from __future__ import annotations

import copy
import dataclasses
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import _core
from bentpipe.advice import open_ends
from bentpipe.advice.judged import (
    Direction,
    JudgedFlows,
    Payload,
    opposite,
    rows_of,
    ways,
    with_controllers,
)
from bentpipe.advice.quantities import FILE, QUANTITIES
from bentpipe.comparison import _named, base_and_model, change, half_given, relays
from bentpipe.controller import named_algorithm
from bentpipe.document.plain import is_datagrams
from bentpipe.document.spans import LinkSpec, Span, points
from bentpipe.measures import MeasureRow
from bentpipe.models import Bulk, Flow, Link, Record
from bentpipe.registry import controllers, find, unknown
from bentpipe.scenario import Scenario
from bentpipe.timeline.measures import lasts
from bentpipe.units import seconds

if TYPE_CHECKING:
    from bentpipe.measured.draws import Draw

RIVALS = ("cubic", "reno")
"""The algorithms beside which each algorithm is run."""
CURE = "fq-codel"
"""The queue that lets acknowledgements pass the data of others."""
_FOR_HANDOVERS = {"satcp": "CUBIC", "leocc": "BBR"}
_BY_HAND = "scps-rate"
"""An algorithm without congestion control: it sends at the rate that its operator sets."""
_JITTER = "1 s"
"""Flows that start in the same nanosecond stay synchronised for ever; real flows never do."""
_ROWS = 400
LONGEST_RTT_S = 60.0
"""A flow over which nothing comes back within this time is not judged."""
LONGEST_WHOLE_S = 600.0
"""A time line up to this length is played whole; of a longer one each seed plays another window."""


@dataclass(frozen=True)
class Goal:
    """A goal, from goals.toml.

    Attributes:
        means: its definition.
        quantity: what is compared.
        roles: the runs of each seed. "alone" is always one: it shows standing queues and losses.
        words: the quantity in a sentence.
        column: the head of its column on paper and on a page.
        head: the head of its column in a terminal.
    """

    means: str
    quantity: str
    roles: Sequence[str]
    words: str
    column: str
    head: str

    @property
    def measure(self) -> MeasureRow:
        """The quantity: unit, range, and whether more is better."""
        return QUANTITIES[self.quantity]

    @property
    def more(self) -> bool:
        """Whether more of it is better."""
        return self.measure.better == "more"


_GIVEN = Path(__file__).with_name("goals.toml").read_text(encoding="utf-8").format(file=FILE)
GOALS = {name: Goal(**of) for name, of in tomllib.loads(_GIVEN).items()}
"""The goals by their names."""


@dataclass(frozen=True)
class Candidate:
    """An algorithm to judge: its id, its display name, and its value for `Flow.cc`."""

    id: str
    label: str
    cc: Any = field(compare=False)


_CUBIC = Candidate("cubic", "CUBIC", "cubic")


@dataclass(frozen=True)
class Question:
    """The question.

    Attributes:
        link: a scenario, its name or file, or a link; None if `spans` say all.
        whole: play the scenario with all its flows; its first flow takes each algorithm.
        spans: rate, rtt, buffer, per and ber, where given.
        timeline: a file with the link over time.
        flows: number of flows of the algorithm at once.
        relay: instead of that of the flow, as `comparison.relays` reads it.
        competing: competing flows present all the time, (algorithm, number).
        goal: one of `GOALS`.
        shared: whether flows of others use the link.
        seed: of the first run.
        name: display name of the link.
        notes: more assumptions to state, such as where estimates come from.
        tests: the transfers among the measurements, (algorithm, bit/s received).
        draws: links that are consistent with the measurements; run n is over the n-th, cyclically. They
            already include `spans`, which take precedence over measurements.
    """

    link: str | Path | Link | Scenario | None = None
    whole: bool = False
    spans: Mapping[str, Span] = field(default_factory=dict)
    timeline: str | Path | None = None
    flows: int = 1
    relay: str | None = None
    competing: Sequence[tuple[str, int]] = ()
    goal: str = "throughput"
    shared: bool = True
    seed: int = 1
    name: str = ""
    notes: Sequence[str] = ()
    tests: Sequence[tuple[str, float]] = ()
    draws: Sequence[Draw] = ()

    def loaded(self) -> Question:
        """The same, with the file of the link read: it is needed for every run.

        Raises:
            ScenarioError: there is no such scenario, or it is not correct.
        """
        if not isinstance(self.link, str | Path):
            return self
        return dataclasses.replace(self, link=Scenario.load(self.link), name=Path(self.link).name)

    def check(self) -> None:
        """Checks that the question is complete and valid.

        Raises:
            ScenarioError: a value is wrong or missing.
        """
        if self.goal not in GOALS:
            raise _core.ScenarioError(unknown("goal", self.goal, list(GOALS)))
        rtt = self.spans.get("rtt")
        if rtt is not None and rtt.high * rtt.factor >= LONGEST_RTT_S:
            raise _core.ScenarioError(
                f"rtt: {rtt} is too long; a round trip must be shorter than {LONGEST_RTT_S:g} s"
            )
        if self.flows < 1:
            raise _core.ScenarioError("flows: at least 1 is needed")
        if self.link is None and len({"rate", "rtt"} & set(self.spans)) == 1:
            raise _core.ScenarioError(half_given(self.spans))
        if self.link is None and not {"rate", "rtt"} <= set(self.spans):
            raise _core.ScenarioError(
                'say which link: link ("geo", or a file), scenario (a file), rate ("20 Mbit/s") with rtt '
                '("600 ms"), measured (files), or timeline (a file with both in it)'
            )
        if self.whole and (self.spans or self.timeline or self.flows != 1 or self.competing):
            raise _core.ScenarioError(
                "a scenario is played as it stands; rate, rtt, per, ber, buffer, timeline, flows and "
                "competing need a link"
            )
        self.alone(_CUBIC, 0, 1.0).check()

    @property
    def title(self) -> str:
        """The question in a few words: "vsat, 20 flows", "20 Mbit/s, 600 ms, per 1e-4"."""
        said = [str(v) if name in ("rate", "rtt") else f"{name} {v}" for name, v in self.spans.items()]
        parts = [self.name, *said]
        parts += [f"time line {Path(self.timeline).name}"] if self.timeline is not None else []
        parts += [f"{self.flows} flows"] if self.flows > 1 else []
        parts += [f"relay {self.relay}"] if self.relay is not None else []
        parts += [f"beside {count} of {cc}" for cc, count in self.competing]
        return ", ".join(part for part in parts if part) or "a link"

    @property
    def usual(self) -> bool:
        """Whether a link is asked about as it is, by its name and with all defaults."""
        return self == dataclasses.replace(Question(link=self.link, name=self.name), seed=self.seed)

    @cached_property
    def endless(self) -> bool:
        """Whether the flows always have data to send. If so, there is a long run as well as the start-up."""
        _, model = self.link_of(0)
        return model.traffic is None or (isinstance(model.traffic, Bulk) and model.traffic.size is None)

    @cached_property
    def line_s(self) -> float | None:
        """Length of the link's time line, seconds; None without one, or if it repeats."""
        base, _ = self.link_of(0)
        ends = [lasts(link.timeline) for link in base.links.values() if link.timeline is not None]
        return max((end for end in ends if end is not None), default=None)

    @property
    def whole_s(self) -> float | None:
        """Length of a run that plays the whole time line; None if there is none, or it is too long."""
        line_s = self.line_s
        return line_s if line_s is not None and line_s <= LONGEST_WHOLE_S else None

    @cached_property
    def handovers(self) -> bool:
        """Whether the path may have handovers."""
        base, _ = self.link_of(0)
        return any(
            link.timeline is not None or link.handover is not None or link.up is not None
            for link in base.links.values()
        )

    @cached_property
    def played(self) -> list[Flow]:
        """The flows of the runs of an algorithm alone; the first takes the algorithm."""
        return list(self.alone(_CUBIC, 0, 1.0).flows)

    @cached_property
    def judges(self) -> list[int]:
        """The numbers of those that are judged: of a whole scenario all that a controller steers."""
        return with_controllers(self.played) if self.whole else [0]

    @property
    def connections(self) -> int:
        """The number of judged connections; a source of many that come and go is one."""
        return sum(rows_of(self.played[i]) for i in self.judges)

    def judged(self, result: Mapping[str, Any]) -> JudgedFlows:
        """The judged flows of a run of an algorithm alone."""
        return JudgedFlows.of(self.played, result, self.judges)

    def judged_pair(self, result: Mapping[str, Any]) -> JudgedFlows:
        """The two flows of a run of an algorithm beside a rival."""
        return JudgedFlows.of(self._pair, result, (0, 1))

    @cached_property
    def _pair(self) -> list[Flow]:
        return list(self.beside(_CUBIC, "cubic", 0, 1.0).flows)

    @cached_property
    def payload(self) -> Payload:
        """The payload of the segments of the algorithm's flows; of the default controller's."""
        flow = self._written_out["flow"][0]
        payload, header = (int(flow[key].split()[0]) for key in ("mss", "header"))
        return Payload(payload, payload + header)

    @cached_property
    def _written_out(self) -> dict[str, Any]:
        """The scenario of a run, with its defaults."""
        found: dict[str, Any] = json.loads(self.alone(_CUBIC, 0, 1.0).to_json())
        return found

    @cached_property
    def blocked(self) -> list[Direction]:
        """The drop-tail queues in which the first flow's acknowledgements wait behind data of others."""
        first, *others = self.played
        if first.ack_path is not None:
            return []
        back = [opposite(way) for path in ways(first) for way in path]
        data = {
            way
            for flow in [*others, *([first] if first.both_ways else [])]
            for path in ways(flow)
            for way in path
        }

        def kind(way: Direction) -> str:
            link = self._written_out["link"][way[0]]
            return str((link if way[1] == "forward" else link["reverse"])["queue"]["kind"])

        return [way for way in dict.fromkeys(back) if way in data and kind(way) == "drop-tail"]

    @property
    def unplayed(self) -> list[Flow]:
        """The flows of the scenario that no run has: those with a controller after the first."""
        if self.whole or not isinstance(self.link, Scenario):
            return []
        return [flow for flow in self.link.flows if not is_datagrams(flow.traffic)][1:]

    def candidates(self, chosen: Sequence[Any]) -> tuple[list[Candidate], list[str]]:
        """The algorithms to judge, those in Linux first; and those left out, with the reasons.

        Args:
            chosen: names, "FILE.py:CLASS" or `Controller` subclasses; none for all that are registered. Those
                of the measured transfers are judged, too.
        """
        if chosen:
            every = [_candidate(one) for one in (*chosen, *RIVALS, *(cc for cc, _ in self.tests))]
            return list({one.id: one for one in every}.values()), []
        from bentpipe.machine.linux import MODULES

        likes = {} if self.handovers else _FOR_HANDOVERS
        left = {
            name: f"is {like} on a path that never changes hands, as this one."
            for name, like in likes.items()
        }
        left[_BY_HAND] = (
            "sends at the rate that its operator sets, whatever is lost; "
            f'--cc "{_BY_HAND} rate=8" plays one of 8 Mbit/s.'
        )
        known = [entry["id"] for entry in controllers() if entry["id"] not in left]
        ordered = [name for name in MODULES if name in known]
        candidates = [_candidate(name) for name in ordered + [n for n in known if n not in MODULES]]
        return candidates, [f"{find(name)['label']} {why}" for name, why in left.items()]

    def alone(self, one: Candidate, n: int, duration_s: float) -> Scenario:
        """Run `n` of the algorithm's flows on the link, beside the competing ones if there are any."""
        base, model = self.link_of(n)
        rivals = [
            dataclasses.replace(model, cc=cc, count=count, name=f"competing-{i}", start_jitter=_JITTER)
            for i, (cc, count) in enumerate(self.competing)
        ]
        flow = dataclasses.replace(model, cc=one.cc, name="asked")
        if not self.whole:
            flow.count = self.flows
            if self.flows > 1 or rivals:
                flow.start_jitter = model.start_jitter or _JITTER
        return self._play(base, [flow, *rivals], n, duration_s, record=True)

    def cured(self, one: Candidate, n: int, duration_s: float) -> Scenario:
        """The same with `CURE` in place of the queues that are `blocked`."""
        found = self.alone(one, n, duration_s)
        for name, direction in self.blocked:
            link = found.links[name]
            if direction == "forward":
                link.queue = {"kind": CURE}
            else:
                link.reverse = {**(link.reverse or {}), "queue": {"kind": CURE}}
        return found

    def beside(self, one: Candidate, rival: str, n: int, duration_s: float) -> Scenario:
        """Run `n` of one flow of the algorithm and one of the rival."""
        base, model = self.link_of(n, others=False)
        flows = [
            dataclasses.replace(model, cc=cc, name=name, count=None, traffic=None, start_jitter=_JITTER)
            for cc, name in ((one.cc, "asked"), (rival, "rival"))
        ]
        return self._play(base, flows, n, duration_s, record=True)

    def file(self, one: Candidate, n: int, duration_s: float) -> Scenario:
        """Run `n` of one file on an idle link."""
        base, model = self.link_of(n, others=False)
        flow = dataclasses.replace(model, cc=one.cc, name="asked", count=None, traffic=Bulk(FILE))
        return self._play(base, [flow], n, duration_s)

    def link_of(self, n: int, *, others: bool = True) -> tuple[Scenario, Flow]:
        """The link of run `n`, and the flow that all others are modelled on."""
        link = self.link if self.link is not None else Link(rate="1 Mbit/s", delay="1 ms")
        base, model = base_and_model(copy.deepcopy(link), whole=self.whole and others)
        values: dict[str, Any] = {
            name: float(value) if name in ("ber", "per") else value for name, value in self._values(n).items()
        }
        change(base, LinkSpec(**values, timeline=self.timeline))
        for link in base.links.values():
            if not self.whole:
                open_ends.vary(link, n, **self.opened)
        if self.relay is not None:
            way, *more = relays(self.relay, model)
            if more:
                raise _core.ScenarioError(f"relay: {self.relay}: advise takes one; compare takes several")
            model = dataclasses.replace(model, relay=way)
        if (draw := self._draw(n)) is not None:
            (only,) = base.links.values()
            only.loss = list(draw.losses) or None
            if draw.buffer is not None:
                only.queue = {"kind": draw.queue, "limit": draw.buffer}
            if draw.load is not None:
                (name,) = base.links
                base.flows.append(draw.load.flow(name, draw.rate_bps))
        return base, dataclasses.replace(model, stop=None)

    @property
    def opened(self) -> dict[str, bool]:
        """What varies over a link that is drawn, if nobody gave it: `buffer` and `loss`."""
        return {"buffer": "buffer" not in self.spans, "loss": not {"per", "ber"} & self.spans.keys()}

    def _draw(self, n: int) -> Draw | None:
        """The link of run `n` if measurements leave several possible."""
        return self.draws[n % len(self.draws)] if self.draws else None

    def _values(self, n: int) -> dict[str, str]:
        """The changes that run `n` makes to the link, as texts of a scenario."""
        if (draw := self._draw(n)) is not None:
            return draw.values()
        unknown_spans = [span for span in self.spans.values() if not span.known]
        shares = dict(zip((s.name for s in unknown_spans), points(len(unknown_spans), n), strict=True))
        return {name: span.at(shares.get(name, 0.0)) for name, span in self.spans.items()}

    def _play(
        self, base: Scenario, flows: list[Flow], n: int, duration_s: float, *, record: bool = False
    ) -> Scenario:
        wanted = Record(f"{round(duration_s * 1e9 / _ROWS)} ns", links=True) if record else None
        for link in base.links.values():
            _open_window(link, n, duration_s)
        return dataclasses.replace(
            base,
            flows=[*flows, *base.flows],
            seed=self.seed + n,
            duration=f"{duration_s:.9g} s",
            record=wanted,
        )


def _open_window(link: Link, n: int, duration_s: float) -> None:
    """Lets run `n` begin somewhere in a time line that is longer than the run, for all algorithms alike."""
    end_s = None if link.timeline is None else lasts(link.timeline)
    if end_s is None or end_s <= duration_s:
        return
    table = dict(link.timeline) if isinstance(link.timeline, dict) else {"file": str(link.timeline)}
    begin_s = seconds(table["offset"], "offset") if "offset" in table else 0.0
    (share,) = points(1, n)
    table["offset"] = f"{round(1e3 * (begin_s + share * (end_s - duration_s)))} ms"
    link.timeline = table


def _candidate(given: Any) -> Candidate:
    cc = named_algorithm(given)
    named = _named(cc)
    own = isinstance(cc, dict) and len(cc) > 1
    return Candidate(named["label"] if own else named["cc"], named["label"], cc)
