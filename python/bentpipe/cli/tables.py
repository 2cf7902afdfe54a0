"""Tables for the output of the command line."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from bentpipe import measures, stats, terminal, units
from bentpipe.document.relays import NONE
from bentpipe.measures import LOSSY
from bentpipe.registry import GRADES, allowed
from bentpipe.result import LIMITS, Result, each_once

if TYPE_CHECKING:
    from bentpipe.cli.doctor import CheckItem
    from bentpipe.comparison import Comparison
    from bentpipe.studies.chance import Chance
    from bentpipe.studies.fit import Fit
    from bentpipe.studies.show import Shown
    from bentpipe.studies.study import Study, StudyResult

GROUPED = 4
"""More flows of one source than these are one row, ..."""
_MANY_ROWS = 12
"""... where there are more rows than these."""
MOST_FLOWS = 40
"""Rows of flows and of links that `run` shows; beyond that a reader looks for the sum."""
MOST_PORTS = 15
"""Rows of the ports of a constellation that it shows, the busiest first."""
_WORDS = {"recovery": "recov", "timeout": "RTO"}
"""Limits with other names in a narrow column."""
Column = tuple[str, Callable[[Any], str]]
_LINKS: list[Column] = [
    ("<link", lambda of: f"{terminal.named(of['name'])} {'->' if of['direction'] == 'forward' else '<-'}"),
    ("rate", lambda of: "varies" if of["varies"] else units.rate(of["rate_bps"])),
    ("used\n%", lambda of: units.percent(of["utilisation"])),
    ("packets", lambda of: f"{of['delivered_packets']:,}"),
    ("lost in\nqueue", lambda of: f"{of['dropped_queue']:,}"),
    ("lost to\nerrors", lambda of: f"{of['dropped_error']:,}"),
    ("queue\nmean", lambda of: f"{of['queue_mean_packets']:.1f}"),
    ("queue\nmax", lambda of: f"{of['queue_max_packets']:.0f}"),
]
_VIDEO: list[Column] = [
    ("<video of", lambda of: terminal.named(of[0])),
    ("bitrate\nMbit/s", lambda of: units.digits(of[1]["bitrate_bps"] and of[1]["bitrate_bps"] / 1e6)),
    ("start-up\ns", lambda of: units.digits(of[1]["startup_s"])),
    ("played\ns", lambda of: units.digits(of[1]["played_s"])),
    ("stalls", lambda of: f"{of[1]['stalls']:,}"),
    ("stalled\ns", lambda of: units.digits(of[1]["stalled_s"])),
    ("switches", lambda of: f"{of[1]['switches']:,}"),
]
_REASONS = (
    "handshake",
    "congestion\nwindow",
    "receive\nwindow",
    "application",
    "pacing",
    "loss\nrecovery",
    "wait for\ntimeout",
)
"""The heads of the limits, in the order of `LIMITS`."""


def _reasons(limited: dict[str, float]) -> str:
    """The two greatest shares of a `limited` object, in words: "cwnd 81 %, recov 12 %"."""
    shares = sorted(limited.items(), key=lambda item: -item[1])
    return ", ".join(
        f"{_WORDS.get(what, what)} {100 * share:.0f}" for what, share in shares[:2] if share >= 0.005
    )


def show_run(result: Result) -> None:
    """Flows and links of one run."""
    console = terminal.console()
    data = result.json
    title = terminal.named(result.scenario.get("title") or "")
    console.print(
        f"{title + ': ' if title else ''}{units.digits(data['simulated_s'])} s simulated in "
        f"{data['wall_s']:.2f} s, seed {data['seed']}, {data['packets']:,} packets delivered",
    )
    finite = any(flow["completion_s"] is not None for flow in data["flows"])
    columns: list[Column] = [
        ("<flow", _flow_name),
        ("goodput\nMbit/s", lambda flow: units.digits(flow["goodput_bps"] / 1e6)),
        ("RTT p50\nms", lambda flow: units.milliseconds(flow["rtt_p50_s"])),
        ("p95\nms", lambda flow: units.milliseconds(flow["rtt_p95_s"])),
        ("lost\n%", lambda flow: units.percent(measures.lost([flow]), 2)),
        ("retr.\n%", lambda flow: units.percent(measures.resent([flow]), 2)),
        ("RTOs", lambda flow: str(flow["timeouts"])),
        ("cwnd\nmean", lambda flow: f"{flow['cwnd_mean_segments']:.1f}"),
        *([("done\ns", lambda flow: units.digits(flow["completion_s"]))] if finite else []),
        ("<limited by\n% of time", lambda flow: _reasons(flow["limited"])),
    ]
    rows = together(data["flows"])
    terminal.show_rows("", columns, rows[:MOST_FLOWS])
    terminal.rest(MOST_FLOWS, len(rows), "flows")
    if len(rows) < len(data["flows"]):
        terminal.line(
            "several flows in one row: sums of goodputs and counts, means of means, medians of medians, "
            "of p95 and p99 the 95th percentile; --json has each"
        )
    _show_together(data["flows"])
    _show_transfers(rows[:MOST_FLOWS], result.scenario)
    busiest = sorted(data["links"], key=lambda row: -row["utilisation"])
    shown = busiest if "network_flows" in data else data["links"]
    most = MOST_PORTS if "network_flows" in data else MOST_FLOWS
    links = [row | {"varies": _varies(result, row)} for row in shown[:most]]
    columns = _LINKS.copy()
    if any(_down(row, data["simulated_s"]) for row in links):
        columns.insert(3, ("up\ns", lambda of: _up(of, data["simulated_s"])))
    terminal.show_rows("", columns, links)
    terminal.rest(most, len(data["links"]), "ports" if "network_flows" in data else "rows of links")


def _varies(result: Result, row: dict[str, Any]) -> bool:
    """Whether the rate of a direction of a link changes during the run, by its keys or by its time line."""
    keys = result.scenario.get("link", {}).get(row["name"], {})
    own = (keys.get("reverse") or {}).get("rate") if row["direction"] == "reverse" else None
    line = keys.get("timeline")
    if own is not None or line is None:
        return isinstance(own or keys.get("rate"), list)

    from bentpipe import _core
    from bentpipe.timeline import read

    try:
        file = line if isinstance(line, str) else line.get("file")
        return file is None or "rate_bps" in read(file).columns
    except (OSError, _core.ScenarioError):  # a stored result; the file is gone
        return True


def together(flows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of flows, those of one source of more than `GROUPED` flows as one, if there are many rows.

    A source is what `count` repeats: "web-3/responses" is one of "web-*/responses". Sums stay sums, of 95th
    and 99th percentiles the 95th percentile is taken, of means the mean, of everything else the median.
    """
    if len(flows) <= _MANY_ROWS:
        return list(flows)
    sources: dict[tuple[str, Any], list[dict[str, Any]]] = {}
    for flow in flows:
        stem = re.sub(r"-\d+(?=/|$)", "-*", flow["name"], count=1)
        sources.setdefault((stem, flow["cc"]), []).append(flow)
    rows = []
    for (stem, _), of in sources.items():
        rows += of if len(of) <= GROUPED else [_one_row(stem.replace("-*", f" x {len(of)}"), of)]
    return rows


def _one_row(name: str, flows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Several flows as one row."""

    def of(key: str, values: list[Any]) -> Any:
        known = [value for value in values if value is not None]
        if isinstance(values[0], dict) or not known or isinstance(known[0], str):
            return values[0]
        if key in ("goodput_bps", "timeouts", "transfers", "completed") or key.endswith("_packets"):
            return sum(known)
        if "_p95" in key or "_p99" in key:
            return sorted(known)[math.ceil(0.95 * len(known)) - 1]
        return median(known)

    row = {key: of(key, [flow[key] for flow in flows]) for key in flows[0]}
    row["cwnd_mean_segments"] = math.fsum(flow["cwnd_mean_segments"] for flow in flows) / len(flows)
    if done := [flow for flow in flows if flow["completion_mean_s"] is not None]:
        whole = math.fsum(flow["completion_mean_s"] * flow["completed"] for flow in done)
        row["completion_mean_s"] = whole / sum(flow["completed"] for flow in done)
    shares = {key: math.fsum(flow["limited"][key] for flow in flows) / len(flows) for key in LIMITS}
    return {**row, "name": name, "limited": shares, "video": None}


def _down(link: dict[str, Any], simulated_s: float) -> bool:
    """Whether a direction of a link was down for a part of the run."""
    return bool(link.get("up_s", simulated_s) < simulated_s)


def _up(link: dict[str, Any], simulated_s: float) -> str:
    """How long a direction was up, beside the utilisation, which is of this time: "70 of 90"."""
    up_s = link.get("up_s", simulated_s)
    return f"{up_s:.4g} of {simulated_s:.4g}" if _down(link, simulated_s) else "all"


def _flow_name(flow: dict[str, Any]) -> str:
    cc = flow["cc"] or "cbr"
    return terminal.named(flow["name"] if flow["name"].startswith(cc) else f"{flow['name']} ({cc})")


def _show_together(flows: Sequence[dict[str, Any]]) -> None:
    """The TCP flows of each algorithm that has several, and all: their sum, and how evenly they share it."""
    sharing = [flow for flow in each_once(flows) if flow["cc"] not in (None, "cbr")]
    if len(sharing) < 2:
        return
    algorithms = list(dict.fromkeys(flow["cc"] for flow in sharing))
    each = {cc: [flow for flow in sharing if flow["cc"] == cc] for cc in algorithms}
    groups = {cc: of for cc, of in each.items() if len(of) > 1}
    if len(each) > 1:
        groups["all"] = sharing
    rows = []
    for cc, of in groups.items():
        goodputs = sorted(flow["goodput_bps"] / 1e6 for flow in of)
        spread = [goodputs[0], median(goodputs), goodputs[-1]]
        numbers = [units.digits(value) for value in (math.fsum(goodputs), *spread)]
        fair = f"{stats.jain(goodputs):.3f}"
        rows.append([terminal.named(cc), f"{len(of):,}", *numbers, fair, units.percent(measures.lost(of), 2)])
    sums = [f"{what}\nMbit/s" for what in ("sum", "least", "median", "most")]
    terminal.show_table("", ["<together", "flows", *sums, "Jain", "lost\n%"], rows)
    if measures.lives_differ(sharing):
        terminal.line(measures.LIVES)


_PIECES = {
    "connection": "connections",
    "burst": "bursts",
    "response": "responses",
    "page": "page loads",
    "segment": "video segments",
}
"""The names of transfers in the head of their table."""


_CALLS: list[Column] = [
    ("<call", lambda of: terminal.named(of[0]["name"])),
    ("packets", lambda of: f"{of[0]['transfers']:,}"),
    ("delay p50\nms", lambda of: units.milliseconds(of[1].delay_s[0])),
    ("p95\nms", lambda of: units.milliseconds(of[1].delay_s[1])),
    ("p99\nms", lambda of: units.milliseconds(of[1].delay_s[2])),
    ("jitter\nms", lambda of: units.milliseconds(of[1].jitter_s)),
    ("lost\n%", lambda of: units.percent(of[1].lost, 2)),
    ("R", lambda of: "-" if of[1].r is None else f"{of[1].r:.1f}"),
    ("MOS", lambda of: "-" if of[1].mos is None else f"{of[1].mos:.2f}"),
]


def _show_calls(flows: Sequence[dict[str, Any]], scenario: dict[str, Any]) -> None:
    """One-way delay and quality of calls, and of other sources that report on each packet."""
    from bentpipe.analysis.voice import quality

    sources = {str(flow.get("name")): flow.get("traffic") or {} for flow in scenario.get("flow", [])}
    found = []
    for flow in flows:
        if flow.get("transfer") == "packet":
            source = re.sub(r"-\d+$", "", flow["name"])
            of = quality(flow, sources.get(flow["name"]) or sources.get(source) or {})
            found += [] if of is None else [(flow, of)]
    if found:
        terminal.show_rows("", _CALLS, found)
    if any(of.r is not None for _, of in found):
        terminal.line(
            "delay: one way; jitter: its p99 less its p50; R and MOS: ITU-T G.107 (docs/workloads.md)"
        )


def _show_transfers(flows: Sequence[dict[str, Any]], scenario: dict[str, Any]) -> None:
    """Data that applications sent in pieces, the times of the pieces, and the playback of a video."""
    for piece, name in _PIECES.items():
        columns: list[Column] = [
            (f"<{name} of", lambda flow: terminal.named(flow["name"])),
            ("begun", lambda flow: f"{flow['transfers']:,}"),
            ("complete", lambda flow: f"{flow['completed']:,}"),
            ("mean\ns", lambda flow: units.digits(flow["completion_mean_s"])),
            ("p50\ns", lambda flow: units.digits(flow["completion_p50_s"])),
            ("p95\ns", lambda flow: units.digits(flow["completion_p95_s"])),
            ("p99\ns", lambda flow: units.digits(flow["completion_p99_s"])),
        ]
        sent = [flow for flow in flows if flow["transfers"] is not None and flow.get("transfer") == piece]
        if sent:
            terminal.show_rows("", columns, sent)
    _show_calls(flows, scenario)
    if seen := [(flow["name"], flow["video"]) for flow in flows if flow.get("video")]:
        terminal.show_rows("", _VIDEO, seen)


def comparison_latex(found: Comparison, link: str) -> str:
    """The first table of a comparison for LaTeX, with the rules of the package booktabs."""
    from bentpipe.pages.latex import booktabs

    title, heads, rows = _what_each_got(found, link)
    pairs = [head.lstrip("~").partition("\n")[::2] for head in heads]
    return booktabs(title, pairs, rows, left=[head.startswith("~") for head in heads])


def _what_each_got(found: Comparison, link: str) -> tuple[str, list[str], list[list[str]]]:
    """Title, heads and cells of a comparison's first table."""
    rows = found.rows
    repeated, several = max(row["runs"] for row in rows) > 1, rows[0]["flows"] > 1
    finite = any(row["completion_s"] is not None for row in rows)
    runs = f"mean of {rows[0]['runs']} runs, 95 % confidence" if repeated else "one run, so no interval"
    flows = f", {rows[0]['flows']} flows at once" if several else ""
    optional: list[tuple[bool, Column]] = [
        *((True, column) for column in _contender(rows)),
        (_grouped(rows), ("group", lambda row: str(row["group"]))),
        (True, ("goodput\nMbit/s", lambda row: units.digits(row["goodput_bps"] / 1e6))),
        (repeated, ("95 %\n+-", _half_width)),
        (finite, ("done\ns", _completion)),
        (True, ("used\n%", lambda row: units.percent(row["utilisation"]))),
        (True, ("RTT\nms", lambda row: units.milliseconds(row["rtt_p50_s"]))),
        (True, ("p95\nms", lambda row: units.milliseconds(row["rtt_p95_s"]))),
        (True, ("lost\n%", lambda row: f"{'! ' * row['lossy']}{units.percent(row['loss'], 2)}")),
        (True, ("retr.\n%", lambda row: units.percent(row["retransmitted"], 2))),
        (True, ("RTOs", lambda row: f"{row['timeouts']:.{int(repeated)}f}")),
        (several, ("Jain", lambda row: f"{row['jain']:.3f}")),
    ]
    columns = [column for shown, column in optional if shown]
    got = [[cell(row) for _, cell in columns] for row in rows]
    heads = [head for head, _ in columns]
    return f"{terminal.named(link)}: {runs}{flows}", heads, got


def show_comparison(found: Comparison, link: str) -> None:
    """Algorithms on one link, the fastest group first: the goodput of each, and its limits."""
    rows = found.rows
    if not rows:
        return
    terminal.show_table(*_what_each_got(found, link))
    for text in _remarks(found, repeated=max(row["runs"] for row in rows) > 1):
        terminal.console().print(text, style="dim")
    held: list[Column] = [
        (head, lambda row, what=what: units.percent(row[f"limited_{what}"]))  # type: ignore[misc]
        for what, head in zip(LIMITS, _REASONS, strict=True)
        if any(row[f"limited_{what}"] >= 0.0005 for row in rows)  # long enough to be shown
    ]
    title = "Why not faster: % of time that a sender was held back by"
    terminal.show_rows(title, [*_contender(rows), *held], rows)


def _contender(rows: Sequence[dict[str, Any]]) -> list[Column]:
    """The columns of a comparison that identify a row: the algorithm, and the relay if any row has one."""
    found: list[Column] = [("~algorithm", lambda row: terminal.named(row["label"]))]
    if any(row["relay"] is not None for row in rows):
        found.append(("~relay\nsends by", lambda row: terminal.named(row["relay"] or NONE)))
    if any("buffer" in row for row in rows):
        found.append(("~buffer", lambda row: terminal.named(row["buffer"])))
    return found


def _grouped(rows: Sequence[dict[str, Any]]) -> bool:
    """Whether a comparison has groups: it has several runs, and they differ."""
    return any(row["group"] is not None for row in rows)


def _remarks(found: Comparison, *, repeated: bool) -> Iterator[str]:
    """Notes for a reader of a comparison."""
    rows = found.rows
    if len(rows) > 1 and _grouped(rows):
        yield "Within a group no difference to its first is certain (Holm's correction, 95 %)."
    if repeated and all(row["goodput_high_bps"] == row["goodput_low_bps"] for row in rows):
        yield (
            "All runs of an algorithm are alike: nothing in this scenario is random. So there is nothing to "
            "test, and there are no groups."
        )
    yield from found.notes
    if any(row["lossy"] for row in rows):
        yield f"! loses more than {100 * LOSSY:.0f} % of its packets: fast or not, it costs others."
    if down := [row["up"] for row in rows if row["up"] < 1]:
        share = units.percent(fmean(down))
        yield f"used: of what the link can carry while it is up, which is {share} % of the time."
    if any(row["completed"] not in (None, 1.0) for row in rows):
        yield "done: mean time of the transfers that were completed, and their share if some were not."


def _half_width(row: dict[str, Any]) -> str:
    """Half the interval, of the one that was cut at 0, too; "alike" if all runs gave the same."""
    if row["goodput_low_bps"] is None:
        return "-"
    half = (row["goodput_high_bps"] - row["goodput_low_bps"]) / 2
    return "alike" if half == 0 else units.digits(half / 1e6, 2)


def _completion(row: dict[str, Any]) -> str:
    if row["completion_s"] is None:
        return "-"
    share = "" if row["completed"] == 1 else f" ({units.percent(row['completed'], 0)} %)"
    return units.digits(row["completion_s"]) + share


def show_algorithms(known: Sequence[dict[str, Any]]) -> None:
    """The registry."""
    rows = [[entry["id"], entry["label"], entry["grade"], entry["about"]] for entry in known]
    terminal.show_whole("", ["<name", "<label", "<grade", "~what it is"], rows)
    terminal.console().print(
        "Grades: " + "; ".join(f"{g} {text}" for g, text in GRADES.items()) + ".", style="dim"
    )


def show_algorithm(entry: dict[str, Any]) -> None:
    """One entry of the registry."""
    console = terminal.console()
    console.print(f"{entry['label']} ({entry['id']})", style="bold")
    console.print(entry["about"])
    console.print(f"Source: {entry['source']}; {entry['reference']}")
    console.print(f"Grade {entry['grade']}: {GRADES[entry['grade']]}.")
    asked = [name.replace("_", " ") for name, on in entry["sender"].items() if on]
    console.print(f"Asks of the sender: {', '.join(asked) or 'nothing'}.")
    if entry["queue"]:
        header = f"{entry['header']} bytes of header" if entry["header"] else "no byte of its own"
        words = f"Needs a queue of kind {entry['queue']} on its path; {header} on the wire."
        console.print(words)
    if entry["refuses_slow_start"]:
        console.print(f"Cannot start by another slow_start: {entry['refuses_slow_start']}.")
    if entry["probes"]:
        names = ", ".join(probe["name"] for probe in entry["probes"])
        console.print(f"Probes, which record.probes records: {names}.")
    if not entry["params"]:
        console.print("No parameters.")
        return
    from_path = " Taken from the path unless set."
    columns: list[Column] = [
        ("<parameter", lambda param: param["name"]),
        ("<default", lambda param: _plain(param["default"])),
        ("~allowed", _allowed),
        ("<unit", lambda param: param["unit"] or "-"),
        ("~what it does", lambda param: param["about"] + from_path * (param["from_path"] == "BitErrorRate")),
    ]
    terminal.show_rows("", columns, entry["params"])


def show_queues(known: Sequence[dict[str, Any]]) -> None:
    """The registry of queues."""
    rows = [[entry["kind"], entry["label"], entry["about"]] for entry in known]
    terminal.show_whole("", ["<kind", "<label", "~what it is"], rows)


def show_queue(entry: dict[str, Any]) -> None:
    """One kind of queue."""
    console = terminal.console()
    console.print(f"{entry['label']} ({entry['kind']})", style="bold")
    console.print(entry["about"])
    console.print(f"Source: {entry['source']}; {entry['reference']}")
    rows = [
        [key["name"], "-" if key["default"] is None else _plain(key["default"]), allowed(key), key["about"]]
        for key in entry["keys"]
    ]
    terminal.show_table("", ["<key", "<default", "~values", "~what it does"], rows)


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
    """The claims of one study, and the path of its page."""
    keys = ("id", "paper", "measured", "ci95", "verdict", "note")
    rows = [[_cell(claim.get(key)) for key in keys] for claim in claims]
    heads = ["<claim", "~paper", "<measured", "<95 % interval", "<verdict", "~note"]
    terminal.show_whole(title, heads, rows)
    terminal.line(f"page: {page}")


def show_counts(results: Sequence[StudyResult], page: Path) -> None:
    """The number of claims of each study with each verdict, and the path of the page about all."""
    from bentpipe.studies.claim import COUNTED

    verdicts = list(map(str, COUNTED))
    rows = []
    for result in results:
        found = [claim["verdict"] for claim in result.claims]
        counts = (str(found.count(verdict)) for verdict in verdicts)
        rows.append([result.name, *counts, f"{result.runs:,}", f"{result.packets:,}"])
    terminal.show_whole("All studies", ["<study", *verdicts, "runs", "packets"], rows)
    terminal.line(f"page: {page}")


def show_places(study: Study) -> None:
    """The figures and tables of a paper, and our version of each."""
    rows = []
    for place in study.places():
        here = place.option if place.given else f"none: {place.why}"
        rows.append([place.title, place.shows, here, ", ".join(place.claims)])
    heads = ["<figure or table", "~what it shows", "~here", "~judged by"]
    terminal.show_whole(study.title, heads, rows)
    terminal.console().print(f"bentpipe study show {study.name} OPTION gives one of them")


def show_shown(of: Shown, files: Sequence[Path]) -> None:
    """The contents of a figure or table, the paper's numbers for it, and its path."""
    console = terminal.console()
    for said in (of.title, of.caption, of.source):
        console.print(said)
    rows = []
    for claim in of.claims:
        for check in claim["checks"]:
            measured = (_cell(check[key]) for key in ("paper", "measured", "ci95"))
            holds = check["outcome"] + ("" if check["counted"] else " (not counted)")
            rows.append([claim["id"], check["what"], *measured, holds])
    if of.claims:
        terminal.show_whole("", ["<claim", "~check", "~paper", "ours", "95 % interval", "<holds"], rows)
    for path in files:
        terminal.line(f"written to {path}")


def show_chances(found: Sequence[Chance], files: Sequence[Path]) -> None:
    """The probabilities of the claims of some papers, and the paths of the files."""
    rows = [
        [
            *(of.study, of.claim, of.reading, str(of.free), f"{of.held} of {of.checks}", of.verdict),
            *(of.verdict_from_1001, f"{of.reproduced} of {of.sets}"),
        ]
        for of in found
    ]
    heads = ["<paper", "<claim", "~under", "free", "checks", "<seeds from 1", "<from 1001", "reproduced"]
    terminal.show_whole("Sets of seeds that reproduce each claim", heads, rows)
    for path in files:
        terminal.line(f"written to {path}")


def show_fit(found: Fit, files: Sequence[Path]) -> None:
    """The result of a search, its confirmation, the combinations not tried, and the path of the page."""
    searched = f"1 to {found.seeds}"
    tried = [(searched, of) for of in found.search.front()] + [
        (of.seeds, of.tried) for of in found.confirmed if of.tried
    ]
    rows = [
        [", ".join(of.names) or "the base", seeds, str(of.free), f"{of.held} of {of.checks}"]
        for seeds, of in tried
    ]
    heads = ["~choices", "<seeds", "free choices", "checks that hold"]
    terminal.show_whole(found.study.title, heads, rows)
    console = terminal.console()
    for said in (f"{len(found.search.tried)} combinations were tried.", *found.not_tried()):
        console.print(said)
    for path in files:
        terminal.line(f"written to {path}")


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return units.digits(value)
    if isinstance(value, list | tuple):
        return " to ".join(_cell(item) for item in value)
    return str(value)


def show_checks(checks: Sequence[CheckItem]) -> None:
    """The state of each item, and the remedy if it does not work."""
    columns: list[Column] = [
        ("<what", lambda check: check.name),
        ("<", lambda check: "ok" if check.found else "MISSING" if check.needed else "absent"),
        ("~found", lambda check: check.found or "-"),
        ("~for", lambda check: check.purpose),
        ("~to get it", lambda check: "" if check.found else check.remedy),
    ]
    terminal.show_rows("", columns, checks)
