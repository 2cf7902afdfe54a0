//! Controllers of `bentpipe-cc` inside the TCP of the Linux kernel.

#[cfg(feature = "bpf")]
mod elf_error;
