"""TCP-STAR against TCP-J, WestwoodBR and NewReno (figures 6 to 11 of the paper)."""

from bentpipe.papers.tcp_star.measure import measure
from bentpipe.studies.study import paper

STUDY = paper(
    __name__,
    measure,
    title="TCP-STAR: throughput and fairness over a satellite link",
    citation=(
        "H. Obata, K. Ishida, S. Takeuchi, S. Hanasaki: TCP-STAR: TCP Congestion Control Method for "
        "Satellite Internet. IEICE Transactions on Communications E89-B(6), 2006. Section 4, figures 6 to 11."
    ),
    summary=(
        "One or more TCP flows over a satellite link of 10 Mbit/s and 250 ms one way, with bit errors or an "
        "outage of the ACKs. TCP-STAR adds an estimate of the bandwidth to Reno's window (LWC), goes to that "
        "estimate at a loss (CWS), and after a timeout probes whether only ACKs were lost (AEN). The paper "
        "claims a higher throughput than TCP-J, TCP-WestwoodBR and NewReno, and about the same fairness."
    ),
    previews=("figure-6",),
)
