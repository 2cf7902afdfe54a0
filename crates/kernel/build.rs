//! Compiles the BPF programs with clang, under the feature `bpf` only;
//! `src/objects.rs` embeds what comes out.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=bpf");
    println!("cargo:rerun-if-env-changed=CLANG");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let mut list = String::from("&[\n");
    if env::var_os("CARGO_FEATURE_BPF").is_some() {
        let clang = clang();
        for (kind, folder) in [("", "bpf"), ("native/", "bpf/native")] {
            for source in sources(Path::new(folder)) {
                let name = source.file_name().expect("a file").to_string_lossy().replace(".bpf.c", "");
                let object = out.join(format!("{}{name}.bpf.o", kind.replace('/', "-")));
                compile(&clang, &source, &object);
                writeln!(list, "({:?}, include_bytes!({object:?})),", format!("{kind}{name}"))
                    .expect("a string grows");
            }
        }
    }
    list.push(']');
    fs::write(out.join("objects.in"), list).expect("the build directory can be written");
}

/// The programs of a folder, in order of their names.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<_> = entries.filter(|path| path.to_string_lossy().ends_with(".bpf.c")).collect();
    found.sort();
    found
}

/// The first clang that there is.
fn clang() -> String {
    let asked = env::var("CLANG").ok();
    let names = asked.iter().map(String::as_str).chain([
        "clang", "clang-16", "clang-21", "clang-20", "clang-19", "clang-18", "clang-17", "clang-15",
        "clang-14",
    ]);
    let found = names
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success()));
    found.map(str::to_owned).unwrap_or_else(|| {
        panic!("clang is missing: the feature bpf of bentpipe-kernel compiles BPF programs. Install clang (Debian: clang-16 llvm-16), name one in CLANG, or build without the feature")
    })
}

fn compile(clang: &str, source: &Path, object: &Path) {
    // The headers of libbpf come with libbpf-sys.
    let headers = env::var("DEP_BPF_INCLUDE").expect("libbpf-sys tells where its headers are");
    let arch = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets it");
    let done = Command::new(clang)
        .args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Werror", "-Ibpf"])
        .arg(format!("-I{headers}"))
        // Where Debian keeps the asm/ of the kernel's headers.
        .arg(format!("-I/usr/include/{arch}-linux-gnu"))
        .arg("-c")
        .arg(source)
        .arg("-o")
        .arg(object)
        .output();
    let done = done.unwrap_or_else(|error| panic!("{clang} cannot be run: {error}"));
    assert!(
        done.status.success(),
        "{} does not compile:\n{}",
        source.display(),
        String::from_utf8_lossy(&done.stderr)
    );
    // Without debugging information an object is a tenth of its size; BTF stays. It works with it, too.
    let suffix = clang.rsplit_once("clang").map_or("", |(_, suffix)| suffix);
    for strip in [format!("llvm-strip{suffix}"), "llvm-strip".into()] {
        if Command::new(strip).arg("-g").arg(object).output().is_ok_and(|o| o.status.success()) {
            break;
        }
    }
}
