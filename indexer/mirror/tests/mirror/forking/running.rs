//! A mirror that runs on a scripted chain, and what differs between the two.

use std::{sync::Arc, time::Duration};

use agent_marketplace::state::Config;
use anchor_lang::Discriminator;
use crtx_mirror::{
    history::History,
    source::AccountSource,
    sync::{SyncSettings, Syncer},
};
use crtx_protocol::mirror_digest::{MirrorDigest, data_hash};
use crtx_store::{
    PgPool, execution_list, indexer_status,
    mirror::{self, ExecutionAccount},
    reads::ShownStatus,
    testing::{TestDatabase, fixtures::*, mirrored, single},
};
use solana_pubkey::Pubkey;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{Chain, Node, record_bytes};

pub const NEVER: Duration = Duration::from_secs(3_600);
/// The execution that a fork opens.
pub const OPENED: u128 = 9;

pub fn quick(resync: Duration) -> SyncSettings {
    SyncSettings {
        finality_interval: Duration::from_millis(30),
        probe_interval: Duration::from_millis(30),
        gathering: Duration::ZERO,
        second_look_after: Duration::from_millis(20),
        ..SyncSettings::new(resync)
    }
}

/// A mirror of the chain of `node`, which it reads from `S`.
pub struct Running {
    pub database: TestDatabase,
    pub node: Node,
    pub syncer: Arc<Syncer>,
    pub shutdown: CancellationToken,
    /// The mirror's own connections.
    connections: PgPool,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl Running {
    /// Waits until the mirror shows everything.
    pub async fn start(node: &Node, settings: SyncSettings) -> Self {
        let running = Self::on(TestDatabase::create().await, node, settings);
        running.until("the first snapshot", async || running.checkpoint().await.is_some()).await;
        running.until_equal().await;
        running
    }

    pub fn on(database: TestDatabase, node: &Node, settings: SyncSettings) -> Self {
        Self::with_source(database, node, node.clone(), settings)
    }

    /// A market of so many open executions, with a fork on which one was settled, one opened and one closed. The mirror
    /// shows it.
    pub async fn on_a_fork(executions: u128, depth: u64) -> Self {
        let node = market(executions);
        let running = Self::start(&node, quick(NEVER)).await;
        running.fork(depth).await;
        running
    }

    /// Begins such a fork, of the executions 1, [`OPENED`] and 3.
    pub async fn fork(&self, depth: u64) {
        let node = &self.node;
        node.begin_fork();
        let (settled, data) = execution(1, 2, Some("r"));
        node.change(settled, data);
        let (opened, data) = execution(OPENED, 1, None);
        node.change(opened, data);
        node.close(execution_at(3));
        node.slots(depth);
        let pool = self.pool();
        self.until("the fork is shown", async || {
            let opened = status_of(pool, OPENED).await;
            status_of(pool, 1).await == Some(ShownStatus::Completed) && opened.is_some()
        })
        .await;
    }
}

impl Running {
    pub fn with_source(
        database: TestDatabase,
        node: &Node,
        source: impl AccountSource,
        settings: SyncSettings,
    ) -> Self {
        Self::with_history(database, node, source, settings, None)
    }

    pub fn with_history(
        database: TestDatabase,
        node: &Node,
        source: impl AccountSource,
        settings: SyncSettings,
        history: Option<Arc<dyn History>>,
    ) -> Self {
        let connections = PgPool::connect_lazy(&database.url()).expect("the URL of a database");
        let (pool, figures) = (connections.clone(), Arc::default());
        let syncer = Arc::new(Syncer::new(Arc::new(source), pool, program(), settings, history, figures));
        let shutdown = CancellationToken::new();
        let tasks = vec![
            tokio::spawn(Arc::clone(&syncer).run(shutdown.clone())),
            tokio::spawn(Arc::clone(&syncer).heartbeat(shutdown.clone())),
        ];
        Self { database, node: node.clone(), syncer, shutdown, connections, tasks }
    }

    pub fn pool(&self) -> &PgPool {
        self.database.pool()
    }

    pub async fn checkpoint(&self) -> Option<u64> {
        mirror::checkpoint(self.pool()).await.expect("read").map(|checkpoint| checkpoint.slot)
    }

    /// The slot that the digest shows; 0 before the first.
    pub async fn digest_slot(&self) -> u64 {
        mirror::digest(self.pool()).await.expect("read").map_or(0, |digest| digest.slot)
    }

    pub async fn until(&self, what: &str, condition: impl AsyncFn() -> bool) {
        for _ in 0..2_500 {
            if condition().await {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!(
            "never happened: {what}; {:?}; {}",
            self.problems().await,
            difference(self.pool(), &self.node.chain()).await
        );
    }

    /// Waits until the tables, the totals and the digest are those of the chain, all of which is final.
    pub async fn until_equal(&self) {
        self.node.finalize();
        self.until("the mirror equals the chain", async || {
            difference(self.pool(), &self.node.chain()).await.is_empty()
        })
        .await;
    }

    pub async fn problems(&self) -> Vec<String> {
        let processes = indexer_status::processes(self.pool()).await.expect("read");
        processes.into_iter().flat_map(|process| process.problems.0).map(|problem| problem.code).collect()
    }

    pub async fn until_problem(&self, code: &str) {
        self.until(code, async || self.problems().await.iter().any(|shown| shown == code)).await;
    }

    /// Ends it as a kill does: whatever it does stops, and it says nothing.
    pub async fn kill(self) -> TestDatabase {
        for task in &self.tasks {
            task.abort();
        }
        for task in self.tasks {
            drop(task.await);
        }
        self.connections.close().await;
        self.database
    }

    pub async fn stop(self) -> TestDatabase {
        self.shutdown.cancel();
        for task in self.tasks {
            task.await.expect("the mirror ends when it is stopped");
        }
        // A write that was cut off may still be on its way to the server. It is done, or never comes, after this.
        self.connections.close().await;
        self.database
    }
}

/// What differs between the database and the chain; empty if nothing does.
pub async fn difference(pool: &PgPool, chain: &Chain) -> String {
    if let Some(address) = mirrored::known_accounts(pool).await.iter().find(|address| !chain.ever.contains(address)) {
        return format!("never on the chain: {address}");
    }
    let mut batch = mirror::Batch::default();
    for (address, data) in &chain.accounts {
        crtx_mirror::sync::push(&mut batch, address, chain.slot, data.clone()).expect("a batch");
    }
    let found = mirror::compare(pool, &batch).await.expect("compared");
    if !found.differences.is_empty() || !found.newer.is_empty() {
        return format!("rows: {:?}, {} newer", found.differences, found.newer.len());
    }
    let open =
        mirror::missing(pool, u64::MAX >> 1, |address| chain.accounts.contains_key(address)).await.expect("read");
    if !open.is_empty() {
        return format!("open, but not on the chain: {open:?}");
    }
    let counted = mirrored::uncounted_executions(pool).await;
    if counted != 0 {
        return format!("totals of callers differ by {counted}");
    }
    let lists = execution_list::compare(pool, "", 10_000).await.expect("compared");
    if !lists.differences.is_empty() {
        return format!("lists: {:?}", lists.differences);
    }
    let (quarantined, unreadable) = (mirrored::quarantined(pool).await.len(), batch.unreadable().count());
    if quarantined != unreadable {
        return format!("{quarantined} in quarantine instead of {unreadable}");
    }
    let mut digest = MirrorDigest::identity();
    chain.accounts.iter().for_each(|(address, data)| digest.add(address, &data_hash(data)));
    match mirror::digest(pool).await.expect("read") {
        Some(shown) if shown.checksum == digest.checksum() && shown.slot <= chain.slot => String::new(),
        shown => format!("digest {shown:?} instead of {digest:?} at {}", chain.slot),
    }
}

pub fn execution_at(number: u128) -> Pubkey {
    addresses().execution(&wallet(2), Uuid::from_u128(number).as_bytes())
}

/// An open execution, or one that was settled with a result.
pub fn execution(number: u128, revision: u64, result: Option<&str>) -> (Pubkey, Vec<u8>) {
    let open = record(wallet(2), wallet(20), Uuid::from_u128(number));
    let mut account: ExecutionAccount = result.map_or(open, |result| completed(open, result));
    account.record.revision = revision;
    (execution_at(number), record_bytes(&account))
}

pub fn configured() -> Node {
    let node = Node::default();
    node.change(wallet(30), account_bytes(Config::DISCRIMINATOR, &configuration()));
    node
}

pub fn market(executions: u128) -> Node {
    let node = configured();
    for number in 1..=executions {
        let (address, data) = execution(number, 1, None);
        node.change(address, data);
    }
    node
}

pub async fn status_of(pool: &PgPool, number: u128) -> Option<ShownStatus> {
    let found = single::execution(pool, &wallet(2), &Uuid::from_u128(number)).await.expect("read");
    found.map(|execution| execution.status)
}
