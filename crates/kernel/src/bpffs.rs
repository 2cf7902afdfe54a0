//! The file system in which BPF objects are pinned.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Its usual place.
pub const USUAL: &str = "/sys/fs/bpf";

fn c_path(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))
}

/// Is `path` in a BPF file system?
pub fn is_bpffs(path: &Path) -> bool {
    let Ok(path) = c_path(path) else { return false };
    // SAFETY: all bits zero is a valid `statfs`.
    let mut about: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: a string that ends in zero, and a place for the answer.
    let done = unsafe { libc::statfs(path.as_ptr(), &raw mut about) };
    done == 0 && about.f_type == libc::BPF_FS_MAGIC
}

/// Makes sure that the directory `path` is in a BPF file system. Makes the directory, and mounts a file
/// system if needed, at `/sys/fs/bpf` if `path` is below it, else at `path` itself.
///
/// # Errors
/// One line that says what could not be done.
pub fn prepare(path: &Path) -> Result<(), String> {
    let usual = Path::new(USUAL);
    let line = |what: &str, error: io::Error| format!("{what}: {error}");
    let root = if path.starts_with(usual) { usual } else { path };
    if root == path && !path.exists() && !path.parent().is_some_and(is_bpffs)
        || root != path && !root.exists()
    {
        fs::create_dir_all(root)
            .map_err(|e| line(&format!("the directory {} cannot be made", root.display()), e))?;
    }
    let nearest = path.ancestors().find(|p| p.exists()).unwrap_or(root);
    if !is_bpffs(nearest) {
        let at = c_path(root).map_err(|e| line("the pins' directory", e))?;
        // SAFETY: strings that end in zero; no data.
        let done = unsafe { libc::mount(c"bpf".as_ptr(), at.as_ptr(), c"bpf".as_ptr(), 0, std::ptr::null()) };
        if done != 0 {
            let error = io::Error::last_os_error();
            return Err(line(&format!("a BPF file system cannot be mounted at {}", root.display()), error));
        }
    }
    fs::create_dir_all(path).map_err(|e| line(&format!("the directory {} cannot be made", path.display()), e))
}
