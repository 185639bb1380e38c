//! What a list shows of an agent, as JSON. It is written when the agent changes, and every page that has the agent copies
//! it.

use std::sync::Arc;

use crtx_protocol::usdc::UsdcBase;
use serde::Serialize;

use super::search::Document;

/// An agent of a list as a JSON object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShownJson {
    text: Arc<str>,
    /// Where the members end that do not change with the figures.
    texts_end: u32,
}

/// The members that a document and an address decide.
#[derive(Serialize)]
struct Texts<'a> {
    agent_id: &'a str,
    name: &'a str,
    tagline: &'a str,
    tags: &'a [String],
}

/// The other members.
#[derive(Serialize)]
pub struct Figures<'a> {
    pub binding: bool,
    pub price_per_call_usdc: UsdcBase,
    pub total_executions: u64,
    pub trust_usdc: UsdcBase,
    pub success_rate: f64,
    pub avg_execution_time_ms: u64,
    pub creator: Creator<'a>,
    pub status: &'static str,
}

#[derive(Serialize)]
pub struct Creator<'a> {
    pub pubkey: &'a str,
    pub verified: bool,
}

impl ShownJson {
    /// `None`: JSON cannot write it. No agent of the database is so.
    pub fn new(agent_id: &str, document: &Document<'_>, figures: &Figures<'_>) -> Option<Self> {
        let Document { name, tagline, tags, .. } = *document;
        let texts = serde_json::to_string(&Texts { agent_id, name, tagline, tags }).ok()?;
        Self::of_parts(texts.strip_suffix('}')?, figures)
    }

    /// The same texts with other figures.
    pub fn with(&self, figures: &Figures<'_>) -> Option<Self> {
        Self::of_parts(self.text.get(..self.texts_end as usize)?, figures)
    }

    fn of_parts(texts: &str, figures: &Figures<'_>) -> Option<Self> {
        let figures = serde_json::to_string(figures).ok()?;
        let json = [texts, ",", figures.strip_prefix('{')?].concat();
        Some(Self { text: json.into(), texts_end: u32::try_from(texts.len()).ok()? })
    }

    pub fn as_bytes(&self) -> &[u8] {
        self.text.as_bytes()
    }
}
