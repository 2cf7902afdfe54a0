"""The links and algorithms of the oracle."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Link:
    """A path of one queue, in the guest: three network namespaces in a row, the queue in the middle one.

    `rate_kbit` and `queue` (packets) are those of the data's direction; all of `rtt_ms` is on the way of the
    ACKs. Every `drop_every`-th packet is lost after the queue (0: none), and for `outage_s` (from, to) all.
    """

    name: str
    about: str
    rate_kbit: int
    rtt_ms: int
    queue: int
    seconds: float
    drop_every: int = 0
    outage_s: tuple[float, float] | None = None


LINKS = {
    link.name: link
    for link in (
        Link("short", "2 Mbit/s, RTT 30 ms, losses by a full queue of 30 packets", 2000, 30, 30, 6.0),
        Link("geo", "2 Mbit/s, RTT 300 ms, losses by a full queue of 40 packets", 2000, 300, 40, 10.0),
        Link("lossy", "4 Mbit/s, RTT 100 ms, every 300th packet lost", 4000, 100, 60, 5.0, drop_every=300),
        Link(
            "outage",
            "2 Mbit/s, RTT 100 ms, nothing passes from 3 s to 4 s",
            2000,
            100,
            60,
            7.0,
            outage_s=(3.0, 4.0),
        ),
    )
}


@dataclass(frozen=True)
class Module:
    """An algorithm of the kernel: its name there, the module's name, and the functions that it registers.

    Functions of the kernel proper (`tcp_reno_ssthresh`) are listed too where the algorithm uses them.
    """

    name: str
    module: str
    cong_avoid: str
    ssthresh: str
    pkts_acked: str = ""
    set_state: str = ""
    cwnd_event: str = ""
    in_ack_event: str = ""
    smoothed: bool = False
    """Whether it, or our controller of that name, reads the smoothed RTT. Then the table has it."""
    ticks: bool = False
    """Whether it counts the kernel's clock ticks. Then the table has them."""


_RENO = ("tcp_reno_cong_avoid", "tcp_reno_ssthresh")

MODULES = {
    module.name: module
    for module in (
        Module("reno", "", *_RENO),
        Module(
            "vegas",
            "tcp_vegas",
            "tcp_vegas_cong_avoid",
            "tcp_reno_ssthresh",
            "tcp_vegas_pkts_acked",
            "tcp_vegas_state",
            "tcp_vegas_cwnd_event",
        ),
        Module(
            "veno",
            "tcp_veno",
            "tcp_veno_cong_avoid",
            "tcp_veno_ssthresh",
            "tcp_veno_pkts_acked",
            "tcp_veno_state",
            "tcp_veno_cwnd_event",
        ),
        Module(
            "westwood",
            "tcp_westwood",
            *_RENO,
            "tcp_westwood_pkts_acked",
            "",
            "tcp_westwood_event",
            "tcp_westwood_ack",
            ticks=True,
        ),
        Module(
            "hybla", "tcp_hybla", "hybla_cong_avoid", "tcp_reno_ssthresh", "", "hybla_state", smoothed=True
        ),
        Module(
            "illinois",
            "tcp_illinois",
            "tcp_illinois_cong_avoid",
            "tcp_illinois_ssthresh",
            "tcp_illinois_acked",
            "tcp_illinois_state",
        ),
        Module(
            "htcp",
            "tcp_htcp",
            "htcp_cong_avoid",
            "htcp_recalc_ssthresh",
            "measure_achieved_throughput",
            "htcp_state",
            ticks=True,
        ),
        Module(
            "bic",
            "tcp_bic",
            "bictcp_cong_avoid",
            "bictcp_recalc_ssthresh",
            "bictcp_acked",
            "bictcp_state",
            ticks=True,
        ),
        Module("highspeed", "tcp_highspeed", "hstcp_cong_avoid", "hstcp_ssthresh"),
        Module("scalable", "tcp_scalable", "tcp_scalable_cong_avoid", "tcp_scalable_ssthresh"),
    )
}
