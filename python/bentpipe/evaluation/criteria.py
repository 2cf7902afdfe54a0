"""All criteria of the documents."""

from __future__ import annotations

from bentpipe.evaluation.criterion import DRAFT, RFC, Criterion
from bentpipe.evaluation.rfc9743 import RFC_9743
from bentpipe.evaluation.tcpeval import TCPEVAL

CRITERIA: tuple[Criterion, ...] = (*RFC_9743, *TCPEVAL)
"""All of them, in the order of the documents."""
TITLES = {
    RFC: "Specifying New Congestion Control Algorithms (BCP 133), 2025",
    DRAFT: "Common TCP Evaluation Suite, draft-irtf-iccrg-tcpeval-01, 2014",
}
"""The documents."""
