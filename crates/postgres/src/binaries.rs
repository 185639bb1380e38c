//! Finds the PostgreSQL server on the machine.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use anyhow::Context;

/// A directory with `postgres` and `initdb` of one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binaries {
    pub dir: PathBuf,
}

impl Binaries {
    /// `None` unless both programs are in `dir`.
    pub fn in_dir(dir: &Path) -> Option<Self> {
        let dir = fs::canonicalize(dir).ok()?;
        ["postgres", "initdb"].iter().all(|name| dir.join(name).is_file()).then_some(Self { dir })
    }

    pub fn postgres(&self) -> PathBuf {
        self.dir.join("postgres")
    }

    pub fn initdb(&self) -> PathBuf {
        self.dir.join("initdb")
    }
}

/// Where to look, in this order.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// `PG_BIN`: when set, nothing else is looked at.
    pub chosen: Option<PathBuf>,
    /// Directories of `PATH`.
    pub path: Vec<PathBuf>,
    /// Folders that hold one folder per version, and what comes before the version: Debian and Homebrew.
    pub versioned: Vec<(PathBuf, &'static str)>,
}

impl Search {
    /// This machine: `PG_BIN`, `PATH`, `/usr/lib/postgresql/*/bin`, Homebrew's `opt/postgresql@*/bin`.
    pub fn of_this_machine() -> Self {
        Self {
            chosen: env::var_os("PG_BIN").filter(|value| !value.is_empty()).map(PathBuf::from),
            path: env::var_os("PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default(),
            versioned: vec![
                ("/usr/lib/postgresql".into(), ""),
                ("/usr/libexec".into(), "postgresql"),
                ("/usr".into(), "pgsql-"),
                ("/opt/homebrew/opt".into(), "postgresql@"),
                ("/usr/local/opt".into(), "postgresql@"),
                ("/home/linuxbrew/.linuxbrew/opt".into(), "postgresql@"),
            ],
        }
    }

    pub fn find(&self) -> anyhow::Result<Option<Binaries>> {
        if let Some(chosen) = &self.chosen {
            let found = Binaries::in_dir(chosen).context("PG_BIN names a folder without `postgres` and `initdb`");
            return found.map(Some);
        }
        // A program on the PATH is often a link: the folder it points into holds its companions.
        let on_path = self.path.iter().find_map(|dir| {
            let program = fs::canonicalize(dir.join("postgres")).ok()?;
            Binaries::in_dir(program.parent()?)
        });
        Ok(on_path.or_else(|| self.versioned.iter().find_map(|(root, prefix)| newest(root, prefix))))
    }
}

/// The newest version that is in `<root>/<prefix><version>/bin` or `<root>/<prefix><version>`.
fn newest(root: &Path, prefix: &str) -> Option<Binaries> {
    let mut versions: Vec<(u32, PathBuf)> = fs::read_dir(root)
        .ok()?
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name().into_string().ok()?;
            let version = name.strip_prefix(prefix)?.split('.').next()?.parse().ok()?;
            Some((version, entry.path()))
        })
        .collect();
    versions.sort_by_key(|(version, _)| std::cmp::Reverse(*version));
    let mut folders = versions.iter().flat_map(|(_, folder)| [folder.join("bin"), folder.clone()]);
    folders.find_map(|folder| Binaries::in_dir(&folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn install(dir: &Path) {
        fs::create_dir_all(dir).expect("dir");
        for name in ["postgres", "initdb"] {
            fs::write(dir.join(name), "").expect("file");
        }
    }

    #[test]
    fn the_newest_of_the_versioned_folders_is_taken() {
        let root = tempfile::tempdir().expect("dir");
        for version in ["9.6", "15", "17", "junk"] {
            install(&root.path().join(version).join("bin"));
        }
        let found = Search { versioned: vec![(root.path().to_owned(), "")], ..Search::default() }
            .find()
            .expect("a search")
            .expect("found");
        assert!(found.dir.ends_with("17/bin"), "{found:?}");
    }

    #[test]
    fn a_link_on_the_path_leads_to_its_folder_and_goes_first() {
        let root = tempfile::tempdir().expect("dir");
        install(&root.path().join("15/bin"));
        install(&root.path().join("real"));
        let links = root.path().join("links");
        fs::create_dir(&links).expect("dir");
        std::os::unix::fs::symlink(root.path().join("real/postgres"), links.join("postgres")).expect("link");
        let found = Search { path: vec![links], versioned: vec![(root.path().to_owned(), "")], ..Search::default() }
            .find()
            .expect("a search")
            .expect("found");
        assert!(found.dir.ends_with("real"), "{found:?}");
    }

    #[test]
    fn a_chosen_folder_without_a_server_is_not_silently_replaced() {
        let root = tempfile::tempdir().expect("dir");
        install(&root.path().join("good"));
        let empty = root.path().join("empty");
        fs::create_dir(&empty).expect("dir");
        let search = Search { chosen: Some(empty), path: vec![root.path().join("good")], ..Search::default() };
        assert!(search.find().is_err());
    }
}
