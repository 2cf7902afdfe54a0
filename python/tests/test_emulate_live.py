"""The live page of an emulation: its numbers are those of the link and of the kernel's connections."""

from __future__ import annotations

import http.client
import json
import re
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from privilege import needs_root

from bentpipe.emulation.session import Emulation
from bentpipe.live.sources import EmulationSource, emulation_page
from bentpipe.machine.connections import Connections

SAT = {"link": {"sat": {"rate": "10 Mbit/s", "delay": "50 ms"}}}
SEND = (
    "import os, socket, sys; end = socket.create_connection((os.environ['BENTPIPE_PEER'], 7000));"
    "end.sendall(bytes(1_500_000)); end.shutdown(socket.SHUT_WR); end.recv(1); sys.exit(7)"
)

TAKE = "import socket\nend = socket.create_server(('', 7000)).accept()[0]\nwhile end.recv(65536): pass"


@needs_root
def test_connections_are_shown_as_the_kernel_has_them() -> None:
    with Emulation(SAT) as emulation:
        ends = {side: emulation.within(side, Connections) for side in emulation.sides}
        source = EmulationSource(emulation.snapshot, ends)
        assert not any(name.startswith("cwnd/") for name in source())
        # Of both families, as most servers are: the far end's addresses are then those of IPv4 in IPv6.
        with emulation.within("far", dual) as listener:
            near = emulation.within("near", lambda: socket.create_connection((emulation.peer, 7000), 20))
            with near, listener.accept()[0] as far:
                sending = threading.Thread(target=lambda: near.sendall(bytes(300_000)))
                sending.start()
                left = 300_000
                while left:
                    left -= len(far.recv(left))
                sending.join()
                while (said := ss(emulation)).count("unacked:"):  # the last acknowledgement is on its way
                    pass
                numbers = source()
                port = near.getsockname()[1]
        for end in ends.values():
            end.close()
        name = f"{port} → 7000"
        assert [key for key in numbers if key.startswith("cwnd/")] == [f"cwnd/{name}"]
        assert numbers[f"cwnd/{name}"] == int(re.findall(r"cwnd:(\d+)", said)[0])
        assert numbers[f"rtt/{name}"] == pytest.approx(float(re.findall(r" rtt:([\d.]+)", said)[0]) / 1e3)
        assert numbers[f"rtt/{name}"] >= 0.1
        assert numbers["rate"] > 0 and numbers["back"] > 0 and numbers["lost"] == 0
        assert {chart.label.split(",")[0] for chart in emulation_page("sat").charts} >= {
            "rate",
            "queue",
            "smoothed RTT",
        }


def dual() -> socket.socket:
    return socket.create_server(("::", 7000), family=socket.AF_INET6, dualstack_ipv6=True)


def ss(emulation: Emulation) -> str:
    with emulation.popen(["ss", "-tinH"], stdout=subprocess.PIPE, text=True) as process:
        return str(process.communicate(timeout=20)[0])


@needs_root
def test_the_verb_serves_the_page_until_its_command_ends(tmp_path: Path) -> None:
    file = tmp_path / "sat.json"
    file.write_text(json.dumps(SAT))
    verb = [sys.executable, "-m", "bentpipe", "emulate", str(file)]
    served = ["--serve", f'{sys.executable} -c "{TAKE}"', "--", sys.executable, "-c", SEND]
    command = [*verb, "--web", "127.0.0.1:0", *served]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        assert said.endswith("/ shows the link while the command runs\n")
        address = said.split()[0].removeprefix("http://").rstrip("/")
        connection = http.client.HTTPConnection(address, timeout=20)
        connection.request("GET", "/events")
        answer = connection.getresponse()
        rows: list[dict[str, Any]] = []
        kind = ""
        while line := answer.readline().decode().strip() or kind != "end":
            if isinstance(line, str) and line.startswith("event: "):
                kind = line.removeprefix("event: ")
            elif isinstance(line, str) and line.startswith("data: ") and kind == "row":
                rows.append(json.loads(line.removeprefix("data: "))[1])
        connection.close()
        process.communicate(timeout=20)
        assert process.returncode == 7
    assert max(row.get("forward/rate", 0) for row in rows) > 1e6
    windows = [value for row in rows for name, value in row.items() if name.startswith("cwnd/")]
    assert windows and max(windows) >= 10
    refused = subprocess.run(
        [*verb, "--web", "0.0.0.0:8000", "--", "true"], capture_output=True, text=True, timeout=30
    )
    assert refused.returncode == 2 and refused.stderr.startswith(
        "bentpipe: --web 0.0.0.0:8000: the page is for"
    )
