"""What a flow sends: kinds of traffic, and the laws by which sizes, lengths of time and numbers are drawn.

As in `bentpipe.models`, nothing is checked here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bentpipe.plain import Model


@dataclass(frozen=True)
class Bulk(Model):
    """A transfer that always has data to send: for ever, or `size` ("10 MB") of it."""

    kind = "bulk"
    size: str | None = None


@dataclass(frozen=True)
class Cbr(Model):
    """Unresponsive traffic at a constant bit rate, for background load.

    Args:
        rate: "1 Mbit/s".
        packet: size on the wire, "1000 bytes".
        on: length of an on period, "30 s"; without it the source is always on.
        off: length of an off period.
    """

    kind = "cbr"
    rate: str
    packet: str | None = None
    on: str | None = None
    off: str | None = None


@dataclass(frozen=True)
class Exponential(Model):
    """Sizes or lengths of time of an exponential law with this mean, "100 kB" or "5 s"."""

    kind = "exponential"
    mean: str


@dataclass(frozen=True)
class Pareto(Model):
    """Sizes of a Pareto law: many small ones, and few that hold most of the bytes.

    Args:
        least: the smallest size, "10 kB".
        shape: tail index; the mean is least * shape / (shape - 1) if that is above 1 and there is no bound.
        most: the largest size, for a bounded law.
    """

    kind = "pareto"
    least: str
    shape: float
    most: str | None = None


@dataclass(frozen=True)
class LogNormal(Model):
    """Sizes whose natural logarithm is normal.

    Args:
        median: "10 kB".
        sigma: standard deviation of the natural logarithm.
        least: the smallest size; what is drawn below it is drawn again.
        most: the largest size; what is drawn above it is drawn again.
    """

    kind = "log-normal"
    median: str
    sigma: float
    least: str | None = None
    most: str | None = None


@dataclass(frozen=True)
class SizeList(Model):
    """One of these sizes, drawn in proportion to its weight, or all equally often."""

    kind = "list"
    sizes: Sequence[str]
    weights: Sequence[float] | None = None


@dataclass(frozen=True)
class SizeFile(Model):
    """One of the sizes in a text file, one number of bytes per line, all equally often."""

    kind = "file"
    file: str | Path


Size = str | Exponential | Pareto | LogNormal | SizeList | SizeFile | dict[str, Any]
"""The payload of transfers: one size, or a law by which each is drawn."""

Length = str | Exponential | dict[str, Any]
"""Lengths of time: one, or a law by which each is drawn."""


@dataclass(frozen=True)
class ShortFlows(Model):
    """A new connection for each transfer, at the instants of a Poisson process; one row for all.

    Args:
        size: payload of each connection, "100 kB" or a law such as `Exponential("100 kB")`.
        per_second: connections a second on average. Either this or `load`.
        load: payload offered, as a part of the rate of the slowest link of the path.
    """

    kind = "short-flows"
    size: Size
    per_second: float | None = None
    load: float | None = None


@dataclass(frozen=True)
class OnOff(Model):
    """One connection on which an application sends, is silent, and so on.

    Args:
        off: how long it is silent, "5 s" or `Exponential("5 s")`.
        on: how long it sends as much as TCP carries. Either this or `size`.
        size: how much it sends at once, rounded up to whole segments; it is silent from the last
            acknowledgement on.
    """

    kind = "on-off"
    off: Length
    on: Length | None = None
    size: Size | None = None


@dataclass(frozen=True)
class Requests(Model):
    """One connection on which a client asks and a server answers, one request at a time.

    The path of the flow is that of the responses. Requests take the way of acknowledgements. The result has
    a row for each way, NAME/requests and NAME/responses.

    Args:
        response: payload of a response, "10 kB" or a law; several segments are all full ones.
        request: payload of a request, default "100 bytes".
        think: from the end of a response to the next request, "5 s" or a law. Either this or `every`.
        every: from one request to the next, which waits for the response before.
    """

    kind = "requests"
    response: Size
    request: str | None = None
    think: Length | None = None
    every: str | None = None


@dataclass(frozen=True)
class ParetoCount(Model):
    """Numbers of a Pareto law, less its smallest value; all above the bound counts as the bound.

    Args:
        least: the smallest value of the law, 2; so the smallest number is 0.
        shape: tail index, 1.1.
        most: the bound, 55; so the largest number is `most` - `least`.
    """

    kind = "pareto-count"
    least: float
    shape: float
    most: float


@dataclass(frozen=True)
class Web(Model):
    """A browser that loads one page after the other: a main object, and when that is parsed, all others.

    What is not given is the model of 3GPP2 C.R1002. The path of the flow is that of the responses. The result
    has a row for each way, NAME/requests and NAME/responses; the transfers of the latter are the pages.

    Args:
        main: payload of a main object; by default log-normal with a mean of 11 kB.
        objects: number of embedded objects, or a law; by default a Pareto law with a mean of 5.6.
        embedded: payload of an embedded object; by default log-normal with a mean of 8 kB.
        parsing: from the end of the main object to the requests for the others; by default exponential with a
            mean of "130 ms".
        reading: from the end of a page to the request for the next; by default exponential, mean "30 s".
        connections: most connections; with 1, the default, all embedded objects are asked for at once on the
            one connection (HTTP/2), with more each carries one object at a time (HTTP/1.1).
        request: payload of a request, default "350 bytes".
    """

    kind = "web"
    main: Size | None = None
    objects: int | ParetoCount | dict[str, Any] | None = None
    embedded: Size | None = None
    parsing: Length | None = None
    reading: Length | None = None
    connections: int | None = None
    request: str | None = None


@dataclass(frozen=True)
class Video(Model):
    """A player of adaptive video that chooses each segment's bitrate by the level of its buffer (BBA-0).

    The path of the flow is that of the video. The result has a row for each way, NAME/requests and
    NAME/responses; the transfers of the latter are the segments, and its columns `video_...` say how the
    video was seen.

    Args:
        ladder: the bitrates, least first; by default ten from "235 kbit/s" to "5800 kbit/s".
        segment: how much video a segment holds, default "4 s".
        buffer: most video that is kept, default "240 s"; the player is silent while it is full.
        reservoir: level up to which the least bitrate is chosen, default 3/8 of the buffer.
        cushion: how far above that the largest bitrate is chosen, default 21/40 of the buffer.
        startup: level from which it plays, at first and after a stall; default one segment.
        length: how much video there is; without it there is no end.
        request: payload of a request, default "350 bytes".
    """

    kind = "video"
    ladder: Sequence[str] | None = None
    segment: str | None = None
    buffer: str | None = None
    reservoir: str | None = None
    cushion: str | None = None
    startup: str | None = None
    length: str | None = None
    request: str | None = None


Traffic = Bulk | Cbr | ShortFlows | OnOff | Requests | Web | Video
"""Any kind of traffic."""
