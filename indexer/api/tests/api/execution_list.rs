//! `GET /v1/executions` page by page, and as the creator of the agents sees it.

use crate::common::Market;
use chrono::TimeDelta;
use crtx_protocol::api_key::{ApiKey, KeyNetwork};
use crtx_store::{
    api_keys,
    sessions::{self, SessionKind},
    testing::fixtures::{GatewayRow, addresses, completed, listing, put, record, show, wallet},
};
use futures::future::join_all;
use serde_json::Value;
use solana_pubkey::Pubkey;
use uuid::Uuid;

#[tokio::test]
async fn pages_by_cursor_show_every_execution_once_and_end() {
    let market = Market::open().await;
    let pool = market.database.pool();
    let agent = show(pool, listing(wallet(1), 0), "alpha", &["data"]).await;
    for number in 0..7 {
        GatewayRow::new(wallet(2), agent, Uuid::from_u128(number), "running").insert(pool).await;
    }
    let key = market.key_of(wallet(2)).await;
    let all = market.get_as(&key, "/v1/executions?limit=100").await;
    assert_eq!((&all.body["total"], &all.body["next_cursor"]), (&7.into(), &Value::Null));
    let (mut seen, mut path) = (Vec::new(), "/v1/executions?limit=3".to_owned());
    let mut cursors = Vec::new();
    loop {
        let page = market.get_as(&key, &path).await;
        assert_eq!(
            (page.status, &page.body["total"], &page.body["offset"]),
            (200, &7.into(), &0.into()),
            "{}",
            page.body
        );
        seen.extend(page.each("executions", "execution_id").into_iter().map(str::to_owned));
        let Some(cursor) = page.body["next_cursor"].as_str() else { break };
        cursors.push(cursor.to_owned());
        path = format!("/v1/executions?limit=3&cursor={cursor}");
    }
    assert_eq!(seen, all.each("executions", "execution_id"));
    assert_eq!(cursors.len(), 2);

    // A cursor belongs to one wallet and one filter.
    let cursor = &cursors[0];
    let others = market.key_of(wallet(3)).await;
    market.get_as(&others, &format!("/v1/executions?cursor={cursor}")).await.assert_error(400, "invalid_request");
    for filter in ["status=running", "role=creator", "to=2030-01-01"] {
        let answer = market.get_as(&key, &format!("/v1/executions?{filter}&cursor={cursor}")).await;
        answer.assert_error(400, "invalid_request");
        assert!(answer.message().contains("`cursor`"), "{}", answer.message());
    }
    // Any number of rows can be skipped, more than there are among them.
    for offset in [10_001, i64::MAX.unsigned_abs()] {
        let beyond = market.get_as(&key, &format!("/v1/executions?offset={offset}")).await;
        assert_eq!(
            (beyond.status, &beyond.body["executions"], &beyond.body["total"], &beyond.body["offset"]),
            (200, &serde_json::json!([]), &all.body["total"], &serde_json::json!(offset)),
        );
    }
}

#[tokio::test]
async fn a_creator_sees_what_the_chain_shows_of_its_agents_executions_and_no_more() {
    let market = Market::open().await;
    let pool = market.database.pool();
    let (creator, caller) = (wallet(1), wallet(2));
    let agent = show(pool, listing(creator, 0), "alpha", &["data"]).await;
    let foreign = show(pool, listing(wallet(3), 0), "beta", &["data"]).await;
    for (number, agent) in [(1, agent), (2, agent), (3, foreign)] {
        let id = Uuid::from_u128(number);
        put(pool, &addresses().execution(&caller, id.as_bytes()), 5, &completed(record(caller, agent, id), "x")).await;
    }
    GatewayRow::new(caller, agent, Uuid::from_u128(4), "reserved").insert(pool).await;
    let key = market.key_of(creator).await;
    let list = market.get_as(&key, "/v1/executions?role=creator").await;
    let ids = [Uuid::from_u128(2).to_string(), Uuid::from_u128(1).to_string()];
    assert_eq!((list.each("executions", "execution_id"), &list.body["total"]), (vec![&*ids[0], &*ids[1]], &2.into()));
    assert_eq!(market.get_as(&key, "/v1/executions").await.body["total"], 0, "it paid for none");
    for (filter, total) in [
        (format!("agent_id={agent}"), 2),
        (format!("agent_id={foreign}"), 0),
        ("status=completed".to_owned(), 2),
        ("status=failed".to_owned(), 0),
        (format!("agent_id={agent}&status=completed&from=2020-01-01&to=2030-01-01"), 2),
        ("to=2020-01-01".to_owned(), 0),
    ] {
        let list = market.get_as(&key, &format!("/v1/executions?role=creator&{filter}")).await;
        assert_eq!(list.body["total"], total, "{filter}");
    }
    assert!(list.body["executions"].as_array().unwrap().iter().all(|item| item["session_public_key"].is_null()));
    // The execution itself stays the caller's.
    market.get_as(&key, &format!("/v1/executions/{}", ids[0])).await.assert_error(404, "execution_not_found");
    let callers = market.key_of(caller).await;
    assert_eq!(market.get_as(&callers, "/v1/executions?role=caller").await.body["total"], 4);
    assert_eq!(market.get_as(&callers, "/v1/executions?role=creator").await.body["total"], 0);
}

/// Reads with one credential, many at once: they share statements.
async fn read_at_once(market: &Market, key: &ApiKey, ids: &[Uuid]) -> Vec<u16> {
    let reads = ids.iter().flat_map(|id| {
        [
            format!("/v1/executions/{id}"),
            "/v1/executions?limit=1".to_owned(),
            "/v1/executions?status=running".to_owned(),
        ]
    });
    let answers = join_all(reads.map(|path| async move { market.get_as(key, &path).await.status })).await;
    answers.into_iter().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_at_the_same_time_get_each_their_own_answer() {
    let market = Market::open().await;
    let pool = market.database.pool();
    let agent = show(pool, listing(wallet(1), 0), "alpha", &["data"]).await;
    let mut keys = Vec::new();
    for caller in 2..8_u8 {
        for number in 0..u128::from(caller) {
            let id = Uuid::from_u128(u128::from(caller) * 100 + number);
            GatewayRow::new(wallet(caller), agent, id, "running").insert(pool).await;
        }
        keys.push((caller, market.key_of(wallet(caller)).await));
    }
    let unknown = ApiKey::from_secret(KeyNetwork::Test, [77; 32]);
    // The first round authenticates, the second finds the wallets in the statements of the reads.
    for _ in 0..2 {
        let asked = keys.iter().flat_map(|(caller, key)| (0..9_u128).map(move |number| (*caller, key, number)));
        join_all(asked.map(|(caller, key, number)| {
            let (market, unknown) = (&market, &unknown);
            async move {
                let list = market.get_as(key, &format!("/v1/executions?limit=2&offset={number}")).await;
                let left = u128::from(caller).saturating_sub(number);
                assert_eq!(list.body["total"], caller, "{}", list.body);
                assert_eq!(list.each("executions", "execution_id").len() as u128, left.min(2));
                let id = Uuid::from_u128(u128::from(caller) * 100 + number);
                let read = market.get_as(key, &format!("/v1/executions/{id}")).await;
                if left > 0 {
                    assert_eq!(read.body["execution_id"], id.to_string());
                } else {
                    read.assert_error(404, "execution_not_found");
                }
                // Of the next caller.
                let foreign = Uuid::from_u128(u128::from(caller + 1) * 100);
                let path = format!("/v1/executions/{foreign}");
                market.get_as(key, &path).await.assert_error(404, "execution_not_found");
                market.get_as(unknown, &path).await.assert_error(401, "unauthorized");
            }
        }))
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_that_ends_is_refused_by_the_next_request_however_often_it_was_used() {
    let market = Market::open().await;
    let pool = market.database.pool();
    let agent = show(pool, listing(wallet(1), 0), "alpha", &["data"]).await;
    let ids: Vec<Uuid> = (0..20).map(Uuid::from_u128).collect();
    for id in &ids {
        GatewayRow::new(wallet(2), agent, *id, "running").insert(pool).await;
    }
    let key = market.key_of(wallet(2)).await;
    for _ in 0..3 {
        assert_eq!(read_at_once(&market, &key, &ids).await, vec![200; 60]);
    }
    let session_key: Pubkey = key.session_public_key().into();
    assert!(api_keys::revoke(pool, &wallet(2), &session_key).await.expect("revoked"));
    assert_eq!(read_at_once(&market, &key, &ids).await, vec![401; 60]);
    // What is wrong with the request itself is told to nobody else.
    for path in ["/v1/executions?limit=x", "/v1/executions?cursor=x", "/v1/executions/x", "/v1/executions/x?y=1"] {
        market.get_as(&key, path).await.assert_error(401, "unauthorized");
    }

    for kind in [SessionKind::Bearer, SessionKind::Cookie] {
        let token = market.session_of(wallet(2), kind, TimeDelta::hours(1)).await;
        for _ in 0..2 {
            let list = market.get_in(&token, "/v1/executions").await;
            let status = if kind == SessionKind::Bearer { 200 } else { 401 };
            assert_eq!(list.status, status, "a cookie's token is no bearer token");
        }
    }
    let token = market.session_of(wallet(2), SessionKind::Bearer, TimeDelta::hours(1)).await;
    for _ in 0..2 {
        assert_eq!(market.get_in(&token, "/v1/executions").await.body["total"], 20);
    }
    let session = crtx_store::testing::single::session(pool, &token.hash()).await.expect("read").expect("there");
    assert!(sessions::end(pool, &wallet(2), &session.session_id).await.expect("ended"));
    market.get_in(&token, "/v1/executions").await.assert_error(401, "unauthorized");
    market.get_in(&token, &format!("/v1/executions/{}", ids[0])).await.assert_error(401, "unauthorized");
}
