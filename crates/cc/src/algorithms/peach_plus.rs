//! TCP-Peach+: I. F. Akyildiz, X. Zhang, J. Fang: TCP-Peach+: Enhancement of TCP-Peach for Satellite IP
//! Networks, IEEE Communications Letters 6(7), 2002.
//!
//! Unit: segments. Valid where TCP-Peach is (`peach.rs`), for senders and receivers with SACK.
//!
//! Grade C: the letter could not be obtained. Its abstract and the description in the paper on A-LIAD
//! were used. NIL segments of low priority carry unacknowledged data, so that they repair losses while
//! they probe. Jump Start takes the place of Sudden Start, and Quick Recovery that of Rapid Recovery.
//! What would decide is the letter's pseudo code: which segments a NIL segment carries in which order,
//! and how Quick Recovery counts.
//!
//! Reconstruction: the rules, the counters and the decisions are those of TCP-Peach ([`Peach`]), which Jump
//! Start and Quick Recovery are said to improve by the payload. A NIL segment carries the oldest outstanding
//! segment that is not selectively acknowledged and was in no NIL segment before. When all were, it begins
//! anew ([`ExtraPayload::Unacknowledged`]). So a loss that is not repaired yet is repaired by the NIL
//! segments of a recovery or of the next one, if the path has room for them.

use crate::algorithms::peach::{Peach, RWND};
use crate::algorithms::prelude::*;
use crate::extra::ExtraPayload;

pub(crate) const ENTRY: Entry = Entry {
    id: "peach-plus",
    label: "TCP-Peach+",
    about: "TCP-Peach whose probing segments of low priority carry unacknowledged data, so that they repair losses too.",
    source: "I. F. Akyildiz, X. Zhang, J. Fang: TCP-Peach+: Enhancement of TCP-Peach for Satellite IP Networks, IEEE Communications Letters 6(7), 2002",
    reference: "doi:10.1109/LCOMM.2002.801317",
    grade: Grade::C,
    params: &[RWND],
    sender: SenderOptions::NONE,
    colour: "#4477aa",
    marker: "P",
    build: |args, start| Windowed::hosted(Peach::new(args, ExtraPayload::Unacknowledged, 0.0), start),
};
