"""A-LIAD, adaptive logarithmic increase and adaptive decrease (figures 1 and 5 to 13 of the paper)."""

from bentpipe.papers.a_liad.measure import measure
from bentpipe.studies.study import paper

STUDY = paper(
    __name__,
    measure,
    title="A-LIAD: adaptive logarithmic increase over a geostationary satellite",
    citation=(
        "M. Shin, M. Park, D. Oh, B. Kim, J. Lee: Adaptive Logarithmic Increase Congestion Control Algorithm "
        "for Satellite Networks. KSII Trans. Internet Inf. Syst. 8(8), 2014. Section 4, figures 1 and 5 to "
        "13."
    ),
    summary=(
        "One or six flows cross a bottleneck of 10 or 50 Mbit/s, over 25 to 600 ms, with and without random "
        "loss. The paper claims that A-LIAD starts fast without overshooting, hardly depends on the "
        "round-trip time, and withstands loss better than LIAD, NewReno, Westwood, CUBIC, BIC, Scalable and "
        "HighSpeed TCP."
    ),
    previews=("figure-10",),
)
