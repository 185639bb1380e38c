//! Files that only their owner may read: keys, tokens, signed transactions. Each is written whole or not at all.

use std::{
    ffi::OsStr,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read, Write},
    os::unix::{
        ffi::OsStrExt,
        fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    },
    path::{Path, PathBuf},
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
    let temporary = Temporary::write(path, bytes)?;
    fs::rename(&temporary.path, path)?;
    sync_folder_of(path)
}

/// Writes a file that must not exist yet.
pub fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = Temporary::write(path, bytes)?;
    // A link is made only if nothing has that name, and it names a whole file.
    fs::hard_link(&temporary.path, path)?;
    drop(temporary);
    sync_folder_of(path)
}

/// A whole file under another name in the same folder, removed in the end. Several processes may write the same file at
/// the same time, so each has a name of its own.
///
/// The process holds a lock on it. What a process leaves that was stopped meanwhile has no lock: the next one that writes
/// or removes the same file removes it.
struct Temporary {
    path: PathBuf,
    _locked: File,
}

impl Temporary {
    /// Tries again if another process removes the file before it is locked.
    const MOST_TRIES: usize = 100;

    fn write(path: &Path, bytes: &[u8]) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            create_folder(folder)?;
        }
        remove_abandoned(path)?;
        for _ in 0..Self::MOST_TRIES {
            let mut name = name_of(path)?.to_owned();
            name.push(format!(".{}-{}.new", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
            let path = path.with_file_name(name);
            let mut file = OpenOptions::new().write(true).create_new(true).mode(OWNER_ONLY).open(&path)?;
            let is_taken = matches!(file.try_lock(), Err(TryLockError::WouldBlock)) || file.metadata()?.nlink() == 0;
            if !is_taken {
                // From here on the file is removed if something fails.
                let temporary = Self { path, _locked: file.try_clone()? };
                file.write_all(bytes)?;
                file.sync_all()?;
                return Ok(temporary);
            }
        }
        Err(io::Error::other("other processes remove the file while it is written"))
    }

    /// Whether a file has the name of such a file for the file `name`.
    fn is_of(name: &OsStr, temporary: &OsStr) -> bool {
        let rest = temporary.as_bytes().strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"."));
        let Some(numbers) = rest.and_then(|rest| rest.strip_suffix(b".new")) else { return false };
        let mut parts = numbers.split(|byte| *byte == b'-');
        let is_number =
            |part: Option<&[u8]>| part.is_some_and(|it| !it.is_empty() && it.iter().all(u8::is_ascii_digit));
        is_number(parts.next()) && is_number(parts.next()) && parts.next().is_none()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes what processes have left that were stopped while they wrote this file.
fn remove_abandoned(path: &Path) -> io::Result<()> {
    let name = name_of(path)?;
    for entry in fs::read_dir(folder_of(path))? {
        let entry = entry?;
        if Temporary::is_of(name, &entry.file_name())
            && let Ok(file) = File::open(entry.path())
            && file.try_lock().is_ok()
        {
            remove_one(&entry.path())?;
        }
    }
    Ok(())
}

fn name_of(path: &Path) -> io::Result<&OsStr> {
    path.file_name().ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn sync_folder_of(path: &Path) -> io::Result<()> {
    File::open(folder_of(path))?.sync_all()
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

/// The JSON files of a folder; none if there is no folder.
pub fn json_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    Ok(paths)
}

/// Removes the file, if there is one, and what was left of writing it.
pub fn remove(path: &Path) -> io::Result<()> {
    match remove_abandoned(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    remove_one(path)
}

fn remove_one(path: &Path) -> io::Result<()> {
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
    fn what_a_stopped_process_left_is_removed_with_the_next_writing_or_removal_of_the_file() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("key.json");
        let left = |name: &str| fs::write(folder.path().join(name), b"secret").expect("writes");
        let names = || {
            let entries = fs::read_dir(folder.path()).expect("folder").map(|entry| entry.expect("entry").file_name());
            entries.map(|name| name.into_string().expect("text")).collect::<std::collections::BTreeSet<_>>()
        };
        // Of other files, or not of ours.
        let others = ["key.json.new", "key.json.1-x.new", "key.json.1-2-3.new", "other.json.1-0.new", "key.json.1-0"];
        others.iter().for_each(|name| left(name));
        let kept: std::collections::BTreeSet<String> = others.iter().map(|name| (*name).to_owned()).collect();
        let with_file: std::collections::BTreeSet<String> = kept.iter().cloned().chain(["key.json".into()]).collect();
        left("key.json.4294967-0.new");
        write_new(&path, b"mine").expect("writes");
        assert_eq!(names(), with_file);
        left("key.json.1-12.new");
        write(&path, b"mine").expect("writes");
        assert_eq!(names(), with_file);
        left("key.json.1-12.new");
        remove(&path).expect("removes");
        assert_eq!(names(), kept);
        remove(&path).expect("nothing to remove");
        remove(&folder.path().join("no folder/key.json")).expect("nothing to remove");
        // While a process writes, it keeps its file.
        let writing = Temporary::write(&path, b"mine").expect("writes");
        remove_abandoned(&path).expect("nothing to remove");
        assert_eq!(read(&writing.path).expect("reads").as_deref(), Some(b"mine".as_slice()));
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
