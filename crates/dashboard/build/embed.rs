//! Writes the table of all files as Rust source: each with its hash and, if that is smaller, its gzip form. A Brotli form is
//! of the build (`app/scripts/compress.mjs`).

use std::{
    fs,
    io::{self, Write},
    path::Path,
};

use flate2::{Compression, write::GzEncoder};
use sha2::{Digest, Sha256};

use crate::sources::{STAMP, collect};

/// Files of the build that no browser asks for.
const PRIVATE: [&str; 2] = [STAMP, "manifest.json"];
/// Assets of the build before, which a page that is open since then still asks for (`app/scripts/previous.mjs`).
const PREVIOUS: &str = "previous/";
/// Behind the name of a file, for its Brotli form.
const BROTLI: &str = ".br";
/// Enough of a SHA-256 to tell versions of a file apart.
const TAG_CHARS: usize = 32;

/// An empty table if the folder does not exist.
pub fn write(folder: &Path, target: &Path) -> io::Result<()> {
    let mut names = Vec::new();
    if folder.is_dir() {
        collect(folder, Path::new(""), &mut names)?;
    }
    names.retain(|name| !PRIVATE.contains(&name.as_str()) && !name.ends_with(BROTLI));
    names.sort();
    let compressed_folder = target.with_extension("gzip");
    fs::create_dir_all(&compressed_folder)?;
    let mut table = String::from("&[\n");
    for (number, name) in names.iter().enumerate() {
        let path = fs::canonicalize(folder.join(name))?;
        let bytes = fs::read(&path)?;
        let tag: String = hex::encode(Sha256::digest(&bytes)).chars().take(TAG_CHARS).collect();
        let gzip = gzip(&bytes)?;
        let gzip = if gzip.len() < bytes.len() {
            let file = compressed_folder.join(number.to_string());
            fs::write(&file, gzip)?;
            format!("Some(include_bytes!({file:?}))")
        } else {
            "None".to_owned()
        };
        let brotli = folder.join(format!("{name}{BROTLI}"));
        let brotli = match fs::canonicalize(brotli) {
            Ok(file) => format!("Some(include_bytes!({file:?}))"),
            Err(_) => "None".to_owned(),
        };
        let name = name.strip_prefix(PREVIOUS).map_or_else(|| name.clone(), |name| format!("assets/{name}"));
        table.push_str(&format!(
            "    File {{ path: {name:?}, tag: {tag:?}, bytes: include_bytes!({path:?}), gzip: {gzip}, brotli: {brotli} }},\n"
        ));
    }
    table.push(']');
    fs::write(target, table)
}

fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    encoder.finish()
}
