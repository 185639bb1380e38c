//! What a creator's service answers, signed ("Answer of the creator" in `docs/specification.md`). [`crate::creator_answer`]
//! reads it.

use ed25519_dalek::{Signature, SignatureError, Signer};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    call_text::{self, OpeningId},
    failure_text,
    result_hash::{ResultHash, format_signature},
};

/// A result, signed for its content and for the call. `tokens_used` and `steps` are for the caller of this to add.
pub fn completed(
    key: &dyn Signer<Signature>,
    execution_id: Uuid,
    opening: &OpeningId,
    result: &str,
) -> Result<Value, SignatureError> {
    let hash = ResultHash::of(result.as_bytes());
    Ok(json!({
        "execution_id": execution_id, "status": "completed", "result": result, "result_hash": hash,
        "signature": signed(key, &hash.signed_text())?,
        "call_signature": signed(key, &call_text::of(opening, &hash.0))?,
    }))
}

/// A failure, signed for the call. `error` is shown to the caller.
pub fn failed(
    key: &dyn Signer<Signature>,
    execution_id: Uuid,
    opening: &OpeningId,
    error: &str,
) -> Result<Value, SignatureError> {
    Ok(json!({
        "execution_id": execution_id, "status": "failed", "error": error,
        "result": null, "result_hash": null, "signature": null, "call_signature": null,
        "failure_signature": signed(key, &failure_text::of(opening))?,
    }))
}

fn signed(key: &dyn Signer<Signature>, message: &[u8]) -> Result<String, SignatureError> {
    Ok(format_signature(&key.try_sign(message)?.to_bytes()))
}
