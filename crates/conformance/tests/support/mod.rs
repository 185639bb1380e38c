//! A creator that does everything right, until a test changes its replies.
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::arithmetic_side_effects, reason = "tests")]

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, StatusCode},
    response::Response,
    routing::post,
};
use crtx_conformance::{Example, Report, TestedEndpoint, run};
use crtx_http::outbound::{Outbound, OutboundPolicy};
use crtx_protocol::{
    call_text::OpeningId,
    result_hash::{CallProof, ResultHash, format_signature, sign_failure},
};
use ed25519_dalek::SigningKey;
use serde_json::{Map, Value, json};
use solana_pubkey::Pubkey;
use tokio::net::TcpListener;

pub fn key() -> SigningKey {
    SigningKey::from_bytes(&[7; 32])
}

/// One request, as the creator sees it.
pub struct Call {
    pub body: Value,
    /// How often its execution id came before.
    pub repetition: usize,
}

/// What the creator sends.
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(&'static str, &'static str)>,
    pub json: Value,
    /// In place of the JSON.
    pub raw: Option<Vec<u8>>,
    /// The connection is closed in the middle of the answer.
    pub breaks_off: bool,
    pub never_comes: bool,
}

pub type Change = fn(&Call, &mut Reply);

impl Call {
    pub fn task(&self) -> &str {
        self.body["task"].as_str().expect("a task")
    }

    /// The second of the opening.
    pub fn second(&self) -> i64 {
        self.body["opened_at_unix_s"].as_i64().expect("a second")
    }

    pub fn opening(&self) -> OpeningId {
        let record: Option<Pubkey> = self.body["execution_record"].as_str().and_then(|text| text.parse().ok());
        OpeningId { record: record.expect("an address").to_bytes(), opened_at_unix_s: self.second() }
    }

    /// A good answer with this result.
    pub fn completed(&self, result: &str) -> Value {
        self.signed(result, &ResultHash::of(result.as_bytes()), &key())
    }

    /// An answer whose hash and signatures are good for `hashed`, which may be something else than the result.
    pub fn hashed(&self, result: &str, hashed: impl AsRef<[u8]>) -> Value {
        self.signed(result, &ResultHash::of(hashed.as_ref()), &key())
    }

    pub fn signed(&self, result: &str, hash: &ResultHash, key: &SigningKey) -> Value {
        let proof = CallProof::sign(key, &self.opening(), hash);
        json!({
            "execution_id": self.body["execution_id"], "status": "completed", "result": result,
            "result_hash": hash.to_string(), "signature": format_signature(&proof.signature),
            "call_signature": proof.call_signature.as_ref().map(format_signature),
            "tokens_used": 5, "steps": [{"thought": "hm"}],
        })
    }

    pub fn failed(&self, error: &str) -> Value {
        json!({
            "execution_id": self.body["execution_id"], "status": "failed", "result": null, "result_hash": null,
            "signature": null, "error": error, "failure_signature": format_signature(&sign_failure(&key(), &self.opening())),
        })
    }

    /// The task; nothing for a blank one.
    pub fn result(&self) -> &str {
        if self.task().trim().is_empty() { "" } else { self.task() }
    }

    fn reply(&self) -> Reply {
        let json = match self.task() {
            "impossible" => self.failed("this cannot be done"),
            _ => self.completed(self.result()),
        };
        let headers = vec![("content-type", "application/json; charset=utf-8")];
        Reply { status: 200, headers, json, raw: None, breaks_off: false, never_comes: false }
    }
}

#[derive(Clone)]
struct Creator {
    change: Change,
    seen: Arc<Mutex<HashMap<String, usize>>>,
}

async fn execute(State(creator): State<Creator>, headers: HeaderMap, body: Bytes) -> Response {
    assert_eq!(headers["accept"], "application/json");
    assert_eq!(headers["accept-encoding"], "identity");
    assert_eq!(headers["content-type"], "application/json");
    let body: Value = serde_json::from_slice(&body).expect("json");
    let id = body["execution_id"].as_str().expect("an id").to_owned();
    let repetition = {
        let mut seen = creator.seen.lock().expect("lock");
        let count = seen.entry(id).or_default();
        *count += 1;
        *count - 1
    };
    let call = Call { body, repetition };
    let mut reply = call.reply();
    (creator.change)(&call, &mut reply);
    if reply.never_comes {
        std::future::pending::<()>().await;
    }
    let bytes = reply.raw.unwrap_or_else(|| reply.json.to_string().into_bytes());
    let body = if reply.breaks_off {
        let half = Bytes::copy_from_slice(&bytes[..bytes.len() / 2]);
        Body::from_stream(futures::stream::iter([Ok(half), Err(std::io::Error::other("closed"))]))
    } else {
        Body::from(bytes)
    };
    let mut response = Response::builder().status(StatusCode::from_u16(reply.status).expect("a status"));
    for (name, value) in reply.headers {
        response = response.header(name, value);
    }
    response.body(body).expect("a response")
}

/// Starts a creator and returns what its listing would say.
pub async fn creator(change: Change) -> TestedEndpoint {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let endpoint = format!("http://{}/execute", listener.local_addr().expect("bound"));
    let router = Router::new()
        .route("/execute", post(execute))
        .layer(axum::extract::DefaultBodyLimit::disable())
        .with_state(Creator { change, seen: Arc::default() });
    tokio::spawn(async move { axum::serve(listener, router).await });
    let example = |task: &str| Example { task: task.to_owned(), parameters: Map::new() };
    TestedEndpoint {
        endpoint,
        result_key: Pubkey::new_from_array(key().verifying_key().to_bytes()),
        binding: true,
        input_schema: json!({"type": "object", "additionalProperties": false}),
        output_schema: json!({"type": "string"}),
        timeout_seconds: 60,
        example: example("repeat this"),
        failing: Some(example("impossible")),
    }
}

pub async fn test(subject: &TestedEndpoint) -> Report {
    run(subject, &Outbound::new(OutboundPolicy::LOCAL)).await.expect("a report")
}
