//! How the demo agents are listed: price, time-out, and the metadata document.

use crtx_protocol::metadata::Metadata;
use serde_json::{Value, json};

use super::{MAX_DELAY_MS, MAX_TOP_WORDS};

/// One agent of the demo creator.
#[derive(Debug)]
pub struct DemoAgent {
    pub name: &'static str,
    /// Identifies the agent among those of its creator, on chain.
    pub index: u32,
    /// USDC base units.
    pub price: u64,
    pub timeout_seconds: u32,
    document: fn(&str) -> Metadata,
}

pub const DEMO_AGENTS: [DemoAgent; 2] = [
    DemoAgent { name: "text-stats", index: 0, price: 10_000, timeout_seconds: 60, document: text_stats },
    DemoAgent { name: "conformance-target", index: 1, price: 20_000, timeout_seconds: 5, document: conformance_target },
];

impl DemoAgent {
    /// Where the agent answers on a port of this machine.
    pub fn endpoint(&self, port: u16) -> String {
        format!("http://127.0.0.1:{port}/{}/execute", self.name)
    }

    /// The metadata document that names this endpoint.
    pub fn metadata(&self, port: u16) -> Metadata {
        (self.document)(&self.endpoint(port))
    }
}

fn text_stats(endpoint: &str) -> Metadata {
    Metadata {
        name: "text-stats".to_owned(),
        tagline: "Counts words, sentences, reading time and the most frequent words of a text.".to_owned(),
        description: "Send a text as the task. The result is a JSON object in a string: characters, words, sentences, \
                      reading time in seconds at 238 words a minute, and the most frequent words. The same text gives \
                      the same result."
            .to_owned(),
        tags: ["data", "writing"].map(str::to_owned).to_vec(),
        endpoint: endpoint.to_owned(),
        input_schema: object(
            json!({
                "top_words": {
                    "type": "integer", "minimum": 1, "maximum": MAX_TOP_WORDS, "default": 5,
                    "description": "How many of the most frequent words to name."
                }
            }),
            &[],
        ),
        output_schema: object(
            json!({
                "characters": {"type": "integer"},
                "words": {"type": "integer"},
                "sentences": {"type": "integer"},
                "reading_time_seconds": {"type": "integer"},
                "top_words": {
                    "type": "array",
                    "items": object(json!({"word": {"type": "string"}, "count": {"type": "integer"}}), &["word", "count"])
                }
            }),
            &["characters", "words", "sentences", "reading_time_seconds", "top_words"],
        ),
    }
}

fn conformance_target(endpoint: &str) -> Metadata {
    Metadata {
        name: "conformance-target".to_owned(),
        tagline: "Misbehaves on request, to show what the marketplace does about it.".to_owned(),
        description: "Choose how the creator behaves: `ok` answers as it should; `fail` reports a failure; `slow` \
                      answers after the time-out; `bad_signature`, `wrong_hash`, `wrong_execution_id`, \
                      `no_call_signature` and `other_call_signature` lie; `oversize`, `not_json` and `drop` break the \
                      connection's contract. Everything but `ok` ends in a full refund."
            .to_owned(),
        tags: ["monitoring", "security"].map(str::to_owned).to_vec(),
        endpoint: endpoint.to_owned(),
        input_schema: object(
            json!({
                "behaviour": {
                    "type": "string", "default": "ok",
                    "enum": [
                        "ok", "fail", "slow", "bad_signature", "wrong_hash", "wrong_execution_id", "no_call_signature",
                        "other_call_signature", "oversize", "not_json", "drop"
                    ]
                },
                "delay_ms": {
                    "type": "integer", "minimum": 0, "maximum": MAX_DELAY_MS, "default": 0,
                    "description": "Milliseconds to wait before behaving."
                }
            }),
            &[],
        ),
        output_schema: object(
            json!({"behaviour": {"type": "string"}, "task": {"type": "string"}}),
            &["behaviour", "task"],
        ),
    }
}

fn object(properties: Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documents_are_valid_listings() {
        for agent in &DEMO_AGENTS {
            let document = serde_json::to_vec(&agent.metadata(9)).expect("json");
            let read = Metadata::parse(&document).expect("valid");
            assert_eq!((read.name.as_str(), read.endpoint), (agent.name, agent.endpoint(9)));
        }
    }
}
