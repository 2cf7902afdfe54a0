"""The tables of the command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import terminal, units
from bentpipe.doctor import Check
from bentpipe.registry import GRADES, allowed
from bentpipe.result import LIMITS, Result

if TYPE_CHECKING:
    from bentpipe.studies.fit import Fit
    from bentpipe.studies.study import StudyResult

_WORDS = {
    "cwnd": "cwnd",
    "rwnd": "rwnd",
    "app": "app",
    "pacing": "pacing",
    "recovery": "recov",
    "timeout": "RTO",
}
_REASONS = (
    "congestion\nwindow",
    "receive\nwindow",
    "application",
    "pacing",
    "loss\nrecovery",
    "wait for\ntimeout",
)
"""The same in columns, in the order of `LIMITS`."""


def _reasons(limited: dict[str, float]) -> str:
    """The two greatest shares of a `limited` object, in words: "cwnd 81 %, recov 12 %"."""
    shares = sorted(limited.items(), key=lambda item: -item[1])
    return ", ".join(f"{_WORDS[what]} {100 * share:.0f}" for what, share in shares[:2] if share >= 0.005)


def show_run(result: Result) -> None:
    """Flows and links of one run."""
    console = terminal.console()
    data = result.json
    title = terminal.named(result.scenario.get("title") or "")
    console.print(
        f"{title + ': ' if title else ''}{units.digits(data['simulated_s'])} s simulated in "
        f"{data['wall_s']:.2f} s, seed {data['seed']}, {data['packets']:,} packets delivered",
        markup=False,
    )
    heads = [
        "<flow",
        "goodput\nMbit/s",
        "RTT p50\nms",
        "p95\nms",
        "lost\n%",
        "retr.\n%",
        "RTOs",
        "cwnd\nmean",
    ]
    finite = any(flow["completion_s"] is not None for flow in data["flows"])
    flows = terminal.table("", [*heads, *(["done\ns"] if finite else []), "<limited by\n% of time"])
    for flow in data["flows"][: terminal.MOST_ROWS]:
        sent = flow["sent_packets"] or 1
        cc = flow["cc"] or "cbr"
        name = flow["name"] if flow["name"].startswith(cc) else f"{flow['name']} ({cc})"
        done = flow["completion_s"]
        flows.add_row(
            terminal.named(name),
            units.digits(flow["goodput_bps"] / 1e6),
            units.milliseconds(flow["rtt_p50_s"]),
            units.milliseconds(flow["rtt_p95_s"]),
            units.percent(flow["dropped_packets"] / sent, 2),
            units.percent(flow["retransmitted_packets"] / sent, 2),
            str(flow["timeouts"]),
            f"{flow['cwnd_mean_segments']:.1f}",
            *([units.digits(done) if done is not None else "-"] if finite else []),
            _reasons(flow["limited"]),
        )
    console.print(flows)
    terminal.rest(terminal.MOST_ROWS, len(data["flows"]), "flows")
    links = terminal.table(
        "",
        [
            "<link",
            "rate",
            "used\n%",
            "packets",
            "lost in\nqueue",
            "lost to\nerrors",
            "queue\nmean",
            "queue\nmax",
        ],
    )
    for link in data["links"][: terminal.MOST_ROWS]:
        links.add_row(
            f"{terminal.named(link['name'])} {'->' if link['direction'] == 'forward' else '<-'}",
            units.rate(link["rate_bps"]),
            units.percent(link["utilisation"]),
            f"{link['delivered_packets']:,}",
            f"{link['dropped_queue']:,}",
            f"{link['dropped_error']:,}",
            f"{link['queue_mean_packets']:.1f}",
            f"{link['queue_max_packets']:.0f}",
        )
    console.print(links)
    terminal.rest(terminal.MOST_ROWS, len(data["links"]), "rows of links")


def show_comparison(rows: Sequence[dict[str, Any]], link: str) -> None:
    """Algorithms on one link, the fastest first: what each got, and what held each back."""
    console = terminal.console()
    repeated, several = rows[0]["runs"] > 1, rows[0]["flows"] > 1
    runs = f"mean of {rows[0]['runs']} runs, 95 % confidence" if repeated else "one run"
    flows = f", {rows[0]['flows']} flows at once" if several else ""
    heads = ["~algorithm", "goodput\nMbit/s"]
    heads += ["95 %\n+-"] if repeated else []
    heads += ["used\n%", "RTT p50\nms", "p95\nms", "lost\n%", "retr.\n%", "RTOs"]
    heads += ["Jain"] if several else []
    got = terminal.table(f"{link}: {runs}{flows}", heads)
    why = terminal.table(
        "Why not faster: % of time that a sender was held back by", ["~algorithm", *_REASONS]
    )
    for row in rows:
        got.add_row(
            row["label"],
            units.digits(row["goodput_bps"] / 1e6),
            *([units.digits(row["goodput_ci95_bps"] / 1e6, 2)] if repeated else []),
            units.percent(row["utilisation"]),
            units.milliseconds(row["rtt_p50_s"]),
            units.milliseconds(row["rtt_p95_s"]),
            units.percent(row["loss"], 2),
            units.percent(row["retransmitted"], 2),
            f"{row['timeouts']:.1f}" if repeated else f"{row['timeouts']:.0f}",
            *([f"{row['jain']:.3f}"] if several else []),
        )
        why.add_row(row["label"], *(units.percent(row[f"limited_{what}"]) for what in LIMITS))
    console.print(got)
    if repeated and all(row["goodput_ci95_bps"] == 0 for row in rows):
        console.print(
            "All runs of an algorithm are alike: nothing in this scenario is random.\n", style="dim"
        )
    console.print(why)


def show_algorithms(known: Sequence[dict[str, Any]]) -> None:
    """The registry."""
    console = terminal.console()
    shown = terminal.table("", ["<name", "<label", "<grade", "~what it is"])
    for entry in known:
        shown.add_row(entry["id"], entry["label"], entry["grade"], entry["about"])
    console.print(shown)
    console.print(
        "Grades: " + "; ".join(f"{g} {text}" for g, text in GRADES.items()) + ".", style="dim", markup=False
    )


def show_algorithm(entry: dict[str, Any]) -> None:
    """One entry of the registry."""
    console = terminal.console()
    console.print(f"{entry['label']} ({entry['id']})", style="bold", markup=False)
    console.print(entry["about"], markup=False)
    console.print(f"Source: {entry['source']}; {entry['reference']}", markup=False)
    console.print(f"Grade {entry['grade']}: {GRADES[entry['grade']]}.", markup=False)
    asked = [name.replace("_", " ") for name, on in entry["sender"].items() if on]
    console.print(f"Asks of the sender: {', '.join(asked) or 'nothing'}.", markup=False)
    if entry["refuses_hystart"]:
        console.print(f"Cannot start with HyStart++: {entry['refuses_hystart']}.", markup=False)
    if not entry["params"]:
        console.print("No parameters.")
        return
    shown = terminal.table("", ["<parameter", "<default", "~allowed", "<unit", "~what it does"])
    for param in entry["params"]:
        from_path = param["from_path"] == "BitErrorRate"
        shown.add_row(
            param["name"],
            _plain(param["default"]),
            _allowed(param),
            param["unit"] or "-",
            param["about"] + (" Taken from the path unless set." if from_path else ""),
        )
    console.print(shown)


def show_queues(known: Sequence[dict[str, Any]]) -> None:
    """The registry of queues."""
    shown = terminal.table("", ["<kind", "<label", "~what it is"])
    for entry in known:
        shown.add_row(entry["kind"], entry["label"], entry["about"])
    terminal.console().print(shown)


def show_queue(entry: dict[str, Any]) -> None:
    """One kind of queue."""
    console = terminal.console()
    console.print(f"{entry['label']} ({entry['kind']})", style="bold", markup=False)
    console.print(entry["about"], markup=False)
    console.print(f"Source: {entry['source']}; {entry['reference']}", markup=False)
    shown = terminal.table("", ["<key", "<default", "~values", "~what it does"])
    for key in entry["keys"]:
        default = "-" if key["default"] is None else _plain(key["default"])
        shown.add_row(key["name"], default, allowed(key), key["about"])
    console.print(shown)


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _allowed(param: dict[str, Any]) -> str:
    match param["kind"]:
        case "number":
            return f"{_plain(param['min'])} to {_plain(param['max'])}"
        case "flag":
            return "true, false"
        case _:
            return ", ".join(param["choices"])


def show_claims(title: str, claims: Sequence[dict[str, Any]], page: Path) -> None:
    """The claims of one study, and where its page is."""
    shown = terminal.table(title, ["<claim", "~paper", "<measured", "<95 % interval", "<verdict", "~note"])
    for claim in claims:
        shown.add_row(
            *(_cell(claim.get(key)) for key in ("id", "paper", "measured", "ci95", "verdict", "note"))
        )
    console = terminal.console()
    console.print(shown)
    console.print(f"page: {page}", markup=False, soft_wrap=True)


def show_counts(results: Sequence[StudyResult], page: Path) -> None:
    """How many claims of each study have each verdict, and where the page about all is."""
    verdicts = ("reproduced", "same order", "not reproduced")
    shown = terminal.table("All studies", ["<study", *verdicts, "runs", "packets"])
    for result in results:
        found = [claim["verdict"] for claim in result.claims]
        counts = (str(found.count(verdict)) for verdict in verdicts)
        shown.add_row(result.name, *counts, f"{result.runs:,}", f"{result.packets:,}")
    console = terminal.console()
    console.print(shown)
    console.print(f"page: {page}", markup=False, soft_wrap=True)


def show_fit(found: Fit, files: Sequence[Path]) -> None:
    """What a search found, how it was confirmed, what it did not try, and where that is written."""
    shown = terminal.table(found.study.title, ["~choices", "<seeds", "free choices", "checks that hold"])
    searched = f"1 to {found.seeds}"
    rows = [(searched, of) for of in found.search.front()] + [
        (of.seeds, of.tried) for of in found.confirmed if of.tried
    ]
    for seeds, of in rows:
        names = ", ".join(of.names) or "the base"
        shown.add_row(names, seeds, str(of.free), f"{of.held} of {of.checks}")
    console = terminal.console()
    console.print(shown)
    for said in (f"{len(found.search.tried)} combinations were tried.", *found.not_tried()):
        console.print(said, markup=False)
    for path in files:
        console.print(f"written to {path}", markup=False, soft_wrap=True)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return units.digits(value)
    if isinstance(value, list | tuple):
        return " to ".join(_cell(item) for item in value)
    return str(value)


def show_checks(checks: Sequence[Check]) -> None:
    """What works, what does not, and what to do about it."""
    shown = terminal.table("", ["<", "<what", "~found", "~for", "~to get it"])
    for check in checks:
        mark = "ok" if check.found else "MISSING" if check.needed else "absent"
        shown.add_row(
            mark, check.name, check.found or "-", check.purpose, "" if check.found else check.remedy
        )
    terminal.console().print(shown)
