//! Files that a user names. They are read as a whole, up to a limit, and never waited for.

use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::sync::OnceLock;

/// Gives the contents of the file of this name, or `None` if there is no such file.
pub type FileSource = dyn Fn(&Path) -> Option<Vec<u8>> + Send + Sync;

static SOURCE: OnceLock<Box<FileSource>> = OnceLock::new();

/// From now on `source` has all files, and the operating system none: a web page has no disk. Only the first
/// call has an effect.
pub fn read_files_by(source: Box<FileSource>) {
    _ = SOURCE.set(source);
}

/// Where Linux shows its own state as files. Some of them block until something happens, such as
/// `/proc/kmsg`.
const KERNEL: [&str; 2] = ["/proc", "/sys"];

/// Why a file was not read.
#[derive(Debug)]
pub enum FileError {
    /// The operating system refused.
    Io(io::Error),
    /// The file may not be read; says what is wrong, and what would be right.
    Refused(String),
}

impl From<io::Error> for FileError {
    fn from(error: io::Error) -> FileError {
        FileError::Io(error)
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileError::Refused(why) => f.write_str(why),
            FileError::Io(error) => match error.kind() {
                ErrorKind::NotFound => f.write_str("there is no such file; check the name"),
                ErrorKind::PermissionDenied => f.write_str("the file may not be read; check its permissions"),
                _ => write!(f, "the file cannot be read: {error}"),
            },
        }
    }
}

/// The bytes of a regular file of at most `limit` bytes.
///
/// No more is read than the size that the file reports. A file of the kernel, which may block a reader for
/// ever, mostly reports 0.
///
/// # Errors
/// A file that cannot be opened, is not a regular file, belongs to the kernel (`/proc`, `/sys`), or is
/// larger.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    let too_large =
        || FileError::Refused(format!("the file is larger than {} MiB; is it the right one?", limit >> 20));
    if let Some(source) = SOURCE.get() {
        let bytes = given(source, path)?;
        return if bytes.len() as u64 > limit { Err(too_large()) } else { Ok(bytes) };
    }
    let (file, size) = open(path)?;
    if size > limit {
        return Err(too_large());
    }
    first(file, size)
}

/// The first bytes of a regular file of any size, at most `limit`.
///
/// # Errors
/// As for [`read`].
pub fn head(path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    if let Some(source) = SOURCE.get() {
        let mut bytes = given(source, path)?;
        bytes.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        return Ok(bytes);
    }
    let (file, size) = open(path)?;
    first(file, size.min(limit))
}

/// The contents that a source has for a file.
fn given(source: &FileSource, path: &Path) -> Result<Vec<u8>, FileError> {
    source(path).ok_or_else(|| io::Error::from(ErrorKind::NotFound).into())
}

/// A regular file, and the size that it reports in bytes.
fn open(path: &Path) -> Result<(File, u64), FileError> {
    check_kind(&std::fs::metadata(path)?)?;
    // A file that was removed while open, which `/dev/stdin` may be, has no path.
    if path.canonicalize().is_ok_and(|place| KERNEL.iter().any(|root| place.starts_with(root))) {
        let why =
            "this is a file of the kernel, not one on a disk; copy what it shows to a file and name that";
        return Err(FileError::Refused(why.to_owned()));
    }
    let file = File::open(path)?;
    let kind = file.metadata()?;
    check_kind(&kind)?; // what was looked at may have been replaced
    Ok((file, kind.len()))
}

fn first(file: File, size: u64) -> Result<Vec<u8>, FileError> {
    let mut bytes = Vec::with_capacity(size as usize);
    file.take(size).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The text of a regular file of at most `limit` bytes; `Err` says in one line what is wrong with it.
pub(crate) fn text(path: &Path, limit: u64) -> Result<String, String> {
    let bytes = read(path, limit).map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count();
        format!("the file is not text in UTF-8: byte {} on line {line} is invalid; save it as UTF-8", at + 1)
    })
}

fn check_kind(kind: &Metadata) -> Result<(), FileError> {
    let wrong = match (kind.is_dir(), kind.is_file()) {
        (true, _) => "this is a directory; name a file in it",
        (_, true) => return Ok(()),
        // Opening a pipe without a writer would block for ever, and so may opening a device.
        _ => "this is a pipe, a socket or a device; name a file",
    };
    Err(FileError::Refused(wrong.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_the_kernel_is_refused_before_it_is_opened() {
        for name in ["/proc/version", "/proc/self/status", "/sys/kernel/mm/transparent_hugepage/enabled"] {
            if Path::new(name).exists() {
                let message = read(Path::new(name), 1 << 20).expect_err(name).to_string();
                assert!(message.contains("of the kernel"), "{name}: {message}");
            }
        }
    }

    #[test]
    fn a_file_may_be_as_large_as_the_limit_and_no_larger() {
        let path = std::env::temp_dir().join(format!("bentpipe-limit-{}", std::process::id()));
        std::fs::write(&path, [b'1'; 3]).expect("written");
        let found = (read(&path, 3).map_err(|e| e.to_string()), read(&path, 2).map_err(|e| e.to_string()));
        std::fs::remove_file(&path).expect("removed");
        assert_eq!(found.0, Ok(b"111".to_vec()));
        assert!(found.1.is_err_and(|message| message.contains("larger than 0 MiB")));
    }
}
