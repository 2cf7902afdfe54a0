//! Prints the bits of scenarios, a line of JSON for each file: `cargo run --release --bin bits -- FILE...`
//!
//! `make web-check` compares the lines with those of the same simulator as WebAssembly. It is no example,
//! since those are built with all that tests need.

use std::path::Path;

use bentpipe_web::{bits, files};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for argument in std::env::args().skip(1) {
        let path = Path::new(&argument);
        // Scenarios name files beside themselves, and a page has them by these names, too.
        for beside in std::fs::read_dir(path.parent().unwrap_or(Path::new(".")))? {
            let file = beside?.path();
            if file.extension().is_some_and(|end| end == "csv") {
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                files::give(&name, std::fs::read(&file)?);
            }
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        println!("{}", bits::of(&std::fs::read_to_string(path)?, &name));
    }
    Ok(())
}
