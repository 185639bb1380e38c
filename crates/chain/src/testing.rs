//! A scripted RPC node: a test sets its answers and reads the requests that it received.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test double that cannot work should fail immediately"
)]

pub mod program;

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard},
};

use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::post,
};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use serde_json::{Value, json};
use solana_hash::Hash;
use solana_instruction::Instruction;
use solana_message::{Message, VersionedMessage};
use solana_pubkey::Pubkey;
use solana_signature::Signature;
use solana_transaction::versioned::VersionedTransaction;
use tokio::{net::TcpListener, sync::watch};

use crate::{FetchedAccount, token::TokenAccount};

/// How the node handles a transaction that is sent to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnSend {
    /// Lands, and is confirmed from then on.
    Land,
    /// Lands, but the sender gets an error.
    LandButAnswerError,
    /// Lands and fails there.
    LandAndFail,
    /// Is dropped.
    Drop,
    /// Is refused with an error.
    Refuse,
}

/// A fault of the node itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Takes requests and never answers.
    Hang,
    /// HTTP 429 with `Retry-After` in seconds.
    RateLimit(u64),
    Status(u16),
    /// HTTP 302 to this URL.
    Redirect(String),
    /// An answer that is not JSON.
    Garbage,
    /// An answer without end.
    Endless,
}

/// Called with the bytes of every transaction that lands for the first time; it changes the accounts.
pub type Effect = Box<dyn FnMut(&[u8], &mut HashMap<Pubkey, FetchedAccount>) + Send>;

/// Decides whether a transaction fails on chain, before its effect.
pub type Refusal = Box<dyn Fn(&[u8], &HashMap<Pubkey, FetchedAccount>) -> bool + Send>;

/// Decides whether the simulation of a transaction fails.
pub type SimulationRefusal = Box<dyn Fn(&[u8]) -> bool + Send>;

pub struct NodeScript {
    pub on_send: OnSend,
    pub effect: Effect,
    pub refuses: Refusal,
    pub accounts: HashMap<Pubkey, FetchedAccount>,
    pub finalized_height: u64,
    pub last_valid_block_height: u64,
    pub slot: u64,
    /// Signatures that landed, and whether they failed.
    pub landed: HashMap<String, bool>,
    /// Every `sendTransaction`, in order.
    pub sent: Vec<Vec<u8>>,
    /// Sizes of the `getSignatureStatuses` batches.
    pub status_batches: Vec<usize>,
    /// Number of requests per method.
    pub requests: BTreeMap<String, u64>,
    /// The error of every simulation, in its JSON form. `None`: simulations succeed.
    pub simulation: Option<Value>,
    /// Which other simulations fail, by the transaction.
    pub refuses_simulation: SimulationRefusal,
    /// While this is true, simulations do not answer.
    pub holds_simulations: Option<watch::Receiver<bool>>,
    /// Every transaction that was simulated, in order.
    pub simulated: Vec<Vec<u8>>,
    /// Lamports that an account must hold, independent of its size.
    pub rent: u64,
    /// What was paid for a compute unit in the last blocks, for every account.
    pub unit_prices: Vec<u64>,
    /// While this is set, every other request fails.
    pub out_of_order: bool,
    pub fault: Option<Fault>,
    /// The methods that work. `None`: all methods.
    pub only: Option<Vec<&'static str>>,
    /// The last slot that a lagging node has.
    pub lags_at: Option<u64>,
    /// Past transactions, oldest first: signature, time of the block, whether it failed, and the bytes.
    pub history: Vec<(String, i64, bool, Vec<u8>)>,
}

#[derive(Clone)]
pub struct FakeRpc {
    script: Arc<Mutex<NodeScript>>,
    url: String,
}

/// The nodes behind one URL. The requests of each method go to them in turn. With one turn for all methods, a client
/// with periodic requests could send every transaction to the same node.
#[derive(Clone)]
struct Behind {
    scripts: Arc<Vec<Arc<Mutex<NodeScript>>>>,
    turns: Arc<Mutex<HashMap<String, usize>>>,
}

impl Behind {
    fn next(&self, method: &str) -> &Mutex<NodeScript> {
        let mut turns = self.turns.lock().expect("no test panicked holding it");
        let turn = turns.entry(method.to_owned()).or_default();
        let script = &self.scripts[*turn % self.scripts.len()];
        *turn += 1;
        script
    }
}

impl FakeRpc {
    /// Starts a node on a free port; it ends with the test's runtime.
    pub async fn start() -> Self {
        let script = Arc::new(Mutex::new(NodeScript {
            on_send: OnSend::Land,
            effect: Box::new(|_, _| {}),
            refuses: Box::new(|_, _| false),
            accounts: HashMap::new(),
            finalized_height: 0,
            last_valid_block_height: 150,
            slot: 1,
            landed: HashMap::new(),
            sent: Vec::new(),
            status_batches: Vec::new(),
            requests: BTreeMap::new(),
            simulation: None,
            refuses_simulation: Box::new(|_| false),
            holds_simulations: None,
            simulated: Vec::new(),
            rent: 4_000_000,
            unit_prices: Vec::new(),
            out_of_order: false,
            fault: None,
            only: None,
            lags_at: None,
            history: Vec::new(),
        }));
        let url = serve(vec![Arc::clone(&script)]).await;
        Self { script, url }
    }

    /// The URL of a load balancer in front of these nodes. It sends the requests of each method to them in turn.
    pub async fn balance(nodes: &[&Self]) -> String {
        serve(nodes.iter().map(|node| Arc::clone(&node.script)).collect()).await
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn script(&self) -> MutexGuard<'_, NodeScript> {
        self.script.lock().expect("no test panicked holding it")
    }
}

/// The bytes of a transaction without valid signatures.
pub fn unsigned(instructions: &[Instruction]) -> Vec<u8> {
    let message = Message::new_with_blockhash(instructions, Some(&Pubkey::new_unique()), &Hash::default());
    let signatures = vec![Signature::default(); usize::from(message.header.num_required_signatures)];
    wincode::serialize(&VersionedTransaction { signatures, message: VersionedMessage::Legacy(message) }).unwrap()
}

async fn serve(scripts: Vec<Arc<Mutex<NodeScript>>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("bound"));
    let behind = Behind { scripts: Arc::new(scripts), turns: Arc::default() };
    let router = Router::new().route("/", post(answer)).with_state(behind);
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

async fn answer(State(behind): State<Behind>, Json(request): Json<Value>) -> Response {
    let method = request["method"].as_str().unwrap_or_default().to_owned();
    let script = behind.next(&method);
    let id = request["id"].clone();
    let held = script.lock().expect("no test panicked holding it").holds_simulations.clone();
    if let Some(mut held) = held.filter(|_| method == "simulateTransaction") {
        held.wait_for(|held| !held).await.expect("the test lets go of it");
    }
    let (fault, result) = {
        let mut script = script.lock().expect("no test panicked holding it");
        let asked = script.requests.entry(method.clone()).or_default();
        *asked = asked.saturating_add(1);
        match script.fault.clone() {
            Some(fault) => (Some(fault), Err(String::new())),
            None => (None, script.handle(&method, &request["params"])),
        }
    };
    match (fault, result) {
        (Some(fault), _) => broken(fault).await,
        (None, Ok(result)) => Json(json!({"jsonrpc": "2.0", "id": id, "result": result})).into_response(),
        (None, Err(message)) => {
            Json(json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32000, "message": message}})).into_response()
        }
    }
}

async fn broken(fault: Fault) -> Response {
    match fault {
        Fault::Hang => std::future::pending().await,
        Fault::RateLimit(seconds) => {
            (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, seconds.to_string())]).into_response()
        }
        Fault::Status(status) => StatusCode::from_u16(status).expect("a status").into_response(),
        Fault::Redirect(url) => (StatusCode::FOUND, [(header::LOCATION, url)]).into_response(),
        Fault::Garbage => "<html>It works!</html>".into_response(),
        Fault::Endless => {
            let chunk = || Ok::<_, std::io::Error>(Bytes::from_static(&[b' '; 16 * 1024]));
            Body::from_stream(futures::stream::repeat_with(chunk)).into_response()
        }
    }
}

impl NodeScript {
    /// Number of requests of all methods.
    pub fn asked(&self) -> u64 {
        self.requests.values().sum()
    }

    fn handle(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        let works = self.only.as_ref().is_none_or(|only| only.contains(&method));
        if self.out_of_order || !works {
            return Err("out of order".to_owned());
        }
        self.slot = self.slot.saturating_add(1);
        let slot = self.lags_at.unwrap_or(self.slot);
        let with_context = |value: Value| json!({"context": {"slot": slot}, "value": value});
        match method {
            "getLatestBlockhash" => {
                let hash = Pubkey::new_unique().to_string();
                Ok(with_context(json!({"blockhash": hash, "lastValidBlockHeight": self.last_valid_block_height})))
            }
            "getMultipleAccounts" => {
                let addresses = params[0].as_array().cloned().unwrap_or_default();
                let accounts: Vec<Value> = addresses
                    .iter()
                    .map(|address| {
                        let address: Pubkey = address.as_str().unwrap().parse().unwrap();
                        self.accounts.get(&address).map_or(Value::Null, account_json)
                    })
                    .collect();
                Ok(with_context(json!(accounts)))
            }
            "getBlockHeight" => Ok(json!(self.finalized_height)),
            "getSlot" => Ok(json!(slot)),
            "getEpochInfo" => Ok(json!({"absoluteSlot": slot, "blockHeight": self.finalized_height})),
            "getGenesisHash" => Ok(json!("genesis")),
            "getProgramAccounts" => {
                let program = params[0].as_str().unwrap_or_default();
                let owned = self.accounts.iter().filter(|(_, account)| account.owner.to_string() == program);
                Ok(with_context(owned.map(keyed_json).collect()))
            }
            "getTokenAccountsByOwner" => {
                let tokens = self.accounts.iter().filter(|(_, account)| {
                    let token = TokenAccount::decode(account).ok();
                    token.is_some_and(|token| Some(token.owner.to_string().as_str()) == params[0].as_str())
                });
                Ok(with_context(tokens.map(keyed_json).collect()))
            }
            "getSignatureStatuses" => {
                let signatures = params[0].as_array().cloned().unwrap_or_default();
                let statuses: Vec<Value> =
                    signatures.iter().map(|signature| self.status(signature.as_str().unwrap())).collect();
                let answer = with_context(json!(statuses));
                self.status_batches.push(signatures.len());
                Ok(answer)
            }
            "simulateTransaction" => {
                let bytes = BASE64.decode(params[0].as_str().unwrap()).unwrap();
                let refused =
                    (self.refuses_simulation)(&bytes).then(|| json!({"InstructionError": [0, {"Custom": 6_000}]}));
                self.simulated.push(bytes);
                let error = self.simulation.clone().or(refused).unwrap_or(Value::Null);
                Ok(json!({"context": {"slot": self.slot}, "value": {"err": error, "logs": []}}))
            }
            "getSignaturesForAddress" => Ok(self.mentions(&params[0], &params[1])),
            "getTransaction" => {
                let found = self.history.iter().find(|(signature, ..)| Some(signature.as_str()) == params[0].as_str());
                Ok(found.map_or(Value::Null, |(_, time, _, bytes)| {
                    let transaction = [BASE64.encode(bytes), "base64".to_owned()];
                    json!({"slot": 1, "blockTime": time, "meta": {}, "transaction": transaction})
                }))
            }
            "getRecentPrioritizationFees" => {
                let block = |price: &u64| json!({"slot": slot, "prioritizationFee": price});
                Ok(self.unit_prices.iter().map(block).collect())
            }
            "getMinimumBalanceForRentExemption" => Ok(json!(self.rent)),
            "sendTransaction" => self.send(&BASE64.decode(params[0].as_str().unwrap()).unwrap()),
            other => Err(format!("{other} is not scripted")),
        }
    }

    fn mentions(&self, address: &Value, config: &Value) -> Value {
        let address: Pubkey = address.as_str().unwrap().parse().unwrap();
        let newest_first = self.history.iter().rev().filter(|(_, _, _, bytes)| {
            let transaction: VersionedTransaction = wincode::deserialize(bytes).unwrap();
            transaction.message.static_account_keys().contains(&address)
        });
        let page = newest_first
            .skip_while(|(signature, ..)| config["before"].as_str().is_some_and(|before| before != signature))
            .skip(usize::from(config["before"].is_string()))
            .take(usize::try_from(config["limit"].as_u64().unwrap()).unwrap());
        let line = |(signature, time, failed, _): &(String, i64, bool, Vec<u8>)| {
            let error = if *failed { json!({"InstructionError": [0, {"Custom": 1}]}) } else { Value::Null };
            json!({"signature": signature, "slot": 1, "err": error, "memo": null, "blockTime": time})
        };
        page.map(line).collect()
    }

    fn status(&self, signature: &str) -> Value {
        self.landed.get(signature).map_or(Value::Null, |failed| {
            let error = if *failed { json!({"InstructionError": [1, {"Custom": 6001}]}) } else { Value::Null };
            let status = if *failed { json!({"Err": error}) } else { json!({"Ok": null}) };
            json!({"slot": 5, "confirmations": null, "err": error, "status": status, "confirmationStatus": "confirmed"})
        })
    }

    fn send(&mut self, bytes: &[u8]) -> Result<Value, String> {
        self.sent.push(bytes.to_vec());
        let transaction: VersionedTransaction = wincode::deserialize(bytes).unwrap();
        let signature = transaction.signatures[0].to_string();
        match self.on_send {
            OnSend::Refuse => return Err("refused".to_owned()),
            OnSend::Drop => return Ok(json!(signature)),
            OnSend::Land | OnSend::LandButAnswerError | OnSend::LandAndFail => {}
        }
        let failed = self.on_send == OnSend::LandAndFail || (self.refuses)(bytes, &self.accounts);
        if self.landed.insert(signature.clone(), failed).is_none() && !failed {
            (self.effect)(bytes, &mut self.accounts);
        }
        if self.on_send == OnSend::LandButAnswerError {
            return Err("connection reset".to_owned());
        }
        Ok(json!(signature))
    }
}

fn keyed_json((address, account): (&Pubkey, &FetchedAccount)) -> Value {
    json!({"pubkey": address.to_string(), "account": account_json(account)})
}

fn account_json(account: &FetchedAccount) -> Value {
    json!({
        "data": [BASE64.encode(&account.data), "base64"],
        "executable": false,
        "lamports": account.lamports,
        "owner": account.owner.to_string(),
        "rentEpoch": 0,
        "space": account.data.len(),
    })
}
