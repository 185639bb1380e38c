//! What one client, or a few free wallets, take from everybody else where something is scarce: sign-ins, look-ups of keys,
//! examinations of documents, tests of endpoints. Each attack comes once directly and once through a proxy.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "tests"
)]

use std::{
    collections::BTreeMap,
    net::Ipv4Addr,
    path::Path,
    time::{Duration, Instant},
};

use axum::body::Bytes;
use chrono::TimeDelta;
use crtx_faults::{
    client::{Client, Execute},
    denial::{
        Attack, Bystander, Entrance, Site, Trial, WARM_UP, bombs,
        bystander::{attack_period, idle_period},
    },
};
use crtx_http::session_token::SessionToken;
use crtx_protocol::{
    api_key::{ApiKey, KeyNetwork},
    content::cid_of,
    result_hash::ResultHash,
};
use crtx_store::{
    api_keys,
    sessions::{self, NewSession, SessionKind},
};
use serde_json::{Value, json};
use solana_pubkey::Pubkey;
use solana_signer::Signer;
use tokio::net::TcpListener;

const PATIENCE: Duration = Duration::from_secs(30);
/// Where the attacker, and somebody else, call from.
const ATTACKER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
const NEIGHBOUR: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 3);
/// What one wallet may have handed in, in bytes, and what everybody else hands in meanwhile.
const ROOM_OF_A_WALLET: u64 = 32 * 1024 * 1024;
const ROOM_OF_OTHERS: u64 = 4 * 1024 * 1024;
/// The longest content that a listing may name, in bytes.
const MAX_LISTED: usize = crtx_protocol::metadata::MAX_BYTES;
/// Reads of the chain for keys that do not hold, in the time of an attack.
const MOST_READS: u64 = 30;

/// A session of a new wallet, which costs nothing.
async fn free_wallet(site: &Site) -> String {
    session_of(site, Pubkey::new_from_array(rand::random())).await
}

/// Opened in the database, so that it takes no sign-in.
async fn session_of(site: &Site, wallet: Pubkey) -> String {
    let token = SessionToken::generate().unwrap();
    let lifetime = TimeDelta::hours(1);
    let new =
        NewSession { token_hash: token.hash(), wallet, kind: SessionKind::Bearer, lifetime, challenge: rand::random() };
    sessions::open(&site.pool, &new).await.unwrap().expect("a new challenge");
    token.reveal()
}

/// Requests of somebody else during an attack. Returns how many were not answered as expected, and the slowest.
async fn neighbour(url: &str, bodies: &[(Option<String>, Value)], expected: u16) -> (Vec<Option<u16>>, Duration) {
    let client = Client::from_address(NEIGHBOUR).unwrap();
    let (mut wrong, mut slowest) = (Vec::new(), Duration::ZERO);
    for (session, body) in bodies {
        let started = Instant::now();
        let status = client.discard(url, session.as_deref(), Some(Bytes::from(body.to_string())), PATIENCE).await;
        slowest = slowest.max(started.elapsed());
        if status != Some(expected) {
            wrong.push(status);
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    (wrong, slowest)
}

fn posts(
    url: &str,
    clients: usize,
    request: impl Fn(usize) -> (Option<String>, Value) + Clone + Send + 'static,
) -> Attack {
    let (client, url) = (Client::from_address(ATTACKER).unwrap(), url.to_owned());
    Attack::of(clients, move |number| {
        let (client, url, (session, body)) = (client.clone(), url.clone(), request(number));
        async move {
            client.discard(&url, session.as_deref(), Some(Bytes::from(body.to_string())), PATIENCE).await;
        }
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn one_client_stops_nobody_elses_sign_ins() {
    let site = Site::start("sign-ins", 0).await.unwrap();
    let owner = Pubkey::new_from_array(rand::random()).to_string();
    let mut wrong = Vec::new();
    for entrance in site.entrances().await.unwrap() {
        let bystander = entrance.bystander(site.bystander().unwrap());
        let mut trial = Trial::start(&bystander).await;
        let url = format!("{}/v1/sign-in/challenge", entrance.base_url);
        let named = owner.clone();
        let attack = posts(&url, 8, move |client| {
            let other = Pubkey::new_from_array(rand::random()).to_string();
            (None, json!({"address": if client < 4 { named.clone() } else { other }}))
        });
        let challenges = vec![(None, json!({"address": owner})); 8];
        let name = format!("sign-ins of one client, {}", entrance.name);
        let ((), (refused, _)) = tokio::join!(trial.measure(&name), neighbour(&url, &challenges, 200));
        wrong.extend(trial.wrong);
        if !refused.is_empty() {
            wrong.push(format!("{name}: somebody else got {refused:?}"));
        }
        drop(attack);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_and_revoked_keys_cost_few_reads_of_the_chain() {
    let mut site = Site::start("keys", 1).await.unwrap();
    let gateway = site.world.gateways.remove(0);
    let (agent, honest) = (site.honest_agent().unwrap(), site.world.info().unwrap().api_key);
    let pid = gateway.process.pid().unwrap();
    let body = json!({"task": "One. Two."});
    // The gateway knows the key's wallet when it is revoked.
    let revoked = site.attacker_key.clone();
    let call = Execute {
        base_url: &gateway.base_url,
        api_key: &revoked,
        agent: &agent,
        body: &body,
        idempotency_key: None,
        patience: PATIENCE,
    };
    assert_eq!(Client::new().unwrap().execute(&call).await.status(), Some(200));
    let session_key = Pubkey::new_from_array(site.attacker.keys[0].session_public_key());
    assert!(api_keys::revoke(&site.pool, &site.attacker.address(), &session_key).await.unwrap());

    let mut wrong = Vec::new();
    for entrance in Entrance::both(&gateway.base_url).await.unwrap() {
        let bystander = entrance.bystander(Bystander::new(&gateway.base_url, &honest, &agent, pid));
        let mut trial = Trial::start(&bystander).await;
        let counted = async |period: Duration| {
            let before = gateway.rpc.requests();
            tokio::time::sleep(period).await;
            gateway.rpc.requests() - before
        };
        let period = attack_period();
        let without = counted(period).await;
        let url = format!("{}/v1/agents/{agent}/execute", entrance.base_url);
        let revoked = revoked.clone();
        let attack = posts(&url, 16, move |client| {
            let unknown = ApiKey::from_secret(KeyNetwork::Test, rand::random()).reveal();
            (Some(if client < 8 { revoked.clone() } else { unknown }), json!({"task": "One. Two."}))
        });
        tokio::time::sleep(WARM_UP).await;
        let reads = counted(period).await.saturating_sub(without);
        let name = format!("revoked and unknown keys, {}", entrance.name);
        eprintln!("{name}: {reads} reads of the chain in {period:?}, and {without} without them");
        if reads > MOST_READS {
            wrong.push(format!("{name}: {reads} reads of the chain; {MOST_READS} are allowed"));
        }
        trial.measure(&name).await;
        wrong.extend(trial.wrong);
        drop(attack);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn free_wallets_of_one_client_block_neither_documents_nor_tests_of_endpoints() {
    let site = Site::start("examinations", 0).await.unwrap();
    let endpoint = site.world.info().unwrap().agents[0].endpoint.clone();
    let mut attackers = Vec::new();
    for _ in 0..12 {
        attackers.push(free_wallet(&site).await);
    }
    // Takes connections and never answers.
    let silent = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let port = silent.local_addr().unwrap().port();
    let mut wrong = Vec::new();
    for entrance in site.entrances().await.unwrap() {
        let bystander = entrance.bystander(site.bystander().unwrap());
        bystander.watch(Duration::from_secs(1)).await;
        let idle = bystander.watch(idle_period()).await;
        let honest = free_wallet(&site).await;

        let url = format!("{}/v1/metadata", entrance.base_url);
        let (schemas, sessions) = (bombs::schemas(), attackers.clone());
        let documents: Vec<Value> = schemas.iter().map(|bomb| document(&endpoint, &bomb.schema)).collect();
        let attack = posts(&url, 12, move |client| {
            (Some(sessions[client].clone()), documents[rand::random_range(0..documents.len())].clone())
        });
        tokio::time::sleep(WARM_UP).await;
        let good: Vec<_> = (0..5)
            .map(|number| (Some(honest.clone()), document(&endpoint, &json!({"title": format!("{number}")}))))
            .collect();
        let (measured, (refused, slowest)) =
            tokio::join!(bystander.watch(attack_period()), neighbour(&url, &good, 201));
        let name = format!("documents of one client, {}", entrance.name);
        eprintln!("{name}: another wallet's document is examined within {slowest:.1?}");
        wrong.extend(bystander.compare(&name, &idle, &measured));
        if !refused.is_empty() {
            wrong.push(format!("{name}: another wallet got {refused:?}"));
        }
        drop(attack);

        let url = format!("{}/v1/agent-tests", entrance.base_url);
        let sessions = attackers.clone();
        let attack = posts(&url, 12, move |client| {
            let host = format!("http://127.0.1.{client}:{port}/execute");
            (Some(sessions[client].clone()), test_of(&host))
        });
        tokio::time::sleep(WARM_UP).await;
        let honest = [(Some(free_wallet(&site).await), test_of(&endpoint))];
        let (measured, (refused, slowest)) =
            tokio::join!(bystander.watch(attack_period()), neighbour(&url, &honest, 200));
        let name = format!("tests of one client, {}", entrance.name);
        eprintln!("{name}: another wallet's test ends within {slowest:.1?}");
        wrong.extend(bystander.compare(&name, &idle, &measured));
        if !refused.is_empty() {
            wrong.push(format!("{name}: another wallet got {refused:?}"));
        }
        drop(attack);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Content as long as a listing may name, which nobody has handed in before.
fn new_content() -> Bytes {
    let mut content = vec![b' '; MAX_LISTED];
    content[..16].copy_from_slice(&rand::random::<[u8; 16]>());
    content.into()
}

fn path_of(content: &[u8]) -> String {
    format!("/ipfs/{}", cid_of(&ResultHash::of(content)))
}

/// What the files of a folder have in bytes.
fn stored_bytes(folder: &Path) -> u64 {
    let of = |entry: std::io::Result<std::fs::DirEntry>| {
        let Ok(path) = entry.map(|entry| entry.path()) else { return 0 };
        // A file can be gone again.
        if path.is_dir() { stored_bytes(&path) } else { path.metadata().map_or(0, |file| file.len()) }
    };
    std::fs::read_dir(folder).unwrap().map(of).sum()
}

/// Hands content in for a session, and for listings that name new content with every update, as fast as it goes.
#[tokio::test(flavor = "multi_thread")]
async fn a_creator_that_hands_in_content_without_end_fills_a_bounded_part_of_the_disk() {
    let site = Site::start("content", 0).await.unwrap();
    let (folder, creator) = (site.world.content_dir(), site.creator.pubkey());
    let first = bombs::document(&json!({}), "http://127.0.0.1:1/listed");
    let listing = bombs::list(&site.chain, &site.creator, &folder, 0, &first).await.unwrap();
    site.settle_listings().await;
    let session = session_of(&site, creator).await;
    let before = stored_bytes(&folder);
    let mut wrong = Vec::new();
    for entrance in site.entrances().await.unwrap() {
        let bystander = entrance.bystander(site.bystander().unwrap());
        let mut trial = Trial::start(&bystander).await;
        let (client, session) = (Client::from_address(ATTACKER).unwrap(), session.clone());
        let held = {
            let (client, url) = (client.clone(), entrance.base_url.clone());
            Attack::of(12, move |_| {
                let (client, url, session, content) = (client.clone(), url.clone(), session.clone(), new_content());
                async move {
                    let url = format!("{url}{}", path_of(&content));
                    client.put(&url, Some(&session), content, PATIENCE).await;
                }
            })
        };
        let listed = async {
            let mut answers = BTreeMap::<_, u64>::new();
            loop {
                let content = new_content();
                bombs::rename(&site.chain, &site.creator, &listing, &content).await.unwrap();
                // The index shows the update a moment later.
                for _ in 0..4 {
                    let url = format!("{}{}", entrance.base_url, path_of(&content));
                    *answers.entry(client.put(&url, None, content.clone(), PATIENCE).await).or_default() += 1;
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                eprintln!("content of a listing, {}: {answers:?}", entrance.name);
            }
        };
        tokio::pin!(listed);
        let neighbours = async {
            let (client, session) = (Client::from_address(NEIGHBOUR).unwrap(), free_wallet(&site).await);
            let mut wrong = Vec::new();
            for _ in 0..5 {
                let content = new_content();
                let url = format!("{}{}", entrance.base_url, path_of(&content));
                let status = client.put(&url, Some(&session), content, PATIENCE).await;
                wrong.extend((status != Some(201)).then_some(status));
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
            wrong
        };
        let name = format!("content of one creator, {}", entrance.name);
        let observed = async { tokio::join!(trial.measure(&name), neighbours) };
        let ((), refused) = tokio::select! {
            observed = observed => observed,
            () = &mut listed => unreachable!("it goes on until the end"),
        };
        wrong.extend(trial.wrong);
        if !refused.is_empty() {
            wrong.push(format!("{name}: another wallet got {refused:?}"));
        }
        drop(held);
    }
    let grown = stored_bytes(&folder) - before;
    eprintln!("the folder grew by {grown} bytes");
    if grown > ROOM_OF_A_WALLET + ROOM_OF_OTHERS {
        wrong.push(format!("the folder grew by {grown} bytes; {ROOM_OF_A_WALLET} are one creator's"));
    }
    assert!(grown > ROOM_OF_A_WALLET / 2, "the attack hands in enough to reach the limit, {grown} bytes");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn document(endpoint: &str, input_schema: &Value) -> Value {
    json!({
        "name": "n", "tagline": "t", "description": "d", "tags": ["data"], "endpoint": endpoint,
        "input_schema": input_schema, "output_schema": {},
    })
}

fn test_of(endpoint: &str) -> Value {
    json!({
        "endpoint": endpoint, "result_key": Pubkey::new_from_array([1; 32]).to_string(), "input_schema": {},
        "output_schema": {}, "task": "One. Two.", "timeout_seconds": 60,
    })
}
