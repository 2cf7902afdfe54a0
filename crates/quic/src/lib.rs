//! Controllers of `bentpipe-cc` under QUIC.
