"""Setting of the sliders: a link and the algorithms on it."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from bentpipe.comparison import base_and_model
from bentpipe.models import DropTail, Link, PacketError, Record
from bentpipe.scenario import Scenario

#: Samples of a run: more than a chart has columns of pixels.
SAMPLES = 600
#: The values of the sliders.
RATES = (0.5, 1, 2, 5, 10, 20, 50, 100)
RTTS = (5, 10, 20, 30, 50, 75, 100, 150, 200, 300, 400, 500, 600, 700, 800, 1000, 1500)
LOSSES = (0, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
BUFFERS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8)
DURATIONS = (5, 10, 20, 30, 60, 120)
#: The scenario whose links the page shows in place of a link with sliders; `server.serve` sets it.
given: str | None = None


@dataclass(frozen=True)
class Setting:
    """A link with a drop-tail queue, and the algorithms on it: each alone, or all together.

    Attributes:
        link: a scenario, by name or file. Its links and its traffic without controllers are there in place of
            the link that rate, round trip, loss and buffer describe.
    """

    rate_mbps: float = 10
    rtt_ms: float = 600
    loss_percent: float = 0.01
    buffer_bdp: float = 1
    algorithms: Sequence[str] = ("cubic", "bbr", "reno")
    together: bool = False
    duration_s: float = 30
    seed: int = 1
    link: str | None = None

    def scenarios(self) -> list[Scenario]:
        """One scenario for each algorithm, or one with all of them."""
        if not self.algorithms:
            return []
        base, model = base_and_model(self._link() if self.link is None else self.link)
        base.duration, base.seed = f"{self.duration_s:g} s", self.seed
        base.record = Record(f"{1000 * self.duration_s / SAMPLES:g} ms", links=True)
        flows = [dataclasses.replace(model, cc=cc, name=cc, count=None) for cc in self.algorithms]
        parts = [flows] if self.together else [[flow] for flow in flows]
        return [dataclasses.replace(base, flows=[*part, *base.flows]) for part in parts]

    def _link(self) -> Link:
        return Link(
            rate=f"{self.rate_mbps:g} Mbit/s",
            delay=f"{self.rtt_ms / 2:g} ms",
            queue=DropTail(f"{self.buffer_bdp:g} bdp"),
            loss=PacketError(self.loss_percent / 100) if self.loss_percent else None,
        )

    def command(self) -> str:
        """The same over five seeds on the command line; empty for algorithms that are together."""
        if self.together or not self.algorithms:
            return ""
        link = f"geo --rate '{self.rate_mbps:g} Mbit/s' --rtt '{self.rtt_ms:g} ms' " + (
            f"--per {self.loss_percent / 100:g} --buffer '{self.buffer_bdp:g} bdp'"
        )
        return (
            f"bentpipe compare --link {link if self.link is None else shlex.quote(self.link)} "
            f"--for '{self.duration_s:g} s' --cc {','.join(self.algorithms)}"
        )
