//! The chain on disk: what is written, in which order, and how it is read back.
//!
//! Three files. `snapshot.json` holds every account at one slot and is replaced atomically.
//! `journal.jsonl` gets one line per block *before* the block is confirmed, with the accounts that the
//! block touched, so nothing that a client saw confirmed dies with the process. `history.jsonl` holds
//! the blocks' transactions, which RPC methods such as `getSignaturesForAddress` answer from.
//! A fourth file, `running`, exists while a network uses the directory: found at start, it says that
//! the last run did not stop cleanly.

use std::{
    collections::{BTreeMap, VecDeque},
    fs::{self, File, OpenOptions},
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use solana_account::Account;
use surfpool_core::{surfnet::BlockHeader, types::SurfnetTransactionStatus};

const FORMAT: u32 = 1;

/// Blocks with transactions that are brought back at start, and at least as many stay in the file.
const HISTORY_BLOCKS: usize = 4_000;

/// Where the chain stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    pub slot: u64,
    pub block_height: u64,
    /// Index of the latest block hash, as Surfpool numbers them.
    pub tip_index: u64,
    /// The chain's clock in milliseconds since 1970. Ahead of the machine's after a time travel.
    pub clock_unix_ms: u64,
    /// The machine's clock when this was written.
    pub saved_at_unix_ms: u64,
}

/// An account as JSON. `None` in a map of these means that the account was closed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedAccount {
    pub lamports: u64,
    pub owner: String,
    pub rent_epoch: u64,
    pub data: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct SnapshotFile {
    format: u32,
    position: Position,
    accounts: BTreeMap<String, SavedAccount>,
}

/// One block's effect on the accounts.
#[derive(Debug, Serialize, Deserialize)]
pub struct JournalLine {
    pub position: Position,
    pub accounts: BTreeMap<String, Option<SavedAccount>>,
}

/// One block with its transactions.
#[derive(Debug, Serialize, Deserialize)]
pub struct HistoryLine {
    pub slot: u64,
    pub block: BlockHeader,
    pub transactions: Vec<(String, SurfnetTransactionStatus)>,
}

/// The chain as it was last written.
#[derive(Debug)]
pub struct SavedChain {
    pub position: Position,
    pub accounts: BTreeMap<String, SavedAccount>,
    pub history: Vec<HistoryLine>,
    /// False if the process that wrote it was killed.
    pub clean: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("{path} is not a saved chain of this version ({problem}); `crtx up --fresh` starts over")]
    Form { path: PathBuf, problem: String },
}

/// The directory that holds one saved chain.
#[derive(Clone, Debug)]
pub struct ChainDir(PathBuf);

impl ChainDir {
    pub fn new(path: PathBuf) -> Result<Self, StoreError> {
        fs::create_dir_all(&path).map_err(at(&path))?;
        Ok(Self(path))
    }

    fn snapshot(&self) -> PathBuf {
        self.0.join("snapshot.json")
    }

    fn journal(&self) -> PathBuf {
        self.0.join("journal.jsonl")
    }

    fn history(&self) -> PathBuf {
        self.0.join("history.jsonl")
    }

    fn marker(&self) -> PathBuf {
        self.0.join("running")
    }

    /// The saved chain, or `None` where there is none yet.
    pub fn load(&self) -> Result<Option<SavedChain>, StoreError> {
        let path = self.snapshot();
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(at(&path)(error)),
        };
        let file: SnapshotFile = serde_json::from_slice(&bytes)
            .map_err(|error| StoreError::Form { path: path.clone(), problem: error.to_string() })?;
        if file.format != FORMAT {
            return Err(StoreError::Form { path, problem: format!("format {}", file.format) });
        }
        let (mut position, mut accounts) = (file.position, file.accounts);
        for line in parse::<JournalLine>(&self.journal(), &read_tail(&self.journal(), usize::MAX)?) {
            // A crash between replacing the snapshot and emptying the journal leaves older lines behind.
            if line.position.slot > position.slot {
                apply(&mut accounts, line.accounts);
                position = line.position;
            }
        }
        let mut history = parse::<HistoryLine>(&self.history(), &read_tail(&self.history(), HISTORY_BLOCKS)?);
        history.retain(|line| line.slot <= position.slot);
        Ok(Some(SavedChain { position, accounts, history, clean: !self.marker().exists() }))
    }

    /// Writes every account at `position`, starts an empty journal and shortens the history. A writer that
    /// is open has to be opened again.
    pub fn save(&self, position: Position, accounts: BTreeMap<String, SavedAccount>) -> Result<(), StoreError> {
        let path = self.snapshot();
        let file = SnapshotFile { format: FORMAT, position, accounts };
        let bytes = serde_json::to_vec(&file)
            .map_err(|error| StoreError::Form { path: path.clone(), problem: error.to_string() })?;
        replace(&path, &bytes).map_err(at(&path))?;
        let journal = self.journal();
        File::create(&journal).map_err(at(&journal))?;
        self.shorten_history()
    }

    fn shorten_history(&self) -> Result<(), StoreError> {
        let path = self.history();
        let lines = read_tail(&path, HISTORY_BLOCKS.saturating_mul(2).saturating_add(1))?;
        if lines.len() <= HISTORY_BLOCKS.saturating_mul(2) {
            return Ok(());
        }
        let mut kept = Vec::new();
        for line in lines.iter().skip(lines.len().saturating_sub(HISTORY_BLOCKS)) {
            kept.extend_from_slice(line);
            kept.push(b'\n');
        }
        replace(&path, &kept).map_err(at(&path))
    }

    pub fn mark_running(&self) -> Result<(), StoreError> {
        let path = self.marker();
        fs::write(&path, std::process::id().to_string()).map_err(at(&path))
    }

    pub fn mark_stopped(&self) -> Result<(), StoreError> {
        let path = self.marker();
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(at(&path)(error)),
            _ => Ok(()),
        }
    }

    /// Opens journal and history for appending.
    pub fn journal_writer(&self) -> Result<Journal, StoreError> {
        Ok(Journal { accounts: appender(&self.journal())?, history: appender(&self.history())? })
    }
}

/// Appends blocks. Not synced to the disk: it outlives the process, not a power failure.
#[derive(Debug)]
pub struct Journal {
    accounts: File,
    history: File,
}

impl Journal {
    /// Writes one block. History first: a line there without its journal line is ignored at load.
    pub fn append(&mut self, history: &HistoryLine, journal: &JournalLine) -> io::Result<()> {
        self.history.write_all(&line_of(history)?)?;
        self.accounts.write_all(&line_of(journal)?)
    }
}

impl SavedAccount {
    pub fn of(account: &Account) -> Self {
        Self {
            lamports: account.lamports,
            owner: account.owner.to_string(),
            rent_epoch: account.rent_epoch,
            data: BASE64_STANDARD.encode(&account.data),
        }
    }

    /// `None` if the text is not what [`SavedAccount::of`] writes.
    pub fn to_account(&self) -> Option<Account> {
        Some(Account {
            lamports: self.lamports,
            data: BASE64_STANDARD.decode(&self.data).ok()?,
            owner: self.owner.parse().ok()?,
            executable: false,
            rent_epoch: self.rent_epoch,
        })
    }
}

fn apply(accounts: &mut BTreeMap<String, SavedAccount>, changes: BTreeMap<String, Option<SavedAccount>>) {
    for (address, change) in changes {
        match change {
            Some(account) => accounts.insert(address, account),
            None => accounts.remove(&address),
        };
    }
}

fn line_of<T: Serialize>(value: &T) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

/// Opens for appending, behind the last complete line: a torn one would swallow the next.
fn appender(path: &Path) -> Result<File, StoreError> {
    let complete = match fs::read(path) {
        Ok(bytes) => bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last.saturating_add(1)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
        Err(error) => return Err(at(path)(error)),
    };
    let file = OpenOptions::new().create(true).append(true).open(path).map_err(at(path))?;
    file.set_len(u64::try_from(complete).unwrap_or(u64::MAX)).map_err(at(path))?;
    Ok(file)
}

/// The last `count` lines.
fn read_tail(path: &Path, count: usize) -> Result<VecDeque<Vec<u8>>, StoreError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(VecDeque::new()),
        Err(error) => return Err(at(path)(error)),
    };
    let mut tail = VecDeque::new();
    for line in BufReader::new(file).split(b'\n') {
        if tail.len() >= count {
            tail.pop_front();
        }
        tail.push_back(line.map_err(at(path))?);
    }
    Ok(tail)
}

/// The lines' values, up to the first line that is torn or of another form.
fn parse<T: DeserializeOwned>(path: &Path, lines: &VecDeque<Vec<u8>>) -> Vec<T> {
    let mut values = Vec::new();
    for line in lines {
        match serde_json::from_slice(line) {
            Ok(value) => values.push(value),
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, line = values.len(), "the rest of the file is ignored");
                break;
            }
        }
    }
    values
}

/// Replaces a file so that a reader finds the old or the new content, also after a crash.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = path.with_extension("new");
    let mut file = File::create(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&temporary, path)
}

fn at(path: &Path) -> impl Fn(io::Error) -> StoreError + '_ {
    move |source| StoreError::Io { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(slot: u64) -> Position {
        Position { slot, block_height: slot, tip_index: slot, clock_unix_ms: 1, saved_at_unix_ms: 1 }
    }

    fn account(lamports: u64) -> SavedAccount {
        SavedAccount::of(&Account { lamports, data: vec![1, 2, 3], ..Account::default() })
    }

    fn block(slot: u64) -> HistoryLine {
        let block = BlockHeader {
            hash: String::new(),
            previous_blockhash: String::new(),
            parent_slot: 0,
            block_time: 0,
            block_height: slot,
            signatures: vec![],
        };
        HistoryLine { slot, block, transactions: vec![] }
    }

    fn journal(slot: u64, address: &str, change: Option<SavedAccount>) -> JournalLine {
        JournalLine { position: position(slot), accounts: [(address.to_owned(), change)].into() }
    }

    #[test]
    fn an_empty_directory_holds_no_chain() {
        let dir = tempfile::tempdir().expect("dir");
        assert!(ChainDir::new(dir.path().join("chain")).expect("dir").load().expect("load").is_none());
    }

    #[test]
    fn blocks_after_the_snapshot_are_applied_and_a_torn_line_is_dropped() {
        let dir = tempfile::tempdir().expect("dir");
        let chain = ChainDir::new(dir.path().to_owned()).expect("dir");
        let first = [("a".to_owned(), account(1)), ("b".to_owned(), account(2))];
        chain.save(position(10), first.into()).expect("save");
        chain.mark_running().expect("marker");
        let mut writer = chain.journal_writer().expect("journal");
        writer.append(&block(11), &journal(11, "a", Some(account(7)))).expect("append");
        writer.append(&block(12), &journal(12, "b", None)).expect("append");
        let path = dir.path().join("journal.jsonl");
        let mut torn = fs::read(&path).expect("read");
        torn.extend_from_slice(b"{\"position\":{\"slot\":\xc3");
        fs::write(&path, torn).expect("write");

        let saved = chain.load().expect("load").expect("a chain");
        assert_eq!(saved.position.slot, 12);
        assert_eq!(saved.accounts, [("a".to_owned(), account(7))].into());
        assert_eq!(saved.history.iter().map(|line| line.slot).collect::<Vec<_>>(), [11, 12]);
        assert!(!saved.clean);

        let mut writer = chain.journal_writer().expect("journal");
        writer.append(&block(13), &journal(13, "c", Some(account(9)))).expect("append");
        assert_eq!(chain.load().expect("load").expect("a chain").position.slot, 13);
    }

    #[test]
    fn saving_again_makes_earlier_journal_lines_irrelevant() {
        let dir = tempfile::tempdir().expect("dir");
        let chain = ChainDir::new(dir.path().to_owned()).expect("dir");
        chain.save(position(1), BTreeMap::new()).expect("save");
        let mut writer = chain.journal_writer().expect("journal");
        writer.append(&block(2), &journal(2, "a", Some(account(1)))).expect("append");
        let stale = fs::read(dir.path().join("journal.jsonl")).expect("read");
        chain.save(position(3), BTreeMap::new()).expect("save");
        // As after a crash before the journal was emptied.
        fs::write(dir.path().join("journal.jsonl"), stale).expect("write");
        let saved = chain.load().expect("load").expect("a chain");
        assert_eq!((saved.position.slot, saved.accounts.len()), (3, 0));
        chain.mark_stopped().expect("marker");
        assert!(chain.load().expect("load").expect("a chain").clean);
    }

    #[test]
    fn a_long_history_is_shortened_to_its_newest_blocks() {
        let dir = tempfile::tempdir().expect("dir");
        let chain = ChainDir::new(dir.path().to_owned()).expect("dir");
        let blocks = u64::try_from(HISTORY_BLOCKS).expect("fits") * 2 + 5;
        let mut writer = chain.journal_writer().expect("journal");
        for slot in 1..=blocks {
            writer.append(&block(slot), &journal(slot, "a", None)).expect("append");
        }
        chain.save(position(blocks), BTreeMap::new()).expect("save");
        let saved = chain.load().expect("load").expect("a chain");
        assert_eq!(saved.history.len(), HISTORY_BLOCKS);
        assert_eq!(saved.history.last().map(|line| line.slot), Some(blocks));
        let text = fs::read_to_string(dir.path().join("history.jsonl")).expect("file");
        assert_eq!(text.lines().count(), HISTORY_BLOCKS);
    }

    #[test]
    fn a_snapshot_of_another_form_is_an_error_and_not_an_empty_chain() {
        let dir = tempfile::tempdir().expect("dir");
        fs::write(dir.path().join("snapshot.json"), "{}").expect("write");
        let error = ChainDir::new(dir.path().to_owned()).expect("dir").load().expect_err("refused");
        assert!(error.to_string().contains("--fresh"), "{error}");
    }
}
