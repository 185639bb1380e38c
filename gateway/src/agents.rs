//! What the gateway needs of an agent's metadata document: where to send a call, and what it accepts.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use crtx_http::{ApiError, ErrorCode, outbound::OutboundPolicy};
use crtx_protocol::metadata::Metadata;
use crtx_store::executions::Executions;
use jsonschema::{PatternOptions, Validator};
use serde_json::{Map, Value};
use solana_pubkey::Pubkey;

/// Documents kept in memory. They are named by their hash, so none ever goes stale.
const CACHED: usize = 4_096;
/// Longest part of a schema violation that is quoted.
const MAX_QUOTE_CHARS: usize = 300;

/// A listing's document, ready for use.
pub struct AgentDocument {
    pub endpoint: String,
    input: Validator,
}

/// The agent, and the SHA-256 of its document.
type Name = (Pubkey, [u8; 32]);

/// Documents by agent and hash.
pub struct AgentDocuments {
    executions: Executions,
    policy: OutboundPolicy,
    cache: RwLock<HashMap<Name, Arc<AgentDocument>>>,
}

impl AgentDocuments {
    pub fn new(executions: Executions, policy: OutboundPolicy) -> Self {
        Self { executions, policy, cache: RwLock::default() }
    }

    /// The document that the listing names. An agent whose document is not there is not there.
    pub async fn get(&self, agent: &Pubkey, sha256: &[u8; 32]) -> Result<Arc<AgentDocument>, ApiError> {
        let key = (*agent, *sha256);
        if let Some(document) = self.cache.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(Arc::clone(document));
        }
        let value = self.executions.document(agent, sha256).await?;
        let value = value.ok_or_else(|| ApiError::agent_not_found(&agent.to_string()))?;
        let document = Arc::new(AgentDocument::read(&value, self.policy)?);
        let mut cache = self.cache.write().unwrap_or_else(PoisonError::into_inner);
        if cache.len() >= CACHED {
            cache.clear();
        }
        cache.insert(key, Arc::clone(&document));
        Ok(document)
    }
}

impl AgentDocument {
    fn read(value: &Value, policy: OutboundPolicy) -> Result<Self, ApiError> {
        let metadata: Metadata = serde_json::from_value(value.clone()).map_err(ApiError::internal)?;
        policy
            .check_url(&metadata.endpoint)
            .map_err(|error| unusable(&format!("its endpoint cannot be called: {error}")))?;
        // Nothing is fetched, and patterns run in linear time: the schema is the creator's text.
        let input = jsonschema::options()
            .offline()
            .should_validate_formats(true)
            .with_pattern_options(PatternOptions::regex())
            .build(&metadata.input_schema)
            .map_err(|error| unusable(&format!("its input_schema is not a usable JSON Schema: {}", quote(&error))))?;
        Ok(Self { endpoint: metadata.endpoint, input })
    }

    /// Checks `parameters` against the input schema; 400 naming the path of the first violation.
    pub fn check(&self, parameters: &Map<String, Value>) -> Result<(), ApiError> {
        let instance = Value::Object(parameters.clone());
        self.input.validate(&instance).map_err(|error| {
            let path = format!("parameters{}", error.instance_path().as_str());
            ApiError::invalid(&path, format!("does not match the agent's input_schema: {}", quote(&error)))
        })
    }
}

fn unusable(problem: &str) -> ApiError {
    ApiError::new(ErrorCode::Unavailable, format!("the agent cannot be called as it is listed: {problem}"))
}

fn quote(error: &impl ToString) -> String {
    let text = error.to_string();
    if text.chars().count() <= MAX_QUOTE_CHARS {
        return text;
    }
    text.chars().take(MAX_QUOTE_CHARS).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document(input_schema: &Value) -> Result<AgentDocument, ApiError> {
        let value = json!({
            "name": "n", "tagline": "t", "description": "d", "tags": ["data"],
            "endpoint": "https://creator.example/execute",
            "input_schema": input_schema, "output_schema": {},
        });
        AgentDocument::read(&value, OutboundPolicy::STRICT)
    }

    fn check(input_schema: &Value, parameters: Value) -> Result<(), ApiError> {
        let Value::Object(parameters) = parameters else { panic!("parameters are an object") };
        document(input_schema).expect("usable").check(&parameters)
    }

    #[test]
    fn a_violation_names_the_path() {
        let schema = json!({
            "type": "object", "required": ["mode"],
            "properties": {"mode": {"enum": ["a", "b"]}, "when": {"type": "string", "format": "date"}},
        });
        assert_eq!(check(&schema, json!({"mode": "a", "when": "2026-01-31"})), Ok(()));
        for (parameters, named) in [
            (json!({"mode": "c"}), "`parameters/mode`"),
            (json!({}), "mode"),
            (json!({"mode": "a", "when": "tomorrow"}), "`parameters/when`"),
        ] {
            let error = check(&schema, parameters).expect_err(named);
            assert_eq!(error.code, ErrorCode::InvalidRequest);
            assert!(error.message.contains(named), "{}", error.message);
        }
    }

    #[test]
    fn references_to_elsewhere_are_never_followed() {
        for reference in ["https://example.com/schema.json", "http://127.0.0.1:1/x", "file:///etc/passwd"] {
            let error = document(&json!({"properties": {"a": {"$ref": reference}}})).err().expect(reference);
            assert_eq!(error.code, ErrorCode::Unavailable);
        }
    }

    #[test]
    fn a_pattern_that_would_backtrack_forever_does_not() {
        let schema = json!({"properties": {"a": {"pattern": "^(a+)+$"}}});
        let started = std::time::Instant::now();
        assert!(check(&schema, json!({"a": format!("{}!", "a".repeat(50_000))})).is_err());
        assert!(started.elapsed() < std::time::Duration::from_secs(5));
    }

    #[test]
    fn a_schema_that_refers_to_itself_does_not_exhaust_the_stack() {
        for schema in [
            json!({"$ref": "#"}),
            json!({"allOf": [{"$ref": "#"}]}),
            json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}),
        ] {
            if let Ok(document) = document(&schema) {
                let _ = document.check(&Map::new());
            }
        }
    }

    #[test]
    fn a_long_value_is_not_quoted_in_full() {
        let schema = json!({"properties": {"a": {"type": "integer"}}});
        let error = check(&schema, json!({"a": "x".repeat(100_000)})).expect_err("not an integer");
        assert!(error.message.len() < 1_000);
    }

    #[test]
    fn an_endpoint_that_the_network_does_not_call_makes_the_agent_unusable() {
        let value = json!({
            "name": "n", "tagline": "t", "description": "d", "tags": ["data"], "endpoint": "http://127.0.0.1/execute",
            "input_schema": {}, "output_schema": {},
        });
        assert!(AgentDocument::read(&value, OutboundPolicy::STRICT).is_err());
        assert!(AgentDocument::read(&value, OutboundPolicy::LOCAL).is_ok());
    }
}
