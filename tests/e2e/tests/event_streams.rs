//! Streams of events over several processes, whatever happens to these and however slowly their clients read.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "tests"
)]

use std::{
    net::Ipv4Addr,
    path::Path,
    time::{Duration, Instant},
};

use crtx_e2e::{
    Info, Up,
    market::Market,
    server::{Server, without_services},
    streams::{OpenStream, Received, SentEvent, client_at, happen, session_of},
};
use futures::future::try_join_all;
use solana_pubkey::Pubkey;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpSocket,
    sync::watch,
    time::{sleep, timeout},
};

const STREAM: &str = "/v1/events/stream";

async fn started(info: &Info, folder: &Path, name: &str, role: &str) -> Server {
    let mut server = Server::start(info, folder, name, role).unwrap();
    server.until_readyz_is(200).await.unwrap();
    server
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_goes_on_without_a_hole_at_two_processes_that_are_killed_again_and_again() {
    const EVENTS: u64 = 600;
    let (folder, mut up) = without_services().await.unwrap();
    let (info, folder) = (up.info().clone(), folder.path());
    let indexer = started(&info, folder, "indexer", "indexer").await;
    let mut apis = [started(&info, folder, "a", "api").await, started(&info, folder, "b", "api").await];
    let pool = crtx_store::testing::connect(&info.database_url, 2).await.unwrap();
    let wallet = Pubkey::new_from_array(rand::random());
    let token = session_of(&pool, wallet).await;
    let (urls, mut known) = watch::channel(apis.each_ref().map(|api| api.base_url.clone()));
    let writing = tokio::spawn(async move {
        for number in 1..=EVENTS {
            happen(&pool, &wallet, &number.to_string()).await;
            sleep(Duration::from_millis(rand::random_range(0..60))).await;
        }
    });
    let reading = tokio::spawn(async move {
        let (http, mut received, mut opened) = (client_at(Ipv4Addr::LOCALHOST), Received::default(), 0_usize);
        while received.last() < EVENTS {
            let url = format!("{}{STREAM}", known.borrow_and_update()[opened % 2]);
            opened += 1;
            let Ok(mut stream) = OpenStream::open(&http, url, &token, received.last()).await else { continue };
            // At the other one before long, also if this one lives.
            let most = received.last() + rand::random_range(1..40);
            while received.last() < most.min(EVENTS) {
                let Some(event) = stream.next().await else { break };
                received.add(event);
            }
        }
        received
    });
    let mut kills = 0;
    while !writing.is_finished() {
        sleep(Duration::from_secs(1)).await;
        let killed = kills % 2;
        apis[killed].kill().await.unwrap();
        apis[killed] = started(&info, folder, &format!("api{kills}"), "api").await;
        urls.send_replace(apis.each_ref().map(|api| api.base_url.clone()));
        kills += 1;
    }
    writing.await.unwrap();
    let received = timeout(Duration::from_secs(30), reading).await.expect("all events come").unwrap();
    assert!(kills >= 4, "{kills}");
    for (number, event) in (1..=EVENTS).zip(&received.0) {
        assert_eq!(event.data["data"]["reason"], number.to_string(), "in their order");
    }
    for server in apis.into_iter().chain([indexer]) {
        assert!(server.stop().await.unwrap().success());
    }
    up.stop().await.unwrap();
}

/// A client that takes little at a time, and nothing for a while.
async fn read_after_a_pause(address: &str, token: &str, pause: Duration) -> Vec<SentEvent> {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(8 * 1024).unwrap();
    let mut stream = socket.connect(address.parse().unwrap()).await.unwrap();
    let head = format!("GET {STREAM}?after=0 HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {token}\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    sleep(pause).await;
    let mut read = Vec::new();
    // It ends without an end, or is reset: the service has closed it.
    let _ = timeout(Duration::from_secs(20), stream.read_to_end(&mut read)).await.expect("it was cut");
    SentEvent::all_of(&String::from_utf8_lossy(&read))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_reader_is_cut_and_goes_on_and_sigterm_ends_a_thousand_streams_at_once() {
    const STREAMS_PER_WALLET: usize = 32;
    const WALLETS: usize = 32;
    const LONG: u64 = 2_000;
    let (folder, mut up) = without_services().await.unwrap();
    let (info, folder) = (up.info().clone(), folder.path());
    let indexer = started(&info, folder, "indexer", "indexer").await;
    let api = started(&info, folder, "api", "api").await;
    let pool = crtx_store::testing::connect(&info.database_url, 2).await.unwrap();
    let url = format!("{}{STREAM}", api.base_url);

    // Longer than what lies in the sockets of both sides.
    let slow = Pubkey::new_from_array(rand::random());
    let token = session_of(&pool, slow).await;
    let text = "x".repeat(8 * 1024);
    for _ in 0..LONG {
        happen(&pool, &slow, &text).await;
    }
    let http = client_at(Ipv4Addr::LOCALHOST);
    let mut whole = OpenStream::open(&http, url.clone(), &token, 0).await.unwrap();
    let mut all = Received::default();
    while all.last() < LONG {
        all.add(timeout(Duration::from_secs(10), whole.next()).await.expect("numbered").expect("an event"));
    }
    drop(whole);
    let address = api.base_url.strip_prefix("http://").unwrap();
    let mut received = Received::default();
    for event in read_after_a_pause(address, &token, Duration::from_secs(20)).await {
        received.add(event);
    }
    assert!((1..LONG).contains(&received.last()), "{}", received.last());
    let mut rest = OpenStream::open(&http, url.clone(), &token, received.last()).await.unwrap();
    while received.last() < LONG {
        received.add(rest.next().await.expect("an event"));
    }
    drop(rest);

    let mut opening = Vec::new();
    for number in 0..WALLETS {
        let token = session_of(&pool, Pubkey::new_from_array(rand::random())).await;
        let http = client_at(Ipv4Addr::new(127, 0, 0, 2 + u8::try_from(number).unwrap()));
        for _ in 0..STREAMS_PER_WALLET {
            let (http, url, token) = (http.clone(), url.clone(), token.clone());
            opening.push(async move { OpenStream::open(&http, url, &token, 0).await });
        }
    }
    let mut streams = try_join_all(opening).await.unwrap();
    assert_eq!(streams.len(), 1_024);
    let more = OpenStream::open(&http, url, &token, 0).await.err().expect("refused");
    assert_eq!(more.status().unwrap(), 503, "no process has more");
    let other = Server::get(&api, "/v1/network").await.expect("requests are answered beside them");
    assert_eq!(other.0, 200);
    let stopped = Instant::now();
    let ended = tokio::spawn(async move {
        for stream in &mut streams {
            while stream.next().await.is_some() {}
        }
        stopped.elapsed()
    });
    assert!(api.stop().await.unwrap().success());
    let took = stopped.elapsed();
    eprintln!("a stop with 1 024 open streams took {took:?}");
    // The drain of requests alone may take 5 s, and a busy machine more.
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert!(ended.await.unwrap() < Duration::from_secs(10));
    assert!(indexer.stop().await.unwrap().success());
    up.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stream_of_a_call_shows_it_from_its_opening_to_its_result_to_its_wallet_alone() {
    let folder = crtx_e2e::folder();
    let mut up = Up::start(folder.path(), &[]).await.unwrap();
    let market = Market::new(up.info().clone());
    let (http, key) = (client_at(Ipv4Addr::LOCALHOST), &market.info.api_key);
    let of = |id: &str| format!("{}/v1/executions/{id}/events", market.info.base_url);
    let (one, other) = (market.paid().await, market.paid().await);
    for id in [&one, &other] {
        let mut stream = OpenStream::open(&http, of(id), key, 0).await.unwrap();
        let mut last = 0;
        for expected in ["execution.opened", "execution.running", "execution.completed"] {
            let event = timeout(Duration::from_secs(10), stream.next()).await.expect("in time").expect("an event");
            assert_eq!((event.event_type.as_str(), &event.data["execution_id"]), (expected, &serde_json::json!(id)));
            assert!(event.sequence > last, "{event:?}");
            last = event.sequence;
        }
        let more = timeout(Duration::from_secs(1), stream.next()).await;
        assert!(more.is_err(), "it goes on, and there is nothing more: {more:?}");
    }
    let pool = crtx_store::testing::connect(&market.info.database_url, 2).await.unwrap();
    let stranger = session_of(&pool, Pubkey::new_from_array(rand::random())).await;
    let refused = OpenStream::open(&http, of(&one), &stranger, 0).await.err().expect("refused");
    assert_eq!(refused.status().unwrap(), 404);
    // The creator has the payout of the call.
    let creator = session_of(&pool, market.creator().await.parse().unwrap()).await;
    let mut stream = OpenStream::open(&http, of(&one), &creator, 0).await.unwrap();
    let payout = timeout(Duration::from_secs(10), stream.next()).await.expect("in time").expect("an event");
    assert_eq!(payout.event_type, "payout");
    up.stop().await.unwrap();
}
