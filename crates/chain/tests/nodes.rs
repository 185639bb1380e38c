//! Several RPC nodes, some of them broken: how long reads take, which node gets what, and which answers about a
//! transaction count.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "tests")]

use std::time::{Duration, Instant};

use crtx_chain::{
    AccountFilter, ChainClient, ChainError, CommitmentConfig, FetchedAccount, Outcome, RecentBlockhash,
    SignedTransaction,
    testing::{FakeRpc, Fault, OnSend},
};
use solana_instruction::{AccountMeta, Instruction};
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;
use solana_signer::Signer;

const LIMIT: Duration = Duration::from_secs(5);
const LONG: Duration = Duration::from_secs(20);
/// Many times longer than a working node needs, and shorter than any time limit in these tests.
const SOON: Duration = Duration::from_secs(3);

fn client(nodes: &[&FakeRpc]) -> ChainClient {
    let urls: Vec<&str> = nodes.iter().map(|node| node.url()).collect();
    ChainClient::new(&urls.join(","), LIMIT)
}

async fn two_nodes() -> (FakeRpc, FakeRpc) {
    (FakeRpc::start().await, FakeRpc::start().await)
}

/// A transaction whose last valid block height is 150, like that of the scripted nodes.
fn signed(seed: u8) -> SignedTransaction {
    let key = Keypair::new_from_array([seed; 32]);
    let accounts = vec![AccountMeta::new(key.pubkey(), true)];
    let instruction = Instruction { program_id: Pubkey::new_from_array([5; 32]), accounts, data: vec![] };
    let blockhash = RecentBlockhash { hash: solana_hash::Hash::new_from_array([9; 32]), last_valid_block_height: 150 };
    SignedTransaction::sign(&[instruction], &[&key], blockhash).expect("signs")
}

fn an_account(owner: Pubkey, data: Vec<u8>) -> FetchedAccount {
    FetchedAccount { owner, lamports: 1, data }
}

async fn within<T>(limit: Duration, work: impl Future<Output = T>) -> T {
    tokio::time::timeout(limit, work).await.unwrap_or_else(|_| panic!("not done within {limit:?}"))
}

// Reads.

#[tokio::test]
async fn a_read_goes_to_the_next_node_after_every_fault_of_the_first() {
    let faults = [Fault::Hang, Fault::RateLimit(20), Fault::Status(500), Fault::Garbage, Fault::Endless];
    for fault in faults {
        let (first, second) = two_nodes().await;
        first.script().fault = Some(fault.clone());
        second.script().accounts.insert(Pubkey::new_from_array([1; 32]), an_account(Pubkey::default(), vec![7]));
        let read = within(SOON, client(&[&first, &second]).account(&Pubkey::new_from_array([1; 32]))).await;
        assert_eq!(read.expect("the second node").value.expect("the account").data, vec![7], "{fault:?}");
    }
}

#[tokio::test]
async fn a_node_that_limits_requests_is_neither_asked_again_nor_waited_for() {
    let node = FakeRpc::start().await;
    node.script().fault = Some(Fault::RateLimit(20));
    let client = client(&[&node]);
    let error = within(SOON, client.slot(CommitmentConfig::confirmed())).await.expect_err("limited");
    assert_eq!(error.retry_after(), Some(Duration::from_secs(20)));
    for _ in 0..60 {
        let error = within(SOON, client.slot(CommitmentConfig::confirmed())).await.expect_err("still limited");
        assert!(error.retry_after().is_some());
    }
    assert_eq!(node.script().asked(), 1, "a node that limits requests is not asked again");
}

#[tokio::test]
async fn sixty_reads_of_a_hung_node_end_together_at_the_deadline() {
    let node = FakeRpc::start().await;
    node.script().fault = Some(Fault::Hang);
    let client = ChainClient::new(node.url(), Duration::from_secs(1));
    let started = Instant::now();
    let reads = (0..60).map(|_| {
        let client = client.clone();
        tokio::spawn(async move { client.account(&Pubkey::default()).await.is_err() })
    });
    for read in reads.collect::<Vec<_>>() {
        assert!(within(SOON, read).await.expect("joined"));
    }
    assert!(started.elapsed() < SOON);
}

#[tokio::test]
async fn a_node_that_stays_hung_is_skipped_and_used_again_when_it_answers() {
    let (first, second) = two_nodes().await;
    first.script().fault = Some(Fault::Hang);
    let client = client(&[&first, &second]);
    // One failure is forgotten after a second, three in a row are not.
    for _ in 0..3 {
        client.slot(CommitmentConfig::confirmed()).await.expect("the second node");
        tokio::time::sleep(Duration::from_millis(1_100)).await;
    }
    let asked = first.script().asked();
    for _ in 0..50 {
        client.slot(CommitmentConfig::confirmed()).await.expect("the second node");
    }
    assert!(first.script().asked() <= asked + 1, "at most one test request");
    first.script().fault = None;
    within(LONG, async {
        let before = second.script().asked();
        while second.script().asked() < before + 1_000 {
            client.slot(CommitmentConfig::confirmed()).await.expect("a node");
            if first.script().asked() > asked + 5 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("the first node is never asked again");
    })
    .await;
}

#[tokio::test]
async fn a_single_node_is_used_again_when_it_answers() {
    let node = FakeRpc::start().await;
    node.script().fault = Some(Fault::Status(502));
    let client = client(&[&node]);
    for _ in 0..10 {
        assert!(client.slot(CommitmentConfig::confirmed()).await.is_err());
    }
    node.script().fault = None;
    within(LONG, async {
        while client.slot(CommitmentConfig::confirmed()).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let (first, elsewhere) = two_nodes().await;
    first.script().fault = Some(Fault::Redirect(elsewhere.url().to_owned()));
    let error = client(&[&first]).slot(CommitmentConfig::confirmed()).await.expect_err("no redirect");
    assert!(matches!(error, ChainError::Status(302)), "{error}");
    assert!(elsewhere.script().requests.is_empty());
}

#[tokio::test]
async fn an_endless_answer_is_cut_off_at_the_limit_of_its_kind() {
    let node = FakeRpc::start().await;
    node.script().fault = Some(Fault::Endless);
    let error = within(SOON, client(&[&node]).slot(CommitmentConfig::confirmed())).await.expect_err("too long");
    assert!(matches!(error, ChainError::TooLarge { .. }), "{error}");
}

#[tokio::test]
async fn a_list_of_nodes_that_cannot_be_used_is_an_error_of_every_request() {
    for urls in ["", "nonsense", "ftp://127.0.0.1", "http://127.0.0.1:1,,nonsense"] {
        let error = ChainClient::new(urls, LIMIT).slot(CommitmentConfig::confirmed()).await.expect_err(urls);
        assert!(matches!(error, ChainError::Misconfigured(_)), "{error}");
    }
}

#[tokio::test]
async fn a_read_since_a_slot_is_not_answered_by_a_node_that_lags_behind_it() {
    let (lagging, current) = two_nodes().await;
    let address = Pubkey::new_from_array([1; 32]);
    lagging.script().lags_at = Some(10);
    current.script().slot = 1_000;
    current.script().accounts.insert(address, an_account(Pubkey::default(), vec![7]));
    let client = client(&[&lagging, &current]);
    let read = client.accounts_since(&[address], 900).await.expect("the node that is far enough");
    assert!(read.slot >= 900);
    assert!(read.value[0].is_some());
}

#[tokio::test]
async fn a_client_reads_what_it_has_seen_confirmed_whichever_node_answers() {
    let (stale, current) = two_nodes().await;
    let address = Pubkey::new_from_array([1; 32]);
    // The scripted transaction is confirmed at slot 5.
    stale.script().lags_at = Some(4);
    stale.script().on_send = OnSend::Drop;
    current.script().slot = 1_000;
    current.script().effect = Box::new(move |_, accounts| {
        accounts.insert(address, an_account(Pubkey::default(), vec![7]));
    });
    for nodes in [[&stale, &current], [&current, &stale]] {
        let client = ChainClient::new(&FakeRpc::balance(&nodes).await, LIMIT);
        let outcome = within(LONG, client.send_and_confirm(&signed(1), LONG)).await;
        assert!(matches!(outcome, Outcome::Confirmed { .. }), "{outcome:?}");
        for _ in 0..6 {
            assert!(client.account(&address).await.expect("read").value.is_some());
        }
    }
}

#[tokio::test]
async fn a_read_waits_for_nodes_that_are_about_to_reach_the_slot() {
    let node = FakeRpc::start().await;
    node.script().lags_at = Some(10);
    let waiting = tokio::spawn({
        let client = client(&[&node]);
        async move { client.accounts_since(&[Pubkey::default()], 20).await }
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    node.script().lags_at = Some(20);
    assert_eq!(within(SOON, waiting).await.expect("joined").expect("read").slot, 20);
}

#[tokio::test]
async fn a_filtered_read_drops_accounts_that_the_node_should_have_left_out() {
    let node = FakeRpc::start().await;
    let program = Pubkey::new_from_array([3; 32]);
    let (wanted, other) = (Pubkey::new_from_array([1; 32]), Pubkey::new_from_array([2; 32]));
    node.script().accounts.insert(wanted, an_account(program, vec![1, 2, 3]));
    node.script().accounts.insert(other, an_account(program, vec![1, 9, 3]));
    let filters = [AccountFilter::DataSize(3), AccountFilter::Bytes { offset: 1, bytes: vec![2] }];
    let read = client(&[&node]).program_accounts(&program, &filters, CommitmentConfig::confirmed()).await;
    let addresses: Vec<Pubkey> = read.expect("read").value.into_iter().map(|(address, _)| address).collect();
    assert_eq!(addresses, vec![wanted]);
}

// Blockhashes.

#[tokio::test]
async fn callers_at_once_share_one_request_for_a_blockhash() {
    let node = FakeRpc::start().await;
    let client = client(&[&node]);
    let asking = (0..50).map(|_| {
        let client = client.clone();
        tokio::spawn(async move { client.recent_blockhash().await.expect("blockhash") })
    });
    let mut hashes = std::collections::HashSet::new();
    for task in asking.collect::<Vec<_>>() {
        hashes.insert(task.await.expect("joined").hash);
    }
    assert_eq!((hashes.len(), node.script().asked()), (1, 1));
}

#[tokio::test]
async fn a_young_blockhash_is_used_while_the_node_hangs() {
    let node = FakeRpc::start().await;
    let client = client(&[&node]);
    let known = client.recent_blockhash().await.expect("blockhash");
    node.script().fault = Some(Fault::Hang);
    tokio::time::sleep(Duration::from_millis(400)).await;
    let started = Instant::now();
    assert_eq!(client.recent_blockhash().await.expect("the last one"), known);
    assert!(started.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn an_old_blockhash_is_not_used_however_long_the_node_hangs() {
    let node = FakeRpc::start().await;
    let client = ChainClient::new(node.url(), Duration::from_secs(1));
    client.recent_blockhash().await.expect("blockhash");
    node.script().fault = Some(Fault::Hang);
    tokio::time::sleep(Duration::from_millis(5_100)).await;
    assert!(within(SOON, client.recent_blockhash()).await.is_err());
}

#[tokio::test]
async fn a_caller_that_leaves_does_not_cancel_the_request_of_other_callers() {
    let node = FakeRpc::start().await;
    let client = client(&[&node]);
    node.script().fault = Some(Fault::Hang);
    let leader = tokio::spawn({
        let client = client.clone();
        async move { client.recent_blockhash().await }
    });
    tokio::time::sleep(Duration::from_millis(100)).await;
    leader.abort();
    node.script().fault = None;
    // The first request hangs until its end; a second connection or a new request finds the node working.
    within(Duration::from_secs(4), client.recent_blockhash()).await.expect("blockhash");
}

#[tokio::test]
async fn the_newest_blockhash_of_several_nodes_is_taken() {
    let (lagging, current) = two_nodes().await;
    lagging.script().last_valid_block_height = 100;
    current.script().last_valid_block_height = 900;
    let client = client(&[&lagging, &current]);
    assert_eq!(client.recent_blockhash().await.expect("blockhash").last_valid_block_height, 900);
}

// Sending.

#[tokio::test]
async fn every_healthy_node_gets_the_same_bytes() {
    let (first, second) = two_nodes().await;
    let client = client(&[&first, &second]);
    let transaction = signed(1);
    let outcome = client.send_and_confirm(&transaction, LONG).await;
    assert!(matches!(outcome, Outcome::Confirmed { .. }), "{outcome:?}");
    within(SOON, async {
        while second.script().sent.is_empty() || first.script().sent.is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    assert_eq!(first.script().sent, second.script().sent);
}

#[tokio::test]
async fn a_transaction_lands_through_the_second_node_while_the_first_hangs() {
    let (first, second) = two_nodes().await;
    first.script().fault = Some(Fault::Hang);
    let outcome = within(SOON, client(&[&first, &second]).send_and_confirm(&signed(1), LONG)).await;
    assert!(matches!(outcome, Outcome::Confirmed { .. }), "{outcome:?}");
}

#[tokio::test]
async fn a_transaction_that_only_the_second_node_knows_is_confirmed() {
    let (first, second) = two_nodes().await;
    let transaction = signed(1);
    first.script().on_send = OnSend::Drop;
    second.script().on_send = OnSend::Drop;
    second.script().landed.insert(transaction.signature.to_string(), false);
    let client = client(&[&first, &second]);
    let outcome = within(LONG, client.send_and_confirm(&transaction, LONG)).await;
    assert!(matches!(outcome, Outcome::Confirmed { .. }), "{outcome:?}");
}

#[tokio::test]
async fn a_send_ends_with_its_patience_while_the_node_hangs_or_limits_requests() {
    for fault in [Fault::Hang, Fault::RateLimit(20), Fault::Endless, Fault::Garbage] {
        let node = FakeRpc::start().await;
        node.script().fault = Some(fault.clone());
        let client = client(&[&node]);
        for patience in [Duration::from_millis(200), Duration::from_millis(1_500)] {
            for fresh in [true, false] {
                let started = Instant::now();
                let transaction = signed(1);
                let outcome = if fresh {
                    client.send_and_confirm(&transaction, patience).await
                } else {
                    client.confirm(&transaction, patience).await
                };
                assert_eq!(outcome, Outcome::Unknown);
                let over = started.elapsed().saturating_sub(patience);
                assert!(over < Duration::from_secs(1), "{fault:?} took {over:?} longer than {patience:?}");
            }
        }
    }
}

#[tokio::test]
async fn transactions_sent_after_a_stall_do_not_wait_for_earlier_ones() {
    let node = FakeRpc::start().await;
    let client = ChainClient::new(node.url(), Duration::from_secs(30));
    node.script().fault = Some(Fault::Hang);
    let stuck = tokio::spawn({
        let client = client.clone();
        async move { client.send_and_confirm(&signed(1), LONG).await }
    });
    tokio::time::sleep(Duration::from_millis(500)).await;
    node.script().fault = None;
    let outcome = within(Duration::from_secs(8), client.send_and_confirm(&signed(2), LONG)).await;
    assert!(matches!(outcome, Outcome::Confirmed { .. }), "{outcome:?}");
    let outcome = within(LONG, stuck).await.expect("joined");
    assert!(matches!(outcome, Outcome::Confirmed { .. }), "{outcome:?}");
}

// Expiry.

/// A chain whose finalized height is past the transaction's last valid one, and where the transaction landed.
async fn landed_long_ago(transaction: &SignedTransaction) -> FakeRpc {
    let node = FakeRpc::start().await;
    node.script().slot = 1_000;
    node.script().finalized_height = 500;
    node.script().landed.insert(transaction.signature.to_string(), false);
    node
}

/// A node that stopped before the transaction landed, and still answers.
async fn lagging() -> FakeRpc {
    let node = FakeRpc::start().await;
    node.script().lags_at = Some(100);
    node.script().finalized_height = 60;
    node.script().on_send = OnSend::Drop;
    node
}

#[tokio::test]
async fn a_lagging_node_behind_a_balancer_never_makes_a_landed_transaction_look_expired() {
    for seed in 1..=8 {
        let transaction = signed(seed);
        let current = landed_long_ago(&transaction).await;
        let stale = lagging().await;
        // Both assignments of the balancer's answers to the two questions are tested.
        let nodes = if seed % 2 == 0 { [&current, &stale] } else { [&stale, &current] };
        let client = ChainClient::new(&FakeRpc::balance(&nodes).await, LIMIT);
        let outcome = within(LONG, client.confirm(&transaction, Duration::from_secs(10))).await;
        assert!(matches!(outcome, Outcome::Confirmed { .. }), "{outcome:?}");
    }
}

#[tokio::test]
async fn not_found_by_a_node_that_has_not_reached_the_last_valid_height_is_not_expiry() {
    let transaction = signed(1);
    // The heights come from one node, the statuses from another one that stopped long before.
    let (node, patience) = (FakeRpc::start().await, Duration::from_secs(4));
    node.script().on_send = OnSend::Drop;
    node.script().slot = 1_000;
    node.script().finalized_height = 500;
    let stale = lagging().await;
    stale.script().only = Some(vec!["getSignatureStatuses"]);
    node.script().only = Some(vec!["getBlockHeight", "getEpochInfo", "getLatestBlockhash", "sendTransaction"]);
    let client = client(&[&node, &stale]);
    assert_eq!(client.confirm(&transaction, patience).await, Outcome::Unknown);
    // After that node has caught up, its answer counts.
    stale.script().lags_at = Some(2_000);
    assert_eq!(within(LONG, client.confirm(&transaction, LONG)).await, Outcome::Expired);
}

#[tokio::test]
async fn a_transaction_that_one_of_two_nodes_knows_has_not_expired() {
    let transaction = signed(1);
    let knowing = landed_long_ago(&transaction).await;
    let forgetful = FakeRpc::start().await;
    forgetful.script().slot = 5_000;
    forgetful.script().finalized_height = 600;
    for nodes in [[&knowing, &forgetful], [&forgetful, &knowing]] {
        let outcome = within(LONG, client(&nodes).confirm(&transaction, LONG)).await;
        assert!(matches!(outcome, Outcome::Confirmed { .. }), "{outcome:?}");
    }
}

#[tokio::test]
async fn a_transaction_that_appears_at_the_second_read_has_not_expired() {
    let transaction = signed(1);
    let node = FakeRpc::start().await;
    node.script().on_send = OnSend::Drop;
    node.script().slot = 1_000;
    node.script().finalized_height = 500;
    // The node writes its history after the first read for expiry, which is at the latest its third status request
    // with history.
    let signature = transaction.signature.to_string();
    let late = tokio::spawn({
        let node = node.clone();
        async move {
            while !node.script().requests.contains_key("getEpochInfo") {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            tokio::time::sleep(Duration::from_millis(300)).await;
            node.script().landed.insert(signature, false);
        }
    });
    let outcome = within(LONG, client(&[&node]).confirm(&transaction, LONG)).await;
    late.await.expect("joined");
    assert!(matches!(outcome, Outcome::Confirmed { .. }), "{outcome:?}");
}

#[tokio::test]
async fn a_hung_node_does_not_keep_a_transaction_from_expiring() {
    let (hung, node) = two_nodes().await;
    hung.script().fault = Some(Fault::Hang);
    node.script().on_send = OnSend::Drop;
    node.script().finalized_height = 500;
    let outcome = within(LONG, client(&[&hung, &node]).confirm(&signed(1), LONG)).await;
    assert_eq!(outcome, Outcome::Expired);
}

// The environment.

#[tokio::test]
async fn a_proxy_of_the_environment_gets_no_request() {
    const CHILD: &str = "CRTX_TEST_BEHIND_PROXY";
    if std::env::var_os(CHILD).is_some() {
        let node = FakeRpc::start().await;
        client(&[&node]).slot(CommitmentConfig::confirmed()).await.expect("asked without the proxy");
        return;
    }
    // The environment of a process is set before it starts, so this test runs itself again with a proxy that does not
    // exist.
    let mut child = std::process::Command::new(std::env::current_exe().expect("this test"));
    child.args(["--exact", "a_proxy_of_the_environment_gets_no_request"]).env(CHILD, "1");
    for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
        child.env(name, "http://127.0.0.1:9");
    }
    let output = child.env_remove("NO_PROXY").env_remove("no_proxy").output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
