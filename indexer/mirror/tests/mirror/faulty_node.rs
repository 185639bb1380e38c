//! The whole mirror over a real source, at a node that fails in each way that a node can: the status says so meanwhile,
//! and the database ends equal to the chain.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use crate::forking::{Chain, running::*};
use crate::node::{
    Node, OnConnect, Reply, SHORT, account, clock_notification, listed, program_notification, slot_notification,
};
use crtx_mirror::source::{AccountSource, At, Change, SourceEvent};
use crtx_store::{reads::ShownStatus, testing::TestDatabase};
use serde_json::{Value, json};
use solana_pubkey::Pubkey;

/// A chain behind a node that speaks JSON-RPC, and a mirror that follows it.
struct Market {
    chain: crate::forking::Node,
    node: Node,
    /// The node tells slots and its clock.
    slots_go_on: Arc<AtomicBool>,
    clock_goes_on: Arc<AtomicBool>,
    running: Running,
}

impl Market {
    /// `prepare` changes the node before anybody asks it.
    async fn open(prepare: impl FnOnce(&Node)) -> Self {
        let chain = market(3);
        chain.finalize();
        let node = Node::start().await;
        answer_from(&node, &chain);
        prepare(&node);
        let slots_go_on = Arc::new(AtomicBool::new(true));
        let clock_goes_on = Arc::new(AtomicBool::new(true));
        tokio::spawn(tick(node.clone(), chain.clone(), Arc::clone(&slots_go_on), Arc::clone(&clock_goes_on)));
        tokio::spawn(tell_changes(node.clone(), chain.clone()));
        let database = TestDatabase::create().await;
        let running = Running::with_source(database, &chain, node.source(SHORT), quick(Duration::from_millis(500)));
        Self { chain, node, slots_go_on, clock_goes_on, running }
    }

    async fn follow() -> Self {
        let market = Self::open(|_| {}).await;
        market.until_live().await;
        market
    }

    async fn until_live(&self) {
        self.running.until_equal().await;
        self.running.until("no problem is left", async || self.running.problems().await.is_empty()).await;
    }

    /// A change that the stream does not deliver.
    fn settle_unseen(&self) {
        self.chain.state().swallow = true;
        let (address, data) = execution(1, 2, Some("r"));
        self.chain.change(address, data);
        self.chain.state().swallow = false;
    }

    async fn assert_settled(&self) {
        assert_eq!(status_of(self.running.pool(), 1).await, Some(ShownStatus::Completed));
    }
}

/// The node answers requests with the state of the chain.
fn answer_from(node: &Node, chain: &crate::forking::Node) {
    let at = |params: &Value| match params["commitment"].as_str() {
        Some("finalized") => At::Finalized,
        _ => At::Confirmed,
    };
    let shown = chain.clone();
    node.on("getSlot", move |params| Reply::Result(json!(shown.chain_at(at(&params[0])).slot)));
    list_accounts(node, chain);
    let shown = chain.clone();
    node.on("getMultipleAccounts", move |params| {
        let Chain { slot, accounts, .. } = shown.chain_at(at(&params[1]));
        let address = |name: &Value| name.as_str().unwrap().parse::<Pubkey>().unwrap();
        let found = |name: &Value| accounts.get(&address(name)).map_or(Value::Null, |data| account(data));
        let value: Vec<Value> = params[0].as_array().unwrap().iter().map(found).collect();
        Reply::Result(json!({"context": {"slot": slot}, "value": value}))
    });
}

fn list_accounts(node: &Node, chain: &crate::forking::Node) {
    let shown = chain.clone();
    node.on("getProgramAccounts", move |params| {
        let finalized = params[1]["commitment"] == "finalized";
        let chain = shown.chain_at(if finalized { At::Finalized } else { At::Confirmed });
        let accounts: Vec<(Pubkey, Vec<u8>)> = chain.accounts.into_iter().collect();
        Reply::Result(listed(chain.slot, &accounts))
    });
}

async fn tick(node: Node, chain: crate::forking::Node, slots: Arc<AtomicBool>, clock: Arc<AtomicBool>) {
    loop {
        tokio::time::sleep(Duration::from_millis(50)).await;
        if slots.load(Relaxed) {
            chain.slots(1);
            chain.finalize();
            node.send(&slot_notification(chain.chain().slot, 1));
        }
        if clock.load(Relaxed) {
            node.send(&clock_notification(chain.chain().slot));
        }
    }
}

/// The node's stream has the changes of the chain.
async fn tell_changes(node: Node, chain: crate::forking::Node) {
    let mut events = chain.subscribe().await.expect("a stream");
    while let Some(event) = events.recv().await {
        if let Ok(SourceEvent::Change(Change { address, slot, data: Some(data) })) = event {
            node.send(&program_notification(slot, &address, &account(&data)));
        }
    }
}

#[tokio::test]
async fn a_connection_that_goes_silent_is_told_and_what_it_did_not_deliver_is_shown() {
    let market = Market::follow().await;
    market.slots_go_on.store(false, Relaxed);
    market.clock_goes_on.store(false, Relaxed);
    market.settle_unseen();
    market.running.until_problem("silent_stream").await;
    market.slots_go_on.store(true, Relaxed);
    market.clock_goes_on.store(true, Relaxed);
    market.until_live().await;
    market.assert_settled().await;
}

#[tokio::test]
async fn a_program_subscription_that_alone_is_dead_is_told() {
    let market = Market::follow().await;
    // Slots go on, and the clock, whose notifications take the same way as those of the program's accounts, stops.
    market.clock_goes_on.store(false, Relaxed);
    market.settle_unseen();
    market.running.until_problem("stream_missed_changes").await;
    market.clock_goes_on.store(true, Relaxed);
    market.until_live().await;
    market.assert_settled().await;
}

#[tokio::test]
async fn a_subscription_without_an_answer_is_told_and_tried_again() {
    let market = Market::follow().await;
    market.node.on_subscription("programSubscribe", None);
    market.node.hang_up();
    market.settle_unseen();
    market.running.until_problem("source_unreachable").await;
    market.node.grant("programSubscribe");
    market.until_live().await;
    market.assert_settled().await;
}

#[tokio::test]
async fn a_refused_subscription_is_told_and_tried_again() {
    let market = Market::follow().await;
    market.node.on_subscription("programSubscribe", Some("too many subscriptions"));
    market.node.hang_up();
    market.settle_unseen();
    market.running.until_problem("subscription_refused").await;
    market.node.grant("programSubscribe");
    market.until_live().await;
    market.assert_settled().await;
}

#[tokio::test]
async fn a_half_open_connection_is_told_and_given_up() {
    let market = Market::follow().await;
    for way in [OnConnect::HalfOpen, OnConnect::Deaf] {
        market.node.script().on_connect = way;
        market.node.hang_up();
        market.settle_unseen();
        market.running.until_problem("source_unreachable").await;
        market.node.script().on_connect = OnConnect::Talk;
        market.until_live().await;
        market.assert_settled().await;
    }
}

#[tokio::test]
async fn a_slot_that_stands_still_is_told_although_the_stream_lives() {
    let market = Market::follow().await;
    market.slots_go_on.store(false, Relaxed);
    let slot = market.chain.chain().slot;
    let node = market.node.clone();
    let same = tokio::spawn(async move {
        loop {
            node.send(&slot_notification(slot, 1));
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    market.running.until_problem("slot_stands_still").await;
    same.abort();
    market.slots_go_on.store(true, Relaxed);
    market.until_live().await;
}

#[tokio::test]
async fn a_provider_without_program_queries_is_told_from_the_start_and_another_answer_is_taken() {
    let market = Market::open(|node| {
        node.on("getProgramAccounts", |_| Reply::Error(-32_601, "Method not found"));
    })
    .await;
    market.running.until_problem("snapshot_failed").await;
    assert_eq!(market.running.checkpoint().await, None, "nothing is claimed");
    list_accounts(&market.node, &market.chain);
    market.until_live().await;
}

#[tokio::test]
async fn a_node_that_answers_nothing_is_told_and_hides_nothing() {
    let market = Market::follow().await;
    for method in ["getSlot", "getProgramAccounts", "getMultipleAccounts", "getGenesisHash"] {
        market.node.on(method, |_| Reply::Hang);
    }
    market.node.hang_up();
    market.running.until_problem("source_unreachable").await;
    assert_eq!(status_of(market.running.pool(), 1).await, Some(ShownStatus::Running));
    answer_from(&market.node, &market.chain);
    market.node.on("getGenesisHash", |_| Reply::Result(json!("one")));
    market.settle_unseen();
    market.until_live().await;
    market.assert_settled().await;
}

/// The mirror shows the chain `one`. Of two endpoints, one belongs to another chain when the mirror begins.
async fn beside_another_chain(preferred_is_wrong: bool) {
    let database = Market::follow().await.running.stop().await;
    let chain = market(3);
    chain.slots(2_000);
    chain.finalize();
    let (good, wrong) = (Node::start().await, Node::start().await);
    for node in [&good, &wrong] {
        answer_from(node, &chain);
        let on = || Arc::new(AtomicBool::new(true));
        tokio::spawn(tick(node.clone(), chain.clone(), on(), on()));
        tokio::spawn(tell_changes(node.clone(), chain.clone()));
    }
    wrong.on("getGenesisHash", |_| Reply::Result(json!("two")));
    let order = if preferred_is_wrong { [&wrong, &good] } else { [&good, &wrong] };
    let source = crate::node::endpoints(&order, SHORT);
    let running = Running::with_source(database, &chain, source, quick(Duration::from_millis(500)));
    let codes = async || running.problems().await;
    // The endpoint is told to be unusable, and nothing else: the mirror is right.
    running.until_equal().await;
    running.until("the endpoint is told", async || codes().await == ["endpoint_unusable"]).await;
    wrong.on("getGenesisHash", |_| Reply::Result(json!("one")));
    running.until("nothing is told", async || codes().await.is_empty()).await;
    // It is used now.
    good.on_subscription("programSubscribe", Some("no"));
    good.hang_up();
    for method in ["getSlot", "getProgramAccounts", "getMultipleAccounts", "getGenesisHash"] {
        good.on(method, |_| Reply::Status(503));
    }
    let (address, data) = execution(2, 2, Some("r"));
    chain.change(address, data);
    let pool = running.pool();
    running.until("the other endpoint", async || status_of(pool, 2).await == Some(ShownStatus::Completed)).await;
}

#[tokio::test]
async fn a_second_endpoint_of_another_chain_is_told_beside_a_true_mirror_and_used_once_it_was_put_right() {
    beside_another_chain(false).await;
}

#[tokio::test]
async fn a_preferred_endpoint_of_another_chain_is_told_beside_a_true_mirror_and_used_once_it_was_put_right() {
    beside_another_chain(true).await;
}
