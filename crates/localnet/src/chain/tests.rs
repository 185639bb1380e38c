//! Starts real networks with a program that does nothing, and moves lamports.

use std::{path::Path, time::Instant};

use crtx_chain::{AtSlot, ChainClient, CommitmentConfig, Outcome, SignedTransaction};
use solana_instruction::{AccountMeta, Instruction};
use solana_keypair::Keypair;
use solana_signer::Signer;
use solana_transaction_status::TransactionStatus;
use surfpool_core::surfnet::noop_program::NOOP_PROGRAM_ELF;

use super::*;

const PATIENCE: Duration = Duration::from_secs(10);

fn rpc_url(chain: &Chain) -> String {
    format!("http://127.0.0.1:{}", chain.rpc_port)
}

fn payer() -> Keypair {
    Keypair::new_from_array([7; 32])
}

fn start(dir: &Path) -> (Chain, ChainClient) {
    try_start(dir).expect("starts")
}

fn try_start(dir: &Path) -> anyhow::Result<(Chain, ChainClient)> {
    let options = ChainOptions {
        dir: dir.to_owned(),
        rpc_port: None,
        ws_port: None,
        program_id: Pubkey::new_from_array([9; 32]),
        program_elf: NOOP_PROGRAM_ELF,
        upgrade_authority: Pubkey::new_from_array([8; 32]),
    };
    let (failures, _) = mpsc::unbounded_channel();
    let chain = Chain::start(&options, failures)?;
    let client = ChainClient::new(&rpc_url(&chain), PATIENCE);
    Ok((chain, client))
}

async fn stop(chain: Chain) {
    tokio::task::spawn_blocking(|| chain.stop()).await.expect("joins").expect("stops");
}

fn transfer(from: &Keypair, to: Pubkey, lamports: u64) -> Instruction {
    let mut data = 2u32.to_le_bytes().to_vec();
    data.extend_from_slice(&lamports.to_le_bytes());
    let accounts = vec![AccountMeta::new(from.pubkey(), true), AccountMeta::new(to, false)];
    Instruction { program_id: solana_sdk_ids::system_program::id(), accounts, data }
}

async fn pay(client: &ChainClient, to: Pubkey, lamports: u64) -> SignedTransaction {
    let blockhash = client.recent_blockhash().await.expect("blockhash");
    let signed = SignedTransaction::sign(&[transfer(&payer(), to, lamports)], &[&payer()], blockhash).expect("signs");
    let outcome = client.send_and_confirm(&signed, PATIENCE).await;
    assert!(matches!(outcome, Outcome::Confirmed { .. }), "{outcome:?}");
    signed
}

async fn lamports(client: &ChainClient, address: Pubkey) -> Option<u64> {
    client.account(&address).await.expect("reads").value.map(|account| account.lamports)
}

/// The status of a transaction, however old it is.
async fn status(client: &ChainClient, signature: &str) -> Option<TransactionStatus> {
    let params = serde_json::json!([[signature], {"searchTransactionHistory": true}]);
    let found: AtSlot<Vec<Option<TransactionStatus>>> =
        client.request("getSignatureStatuses", &params).await.expect("statuses");
    let [status]: [Option<TransactionStatus>; 1] = found.value.try_into().expect("one status");
    status
}

async fn clock_unix_s(client: &ChainClient) -> i64 {
    let clock = client.account(&solana_sdk_ids::sysvar::clock::ID).await.expect("reads").value.expect("the clock");
    i64::from_le_bytes(clock.data[32..40].try_into().expect("eight bytes"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_network_continues_with_its_accounts_and_transactions() {
    let dir = tempfile::tempdir().expect("dir");
    let receiver = Pubkey::new_from_array([3; 32]);
    let (chain, client) = start(dir.path());
    assert_eq!(chain.started_from, StartedFrom::Nothing);
    chain.fund(&payer().pubkey(), 1_000_000_000).expect("funds");
    let signed = pay(&client, receiver, 5_000_000).await;
    let slot = client.slot(CommitmentConfig::confirmed()).await.expect("slot");
    stop(chain).await;

    let started = Instant::now();
    let (chain, client) = start(dir.path());
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    assert_eq!(chain.started_from, StartedFrom::Saved);
    assert_eq!(lamports(&client, receiver).await, Some(5_000_000));
    let status = status(&client, &signed.signature.to_string()).await;
    assert!(status.is_some_and(|status| status.err.is_none()));
    assert_eq!(walk(&client, &receiver).await, [signed.signature.to_string()]);
    assert!(client.slot(CommitmentConfig::confirmed()).await.expect("slot") >= slot);
    pay(&client, receiver, 1_000_000).await;
    assert_eq!(lamports(&client, receiver).await, Some(6_000_000));
    stop(chain).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_network_has_lost_nothing_that_was_confirmed() {
    let dir = tempfile::tempdir().expect("dir");
    let receiver = Pubkey::new_from_array([4; 32]);
    let (chain, client) = start(dir.path());
    chain.fund(&payer().pubkey(), 1_000_000_000).expect("funds");
    for extra in 0..5 {
        pay(&client, receiver, 2_000_000 + extra).await;
    }
    let height = client.block_height(CommitmentConfig::confirmed()).await.expect("height");
    let copy = copy_of(dir.path());
    stop(chain).await;

    let (chain, client) = start(copy.path());
    assert!(matches!(chain.started_from, StartedFrom::Recovered { .. }), "{:?}", chain.started_from);
    assert_eq!(lamports(&client, receiver).await, Some(10_000_010));
    assert!(client.block_height(CommitmentConfig::confirmed()).await.expect("height") > height);
    pay(&client, receiver, 2_000_000).await;
    stop(chain).await;
}

/// Copies the files of a chain, as a process that is killed now leaves them.
fn copy_of(dir: &Path) -> tempfile::TempDir {
    let into = tempfile::tempdir().expect("dir");
    copy(dir, into.path());
    into
}

pub fn copy(dir: &Path, into: &Path) {
    let status = std::process::Command::new("cp").args(["-R", "--"]).arg(dir.join(".")).arg(into).status();
    assert!(status.expect("copies").success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_file_is_refused_or_never_shows_a_lost_transaction() {
    let dir = tempfile::tempdir().expect("dir");
    let receiver = Pubkey::new_from_array([5; 32]);
    let (chain, client) = start(dir.path());
    chain.fund(&payer().pubkey(), 1_000_000_000).expect("funds");
    let mut signatures = vec![];
    for extra in 0..8 {
        signatures.push(pay(&client, receiver, 2_000_000 + extra).await.signature.to_string());
    }
    signatures.reverse();
    let whole = copy_of(dir.path());
    stop(chain).await;
    let journal = |dir: &Path| dir.join(database::FOLDER).join("0.jnl");
    let bytes = std::fs::read(journal(whole.path())).expect("reads");
    let written = bytes.iter().rposition(|byte| *byte != 0).expect("something is written");
    let mut lost = 0;
    for part in 0..24 {
        let copy = copy_of(whole.path());
        let mut damaged = bytes.clone();
        let at = written * part / 24 + 11;
        match part % 2 {
            0 => damaged.truncate(at),
            _ => damaged[at] ^= 16,
        }
        std::fs::write(journal(copy.path()), damaged).expect("writes");
        match try_start(copy.path()) {
            Ok((chain, client)) => {
                let known = walk(&client, &receiver).await;
                assert!(signatures.ends_with(&known), "damaged at byte {at}: {known:?}");
                lost += signatures.len() - known.len();
                let count = u64::try_from(known.len()).expect("small");
                let paid = (0..count).map(|extra| 2_000_000 + extra).sum::<u64>();
                assert_eq!(lamports(&client, receiver).await.unwrap_or_default(), paid, "damaged at byte {at}");
                for (index, signature) in signatures.iter().rev().enumerate() {
                    let is_known = status(&client, signature).await.is_some();
                    assert_eq!(is_known, index < known.len(), "damaged at byte {at}");
                }
                stop(chain).await;
            }
            Err(error) => {
                assert!(format!("{error:#}").contains("--fresh"), "{error:#}");
            }
        }
    }
    assert!(lost > 0, "a file that was cut has lost something");
}

/// The answer to `getSignatureStatuses`.
async fn statuses(chain: &Chain, params: serde_json::Value) -> serde_json::Value {
    let question = serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": "getSignatureStatuses", "params": params});
    let answer = reqwest::Client::new().post(rpc_url(chain)).json(&question).send().await.expect("answers");
    answer.json().await.expect("JSON")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_has_slot_error_and_depth_and_bad_requests_are_refused() {
    let dir = tempfile::tempdir().expect("dir");
    let receiver = Pubkey::new_from_array([6; 32]);
    let (chain, client) = start(dir.path());
    chain.fund(&payer().pubkey(), 1_000_000_000).expect("funds");
    let good = pay(&client, receiver, 5_000_000).await;
    let blockhash = client.recent_blockhash().await.expect("blockhash");
    let too_much = transfer(&payer(), receiver, 2_000_000_000);
    let bad = SignedTransaction::sign(&[too_much], &[&payer()], blockhash).expect("signs");
    let outcome = client.send_and_confirm(&bad, PATIENCE).await;
    assert!(matches!(outcome, Outcome::Rejected { .. }), "{outcome:?}");
    let unknown = solana_signature::Signature::from([1; 64]);

    let signatures = [good.signature, bad.signature, unknown].map(|signature| signature.to_string());
    for params in [
        serde_json::json!([signatures]),
        serde_json::json!([signatures, null]),
        serde_json::json!([signatures, {"searchTransactionHistory": true}]),
    ] {
        let answer = statuses(&chain, params).await;
        let slot = answer["result"]["context"]["slot"].as_u64().expect("a slot");
        let [good, bad, unknown] = &answer["result"]["value"].as_array().expect("a list")[..] else {
            panic!("three statuses: {answer}")
        };
        for status in [good, bad] {
            let depth = status["confirmations"].as_u64().expect("not final yet");
            assert_eq!(status["slot"].as_u64().expect("a slot") + depth, slot, "{answer}");
            assert_eq!(status["confirmationStatus"], "confirmed");
        }
        assert_eq!((&good["err"], &good["status"]), (&serde_json::Value::Null, &serde_json::json!({"Ok": null})));
        assert!(bad["err"]["InstructionError"].is_array() && bad["status"]["Err"].is_object(), "{bad}");
        assert!(unknown.is_null());
    }
    for params in [
        serde_json::json!([["no signature"]]),
        serde_json::json!([vec![unknown.to_string(); 257]]),
        serde_json::json!(["no list"]),
        serde_json::json!([[], {"searchTransactionHistory": 7}]),
        serde_json::json!([]),
    ] {
        assert_eq!(statuses(&chain, params.clone()).await["error"]["code"], -32_602, "{params}");
    }
    stop(chain).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn transactions_outlive_a_stop_and_pages_of_them_join() {
    let dir = tempfile::tempdir().expect("dir");
    let receiver = Pubkey::new_from_array([6; 32]);
    let (chain, client) = start(dir.path());
    chain.fund(&payer().pubkey(), 100_000_000_000).expect("funds");
    let mut signatures = vec![];
    for extra in 0..200 {
        let blockhash = client.recent_blockhash().await.expect("blockhash");
        let instruction = transfer(&payer(), receiver, 2_000_000 + extra);
        let signed = SignedTransaction::sign(&[instruction], &[&payer()], blockhash).expect("signs");
        let outcome = client.send_and_confirm(&signed, PATIENCE).await;
        assert!(matches!(outcome, Outcome::Confirmed { .. }), "{outcome:?}");
        signatures.push(signed.signature.to_string());
    }
    signatures.reverse();
    assert_eq!(walk(&client, &receiver).await, signatures);
    stop(chain).await;
    let (chain, client) = start(dir.path());
    assert_eq!(walk(&client, &receiver).await, signatures);
    let oldest = status(&client, signatures.last().expect("many")).await;
    assert!(oldest.is_some_and(|status| status.err.is_none()));
    stop(chain).await;
}

/// All signatures about an address, by small pages.
async fn walk(client: &ChainClient, address: &Pubkey) -> Vec<String> {
    let mut all: Vec<String> = vec![];
    loop {
        let config = serde_json::json!({"limit": 70, "before": all.last(), "commitment": "confirmed"});
        let params = serde_json::json!([address.to_string(), config]);
        let page: Vec<serde_json::Value> = client.request("getSignaturesForAddress", &params).await.expect("a page");
        if page.is_empty() {
            return all;
        }
        all.extend(page.iter().map(|line| line["signature"].as_str().expect("a signature").to_owned()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_keeps_its_genesis_hash_and_another_has_another() {
    let (dir, other) = (tempfile::tempdir().expect("dir"), tempfile::tempdir().expect("dir"));
    let mut hashes = vec![];
    for path in [dir.path(), dir.path(), other.path()] {
        let (chain, client) = start(path);
        let hash = client.genesis_hash().await.expect("a hash");
        assert_eq!(hash, chain.genesis_hash);
        hashes.push(hash);
        stop(chain).await;
    }
    assert_eq!(hashes[0], hashes[1]);
    assert_ne!(hashes[0], hashes[2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_networks_clock_follows_the_machines_and_keeps_time_travel() {
    let dir = tempfile::tempdir().expect("dir");
    let (chain, client) = start(dir.path());
    let now = || i64::try_from(blocks::now_unix_ms() / 1_000).expect("fits");
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    assert!((clock_unix_s(&client).await - now()).abs() <= 1);

    let three_days_ms = 3 * 24 * 3_600 * 1_000;
    let target = blocks::now_unix_ms() + three_days_ms;
    let params = serde_json::json!([{ "absoluteTimestamp": target }]);
    client.request::<serde_json::Value>("surfnet_timeTravel", &params).await.expect("travels");
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let ahead = clock_unix_s(&client).await - now();
    assert!((ahead - 259_200).abs() <= 2, "{ahead}");
    stop(chain).await;

    let (chain, client) = start(dir.path());
    tokio::time::sleep(Duration::from_millis(600)).await;
    let ahead = clock_unix_s(&client).await - now();
    assert!((ahead - 259_200).abs() <= 2, "{ahead}");
    stop(chain).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_networks_run_side_by_side() {
    let (first, second) = (tempfile::tempdir().expect("dir"), tempfile::tempdir().expect("dir"));
    let (one, one_client) = start(first.path());
    let (two, two_client) = start(second.path());
    one.fund(&payer().pubkey(), 500).expect("funds");
    assert_eq!(lamports(&one_client, payer().pubkey()).await, Some(500));
    assert_eq!(lamports(&two_client, payer().pubkey()).await, None);
    stop(one).await;
    stop(two).await;
}

/// Answer of the chain's RPC server to one request, as the client gets it: status and body.
async fn asked(chain: &Chain, host: Option<&str>, origin: Option<&str>, method: &str) -> (u16, String) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#);
    let host = host.map_or_else(|| format!("127.0.0.1:{}", chain.rpc_port), str::to_owned);
    let origin = origin.map(|origin| format!("origin: {origin}\r\n")).unwrap_or_default();
    let request = format!(
        "POST / HTTP/1.1\r\nhost: {host}\r\n{origin}content-type: application/json\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", chain.rpc_port)).await.expect("connects");
    stream.write_all(request.as_bytes()).await.expect("sends");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("answers");
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    (status, answer)
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_other_sites_and_names_of_strangers_are_refused_and_nobody_ends_the_chain() {
    let folder = tempfile::tempdir().expect("folder");
    let (chain, client) = start(folder.path());
    for origin in [None, Some("http://127.0.0.1:8080"), Some("http://localhost:5173")] {
        let (status, answer) = asked(&chain, None, origin, "getSlot").await;
        assert_eq!(status, 200, "{answer}");
        assert!(answer.contains("\"result\""), "{answer}");
    }
    for origin in ["https://evil.example", "http://127.0.0.1.evil.example", "http://localhost.evil.example:80", "null"]
    {
        let (status, answer) = asked(&chain, None, Some(origin), "surfnet_timeTravel").await;
        assert_eq!(status, 403, "{origin}: {answer}");
    }
    for host in ["evil.example", "evil.example:8899", "127.0.0.1.evil.example"] {
        assert_eq!(asked(&chain, Some(host), None, "getSlot").await.0, 403, "{host}");
    }
    let localhost = format!("localhost:{}", chain.rpc_port);
    assert_eq!(asked(&chain, Some(&localhost), None, "getSlot").await.0, 200);
    let (_, answer) = asked(&chain, None, None, "exit").await;
    assert!(answer.contains("-32601"), "the method does not exist: {answer}");
    chain.fund(&payer().pubkey(), 1_000_000_000).expect("funds");
    pay(&client, Pubkey::new_unique(), 1_000_000).await;
    stop(chain).await;
}
