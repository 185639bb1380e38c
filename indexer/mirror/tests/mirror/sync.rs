//! The mirror loop against a scripted chain and a real PostgreSQL: whatever is lost, late, doubled or out
//! of order, the mirror ends up equal to the chain.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use agent_marketplace::state::{AgentListed, Config, ExecutionRecord};
use anchor_lang::Discriminator;
use async_trait::async_trait;
use crtx_chain::{Execution, FetchedAccount, past::SignatureInfo, token::TokenAccount};
use crtx_content::{ContentLocation, ContentSources};
use crtx_http::outbound::OutboundPolicy;
use crtx_mirror::{
    documents::Fetcher,
    proof::Auditor,
    source::{AccountSource, At, Change, Events, Read, Snapshot, SnapshotItem, SourceError, SourceEvent},
    sync::{SyncSettings, Syncer},
};
use crtx_protocol::{content::cid_of, result_hash::ResultHash};
use crtx_store::{
    indexer_status,
    mirror::{self, ExecutionAccount},
    reads,
    testing::{TestDatabase, fixtures::*, single},
};
use solana_pubkey::Pubkey;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// A chain that does what the test says.
#[derive(Clone, Default)]
struct Chain(Arc<Mutex<ChainState>>);

type Happening = Box<dyn FnOnce(&mut ChainState) + Send>;

#[derive(Default)]
struct ChainState {
    slot: u64,
    genesis: String,
    accounts: HashMap<Pubkey, FetchedAccount>,
    listeners: Vec<mpsc::Sender<Result<SourceEvent, SourceError>>>,
    /// The slot that changes claim; the real one if `None`.
    claimed_slot: Option<u64>,
    /// Happens after the next snapshot is read and before it is handed out.
    during_snapshot: Option<Happening>,
    subscriptions: u32,
    failing: bool,
}

impl ChainState {
    fn write(&mut self, address: Pubkey, data: Vec<u8>) {
        self.slot += 1;
        self.accounts.insert(address, FetchedAccount { owner: program(), lamports: 1, data });
    }

    fn announce(&mut self, address: Pubkey) {
        let slot = self.claimed_slot.unwrap_or(self.slot);
        let data = self.accounts[&address].data.clone();
        self.listeners.retain(|listener| {
            listener.try_send(Ok(SourceEvent::Change(Change { address, slot, data: Some(data.clone()) }))).is_ok()
        });
    }

    fn change(&mut self, address: Pubkey, data: Vec<u8>) {
        self.write(address, data);
        self.announce(address);
    }

    fn read(&self) -> Vec<(Pubkey, Vec<u8>)> {
        let owned = self.accounts.iter().filter(|(_, account)| account.owner == program());
        owned.map(|(address, account)| (*address, account.data.clone())).collect()
    }
}

impl Chain {
    fn new() -> Self {
        let chain = Self::default();
        chain.state().slot = 100;
        chain.state().genesis = "one".into();
        chain
    }

    fn state(&self) -> MutexGuard<'_, ChainState> {
        self.0.lock().expect("no test panicked holding it")
    }
}

#[async_trait]
impl AccountSource for Chain {
    fn name(&self) -> String {
        "scripted".to_owned()
    }

    async fn subscribe(&self) -> Result<Events, SourceError> {
        let mut state = self.state();
        state.subscriptions += 1;
        if state.failing {
            return Err(SourceError::SubscriptionRefused { node: self.name(), reason: "refused".into() });
        }
        let (sender, receiver) = mpsc::channel(10_000);
        state.listeners.push(sender);
        Ok(receiver)
    }

    async fn snapshot(&self, _: At, _: u64) -> Result<Snapshot, SourceError> {
        let mut state = self.state();
        let (slot, accounts) = (state.slot, state.read());
        let (items, snapshot) = mpsc::channel(2);
        items.try_send(Ok(SnapshotItem::Page { slot, accounts })).expect("room");
        items.try_send(Ok(SnapshotItem::End { slot })).expect("room");
        if let Some(happening) = state.during_snapshot.take() {
            happening(&mut state);
        }
        Ok(snapshot)
    }

    async fn read(&self, addresses: &[Pubkey], _: At, _: u64) -> Result<Read, SourceError> {
        let state = self.state();
        let accounts = addresses.iter().map(|address| state.accounts.get(address).cloned()).collect();
        Ok(Read { slot: state.slot, value: accounts })
    }

    async fn slot(&self, _: At) -> Result<u64, SourceError> {
        Ok(self.state().slot)
    }

    async fn genesis_hash(&self) -> Result<String, SourceError> {
        Ok(self.state().genesis.clone())
    }

    async fn transactions_after(&self, _: Option<&str>, _: u64) -> Result<Option<Vec<SignatureInfo>>, SourceError> {
        Ok(None)
    }
}

struct Running {
    database: TestDatabase,
    chain: Chain,
    syncer: Arc<Syncer>,
    shutdown: CancellationToken,
    task: tokio::task::JoinHandle<()>,
}

impl Running {
    /// Starts a mirror and waits for its first snapshot.
    async fn start(chain: Chain, resync: Duration) -> Self {
        Self::start_on(TestDatabase::create().await, chain, resync).await
    }

    async fn start_on(database: TestDatabase, chain: Chain, resync: Duration) -> Self {
        let settings = SyncSettings {
            gathering: Duration::ZERO,
            second_look_after: Duration::from_millis(20),
            accept_new_genesis: true,
            ..SyncSettings::new(resync)
        };
        let source = Arc::new(chain.clone());
        let syncer = Arc::new(Syncer::new(source, database.pool().clone(), program(), settings, None, Arc::default()));
        let shutdown = CancellationToken::new();
        let task = tokio::spawn(Arc::clone(&syncer).run(shutdown.clone()));
        let running = Self { database, chain, syncer, shutdown, task };
        running.until("the first snapshot", async || running.caught_up().await).await;
        running
    }

    async fn caught_up(&self) -> bool {
        let (slot, batch) = {
            let state = self.chain.state();
            let mut batch = mirror::Batch::default();
            for (address, data) in state.read() {
                crtx_mirror::sync::push(&mut batch, &address, state.slot, data).expect("a batch");
            }
            (state.slot, batch)
        };
        let found = mirror::compare(self.database.pool(), &batch).await.expect("compared");
        let snapshot = mirror::checkpoint(self.database.pool()).await.expect("read");
        found.differences.is_empty() && found.newer.is_empty() && snapshot.is_some() && slot > 0
    }

    async fn until(&self, what: &str, condition: impl AsyncFn() -> bool) {
        for _ in 0..300 {
            if condition().await {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("never happened: {what}");
    }

    async fn until_equal(&self) {
        self.until("the mirror equals the chain", async || self.caught_up().await).await;
    }

    async fn stop(self) -> (TestDatabase, Chain) {
        self.shutdown.cancel();
        self.task.await.expect("the mirror ends when it is stopped");
        (self.database, self.chain)
    }
}

const NEVER: Duration = Duration::from_secs(3_600);

fn bytes(listing: &AgentListed) -> Vec<u8> {
    account_bytes(AgentListed::DISCRIMINATOR, listing)
}

fn record_bytes(account: &ExecutionAccount) -> Vec<u8> {
    Execution { record: account.record, terms: account.terms }.encode()
}

fn priced(index: u32, revision: u64, price: u64) -> (Pubkey, Vec<u8>) {
    let mut listing = listing(wallet(1), index);
    listing.revision = revision;
    listing.price = price;
    (addresses().agent(&wallet(1), index), bytes(&listing))
}

#[tokio::test]
async fn a_change_while_the_snapshot_is_taken_is_not_lost() {
    let chain = Chain::new();
    let (address, data) = priced(0, 1, 10);
    chain.state().write(address, data);
    chain.state().during_snapshot = Some(Box::new(|state| {
        let (address, data) = priced(0, 2, 20);
        state.change(address, data);
        let (another, data) = priced(1, 1, 30);
        state.change(another, data);
    }));
    let running = Running::start(chain, NEVER).await;
    running.until_equal().await;
    assert_eq!(reads::mirror_counts(running.database.pool()).await.expect("counts").agents, 2);
}

#[tokio::test]
async fn changes_are_ordered_by_revision_even_if_their_slots_are_stale() {
    let running = Running::start(Chain::new(), NEVER).await;
    running.chain.state().claimed_slot = Some(1);
    for revision in 1..=20 {
        let (address, data) = priced(0, revision, revision * 10);
        running.chain.state().change(address, data);
    }
    // An old state comes again, claiming a late slot.
    let (address, data) = priced(0, 3, 30);
    let listeners = running.chain.state().listeners.clone();
    listeners.iter().for_each(|listener| {
        listener
            .try_send(Ok(SourceEvent::Change(Change { address, slot: 9_999, data: Some(data.clone()) })))
            .expect("sent")
    });
    running.until_equal().await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(running.caught_up().await);
}

#[tokio::test]
async fn what_happened_while_the_stream_was_down_is_caught_up_with() {
    let chain = Chain::new();
    let running = Running::start(chain.clone(), NEVER).await;
    {
        let mut state = chain.state();
        state.failing = true;
        state.listeners.clear();
        for index in 0..5 {
            let (address, data) = priced(index, 1, 10);
            state.write(address, data);
        }
    }
    running.until("another attempt", async || chain.state().subscriptions >= 2).await;
    chain.state().failing = false;
    running.until_equal().await;
    // And the new stream is live.
    let (address, data) = priced(0, 2, 99);
    chain.state().change(address, data);
    running.until_equal().await;
}

#[tokio::test]
async fn a_change_that_the_stream_swallowed_is_repaired_by_the_next_snapshot() {
    let chain = Chain::new();
    let running = Running::start(chain.clone(), Duration::from_millis(100)).await;
    let (address, data) = priced(0, 1, 10);
    chain.state().write(address, data);
    running.until_equal().await;
    assert_eq!(chain.state().subscriptions, 1);
}

#[tokio::test]
async fn a_closed_account_is_marked_once_a_read_confirms_it() {
    let chain = Chain::new();
    let id = Uuid::from_u128(1);
    let closed = addresses().execution(&wallet(2), id.as_bytes());
    chain.state().write(closed, record_bytes(&completed(record(wallet(2), wallet(20), id), "r")));
    let (kept, data) = priced(0, 1, 10);
    chain.state().write(kept, data);
    let running = Running::start(chain.clone(), NEVER).await;
    {
        // The account is gone, its address holds somebody else's lamports, and the chain has moved on.
        let mut state = chain.state();
        state.slot += 10;
        state.accounts.insert(closed, FetchedAccount { owner: Pubkey::default(), lamports: 1, data: vec![] });
    }
    running.syncer.resync().await.expect("resynced");
    let open = mirror::missing(running.database.pool(), u64::MAX >> 1, |_| false).await.expect("read");
    assert_eq!(
        open.into_values().flat_map(|of| of.addresses).collect::<Vec<_>>(),
        [kept],
        "the closed one is marked, the other is not"
    );
    // History stays.
    let execution = single::execution(running.database.pool(), &wallet(2), &id).await.expect("read").expect("there");
    assert_eq!(execution.status, reads::ShownStatus::Completed);
}

#[tokio::test]
async fn an_account_opened_after_the_snapshot_is_not_taken_for_closed() {
    let chain = Chain::new();
    chain.state().write(wallet(30), account_bytes(Config::DISCRIMINATOR, &configuration()));
    let running = Running::start(chain.clone(), NEVER).await;
    // Its change claims a slot before the snapshot, as Surfpool's do.
    chain.state().claimed_slot = Some(1);
    chain.state().during_snapshot = Some(Box::new(|state| {
        let (address, data) = priced(0, 1, 10);
        state.change(address, data);
    }));
    let before = running.syncer.resync();
    before.await.expect("resynced");
    running.until_equal().await;
    running.syncer.resync().await.expect("resynced");
    assert!(running.caught_up().await);
    assert_eq!(reads::mirror_counts(running.database.pool()).await.expect("counts").agents, 1);
}

#[tokio::test]
async fn another_chain_replaces_the_mirror_if_the_operator_allows_it() {
    let chain = Chain::new();
    let (old, data) = priced(0, 50, 10);
    chain.state().write(old, data);
    let (database, _) = Running::start(chain, NEVER).await.stop().await;

    let restarted = Chain::new();
    restarted.state().genesis = "two".into();
    restarted.state().slot = 3;
    let (new, data) = priced(0, 1, 77);
    assert_eq!(old, new);
    restarted.state().write(new, data);
    let running = Running::start_on(database, restarted, NEVER).await;
    assert_eq!(mirror::checkpoint(running.database.pool()).await.expect("read").expect("there").slot, 4);
}

#[tokio::test]
async fn a_chain_that_was_rolled_back_is_followed_once_the_mirror_was_emptied() {
    let chain = Chain::new();
    let (address, data) = priced(0, 50, 10);
    chain.state().write(address, data);
    let (database, chain) = Running::start(chain, NEVER).await.stop().await;
    let (address, data) = priced(0, 49, 9);
    chain.state().write(address, data);
    mirror::clear(database.pool()).await.expect("emptied");
    Running::start_on(database, chain, NEVER).await;
}

#[tokio::test]
async fn bytes_that_nobody_knows_are_quarantined_and_stop_nothing() {
    let chain = Chain::new();
    let running = Running::start(chain.clone(), NEVER).await;
    let (good, data) = priced(0, 1, 10);
    {
        let mut state = chain.state();
        state.change(wallet(90), vec![7; 40]);
        state.change(wallet(91), [bytes(&listing(wallet(1), 1)), vec![0]].concat());
        state.change(wallet(92), vec![]);
        state.change(wallet(93), vec![0; AgentListed::SPACE]);
        state.change(good, data);
    }
    running.until_equal().await;
    let agents = reads::mirror_counts(running.database.pool()).await.expect("counts").agents;
    assert_eq!((agents, reads::quarantined(running.database.pool()).await.expect("count").0), (1, 2));
}

#[tokio::test]
async fn an_execution_is_followed_from_its_opening_to_its_end_although_its_account_shrinks() {
    let chain = Chain::new();
    let id = Uuid::from_u128(1);
    let address = addresses().execution(&wallet(2), id.as_bytes());
    let open = record(wallet(2), wallet(20), id);
    let ended = completed(open, "r");
    let (long, short) = (record_bytes(&open), record_bytes(&ended));
    assert_eq!((long.len(), short.len()), (ExecutionRecord::OPEN_SPACE, ExecutionRecord::SPACE));
    let running = Running::start(chain.clone(), NEVER).await;
    chain.state().change(address, long);
    running.until_equal().await;
    // An account of the wrong length says nothing about the execution.
    chain.state().change(wallet(94), record_bytes(&ExecutionAccount { terms: None, ..open }));
    chain.state().change(address, short);
    running
        .until("the end is mirrored", async || {
            let shown = single::execution(running.database.pool(), &wallet(2), &id).await.expect("read");
            shown.is_some_and(|execution| execution.status == reads::ShownStatus::Completed)
        })
        .await;
    let report = auditor(&running).examine(false).await.expect("audited");
    assert_eq!((report.equal, report.different, report.unreadable), (1, 0, 1), "{report:?}");
}

#[tokio::test]
async fn the_checkpoint_of_a_quiet_chain_moves_on() {
    let running = Running::start(Chain::new(), NEVER).await;
    let listeners = running.chain.state().listeners.clone();
    for slot in 150..=170 {
        listeners.iter().for_each(|listener| listener.try_send(Ok(SourceEvent::Reached(slot))).expect("sent"));
    }
    let pool = running.database.pool();
    running
        .until("the checkpoint has moved", async || {
            mirror::checkpoint(pool).await.expect("read").expect("there").slot >= 160
        })
        .await;
}

#[tokio::test]
async fn the_heartbeat_says_whether_changes_stream_in() {
    let running = Running::start(Chain::new(), NEVER).await;
    let beats = tokio::spawn(Arc::clone(&running.syncer).heartbeat(running.shutdown.clone()));
    let pool = running.database.pool().clone();
    running
        .until("a heartbeat", async || {
            indexer_status::heartbeat(&pool).await.expect("read").is_some_and(|beat| beat.streaming)
        })
        .await;
    running.shutdown.cancel();
    beats.await.expect("ends with the rest");
}

/// A listing that names a document at `uri`, in a database of its own.
async fn listing_with(uri: &str, document: &[u8]) -> (TestDatabase, Pubkey) {
    let database = TestDatabase::create().await;
    let mut listing = listing(wallet(1), 0);
    listing.metadata_hash = ResultHash::of(document).0;
    set_uri(&mut listing, uri);
    let agent = addresses().agent(&wallet(1), 0);
    put(database.pool(), &agent, 1, &listing).await;
    (database, agent)
}

async fn shown(database: &TestDatabase, agent: &Pubkey) -> Option<String> {
    reads::agents(database.pool(), &[*agent]).await.expect("read").pop().map(|agent| agent.name)
}

/// Serves `content` at `/`, and a redirect to it at `/moved`.
async fn serve(content: Vec<u8>) -> String {
    use axum::{Router, response::Redirect, routing::get};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("bound"));
    let router = Router::new()
        .route("/", get(move || async move { content }))
        .route("/moved", get(|| async { Redirect::temporary("/") }));
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

fn content_in(folder: &std::path::Path) -> ContentSources {
    ContentSources { store: Some(ContentLocation::Folder(folder.to_owned())), base_url: None }
}

fn fetcher(database: &TestDatabase, policy: OutboundPolicy, sources: ContentSources) -> Arc<Fetcher> {
    Fetcher::new(database.pool().clone(), policy, sources).expect("a client")
}

#[tokio::test]
async fn a_document_is_fetched_from_the_content_folder_or_the_content_url() {
    let document = document("from content", &["data"]);
    let uri = format!("ipfs://{}", cid_of(&ResultHash::of(&document)));
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join(cid_of(&ResultHash::of(&document))), &document).expect("written");
    let (database, agent) = listing_with(&uri, &document).await;
    assert_eq!(shown(&database, &agent).await, None);
    let sources = content_in(folder.path());
    assert_eq!(fetcher(&database, OutboundPolicy::STRICT, sources).round().await.expect("done"), 1);
    assert_eq!(shown(&database, &agent).await.as_deref(), Some("from content"));

    let (database, agent) = listing_with(&uri, &document).await;
    let gateway = {
        use axum::{Router, routing::get};
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}/ipfs/", listener.local_addr().expect("bound"));
        let router = Router::new().route("/ipfs/{cid}", get(move || async move { document }));
        tokio::spawn(async move { axum::serve(listener, router).await });
        url
    };
    let sources = ContentSources { store: None, base_url: Some(gateway) };
    assert_eq!(fetcher(&database, OutboundPolicy::STRICT, sources).round().await.expect("done"), 1);
    assert_eq!(shown(&database, &agent).await.as_deref(), Some("from content"));
}

#[tokio::test]
async fn a_document_that_does_not_match_is_never_shown() {
    let url = serve(document("forged", &["data"])).await;
    let (database, agent) = listing_with(&url, &document("promised", &["data"])).await;
    let fetcher = fetcher(&database, OutboundPolicy::LOCAL, ContentSources::default());
    assert_eq!(fetcher.round().await.expect("done"), 0);
    assert_eq!(shown(&database, &agent).await, None);
    assert_eq!(reads::mirror_counts(database.pool()).await.expect("counts").agents_without_metadata, 1);
    // It is tried again later, not at once.
    fetcher.round().await.expect("done");
    assert_eq!(reads::listing(database.pool(), &agent).await.expect("read").expect("a listing").attempts, 1);
}

#[tokio::test]
async fn a_document_with_the_right_hash_and_the_wrong_form_is_not_shown() {
    for bad in [b"not json".to_vec(), br#"{"name":"x"}"#.to_vec(), vec![b' '; 300 * 1024]] {
        let (database, agent) = listing_with(&serve(bad.clone()).await, &bad).await;
        let fetcher = fetcher(&database, OutboundPolicy::LOCAL, ContentSources::default());
        assert_eq!(fetcher.round().await.expect("done"), 0);
        assert_eq!(shown(&database, &agent).await, None);
    }
}

#[tokio::test]
async fn a_schema_with_a_null_character_is_refused_and_stops_nothing() {
    let mut document: serde_json::Value = serde_json::from_slice(&document("null", &["data"])).expect("json");
    document["input_schema"] = serde_json::json!({"description": "a\u{0}b"});
    let bytes = serde_json::to_vec(&document).expect("json");
    let (database, agent) = listing_with(&serve(bytes.clone()).await, &bytes).await;
    let fetcher = fetcher(&database, OutboundPolicy::LOCAL, ContentSources::default());
    assert_eq!(fetcher.round().await.expect("done"), 0);
    assert_eq!(shown(&database, &agent).await, None);
}

#[tokio::test]
async fn a_document_that_no_call_could_be_made_by_is_not_shown() {
    let bomb = |link: fn(serde_json::Value) -> serde_json::Value| {
        let mut definitions = serde_json::Map::new();
        for number in 0..32 {
            let next = serde_json::json!({"$ref": format!("#/$defs/d{}", number + 1)});
            definitions.insert(format!("d{number}"), link(next));
        }
        definitions.insert("d32".to_owned(), serde_json::json!({}));
        serde_json::json!({"$defs": definitions, "$ref": "#/$defs/d0"})
    };
    for (field, value, shown_after) in [
        ("input_schema", bomb(|next| serde_json::json!({"allOf": [next, next]})), false),
        ("input_schema", bomb(|next| serde_json::json!({"anyOf": [next, {"not": next}]})), false),
        ("input_schema", serde_json::json!({"pattern": "((a{100}){100}){100}"}), false),
        ("input_schema", serde_json::json!({"$ref": "https://a.example/schema.json"}), false),
        ("input_schema", serde_json::json!({"enum": vec![0; 40_000]}), false),
        ("endpoint", serde_json::json!("https://10.0.0.1/execute"), false),
        ("endpoint", serde_json::json!("https://localhost/execute"), false),
        ("endpoint", serde_json::json!("https://a.example:22/execute"), false),
        ("endpoint", serde_json::json!("https://a.example/execute"), true),
    ] {
        let mut document: serde_json::Value = serde_json::from_slice(&document("bomb", &["data"])).expect("json");
        document[field] = value;
        let bytes = serde_json::to_vec(&document).expect("json");
        let folder = tempfile::tempdir().expect("a folder");
        let cid = cid_of(&ResultHash::of(&bytes));
        std::fs::write(folder.path().join(&cid), &bytes).expect("written");
        let (database, agent) = listing_with(&format!("ipfs://{cid}"), &bytes).await;
        let sources = content_in(folder.path());
        let stored = fetcher(&database, OutboundPolicy::STRICT, sources).round().await.expect("done");
        assert_eq!(stored == 1, shown_after, "{field}: {}", document[field]);
        assert_eq!(shown(&database, &agent).await.is_some(), shown_after);
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_an_inner_address_not_asked() {
    let document = document("inside", &["data"]);
    let url = serve(document.clone()).await;
    for (uri, policy, stored) in [
        (format!("{url}/moved"), OutboundPolicy::LOCAL, 0),
        (url.clone(), OutboundPolicy::STRICT, 0),
        (url.replace("http:", "https:"), OutboundPolicy::STRICT, 0),
        ("file:///etc/passwd".to_owned(), OutboundPolicy::LOCAL, 0),
        ("ipfs://not-a-cid".to_owned(), OutboundPolicy::LOCAL, 0),
        (url.clone(), OutboundPolicy::LOCAL, 1),
    ] {
        let (database, _) = listing_with(&uri, &document).await;
        let fetcher = fetcher(&database, policy, ContentSources::default());
        assert_eq!(fetcher.round().await.expect("done"), stored, "{uri}");
    }
}

/// An SPL token account that holds `amount`.
fn token_account(amount: u64) -> FetchedAccount {
    let account = TokenAccount { mint: wallet(61), owner: wallet(62), amount, delegate: None, frozen: false };
    FetchedAccount { owner: wallet(60), lamports: 1, data: account.encode() }
}

/// An agent with one open execution of 50 000, and what its vaults hold.
fn chain_with_vaults(escrow: u64, collateral: u64) -> Chain {
    let chain = Chain::new();
    let mut listing = listing(wallet(1), 0);
    listing.open_amount = 50_000;
    listing.open_executions = 1;
    let agent = addresses().agent(&wallet(1), 0);
    let id = Uuid::from_u128(1);
    let record_address = addresses().execution(&wallet(2), id.as_bytes());
    let mut state = chain.state();
    state.write(agent, bytes(&listing));
    state.write(record_address, record_bytes(&record(wallet(2), agent, id)));
    state.accounts.insert(addresses().escrow(&agent), token_account(escrow));
    state.accounts.insert(addresses().collateral(&agent), token_account(collateral));
    drop(state);
    chain
}

fn auditor(running: &Running) -> Auditor<Chain> {
    let mut auditor = Auditor::new(Arc::new(running.chain.clone()), running.database.pool().clone(), program());
    auditor.second_look_after = Duration::from_millis(50);
    auditor
}

#[tokio::test]
async fn the_audit_of_a_true_mirror_finds_nothing_and_is_kept() {
    let running = Running::start(chain_with_vaults(50_000, 10_000_000), NEVER).await;
    let report = auditor(&running).audit_and_store().await.expect("audited");
    assert!(report.ok, "{report:?}");
    assert_eq!((report.accounts, report.equal, report.vaults), (2, 2, 1));
    let (stored, _) = indexer_status::last_audit(running.database.pool()).await.expect("read").expect("there");
    assert_eq!(stored["ok"], true);
}

#[tokio::test]
async fn the_audit_finds_a_row_that_was_tampered_with() {
    let running = Running::start(chain_with_vaults(50_000, 10_000_000), NEVER).await;
    let agent = addresses().agent(&wallet(1), 0);
    let mut forged = listing(wallet(1), 0);
    forged.open_amount = 50_000;
    forged.open_executions = 1;
    forged.price = 1;
    // The same revision, seen "later": what a faulty writer would do.
    put(running.database.pool(), &agent, 9_000, &forged).await;
    let report = auditor(&running).examine(false).await.expect("audited");
    assert!(!report.ok);
    assert_eq!((report.different, report.differences[0].columns.as_slice()), (1, &["price".to_owned()][..]));
}

#[tokio::test]
async fn the_audit_finds_vaults_that_hold_too_little() {
    let running = Running::start(chain_with_vaults(49_999, 9_999_999), NEVER).await;
    let report = auditor(&running).examine(false).await.expect("audited");
    assert!(!report.ok);
    let short: Vec<_> = report.shortfalls.iter().map(|short| (short.account, short.required, short.held)).collect();
    assert_eq!(short, [("escrow", 50_000, 49_999), ("collateral", 10_000_000, 9_999_999)]);
}

#[tokio::test]
async fn the_audit_finds_bonds_that_are_not_in_the_escrow_and_claims_without_a_dispute() {
    let chain = chain_with_vaults(50_000, 10_000_000);
    let mut claimed = listing(wallet(1), 0);
    (claimed.open_amount, claimed.open_executions) = (50_000, 1);
    (claimed.open_bonds, claimed.covered_amount, claimed.slashable_amount) = (7, 8, 9);
    chain.state().write(addresses().agent(&wallet(1), 0), bytes(&claimed));
    let running = Running::start(chain, NEVER).await;
    let report = auditor(&running).examine(false).await.expect("audited");
    assert!(!report.ok);
    assert_eq!((report.shortfalls[0].required, report.shortfalls[0].held), (50_007, 50_000));
    let text = format!("{report:?}");
    for wrong in ["open_bonds", "covered_amount", "slashable_amount"] {
        assert!(text.contains(wrong), "{wrong}: {text}");
    }
}

#[tokio::test]
async fn the_audit_finds_a_listing_whose_open_amount_is_not_the_sum_of_its_records() {
    let chain = chain_with_vaults(50_000, 10_000_000);
    let record = addresses().execution(&wallet(2), Uuid::from_u128(1).as_bytes());
    chain.state().accounts.remove(&record);
    let running = Running::start(chain, NEVER).await;
    let report = auditor(&running).examine(false).await.expect("audited");
    assert_eq!((report.open_amounts[0].listing, report.open_amounts[0].records), (50_000, 0));
    assert!(!report.ok);
}
