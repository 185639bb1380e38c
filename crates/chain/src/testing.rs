//! A scripted RPC node: what it answers is set by the test, what it was sent is kept for it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test double that cannot work should say so at once"
)]

pub mod program;

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard},
};

use axum::{Json, Router, extract::State, routing::post};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use serde_json::{Value, json};
use solana_pubkey::Pubkey;
use tokio::net::TcpListener;

use crate::FetchedAccount;

/// What the node does with a transaction that is sent to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnSend {
    /// Lands, and is confirmed from then on.
    Land,
    /// Lands, but the sender gets an error.
    LandButAnswerError,
    /// Lands and fails there.
    LandAndFail,
    /// Is swallowed.
    Drop,
    /// Is refused with an error.
    Refuse,
}

/// Called with the bytes of every transaction that lands for the first time: the place to change accounts.
pub type Effect = Box<dyn FnMut(&[u8], &mut HashMap<Pubkey, FetchedAccount>) + Send>;

/// Whether a transaction fails on the chain: asked before its effect.
pub type Refusal = Box<dyn Fn(&[u8], &HashMap<Pubkey, FetchedAccount>) -> bool + Send>;

pub struct Script {
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
    /// How often each method was asked for.
    pub requests: BTreeMap<String, u64>,
    /// Every other request fails while this is set.
    pub out_of_order: bool,
}

#[derive(Clone)]
pub struct FakeRpc {
    script: Arc<Mutex<Script>>,
    url: String,
}

impl FakeRpc {
    /// Starts a node on a free port; it ends with the test's runtime.
    pub async fn start() -> Self {
        let script = Arc::new(Mutex::new(Script {
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
            out_of_order: false,
        }));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("bound"));
        let router = Router::new().route("/", post(answer)).with_state(Arc::clone(&script));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { script, url }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().expect("no test panicked holding it")
    }
}

async fn answer(State(script): State<Arc<Mutex<Script>>>, Json(request): Json<Value>) -> Json<Value> {
    let method = request["method"].as_str().unwrap_or_default().to_owned();
    let result = script.lock().expect("no test panicked holding it").handle(&method, &request["params"]);
    let id = request["id"].clone();
    Json(match result {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(message) => json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32000, "message": message}}),
    })
}

impl Script {
    fn handle(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        let asked = self.requests.entry(method.to_owned()).or_default();
        *asked = asked.saturating_add(1);
        if self.out_of_order {
            return Err("out of order".to_owned());
        }
        self.slot = self.slot.saturating_add(1);
        let with_context = |value: Value| json!({"context": {"slot": self.slot}, "value": value});
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
            "getSlot" => Ok(json!(self.slot)),
            "getSignatureStatuses" => {
                let signatures = params[0].as_array().cloned().unwrap_or_default();
                let statuses: Vec<Value> =
                    signatures.iter().map(|signature| self.status(signature.as_str().unwrap())).collect();
                let answer = with_context(json!(statuses));
                self.status_batches.push(signatures.len());
                Ok(answer)
            }
            "sendTransaction" => self.send(&BASE64.decode(params[0].as_str().unwrap()).unwrap()),
            other => Err(format!("{other} is not scripted")),
        }
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
        let signature = solana_signature::Signature::try_from(bytes.get(1..65).unwrap()).unwrap().to_string();
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
