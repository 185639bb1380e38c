//! Seller and buyer of the Rust library on a real marketplace.

use std::{fs, path::Path, sync::Arc, time::Duration};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, Uri},
    response::IntoResponse,
};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use crtx_e2e::{crtx_binary, market::Market};
use crtx_sdk::{
    AgentFilter, CallOptions, Client, ClientOptions, Error, ErrorCode, ExecutionFilter, Problem, Seller, Task,
    UsdcBase, key, verify::MoneyOutcome,
};
use futures::StreamExt;
use parking_lot::Mutex;
use rand::{Rng, SeedableRng, rngs::StdRng};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use uuid::Uuid;

const CHECKS: [&str; 17] = [
    "content",
    "result",
    "address",
    "record",
    "identity",
    "status",
    "commitment",
    "settlement",
    "gate",
    "message",
    "key",
    "signature",
    "listing",
    "split",
    "payment",
    "amounts",
    "request",
];

fn client(market: &Market, options: ClientOptions) -> Client {
    let options = ClientOptions { rpc_url: Some(market.info.rpc_url.clone()), ..options };
    Client::with_options(&market.info.base_url, Some(&market.info.api_key), options).unwrap()
}

fn done(market: &Market, arguments: &[&str]) -> Value {
    let output = market.crtx(&[arguments, &["--json"]].concat());
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// A new wallet with SOL and USDC, in this file.
fn wallet(market: &Market, file: &Path) -> String {
    let file = file.to_str().unwrap();
    let address = done(market, &["wallet", "new", "--out", file])["address"].as_str().unwrap().to_owned();
    done(market, &["wallet", "fund", "--keypair", file]);
    address
}

/// A seller of the library counts words, and is listed.
async fn sell(market: &Market, folder: &Path) -> String {
    let agent = folder.join("word-count");
    done(market, &["agent", "init", agent.to_str().unwrap()]);
    let work = async |task: Task| {
        let (words, characters) = (task.text.split_whitespace().count(), task.text.chars().count());
        let most = task.parameters.get("max_words").and_then(Value::as_u64);
        let is_long = most.is_some_and(|most| words as u64 > most);
        if is_long { Err("too many words") } else { Ok(format!("{{\"words\":{words},\"characters\":{characters}}}")) }
    };
    let seller = Seller::new(key::from_file(agent.join("result-key.json")).unwrap(), work);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback_service(seller)).await });
    let manifest = agent.join("agent.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    let (head, tail) = text.split_once("endpoint = \"http://127.0.0.1:").unwrap();
    let (_, tail) = tail.split_once('/').unwrap();
    fs::write(&manifest, format!("{head}endpoint = \"http://127.0.0.1:{port}/{tail}")).unwrap();
    let creator = folder.join("creator.json");
    wallet(market, &creator);
    let arguments = ["agent", "publish", agent.to_str().unwrap(), "--yes", "--keypair", creator.to_str().unwrap()];
    done(market, &arguments)["agent_id"].as_str().unwrap().to_owned()
}

pub async fn a_buyer_and_a_seller_in_rust_pay_once_for_a_result_that_passes_every_check(market: &Market) {
    let folder = tempfile::tempdir().unwrap();
    let agent = sell(market, folder.path()).await;
    let (payer, price) = (market.info.wallet.clone(), 50_000);
    let client = client(market, ClientOptions::default());
    let before = market.usdc_of(&payer).await;
    let bought = client.execute(&agent, "one two three", &CallOptions::default()).await.unwrap();
    assert_eq!((bought.result.as_str(), bought.cost_usdc), (r#"{"words":3,"characters":13}"#, UsdcBase(price)));
    assert_eq!(bought.checks.iter().map(|check| check.name).collect::<Vec<_>>(), CHECKS);
    let again = CallOptions { idempotency_key: bought.idempotency_key.clone(), ..CallOptions::default() };
    let again = client.execute(&agent, "one two three", &again).await.unwrap();
    assert_eq!((again.execution_id, market.usdc_of(&payer).await), (bought.execution_id, before - price));
    let details = client.get(bought.execution_id).await.unwrap();
    assert_eq!((details.agent_id.as_str(), details.creator_amount_usdc), (agent.as_str(), UsdcBase(49_500)));
    assert_eq!(client.verify(bought.execution_id).await.unwrap().outcome, Some(MoneyOutcome::Paid));

    let started = client.start(&agent, "and so on", &CallOptions::default()).await.unwrap();
    assert_eq!(client.wait(&started).await.unwrap().result, r#"{"words":3,"characters":9}"#);
    let listed = client.list(&ExecutionFilter { limit: Some(1), ..ExecutionFilter::default() }).await.unwrap();
    assert_eq!(listed.executions[0].execution_id, started.execution_id);
    let events = client.events(0, &["execution.completed"]);
    let of_it =
        events.filter(|event| std::future::ready(event.as_ref().unwrap().execution_id == Some(started.execution_id)));
    assert_eq!(std::pin::pin!(of_it).next().await.unwrap().unwrap().agent_id.as_deref(), Some(agent.as_str()));
    let filter = AgentFilter { q: Some("word-count".to_owned()), ..AgentFilter::default() };
    assert_eq!(client.agents().search(&filter).await.unwrap().agents[0].agent_id, agent);
    assert_eq!(client.agents().get(&agent).await.unwrap().timeout_seconds, 30);

    let before = market.usdc_of(&payer).await;
    let parameters = json!({"max_words": 1}).as_object().unwrap().clone();
    let failing = CallOptions { parameters, ..CallOptions::default() };
    let refunded = client.execute(&agent, "one two three", &failing).await.unwrap_err();
    assert_eq!(refunded.code(), Some(ErrorCode::ExecutionFailed), "{refunded}");
    assert!(refunded.to_string().contains("too many words") && market.usdc_of(&payer).await == before);
    let refund = client.verify(refunded.execution_id.unwrap()).await.unwrap();
    assert_eq!(refund.outcome, Some(MoneyOutcome::Refunded));

    for (example, prints) in [
        ("rust-buyer", "{\"words\":3,\"characters\":23}\n"),
        // The one of the quickstart finds the demo agent.
        ("rust-quickstart", " for 0.01 USDC\n"),
    ] {
        let mut example = std::process::Command::new(crtx_binary().with_file_name(example));
        example.envs([("CRTX_URL", &market.info.base_url), ("CRTX_API_KEY", &market.info.api_key), ("AGENT", &agent)]);
        let printed = example.output().unwrap();
        assert!(String::from_utf8_lossy(&printed.stdout).ends_with(prints), "{printed:?}");
    }
}

pub async fn a_wallet_without_a_key_pays_once_by_itself(market: &Market) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("buyer.json");
    let (address, agent, price) = (wallet(market, &file), market.agent("text-stats"), market.price("text-stats"));
    let options = ClientOptions { rpc_url: Some(market.info.rpc_url.clone()), ..ClientOptions::default() };
    let client = Client::with_wallet(&market.info.base_url, &key::from_file(&file).unwrap(), options).unwrap();
    let before = market.usdc_of(&address).await;
    let call = CallOptions { idempotency_key: Some("order-7".to_owned()), ..CallOptions::default() };
    let bought = client.execute(&agent, "One two.", &call).await.unwrap();
    assert_eq!(bought.checks.iter().map(|check| check.name).collect::<Vec<_>>(), CHECKS);
    let again = client.execute(&agent, "One two.", &call).await.unwrap();
    assert_eq!((again.result, again.execution_id), (bought.result, bought.execution_id));
    assert_eq!(market.usdc_of(&address).await, before - price);
    let other = client.execute(&agent, "Another task.", &call).await.unwrap_err();
    assert_eq!(other.code(), Some(ErrorCode::Conflict), "{other}");
    let parameters = json!({"top_words": "many"}).as_object().unwrap().clone();
    let wrong = CallOptions { parameters, ..CallOptions::default() };
    let refused = client.execute(&agent, "One.", &wrong).await.unwrap_err();
    assert!(matches!(*refused.problem, Problem::Invalid(_)) && refused.to_string().contains("schema"), "{refused}");
    let at_most = |units| CallOptions { max_price: Some(UsdcBase(units)), ..CallOptions::default() };
    let dear = client.execute(&agent, "Two.", &at_most(price - 1)).await.unwrap_err();
    assert!(matches!(*dear.problem, Problem::Invalid(_)) && dear.to_string().contains("`max_price`"), "{dear}");
    assert_eq!(market.usdc_of(&address).await, before - price, "nothing more was paid");
    assert!(client.refund(bought.execution_id).await.unwrap_err().to_string().contains("ended"));
    let started = client.start(&agent, "Three words more.", &at_most(price)).await.unwrap();
    assert!(client.wait(&started).await.unwrap().result.contains("\"words\":3"));
    assert_eq!(market.usdc_of(&address).await, before - 2 * price);
}

/// Changes an answer, by the path or the method that was asked, and the first address of its parameters.
type Tamper = Box<dyn Fn(&str, &str, &mut Value) + Send + Sync>;

struct Between {
    http: reqwest::Client,
    service: String,
    node: String,
    tamper: Mutex<Option<Tamper>>,
}

/// Stands between the client and both the service and the node.
async fn between(State(it): State<Arc<Between>>, uri: Uri, headers: HeaderMap, body: Bytes) -> impl IntoResponse {
    let path = uri.path_and_query().unwrap().as_str();
    let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
    let is_rpc = path.starts_with("/rpc");
    let url = if is_rpc { it.node.clone() } else { format!("{}{path}", it.service) };
    let request = if body.is_empty() { it.http.get(url) } else { it.http.post(url).body(body) };
    let passed = ["authorization", "idempotency-key", "content-type"];
    let passed = headers.iter().filter(|(name, _)| passed.contains(&name.as_str()));
    let request = passed.fold(request, |request, (name, value)| request.header(name, value));
    let mut answer: Value = request.send().await.unwrap().json().await.unwrap();
    if let Some(tamper) = &*it.tamper.lock() {
        let address = asked["params"][0][0].as_str().unwrap_or_default();
        tamper(if is_rpc { asked["method"].as_str().unwrap() } else { path }, address, &mut answer);
    }
    ([("content-type", "application/json")], answer.to_string())
}

fn flip(bytes: &mut [u8], at: usize, by: u8) {
    bytes[at] ^= by;
}

/// Changes the bytes of an account.
fn in_account(address: String, change: impl Fn(&mut Vec<u8>) + Send + Sync + 'static) -> Tamper {
    Box::new(move |method, of, answer| {
        if method == "getMultipleAccounts" && of == address {
            let data = &mut answer["result"]["value"][0]["data"][0];
            let mut bytes = BASE64.decode(data.as_str().unwrap()).unwrap();
            change(&mut bytes);
            *data = json!(BASE64.encode(bytes));
        }
    })
}

/// How the data of the proof begins, without its first two bytes and the length of the message.
const PROOF: [u8; 10] = [48, 0, 255, 255, 16, 0, 255, 255, 112, 0];

/// Changes the transaction that settles, from the beginning of the proof on, and what it moved.
fn in_settlement(at: usize, by: u8, of_transfer: Option<usize>) -> Tamper {
    Box::new(move |method, _, answer| {
        let transaction = answer.pointer("/result/transaction/0").and_then(Value::as_str);
        let Some(transaction) = transaction.filter(|_| method == "getTransaction") else { return };
        let mut bytes = BASE64.decode(transaction).unwrap();
        let Some(proof) = bytes.windows(10).position(|window| window == PROOF) else { return };
        if let Some(number) = of_transfer {
            let inner = answer["result"]["meta"]["innerInstructions"].as_array_mut().unwrap();
            let calls = inner.iter_mut().flat_map(|group| group["instructions"].as_array_mut().unwrap());
            let mut transfers = calls.filter_map(|call| {
                let data = bs58::decode(call["data"].as_str().unwrap()).into_vec().unwrap();
                (data[0] == 12).then_some((call, data))
            });
            let (call, mut data) = transfers.nth(number).unwrap();
            flip(&mut data, 1 + at, by);
            call["data"] = json!(bs58::encode(data).into_string());
            return;
        }
        flip(&mut bytes, proof - 2 + at, by);
        answer["result"]["transaction"][0] = json!(BASE64.encode(bytes));
    })
}

fn in_answer(change: impl Fn(&mut Value) + Send + Sync + 'static) -> Tamper {
    Box::new(move |path, _, answer| {
        if path.ends_with("/execute") {
            change(answer);
        }
    })
}

/// One random tampering of each kind, and the checks that can notice it first.
fn tampering(kind: usize, record: &str, random: &mut StdRng) -> (Tamper, &'static [&'static str]) {
    let (by, number) = (random.random_range(1..=255_u8), random.random_range(1..1_000_000_u64));
    let status = [3, 4, 5, 6][random.random_range(0..4)];
    let mut field = |from: usize, to: usize| {
        let at = random.random_range(from..to);
        in_account(record.to_owned(), move |bytes| flip(bytes, at, by))
    };
    match kind % 19 {
        0 => (in_answer(move |it| it["result"] = json!(format!("{}{number}", it["result"]))), &["content"]),
        1 => (in_answer(move |it| it["result_hash"] = json!(format!("sha256:{number:064x}"))), &["content"]),
        2 => (in_answer(move |it| it["ipfs_url"] = json!(format!("http://x.example/ipfs/{number}"))), &["address"]),
        3 => (in_answer(move |it| it["cost_usdc"] = json!(number)), &["amounts"]),
        4 => (in_answer(move |it| it["execution_time_ms"] = json!(10_000_000 + number)), &["amounts"]),
        5 => (field(0, 8), &["record"]),
        6 => (field(8, 40), &["identity"]),
        7 => (field(40, 72), &["identity"]),
        8 => (field(104, 136), &["commitment"]),
        9 => (field(136, 152), &["identity"]),
        10 => (field(160, 164), &["key"]),
        11 => (field(168, 172), &["message"]),
        12 => (field(196, 198), &["key"]),
        13 => (in_account(record.to_owned(), move |bytes| bytes[200] = status), &["status"]),
        14 => (in_settlement(random.random_range(12..16), by, None), &["gate"]),
        15 => (in_settlement(random.random_range(16..48), by, None), &["key"]),
        16 => (in_settlement(random.random_range(48..112), by, None), &["signature"]),
        17 => (in_settlement(random.random_range(112..238), by, None), &["message"]),
        _ => (in_settlement(random.random_range(0..4), by, Some(random.random_range(0..2))), &["payment"]),
    }
}

pub async fn each_of_100_random_tamperings_is_refused_with_the_name_of_the_check(market: &Market) {
    let http = reqwest::Client::new();
    let (service, node) = (market.info.base_url.clone(), market.info.rpc_url.clone());
    let shared = Arc::new(Between { http, service, node, tamper: Mutex::new(None) });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().fallback(between).with_state(Arc::clone(&shared));
    tokio::spawn(async move { axum::serve(listener, router).await });
    let options = ClientOptions {
        rpc_url: Some(format!("{url}/rpc")),
        node_patience: Duration::ZERO,
        ..ClientOptions::default()
    };
    let client = Client::with_options(&url, Some(&market.info.api_key), options).unwrap();
    let agent = market.agent("text-stats");
    let call = CallOptions { idempotency_key: Some(Uuid::new_v4().to_string()), ..CallOptions::default() };
    let honest = client.execute(&agent, "Tamper with this.", &call).await.unwrap();
    assert_eq!(honest.checks.iter().map(|check| check.name).collect::<Vec<_>>(), CHECKS);
    let record = honest.on_chain_record.split(['/', '?']).find(|part| part.len() > 40 && !part.contains('=')).unwrap();
    let mut random = StdRng::seed_from_u64(30);
    let mut refused = 0;
    for kind in 0..100 {
        let (tamper, checks) = tampering(kind, record, &mut random);
        *shared.tamper.lock() = Some(tamper);
        let error: Error = client.execute(&agent, "Tamper with this.", &call).await.expect_err("tampered");
        let check = error.failed_check().unwrap_or_else(|| panic!("{} {checks:?}: {error:?}", kind % 19));
        assert!(checks.contains(&check), "{}: {checks:?}, and it is {error:?}", kind % 19);
        assert_eq!(error.idempotency_key, call.idempotency_key);
        refused += 1;
    }
    assert_eq!(refused, 100);
    *shared.tamper.lock() = None;
    assert_eq!(client.execute(&agent, "Tamper with this.", &call).await.unwrap().result, honest.result);
}
