"""TCP Vegas-L by satellite (figures 4, 5 and 6 of the paper)."""

from bentpipe.papers.vegas_l.measure import measure
from bentpipe.studies.study import paper

STUDY = paper(
    __name__,
    measure,
    title="TCP Vegas-L by satellite",
    citation=(
        "L. Li, J. Zhu, N. He: TCP Vegas-L: An Adaptive End-to-End Congestion Control Algorithm over "
        "Satellite Communications. Section IV, figures 4 to 6."
    ),
    summary=(
        "Two TCP flows share a 5 Mbit/s satellite downlink for 1000 s. Flow 1, from Beijing to New York, is "
        "Vegas, Vegas-A, Veno or Vegas-L; flow 2, from Shanghai to Washington, is NewReno. The paper names "
        "no orbit; the satellite is geostationary here. Packets are lost at random at a low (1e-6) and a "
        "high (1e-3) rate. The paper claims that Vegas-L takes more than Vegas does, and shares better."
    ),
    previews=("figure-4",),
)
