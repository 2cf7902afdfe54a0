"""Metrics for node_exporter: they are in the text format, and promtool finds nothing wrong with them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from privilege import needs_root

from bentpipe.emulation import metrics as of_links
from bentpipe.io import prometheus
from bentpipe.io.prometheus import Metric
from bentpipe.kernel import metrics as of_kernel

SAMPLE = re.compile(
    r'([a-z_][a-z0-9_]*)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\[\\"n])*",?)+)\})? (-?[0-9.e+-]+|NaN)'
)
"""A sample in the text-based format 0.0.4, without a time."""

FLOW = {
    "local": "10.77.0.1:5001", "remote": "10.77.0.2:443", "cwnd_segments": 20, "ssthresh_segments": 2**31 - 1,
    "in_flight_segments": 18, "mss": 1448, "pacing_bps": 8_000_000, "srtt_s": 0.5, "rtt_min_s": 0.25,
    "delivered_bytes": 123_456, "orders": 7, "order_age_s": 0.125, "fallbacks": 1,
}  # fmt: skip
ATTACHED = [
    {
        "name": "bp_star", "cc": 'mine.py:"Mine"\\', "agent": "running", "reports": 100, "dropped_reports": 2,
        "latency": {"ack_to_applied_s": {"p50": 1e-4, "p90": None, "p99": 2e-3}}, "flows": [FLOW],
    },
    {"name": "bp_hybla", "cc": "hybla", "agent": "gone", "flows": None},
]  # fmt: skip
WAY = {
    "delivered_packets": 10, "delivered_bytes": 15_000, "dropped_queue": 1, "dropped_error": 2, "marked": 0,
    "queue_packets": 3, "queue_bytes": 4500,
    "lateness_p50_s": 1e-5, "lateness_p99_s": 1e-3, "lateness_max_s": 2e-3,
}  # fmt: skip


def parsed(text: str) -> dict[tuple[str, str], float]:
    """The samples by name and labels; each behind one HELP and one TYPE line of its metric."""
    found: dict[tuple[str, str], float] = {}
    told: dict[str, set[str]] = {}
    for line in text.splitlines():
        if line.startswith("# "):
            what, name = line.split()[1:3]
            assert what not in told.setdefault(name, set()), line
            told[name].add(what)
            continue
        match = SAMPLE.fullmatch(line)
        assert match is not None, line
        assert told[match[1]] == {"HELP", "TYPE"}
        assert (match[1], match[2] or "") not in found, "a sample twice"
        found[match[1], match[2] or ""] = float(match[3])
    assert text.endswith("\n")
    return found


def sound(path: Path) -> None:
    """What promtool says, where it is."""
    if (promtool := shutil.which("promtool")) is not None:
        command, text = [promtool, "check", "metrics"], path.read_bytes()
        told = subprocess.run(command, input=text, capture_output=True, check=False)
        assert (told.returncode, told.stdout, told.stderr) == (0, b"", b"")


def test_controllers_in_base_units(tmp_path: Path) -> None:
    place = tmp_path / "bentpipe.prom"
    prometheus.write(place, of_kernel.metrics(ATTACHED))
    found = parsed(place.read_text(encoding="utf-8"))
    of = r'controller="bp_star",cc="mine.py:\"Mine\"\\"'
    flow = 'controller="bp_star",local="10.77.0.1:5001",remote="10.77.0.2:443"'
    assert found["bentpipe_kernel_controller_up", of] == 1
    assert found["bentpipe_kernel_controller_up", 'controller="bp_hybla",cc="hybla"'] == 0
    assert found["bentpipe_kernel_reports_total", of] == 100
    assert found["bentpipe_kernel_flow_cwnd_bytes", flow] == 20 * 1448
    assert found["bentpipe_kernel_flow_pacing_bytes_per_second", flow] == 1e6
    assert found["bentpipe_kernel_flow_delivered_bytes_total", flow] == 123_456
    assert not [name for name, _ in found if "ssthresh" in name], "there is none yet"
    assert ("bentpipe_kernel_decision_latency_seconds", of + ',percentile="90"') not in found
    assert place.stat().st_mode & 0o777 == 0o644
    sound(place)


def test_ways_of_a_link(tmp_path: Path) -> None:
    place = tmp_path / "bentpipe.prom"
    snapshot: dict[str, Any] = {"t_s": 2.5, "forward": WAY, "reverse": WAY | {"marked": 4}, "relay": None}
    prometheus.write(place, of_links.metrics(snapshot, "geo"))
    found = parsed(place.read_text(encoding="utf-8"))
    assert found["bentpipe_emulation_marked_packets_total", 'link="geo",direction="reverse"'] == 4
    assert found["bentpipe_emulation_time_seconds", 'link="geo"'] == 2.5
    assert not [name for name, _ in found if "kept" in name or "relay" in name]
    sound(place)
    over = snapshot | {"kept_time": True, "exit_status": 7, "relay": {"connections": 3, "bytes": 9}}
    prometheus.write(place, of_links.metrics(over, "geo"))
    found = parsed(place.read_text(encoding="utf-8"))
    assert found["bentpipe_emulation_exit_status", 'link="geo"'] == 7
    assert found["bentpipe_emulation_relay_connections_total", 'link="geo"'] == 3
    sound(place)


def test_a_line_feed_in_a_text_is_escaped() -> None:
    metric = Metric("a_seconds", 'one\n"two"')
    metric.add(1.5, of="x\ny")
    assert list(metric.lines()) == [
        '# HELP bentpipe_a_seconds one\\n"two"',
        "# TYPE bentpipe_a_seconds gauge",
        'bentpipe_a_seconds{of="x\\ny"} 1.5',
    ]


@pytest.mark.parametrize("verb", [["kernel", "status"], ["emulate", "geo", "--", "true"]])
def test_a_name_that_node_exporter_does_not_read_is_refused(
    cli: Any, tmp_path: Path, verb: list[str]
) -> None:
    at = verb.index("--") if "--" in verb else len(verb)
    done = cli(*verb[:at], "--prometheus", tmp_path / "metrics.txt", *verb[at:])
    assert done.exit_code == 2
    assert "names that end in .prom" in done.stderr


@pytest.mark.root
@needs_root
def test_an_emulation_writes_its_metrics(cli: Any, tmp_path: Path) -> None:
    place = tmp_path / "geo.prom"
    done = cli("emulate", "geo", "--prometheus", place, "--quiet", "--", "ping", "-c", "2", "10.77.0.2")
    assert done.exit_code == 0, done.stderr
    found = parsed(place.read_text(encoding="utf-8"))
    assert found["bentpipe_emulation_delivered_packets_total", 'link="geo",direction="forward"'] >= 2
    assert found["bentpipe_emulation_exit_status", 'link="geo"'] == 0
    sound(place)
