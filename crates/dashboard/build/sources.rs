//! Whether a build of the dashboard is the one of the sources next to it. `app/scripts/stamp.mjs` writes the same hash
//! into the build.

use std::{fs, io, path::Path};

use sha2::{Digest, Sha256};

/// What the build depends on, seen from `app/`. The documents are pages of the dashboard.
pub const PATHS: [&str; 12] = [
    "src",
    "public",
    "index.html",
    "vite.config.ts",
    "tsconfig.json",
    "package.json",
    "package-lock.json",
    "../docs/quickstart-buy.md",
    "../docs/quickstart-sell.md",
    "../docs/verify.md",
    "../docs/limits.md",
    "../docs/errors.md",
];
/// The file in the build with the hash.
pub const STAMP: &str = "sources.sha256";

/// Compares the stamp of a build with the sources. False if one of them cannot be read.
pub fn are_those_of(app: &Path, build: &Path) -> bool {
    let stamp = fs::read_to_string(build.join(STAMP)).unwrap_or_default();
    hash(app).is_ok_and(|hash| hash == stamp.trim())
}

/// Hexadecimal SHA-256 over one line of name and SHA-256 for each file, in the order of their names.
fn hash(app: &Path) -> io::Result<String> {
    let mut names = Vec::new();
    for path in PATHS {
        collect(app, Path::new(path), &mut names)?;
    }
    names.sort();
    let mut hash = Sha256::new();
    for name in names {
        let bytes = fs::read(app.join(&name))?;
        hash.update(format!("{name} {}\n", hex::encode(Sha256::digest(&bytes))));
    }
    Ok(hex::encode(hash.finalize()))
}

/// The files at a path below a folder, by their names in the folder.
pub fn collect(folder: &Path, path: &Path, names: &mut Vec<String>) -> io::Result<()> {
    if !folder.join(path).is_dir() {
        names.push(path.to_string_lossy().into_owned());
        return Ok(());
    }
    for entry in fs::read_dir(folder.join(path))? {
        collect(folder, &path.join(entry?.file_name()), names)?;
    }
    Ok(())
}
