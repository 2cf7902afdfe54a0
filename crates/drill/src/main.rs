//! Runs packetdrill scripts: `cargo run -p bentpipe-drill -- FILE_OR_FOLDER ...`.
//!
//! One line each, fields separated by tabs: `pass`, `differs`, `refused` or `unreadable`; the path,
//! below the folder given; the line, and what it says. Exit status 1 if a script differs or cannot be
//! read, 2 if a path cannot be.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bentpipe_drill::{Kind, Manner};

fn main() -> ExitCode {
    let paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if paths.is_empty() {
        eprintln!("what to run? scripts (*.pkt), or folders that hold some");
        return ExitCode::from(2);
    }
    let mut wrong = false;
    for path in &paths {
        let mut scripts = Vec::new();
        if let Err((place, error)) = collect(path, &mut scripts) {
            eprintln!("{}: {error}", place.display());
            return ExitCode::from(2);
        }
        scripts.sort();
        for script in &scripts {
            match report(script, path) {
                Ok(fine) => wrong |= !fine,
                Err(error) => {
                    eprintln!("{}: {error}", script.display());
                    return ExitCode::from(2);
                }
            }
        }
    }
    ExitCode::from(u8::from(wrong))
}

/// Every script at or below `path`.
fn collect(path: &Path, into: &mut Vec<PathBuf>) -> Result<(), (PathBuf, std::io::Error)> {
    let at = |error| (path.to_path_buf(), error);
    if !path.metadata().map_err(at)?.is_dir() {
        into.push(path.to_path_buf());
        return Ok(());
    }
    for entry in std::fs::read_dir(path).map_err(at)? {
        let entry = entry.map_err(at)?;
        let inner = entry.path();
        // A link could lead back to its own folder.
        if entry.file_type().map_err(at)?.is_dir() {
            collect(&inner, into)?;
        } else if inner.extension().is_some_and(|e| e == "pkt") {
            into.push(inner);
        }
    }
    Ok(())
}

/// Prints the result of `script`. Returns true unless it differs or cannot be read.
fn report(script: &Path, root: &Path) -> std::io::Result<bool> {
    let text = String::from_utf8_lossy(&std::fs::read(script)?).into_owned();
    let name = script.strip_prefix(root).ok().filter(|p| p.components().next().is_some()).unwrap_or(script);
    let (verdict, line, message) = match bentpipe_drill::run_as(&text, Manner::Lenient) {
        Ok(done) => {
            let passed_over =
                if done.skipped > 0 { format!(", {} passed over", done.skipped) } else { String::new() };
            let end = done.closed_at.map_or(String::new(), |line| format!(", up to line {line}"));
            ("pass", 0, format!("{} segments, {} assertions{passed_over}{end}", done.compared, done.asserted))
        }
        Err(error) => {
            let verdict = match error.kind {
                Kind::Syntax => "unreadable",
                Kind::Refused => "refused",
                Kind::Differs => "differs",
            };
            (verdict, error.line, error.message)
        }
    };
    println!("{verdict}\t{}\t{line}\t{}", name.display(), message.trim().replace(['\n', '\t'], " "));
    Ok(matches!(verdict, "pass" | "refused"))
}
