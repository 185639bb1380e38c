//! The RPC source against a node that speaks JSON-RPC and WebSocket as Agave does.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "tests"
)]

use std::{sync::Arc, time::Duration};

use axum::{Json, Router, extract::State, routing::post};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use crtx_chain::ChainClient;
use crtx_indexer::source::{AccountSource, Change, Event, RpcSource};
use crtx_store::testing::fixtures::{program, wallet};
use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::mpsc, time::timeout};
use tokio_tungstenite::tungstenite::Message;

/// What the node's WebSocket sends; dropping the sender closes the connection.
type Script = mpsc::UnboundedSender<Value>;

fn account(data: &[u8]) -> Value {
    json!({
        "lamports": 1, "data": [BASE64.encode(data), "base64"], "owner": program().to_string(), "executable": false,
        "rentEpoch": 0, "space": data.len()
    })
}

async fn rpc_url() -> String {
    async fn answer(State(()): State<()>, Json(request): Json<Value>) -> Json<Value> {
        let result = match request["method"].as_str().expect("a method") {
            "getSlot" => json!(42),
            "getGenesisHash" => json!(wallet(5).to_string()),
            "getProgramAccounts" => json!({
                "context": {"slot": 41}, "value": [{"pubkey": wallet(1).to_string(), "account": account(b"one")}]
            }),
            "getMultipleAccounts" => json!({"context": {"slot": 43}, "value": [account(b"one"), null]}),
            other => panic!("{other} is not scripted"),
        };
        Json(json!({"jsonrpc": "2.0", "id": request["id"], "result": result}))
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("bound"));
    tokio::spawn(async move { axum::serve(listener, Router::new().route("/", post(answer)).with_state(())).await });
    url
}

/// A WebSocket that grants every subscription, or all but slots, and then sends what it is given.
async fn websocket(offers_slots: bool) -> (String, Script) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("ws://{}", listener.local_addr().expect("bound"));
    let (script, mut lines) = mpsc::unbounded_channel::<Value>();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.expect("a client");
        let mut socket = tokio_tungstenite::accept_async(stream).await.expect("a handshake");
        loop {
            let reply = tokio::select! {
                line = lines.recv() => match line {
                    Some(line) => line,
                    None => return,
                },
                message = socket.next() => {
                    let Some(Ok(Message::Text(text))) = message else { continue };
                    let request: Value = serde_json::from_str(&text).expect("json");
                    let id = &request["id"];
                    match request["method"].as_str().expect("a method") {
                        "programSubscribe" => {
                            assert_eq!(request["params"][0], program().to_string());
                            assert_eq!(request["params"][1]["encoding"], "base64");
                            assert_eq!(request["params"][1]["commitment"], "confirmed");
                            json!({"jsonrpc": "2.0", "id": id, "result": 1})
                        }
                        "slotSubscribe" if offers_slots => json!({"jsonrpc": "2.0", "id": id, "result": 2}),
                        _ => json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no"}}),
                    }
                }
            };
            socket.send(Message::Text(reply.to_string().into())).await.expect("sent");
        }
    });
    (url, script)
}

fn program_notification(slot: u64, data: &[u8]) -> Value {
    let value = json!({"pubkey": wallet(1).to_string(), "account": account(data)});
    json!({
        "jsonrpc": "2.0", "method": "programNotification",
        "params": {"result": {"context": {"slot": slot}, "value": value}, "subscription": 1}
    })
}

fn slot_notification(slot: u64) -> Value {
    json!({
        "jsonrpc": "2.0", "method": "slotNotification",
        "params": {"result": {"parent": slot - 1, "root": slot - 32, "slot": slot}, "subscription": 2}
    })
}

async fn next(events: &mut mpsc::UnboundedReceiver<Event>) -> Option<Event> {
    timeout(Duration::from_secs(5), events.recv()).await.expect("an event in time")
}

async fn source(ws_url: &str) -> Arc<RpcSource> {
    Arc::new(RpcSource::new(ChainClient::new(&rpc_url().await, Duration::from_secs(5)), ws_url, program()))
}

#[tokio::test]
async fn changes_come_in_order_and_before_the_slot_that_holds_them() {
    let (url, script) = websocket(true).await;
    let mut events = source(&url).await.subscribe().await.expect("subscribed");
    for line in [program_notification(50, b"a"), program_notification(51, b"b"), slot_notification(90)] {
        script.send(line).expect("sent");
    }
    let change = |slot, data: &[u8]| Event::Change(Change { address: wallet(1), slot, data: data.to_vec() });
    assert_eq!(next(&mut events).await, Some(change(50, b"a")));
    assert_eq!(next(&mut events).await, Some(change(51, b"b")));
    assert_eq!(next(&mut events).await, Some(Event::Reached(58)));
}

#[tokio::test]
async fn the_stream_ends_with_its_connection() {
    let (url, script) = websocket(true).await;
    let mut events = source(&url).await.subscribe().await.expect("subscribed");
    drop(script);
    assert_eq!(next(&mut events).await, None);
}

#[tokio::test]
async fn a_notification_that_cannot_be_read_ends_the_stream() {
    let (url, script) = websocket(true).await;
    let mut events = source(&url).await.subscribe().await.expect("subscribed");
    let mut bad = program_notification(50, b"a");
    bad["params"]["result"]["value"]["account"]["data"] = json!(["!", "base64"]);
    script.send(bad).expect("sent");
    assert_eq!(next(&mut events).await, None);
}

#[tokio::test]
async fn a_node_that_does_not_tell_its_slots_will_do() {
    let (url, script) = websocket(false).await;
    let mut events = source(&url).await.subscribe().await.expect("subscribed");
    script.send(program_notification(50, b"a")).expect("sent");
    assert!(matches!(next(&mut events).await, Some(Event::Change(_))));
}

#[tokio::test]
async fn a_node_that_cannot_be_reached_is_an_error() {
    assert!(source("ws://127.0.0.1:1").await.subscribe().await.is_err());
}

#[tokio::test]
async fn snapshots_and_reads_carry_their_slot() {
    let source = source("ws://127.0.0.1:1").await;
    let snapshot = source.snapshot().await.expect("read");
    assert_eq!((snapshot.slot, snapshot.accounts), (41, vec![(wallet(1), b"one".to_vec())]));
    let read = source.read(&[wallet(1), wallet(2)]).await.expect("read");
    assert_eq!((read.slot, read.accounts[0].as_ref().map(|account| account.owner)), (43, Some(program())));
    assert_eq!(read.accounts[1], None);
    assert_eq!(source.slot().await.expect("read"), 42);
    assert_eq!(source.genesis_hash().await.expect("read"), wallet(5).to_string());
}

#[tokio::test]
async fn a_node_that_takes_a_connection_and_says_nothing_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("ws://{}", listener.local_addr().expect("bound"));
    let source = source(&url).await;
    let subscribed = timeout(Duration::from_secs(30), source.subscribe()).await.expect("given up by itself");
    assert!(subscribed.is_err());
    drop(listener);
}
