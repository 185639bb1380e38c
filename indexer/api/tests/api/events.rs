//! Those who wait for events: streams and long polls.

use std::time::Duration;

use axum::{
    Router,
    body::{Body, BodyDataStream},
    http::Request,
};
use chrono::TimeDelta;
use crtx_api::ApiState;
use crtx_http::{Stopping, session_token::SessionToken};
use crtx_protocol::api_key::ApiKey;
use crtx_store::{
    PgPool, api_keys, events,
    sessions::{self, SessionKind},
    testing::{
        fixtures::*,
        probes::{end_connections_that_listen, queue_event},
    },
};
use futures::StreamExt;
use serde_json::{Value, json};
use solana_pubkey::Pubkey;
use tokio::time::{Instant, sleep, timeout};
use tower::ServiceExt;
use uuid::Uuid;

use crate::common::*;

/// Some milliseconds on a quiet machine; `bench events` measures it.
const AT_ONCE: Duration = Duration::from_secs(5);
const SOON: Duration = Duration::from_secs(10);

/// Writes events of a wallet, whose text is their place in the log.
async fn write(pool: &PgPool, of: &Pubkey, places: std::ops::RangeInclusive<u64>) {
    for place in places {
        let kind = if place % 10 == 0 { "key.created" } else { "webhook.disabled" };
        queue_event(pool, of, kind, &json!({"reason": place.to_string()})).await;
    }
    while events::number(pool).await.unwrap() > 0 {}
}

/// A stream, as its client reads it.
struct Reading {
    body: BodyDataStream,
    text: String,
}

#[derive(Debug, PartialEq)]
struct Sent {
    id: u64,
    event: String,
    data: Value,
}

impl Reading {
    async fn open(router: &Router, path: &str, headers: &[(&str, String)]) -> Self {
        let mut request = Request::get(path);
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let answer = router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(answer.status(), 200, "{path}");
        for (name, value) in
            [("content-type", "text/event-stream"), ("cache-control", "no-store"), ("x-accel-buffering", "no")]
        {
            assert_eq!(answer.headers()[name], value);
        }
        assert!(!answer.headers().contains_key("content-encoding") && !answer.headers().contains_key("etag"));
        Self { body: answer.into_body().into_data_stream(), text: String::new() }
    }

    /// What stands before the next empty line. `None`: the stream has ended.
    async fn block(&mut self) -> Option<String> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.text = rest;
                return Some(block);
            }
            self.text.push_str(std::str::from_utf8(&self.body.next().await?.unwrap()).unwrap());
        }
    }

    async fn next(&mut self) -> Option<Sent> {
        loop {
            let block = timeout(SOON, self.block()).await.expect("in time")?;
            if let Some(sent) = parsed(&block) {
                return Some(sent);
            }
        }
    }

    /// The next events have these places.
    async fn sends(&mut self, places: std::ops::RangeInclusive<u64>) {
        for place in places {
            let sent = self.next().await.expect("an event");
            assert_eq!((sent.id, sent.data["data"]["reason"].as_str().unwrap()), (place, place.to_string().as_str()));
        }
    }

    /// How long until it ends.
    async fn end(&mut self) -> Duration {
        let started = Instant::now();
        while self.next().await.is_some() {}
        started.elapsed()
    }
}

/// An event; `None` for a comment and for the beginning of the stream.
fn parsed(block: &str) -> Option<Sent> {
    let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    let data = serde_json::from_str(field("data")?).unwrap();
    Some(Sent { id: field("id")?.parse().unwrap(), event: field("event")?.to_owned(), data })
}

fn of_key(key: &ApiKey) -> Vec<(&'static str, String)> {
    vec![("authorization", format!("Bearer {}", key.reveal()))]
}

fn of_session(session: &SessionToken) -> Vec<(&'static str, String)> {
    vec![("authorization", format!("Bearer {}", session.reveal()))]
}

fn from(key: &ApiKey, last: u64) -> Vec<(&'static str, String)> {
    [of_key(key), vec![("last-event-id", last.to_string())]].concat()
}

#[tokio::test]
async fn a_stream_sends_each_event_as_the_list_shows_it_and_goes_on_where_its_client_was() {
    let market = Market::open().await;
    let (pool, key) = (market.database.pool(), market.key_of(wallet(1)).await);
    write(pool, &wallet(1), 2..=9).await;
    let mut new = Reading::open(&market.router, "/v1/events/stream", &of_key(&key)).await;
    assert_eq!(new.block().await.unwrap(), "retry: 1000\nid: 9", "a client that is cut off now goes on from here");
    let mut all = Reading::open(&market.router, "/v1/events/stream?after=0", &of_key(&key)).await;
    assert_eq!(all.next().await.unwrap().event, "key.created");
    all.sends(2..=9).await;
    write(pool, &wallet(1), 10..=20).await;
    timeout(AT_ONCE, new.sends(10..=20)).await.expect("at once");
    all.sends(10..=20).await;
    // The header goes before the parameter.
    let mut again = Reading::open(&market.router, "/v1/events/stream?after=3", &from(&key, 18)).await;
    again.sends(19..=20).await;
    let listed = market.get_as(&key, "/v1/events?after=18").await;
    let mut again = Reading::open(&market.router, "/v1/events/stream", &from(&key, 18)).await;
    for event in listed.body["events"].as_array().unwrap() {
        let sent = again.next().await.unwrap();
        assert_eq!((&sent.data, sent.event.as_str()), (event, event["type"].as_str().unwrap()));
    }
    let mut some = Reading::open(&market.router, "/v1/events/stream?after=1&types=key.created", &of_key(&key)).await;
    some.sends(10..=10).await;
    some.sends(20..=20).await;
    write(pool, &wallet(1), 21..=30).await;
    some.sends(30..=30).await;
}

#[tokio::test]
async fn a_stream_that_is_far_behind_has_every_event_once_at_each_of_two_processes() {
    let market = Market::open().await;
    let (pool, key) = (market.database.pool(), market.key_of(wallet(1)).await);
    let other = ApiState::new(pool.clone(), deployment(market.node.url()));
    let other = crtx_http::finish(crtx_api::router(other));
    write(pool, &wallet(1), 2..=300).await;
    let mut streams = Vec::new();
    for after in [1, 150, 299, 300] {
        for router in [&market.router, &other] {
            streams.push((after, Reading::open(router, "/v1/events/stream", &from(&key, after)).await));
        }
    }
    // More than is kept in memory at once, while they read.
    let write = async {
        for burst in [301..=301, 302..=700, 701..=705, 706..=900] {
            write(pool, &wallet(1), burst).await;
        }
    };
    let read = streams.iter_mut().map(|(after, stream)| stream.sends(*after + 1..=900));
    tokio::join!(write, futures::future::join_all(read));
}

#[tokio::test]
async fn events_come_without_the_connection_that_tells_of_them_and_it_comes_back() {
    let market = Market::open().await;
    let (pool, key) = (market.database.pool(), market.key_of(wallet(1)).await);
    write(pool, &wallet(1), 2..=2).await;
    let mut stream = Reading::open(&market.router, "/v1/events/stream", &of_key(&key)).await;
    for place in 3..=5 {
        write(pool, &wallet(1), place..=place).await;
        assert!(end_connections_that_listen(pool).await <= 1);
        stream.sends(place..=place).await;
    }
    sleep(Duration::from_secs(3)).await;
    write(pool, &wallet(1), 6..=6).await;
    timeout(AT_ONCE, stream.sends(6..=6)).await.expect("it tells again");
    assert_eq!(end_connections_that_listen(pool).await, 1);
}

#[tokio::test]
async fn a_request_can_wait_for_the_next_event() {
    let market = Market::open().await;
    let (pool, key) = (market.database.pool(), market.key_of(wallet(1)).await);
    write(pool, &wallet(1), 2..=9).await;
    let ask = |path: &'static str| async {
        let started = Instant::now();
        let answer = market.send_at_once(get_as(&key, path)).await;
        (answer.body["events"].as_array().map(Vec::len), answer.body["next_after"].as_u64(), started.elapsed())
    };
    let (found, next, took) = ask("/v1/events?after=7&wait=25").await;
    assert!((found, next) == (Some(2), Some(9)) && took < AT_ONCE, "{took:?}");
    let (found, next, took) = ask("/v1/events?after=9&wait=1").await;
    assert!((found, next) == (Some(0), Some(9)) && took >= Duration::from_secs(1), "{took:?}");
    // Longer than a read may take, and past an event of another type.
    let waiting = ask("/v1/events?after=9&wait=25&types=key.created");
    let event = async {
        sleep(Duration::from_secs(1)).await;
        write(pool, &wallet(1), 11..=12).await;
        sleep(Duration::from_secs(11)).await;
        write(pool, &wallet(1), 20..=20).await;
    };
    let ((found, next, took), ()) = tokio::join!(waiting, event);
    assert!((found, next) == (Some(1), Some(12)) && took < Duration::from_secs(15), "{found:?} {next:?} {took:?}");
    for bad in ["wait=26", "wait=-1", "wait=x", "after=13"] {
        market.get_as(&key, &format!("/v1/events?{bad}")).await.assert_error(400, "invalid_request");
    }
    // A process that stops answers at once.
    let stopping = Stopping::default();
    let mut request = get_as(&key, "/v1/events?after=12&wait=25");
    request.extensions_mut().insert(stopping.clone());
    let stop = async {
        sleep(Duration::from_secs(1)).await;
        stopping.0.cancel();
    };
    let (answer, ()) = timeout(SOON, async { tokio::join!(market.send_at_once(request), stop) }).await.unwrap();
    assert_eq!((answer.status, &answer.body["next_after"]), (200, &json!(12)));
}

#[tokio::test]
async fn a_revoked_key_and_a_session_that_is_over_end_their_streams_within_a_second_and_no_others() {
    let market = Market::open().await;
    let pool = market.database.pool();
    let (revoked, kept) = (market.key_of(wallet(1)).await, market.key_of(wallet(1)).await);
    let ended = market.session_of(wallet(1), SessionKind::Bearer, TimeDelta::hours(1)).await;
    let expiring = market.session_of(wallet(2), SessionKind::Bearer, TimeDelta::seconds(4)).await;
    write(pool, &wallet(1), 3..=3).await;
    let open =
        async |headers: Vec<(&'static str, String)>| Reading::open(&market.router, "/v1/events/stream", &headers).await;
    let mut of_revoked = [open(of_key(&revoked)).await, open(of_key(&revoked)).await];
    let (mut of_kept, mut of_ended) = (open(of_key(&kept)).await, open(of_session(&ended)).await);
    let mut of_expiring = open(of_session(&expiring)).await;
    let poll = get_as(&revoked, "/v1/events?after=3&wait=25");
    let poll = tokio::spawn({
        let router = market.router.clone();
        async move { router.oneshot(poll).await.unwrap().status() }
    });
    sleep(Duration::from_secs(1)).await;
    let session_key = Pubkey::new_from_array(revoked.session_public_key());
    let grant = addresses().grant(&wallet(1), &session_key);
    api_keys::revoke_pair(pool, &wallet(1), &session_key, &grant).await.unwrap();
    for stream in &mut of_revoked {
        let took = stream.end().await;
        eprintln!("the stream ended after {took:?}");
        assert!(took < AT_ONCE, "{took:?}");
    }
    assert_eq!(timeout(AT_ONCE, poll).await.unwrap().unwrap(), 401);
    let id = sessions::list(pool, &wallet(1), &Uuid::nil()).await.unwrap()[0].session_id;
    assert!(sessions::end(pool, &wallet(1), &id).await.unwrap());
    let took = of_ended.end().await;
    eprintln!("the stream ended after {took:?}");
    assert!(took < AT_ONCE, "{took:?}");
    of_expiring.end().await;
    write(pool, &wallet(1), 4..=4).await;
    loop {
        let sent = of_kept.next().await.expect("the other key's stream goes on");
        if sent.data["data"]["reason"] == "4" {
            break;
        }
    }
}

#[tokio::test]
async fn a_wallet_has_the_events_of_no_other_one() {
    let market = Market::open().await;
    let pool = market.database.pool();
    let (own, other) = (market.key_of(wallet(1)).await, market.key_of(wallet(2)).await);
    write(pool, &wallet(3), 1..=1).await;
    let mut streams = [&own, &other].map(|key| (key, Vec::new()));
    for (key, streams) in &mut streams {
        for path in ["/v1/events/stream?after=1", "/v1/events/stream"] {
            streams.push(Reading::open(&market.router, path, &of_key(key)).await);
        }
    }
    write(pool, &wallet(2), 100..=180).await;
    write(pool, &wallet(1), 2..=9).await;
    for stream in &mut streams[0].1 {
        stream.sends(2..=9).await;
        let more = timeout(Duration::from_secs(1), stream.next()).await;
        assert!(more.is_err(), "nothing more: {more:?}");
    }
    for stream in &mut streams[1].1 {
        for place in 100..=180_u64 {
            let sent = stream.next().await.unwrap();
            assert_eq!((sent.id, &sent.data["wallet"]), (place - 98, &json!(wallet(2).to_string())));
        }
    }
    let unknown = format!("/v1/executions/{}/events", Uuid::from_u128(1));
    market.get_as(&own, &unknown).await.assert_error(404, "execution_not_found");
    market.get("/v1/events/stream").await.assert_error(401, "unauthorized");
}

#[tokio::test]
async fn what_no_stream_can_begin_with_is_refused() {
    let market = Market::open().await;
    let key = market.key_of(wallet(1)).await;
    write(market.database.pool(), &wallet(1), 2..=3).await;
    for path in ["after=4", "after=x", "types=", "types=payout,x", "limit=1"] {
        let answer = market.get_as(&key, &format!("/v1/events/stream?{path}")).await;
        answer.assert_error(400, "invalid_request");
    }
    for last in ["4", "", "-1", "+1", "x", "99999999999999999999"] {
        let mut request = get_as(&key, "/v1/events/stream");
        request.headers_mut().insert("last-event-id", last.parse().unwrap());
        market.send(request).await.assert_error(400, "invalid_request");
    }
}

#[tokio::test]
async fn a_wallet_has_so_many_streams_and_a_place_is_free_again_when_one_ends() {
    let market = Market::open().await;
    let (key, other) = (market.key_of(wallet(1)).await, market.key_of(wallet(2)).await);
    write(market.database.pool(), &wallet(1), 2..=2).await;
    let mut streams = Vec::new();
    for _ in 0..32 {
        streams.push(Reading::open(&market.router, "/v1/events/stream", &of_key(&key)).await);
    }
    for path in ["/v1/events/stream", "/v1/events?after=2&wait=1"] {
        let refused = market.get_as(&key, path).await;
        refused.assert_error(429, "rate_limited");
        assert_eq!(refused.headers["ratelimit-policy"], "\"streams-per-wallet\";q=32;qu=\"concurrent-requests\"");
        assert!(refused.headers.contains_key("retry-after"));
    }
    let mut stranger = Reading::open(&market.router, "/v1/events/stream", &of_key(&other)).await;
    streams.pop();
    streams.push(Reading::open(&market.router, "/v1/events/stream", &of_key(&key)).await);
    write(market.database.pool(), &wallet(1), 3..=3).await;
    for stream in &mut streams {
        stream.sends(3..=3).await;
    }
    drop(streams);
    write(market.database.pool(), &wallet(2), 2..=2).await;
    stranger.sends(2..=2).await;
}

#[tokio::test]
async fn a_stream_without_events_sends_a_comment_every_fifteen_seconds() {
    let market = Market::open().await;
    let (pool, key) = (market.database.pool(), market.key_of(wallet(1)).await);
    let mut stream = Reading::open(&market.router, "/v1/events/stream?types=payout", &of_key(&key)).await;
    stream.block().await.unwrap();
    let started = Instant::now();
    // Events that it does not send do not keep it silent.
    let silent = async {
        for place in 2..=8 {
            sleep(Duration::from_secs(2)).await;
            write(pool, &wallet(1), place..=place).await;
        }
    };
    let (block, ()) = tokio::join!(stream.block(), silent);
    let took = started.elapsed();
    assert_eq!(block.unwrap(), ":");
    assert!(took >= Duration::from_secs(14) && took < Duration::from_secs(25), "{took:?}");
}
