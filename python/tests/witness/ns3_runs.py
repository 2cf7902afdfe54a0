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
    ns.RngSeedManager.SetSeed(cell["seed"])
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


def main() -> int:
    """A process per run: ns-3 keeps its defaults and its addresses in global variables."""
    from ns import ns

    for cell in json.load(sys.stdin):
        child = os.fork()
        if child == 0:
            print(json.dumps({"bytes": run(ns, cell)}), flush=True)
            os._exit(0)
        if os.waitpid(child, 0)[1] != 0:
            print(json.dumps({"bytes": None}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
