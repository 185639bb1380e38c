//! A creator's service that does nothing but sign.

use std::sync::Arc;

use anyhow::Result;
use axum::{Json, Router, extract::State, routing::post};
use crtx_protocol::{
    call_text::OpeningId,
    result_hash::{CallProof, ResultHash, format_signature},
};
use ed25519_dalek::SigningKey;
use serde_json::{Value, json};
use solana_pubkey::Pubkey;
use tokio::net::TcpListener;

/// Serves on a free port until its runtime ends; returns the endpoint to list.
pub async fn start(key: SigningKey) -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let endpoint = format!("http://{}/execute", listener.local_addr()?);
    let router = Router::new().route("/execute", post(answer)).with_state(Arc::new(key));
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(endpoint)
}

async fn answer(State(key): State<Arc<SigningKey>>, Json(request): Json<Value>) -> Json<Value> {
    let result = format!("did {}", request["task"].as_str().unwrap_or_default());
    let hash = ResultHash::of(result.as_bytes());
    let record: Pubkey = request["execution_record"].as_str().unwrap_or_default().parse().unwrap_or_default();
    let opened_at_unix_s = request["opened_at_unix_s"].as_i64().unwrap_or_default();
    let opening = OpeningId { record: record.to_bytes(), opened_at_unix_s };
    let proof = CallProof::sign(&key, &opening, &hash);
    Json(json!({
        "execution_id": request["execution_id"],
        "status": "completed",
        "result": result,
        "result_hash": hash.to_string(),
        "signature": format_signature(&proof.signature),
        "call_signature": proof.call_signature.as_ref().map(format_signature),
        "tokens_used": 3,
    }))
}
