//! Files that only their owner may read: keys, tokens, signed transactions. Each is written whole or not at all.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

const FOLDER_OF_OWNER: u32 = 0o700;
/// Permissions of the group and of others.
const FOREIGN_BITS: u32 = 0o077;
/// The end of the name of a file that is not whole yet.
const TEMPORARY: &str = ".crtx-new";
const MOST_TRIES: usize = 100;
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
    temporary(folder_of(path), bytes)?.persist(path)?;
    sync_folder_of(path)
}

/// Writes a file that must not exist yet.
pub fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    temporary(folder_of(path), bytes)?.persist_noclobber(path)?;
    sync_folder_of(path)
}

/// A whole file under a name of its own in that folder, removed if it does not get another name.
///
/// The process holds a lock on it. A file of a process that was stopped meanwhile has no lock: the next one that writes
/// or removes a file there removes it.
fn temporary(folder: &Path, bytes: &[u8]) -> io::Result<NamedTempFile> {
    create_folder(folder)?;
    remove_abandoned(folder)?;
    for _ in 0..MOST_TRIES {
        let mut temporary = tempfile::Builder::new().suffix(TEMPORARY).tempfile_in(folder)?;
        let file = temporary.as_file();
        // Another process may remove the file before it is locked.
        let is_taken = matches!(file.try_lock(), Err(TryLockError::WouldBlock)) || file.metadata()?.nlink() == 0;
        if !is_taken {
            temporary.write_all(bytes)?;
            temporary.as_file().sync_all()?;
            return Ok(temporary);
        }
    }
    Err(io::Error::other("other processes remove the file while it is written"))
}

/// Removes what processes have left that were stopped while they wrote a file of this folder.
fn remove_abandoned(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.as_os_str().as_encoded_bytes().ends_with(TEMPORARY.as_bytes())
            && let Ok(file) = File::open(&path)
            && file.try_lock().is_ok()
        {
            // Still locked here, so that no process takes the file for its own.
            remove_one(&path)?;
        }
    }
    Ok(())
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn sync_folder_of(path: &Path) -> io::Result<()> {
    File::open(folder_of(path))?.sync_all()
}

/// The whole file; `None` if there is none.
pub fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    if_there(File::open(path))?.map(|file| read_bounded(file, MAX_BYTES)).transpose()
}

/// What was done with a file or a folder; `None` if there is none.
pub fn if_there<T>(done: io::Result<T>) -> io::Result<Option<T>> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        done => done.map(Some),
    }
}

pub fn read_bounded(source: impl Read, most_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(most_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    match u64::try_from(bytes.len()) {
        Ok(length) if length <= most_bytes => Ok(bytes),
        _ => Err(io::Error::other(format!("longer than {most_bytes} bytes"))),
    }
}

/// The JSON files of a folder; none if there is no folder.
pub fn json_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let Some(entries) = if_there(fs::read_dir(folder))? else { return Ok(Vec::new()) };
    let mut paths: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    Ok(paths)
}

/// Removes the file, if there is one, and what was left of writing it.
pub fn remove(path: &Path) -> io::Result<()> {
    if_there(remove_abandoned(folder_of(path)))?;
    remove_one(path)
}

fn remove_one(path: &Path) -> io::Result<()> {
    if_there(fs::remove_file(path)).map(drop)
}

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
    fn what_a_stopped_process_left_is_removed_with_the_next_writing_or_removal_of_a_file() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("key.json");
        let left = |name: &str| fs::write(folder.path().join(name), b"secret").expect("writes");
        let names = || {
            let entries = fs::read_dir(folder.path()).expect("folder").map(|entry| entry.expect("entry").file_name());
            entries.map(|name| name.into_string().expect("text")).collect::<std::collections::BTreeSet<_>>()
        };
        // Not of ours.
        let others = ["key.json.new", "key.json.crtx-new.1", "crtx-new"];
        others.iter().for_each(|name| left(name));
        let kept: std::collections::BTreeSet<String> = others.iter().map(|name| (*name).to_owned()).collect();
        let with_file: std::collections::BTreeSet<String> = kept.iter().cloned().chain(["key.json".into()]).collect();
        left(".tmpAbC.crtx-new");
        write_new(&path, b"mine").expect("writes");
        assert_eq!(names(), with_file);
        left(".tmpDeF.crtx-new");
        write(&path, b"mine").expect("writes");
        assert_eq!(names(), with_file);
        left(".tmpDeF.crtx-new");
        remove(&path).expect("removes");
        assert_eq!(names(), kept);
        remove(&path).expect("nothing to remove");
        remove(&folder.path().join("no folder/key.json")).expect("nothing to remove");
        // While a process writes, it keeps its file.
        let writing = temporary(folder.path(), b"mine").expect("writes");
        assert!(!is_open_to_others(writing.path()).expect("file"));
        remove_abandoned(folder.path()).expect("nothing to remove");
        assert_eq!(read(writing.path()).expect("reads").as_deref(), Some(b"mine".as_slice()));
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
