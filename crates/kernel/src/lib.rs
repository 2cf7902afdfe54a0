//! Controllers of `bentpipe-cc` inside the TCP of the Linux kernel.
