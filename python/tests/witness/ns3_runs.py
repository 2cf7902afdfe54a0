"""Runs of ns-3, for a Python that has its bindings: cells come in as JSON, goodputs go out.

`ns3_grid.py` starts this file. It imports nothing of Bentpipe, because ns-3 may live in an environment of
its own.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def run(ns: Any, cell: dict[str, Any]) -> int:
    """Simulates host - router - router - host with one flow; bytes that reached the application."""
    text, number = ns.StringValue, ns.UintegerValue
    # Runs have independent streams; close seeds have not (they draw nearly the same numbers).
    ns.RngSeedManager.SetRun(cell["seed"])
    defaults = {
        "ns3::TcpL4Protocol::SocketType": text(cell["cc"]),
        "ns3::TcpSocket::SegmentSize": number(cell["mss"]),
        "ns3::TcpSocket::InitialCwnd": number(10),
        "ns3::TcpSocket::InitialSlowStartThreshold": number(cell["ssthresh"] * cell["mss"]),
        "ns3::TcpSocket::DelAckCount": number(1),
        "ns3::TcpSocket::SndBufSize": number(cell["window"] * cell["mss"]),
        "ns3::TcpSocket::RcvBufSize": number(cell["window"] * cell["mss"]),
        **{name: text(value) for name, value in cell["settings"].items()},
    }
    for name, value in defaults.items():
        ns.Config.SetDefault(name, value)
    hosts = ns.NodeContainer()
    hosts.Create(4)
    stack = ns.InternetStackHelper()
    stack.Install(hosts)
    links = []
    for i, (rate, delay_ns, room) in enumerate(cell["links"]):
        helper = ns.PointToPointHelper()
        helper.SetDeviceAttribute("DataRate", text(f"{rate}bps"))
        helper.SetChannelAttribute("Delay", text(f"{delay_ns}ns"))
        helper.SetQueue("ns3::DropTailQueue", "MaxSize", text(f"{room}p"))
        links.append(helper.Install(hosts.Get(i), hosts.Get(i + 1)))
    # The way back is not to lose anything, and a queue discipline would add a queue of its own.
    plain = ns.TrafficControlHelper()
    address = ns.Ipv4AddressHelper()
    for i, devices in enumerate(links):
        address.SetBase(ns.Ipv4Address(f"10.0.{i}.0"), ns.Ipv4Mask("255.255.255.0"))
        last = address.Assign(devices)
        plain.Uninstall(devices)
    if cell["per"] > 0.0:
        errors = ns.CreateObject[ns.RateErrorModel]()
        errors.SetUnit(ns.RateErrorModel.ERROR_UNIT_PACKET)
        errors.SetRate(cell["per"])
        links[1].Get(1).SetAttribute("ReceiveErrorModel", ns.PointerValue(errors))
    ns.Ipv4GlobalRoutingHelper.PopulateRoutingTables()
    here = ns.InetSocketAddress(ns.Ipv4Address.GetAny(), 5000).ConvertTo()
    there = ns.InetSocketAddress(last.GetAddress(1), 5000).ConvertTo()
    sinks = ns.PacketSinkHelper("ns3::TcpSocketFactory", here).Install(hosts.Get(3))
    source = ns.BulkSendHelper("ns3::TcpSocketFactory", there)
    source.SetAttribute("SendSize", number(cell["mss"]))
    source.Install(hosts.Get(0))
    ns.Simulator.Stop(ns.Seconds(cell["duration"]))
    ns.Simulator.Run()
    return int(sinks.Get(0).GetTotalRx())


def start(ns: Any, cell: dict[str, Any]) -> int:
    """A process for this run, because ns-3 keeps its defaults and its addresses in global variables.

    Returns the pipe on which it says the number of bytes, or nothing if it fails.
    """
    answer, say = os.pipe()
    if os.fork() == 0:
        os.close(answer)
        os.write(say, str(run(ns, cell)).encode())
        os._exit(0)
    os.close(say)
    return answer


def main() -> int:
    """Prints the answers in the order of the questions; the argument is the number of runs at a time."""
    from ns import ns

    cells, under_way = json.load(sys.stdin), []
    for n in range(len(cells) + int(sys.argv[1])):
        if n < len(cells):
            under_way.append(start(ns, cells[n]))
        if n >= int(sys.argv[1]) - 1 and under_way:
            with os.fdopen(under_way.pop(0)) as answer:
                said = answer.read()
            os.wait()
            print(json.dumps({"bytes": int(said) if said else None}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
