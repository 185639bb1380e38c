//! All accounts of the program from one node, in pages, without ever holding the whole.
//!
//! Three ways, the first that fits: `getProgramAccountsV2` page by page, where the provider has it; one
//! `getProgramAccounts`; or, once the program has many accounts or the single answer failed, one `getProgramAccounts`
//! for each kind of account and a last one for accounts of unknown kinds.

use std::{
    collections::HashSet,
    io::{self, Read},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use bytes::Bytes;
use crtx_chain::{FetchedAccount, ProgramAccount};
use reqwest::Response;
use serde_json::{Value, json};
use solana_pubkey::Pubkey;
use tokio::{
    sync::mpsc,
    time::{Instant, timeout},
};

use super::{
    At, MAX_ACCOUNTS_PER_PAGE, MAX_ACCOUNTS_PER_READ, SnapshotItem,
    accounts::{MAX_ACCOUNT_BYTES, MAX_ENTRY_BYTES, has_kind, of_program},
    error::SourceError,
    http::{HttpNode, METHOD_NOT_FOUND, Question},
    listing::{self, Listed, TakesAccounts, Unread},
    reads,
};

/// Accounts that one page of `getProgramAccountsV2` is asked for. Both providers that have the method allow so many.
const ACCOUNTS_PER_REQUEST: usize = 10_000;
/// Most pages of one snapshot.
const MAX_REQUESTS: usize = 10_000;
/// Most accounts of a single `getProgramAccounts`. A program with more is asked for by kind.
const MAX_ACCOUNTS_AT_ONCE: u64 = 100_000;
/// Most accounts of kinds that this version does not know.
const MAX_UNKNOWN: usize = 10_000;
/// Data bytes of one page of a snapshot, after which it ends early.
const PAGE_BYTES: usize = 1024 * 1024;
/// Parts of an answer that wait to be read.
const PARTS_WAITING: usize = 8;
/// A node that sends less than this per second, measured once it has kept us waiting for [`SLOW_AFTER`], has failed.
const MIN_BYTES_PER_SECOND: u64 = 4 * 1024;
const SLOW_AFTER: Duration = Duration::from_secs(30);

/// What is known about an endpoint's ways to list accounts.
#[derive(Default)]
pub(super) struct Ways {
    /// `getProgramAccountsV2` does not exist there.
    no_pages: AtomicBool,
    /// A single `getProgramAccounts` failed.
    by_kind: AtomicBool,
    /// Accounts of the last complete snapshot.
    last_count: AtomicU64,
}

/// Where a snapshot goes, and what of it went there.
pub(super) struct Sink {
    items: mpsc::Sender<Result<SnapshotItem, SourceError>>,
    /// The reader has taken, or can take, a page. From then on no other endpoint can begin from the start.
    pub delivered: bool,
}

impl Sink {
    pub(super) const fn new(items: mpsc::Sender<Result<SnapshotItem, SourceError>>) -> Self {
        Self { items, delivered: false }
    }

    fn reader_left(&self) -> bool {
        self.items.is_closed()
    }

    pub(super) async fn send(&mut self, item: Result<SnapshotItem, SourceError>) {
        self.delivered = true;
        // A reader that has left needs nothing more.
        drop(self.items.send(item).await);
    }
}

/// One snapshot of one node.
pub(super) struct Reading<'a> {
    pub node: &'a HttpNode,
    pub program: Pubkey,
    pub at: At,
    pub min_slot: u64,
    pub ways: &'a Ways,
    pub sink: &'a mut Sink,
    /// Time that is left for waiting for the node.
    pub left: Duration,
    /// The lowest slot of the answers so far.
    pub lowest: Option<u64>,
    pub accounts: u64,
}

impl Reading<'_> {
    /// All accounts.
    pub(super) async fn run(mut self) -> Result<(), SourceError> {
        if self.in_pages(None).await? {
            return self.finish().await;
        }
        let large = self.ways.last_count.load(Ordering::Relaxed) > MAX_ACCOUNTS_AT_ONCE;
        if large || self.ways.by_kind.load(Ordering::Relaxed) {
            self.by_kind().await?;
        } else if let Err(error) = self.list(self.plain(json!({}))).await {
            self.ways.by_kind.fetch_or(self.is_too_much(&error), Ordering::Relaxed);
            return Err(error);
        }
        self.finish().await
    }

    /// Whether the node failed at the size of the answer, as far as that can be known.
    fn is_too_much(&self, error: &SourceError) -> bool {
        let by_size = matches!(
            error,
            SourceError::Refused { .. } | SourceError::TimedOut { .. } | SourceError::SnapshotIncomplete { .. }
        );
        by_size && !self.sink.reader_left()
    }

    /// The accounts that changed at `since` or later. `false`: the node does not offer it.
    pub(super) async fn run_since(mut self, since: u64) -> Result<bool, SourceError> {
        if !self.in_pages(Some(since)).await? {
            return Ok(false);
        }
        let slot = self.lowest.unwrap_or(self.min_slot);
        self.sink.send(Ok(SnapshotItem::End { slot })).await;
        Ok(true)
    }

    async fn finish(self) -> Result<(), SourceError> {
        let Some(slot) = self.lowest else {
            return Err(incomplete(self.node, "it does not say its slot"));
        };
        self.ways.last_count.store(self.accounts, Ordering::Relaxed);
        self.sink.send(Ok(SnapshotItem::End { slot })).await;
        Ok(())
    }

    /// `false`, and nothing was delivered: the node does not have the method.
    async fn in_pages(&mut self, since: Option<u64>) -> Result<bool, SourceError> {
        if self.ways.no_pages.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let (mut key, mut seen) = (None::<String>, HashSet::new());
        for _ in 0..MAX_REQUESTS {
            let more = json!({"limit": ACCOUNTS_PER_REQUEST, "paginationKey": key, "changedSinceSlot": since});
            let question = self.question("getProgramAccountsV2", more);
            let listed = match self.list(question).await {
                Err(error) if key.is_none() && self.not_offered(&error) => return Ok(false),
                listed => listed?,
            };
            // Without filters only the end of the list has no accounts.
            key = listed.next_page.filter(|_| listed.entries > 0);
            match &key {
                None => return Ok(true),
                Some(key) if !seen.insert(key.clone()) => return Err(incomplete(self.node, "a page came twice")),
                Some(_) => {}
            }
        }
        Err(incomplete(self.node, "it has too many pages"))
    }

    /// A node that refuses the method for another reason than its absence is asked again next time.
    fn not_offered(&self, error: &SourceError) -> bool {
        match error {
            SourceError::ProgramQueriesRefused { .. } => true,
            SourceError::Refused { code, .. } => {
                self.ways.no_pages.fetch_or(*code == METHOD_NOT_FOUND, Ordering::Relaxed);
                true
            }
            _ => false,
        }
    }

    async fn by_kind(&mut self) -> Result<(), SourceError> {
        for kind in ProgramAccount::DISCRIMINATORS {
            let filter = json!({"memcmp": {"offset": 0, "bytes": BASE64.encode(kind), "encoding": "base64"}});
            self.list(self.plain(json!({"filters": [filter]}))).await?;
        }
        self.unknown_kinds().await
    }

    /// Accounts of kinds that this version does not know: the first bytes of all accounts tell which they are. An entry
    /// then has 250 bytes at most, whatever the account holds.
    async fn unknown_kinds(&mut self) -> Result<(), SourceError> {
        let slice = json!({"dataSlice": {"offset": 0, "length": agent_marketplace::state::DISCRIMINATOR_LEN}});
        let unknown = Unknown { program: self.program, addresses: Vec::new() };
        let (listed, unknown) = self.read_into(self.plain(slice), unknown).await?;
        let slot = self.slot_of(&listed)?;
        for addresses in unknown.addresses.chunks(MAX_ACCOUNTS_PER_READ) {
            let read = reads::accounts(self.node, addresses, self.at, slot).await?;
            let mut page = Page::new(self.program, self.sink.items.clone(), slot);
            for (address, account) in addresses.iter().zip(read.value) {
                // It may be gone by now.
                if let Some(account) = account.filter(|account| account.owner == self.program) {
                    page.add(*address, account).map_err(|stop| stop.into_error(self.node))?;
                }
            }
            if let Some(page) = page.full() {
                self.sink.send(Ok(page)).await;
            }
        }
        Ok(())
    }

    fn plain(&self, more: Value) -> Question {
        self.question("getProgramAccounts", more)
    }

    fn question(&self, method: &'static str, more: Value) -> Question {
        let mut config = json!({
            "encoding": "base64",
            "commitment": reads::commitment(self.at),
            "withContext": true,
        });
        if let (Some(config), Value::Object(more)) = (config.as_object_mut(), more) {
            config.extend(more.into_iter().filter(|(_, value)| !value.is_null()));
            if self.min_slot > 0 {
                config.insert("minContextSlot".to_owned(), self.min_slot.into());
            }
        }
        Question { method, params: json!([self.program.to_string(), config]), min_slot: self.min_slot }
    }

    /// One answer, in pages to the reader.
    async fn list(&mut self, question: Question) -> Result<Listed, SourceError> {
        let page = Page::new(self.program, self.sink.items.clone(), self.min_slot);
        let (listed, mut page) = self.read_into(question, page).await?;
        self.slot_of(&listed)?;
        self.accounts = self.accounts.saturating_add(page.total);
        if let Some(page) = page.full() {
            self.sink.send(Ok(page)).await;
        }
        Ok(listed)
    }

    fn slot_of(&mut self, listed: &Listed) -> Result<u64, SourceError> {
        let slot = listed.slot.ok_or_else(|| incomplete(self.node, "it does not say its slot"))?;
        self.node.check_slot(slot, self.min_slot)?;
        self.lowest = Some(self.lowest.map_or(slot, |lowest| lowest.min(slot)));
        Ok(slot)
    }

    /// Reads one answer into `taker`, on a thread of its own, while it arrives.
    async fn read_into<T>(&mut self, question: Question, taker: T) -> Result<(Listed, T), SourceError>
    where
        T: TakesAccounts<Error = Stop> + Delivers + Send + 'static,
    {
        let started = Instant::now();
        let first_byte = self.node.deadlines.first_byte.min(self.left);
        let opened = self.node.open(&question, first_byte).await;
        self.left = self.left.saturating_sub(started.elapsed());
        let response = opened.map_err(|error| program_query(self.node, error))?;
        let (parts, waiting) = mpsc::channel(PARTS_WAITING);
        let reading = tokio::task::spawn_blocking(move || {
            let mut taker = taker;
            let mut body = Body { waiting, part: Bytes::new(), failed: None };
            let read = listing::read(&mut body, &mut taker);
            (read, body.failed, taker)
        });
        let arrived = self.arrive(response, parts).await;
        let (read, failed, taker) = reading.await.map_err(|panic| incomplete(self.node, &panic.to_string()))?;
        self.sink.delivered |= taker.delivered();
        arrived?;
        if let Some(failed) = failed {
            return Err(failed);
        }
        let listed = match read {
            Ok(listed) => listed,
            Err(Unread::Stopped(stop)) => return Err(stop.into_error(self.node)),
            Err(Unread::EntryTooLong) => {
                let node = self.node.name.clone();
                return Err(SourceError::TooLarge { node, what: "an entry of a list", limit: MAX_ENTRY_BYTES });
            }
            Err(Unread::Broken(error)) => return Err(incomplete(self.node, &error.to_string())),
        };
        if let Some(refusal) = listed.refusal {
            return Err(program_query(self.node, self.node.refused(&question, refusal)));
        }
        if !listed.complete {
            return Err(incomplete(self.node, "the answer has no list of accounts"));
        }
        Ok((listed, taker))
    }

    /// Hands the parts of the body on while they arrive. A node that drips is given up.
    async fn arrive(
        &mut self,
        mut response: Response,
        parts: mpsc::Sender<Result<Bytes, SourceError>>,
    ) -> Result<(), SourceError> {
        let (mut waited, mut received) = (Duration::ZERO, 0_u64);
        let result = loop {
            let started = Instant::now();
            let limit = self.node.deadlines.between_bytes.min(self.left);
            let part = timeout(limit, response.chunk()).await;
            let pause = started.elapsed();
            self.left = self.left.saturating_sub(pause);
            waited = waited.saturating_add(pause);
            match part {
                Err(_) => break Err(incomplete(self.node, "the node stopped sending")),
                Ok(Err(error)) => break Err(incomplete(self.node, &self.node.unreachable(error).to_string())),
                Ok(Ok(None)) => break Ok(()),
                Ok(Ok(Some(part))) => {
                    received = received.saturating_add(u64::try_from(part.len()).unwrap_or(u64::MAX));
                    let enough = waited.as_secs().saturating_mul(MIN_BYTES_PER_SECOND);
                    if waited > SLOW_AFTER && received < enough {
                        break Err(incomplete(self.node, "the node sends too slowly"));
                    }
                    if parts.send(Ok(part)).await.is_err() {
                        // The reading ended before the body, and says why.
                        return Ok(());
                    }
                }
            }
        };
        if let Err(error) = &result {
            drop(parts.send(Err(error.clone())).await);
        }
        result
    }
}

fn incomplete(node: &HttpNode, reason: &str) -> SourceError {
    SourceError::SnapshotIncomplete { node: node.name.clone(), reason: reason.to_owned() }
}

/// Codes and words by which providers refuse to list the accounts of a program.
const REFUSING_CODES: [i64; 7] = [METHOD_NOT_FOUND, KEY_EXCLUDED, 401, 403, 405, 410, 501];
const REFUSING_WORDS: [&str; 5] = ["secondary index", "disabled", "not available", "not supported", "not allowed"];
/// JSON-RPC error of a program that is excluded from the node's secondary indexes.
const KEY_EXCLUDED: i64 = -32_010;

fn program_query(node: &HttpNode, error: SourceError) -> SourceError {
    match error {
        SourceError::Refused { what: "getProgramAccounts", code, reason, .. }
            if REFUSING_CODES.contains(&code) || REFUSING_WORDS.iter().any(|word| reason.contains(word)) =>
        {
            SourceError::ProgramQueriesRefused { node: node.name.clone(), reason: format!("{reason} ({code})") }
        }
        error => error,
    }
}

/// The body of an answer, for a reader that blocks.
struct Body {
    waiting: mpsc::Receiver<Result<Bytes, SourceError>>,
    part: Bytes,
    failed: Option<SourceError>,
}

impl Read for Body {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.part.is_empty() {
            match self.waiting.blocking_recv() {
                None => return Ok(0),
                Some(Ok(part)) => self.part = part,
                Some(Err(error)) => {
                    self.failed = Some(error);
                    return Err(io::Error::other("the body failed"));
                }
            }
        }
        let length = buffer.len().min(self.part.len());
        let taken = self.part.split_to(length);
        if let Some(start) = buffer.get_mut(..length) {
            start.copy_from_slice(&taken);
        }
        Ok(length)
    }
}

/// Why accounts are no longer taken.
#[derive(Debug)]
enum Stop {
    /// The reader of the snapshot has left.
    ReaderLeft,
    AccountTooLong,
    OtherOwner,
    TooManyUnknown,
}

impl Stop {
    fn into_error(self, node: &HttpNode) -> SourceError {
        match self {
            Self::ReaderLeft => incomplete(node, "its reader has left"),
            Self::OtherOwner => incomplete(node, "it has accounts of another program"),
            Self::TooManyUnknown => incomplete(node, "too many accounts are of unknown kinds"),
            Self::AccountTooLong => {
                SourceError::TooLarge { node: node.name.clone(), what: "an account", limit: MAX_ACCOUNT_BYTES }
            }
        }
    }
}

/// Whether something reached the reader of the snapshot.
trait Delivers {
    fn delivered(&self) -> bool;
}

/// Collects accounts and hands them on page by page.
struct Page {
    program: Pubkey,
    items: mpsc::Sender<Result<SnapshotItem, SourceError>>,
    slot: u64,
    accounts: Vec<(Pubkey, Vec<u8>)>,
    bytes: usize,
    total: u64,
    sent: bool,
}

impl Page {
    const fn new(program: Pubkey, items: mpsc::Sender<Result<SnapshotItem, SourceError>>, slot: u64) -> Self {
        Self { program, items, slot, accounts: Vec::new(), bytes: 0, total: 0, sent: false }
    }

    fn add(&mut self, address: Pubkey, account: FetchedAccount) -> Result<(), Stop> {
        if account.owner != self.program {
            return Err(Stop::OtherOwner);
        }
        if let Some(data) = of_program(&self.program, account).map_err(|_| Stop::AccountTooLong)? {
            self.bytes = self.bytes.saturating_add(data.len());
            self.total = self.total.saturating_add(1);
            self.accounts.push((address, data));
        }
        Ok(())
    }

    /// What is collected, if anything is.
    fn full(&mut self) -> Option<SnapshotItem> {
        self.bytes = 0;
        let accounts = std::mem::take(&mut self.accounts);
        (!accounts.is_empty()).then_some(SnapshotItem::Page { slot: self.slot, accounts })
    }
}

impl TakesAccounts for Page {
    type Error = Stop;

    fn take(&mut self, slot: Option<u64>, address: Pubkey, account: FetchedAccount) -> Result<(), Stop> {
        self.slot = slot.unwrap_or(self.slot);
        self.add(address, account)?;
        if self.accounts.len() < MAX_ACCOUNTS_PER_PAGE && self.bytes < PAGE_BYTES {
            return Ok(());
        }
        if let Some(page) = self.full() {
            self.sent = true;
            self.items.blocking_send(Ok(page)).map_err(|_| Stop::ReaderLeft)?;
        }
        Ok(())
    }
}

impl Delivers for Page {
    fn delivered(&self) -> bool {
        self.sent
    }
}

/// Collects the addresses of accounts of unknown kinds.
struct Unknown {
    program: Pubkey,
    addresses: Vec<Pubkey>,
}

impl TakesAccounts for Unknown {
    type Error = Stop;

    fn take(&mut self, _: Option<u64>, address: Pubkey, account: FetchedAccount) -> Result<(), Stop> {
        if account.owner != self.program {
            return Err(Stop::OtherOwner);
        }
        let known = ProgramAccount::DISCRIMINATORS.iter().any(|kind| account.data.starts_with(kind));
        if known || account.lamports == 0 || !has_kind(&account.data) {
            return Ok(());
        }
        if self.addresses.len() >= MAX_UNKNOWN {
            return Err(Stop::TooManyUnknown);
        }
        self.addresses.push(address);
        Ok(())
    }
}

impl Delivers for Unknown {
    fn delivered(&self) -> bool {
        false
    }
}
