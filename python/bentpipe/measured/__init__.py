"""Estimates of a link from measurements: rate, round-trip time, losses and buffer, each with a range.

    found = bp.measured.estimate(["ping.log", "upload.pcapng"])
    print(found)
    text = bp.measured.scenario_text(["ping.log", "upload.pcapng"])

The kind of a file follows from its content. docs/advise.md lists the kinds, and describes the
methods, and their errors against a known truth.
"""

from bentpipe.measured.link import Estimates, estimate, measured_files, scenario_text
from bentpipe.measured.quantities import Estimate

__all__ = ["Estimate", "Estimates", "estimate", "measured_files", "scenario_text"]
