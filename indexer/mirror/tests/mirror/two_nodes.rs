//! Two nodes of one network, of which one hides, withholds or does not answer: nothing disappears because of one node
//! alone, and the status says that they contradict each other. And many closings at once, with and without a proof.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use crate::chain::record_closed;
use crate::forking::{Node, running::*};
use async_trait::async_trait;
use crtx_chain::{
    ChainError, FetchedAccount,
    past::{PastTransaction, SignatureInfo},
};
use crtx_mirror::{
    history::History,
    source::{AccountSource, At, Change, Events, Read, Snapshot, SnapshotItem, SourceError, SourceEvent},
};
use crtx_store::{
    indexer_status, mirror,
    reads::ShownStatus,
    testing::{TestDatabase, fixtures::*},
};
use solana_pubkey::Pubkey;
use tokio::sync::mpsc;

type Tells = Box<dyn Fn(&Pubkey, Vec<u8>) -> Option<Vec<u8>> + Send>;

/// What one node tells of the chain.
#[derive(Clone)]
struct View {
    name: &'static str,
    chain: Node,
    tells: Arc<Mutex<Tells>>,
    is_down: Arc<AtomicBool>,
    second: Option<Arc<View>>,
}

impl View {
    fn of(name: &'static str, chain: &Node, second: Option<Arc<Self>>) -> Self {
        let tells: Tells = Box::new(|_, data| Some(data));
        let (chain, tells, is_down) = (chain.clone(), Arc::new(Mutex::new(tells)), Arc::default());
        Self { name, chain, tells, is_down, second }
    }

    fn tell(&self, tells: impl Fn(&Pubkey, Vec<u8>) -> Option<Vec<u8>> + Send + 'static) {
        *self.tells.lock().unwrap() = Box::new(tells);
    }

    fn hide(&self, hidden: impl Fn(&Pubkey) -> bool + Send + 'static) {
        self.tell(move |address, data| (!hidden(address)).then_some(data));
    }

    fn told(&self, address: &Pubkey, data: Vec<u8>) -> Option<Vec<u8>> {
        (self.tells.lock().unwrap())(address, data)
    }

    fn answers(&self) -> Result<(), SourceError> {
        if self.is_down.load(Relaxed) {
            let (node, reason) = (self.name.to_owned(), "nobody listens".to_owned());
            return Err(SourceError::Unreachable { node, reason });
        }
        Ok(())
    }
}

#[async_trait]
impl AccountSource for View {
    fn name(&self) -> String {
        self.name.to_owned()
    }

    async fn subscribe(&self) -> Result<Events, SourceError> {
        self.chain.subscribe().await
    }

    async fn snapshot(&self, at: At, min_slot: u64) -> Result<Snapshot, SourceError> {
        self.answers()?;
        let (mut whole, mut accounts) = (self.chain.snapshot(at, min_slot).await?, Vec::new());
        let slot = loop {
            match whole.recv().await.expect("an end")? {
                SnapshotItem::Page { accounts: page, .. } => accounts.extend(page),
                SnapshotItem::End { slot } => break slot,
            }
        };
        let told = |(address, data): (Pubkey, Vec<u8>)| Some((address, self.told(&address, data)?));
        let accounts: Vec<_> = accounts.into_iter().filter_map(told).collect();
        let (items, snapshot) = mpsc::channel(2);
        items.try_send(Ok(SnapshotItem::Page { slot, accounts })).unwrap();
        items.try_send(Ok(SnapshotItem::End { slot })).unwrap();
        Ok(snapshot)
    }

    async fn read(&self, addresses: &[Pubkey], at: At, min_slot: u64) -> Result<Read, SourceError> {
        self.answers()?;
        let mut read = self.chain.read(addresses, at, min_slot).await?;
        for (address, account) in addresses.iter().zip(&mut read.value) {
            let told = account.take().and_then(|account| self.told(address, account.data));
            *account = told.map(|data| FetchedAccount { owner: program(), lamports: 1, data });
        }
        Ok(read)
    }

    async fn slot(&self, at: At) -> Result<u64, SourceError> {
        self.chain.slot(at).await
    }

    async fn genesis_hash(&self) -> Result<String, SourceError> {
        self.answers()?;
        self.chain.genesis_hash().await
    }

    async fn transactions_after(
        &self,
        after: Option<&str>,
        min_slot: u64,
    ) -> Result<Option<Vec<SignatureInfo>>, SourceError> {
        self.chain.transactions_after(after, min_slot).await
    }

    fn witness(&self) -> Option<Arc<dyn AccountSource>> {
        self.second.clone().map(|second| second as Arc<dyn AccountSource>)
    }
}

const OFTEN: Duration = Duration::from_millis(200);

/// A market that is mirrored from two nodes.
struct Market {
    running: Running,
    first: View,
    second: View,
}

impl Market {
    async fn open(executions: u128) -> Self {
        let chain = market(executions);
        chain.finalize();
        let second = View::of("second.example", &chain, None);
        let first = View::of("first.example", &chain, Some(Arc::new(second.clone())));
        let running = Running::with_source(TestDatabase::create().await, &chain, first.clone(), quick(OFTEN));
        running.until_equal().await;
        Self { running, first, second }
    }

    async fn open_accounts(&self) -> u64 {
        mirror::open_accounts(self.running.pool()).await.unwrap()
    }

    /// Several snapshots later.
    async fn later(&self) {
        let before = self.running.node.snapshots();
        self.running.node.slots(3);
        self.running.until("further snapshots", async || self.running.node.snapshots() > before + 6).await;
    }

    async fn message(&self, code: &str) -> String {
        self.running.until_problem(code).await;
        let processes = indexer_status::processes(self.running.pool()).await.unwrap();
        let problem = processes[0].problems.iter().find(|problem| problem.code == code);
        problem.expect("the problem is told").message.clone()
    }

    async fn until_no_problem(&self) {
        self.running.until("no problem", async || self.running.problems().await.is_empty()).await;
    }
}

#[tokio::test]
async fn accounts_that_one_of_two_nodes_hides_stay_shown_and_both_nodes_are_named() {
    let market = Market::open(80).await;
    for (hiding, count) in
        [(&market.first, 5), (&market.second, 5), (&market.first, 30), (&market.second, 30), (&market.first, 80)]
    {
        let hidden: Vec<Pubkey> = (1..=count).map(execution_at).collect();
        hiding.hide(move |address| hidden.contains(address));
        let message = market.message("nodes_disagree").await;
        assert!(message.contains("first.example") && message.contains("second.example"), "{message}");
        assert!(message.contains(&format!(" {count} accounts")), "{message}");
        market.later().await;
        assert_eq!(market.open_accounts().await, 81, "{}", hiding.name);
        hiding.hide(|_| false);
        market.until_no_problem().await;
    }
    market.running.until_equal().await;
}

#[tokio::test]
async fn nothing_is_hidden_while_the_second_node_cannot_be_asked_and_what_is_gone_is_hidden_afterwards() {
    let market = Market::open(20).await;
    market.second.is_down.store(true, Relaxed);
    (1..=5).for_each(|number| market.running.node.close(execution_at(number)));
    let message = market.message("closing_unconfirmed").await;
    assert!(message.contains("first.example") && message.contains("second.example"), "{message}");
    market.running.until_problem("endpoint_unusable").await;
    market.later().await;
    assert_eq!(market.open_accounts().await, 21);
    market.second.is_down.store(false, Relaxed);
    market.running.until_equal().await;
    assert_eq!(market.open_accounts().await, 16);
    market.until_no_problem().await;
}

#[tokio::test]
async fn what_the_streaming_node_withholds_is_read_from_the_other_one_and_told() {
    let market = Market::open(3).await;
    let (address, old) = execution(1, 1, None);
    let withheld = move |at: &Pubkey, data: Vec<u8>| Some(if *at == address { old.clone() } else { data });
    market.first.tell(withheld);
    market.running.node.state().swallow = true;
    let (address, data) = execution(1, 2, Some("r"));
    market.running.node.change(address, data);
    market.running.node.state().swallow = false;
    let pool = market.running.pool();
    let settled = async || status_of(pool, 1).await == Some(ShownStatus::Completed);
    market.running.until("the other node's state is shown", settled).await;
    let message = market.message("nodes_disagree").await;
    assert!(message.contains(&address.to_string()), "{message}");
    market.later().await;
    assert!(settled().await, "the first node does not take it back");
    market.first.hide(|_| false);
    market.running.until_equal().await;
    market.until_no_problem().await;
}

/// The transactions that closed records, each with its event.
#[derive(Clone, Default)]
struct Closings(chain_history::Closed);

mod chain_history {
    use std::{
        collections::HashMap,
        sync::{Arc, Mutex},
    };

    use solana_pubkey::Pubkey;

    /// Slot and last bytes.
    pub type Closed = Arc<Mutex<HashMap<Pubkey, (u64, Vec<u8>)>>>;
}

#[async_trait]
impl History for Closings {
    async fn about(&self, address: &Pubkey, _: Option<&str>, _: usize) -> Result<Vec<SignatureInfo>, ChainError> {
        let closed = self.0.lock().unwrap();
        let listed = closed.get(address).map(|(slot, _)| SignatureInfo {
            signature: address.to_string(),
            slot: *slot,
            block_time: None,
            failed: false,
        });
        Ok(listed.into_iter().collect())
    }

    async fn transaction(&self, signature: &str) -> Result<Option<PastTransaction>, ChainError> {
        let address: Pubkey = signature.parse().unwrap();
        let Some((slot, data)) = self.0.lock().unwrap().get(&address).cloned() else { return Ok(None) };
        let scripted = crate::chain::Chain::new();
        let mut state = scripted.state();
        state.slot = slot;
        state.transact(&[address], record_closed(address, data, None));
        Ok(Some(state.transactions[0].2.clone()))
    }
}

impl Closings {
    /// A transaction closes a record, and keeps its proof.
    fn close(&self, node: &Node, number: u128) {
        let address = execution_at(number);
        let data = node.chain().accounts[&address].clone();
        node.close(address);
        self.0.lock().unwrap().insert(address, (node.chain().slot, data));
    }
}

async fn mirrored(node: &Node, closings: &Closings, resync: Duration) -> Running {
    let history: Arc<dyn History> = Arc::new(closings.clone());
    let running = Running::with_history(TestDatabase::create().await, node, node.clone(), quick(resync), Some(history));
    running.until_equal().await;
    running
}

#[tokio::test]
async fn closings_that_events_on_the_chain_prove_are_never_held_although_all_records_close_at_once() {
    let (node, closings) = (market(80), Closings::default());
    let running = mirrored(&node, &closings, OFTEN).await;
    (1..=80).for_each(|number| closings.close(&node, number));
    let told = async || running.problems().await.contains(&"mass_closing_held".to_owned());
    let equal = async || difference(running.pool(), &node.chain()).await.is_empty();
    node.finalize();
    running.until("the records are closed", async || equal().await || told().await).await;
    assert!(!told().await);
    assert_eq!(mirror::open_accounts(running.pool()).await.unwrap(), 1);
    // A process that finds the rows closed, and did not see how, holds nothing either.
    let database = running.stop().await;
    let running = Running::on(database, &node, quick(OFTEN));
    node.slots(40);
    running.until_equal().await;
    let slot = node.chain().slot;
    running.until("the digest moves", async || running.digest_slot().await + 8 > slot).await;
    assert!(!running.problems().await.contains(&"mass_closing_held".to_owned()));
    running.until("no problem is left", async || running.problems().await.is_empty()).await;
}

#[tokio::test]
async fn what_no_event_proves_is_held_and_what_one_proves_is_closed_beside_it() {
    let (node, closings) = (market(160), Closings::default());
    let running = mirrored(&node, &closings, OFTEN).await;
    (1..=80).for_each(|number| closings.close(&node, number));
    (81..=150).for_each(|number| node.close(execution_at(number)));
    running.until_problem("mass_closing_held").await;
    let open = async || mirror::open_accounts(running.pool()).await.unwrap();
    running.until("what is proved is closed", async || open().await == 81).await;
    node.slots(3);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(open().await, 81);
    assert!(running.problems().await.contains(&"mass_closing_held".to_owned()));
}

#[tokio::test]
async fn closings_that_the_stream_tells_are_never_held() {
    let node = market(80);
    let running = Running::start(&node, quick(NEVER)).await;
    for number in 1..=80 {
        node.close(execution_at(number));
        let slot = node.chain().slot;
        node.send(SourceEvent::Change(Change { address: execution_at(number), slot, data: None }));
    }
    running.until_equal().await;
    assert_eq!(mirror::open_accounts(running.pool()).await.unwrap(), 1);
    running.syncer.resync().await.expect("resynced");
    assert!(!running.problems().await.contains(&"mass_closing_held".to_owned()));
}
