//! Scripted tests, one per clause: what the peer sends, and what the sender or the receiver
//! must do at that instant.

mod script;

mod aen;
mod changing_window;
mod delayed_ack;
mod delivery_rate;
mod dsack;
mod ecn;
mod extra;
mod fast_retransmit;
mod fuzz;
mod growth;
mod handshake;
mod limited_transmit;
mod limits;
mod linux_acks;
mod newreno;
mod options;
mod pacing;
mod prr;
mod rack;
mod riding;
mod rto;
mod sack;
mod sack_blocks;
mod snack;
mod spurious;
mod tahoe;
mod timestamps;
mod tlp;
mod transfer;
mod window;
