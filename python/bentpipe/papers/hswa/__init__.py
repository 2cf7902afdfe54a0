"""HSWA-TCP against SCPS-TP over GEO, MEO and LEO satellites (figures 1, 3 and 4 of the paper)."""

from bentpipe.papers.hswa.measure import measure
from bentpipe.studies.study import paper

STUDY = paper(
    __name__,
    measure,
    title="HSWA-TCP in high-speed satellite networks",
    citation=(
        "X. Ge, F. Y. Li, F. Reichert: An Enhanced TCP Congestion Avoidance Scheme and its Performance "
        "Evaluation in High Speed Satellite Networks. Section IV, figures 1, 3 and 4."
    ),
    summary=(
        "One TCP flow crosses a 100 Mbit/s satellite link at bit error rates from 1e-8 to 1e-5, with the "
        "round trips of GEO (500 ms), MEO (250 ms) and LEO (10 ms) orbits. HSWA-TCP lets the window grow by "
        "-10 lg(BER) packets per round trip where SCPS-TP, in its Vegas mode, grows by one. The paper claims "
        "7 to 66 times the throughput over GEO, and nearly the full rate over LEO."
    ),
    previews=("figure-3",),
)
