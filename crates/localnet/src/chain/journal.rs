//! The journal: blocks that are not in the database yet, appended one by one before they are confirmed.
//!
//! An entry is its length, a checksum over it, and the block as JSON. What counts is the longest run of whole
//! entries whose numbers follow each other; the rest of the file, torn by a crash or damaged later, is cut off.
//! When the blocks of the journal go into the database, the file becomes `journal.old` and a new one begins.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use super::{
    block::Block,
    error::{ChainFileError, at},
};

/// Length and checksum in front of each entry.
const HEADER: usize = 8;

/// The journal of one chain, open for appending.
#[derive(Debug)]
pub struct Journal {
    dir: PathBuf,
    file: File,
    bytes: u64,
}

fn current(dir: &Path) -> PathBuf {
    dir.join("journal")
}

fn rotated(dir: &Path) -> PathBuf {
    dir.join("journal.old")
}

/// The blocks after number `last`, from both files.
pub fn read(dir: &Path, last: u64) -> Result<Vec<Block>, ChainFileError> {
    let mut blocks: Vec<Block> = Vec::new();
    for path in [rotated(dir), current(dir)] {
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(at(&path)(error)),
        };
        let mut rest = bytes.as_slice();
        while let Some((block, behind)) = next_entry(rest) {
            rest = behind;
            let known = blocks.last().map_or(last, |block| block.number);
            if block.number <= known {
                // The database took it before the file was removed.
                continue;
            }
            if block.number != known.saturating_add(1) {
                tracing::warn!(path = %path.display(), block.number, known, "a block is missing before this one");
                return Ok(blocks);
            }
            blocks.push(block);
        }
        if !rest.is_empty() {
            tracing::warn!(path = %path.display(), bytes = rest.len(), "the end of the journal is torn and ignored");
            return Ok(blocks);
        }
    }
    Ok(blocks)
}

/// The first entry and what follows it; `None` if it is not whole.
fn next_entry(bytes: &[u8]) -> Option<(Block, &[u8])> {
    let (header, rest) = bytes.split_at_checked(HEADER)?;
    let (length, checksum) = header.split_at_checked(4)?;
    let length = usize::try_from(u32::from_le_bytes(length.try_into().ok()?)).ok()?;
    let (body, behind) = rest.split_at_checked(length)?;
    if crc32fast::hash(body) != u32::from_le_bytes(checksum.try_into().ok()?) {
        return None;
    }
    Some((serde_json::from_slice(body).ok()?, behind))
}

fn entry(block: &Block) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; HEADER];
    serde_json::to_writer(&mut bytes, block)?;
    let body = bytes.get(HEADER..).unwrap_or_default();
    let length = u32::try_from(body.len()).map_err(|_| io::Error::other("a block of more than 4 GiB"))?;
    let header = [length.to_le_bytes(), crc32fast::hash(body).to_le_bytes()].concat();
    if let Some(place) = bytes.get_mut(..HEADER) {
        place.copy_from_slice(&header);
    }
    Ok(bytes)
}

impl Journal {
    /// Starts an empty journal. What the files held has to be in the database.
    pub fn start(dir: &Path) -> Result<Self, ChainFileError> {
        let (path, old) = (current(dir), rotated(dir));
        let file = File::create(&path).map_err(at(&path))?;
        remove(&old)?;
        Ok(Self { dir: dir.to_owned(), file, bytes: 0 })
    }

    /// Writes one block. It outlives the process from now on, and a power cut once [`Journal::handle`] is synced.
    pub fn append(&mut self, block: &Block) -> Result<(), ChainFileError> {
        let path = current(&self.dir);
        let bytes = entry(block).map_err(at(&path))?;
        self.file.write_all(&bytes).map_err(at(&path))?;
        self.bytes = self.bytes.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        Ok(())
    }

    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Another handle of the same file, for syncing it on another thread.
    pub fn handle(&self) -> Result<File, ChainFileError> {
        self.file.try_clone().map_err(at(&current(&self.dir)))
    }

    /// Begins a new file. The old one stays until [`forget_rotated`].
    pub fn rotate(&mut self) -> Result<(), ChainFileError> {
        let path = current(&self.dir);
        fs::rename(&path, rotated(&self.dir)).map_err(at(&path))?;
        self.file = OpenOptions::new().write(true).create_new(true).open(&path).map_err(at(&path))?;
        self.bytes = 0;
        Ok(())
    }
}

/// Removes the file whose blocks are in the database now.
pub fn forget_rotated(dir: &Path) -> Result<(), ChainFileError> {
    remove(&rotated(dir))
}

fn remove(path: &Path) -> Result<(), ChainFileError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(at(path)(error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
