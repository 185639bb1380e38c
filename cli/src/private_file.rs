//! Files that only their owner may read: keys, tokens, signed transactions. Each is written whole or not at all.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

const OWNER_ONLY: u32 = 0o600;
const FOLDER_OF_OWNER: u32 = 0o700;
/// Permissions of the group and of others.
const FOREIGN_BITS: u32 = 0o077;
/// Nothing that is read here is longer.
pub const MAX_BYTES: u64 = 1024 * 1024;

/// The name of a folder for something that a stranger names, such as the hash that a node says for its chain.
pub fn path_part(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).take(64).collect()
}

/// Makes the folder and those above it, for the owner alone.
pub fn create_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(FOLDER_OF_OWNER).create(path)
}

/// Replaces the file. It is on the disk when this returns.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = temporary_beside(path)?;
    let written = write_new_synced(&temporary, bytes).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written?;
    sync_folder_of(path)
}

/// Writes a file that must not exist yet.
pub fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = temporary_beside(path)?;
    // A link is made only if nothing has that name, and it names a whole file.
    let written = write_new_synced(&temporary, bytes).and_then(|()| fs::hard_link(&temporary, path));
    let _ = fs::remove_file(&temporary);
    written?;
    sync_folder_of(path)
}

/// Several processes may write the same file at the same time, so each has a name of its own first.
fn temporary_beside(path: &Path) -> io::Result<std::path::PathBuf> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        create_folder(folder)?;
    }
    let mut name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
    name.push(format!(".{}-{}.new", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
    Ok(path.with_file_name(name))
}

fn write_new_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(OWNER_ONLY).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

/// The whole file; `None` if there is none.
pub fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    file.take(MAX_BYTES.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > MAX_BYTES) {
        return Err(io::Error::other(format!("longer than {MAX_BYTES} bytes")));
    }
    Ok(Some(bytes))
}

/// Removes the file, if there is one.
pub fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Whether other users of the machine may read the file.
pub fn is_open_to_others(path: &Path) -> io::Result<bool> {
    Ok(fs::metadata(path)?.permissions().mode() & FOREIGN_BITS != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_for_its_owner_alone_and_replaced_whole() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("deep/er/file.json");
        for text in ["first", "second"] {
            write(&path, text.as_bytes()).expect("writes");
            assert_eq!(read(&path).expect("reads").as_deref(), Some(text.as_bytes()));
        }
        assert!(!is_open_to_others(&path).expect("file"));
        assert_eq!(fs::read_dir(path.parent().expect("folder")).expect("folder").count(), 1, "nothing else is left");
    }

    #[test]
    fn a_new_file_never_replaces_another() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("key.json");
        write_new(&path, b"mine").expect("writes");
        assert_eq!(write_new(&path, b"other").expect_err("exists").kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(read(&path).expect("reads").as_deref(), Some(b"mine".as_slice()));
        assert_eq!(fs::read_dir(folder.path()).expect("folder").count(), 1, "nothing else is left");
    }

    #[test]
    fn many_writers_at_once_leave_one_whole_file() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("shared.json");
        std::thread::scope(|scope| {
            for digit in 0..8_u8 {
                let path = &path;
                scope.spawn(move || (0..20).for_each(|_| write(path, &[digit; 4096]).expect("writes")));
            }
        });
        let bytes = read(&path).expect("reads").expect("a file");
        assert!(bytes.len() == 4096 && bytes.iter().all(|byte| *byte == bytes[0]));
    }

    #[test]
    fn a_missing_file_is_none_and_one_that_is_too_long_is_an_error() {
        let folder = tempfile::tempdir().expect("folder");
        assert_eq!(read(&folder.path().join("none")).expect("reads"), None);
        let path = folder.path().join("long");
        fs::write(&path, vec![0; 1024 * 1024 + 1]).expect("writes");
        assert!(read(&path).is_err());
    }

    #[test]
    fn what_a_stranger_names_does_not_lead_out_of_the_folder() {
        assert_eq!(path_part("../../etc/x"), "etcx");
        assert_eq!(path_part("/abs"), "abs");
        assert_eq!(path_part(&"a".repeat(99)).len(), 64);
    }
}
