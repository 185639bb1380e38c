//! A slow database keeps nobody waiting who does not need it. Here everything that reads creators takes as long as the
//! test wants: the table is a view that sleeps.

use std::{sync::Arc, time::Duration};

use crate::common::Market;
use axum::{Router, body::Body, http::Request};
use crtx_api::ApiState;
use crtx_store::{
    Pools,
    pools::PoolSizes,
    testing::fixtures::{listing, show, wallet},
};
use tokio::task::JoinSet;
use tower::ServiceExt;

const LONG: Duration = Duration::from_secs(20);

async fn answer(router: &Router, path: &str, key: Option<&str>) -> (u16, serde_json::Value) {
    let mut request = Request::get(path);
    if let Some(key) = key {
        request = request.header("authorization", format!("Bearer {key}"));
    }
    let response = router.clone().oneshot(request.body(Body::empty()).expect("request")).await.expect("infallible");
    let status = response.status().as_u16();
    let body = axum::body::to_bytes(response.into_body(), 1_000_000).await.expect("body");
    (status, serde_json::from_slice(&body).expect("json"))
}

/// Reads of the agents' creators wait in the database; the list of agents is there, and so are other reads.
#[tokio::test(flavor = "multi_thread")]
async fn the_list_of_agents_and_other_reads_do_not_wait_for_slow_ones() {
    let market = Market::open().await;
    let database = market.database.pool();
    for (number, name) in (0_u8..).zip(["alpha", "beta", "gamma"]) {
        show(database, listing(wallet(number), 0), name, &["data"]).await;
    }
    let key = market.key_of(wallet(50)).await;
    let sizes = PoolSizes { money: 1, points: 4, lists: 4, indexer: 1 };
    let pools = Pools::connect(&market.database.url(), None, sizes).await.expect("connected");
    let state = ApiState::new(pools.reads.clone(), crate::common::deployment(market.node.url()));
    let router = Arc::new(crtx_http::finish(crtx_api::router(state.clone())));
    assert_eq!(answer(&router, "/v1/agents", None).await.1["total"], 3);

    market.database.slow_creators(1.0).await;
    let mut slow = JoinSet::new();
    for number in 0_u8..16 {
        let router = Arc::clone(&router);
        slow.spawn(async move { answer(&router, &format!("/v1/wallets/{}", wallet(number)), None).await.0 });
    }
    let looking = async {
        while market.database.sleeping().await == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(LONG, looking).await.expect("the database is slow");
    for _ in 0..20 {
        let (status, list) = answer(&router, "/v1/agents?verified_only=false&q=beta", None).await;
        assert_eq!((status, &list["total"]), (200, &serde_json::json!(1)));
        assert_eq!(answer(&router, "/v1/executions", Some(&key.reveal())).await.0, 200);
    }
    assert!(market.database.sleeping().await > 0, "the slow reads are still under way");
    while let Some(status) = slow.join_next().await {
        assert!(matches!(status.expect("no panic"), 200 | 503));
    }
    pools.close().await;
}
