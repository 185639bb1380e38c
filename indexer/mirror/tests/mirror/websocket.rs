//! The stream of changes over a WebSocket, against a node that does every kind of wrong.

use std::time::Duration;

use crate::node::{
    LONG, Node, OnConnect, Reply, SHORT, account, clock_notification, program_notification, slot_notification,
};
use crtx_mirror::source::{AccountSource, Change, Deadlines, Events, SourceError, SourceEvent};
use crtx_store::testing::fixtures::wallet;
use serde_json::json;
use tokio::{
    task::JoinHandle,
    time::{sleep, timeout},
};
use tokio_tungstenite::tungstenite::Message;

/// Far more than any deadline of a test.
const PATIENCE: Duration = Duration::from_secs(60);

async fn next(events: &mut Events) -> Option<Result<SourceEvent, SourceError>> {
    timeout(PATIENCE, events.recv()).await.expect("an event, or the end of the stream")
}

/// The reason that the stream ends with. It is the last item.
async fn end(events: &mut Events) -> SourceError {
    loop {
        match next(events).await.expect("a reason before the end") {
            Ok(_) => {}
            Err(reason) => {
                assert!(next(events).await.is_none(), "the reason is the last item");
                return reason;
            }
        }
    }
}

async fn refused(node: &Node) -> SourceError {
    let source = node.source(SHORT);
    timeout(PATIENCE, source.subscribe()).await.expect("given up by itself").expect_err("an error")
}

fn changed(slot: u64, data: Option<&[u8]>) -> SourceEvent {
    SourceEvent::Change(Change { address: wallet(1), slot, data: data.map(<[u8]>::to_vec) })
}

/// Sends messages that grow with `slot` until it is dropped.
struct Ticking(JoinHandle<()>);

impl Ticking {
    fn start(node: &Node, messages: impl Fn(u64) -> Vec<serde_json::Value> + Send + 'static) -> Self {
        let node = node.clone();
        Self(tokio::spawn(async move {
            for slot in 101.. {
                messages(slot).iter().for_each(|message| node.send(message));
                sleep(Duration::from_millis(50)).await;
            }
        }))
    }
}

impl Drop for Ticking {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[tokio::test]
async fn changes_and_slots_come_in_order_and_no_slot_is_claimed_to_be_complete() {
    let node = Node::start().await;
    let mut events = node.source(LONG).subscribe().await.expect("subscribed");
    node.send(&program_notification(50, &wallet(1), &account(b"account a")));
    node.send(&program_notification(51, &wallet(1), &account(b"account b")));
    node.send(&program_notification(51, &wallet(1), &account(b"account b")));
    node.send(&slot_notification(90, 58));
    node.send(&slot_notification(89, 58));
    node.send(&slot_notification(91, 59));
    assert_eq!(next(&mut events).await, Some(Ok(changed(50, Some(b"account a")))));
    assert_eq!(next(&mut events).await, Some(Ok(changed(51, Some(b"account b")))));
    assert_eq!(next(&mut events).await, Some(Ok(changed(51, Some(b"account b")))), "a doubled change passes");
    assert_eq!(next(&mut events).await, Some(Ok(SourceEvent::Alive(90))));
    assert_eq!(next(&mut events).await, Some(Ok(SourceEvent::Alive(91))));
    let subscribed = node.script().subscribed.clone();
    let (method, params) = &subscribed[0];
    assert_eq!((method.as_str(), &params[1]["commitment"]), ("programSubscribe", &json!("confirmed")));
}

#[tokio::test]
async fn an_account_that_is_no_longer_the_programs_has_no_data() {
    let node = Node::start().await;
    let mut events = node.source(LONG).subscribe().await.expect("subscribed");
    let mut elsewhere = account(b"account a");
    elsewhere["owner"] = json!(wallet(200).to_string());
    let mut empty = account(b"account a");
    empty["lamports"] = json!(0);
    for gone in [elsewhere, empty, account(&[0; 1_000]), account(b"")] {
        node.send(&program_notification(50, &wallet(1), &gone));
        assert_eq!(next(&mut events).await, Some(Ok(changed(50, None))), "{gone}");
    }
}

#[tokio::test]
async fn a_stream_that_goes_silent_ends_although_the_node_answers_pings() {
    let node = Node::start().await;
    let mut events = node.source(SHORT).subscribe().await.expect("subscribed");
    node.send(&slot_notification(90, 58));
    let reason = end(&mut events).await;
    assert!(matches!(reason, SourceError::Silent { .. }), "{reason}");
    assert_eq!(reason.code(), "silent_stream");
    let source = node.source(Deadlines { answer: SHORT.answer * 4, ..SHORT });
    let mut events = source.subscribe().await.expect("subscribed");
    assert!(matches!(end(&mut events).await, SourceError::Silent { .. }), "nothing was sent at all");
}

#[tokio::test]
async fn a_stream_lives_as_long_as_slots_arrive() {
    let node = Node::start().await;
    let mut events = node.source(SHORT).subscribe().await.expect("subscribed");
    let _ticking = Ticking::start(&node, |slot| vec![slot_notification(slot, slot - 32)]);
    let mut last = 0;
    // Six times the silence that ends a stream.
    while last < 160 {
        match next(&mut events).await {
            Some(Ok(SourceEvent::Alive(slot))) => {
                assert!(slot > last);
                last = slot;
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_slot_that_stands_still_ends_the_stream() {
    let node = Node::start().await;
    let mut events = node.source(SHORT).subscribe().await.expect("subscribed");
    let _ticking = Ticking::start(&node, |_| vec![slot_notification(90, 58)]);
    assert_eq!(next(&mut events).await, Some(Ok(SourceEvent::Alive(90))));
    let reason = end(&mut events).await;
    assert!(matches!(reason, SourceError::StandsStill { slot: 90, .. }), "{reason}");
}

#[tokio::test]
async fn notifications_of_accounts_that_stop_while_slots_go_on_end_the_stream() {
    let node = Node::start().await;
    let mut events = node.source(SHORT).subscribe().await.expect("subscribed");
    node.send(&clock_notification(100));
    let _ticking = Ticking::start(&node, |slot| vec![slot_notification(slot, slot - 32)]);
    let reason = end(&mut events).await;
    assert!(matches!(reason, SourceError::Missed { .. }), "{reason}");
}

#[tokio::test]
async fn a_connection_without_bytes_is_given_up() {
    let node = Node::start().await;
    node.script().on_connect = OnConnect::HalfOpen;
    let reason = refused(&node).await;
    assert!(matches!(reason, SourceError::TimedOut { what: "a WebSocket connection", .. }), "{reason}");
}

#[tokio::test]
async fn a_subscription_without_an_answer_is_given_up() {
    let node = Node::start().await;
    node.on_subscription("programSubscribe", None);
    // Slots alone do not help.
    let _ticking = Ticking::start(&node, |slot| vec![slot_notification(slot, slot - 32)]);
    let reason = refused(&node).await;
    assert!(matches!(reason, SourceError::TimedOut { what: "programSubscribe", .. }), "{reason}");
    node.script().on_connect = OnConnect::Deaf;
    assert!(matches!(refused(&node).await, SourceError::TimedOut { .. }));
}

#[tokio::test]
async fn a_refused_subscription_says_why() {
    let node = Node::start().await;
    node.on_subscription("programSubscribe", Some("not on this plan"));
    let reason = refused(&node).await;
    assert!(reason.to_string().contains("not on this plan"), "{reason}");
    assert_eq!(reason.code(), "subscription_refused");
}

#[tokio::test]
async fn the_clock_alone_proves_that_the_stream_lives() {
    let node = Node::start().await;
    node.on_subscription("slotSubscribe", Some("no"));
    let mut events = node.source(SHORT).subscribe().await.expect("subscribed");
    let ticking = Ticking::start(&node, |slot| vec![clock_notification(slot)]);
    for _ in 0..30 {
        assert!(matches!(next(&mut events).await, Some(Ok(SourceEvent::Alive(_)))));
    }
    drop(ticking);
    let reason = end(&mut events).await;
    assert!(matches!(reason, SourceError::Silent { .. }), "{reason}");
}

#[tokio::test]
async fn a_node_that_tells_no_slots_is_asked_for_them() {
    for error in [Some("no"), None] {
        let node = Node::start().await;
        node.on_subscription("slotSubscribe", error);
        node.on_subscription("accountSubscribe", error);
        let slot = std::sync::atomic::AtomicU64::new(100);
        node.on("getSlot", move |_| {
            Reply::Result(json!(slot.fetch_add(1, std::sync::atomic::Ordering::Relaxed).min(120)))
        });
        let mut events = node.source(SHORT).subscribe().await.expect("subscribed");
        for _ in 0..15 {
            assert!(matches!(next(&mut events).await, Some(Ok(SourceEvent::Alive(_)))));
        }
        node.send(&program_notification(50, &wallet(1), &account(b"account a")));
        let reason = end(&mut events).await;
        assert!(matches!(reason, SourceError::StandsStill { slot: 120, .. }), "{reason}");
    }
}

#[tokio::test]
async fn a_node_that_tells_no_slots_and_answers_no_questions_is_given_up() {
    let node = Node::start().await;
    node.on_subscription("slotSubscribe", Some("no"));
    node.on_subscription("accountSubscribe", Some("no"));
    node.on("getSlot", |_| Reply::Hang);
    let mut events = node.source(SHORT).subscribe().await.expect("subscribed");
    let reason = end(&mut events).await;
    assert!(matches!(reason, SourceError::TimedOut { what: "getSlot", .. }), "{reason}");
}

#[tokio::test]
async fn a_stream_ends_with_its_connection() {
    let node = Node::start().await;
    let mut events = node.source(LONG).subscribe().await.expect("subscribed");
    node.send(&program_notification(50, &wallet(1), &account(b"account a")));
    assert!(next(&mut events).await.expect("an event").is_ok());
    node.hang_up();
    assert!(matches!(end(&mut events).await, SourceError::Closed { .. }));
    let mut events = node.source(LONG).subscribe().await.expect("subscribed");
    node.send_message(&Message::Close(None));
    assert!(matches!(end(&mut events).await, SourceError::Closed { .. }));
}

#[tokio::test]
async fn a_notification_that_cannot_be_read_ends_the_stream() {
    let mut bad_data = program_notification(50, &wallet(1), &account(b"account a"));
    bad_data["params"]["result"]["value"]["account"]["data"] = json!(["!", "base64"]);
    let mut other_encoding = bad_data.clone();
    other_encoding["params"]["result"]["value"]["account"]["data"] = json!(["", "base64+zstd"]);
    let mut no_slot = program_notification(50, &wallet(1), &account(b"account a"));
    no_slot["params"]["result"]["context"] = json!({});
    for message in [
        Message::text(bad_data.to_string()),
        Message::text(other_encoding.to_string()),
        Message::text(no_slot.to_string()),
        Message::text("{"),
        Message::binary(b"bytes".to_vec()),
    ] {
        let node = Node::start().await;
        let mut events = node.source(LONG).subscribe().await.expect("subscribed");
        node.send_message(&message);
        let reason = end(&mut events).await;
        assert!(matches!(reason, SourceError::Malformed { .. }), "{message}: {reason}");
    }
}

#[tokio::test]
async fn a_message_of_another_kind_is_passed_over() {
    let node = Node::start().await;
    let mut events = node.source(LONG).subscribe().await.expect("subscribed");
    node.send(&json!({"jsonrpc": "2.0", "method": "providerNotification", "params": {}}));
    node.send(&json!({"jsonrpc": "2.0", "id": 99, "result": true}));
    node.send(&program_notification(50, &wallet(1), &account(b"account a")));
    assert_eq!(next(&mut events).await, Some(Ok(changed(50, Some(b"account a")))));
}

#[tokio::test]
async fn a_message_or_an_account_that_is_too_long_ends_the_stream() {
    let long_account = program_notification(50, &wallet(1), &account(&[1; 65 * 1024]));
    for message in [Message::text(" ".repeat(17 * 1024 * 1024)), Message::text(long_account.to_string())] {
        let node = Node::start().await;
        let mut events = node.source(LONG).subscribe().await.expect("subscribed");
        node.send_message(&message);
        let reason = end(&mut events).await;
        assert!(matches!(reason, SourceError::TooLarge { .. }), "{reason}");
    }
}

#[tokio::test]
async fn the_longest_account_of_zeros_that_a_stranger_can_make_does_not_end_the_stream() {
    let node = Node::start().await;
    let mut events = node.source(LONG).subscribe().await.expect("subscribed");
    node.send(&program_notification(50, &wallet(1), &account(&vec![0; 10 * 1024 * 1024])));
    assert_eq!(next(&mut events).await, Some(Ok(changed(50, None))));
}

#[tokio::test]
async fn a_reader_that_takes_nothing_makes_the_node_wait_and_then_ends_the_stream() {
    let node = Node::start().await;
    let mut events = node.source(Deadlines { reader: SHORT.reader, ..LONG }).subscribe().await.expect("subscribed");
    for number in 0..20_000 {
        node.send(&program_notification(number, &wallet(1), &account(b"account a")));
    }
    // Long enough for the stream to give up.
    sleep(SHORT.reader * 4).await;
    let mut taken = 0;
    let reason = loop {
        match next(&mut events).await.expect("a reason before the end") {
            Ok(SourceEvent::Change(change)) => {
                assert_eq!(change.slot, taken, "no change is left out before the end");
                taken += 1;
            }
            Ok(_) => {}
            Err(reason) => break reason,
        }
    };
    assert!(matches!(reason, SourceError::ReaderTooSlow { .. }), "{reason}");
    assert!(taken <= 1_025, "{taken} events were kept in memory");
}

#[tokio::test]
async fn a_reader_that_is_slow_for_a_while_loses_nothing() {
    let node = Node::start().await;
    let mut events = node.source(Deadlines { reader: LONG.reader, ..SHORT }).subscribe().await.expect("subscribed");
    for number in 0..3_000 {
        node.send(&program_notification(number, &wallet(1), &account(b"account a")));
    }
    let _ticking = Ticking::start(&node, |slot| vec![slot_notification(slot, slot - 32)]);
    // Longer than silence, answer and standstill allow.
    sleep(Duration::from_secs(2)).await;
    let mut taken = 0;
    while taken < 3_000 {
        match next(&mut events).await.expect("not ended") {
            Ok(SourceEvent::Change(change)) => {
                assert_eq!(change.slot, taken);
                taken += 1;
            }
            Ok(_) => {}
            Err(reason) => panic!("{reason}"),
        }
    }
}

#[tokio::test]
async fn a_secure_connection_to_a_node_without_tls_is_an_error_and_nothing_else() {
    let node = Node::start().await;
    let mut urls = node.urls.clone();
    let plain = urls.websocket.take().expect("a URL");
    urls.websocket = Some(plain.as_str().replace("ws:", "wss:").parse().expect("a URL"));
    let source = crtx_mirror::source::Endpoints::new(&[urls], None, crtx_store::testing::fixtures::program(), SHORT);
    let reason = source.expect("endpoints").subscribe().await.expect_err("an error");
    assert!(matches!(reason, SourceError::Unreachable { .. } | SourceError::TimedOut { .. }), "{reason}");
}
