//! Snapshots in pages: every way of listing, and every way in which a node can fail at it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use crate::node::{LONG, Node, Reply, SHORT, account, entries, listed};
use axum::body::{Body, Bytes};
use crtx_chain::ProgramAccount;
use crtx_mirror::source::{AccountSource, At, Deadlines, MAX_ACCOUNTS_PER_PAGE, Snapshot, SnapshotItem, SourceError};
use crtx_store::testing::fixtures::{program, wallet};
use futures::StreamExt;
use serde_json::{Value, json};
use solana_pubkey::Pubkey;
use tokio::time::timeout;

/// Far more than any deadline of a test.
const PATIENCE: Duration = Duration::from_secs(60);

fn address(number: u64) -> Pubkey {
    let mut bytes = [1; 32];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    Pubkey::new_from_array(bytes)
}

fn numbered(numbers: std::ops::Range<u64>) -> Vec<(Pubkey, Vec<u8>)> {
    numbers.map(|number| (address(number), [b"a kind, ".as_slice(), &number.to_le_bytes()].concat())).collect()
}

type Accounts = Vec<(Pubkey, Vec<u8>)>;

/// The whole snapshot, checked page by page; its slot last.
async fn all(mut snapshot: Snapshot) -> Result<(u64, Accounts), SourceError> {
    let (mut accounts, mut lowest) = (Vec::new(), u64::MAX);
    while let Some(item) = timeout(PATIENCE, snapshot.recv()).await.expect("an item, or the end") {
        match item? {
            SnapshotItem::Page { slot, accounts: page } => {
                assert!((1..=MAX_ACCOUNTS_PER_PAGE).contains(&page.len()), "{} accounts in a page", page.len());
                lowest = lowest.min(slot);
                accounts.extend(page);
            }
            SnapshotItem::End { slot } => {
                assert!(slot <= lowest, "the end names the lowest slot");
                assert!(snapshot.recv().await.is_none(), "nothing follows the end");
                return Ok((slot, accounts));
            }
        }
    }
    panic!("it closed without an end or a reason")
}

async fn snapshot_of(node: &Node, deadlines: Deadlines) -> Result<(u64, Accounts), SourceError> {
    all(node.source(deadlines).snapshot(At::Confirmed, 0).await?).await
}

async fn failure_of(node: &Node) -> SourceError {
    snapshot_of(node, SHORT).await.expect_err("no complete snapshot")
}

#[tokio::test]
async fn a_snapshot_has_every_account_and_the_slot_of_the_answer() {
    let node = Node::start().await;
    node.on("getProgramAccounts", |_| Reply::Result(listed(41, &numbered(0..2_500))));
    let source = node.source(LONG);
    let snapshot = source.snapshot(At::Finalized, 40).await.expect("begun");
    assert_eq!(all(snapshot).await.expect("complete"), (41, numbered(0..2_500)));
    let asked = node.asked("getProgramAccounts");
    let config = &asked[0][1];
    assert_eq!(asked[0][0], program().to_string());
    assert_eq!((&config["commitment"], &config["minContextSlot"]), (&json!("finalized"), &json!(40)));
    assert_eq!((&config["encoding"], &config["withContext"]), (&json!("base64"), &json!(true)));
}

#[tokio::test]
async fn an_empty_market_is_a_complete_snapshot() {
    let node = Node::start().await;
    assert_eq!(snapshot_of(&node, SHORT).await.expect("complete"), (100, Vec::new()));
}

#[tokio::test]
async fn accounts_that_the_program_has_not_written_are_left_out() {
    let node = Node::start().await;
    node.on("getProgramAccounts", |_| {
        let mut value = entries(&numbered(0..1));
        let mut empty = account(b"account a");
        empty["lamports"] = json!(0);
        value.extend(
            [account(&[0; 500]), account(b""), empty]
                .map(|account| json!({"pubkey": wallet(1).to_string(), "account": account})),
        );
        Reply::Result(json!({"context": {"slot": 41}, "value": value}))
    });
    assert_eq!(snapshot_of(&node, SHORT).await.expect("complete"), (41, numbered(0..1)));
}

#[tokio::test]
async fn an_account_of_another_program_makes_the_whole_snapshot_worthless() {
    let node = Node::start().await;
    node.on("getProgramAccounts", |_| {
        let mut value = entries(&numbered(0..3));
        value[1]["account"]["owner"] = json!(wallet(200).to_string());
        Reply::Result(json!({"context": {"slot": 41}, "value": value}))
    });
    let reason = failure_of(&node).await;
    assert!(matches!(reason, SourceError::SnapshotIncomplete { .. }), "{reason}");
}

#[tokio::test]
async fn a_long_account_ends_the_snapshot() {
    let node = Node::start().await;
    node.on("getProgramAccounts", |_| Reply::Result(listed(41, &[(wallet(1), vec![1; 70_000])])));
    assert!(matches!(failure_of(&node).await, SourceError::TooLarge { .. }));
    // A stranger's account of zeros does not.
    node.on("getProgramAccounts", |_| Reply::Result(listed(41, &[(wallet(1), vec![0; 10 * 1024 * 1024])])));
    assert_eq!(snapshot_of(&node, LONG).await.expect("complete"), (41, Vec::new()));
}

fn bytes_of(answer: &Value) -> Vec<u8> {
    json!({"jsonrpc": "2.0", "result": answer, "id": 1}).to_string().into_bytes()
}

#[tokio::test]
async fn an_answer_that_stops_in_the_middle_is_incomplete() {
    let node = Node::start().await;
    let whole = bytes_of(&listed(41, &numbered(0..3_000)));
    for end in [1, whole.len() / 2, whole.len() - 1] {
        let part = Bytes::from(whole[..end].to_vec());
        node.on("getProgramAccounts", move |_| Reply::Parts(vec![part.clone()], Duration::ZERO));
        let reason = failure_of(&node).await;
        assert!(matches!(reason, SourceError::SnapshotIncomplete { .. }), "{reason}");
    }
}

#[tokio::test]
async fn an_answer_without_a_list_or_without_a_slot_is_incomplete() {
    let node = Node::start().await;
    for answer in [
        json!({"context": {"slot": 41}}),
        json!(null),
        json!({"context": {"slot": 41}, "value": null}),
        json!({"value": entries(&numbered(0..3))}),
        json!(entries(&numbered(0..3))),
        json!({"context": {"slot": 41}, "value": [{"pubkey": "no", "account": account(b"account a")}]}),
    ] {
        let shown = answer.to_string();
        node.on("getProgramAccounts", move |_| Reply::Result(answer.clone()));
        let reason = failure_of(&node).await;
        assert!(matches!(reason, SourceError::SnapshotIncomplete { .. }), "{shown}: {reason}");
    }
}

#[tokio::test]
async fn a_node_that_drips_is_given_up() {
    let node = Node::start().await;
    let whole = bytes_of(&listed(41, &numbered(0..1_000)));
    let parts: Vec<_> = whole.chunks(whole.len() / 40).map(|part| Bytes::from(part.to_vec())).collect();
    let dripping = parts.clone();
    node.on("getProgramAccounts", move |_| Reply::Parts(dripping.clone(), Duration::from_secs(2)));
    let reason = failure_of(&node).await;
    assert!(matches!(reason, SourceError::SnapshotIncomplete { .. }), "{reason}");
    // Every pause is short enough, all together are not.
    node.on("getProgramAccounts", move |_| Reply::Parts(parts.clone(), Duration::from_millis(100)));
    let reason = snapshot_of(&node, Deadlines { snapshot: Duration::from_secs(1), ..SHORT }).await;
    assert!(matches!(reason, Err(SourceError::SnapshotIncomplete { .. })), "{reason:?}");
}

#[tokio::test]
async fn a_node_that_never_begins_is_given_up() {
    let node = Node::start().await;
    node.on("getProgramAccounts", |_| Reply::Hang);
    let reason = failure_of(&node).await;
    assert!(matches!(reason, SourceError::TimedOut { what: "getProgramAccounts", .. }), "{reason}");
}

#[tokio::test]
async fn a_provider_without_program_queries_is_named_as_one() {
    for reply in [
        || Reply::Error(-32_601, "Method not found"),
        || Reply::Error(-32_010, "excluded from account secondary indexes; this RPC method unavailable for key"),
        || Reply::Error(-32_600, "getProgramAccounts is disabled on this plan"),
        || Reply::Status(403),
        || Reply::Status(410),
    ] {
        let node = Node::start().await;
        node.on("getProgramAccounts", move |_| reply());
        let reason = failure_of(&node).await;
        assert!(matches!(reason, SourceError::ProgramQueriesRefused { .. }), "{reason}");
    }
    let node = Node::start().await;
    node.on("getProgramAccounts", |_| Reply::Status(502));
    assert!(matches!(failure_of(&node).await, SourceError::Refused { code: 502, .. }));
}

#[tokio::test]
async fn an_answer_from_before_the_slot_asked_for_is_not_taken() {
    let node = Node::start().await;
    node.on("getProgramAccounts", |_| Reply::Result(listed(41, &numbered(0..3))));
    let snapshot = node.source(SHORT).snapshot(At::Confirmed, 42).await.expect("begun");
    let reason = all(snapshot).await.expect_err("too old");
    assert!(matches!(reason, SourceError::Behind { wanted: 42, .. }), "{reason}");
    node.on("getProgramAccounts", |_| Reply::Error(-32_016, "Minimum context slot has not been reached"));
    let snapshot = node.source(SHORT).snapshot(At::Confirmed, 42).await.expect("begun");
    assert!(matches!(all(snapshot).await, Err(SourceError::Behind { wanted: 42, .. })));
}

/// Serves accounts in pages of `size`, as Helius and Alchemy do.
fn in_pages(node: &Node, accounts: u64, size: u64) {
    node.on("getProgramAccountsV2", move |params| {
        let config = &params[1];
        let start: u64 = config["paginationKey"].as_str().map_or(0, |key| key.parse().expect("a key of ours"));
        let end = (start + size).min(accounts);
        let key = (end < accounts).then(|| end.to_string());
        let value = json!({"accounts": entries(&numbered(start..end)), "paginationKey": key, "totalResults": accounts});
        // Every page is read at another slot, the first at the newest.
        Reply::Result(json!({"context": {"slot": 100 - start / size}, "value": value}))
    });
}

#[tokio::test]
async fn pages_of_a_provider_are_read_to_the_end_at_the_lowest_slot() {
    let node = Node::start().await;
    in_pages(&node, 3_700, 1_500);
    assert_eq!(snapshot_of(&node, SHORT).await.expect("complete"), (98, numbered(0..3_700)));
    assert_eq!(node.asked("getProgramAccountsV2").len(), 3);
    assert_eq!(node.asked("getProgramAccounts").len(), 0);
    assert_eq!(node.asked("getProgramAccountsV2")[0][1]["limit"], 10_000);
}

#[tokio::test]
async fn a_page_without_accounts_is_the_end() {
    let node = Node::start().await;
    node.on("getProgramAccountsV2", |params| {
        let first = params[1]["paginationKey"].is_null();
        let accounts = if first { entries(&numbered(0..5)) } else { Vec::new() };
        Reply::Result(json!({"context": {"slot": 41}, "value": {"accounts": accounts, "paginationKey": "same"}}))
    });
    assert_eq!(snapshot_of(&node, SHORT).await.expect("complete"), (41, numbered(0..5)));
}

#[tokio::test]
async fn a_page_that_comes_again_and_again_ends_as_incomplete() {
    let node = Node::start().await;
    node.on("getProgramAccountsV2", |_| {
        let value = json!({"accounts": entries(&numbered(0..5)), "paginationKey": "same"});
        Reply::Result(json!({"context": {"slot": 41}, "value": value}))
    });
    let reason = failure_of(&node).await;
    assert!(matches!(reason, SourceError::SnapshotIncomplete { .. }), "{reason}");
    assert_eq!(node.asked("getProgramAccountsV2").len(), 2);
}

#[tokio::test]
async fn an_error_at_a_later_page_is_incomplete_and_not_the_beginning_of_another_way() {
    let node = Node::start().await;
    in_pages(&node, 3_000, 1_000);
    let failing = node.clone();
    node.on("getProgramAccountsV2", {
        move |params| {
            if params[1]["paginationKey"].is_null() {
                let value = json!({"accounts": entries(&numbered(0..5)), "paginationKey": "next"});
                Reply::Result(json!({"context": {"slot": 41}, "value": value}))
            } else {
                Reply::Error(-32_603, "Internal error")
            }
        }
    });
    let reason = failure_of(&failing).await;
    assert!(matches!(reason, SourceError::Refused { code: -32_603, .. }), "{reason}");
    assert_eq!(node.asked("getProgramAccounts").len(), 0);
}

#[tokio::test]
async fn whether_a_provider_has_pages_is_asked_once() {
    let node = Node::start().await;
    let source = node.source(SHORT);
    for _ in 0..3 {
        all(source.snapshot(At::Confirmed, 0).await.expect("begun")).await.expect("complete");
    }
    assert_eq!((node.asked("getProgramAccountsV2").len(), node.asked("getProgramAccounts").len()), (1, 3));
}

/// Answers like a node that applies filters and slices, over accounts of every kind and of an unknown one.
fn by_kind(node: &Node) -> Accounts {
    let mut accounts: Accounts = ProgramAccount::DISCRIMINATORS
        .iter()
        .zip(0..)
        .map(|(kind, number)| (address(number), [*kind, b"body"].concat()))
        .collect();
    accounts.push((address(1_000), b"unknown kind".to_vec()));
    let all = accounts.clone();
    node.on("getProgramAccounts", move |params| {
        use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
        let config = &params[1];
        let wanted = config["filters"][0]["memcmp"]["bytes"].as_str().map(|kind| BASE64.decode(kind).expect("base64"));
        if wanted.is_none() && config["dataSlice"].is_null() {
            return Reply::Status(413);
        }
        let length = config["dataSlice"]["length"].as_u64().map_or(usize::MAX, |length| length as usize);
        let found = all.iter().filter(|(_, data)| wanted.as_ref().is_none_or(|kind| data.starts_with(kind)));
        let found: Accounts =
            found.map(|(address, data)| (*address, data[..data.len().min(length)].to_vec())).collect();
        let slot = if wanted.is_some() { 200 } else { 201 };
        Reply::Result(listed(slot, &found))
    });
    let all = accounts.clone();
    node.on("getMultipleAccounts", move |params| {
        let addresses = params[0].as_array().expect("addresses").iter();
        let found = addresses.map(|address| {
            let found = all.iter().find(|(known, _)| known.to_string() == address.as_str().expect("text"));
            found.map(|(_, data)| account(data))
        });
        Reply::Result(json!({"context": {"slot": 202}, "value": found.collect::<Vec<_>>()}))
    });
    accounts
}

#[tokio::test]
async fn a_node_that_cannot_list_everything_at_once_is_asked_by_kind_next_time() {
    let node = Node::start().await;
    let accounts = by_kind(&node);
    let source = node.source(SHORT);
    let first = all(source.snapshot(At::Confirmed, 0).await.expect("begun")).await;
    assert!(first.is_err(), "the single answer is refused");
    let (slot, mut found) = all(source.snapshot(At::Confirmed, 0).await.expect("begun")).await.expect("complete");
    found.sort();
    let mut expected = accounts;
    expected.sort();
    assert_eq!((slot, found), (200, expected), "accounts of an unknown kind are there as well");
}

#[tokio::test]
async fn an_account_of_an_unknown_kind_that_is_gone_by_now_is_left_out() {
    let node = Node::start().await;
    let accounts = by_kind(&node);
    node.on("getMultipleAccounts", |_| Reply::Result(json!({"context": {"slot": 202}, "value": [null]})));
    let source = node.source(SHORT);
    drop(all(source.snapshot(At::Confirmed, 0).await.expect("begun")).await);
    let (_, found) = all(source.snapshot(At::Confirmed, 0).await.expect("begun")).await.expect("complete");
    assert_eq!(found.len(), accounts.len() - 1);
}

#[tokio::test]
async fn a_large_snapshot_is_read_no_faster_than_it_is_taken() {
    const ACCOUNTS: u64 = 50_000;
    const AT_A_TIME: u64 = 100;
    let node = Node::start().await;
    let made = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&made);
    node.on("getProgramAccounts", move |_| {
        let counter = Arc::clone(&counter);
        let middle = futures::stream::iter((0..ACCOUNTS).step_by(AT_A_TIME as usize)).map(move |start| {
            counter.fetch_add(AT_A_TIME, Ordering::Relaxed);
            let accounts: Vec<(Pubkey, Vec<u8>)> =
                (start..start + AT_A_TIME).map(|number| (address(number), vec![1; 400])).collect();
            let text = entries(&accounts).iter().map(Value::to_string).collect::<Vec<_>>().join(",");
            if start == 0 { text } else { format!(",{text}") }
        });
        let before = futures::stream::iter([r#"{"result":{"context":{"slot":41},"value":["#.to_owned()]);
        let after = futures::stream::iter(["]}}".to_owned()]);
        let parts = before.chain(middle).chain(after).map(Ok::<_, std::io::Error>);
        Reply::Stream(Body::from_stream(parts))
    });
    let mut snapshot = node.source(LONG).snapshot(At::Confirmed, 0).await.expect("begun");
    let (mut taken, mut most_ahead) = (0, 0);
    loop {
        // The node and the reading may go on as far as they can.
        if taken % 10_000 == 0 {
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        match timeout(PATIENCE, snapshot.recv()).await.expect("an item").expect("no end yet").expect("no error") {
            SnapshotItem::Page { accounts, .. } => taken += accounts.len() as u64,
            SnapshotItem::End { .. } => break,
        }
        most_ahead = most_ahead.max(made.load(Ordering::Relaxed) - taken);
    }
    assert_eq!(taken, ACCOUNTS);
    // 15 000 accounts are 10 MB of JSON, most of it in the buffers of the two sockets.
    assert!(most_ahead < 15_000, "{most_ahead} accounts were under way at once");
}

#[tokio::test]
async fn a_reader_that_leaves_ends_the_reading() {
    let node = Node::start().await;
    node.on("getProgramAccounts", |_| Reply::Result(listed(41, &numbered(0..20_000))));
    let source = node.source(LONG);
    let mut snapshot = source.snapshot(At::Confirmed, 0).await.expect("begun");
    assert!(snapshot.recv().await.expect("a page").is_ok());
    drop(snapshot);
    // The node is asked again at once.
    let again = source.snapshot(At::Confirmed, 0).await.expect("begun");
    assert_eq!(all(again).await.expect("complete").1.len(), 20_000);
}
