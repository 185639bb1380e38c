//! Metadata documents in the form in which answers show them. A hash names a document, so what is kept never changes.

use std::sync::Arc;

use crtx_http::ApiError;
use crtx_store::reads::AgentDetails;
use moka::future::Cache;
use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};
use solana_pubkey::Pubkey;

/// Bytes of the documents that are kept; those that are asked for most.
const MAX_BYTES: u64 = 32 * 1024 * 1024;
/// What a document costs beyond its bytes.
const OVERHEAD: usize = 512;

/// What an answer shows of a document.
#[derive(Debug)]
pub struct AgentDocument {
    pub hash: [u8; 32],
    pub description: String,
    pub input_schema: Box<RawValue>,
    pub output_schema: Box<RawValue>,
}

impl AgentDocument {
    fn new(hash: [u8; 32], document: &Value) -> Result<Self, serde_json::Error> {
        let member = |name: &str| document.get(name).unwrap_or(&Value::Null);
        Ok(Self {
            hash,
            description: member("description").as_str().unwrap_or_default().to_owned(),
            input_schema: to_raw_value(member("input_schema"))?,
            output_schema: to_raw_value(member("output_schema"))?,
        })
    }

    fn size(&self) -> u32 {
        let parts = [self.description.len(), self.input_schema.get().len(), self.output_schema.get().len()];
        u32::try_from(parts.into_iter().fold(OVERHEAD, usize::saturating_add)).unwrap_or(u32::MAX)
    }
}

pub struct AgentDocuments {
    kept: Cache<Pubkey, Arc<AgentDocument>>,
}

impl Default for AgentDocuments {
    fn default() -> Self {
        let kept = Cache::builder().max_capacity(MAX_BYTES).weigher(|_, document: &Arc<AgentDocument>| document.size());
        Self { kept: kept.build() }
    }
}

impl AgentDocuments {
    /// The last document of this agent that was shown.
    pub async fn known(&self, agent: &Pubkey) -> Option<Arc<AgentDocument>> {
        self.kept.get(agent).await
    }

    /// The document of an agent that was read with the knowledge of `known`.
    pub async fn of(
        &self,
        agent: &AgentDetails,
        known: Option<Arc<AgentDocument>>,
    ) -> Result<Arc<AgentDocument>, ApiError> {
        let known = known.filter(|known| known.hash == agent.document_hash);
        match (known, &agent.document) {
            (Some(known), _) => Ok(known),
            (None, Some(document)) => {
                let document = AgentDocument::new(agent.document_hash, document).map_err(ApiError::internal)?;
                let document = Arc::new(document);
                self.kept.insert(agent.summary.address, Arc::clone(&document)).await;
                Ok(document)
            }
            (None, None) => Err(ApiError::internal("an agent was read without its document")),
        }
    }
}
