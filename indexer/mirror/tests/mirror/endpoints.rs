//! Several endpoints as one source: who is asked, who is passed over, and who is believed.

use std::time::Duration;

use crate::node::{LONG, Node, OnConnect, Reply, SHORT, account, endpoints, listed, slot_notification};
use crtx_chain::past::SignatureInfo;
use crtx_mirror::source::{
    AccountSource, At, EndpointUrls, Endpoints, Events, MAX_TRANSACTIONS, SourceError, SourceEvent,
};
use crtx_store::testing::fixtures::{program, wallet};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

/// Far more than any deadline of a test.
const PATIENCE: Duration = Duration::from_secs(60);
/// Longer than the first rest of an endpoint.
const AFTER_A_REST: Duration = Duration::from_millis(2_500);

async fn pair() -> (Node, Node) {
    (Node::start().await, Node::start().await)
}

/// Follows the stream to its end and returns the slots that it told.
async fn to_the_end(mut events: Events) -> (Vec<u64>, SourceError) {
    let mut slots = Vec::new();
    loop {
        match timeout(PATIENCE, events.recv()).await.expect("an item").expect("a reason before the end") {
            Ok(SourceEvent::Alive(slot)) => slots.push(slot),
            Ok(_) => {}
            Err(reason) => return (slots, reason),
        }
    }
}

#[tokio::test]
async fn the_next_endpoint_streams_when_the_preferred_one_fails_and_the_preferred_one_afterwards() {
    let (first, second) = pair().await;
    let source = endpoints(&[&first, &second], SHORT);
    let events = source.subscribe().await.expect("subscribed");
    assert_eq!(source.name(), first.name());
    first.send(&slot_notification(101, 70));
    let (slots, reason) = to_the_end(events).await;
    assert_eq!((slots, reason.code()), (vec![101], "silent_stream"));

    let events = source.subscribe().await.expect("subscribed");
    assert_eq!(source.name(), second.name(), "the first one rests");
    second.send(&slot_notification(102, 70));
    assert_eq!(to_the_end(events).await.0, [102]);

    sleep(AFTER_A_REST).await;
    let _events = source.subscribe().await.expect("subscribed");
    assert_eq!(source.name(), first.name(), "its rest is over");
}

#[tokio::test]
async fn every_kind_of_failure_leads_to_the_next_endpoint() {
    let faults: [fn(&Node); 5] = [
        |node| node.script().on_connect = OnConnect::HalfOpen,
        |node| node.script().on_connect = OnConnect::Deaf,
        |node| node.on_subscription("programSubscribe", None),
        |node| node.on_subscription("programSubscribe", Some("no")),
        |node| node.on("getGenesisHash", |_| Reply::Hang),
    ];
    for fault in faults {
        let (first, second) = pair().await;
        fault(&first);
        let source = endpoints(&[&first, &second], SHORT);
        let _events = timeout(PATIENCE, source.subscribe()).await.expect("in time").expect("subscribed");
        assert_eq!(source.name(), second.name());
    }
}

#[tokio::test]
async fn an_only_endpoint_is_tried_although_it_rests() {
    let node = Node::start().await;
    let source = node.source(SHORT);
    node.on_subscription("programSubscribe", Some("no"));
    for _ in 0..3 {
        assert!(source.subscribe().await.is_err());
    }
    assert_eq!(node.script().connections, 3);
}

#[tokio::test]
async fn an_endpoint_without_a_websocket_serves_reads_and_does_not_stream() {
    let (first, second) = pair().await;
    let urls = [EndpointUrls { websocket: None, ..first.urls.clone() }, second.urls.clone()];
    let source = Endpoints::new(&urls, None, program(), SHORT).expect("endpoints");
    assert_eq!(source.slot(At::Confirmed).await.expect("read"), 100);
    assert_eq!(first.asked("getSlot").len(), 1);
    let _events = source.subscribe().await.expect("subscribed");
    assert_eq!(source.name(), second.name());
}

#[tokio::test]
async fn urls_are_paired_in_their_order() {
    let rpc_urls = "http://a.example,http://b.example".parse().expect("URLs");
    let pairs = EndpointUrls::pairs(&rpc_urls, "ws://a.example").expect("pairs");
    assert_eq!(pairs.iter().map(|urls| urls.websocket.is_some()).collect::<Vec<_>>(), [true, false]);
    let pairs = EndpointUrls::pairs(&rpc_urls, "ws://a.example, ws://b.example/key").expect("pairs");
    assert_eq!(pairs[1].websocket.as_ref().expect("a URL").as_str(), "ws://b.example/key");
    assert!(EndpointUrls::pairs(&rpc_urls, "ws://a.example,ws://b.example,ws://c.example").is_err());
}

fn reads(node: &Node, slot: u64) {
    node.on("getMultipleAccounts", move |_| {
        Reply::Result(json!({"context": {"slot": slot}, "value": [account(b"account a"), null]}))
    });
}

#[tokio::test]
async fn reads_name_their_slot_and_an_answer_from_before_it_is_asked_for_elsewhere() {
    let (first, second) = pair().await;
    // It ignores `minContextSlot`.
    reads(&first, 49);
    reads(&second, 50);
    let source = endpoints(&[&first, &second], SHORT);
    let read = source.read(&[wallet(1), wallet(2)], At::Finalized, 50).await.expect("read");
    assert_eq!((read.slot, read.value[0].as_ref().map(|account| account.owner)), (50, Some(program())));
    assert_eq!(read.value[1], None);
    let config = &first.asked("getMultipleAccounts")[0][1];
    assert_eq!((&config["minContextSlot"], &config["commitment"]), (&json!(50), &json!("finalized")));
    let read = source.read(&[wallet(1), wallet(2)], At::Confirmed, 49).await.expect("read");
    assert_eq!(read.slot, 49, "being behind is no reason to rest");
}

#[tokio::test]
async fn endpoints_that_are_all_behind_are_asked_again_for_a_while() {
    let (first, second) = pair().await;
    for node in [&first, &second] {
        node.on("getMultipleAccounts", |_| Reply::Error(-32_016, "Minimum context slot has not been reached"));
    }
    let source = endpoints(&[&first, &second], SHORT);
    let reason = source.read(&[wallet(1)], At::Confirmed, 50).await.expect_err("behind");
    assert!(matches!(reason, SourceError::Behind { wanted: 50, .. }), "{reason}");
    let asked = second.asked("getMultipleAccounts").len();
    assert!(asked > 1);
    let later = std::sync::atomic::AtomicU64::new(48);
    first.on("getMultipleAccounts", move |_| {
        let slot = later.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Reply::Result(json!({"context": {"slot": slot}, "value": [null]}))
    });
    assert_eq!(source.read(&[wallet(1)], At::Confirmed, 50).await.expect("caught up").slot, 50);
}

#[tokio::test]
async fn a_read_without_an_entry_for_each_address_is_an_error() {
    let node = Node::start().await;
    reads(&node, 50);
    let reason = node.source(SHORT).read(&[wallet(1)], At::Confirmed, 0).await.expect_err("two entries for one");
    assert!(matches!(reason, SourceError::Malformed { .. }), "{reason}");
}

#[tokio::test]
async fn an_answer_that_is_too_long_is_not_read() {
    let node = Node::start().await;
    node.on("getGenesisHash", |_| Reply::Result(json!("a".repeat(100_000))));
    let reason = node.source(SHORT).genesis_hash().await.expect_err("too long");
    assert!(matches!(reason, SourceError::TooLarge { .. }), "{reason}");
}

#[tokio::test]
async fn a_snapshot_comes_from_the_next_endpoint_if_the_first_delivers_nothing() {
    let (first, second) = pair().await;
    first.on("getProgramAccounts", |_| Reply::Error(-32_601, "Method not found"));
    second.on("getProgramAccounts", |_| Reply::Result(listed(41, &[(wallet(1), b"account a".to_vec())])));
    let source = endpoints(&[&first, &second], SHORT);
    let snapshot = source.snapshot(At::Confirmed, 0).await.expect("begun");
    assert_eq!(crate::node::collect(snapshot).await.expect("complete").0, 41);
    assert_eq!(source.slot(At::Confirmed).await.expect("read"), 100);
    assert_eq!(second.asked("getSlot").len(), 0, "for other reads the first is still asked");
    second.on("getProgramAccounts", |_| Reply::Status(503));
    sleep(AFTER_A_REST).await;
    let snapshot = source.snapshot(At::Confirmed, 0).await.expect("begun");
    let reason = crate::node::collect(snapshot).await.expect_err("nobody lists");
    assert!(matches!(reason, SourceError::ProgramQueriesRefused { .. }), "the preferred one's reason: {reason}");
}

#[tokio::test]
async fn a_snapshot_that_broke_off_is_not_continued_elsewhere() {
    let (first, second) = pair().await;
    let accounts: Vec<_> = (0..3_000).map(|_| (wallet(1), b"account a".to_vec())).collect();
    let whole = json!({"result": listed(41, &accounts)}).to_string();
    let part = axum::body::Bytes::from(whole[..whole.len() - 10].to_owned());
    first.on("getProgramAccounts", move |_| Reply::Parts(vec![part.clone()], Duration::ZERO));
    let source = endpoints(&[&first, &second], SHORT);
    let reason =
        crate::node::collect(source.snapshot(At::Confirmed, 0).await.expect("begun")).await.expect_err("broken");
    assert!(matches!(reason, SourceError::SnapshotIncomplete { .. }), "{reason}");
    assert_eq!(second.asked("getProgramAccounts").len(), 0);
    crate::node::collect(source.snapshot(At::Confirmed, 0).await.expect("begun"))
        .await
        .expect("the next one is complete");
    assert_eq!(second.asked("getProgramAccounts").len(), 1);
}

#[tokio::test]
async fn the_witness_is_another_endpoint_than_the_active_one() {
    let (first, second) = pair().await;
    reads(&first, 50);
    reads(&second, 60);
    let source = endpoints(&[&first, &second], SHORT);
    let events = source.subscribe().await.expect("subscribed");
    let witness = source.witness().expect("a second endpoint");
    assert_eq!(witness.name(), second.name());
    assert_eq!(witness.read(&[wallet(1), wallet(2)], At::Confirmed, 0).await.expect("read").slot, 60);
    assert!(witness.witness().is_none());
    first.hang_up();
    drop(to_the_end(events).await);
    let _events = source.subscribe().await.expect("subscribed");
    assert_eq!(source.witness().expect("the first one").name(), first.name());
    assert!(Node::start().await.source(SHORT).witness().is_none());
}

fn belongs_to(node: &Node, genesis: &'static str) {
    node.on("getGenesisHash", move |_| Reply::Result(json!(genesis)));
}

#[tokio::test]
async fn an_endpoint_of_another_chain_is_neither_asked_nor_streamed_from() {
    let (first, second) = pair().await;
    belongs_to(&second, "two");
    reads(&second, 60);
    first.on("getMultipleAccounts", |_| Reply::Hang);
    let source = endpoints(&[&first, &second], SHORT);
    let events = source.subscribe().await.expect("subscribed");
    assert!(source.read(&[wallet(1), wallet(2)], At::Confirmed, 0).await.is_err());
    let witness = source.witness().expect("a second endpoint");
    let reason = witness.read(&[wallet(1), wallet(2)], At::Confirmed, 0).await.expect_err("another chain");
    assert!(matches!(reason, SourceError::OtherGenesis { .. }), "{reason}");
    assert_eq!(second.asked("getMultipleAccounts").len(), 0);
    first.hang_up();
    drop(to_the_end(events).await);
    first.on_subscription("programSubscribe", Some("no"));
    assert!(source.subscribe().await.is_err());
    assert_eq!(second.script().connections, 0);
}

#[tokio::test]
async fn one_answer_with_another_genesis_is_not_believed_while_another_endpoint_contradicts_it() {
    let (first, second) = pair().await;
    let source = endpoints(&[&first, &second], SHORT);
    let events = source.subscribe().await.expect("subscribed");
    belongs_to(&first, "two");
    let reason = source.genesis_hash().await.expect_err("doubted");
    assert_eq!(reason.code(), "other_genesis_held");
    first.hang_up();
    drop(to_the_end(events).await);
    let _events = source.subscribe().await.expect("subscribed");
    assert_eq!(source.name(), second.name());
    assert_eq!(source.genesis_hash().await.expect("told"), "one");
}

#[tokio::test]
async fn another_genesis_that_every_endpoint_tells_is_passed_on() {
    let (first, second) = pair().await;
    let source = endpoints(&[&first, &second], SHORT);
    assert_eq!(source.genesis_hash().await.expect("told"), "one");
    let events = source.subscribe().await.expect("subscribed");
    [&first, &second].into_iter().for_each(|node| belongs_to(node, "two"));
    first.hang_up();
    drop(to_the_end(events).await);
    let _events = source.subscribe().await.expect("subscribed");
    assert_eq!(source.genesis_hash().await.expect("told"), "two");
}

#[tokio::test]
async fn the_chain_that_the_mirror_follows_decides_from_the_start() {
    let (first, second) = pair().await;
    belongs_to(&first, "two");
    let source = endpoints(&[&first, &second], SHORT);
    source.expect_chain("one");
    let _events = source.subscribe().await.expect("subscribed");
    assert_eq!(source.name(), second.name());
}

fn signature(number: u64) -> String {
    format!("transaction {number}")
}

fn transaction(number: u64, failed: bool) -> SignatureInfo {
    SignatureInfo { signature: signature(number), slot: number, block_time: None, failed }
}

/// A node with the transactions 0 to `count`, the newest last, in pages of at most 1 000.
fn history(node: &Node, count: u64) {
    node.on("getSignaturesForAddress", move |params| {
        let config = &params[1];
        let number = |value: &Value| value.as_str()?.strip_prefix("transaction ")?.parse::<u64>().ok();
        let newest = number(&config["before"]).unwrap_or(count);
        let oldest = number(&config["until"]).map_or(0, |number| number + 1);
        let found = (oldest..newest).rev().take(config["limit"].as_u64().expect("a limit") as usize);
        let found = found.map(|number| {
            let error = if number == 3 { json!({"InstructionError": [0, "InvalidArgument"]}) } else { Value::Null };
            json!({"signature": signature(number), "slot": number, "err": error, "memo": null})
        });
        Reply::Result(found.collect())
    });
}

#[tokio::test]
async fn transactions_come_newest_first_up_to_the_known_one() {
    let node = Node::start().await;
    history(&node, 2_345);
    let source = node.source(LONG);
    let found = source.transactions_after(Some(&signature(2)), 100).await.expect("read").expect("offered");
    assert_eq!(found.len(), 2_342);
    assert_eq!(found[0], transaction(2_344, false));
    assert_eq!(found[2_341], transaction(3, true));
    assert_eq!(node.asked("getSignaturesForAddress")[0][1]["minContextSlot"], 100);
    let reason = node.source(SHORT).transactions_after(None, 101).await.expect_err("the node is at slot 100");
    assert!(matches!(reason, SourceError::Behind { .. }), "{reason}");
}

#[tokio::test]
async fn no_more_transactions_are_read_than_the_limit() {
    let node = Node::start().await;
    node.on("getSignaturesForAddress", |_| {
        let transaction = json!({"signature": signature(1), "slot": 1, "err": null});
        Reply::Result(vec![transaction; 5_000].into())
    });
    let found = node.source(LONG).transactions_after(None, 0).await.expect("read").expect("offered");
    assert_eq!((found.len(), node.asked("getSignaturesForAddress").len()), (MAX_TRANSACTIONS, 10));
}

#[tokio::test]
async fn a_node_without_a_history_offers_none() {
    let node = Node::start().await;
    assert!(node.source(SHORT).transactions_after(None, 0).await.expect("answered").is_none());
    node.on("getSignaturesForAddress", |_| Reply::Error(-32_011, "Transaction history is not available"));
    assert!(node.source(SHORT).transactions_after(None, 0).await.expect("answered").is_none());
    node.on("getSignaturesForAddress", |_| Reply::Status(500));
    assert!(node.source(SHORT).transactions_after(None, 0).await.is_err());
}

#[tokio::test]
async fn no_error_shows_the_key_in_a_url() {
    let node = Node::start().await;
    let mut urls = node.urls.clone();
    urls.http.set_path("/secret-key");
    urls.http.set_query(Some("api-key=secret-key"));
    let websocket = urls.websocket.as_mut().expect("a URL");
    websocket.set_path("/secret-key");
    node.script().on_connect = OnConnect::HalfOpen;
    let source = Endpoints::new(&[urls.clone()], None, program(), SHORT).expect("endpoints");
    let mut shown = vec![source.name()];
    shown.extend(source.slot(At::Confirmed).await.err().map(|error| error.to_string()));
    shown.extend(source.subscribe().await.err().map(|error| error.to_string()));
    urls.http.set_port(Some(1)).expect("a port");
    let source = Endpoints::new(&[urls], None, program(), SHORT).expect("endpoints");
    shown.extend(source.slot(At::Confirmed).await.err().map(|error| error.to_string()));
    assert_eq!(shown.len(), 4, "{shown:?}");
    assert!(shown.iter().all(|text| !text.contains("secret")), "{shown:?}");
}

#[tokio::test]
async fn a_second_endpoint_that_belonged_to_another_chain_is_used_once_it_was_put_right() {
    let (first, second) = pair().await;
    belongs_to(&second, "two");
    reads(&second, 60);
    let source = endpoints(&[&first, &second], SHORT);
    let _events = source.subscribe().await.expect("subscribed");
    let witness = source.witness().expect("a second endpoint");
    witness.read(&[wallet(1), wallet(2)], At::Confirmed, 0).await.expect_err("another chain");
    let unusable = source.unusable();
    assert!(unusable.len() == 1 && unusable[0].contains(&second.name()), "{unusable:?}");
    assert!(unusable[0].contains("two"), "{unusable:?}");
    belongs_to(&second, "one");
    witness.read(&[wallet(1), wallet(2)], At::Confirmed, 0).await.expect("it was put right");
    assert_eq!(source.unusable(), Vec::<String>::new());
    // The same if nothing but the look at unusable endpoints asks it.
    belongs_to(&second, "two");
    first.on("getMultipleAccounts", |_| Reply::Status(503));
    let lone = endpoints(&[&first, &second], SHORT);
    let _events = lone.subscribe().await.expect("subscribed");
    assert!(lone.read(&[wallet(1), wallet(2)], At::Confirmed, 0).await.is_err());
    assert_eq!(lone.unusable().len(), 1, "the first one answers");
    belongs_to(&second, "one");
    sleep(AFTER_A_REST).await;
    lone.ask_unusable_again().await;
    assert_eq!(lone.unusable(), Vec::<String>::new());
    assert_eq!(lone.read(&[wallet(1), wallet(2)], At::Confirmed, 0).await.expect("from the second").slot, 60);
}
