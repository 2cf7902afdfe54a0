//! Compiles the native programs for the host.

fn main() {
    let programs = "../bpf/native";
    println!("cargo:rerun-if-changed={programs}");
    println!("cargo:rerun-if-changed=host.c");
    cc::Build::new()
        .file("host.c")
        .include(programs)
        .opt_level(2)
        .warnings(true)
        .flag_if_supported("-Wno-unused-parameter")
        .compile("bentpipe_native");
}
