//! All accounts of the program from one node, in pages, without ever holding the whole.
//!
//! Three ways, the first that fits: `getProgramAccountsV2` page by page, where the provider has it; one
//! `getProgramAccounts`; or, once the program has many accounts or the single answer failed, one `getProgramAccounts`
//! for each kind of account and a last one for accounts of unknown kinds.

use std::{
    collections::HashSet,
    io,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use bytes::Bytes;
use crtx_chain::{FetchedAccount, ProgramAccount};
use futures::{Stream, stream};
use reqwest::Response;
use serde_json::{Value, json};
use solana_pubkey::Pubkey;
use tokio::{
    sync::mpsc,
    time::{Instant, timeout},
};
use tokio_util::io::{StreamReader, SyncIoBridge};

use super::{
    At, MAX_ACCOUNTS_PER_PAGE, MAX_ACCOUNTS_PER_READ, SnapshotItem,
    accounts::of_program,
    deadlines::within,
    endpoint::Endpoint,
    error::SourceError,
    http::{self, METHOD_NOT_FOUND, Question},
    listing::{self, AnswerHead},
};

/// Accounts that one page of `getProgramAccountsV2` is asked for. Both providers that have the method allow so many.
const ACCOUNTS_PER_REQUEST: usize = 10_000;
/// Most pages of one snapshot.
const MAX_REQUESTS: usize = 10_000;
/// Most accounts of a single `getProgramAccounts`. A program with more is asked for by kind.
const MAX_ACCOUNTS_AT_ONCE: u64 = 100_000;
/// Most accounts of one snapshot: readers keep eight bytes of each.
const MAX_ACCOUNTS: u64 = 20_000_000;
/// Most accounts of kinds that this version does not know.
const MAX_UNKNOWN: usize = 10_000;
/// Data bytes of one page of a snapshot, after which it ends early.
const PAGE_BYTES: usize = 1024 * 1024;
/// A node that sends less than this per second, measured once it has kept us waiting for [`SLOW_AFTER`], has failed.
const MIN_BYTES_PER_SECOND: u64 = 4 * 1024;
const SLOW_AFTER: Duration = Duration::from_secs(30);

/// Where a snapshot goes.
pub(super) struct Sink {
    pub items: mpsc::Sender<Result<SnapshotItem, SourceError>>,
    /// The reader has taken, or can take, a page. From then on no other endpoint can begin from the start.
    pub delivered: AtomicBool,
}

impl Sink {
    async fn send(&self, item: SnapshotItem) -> Result<(), SourceError> {
        self.delivered.store(true, Ordering::Relaxed);
        self.items.send(Ok(item)).await.map_err(|_| SourceError::StreamEnded)
    }
}

/// Reads all accounts of an endpoint into the sink. The error is left to the caller.
pub(super) async fn read(endpoint: &Endpoint, at: At, min_slot: u64, sink: &Sink) -> Result<(), SourceError> {
    let (left, lowest, accounts, unknown) = (endpoint.deadlines.snapshot, u64::MAX, 0, None);
    SnapshotReader { endpoint, at, min_slot, sink, left, lowest, accounts, unknown }.run().await
}

/// One snapshot of one node.
struct SnapshotReader<'a> {
    endpoint: &'a Endpoint,
    at: At,
    min_slot: u64,
    sink: &'a Sink,
    /// Time that is left for waiting for the node.
    left: Duration,
    /// The lowest slot of the answers so far.
    lowest: u64,
    accounts: u64,
    /// If set, collects the addresses of accounts of unknown kinds, and delivers no pages.
    unknown: Option<Vec<Pubkey>>,
}

impl SnapshotReader<'_> {
    async fn run(mut self) -> Result<(), SourceError> {
        if !self.in_pages().await? {
            if self.endpoint.by_kind.load(Ordering::Relaxed) {
                self.by_kind().await?;
            } else if let Err(error) = self.list(self.plain(json!({}))).await {
                self.endpoint.by_kind.fetch_or(is_too_much(&error), Ordering::Relaxed);
                return Err(error);
            }
        }
        self.endpoint.by_kind.fetch_or(self.accounts > MAX_ACCOUNTS_AT_ONCE, Ordering::Relaxed);
        self.sink.send(SnapshotItem::End { slot: self.lowest }).await
    }

    /// `false`, and nothing was delivered: the node does not have the method.
    async fn in_pages(&mut self) -> Result<bool, SourceError> {
        if self.endpoint.no_pages.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let (mut key, mut seen) = (None::<String>, HashSet::new());
        for _ in 0..MAX_REQUESTS {
            let more = json!({"limit": ACCOUNTS_PER_REQUEST, "paginationKey": key});
            let head = match self.list(self.question("getProgramAccountsV2", more)).await {
                // A node that refuses the method for another reason than its absence is asked again next time.
                Err(SourceError::Refused { code, .. }) if key.is_none() => {
                    self.endpoint.no_pages.fetch_or(code == METHOD_NOT_FOUND, Ordering::Relaxed);
                    return Ok(false);
                }
                head => head?,
            };
            // Without filters only the end of the list has no accounts.
            key = head.next_page.filter(|_| head.entries > 0);
            match &key {
                None => return Ok(true),
                Some(key) if !seen.insert(key.clone()) => return Err(self.incomplete("a page came twice")),
                Some(_) => {}
            }
        }
        Err(self.incomplete("it has too many pages"))
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
        self.unknown = Some(Vec::new());
        let slot = self.list(self.plain(slice)).await?.slot.unwrap_or(self.min_slot);
        for addresses in self.unknown.take().unwrap_or_default().chunks(MAX_ACCOUNTS_PER_READ) {
            let read = self.endpoint.accounts(addresses, self.at, slot).await?;
            let mut page = Vec::new();
            for (address, account) in addresses.iter().zip(read.value) {
                // It may be gone by now.
                if let Some(account) = account
                    && let Some(data) = of_program(&self.endpoint.program, &self.endpoint.name, account)?
                {
                    page.push((*address, data));
                }
            }
            self.deliver(slot, page).await?;
        }
        Ok(())
    }

    fn plain(&self, more: Value) -> Question {
        self.question("getProgramAccounts", more)
    }

    fn question(&self, method: &'static str, more: Value) -> Question {
        let mut config = json!({
            "encoding": "base64",
            "commitment": self.at,
            "withContext": true,
            "minContextSlot": http::named(self.min_slot),
        });
        if let (Some(config), Value::Object(more)) = (config.as_object_mut(), more) {
            config.extend(more);
            config.retain(|_, value| !value.is_null());
        }
        Question { method, params: json!([self.endpoint.program.to_string(), config]), min_slot: self.min_slot }
    }

    /// One answer, in pages to the reader.
    async fn list(&mut self, question: Question) -> Result<AnswerHead, SourceError> {
        let refused = |error| program_query(self.endpoint, error);
        let started = Instant::now();
        let first_byte = self.endpoint.deadlines.first_byte.min(self.left);
        let opened = within(&self.endpoint.name, question.method, first_byte, self.endpoint.send(&question)).await;
        self.left = self.left.saturating_sub(started.elapsed());
        let body = body(self.endpoint, opened.map_err(refused)?, self.left);
        let (pages, mut full_pages) = mpsc::channel(1);
        let (node, program, slot) = (self.endpoint.name.clone(), self.endpoint.program, self.min_slot);
        let reading = tokio::task::spawn_blocking(move || {
            let mut collected = Collected { slot, accounts: Vec::new(), bytes: 0, pages };
            let bytes = SyncIoBridge::new(StreamReader::new(Box::pin(body)));
            let mut take = |slot, address, account| collected.take(&node, &program, slot, address, account);
            let head = listing::read(&node, bytes, &mut take)?;
            Ok::<_, SourceError>((head, collected.accounts))
        });
        loop {
            let started = Instant::now();
            let page = full_pages.recv().await;
            self.left = self.left.saturating_sub(started.elapsed());
            let Some((slot, page)) = page else { break };
            self.take(slot, page).await?;
        }
        let (head, last) = reading.await.map_err(|panic| self.incomplete(&panic.to_string()))??;
        if let Some(refusal) = head.refusal {
            return Err(program_query(self.endpoint, self.endpoint.refused(&question, refusal)));
        }
        if !head.complete {
            return Err(self.incomplete("the answer has no list of accounts"));
        }
        let slot = head.slot.ok_or_else(|| self.incomplete("it does not say its slot"))?;
        self.endpoint.check_slot(slot, self.min_slot)?;
        self.lowest = self.lowest.min(slot);
        self.take(slot, last).await?;
        Ok(head)
    }

    async fn take(&mut self, slot: u64, mut page: Page) -> Result<(), SourceError> {
        let Some(unknown) = &mut self.unknown else { return self.deliver(slot, page).await };
        page.retain(|(_, data)| !ProgramAccount::DISCRIMINATORS.iter().any(|kind| data.starts_with(kind)));
        unknown.extend(page.into_iter().map(|(address, _)| address));
        if unknown.len() > MAX_UNKNOWN {
            return Err(self.incomplete("too many accounts are of unknown kinds"));
        }
        Ok(())
    }

    async fn deliver(&mut self, slot: u64, accounts: Page) -> Result<(), SourceError> {
        if accounts.is_empty() {
            return Ok(());
        }
        self.accounts = self.accounts.saturating_add(u64::try_from(accounts.len()).unwrap_or(u64::MAX));
        if self.accounts > MAX_ACCOUNTS {
            return Err(self.incomplete("it has more accounts than a mirror can hold"));
        }
        self.sink.send(SnapshotItem::Page { slot, accounts }).await
    }

    fn incomplete(&self, reason: &str) -> SourceError {
        SourceError::incomplete(&self.endpoint.name, reason)
    }
}

/// The node failed at the size of the answer, as far as that can be known.
const fn is_too_much(error: &SourceError) -> bool {
    matches!(error, SourceError::Refused { .. } | SourceError::TimedOut { .. } | SourceError::SnapshotIncomplete { .. })
}

type Page = Vec<(Pubkey, Vec<u8>)>;

/// Accounts of an answer on their way into pages.
struct Collected {
    slot: u64,
    accounts: Page,
    bytes: usize,
    pages: mpsc::Sender<(u64, Page)>,
}

impl Collected {
    fn take(
        &mut self,
        node: &str,
        program: &Pubkey,
        slot: Option<u64>,
        address: Pubkey,
        account: FetchedAccount,
    ) -> Result<(), SourceError> {
        if account.owner != *program {
            return Err(SourceError::incomplete(node, "it has accounts of another program"));
        }
        if self.pages.is_closed() {
            return Err(SourceError::StreamEnded);
        }
        self.slot = slot.unwrap_or(self.slot);
        if let Some(data) = of_program(program, node, account)? {
            self.bytes = self.bytes.saturating_add(data.len());
            self.accounts.push((address, data));
        }
        if self.accounts.len() < MAX_ACCOUNTS_PER_PAGE && self.bytes < PAGE_BYTES {
            return Ok(());
        }
        self.bytes = 0;
        let page = std::mem::take(&mut self.accounts);
        self.pages.blocking_send((self.slot, page)).map_err(|_| SourceError::StreamEnded)
    }
}

/// The parts of a body while they arrive. A node that drips is given up.
fn body(endpoint: &Endpoint, response: Response, left: Duration) -> impl Stream<Item = io::Result<Bytes>> + use<> {
    let (node, between_bytes) = (endpoint.name.clone(), endpoint.deadlines.between_bytes);
    stream::try_unfold((response, Duration::ZERO, 0_u64), move |(mut response, waited, received)| {
        let node = node.clone();
        let failed = move |reason: String| io::Error::other(SourceError::incomplete(&node, reason));
        async move {
            let started = Instant::now();
            let part = timeout(between_bytes.min(left.saturating_sub(waited)), response.chunk()).await;
            let part = part.map_err(|_| failed("the node stopped sending".to_owned()))?;
            let Some(part) = part.map_err(|error| failed(http::cause(error)))? else { return Ok(None) };
            let waited = waited.saturating_add(started.elapsed());
            let received = received.saturating_add(u64::try_from(part.len()).unwrap_or(u64::MAX));
            if waited > SLOW_AFTER && received < waited.as_secs().saturating_mul(MIN_BYTES_PER_SECOND) {
                return Err(failed("the node sends too slowly".to_owned()));
            }
            Ok(Some((part, (response, waited, received))))
        }
    })
}

/// Codes and words by which providers refuse to list the accounts of a program.
const REFUSING_CODES: [i64; 7] = [METHOD_NOT_FOUND, KEY_EXCLUDED, 401, 403, 405, 410, 501];
const REFUSING_WORDS: [&str; 5] = ["secondary index", "disabled", "not available", "not supported", "not allowed"];
/// JSON-RPC error of a program that is excluded from the node's secondary indexes.
const KEY_EXCLUDED: i64 = -32_010;

fn program_query(endpoint: &Endpoint, error: SourceError) -> SourceError {
    match error {
        SourceError::Refused { what: "getProgramAccounts", code, reason, .. }
            if REFUSING_CODES.contains(&code) || REFUSING_WORDS.iter().any(|word| reason.contains(word)) =>
        {
            SourceError::ProgramQueriesRefused { node: endpoint.name.clone(), reason: format!("{reason} ({code})") }
        }
        error => error,
    }
}
