//! Reads the bytes of a document that has the right hash: form, endpoint and schema.

use crtx_http::{
    offload::{Offload, OffloadConfig},
    outbound::OutboundPolicy,
};
use crtx_protocol::metadata::Metadata;
use crtx_schema::{Schema, limits};
use serde_json::Value;

use super::queue::FETCHES;

/// Documents are not trusted, so they are parsed and their schemas compiled on a thread of their own.
const READING: OffloadConfig = OffloadConfig { threads: 1, places: FETCHES, stack_bytes: limits::STACK_BYTES };

/// Reads documents on its own thread.
pub struct Reading {
    thread: Offload,
    policy: OutboundPolicy,
}

impl Reading {
    pub fn start(policy: OutboundPolicy) -> std::io::Result<Self> {
        Ok(Self { thread: Offload::start("documents", READING)?, policy })
    }

    /// The document, or why no call could be made by it.
    pub async fn read(&self, bytes: Vec<u8>) -> Result<(Value, Metadata), String> {
        let policy = self.policy;
        let read = self.thread.run(move || read_document(&bytes, policy)).await;
        read.map_err(|error| format!("the document could not be read: {error}"))?
    }
}

/// Parses a document, and checks that calls with it are possible: a listing that cannot be called is not shown.
fn read_document(bytes: &[u8], policy: OutboundPolicy) -> Result<(Value, Metadata), String> {
    let metadata = Metadata::parse(bytes).map_err(|error| error.to_string())?;
    policy.check_url(&metadata.endpoint).map_err(|error| format!("`endpoint` is not allowed: {error}"))?;
    Schema::compile(&metadata.input_schema).map_err(|error| format!("`input_schema` is not accepted: {error}"))?;
    let document = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    Ok((document, metadata))
}
