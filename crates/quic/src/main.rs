//! `bentpipe-quic`: see `docs/quic.md`.

fn main() -> std::process::ExitCode {
    bentpipe_quic::program::main()
}
