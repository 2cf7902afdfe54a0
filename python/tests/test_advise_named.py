"""Which algorithms an answer names, and why: those of Linux, of measured transfers, and those to avoid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import bentpipe as bp
from bentpipe.advice import flags, schedule
from bentpipe.advice.question import Candidate, Question
from bentpipe.advice.trials import Trials
from bentpipe.measured.draws import Draw
from bentpipe.registry import find

MEASURED = Path(__file__).parent / "measured"
DOUBT = [0.3, 0.9, 0.95, 0.99, 0.46]
"""72 % in the mean; 0.5 lies in the interval."""


def answer(
    goodputs: Mapping[str, float], flagged: Mapping[str, Sequence[flags.Flag]], **more: Any
) -> bp.Advice:
    """An answer over measured links, with goodputs in Mbit/s that vary by a hundredth."""
    harm = more.pop("harm", {})
    some = {
        one: Trials(
            Candidate(one, find(one)["label"], one),
            {
                "goodput_bps": [rate * 1e6 * by for by in (0.99, 1.01, 1.0, 0.995, 1.005)],
                "harm_cubic": harm.get(one, [0.0] * 5),
            },
        )
        for one, rate in goodputs.items()
    }
    draws = [Draw(6e6, 0.56, None, (), "none", 0.0)]
    question = Question(link=bp.Link(rate="6 Mbit/s", delay="280 ms"), draws=draws, **more)
    return bp.Advice(
        question=question, plan=schedule.read("61x5x60s+5"), trials=some, asked=len(some),
        finalists=list(some), left={}, groups=[[one] for one in some if one not in flagged], flagged=flagged,
        assumptions=[], cut=[], command="", rtt_s=0.56,
    )  # fmt: skip


GOODPUTS = {"westwood": 4.93, "bbr": 4.66, "illinois": 3.7, "cubic": 2.04}
HARM = {"bbr": [flags.Flag("harm", "a CUBIC flow beside it loses 72 % of its goodput", "50 %")]}


def test_a_doubt_about_harm_protects_the_line_about_linux() -> None:
    found = answer(GOODPUTS, HARM, harm={"bbr": DOUBT}, tests=[("cubic", 2.04e6), ("bbr", 4.58e6)])
    assert (found.recommended, found.recommended_in_linux) == ("westwood", "illinois")
    assert not found.doubts, "the headline holds"
    said = found.sentences()
    assert said[0].startswith("Use ")
    (line,) = [one for one in said if one.startswith("Of what Linux itself has")]
    assert "Illinois is best so far: 3.7" in line and "BBR has 4.66" in line
    assert "it is not known whether a CUBIC flow beside it loses more than 50 %" in line
    assert found.to_dict()["doubtful_in_linux"] == ["bbr"]
    (line,) = [one for one in said if one.startswith("Your transfer by BBR")]
    assert "received 4.58 Mbit/s" in line and "is not recommended: it is not known whether" in line
    (line,) = [one for one in said if one.startswith("Your transfer by CUBIC")]
    assert "received 2.04 Mbit/s" in line and "is behind Westwood" in line
    assert found.to_dict()["measured"] == [
        {"cc": "cubic", "received_bps": 2.04e6},
        {"cc": "bbr", "received_bps": 4.58e6},
    ]


def test_certain_harm_decides_the_line_about_linux() -> None:
    found = answer(GOODPUTS, HARM, harm={"bbr": [0.7, 0.72, 0.75, 0.71, 0.72]})
    assert any(one.startswith("Of what Linux itself has, Illinois is best: 3.7") for one in found.sentences())
    assert found.to_dict()["doubtful_in_linux"] == []
    (line,) = [one for one in found.sentences() if one.startswith("Do not use")]
    assert line.startswith("Do not use BBR, good as it looks: it has 4.66"), "better than what Linux has"
    assert line.endswith("a CUBIC flow beside it loses 72 % of its goodput; the bound is 50 %.")


def test_what_is_open_is_not_called_forbidden() -> None:
    """The transfers were of others: BBR is named once, as the one that may be better."""
    said = answer(GOODPUTS, HARM, harm={"bbr": DOUBT}, tests=[("reno", 1.5e6)]).sentences()
    assert [one.startswith("Of what Linux itself has") for one in said if "BBR" in one] == [True]
    assert "Your transfer by Reno received 1.50 Mbit/s. No time was left to judge Reno." in said


def test_each_of_several_to_avoid_has_its_number_and_reason() -> None:
    slow = [flags.Flag("queue", "half of its packets wait 60 ms or more, CUBIC's 20", "50 ms")]
    found = answer(
        {"bbr": 44.0, "copa": 46.9, "hybla": 43.5, "scalable": 30.0, "cubic": 24.0},
        {"copa": slow, "hybla": slow, "scalable": slow},
    )
    (line,) = [one for one in found.sentences() if one.startswith("Do not use")]
    assert "Hybla (43.5" in line and "Copa (46.9" in line and "Scalable" not in line
    assert line.index("Hybla") < line.index("Copa"), "Linux has Hybla"
    assert "half of its packets wait 60 ms or more, CUBIC's 20; the bound is 50 ms" in line


def test_the_algorithms_of_measured_transfers_are_judged_whatever_is_asked() -> None:
    files = [MEASURED / f"geo-rural-{name}" for name in ("ping.log", "cubic-iperf3.json", "bbr-iperf3.json")]
    found = bp.advise(measured=files, cc=["westwood"], budget="3 s", plan="4x3x10s+3")
    assert {"cubic", "bbr", "westwood"} <= {row["cc"] for row in found.final_rows()}
    said = " ".join(found.sentences())
    assert "Your transfer by CUBIC received 22.0 Mbit/s." in said
    assert "Your transfer by BBR received 20.0 Mbit/s." in said
    assert len(found.trials["bbr"].of("harm_cubic")) == 3


def test_too_little_time_says_what_to_do() -> None:
    found = bp.advise("geo", plan="9x1x5s")
    assert found.too_little_time
    first = found.sentences()[0]
    assert first.startswith("Not yet known: ") and "--cc cubic,bbr,hybla" in first and "--budget" in first
    few = bp.advise("geo", cc=["hybla"], plan="3x1x5s").sentences()[0]
    assert few.startswith("Not yet known: ") and "--cc" not in few and "--budget" in few


@pytest.mark.parametrize(
    ("kind", "values", "text", "bound"),
    [
        ("queue", {"queue_p50_s": [0.06]}, "half of its packets wait 60 ms or more, CUBIC's 20", "50 ms"),
        (
            "loss",
            {"own_loss": [0.33]},
            "it drops 33 % of its packets at the queue after start-up, CUBIC 0.4 %",
            "2.0 %",
        ),
    ],
)
def test_a_flag_has_its_bound_and_its_window(
    kind: str, values: dict[str, list[float]], text: str, bound: str
) -> None:
    usual = {"queue_p50_s": [0.02], "own_loss": [0.004], "goodput_bps": [1e6], "cubic_bps": [1e6]}
    cubic = Trials(Candidate("cubic", "CUBIC", "cubic"), usual)
    other = Trials(Candidate("copa", "Copa", "copa"), usual | values)
    (flag,) = flags.flags(other, {"cubic": cubic, "copa": other}, shared=False)
    assert (flag.kind, str(flag)) == (kind, f"{text}; the bound is {bound}")
