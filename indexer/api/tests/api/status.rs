//! What `GET /v1/status` says when something is wrong, and when reads are refused.

use std::{collections::BTreeMap, time::Duration};

use crate::common::Market;
use axum::{body::Body, http::Request};
use crtx_api::ApiState;
use crtx_protocol::mirror_digest::data_hash;
use crtx_store::{
    PgPool,
    indexer_status::{self, Beat, Problem},
    mirror::{self, Batch, DigestMove, FinalHashes},
    testing::{TestDatabase, fixtures::wallet, tampering::tamper},
};
use serde_json::{Value, json};
use tower::ServiceExt;
use uuid::Uuid;

fn beat(problems: Vec<Problem>) -> Beat {
    Beat {
        id: Uuid::from_u128(1),
        leads: true,
        source: "node.example".to_owned(),
        streaming: true,
        chain_slot: Some(110),
        finalized_slot: Some(78),
        replay_slots: Some(150),
        last_event_at: Some(chrono::Utc::now()),
        last_change_at: None,
        problems,
    }
}

/// A mirror with a snapshot, and an indexer that reports these problems.
async fn mirror(pool: &PgPool, problems: Vec<Problem>) {
    crtx_store::testing::resync(pool, &Batch::default(), 100, Some("one")).await.expect("a snapshot");
    indexer_status::beat(pool, &beat(problems)).await.expect("a beat");
}

async fn limited(max_lag: u64) -> Market {
    Market::open_with(|state| state.max_lag = Some(Duration::from_secs(max_lag))).await
}

/// Makes every sign of life so much older.
async fn age(pool: &PgPool, seconds: u32) {
    for statement in [
        "UPDATE mirror_checkpoint SET updated_at = updated_at - interval '1 s' * $n, snapshot_at = snapshot_at - interval '1 s' * $n",
        "UPDATE indexer_processes SET last_event_at = last_event_at - interval '1 s' * $n",
    ] {
        tamper(pool, &statement.replace("$n", &seconds.to_string())).await;
    }
}

fn codes(status: &Value) -> Vec<&str> {
    status["problems"].as_array().expect("a list").iter().map(|p| p["code"].as_str().expect("a code")).collect()
}

#[tokio::test]
async fn a_healthy_mirror_is_live_and_names_its_processes_without_problems() {
    let market = Market::open().await;
    mirror(market.database.pool(), Vec::new()).await;
    let status = market.get("/v1/status").await.body;
    assert_eq!((&status["status"], &status["problems"]), (&json!("live"), &json!([])), "{status:#}");
    assert_eq!((&status["finalized_slot"], &status["digest"]), (&json!(78), &Value::Null));
    let process = &status["processes"][0];
    assert_eq!((&process["leads"], &process["source"]), (&json!(true), &json!("node.example")));
    assert_eq!(process["replay_slots"], 150);
}

#[tokio::test]
async fn what_a_process_reports_is_said_in_its_words_and_the_mirror_is_not_live() {
    let market = Market::open().await;
    let silent = Problem {
        code: "silent_stream".to_owned(),
        message: "the node at node.example has sent nothing for 12 seconds".to_owned(),
    };
    mirror(market.database.pool(), vec![silent]).await;
    let status = market.get("/v1/status").await.body;
    assert_eq!(status["status"], "degraded");
    assert_eq!(status["problems"][0]["message"], "the node at node.example has sent nothing for 12 seconds");
}

#[tokio::test]
async fn what_the_audit_found_and_what_cannot_be_read_is_said() {
    let market = Market::open().await;
    mirror(market.database.pool(), Vec::new()).await;
    let report = json!({"ok": false, "checks": {"rows": {"faults": 7}}, "faults": [
        {"check": "rows", "place": "ADDRESS", "message": "the chain has no such account"}]});
    indexer_status::store_audit(market.database.pool(), &report).await.expect("stored");
    tamper(
        market.database.pool(),
        "INSERT INTO mirror_quarantine (address, slot, data, error) VALUES ('BROKEN', 1, '', 'too short')",
    )
    .await;
    let status = market.get("/v1/status").await.body;
    assert_eq!(status["status"], "degraded");
    assert_eq!(codes(&status), ["unreadable_accounts", "audit", "audit_rows"]);
    assert!(status["problems"][0]["message"].as_str().expect("text").contains("BROKEN: too short"));
    assert!(status["problems"][1]["message"].as_str().expect("text").ends_with("found 7 faults"));
    assert_eq!(status["problems"][2]["message"], "ADDRESS: the chain has no such account");
}

#[tokio::test]
async fn without_an_indexer_the_status_says_so() {
    let market = Market::open().await;
    let status = market.get("/v1/status").await.body;
    assert_eq!((&status["status"], codes(&status)), (&json!("starting"), vec!["no_indexer"]));
    mirror(market.database.pool(), Vec::new()).await;
    let silent = "UPDATE indexer_processes SET at = at - interval '99 s', led_at = led_at - interval '99 s'";
    tamper(market.database.pool(), silent).await;
    // The answer before is reused for two seconds.
    tokio::time::sleep(Duration::from_millis(2_100)).await;
    let status = market.get("/v1/status").await.body;
    assert_eq!((&status["status"], codes(&status)), (&json!("stale"), vec!["no_indexer"]));
    let message = status["problems"][0]["message"].as_str().expect("text");
    assert!(message.starts_with("no indexer has reported for 10"), "{message}");
}

#[tokio::test]
async fn reads_of_an_old_mirror_are_stale_and_what_must_go_on_is_not() {
    let market = limited(60).await;
    mirror(market.database.pool(), Vec::new()).await;
    age(market.database.pool(), 300).await;
    for path in ["/v1/agents", "/v1/agents/11111111111111111111111111111111", "/v1/disputes?limit=1"] {
        let answer = market.get(path).await;
        answer.assert_error(503, "stale");
        assert_eq!(answer.headers["retry-after"], "5");
        assert!(answer.message().contains("as it was 5 minutes ago"), "{}", answer.message());
        assert!(answer.message().contains("at most 60 seconds"), "{}", answer.message());
    }
    let status = market.get("/v1/status").await;
    assert_eq!((status.status, &status.body["status"]), (200, &json!("stale")), "{:#}", status.body);
    assert!(codes(&status.body).contains(&"stale"));
    assert_eq!(market.get("/v1/digest/5").await.status, 404);
    assert_ne!(market.get("/v1/network").await.code(), "stale");
}

/// A database whose clock is so many seconds ahead of this machine's: its functions tell another time.
async fn set_clock(database: &TestDatabase, seconds: i64) {
    let name = database.url().rsplit('/').next().expect("a name").split('?').next().expect("a name").to_owned();
    for statement in [
        "CREATE SCHEMA skewed".to_owned(),
        format!(
            "CREATE FUNCTION skewed.now() RETURNS timestamptz STABLE LANGUAGE sql
             AS $$ SELECT pg_catalog.now() + interval '{seconds} s' $$"
        ),
        format!(
            "CREATE FUNCTION skewed.clock_timestamp() RETURNS timestamptz VOLATILE LANGUAGE sql
             AS $$ SELECT pg_catalog.clock_timestamp() + interval '{seconds} s' $$"
        ),
        // Defaults were bound to the functions of the system.
        "ALTER TABLE mirror_checkpoint ALTER updated_at SET DEFAULT skewed.now()".to_owned(),
        "ALTER TABLE indexer_processes ALTER at SET DEFAULT skewed.now()".to_owned(),
        format!("ALTER DATABASE \"{name}\" SET search_path = skewed, public, pg_catalog"),
    ] {
        tamper(database.pool(), &statement).await;
    }
}

#[tokio::test]
async fn clocks_that_differ_are_a_problem_of_their_own_and_make_no_mirror_stale() {
    for (seconds, says) in [(120, "behind that of the database"), (-120, "ahead of that of the database")] {
        let market = limited(60).await;
        set_clock(&market.database, seconds).await;
        let pool = PgPool::connect(&market.database.url()).await.expect("a connection");
        mirror(&pool, Vec::new()).await;
        let ahead = indexer_status::beat(&pool, &beat(Vec::new())).await.expect("a beat");
        assert!((ahead.num_seconds() + seconds).abs() < 5, "{ahead} with {seconds}");
        let mut state = ApiState::new(pool.clone(), crate::common::deployment(market.node.url()));
        state.max_lag = Some(Duration::from_secs(60));
        let ask = async |path: &str| {
            let router = crtx_http::finish(crtx_api::router(state.clone()));
            let answer = router.oneshot(Request::get(path).body(Body::empty()).expect("a request")).await.expect("one");
            let status = answer.status().as_u16();
            let body = axum::body::to_bytes(answer.into_body(), 1_000_000).await.expect("a body");
            (status, serde_json::from_slice::<Value>(&body).expect("JSON"))
        };
        state.agent_list().refresh().await.expect("read");
        let (_, status) = ask("/v1/status").await;
        assert_eq!((&status["status"], codes(&status)), (&json!("degraded"), vec!["clock_skew"]), "{status:#}");
        assert!(status["problems"][0]["message"].as_str().expect("text").contains(says), "{status:#}");
        assert!(status["lag_seconds"].as_u64().expect("a number") < 10, "{status:#}");
        assert_eq!(ask("/v1/agents").await.0, 200);
        // An old mirror is old by the same clock.
        age(&pool, 300).await;
        tamper(&pool, "UPDATE indexer_processes SET last_event_at = last_event_at - interval '300 s'").await;
        tokio::time::sleep(Duration::from_millis(2_100)).await;
        let (_, status) = ask("/v1/status").await;
        assert_eq!(status["status"], "stale", "{status:#}");
    }
}

#[tokio::test]
async fn a_quiet_chain_is_not_stale() {
    let market = limited(60).await;
    mirror(market.database.pool(), Vec::new()).await;
    tamper(
        market.database.pool(),
        "UPDATE mirror_checkpoint SET updated_at = now() - interval '1 day', snapshot_at = now() - interval '1 day'",
    )
    .await;
    assert_eq!(market.get("/v1/agents").await.status, 200);
}

#[tokio::test]
async fn a_mirror_without_a_snapshot_is_stale_and_without_a_limit_reads_always_answer() {
    limited(60).await.get("/v1/agents").await.assert_error(503, "stale");
    assert_eq!(Market::open().await.get("/v1/agents").await.status, 200);
}

#[tokio::test]
async fn the_digest_of_a_finalized_slot_is_told() {
    let market = Market::open().await;
    let pool = market.database.pool();
    let process = Uuid::from_u128(1);
    mirror::begin_digest(pool, process).await.expect("taken");
    market.get("/v1/digest/39").await.assert_error(404, "not_found");
    let steps = BTreeMap::from([(50, FinalHashes::from([(wallet(1), Some(data_hash(b"one")))]))]);
    for moved in [
        DigestMove { from: None, to: 40, steps: BTreeMap::new(), exact: false },
        DigestMove { from: Some(40), to: 60, steps, exact: true },
    ] {
        mirror::advance_digest(pool, process, &moved).await.expect("moved");
    }
    let mut expected = crtx_protocol::mirror_digest::MirrorDigest::identity();
    expected.add(&wallet(1), &data_hash(b"one"));
    let checksum: String = expected.checksum().iter().map(|byte| format!("{byte:02x}")).collect();
    for slot in [50, 55, 60] {
        let answer = market.get(&format!("/v1/digest/{slot}")).await.body;
        assert_eq!(answer, json!({"slot": slot, "accounts": 1, "checksum": checksum}));
    }
    assert_eq!(market.get("/v1/digest/45").await.body["accounts"], 0);
    for slot in [39, 61] {
        market.get(&format!("/v1/digest/{slot}")).await.assert_error(404, "not_found");
    }
    for slot in ["x", "-1", "99999999999999999999"] {
        market.get(&format!("/v1/digest/{slot}")).await.assert_error(400, "invalid_request");
    }
    assert_eq!(market.get("/v1/status").await.body["digest"], json!({"slot": 60, "accounts": 1, "checksum": checksum}));
}

#[tokio::test]
async fn an_endpoint_that_is_not_used_is_told_apart_from_the_state_of_the_mirror() {
    let market = Market::open().await;
    let unusable = Problem {
        code: "endpoint_unusable".to_owned(),
        message: "the node at other.example belongs to the chain two, and the mirror follows one".to_owned(),
    };
    mirror(market.database.pool(), vec![unusable.clone()]).await;
    let status = market.get("/v1/status").await.body;
    assert_eq!((&status["status"], &status["problems"]), (&json!("live"), &json!([])), "{status:#}");
    assert_eq!(status["unusable_endpoints"], json!([{"code": unusable.code, "message": unusable.message}]));
}

#[tokio::test]
async fn what_the_audit_corrected_is_said() {
    let market = Market::open().await;
    mirror(market.database.pool(), Vec::new()).await;
    let report = json!({"ok": false, "corrected": 1, "checks": {"accounts": {"faults": 1}}, "faults": [
        {"check": "accounts", "place": "ADDRESS", "message": "its row differs from the account in: price"}]});
    indexer_status::store_audit(market.database.pool(), &report).await.expect("stored");
    let status = market.get("/v1/status").await.body;
    assert_eq!(codes(&status), ["audit", "audit_accounts", "audit_corrected"]);
    assert!(status["problems"][2]["message"].as_str().expect("text").contains("wrote 1 of them again"));
}
