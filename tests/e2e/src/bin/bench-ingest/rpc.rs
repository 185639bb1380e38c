//! The node's JSON-RPC.

use std::sync::{Arc, atomic::Ordering};

use axum::{
    Json,
    body::{Body, Bytes},
    extract::State,
    response::{IntoResponse, Response},
};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use futures::stream;
use serde_json::{Value, json};
use solana_pubkey::Pubkey;

use super::{
    chain::{address, authority_address},
    filters::Filters,
    node_state::Node,
};

/// Text of a list that is made at once.
const PIECE: usize = 64 * 1024;
/// Most transactions in an answer.
const TRANSACTIONS: u64 = 1_000;

pub async fn answer(State(node): State<Arc<Node>>, body: Bytes) -> Response {
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let (method, params, id) = (request["method"].as_str().unwrap_or_default(), &request["params"], &request["id"]);
    node.note(method);
    if let Some(refusal) = behind(&node, params, id) {
        return Json(refusal).into_response();
    }
    let slot = slot_of(&node, params);
    let value = match method {
        "getProgramAccounts" => return program_accounts(node, &params[1], slot, id),
        "getHealth" => json!("ok"),
        "getVersion" => json!({"solana-core": "4.2.2", "feature-set": 1}),
        "getSlot" | "getBlockHeight" => json!(slot),
        "getGenesisHash" => json!(Pubkey::new_from_array([5; 32]).to_string()),
        "getLatestBlockhash" => {
            let hash = Pubkey::new_from_array([4; 32]).to_string();
            json!({"context": {"slot": slot}, "value": {"blockhash": hash, "lastValidBlockHeight": slot + 150}})
        }
        "getBalance" => json!({"context": {"slot": slot}, "value": 10_000_000_000_000_u64}),
        "getAccountInfo" => json!({"context": {"slot": slot}, "value": account(&node, &params[0], &params[1])}),
        "getMultipleAccounts" => {
            let accounts: Vec<Value> =
                params[0].as_array().into_iter().flatten().map(|text| account(&node, text, &params[1])).collect();
            json!({"context": {"slot": slot}, "value": accounts})
        }
        "getSignaturesForAddress" => transactions(&node, &params[0], &params[1], slot),
        _ => return Json(not_found(id)).into_response(),
    };
    Json(json!({"jsonrpc": "2.0", "id": id, "result": value})).into_response()
}

pub fn not_found(id: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "Method not found"}})
}

/// The configuration is the last parameter.
fn config(params: &Value) -> &Value {
    params.as_array().and_then(|params| params.last()).filter(|last| last.is_object()).unwrap_or(&Value::Null)
}

fn slot_of(node: &Node, params: &Value) -> u64 {
    if config(params)["commitment"] == "finalized" { node.slots.finalized() } else { node.slots.confirmed() }
}

/// The refusal of a node that has not reached the slot that is asked for.
fn behind(node: &Node, params: &Value, id: &Value) -> Option<Value> {
    let slot = slot_of(node, params);
    config(params)["minContextSlot"].as_u64().filter(|wanted| *wanted > slot)?;
    let message = "Minimum context slot has not been reached";
    let error = json!({"code": -32016, "message": message, "data": {"contextSlot": slot}});
    Some(json!({"jsonrpc": "2.0", "id": id, "error": error}))
}

/// An account of the program as JSON.
pub fn account_text(data: &[u8]) -> String {
    let (text, owner, space) = (BASE64.encode(data), agent_marketplace::ID, data.len());
    format!(
        r#"{{"data":["{text}","base64"],"executable":false,"lamports":3000000,"owner":"{owner}","rentEpoch":18446744073709551615,"space":{space}}}"#
    )
}

fn account(node: &Node, text: &Value, config: &Value) -> Value {
    let Some(address) = text.as_str().and_then(|text| text.parse::<Pubkey>().ok()) else { return Value::Null };
    if address == authority_address() {
        return json!({
            "data": ["", "base64"], "executable": false, "lamports": 10_000_000_000_000_u64,
            "owner": Pubkey::default().to_string(), "rentEpoch": 0, "space": 0,
        });
    }
    let Some(number) = node.chain.find(&address) else { return Value::Null };
    let data = node.chain.data(number);
    serde_json::from_str(&account_text(Filters::read(config).part(&data))).expect("JSON")
}

/// All accounts that the filters pick, made while they are sent.
fn program_accounts(node: Arc<Node>, config: &Value, slot: u64, id: &Value) -> Response {
    let filters = Filters::read(config);
    let with_context = config["withContext"] == true;
    let (begin, end) = if with_context {
        (format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"context":{{"slot":{slot}}},"value":["#), "]}}")
    } else {
        (format!(r#"{{"jsonrpc":"2.0","id":{id},"result":["#), "]}")
    };
    let list = List { node, filters, number: 0, first: true, begin: Some(begin), end };
    let pieces = stream::unfold(list, |mut list| async move {
        // Others have their turn between two pieces.
        tokio::task::yield_now().await;
        let piece = list.piece();
        (!piece.is_empty()).then(|| (Ok::<_, std::convert::Infallible>(Bytes::from(piece)), list))
    });
    ([("content-type", "application/json")], Body::from_stream(pieces)).into_response()
}

/// A list of accounts that is being sent.
struct List {
    node: Arc<Node>,
    filters: Filters,
    number: u32,
    first: bool,
    begin: Option<String>,
    end: &'static str,
}

impl List {
    /// Empty after the end.
    fn piece(&mut self) -> String {
        let mut text = self.begin.take().unwrap_or_default();
        let mut listed = 0;
        while text.len() < PIECE && self.number < self.node.chain.len() {
            let data = self.node.chain.data(self.number);
            if self.filters.pick(&data) {
                let (address, account) = (address(self.number), account_text(self.filters.part(&data)));
                let comma = if std::mem::take(&mut self.first) { "" } else { "," };
                text += &format!(r#"{comma}{{"pubkey":"{address}","account":{account}}}"#);
                listed += 1;
            }
            self.number += 1;
        }
        self.node.listed.fetch_add(listed, Ordering::Relaxed);
        if self.number == self.node.chain.len() {
            text += std::mem::take(&mut self.end);
        }
        text
    }
}

/// The signature of the transaction with that number.
fn signature(number: u64) -> String {
    let mut bytes = [7; 64];
    bytes[56..].copy_from_slice(&number.to_be_bytes());
    bs58::encode(bytes).into_string()
}

fn number_of(signature: &Value) -> Option<u64> {
    let bytes = bs58::decode(signature.as_str()?).into_vec().ok()?;
    Some(u64::from_be_bytes(bytes.get(56..64)?.try_into().ok()?))
}

/// The transactions of the program, newest first. Other accounts have none here.
fn transactions(node: &Node, of: &Value, config: &Value, slot: u64) -> Value {
    if of.as_str() != Some(agent_marketplace::ID.to_string().as_str()) {
        return json!([]);
    }
    let history = node.history.lock().expect("nobody panicked");
    let end = history.first + history.slots.len() as u64;
    let before = number_of(&config["before"]).map_or(end, |before| before.min(end));
    let from = number_of(&config["until"]).map_or(history.first, |until| (until + 1).max(history.first));
    let limit = config["limit"].as_u64().unwrap_or(TRANSACTIONS).min(TRANSACTIONS) as usize;
    let of_number = |number: u64| history.slots[(number - history.first) as usize];
    let numbers = (from..before).rev().filter(|number| of_number(*number) <= slot).take(limit);
    let transaction = |number: u64| {
        json!({
            "signature": signature(number), "slot": of_number(number), "err": null, "memo": null, "blockTime": null,
            "confirmationStatus": "confirmed",
        })
    };
    numbers.map(transaction).collect()
}
