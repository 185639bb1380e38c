//! Random input at every endpoint of a running marketplace: each answer is a specified one, and the
//! services are as well afterwards as before.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "tests"
)]

use std::{
    collections::{BTreeMap, BTreeSet},
    net::Ipv4Addr,
};

use crtx_e2e::{
    Up,
    endpoints::{Endpoint, endpoints},
    market::Market,
    session::{Headers, bearer},
};
use crtx_protocol::{content::cid_of, result_hash::ResultHash};
use crtx_store::{PgPool, sessions::SessionKind, testing::probes::open_session};
use futures::stream::{self, StreamExt as _};
use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};
use reqwest::Method;
use serde_json::json;
use solana_pubkey::Pubkey;

/// Inputs per endpoint. `PROPTEST_CASES` sets another number.
const CASES: usize = 100;
/// Rounds at the same time: each of them waits for streams of events to fall silent.
const AT_ONCE: usize = 4;

/// JSON values of every kind, among them such as no parser likes.
fn values() -> impl Strategy<Value = String> {
    let scalar = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|b| b.to_string()),
        any::<f64>().prop_map(|n| n.to_string()),
        any::<i64>().prop_map(|n| n.to_string()),
        Just("1e999".to_owned()),
        Just("-0".to_owned()),
        Just("18446744073709551616".to_owned()),
        Just("9".repeat(5_000)),
        any::<String>().prop_map(|s| serde_json::to_string(&s).unwrap()),
        Just(r#""\u0000""#.to_owned()),
        Just(r#""\ud800""#.to_owned()),
        "ed25519:[1-9A-HJ-NP-Za-km-z]{80,90}".prop_map(|s| format!("\"{s}\"")),
        any::<[u8; 32]>().prop_map(|bytes| format!("\"{}\"", Pubkey::new_from_array(bytes))),
        Just("[".repeat(2_000) + &"]".repeat(2_000)),
    ];
    scalar.prop_recursive(6, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(|v| format!("[{}]", v.join(","))),
            prop::collection::vec((any::<String>(), inner), 0..5).prop_map(|members| {
                let members: Vec<_> =
                    members.iter().map(|(k, v)| format!("{}:{v}", serde_json::to_string(k).unwrap())).collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

/// Members of the document of a listing, which the description of its endpoint does not name.
const METADATA: [&str; 7] = ["name", "tagline", "description", "tags", "endpoint", "input_schema", "output_schema"];

/// Bodies: bytes, almost-JSON, and objects with some of the members that the endpoint reads, some of them twice.
fn bodies(members: &[String]) -> impl Strategy<Value = Vec<u8>> + use<> {
    let members = if members.is_empty() { METADATA.map(str::to_owned).to_vec() } else { members.to_vec() };
    let names: Vec<String> = members.iter().cloned().chain(["unknown".to_owned()]).collect();
    let some = prop::collection::vec((prop::sample::select(names), values()), 0..6);
    let every: Vec<_> = members.iter().map(|name| (Just(name.clone()), values())).collect();
    let object = |members: Vec<(String, String)>| {
        let members: Vec<_> = members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
        format!("{{{}}}", members.join(",")).into_bytes()
    };
    prop_oneof![
        1 => prop::collection::vec(any::<u8>(), 0..200),
        1 => values().prop_map(String::into_bytes),
        3 => some.prop_map(object),
        3 => every.prop_map(object),
        1 => Just(b"[".repeat(100_000)),
        1 => Just(br#"{"task":"#.repeat(20_000)),
    ]
}

/// One segment of a path or a query, percent-encoded where it has to be.
fn segments() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,40}",
        any::<String>(),
        prop::collection::vec(any::<u8>(), 0..30).prop_map(|bytes| bytes.iter().map(|b| format!("%{b:02x}")).collect()),
        Just("..%2f..%2fetc%2fpasswd".to_owned()),
        any::<[u8; 32]>().prop_map(|bytes| Pubkey::new_from_array(bytes).to_string()),
        any::<[u8; 32]>().prop_map(|bytes| cid_of(&ResultHash(bytes))),
        any::<[u8; 16]>().prop_map(|bytes| uuid::Uuid::from_bytes(bytes).to_string()),
        any::<u64>().prop_map(|number| number.to_string()),
    ]
    .prop_map(|text: String| {
        text.bytes()
            .map(|b| {
                if b.is_ascii_alphanumeric() || b"-._~%".contains(&b) {
                    (b as char).to_string()
                } else {
                    format!("%{b:02X}")
                }
            })
            .collect()
    })
}

/// Headers that say who asks, from where, and what the body is.
fn headers() -> impl Strategy<Value = Headers> {
    let text = "[ -~]{0,60}";
    let cookie = prop_oneof![
        text.prop_map(|text| format!("crtx_session={text}")),
        any::<[u8; 32]>().prop_map(|token| format!("crtx_session=crtx_session_{}", bs58::encode(token).into_string())),
        Just("crtx_session=a; crtx_session=b".to_owned()),
        text,
    ];
    let content_type = prop_oneof![
        Just("text/plain".to_owned()),
        Just("application/json; charset=utf-16".to_owned()),
        Just("multipart/form-data".to_owned()),
        text,
    ];
    let one = prop_oneof![
        cookie.prop_map(|value| ("cookie", value)),
        content_type.prop_map(|value| ("content-type", value)),
        text.prop_map(|value| ("x-csrf-token", value)),
        text.prop_map(|value| ("origin", value)),
        text.prop_map(|value| ("sec-fetch-site", value)),
        text.prop_map(|value| ("idempotency-key", value)),
        text.prop_map(|value| ("if-none-match", value)),
        text.prop_map(|value| ("content-encoding", value)),
        text.prop_map(|value| ("authorization", value)),
    ];
    // Most requests have none, so that they get further.
    prop_oneof![3 => Just(vec![]), 2 => prop::collection::vec(one, 1..4)]
}

fn sample<T>(strategy: impl Strategy<Value = T>, runner: &mut TestRunner) -> T {
    strategy.new_tree(runner).expect("a value").current()
}

/// Where requests come from, and what exists there.
struct World {
    market: Market,
    pool: PgPool,
    execution: String,
    runner: TestRunner,
}

impl World {
    /// What a request presents: nothing, an API key, a session, or a cookie with its token. Each wallet is new, because
    /// wallets have rates.
    async fn credentials(&self, round: usize) -> Headers {
        let kind = match round % 4 {
            0 => return vec![],
            1 => return bearer(&self.market.info.api_key),
            2 => SessionKind::Bearer,
            _ => SessionKind::Cookie,
        };
        let secret: [u8; 32] = rand::random();
        let wallet = Pubkey::new_from_array(rand::random());
        open_session(&self.pool, wallet, ResultHash::of(&secret).0, kind).await;
        let token = format!("crtx_session_{}", bs58::encode(secret).into_string());
        if kind == SessionKind::Bearer {
            return bearer(&token);
        }
        let cookie = format!("crtx_session={token}");
        let current = self.market.raw(Method::GET, "/v1/sessions/current", None, &[("cookie", &cookie)], None).await;
        vec![("cookie", cookie), ("x-csrf-token", current.text("csrf_token").to_owned())]
    }

    /// A path with random segments, or with what exists, and sometimes a query.
    fn path(&mut self, endpoint: &Endpoint, body: Option<&[u8]>) -> String {
        let path = endpoint.at(|name| {
            let known = match name {
                "agent_id" => Some(self.market.agent("text-stats")),
                "execution_id" | "id" => Some(self.execution.clone()),
                "wallet" => Some(self.market.info.wallet.clone()),
                "session_id" => Some("current".to_owned()),
                "cid" => body.map(|body| cid_of(&ResultHash::of(body))),
                _ => None,
            };
            let random = sample(segments(), &mut self.runner);
            known.filter(|_| rand::random()).unwrap_or(random)
        });
        let mut query = Vec::new();
        for name in &endpoint.query_parameters {
            if rand::random_ratio(1, 4) {
                query.push(format!("{name}={}", sample(segments(), &mut self.runner)));
            }
        }
        if rand::random_ratio(1, 10) {
            let [name, value] = [(); 2].map(|()| sample(segments(), &mut self.runner));
            query.push(format!("{name}={value}"));
        }
        if query.is_empty() { path } else { format!("{path}?{}", query.join("&")) }
    }

    /// One request; the status of its answer, which the endpoint's description has.
    async fn request(&mut self, endpoint: &Endpoint, credentials: &Headers) -> u16 {
        let body = (endpoint.has_body || rand::random_ratio(1, 20))
            .then(|| sample(bodies(&endpoint.body_members), &mut self.runner));
        let path = self.path(endpoint, body.as_deref());
        let mut headers = credentials.clone();
        headers.extend(sample(self::headers(), &mut self.runner));
        let sent: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let shown = body.as_ref().map(|bytes| String::from_utf8_lossy(&bytes[..bytes.len().min(300)]).into_owned());
        let answer = self.market.raw(endpoint.method.clone(), &path, None, &sent, body).await;
        let status = answer.status.as_u16();
        // A random segment can name no path at all, or another one.
        let is_specified = endpoint.statuses.contains(&status) || matches!(status, 404 | 405);
        assert!(is_specified, "{} {path} {sent:?} {shown:?}: {answer:?}", endpoint.method);
        // A process that is not ready says why in a report, and a badge of no agent is a picture that says so.
        let is_picture = answer.headers.get("content-type").is_some_and(|kind| kind == "image/svg+xml");
        if status >= 400 && endpoint.path != "/readyz" && !is_picture {
            answer.error_code();
        }
        status
    }
}

/// A client address for each round: the service delays the answers to one that is refused often.
fn address(round: usize) -> Ipv4Addr {
    let [.., high, low] = u32::try_from(round).unwrap().to_be_bytes();
    Ipv4Addr::new(127, 1, high, low)
}

#[tokio::test(flavor = "multi_thread")]
async fn random_input_at_every_endpoint_gets_a_specified_answer_and_harms_nothing() {
    let folder = crtx_e2e::folder();
    let mut up = Up::start(folder.path(), &[]).await.unwrap();
    let market = Market::new(up.info().clone());
    let pool = crtx_store::testing::connect(&market.info.database_url, 2).await.unwrap();
    let (execution, all) = (market.paid().await, endpoints(&market).await);
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(CASES);
    let round = async |round| {
        let market = Market::from_address(market.info.clone(), address(round));
        let mut world =
            World { market, pool: pool.clone(), execution: execution.clone(), runner: TestRunner::default() };
        let credentials = world.credentials(round).await;
        let mut seen = Vec::new();
        for endpoint in &all {
            seen.push((&*endpoint.operation, world.request(endpoint, &credentials).await));
        }
        seen
    };
    let rounds: Vec<_> = stream::iter(0..cases).map(round).buffer_unordered(AT_ONCE).collect().await;
    let mut seen: BTreeMap<&str, BTreeSet<u16>> = BTreeMap::new();
    for (operation, status) in rounds.into_iter().flatten() {
        seen.entry(operation).or_default().insert(status);
    }
    // The input gets past the credentials, and no endpoint takes all of it.
    for endpoint in all.iter().filter(|endpoint| endpoint.has_body) {
        let statuses = &seen[endpoint.operation.as_str()];
        assert!(statuses.contains(&400), "{endpoint:?}: {statuses:?}");
    }
    let mut runner = TestRunner::default();
    let execute = format!("/v1/agents/{}/execute", market.agent("text-stats"));
    for round in 0..cases {
        let market = Market::from_address(market.info.clone(), address(round));
        let header = sample("[!-~]{0,60}", &mut runner);
        let answer = market
            .raw(Method::POST, &execute, Some(&header), &[("idempotency-key", &header)], Some(b"{}".to_vec()))
            .await;
        assert_eq!((answer.status.as_u16(), answer.error_code()), (401, "unauthorized"), "{header}: {answer:?}");
    }
    let answer = market.execute(&market.agent("text-stats"), &json!({"task": "still there"})).await;
    assert_eq!(answer.status, 200, "the marketplace works afterwards: {answer:?}");
    up.stop().await.unwrap();
}
