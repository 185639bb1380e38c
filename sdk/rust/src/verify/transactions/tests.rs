#![allow(clippy::arithmetic_side_effects, reason = "tests")]

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use crtx_chain::{Instructions, testing::unsigned};
use crtx_protocol::address::Addresses;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

/// What is looked for, at this time; everything else is of strangers.
const TARGET: &str = "target";
const AT: i64 = 1_000_000;

/// A node that lists these transactions about every address, newest first, and counts what it is asked for.
struct Node {
    url: String,
    read: Arc<AtomicUsize>,
    pages: Arc<AtomicUsize>,
}

/// Signatures and times from one of that number on, if there are any.
type List = dyn Fn(usize, usize) -> Vec<(String, Option<i64>)> + Send + Sync;

impl Node {
    async fn start(list: Box<List>) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let (read, pages) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (list, places) = (Arc::new(list), Arc::new(Mutex::new(HashMap::<String, usize>::new())));
        let counters = (Arc::clone(&read), Arc::clone(&pages));
        tokio::spawn(async move {
            loop {
                let (mut client, _) = listener.accept().await.expect("a connection");
                let (list, places, counters) = (Arc::clone(&list), Arc::clone(&places), counters.clone());
                tokio::spawn(async move {
                    let request = request(&mut client).await;
                    let params = request["params"].clone();
                    let result = match request["method"].as_str().expect("a method") {
                        "getSignaturesForAddress" => {
                            counters.1.fetch_add(1, Ordering::Relaxed);
                            let before = params[1]["before"]
                                .as_str()
                                .and_then(|it| places.lock().expect("lock").get(it).copied());
                            let from = before.map_or(0, |place| place + 1);
                            let page = list(from, PAGE);
                            for (number, (signature, _)) in page.iter().enumerate() {
                                places.lock().expect("lock").insert(signature.clone(), from + number);
                            }
                            page.iter().map(|(signature, time)| json!({"signature": signature, "slot": 1, "err": null, "blockTime": time})).collect()
                        }
                        "getTransaction" => {
                            counters.0.fetch_add(1, Ordering::Relaxed);
                            json!({
                                "slot": 1, "blockTime": null, "meta": {"err": null},
                                "transaction": [transaction(params[0] == TARGET), "base64"],
                            })
                        }
                        other => panic!("{other} is not scripted"),
                    };
                    let body = json!({"jsonrpc": "2.0", "id": request["id"], "result": result}).to_string();
                    let head = format!(
                        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
                        body.len()
                    );
                    client.write_all([head.as_bytes(), body.as_bytes()].concat().as_slice()).await.expect("sent");
                });
            }
        });
        Self { url, read, pages }
    }

    async fn look(&self, times: &[i64]) -> (Result<Seen<String>, NotFound>, usize) {
        let chain = ChainClient::new(&self.url, std::time::Duration::from_secs(10));
        let mut history = History::new(&chain, Pubkey::new_from_array([9; 32]), |_, _, _| None);
        let is_target = |signature: &str, transaction: &PastTransaction| {
            (transaction.instructions.len() == 2).then(|| signature.to_owned())
        };
        let found = history.first(times, is_target).await.expect("a history");
        let read = self.read.load(Ordering::Relaxed);
        // A second question costs no second reading.
        if history.first(times, is_target).await.expect("a history").is_ok() {
            assert_eq!(self.read.load(Ordering::Relaxed), read);
        }
        (found, read)
    }
}

async fn request(client: &mut tokio::net::TcpStream) -> Value {
    let mut bytes = Vec::new();
    loop {
        let mut more = [0; 4_096];
        let count = client.read(&mut more).await.expect("a request");
        bytes.extend_from_slice(&more[..count]);
        let text = String::from_utf8_lossy(&bytes);
        if let Some((_, body)) = text.split_once("\r\n\r\n")
            && let Ok(request) = serde_json::from_str(body)
        {
            return request;
        }
        assert!(count > 0, "cut off: {text}");
    }
}

/// The target has two instructions.
fn transaction(is_target: bool) -> String {
    let build = Instructions::new(Addresses::new(agent_marketplace::ID), Pubkey::new_from_array([6; 32]));
    let one = build.remove_resolver(&Pubkey::new_from_array([1; 32]));
    BASE64.encode(unsigned(&vec![one; if is_target { 2 } else { 1 }]))
}

/// So many transactions of strangers before and after the target, one each second.
fn spammed(before: usize, after: usize, timed: bool) -> Box<List> {
    Box::new(move |from, most| {
        let end = (before + after + 1).min(from + most);
        let place = |number: usize| i64::try_from(after).expect("few") - i64::try_from(number).expect("few");
        let line = |number: usize| {
            let name = if number == after { TARGET.to_owned() } else { format!("spam{number}") };
            (name, timed.then(|| AT + place(number)))
        };
        (from..end).map(line).collect()
    })
}

#[tokio::test]
async fn spam_on_an_account_does_not_slow_the_search_for_a_known_time() {
    let mut costs = Vec::new();
    for after in [0, 400, 20_000] {
        let node = Node::start(spammed(50, after, true)).await;
        let (found, read) = node.look(&[AT]).await;
        assert_eq!(found, Ok(Seen { what: TARGET.to_owned(), time: Some(AT) }), "{after}");
        assert!(node.pages.load(Ordering::Relaxed) <= after / PAGE + 1, "the pages behind the time are not asked for");
        costs.push(read);
    }
    assert_eq!(costs, [1, 1, 1]);
}

#[tokio::test]
async fn spam_in_the_same_seconds_costs_a_bounded_number_of_reads() {
    // Everything at one time: the newest come first.
    let node = Node::start(Box::new(|from, most| {
        let line = |number: usize| (if number == 300 { TARGET.to_owned() } else { format!("spam{number}") }, Some(AT));
        (from..(from + most).min(2_000)).map(line).collect()
    }))
    .await;
    let (found, read) = node.look(&[AT + 5]).await;
    assert_eq!(found.map(|seen| seen.what), Ok(TARGET.to_owned()));
    assert!((301..=301 + AT_ONCE).contains(&read), "{read}");
}

#[tokio::test]
async fn without_times_of_the_node_the_newest_are_looked_at() {
    let (found, read) = Node::start(spammed(10, 400, false)).await.look(&[AT]).await;
    assert_eq!(found, Ok(Seen { what: TARGET.to_owned(), time: None }));
    assert!(read <= 401 + AT_ONCE, "{read}");
}

#[tokio::test]
async fn a_search_ends_at_its_bound_and_says_so() {
    let node = Node::start(spammed(0, 5_000, true)).await;
    let (found, read) = node.look(&[AT + 5_000]).await;
    assert_eq!((found, read), (Err(NotFound::Bound { read: MOST_READ, listed: 5_001 }), MOST_READ));
    let endless =
        Node::start(Box::new(|from, most| (from..from + most).map(|n| (format!("spam{n}"), Some(AT))).collect())).await;
    let (found, read) = endless.look(&[0]).await;
    assert_eq!(read, MOST_READ);
    assert_eq!(endless.pages.load(Ordering::Relaxed), MOST_PAGES);
    let text = found.expect_err("not found").to_string();
    assert!(text.contains("1000 of at least 100000") && text.contains("strangers"), "{text}");
}

#[tokio::test]
async fn an_account_without_the_transaction_says_how_many_were_looked_at() {
    let node =
        Node::start(Box::new(|from, _| if from == 0 { vec![("spam".to_owned(), Some(AT))] } else { vec![] })).await;
    assert_eq!(node.look(&[AT]).await.0, Err(NotFound::None(1)));
}
