//! Expensive reads must not keep anybody else's waiting. Here every list of agents takes as long as the test
//! wants: the table of creators, which they all join, is a view that sleeps.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "tests"
)]

mod common;

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{Router, body::Body, http::Request};
use common::Market;
use crtx_http::Peer;
use crtx_indexer::api::{self, IndexerApiState};
use crtx_store::{
    Pools, mirror,
    pools::PoolSizes,
    testing::fixtures::{listing, show, wallet},
};
use tokio::task::JoinHandle;
use tower::ServiceExt;

const GREEDY: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const MODEST: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2));
const LONG: Duration = Duration::from_secs(20);

struct Slow {
    market: Market,
    pools: Pools,
    router: Router,
}

#[derive(Debug)]
struct Answer {
    status: u16,
    retry_after: bool,
    total: Option<u64>,
}

impl Slow {
    async fn open(seconds: f64) -> Self {
        let market = Market::open().await;
        let database = market.database.pool();
        for (number, name) in ["alpha", "beta", "gamma"].into_iter().enumerate() {
            let number = u8::try_from(number).expect("small");
            show(database, listing(wallet(number), 0), name, &["data"]).await;
        }
        mirror::apply_changes(database, &mirror::Batch::default(), 4_711).await.expect("applied");
        market.database.slow_creators(seconds).await;
        let sizes = PoolSizes { money: 1, points: 4, lists: 4, indexer: 1 };
        let pools = Pools::connect(&market.database.url(), sizes).await.expect("connected");
        let state = IndexerApiState::new(pools.reads.clone(), common::deployment(market.node.url()));
        Self { router: crtx_http::finish(api::router(state)), pools, market }
    }

    fn ask(&self, peer: IpAddr, path: &str, key: Option<&str>) -> JoinHandle<Answer> {
        let mut request = Request::get(path).extension(Peer(peer));
        if let Some(key) = key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        let (router, request) = (self.router.clone(), request.body(Body::empty()).expect("request"));
        tokio::spawn(async move {
            let response = router.oneshot(request).await.expect("infallible");
            let (status, headers) = (response.status().as_u16(), response.headers().clone());
            let body = axum::body::to_bytes(response.into_body(), 1_000_000).await.expect("body");
            let body: serde_json::Value = serde_json::from_slice(&body).expect("json");
            assert!(headers.contains_key("x-indexed-slot"), "{status} {body}");
            Answer { status, retry_after: headers.contains_key("retry-after"), total: body["total"].as_u64() }
        })
    }

    async fn status_of(&self, peer: IpAddr, path: &str, key: Option<&str>) -> u16 {
        self.ask(peer, path, key).await.expect("no panic").status
    }

    /// Queries of the read API that sleep in the database now.
    async fn sleeping(&self) -> i64 {
        self.market.database.sleeping().await
    }

    async fn until_sleeping(&self, wanted: impl Fn(i64) -> bool) {
        let started = Instant::now();
        while !wanted(self.sleeping().await) {
            assert!(started.elapsed() < LONG, "{} queries sleep", self.sleeping().await);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn expensive_lists_of_one_client_keep_nobody_else_waiting() {
    let slow = Arc::new(Slow::open(0.7).await);
    let key = slow.market.key_of(wallet(50)).await;
    let key = key.reveal();
    let greedy: Vec<_> = (0..64)
        .map(|number| slow.ask(GREEDY, &format!("/v1/agents?min_executions=0&limit={}", number + 1), None))
        .collect();
    slow.until_sleeping(|sleeping| sleeping > 0).await;
    let modest = slow.ask(MODEST, "/v1/agents", None);
    for _ in 0..20 {
        assert_eq!(slow.status_of(MODEST, "/v1/executions", Some(&key)).await, 200);
        assert_eq!(
            slow.status_of(MODEST, "/v1/executions/6f1c9f7e-8d0c-4a63-9a53-5f0f0a4f3f01", Some(&key)).await,
            404
        );
    }
    assert!(slow.sleeping().await > 0, "the expensive lists are still under way");
    assert_eq!(modest.await.expect("no panic").status, 200, "another client's list has a place");
    let started = Instant::now();
    let mut served = 0;
    for answer in greedy {
        let answer = answer.await.expect("no panic");
        assert!(answer.status == 200 || (answer.status == 503 && answer.retry_after), "{answer:?}");
        served += usize::from(answer.status == 200);
    }
    assert!(served > 0, "the greedy client is served as well");
    assert!(started.elapsed() < LONG);
    slow.pools.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_list_is_read_once_for_all_who_ask_at_the_same_time() {
    let slow = Slow::open(0.7).await;
    let all: Vec<_> = (0..64).map(|_| slow.ask(GREEDY, "/v1/agents", None)).collect();
    let mut most = 0;
    while !all.iter().all(JoinHandle::is_finished) {
        most = most.max(slow.sleeping().await);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    for answer in all {
        let answer = answer.await.expect("no panic");
        assert_eq!((answer.status, answer.total), (200, Some(3)));
    }
    // An abandoned query may still be there for a moment when the next one begins.
    assert!((1..=2).contains(&most), "{most} queries at a time");
    slow.pools.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_ends_with_its_client() {
    let slow = Slow::open(4.0).await;
    let asking = slow.ask(GREEDY, "/v1/agents", None);
    slow.until_sleeping(|sleeping| sleeping > 0).await;
    // By now it is in the lane of expensive lists.
    tokio::time::sleep(Duration::from_millis(600)).await;
    asking.abort();
    let started = Instant::now();
    slow.until_sleeping(|sleeping| sleeping == 0).await;
    assert!(started.elapsed() < Duration::from_secs(2), "the query did not run to its end");
    slow.pools.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn expensive_lists_of_one_client_rest_most_of_the_time() {
    let slow = Arc::new(Slow::open(0.2).await);
    let greedy: Vec<_> = (0..8)
        .map(|client| {
            let slow = Arc::clone(&slow);
            tokio::spawn(async move {
                for number in 0.. {
                    let path = format!("/v1/agents?min_executions=0&limit={}", (client * 12 + number % 12) + 1);
                    slow.ask(GREEDY, &path, None).await.expect("no panic");
                }
            })
        })
        .collect();
    // Until the shape is known as expensive and what a client may take at once is used.
    tokio::time::sleep(Duration::from_secs(4)).await;
    let (looks, mut busy) = (200, 0);
    for _ in 0..looks {
        busy += u32::from(slow.sleeping().await > 0);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    greedy.iter().for_each(JoinHandle::abort);
    assert!(busy > 0, "the lists are served");
    assert!(busy < looks / 2, "the database was busy with one client at {busy} of {looks} looks");
    slow.pools.close().await;
}
