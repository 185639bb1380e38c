//! Reads an agent's metadata document: the endpoint and the accepted parameters.
//!
//! Strangers write both. The schema is compiled once per document and evaluated within its budget (`crtx-schema`), in
//! threads of its own unless the work is light. The endpoint is checked before any money moves.

use std::{io, sync::Arc, time::Duration};

use bytes::Bytes;
use crtx_http::{
    ApiError, ErrorCode,
    offload::{Offload, OffloadConfig, OffloadError},
    outbound::{Outbound, OutboundError, OutboundPolicy},
};
use crtx_protocol::metadata::Metadata;
use crtx_schema::{CheckError, Schema, limits};
use crtx_store::executions::Executions;
use moka::future::Cache;
use serde_json::{Map, Value};
use solana_pubkey::Pubkey;

use crate::admission::turns::Turn;

/// Approximate memory of the cached documents, in bytes. They are named by their hash, so none becomes stale.
const CACHED_BYTES: u64 = 64 * 1024 * 1024;
/// Memory of a document without its schema, and of a document that cannot be used.
const DOCUMENT_BYTES: u32 = 4 * 1024;
/// Schemas that are compiled or checked at the same time, and those that wait.
const SCHEMA_WORK: OffloadConfig = OffloadConfig { threads: 2, places: 64, stack_bytes: limits::STACK_BYTES };
/// The same for documents that are examined before they are published: one at a time of each wallet and client
/// ([`crate::examinations`]), so none of them keeps both threads.
const EXAMINATION: OffloadConfig = OffloadConfig { threads: 2, places: 32, stack_bytes: limits::STACK_BYTES };
/// Longest wait for a schema to be compiled or checked. Its budget ends the work earlier, unless the machine is busy.
const PATIENCE: Duration = Duration::from_secs(5);

/// A listing's document, compiled and checked.
pub struct AgentDocument {
    pub endpoint: String,
    input: Arc<Schema>,
    outbound: Outbound,
    work: Offload,
}

/// The agent, and the SHA-256 of its document.
type Name = (Pubkey, [u8; 32]);
/// A document that cannot be used never becomes usable, so its error is cached too.
type Known = Result<Arc<AgentDocument>, ApiError>;

/// Documents by agent and hash.
pub struct AgentDocuments {
    executions: Executions,
    outbound: Outbound,
    work: Offload,
    /// For documents that no listing names yet. Wallets cost nothing, so they never wait before calls.
    examining: Offload,
    cache: Cache<Name, Known>,
}

impl AgentDocuments {
    pub fn new(executions: Executions, outbound: Outbound) -> io::Result<Self> {
        let weight = |_: &Name, known: &Known| {
            let schema = known.as_ref().map_or(0, |document| document.input.memory_bytes());
            u32::try_from(schema).unwrap_or(u32::MAX).saturating_add(DOCUMENT_BYTES)
        };
        let cache = Cache::builder().weigher(weight).max_capacity(CACHED_BYTES).build();
        let work = Offload::start("schemas", SCHEMA_WORK)?;
        let examining = Offload::start("documents", EXAMINATION)?;
        Ok(Self { executions, outbound, work, examining, cache })
    }

    /// Returns the document that the listing names, or `agent_not_found` until the document is fetched.
    pub async fn get(&self, agent: &Pubkey, sha256: &[u8; 32]) -> Result<Arc<AgentDocument>, ApiError> {
        // Concurrent callers share one read.
        let known = self.cache.try_get_with((*agent, *sha256), async {
            let value = crtx_store::metadata::document(self.executions.pool(), agent, sha256).await?;
            let value = value.ok_or_else(|| ApiError::agent_not_found(&agent.to_string()))?;
            self.read(value).await
        });
        known.await.map_err(|error| ApiError::clone(&error))?
    }

    /// Why a listing cannot have this document: every problem. `turn` ends with the work, also if nobody waits for it.
    pub async fn problems(&self, document: Bytes, turn: Turn) -> Result<Vec<String>, ApiError> {
        let policy = self.outbound.policy();
        let read = self.examining.try_run(PATIENCE, move || {
            let _turn = turn;
            examine(&document, &policy)
        });
        match read.await {
            Ok(problems) => Ok(problems),
            Err(OffloadError::Failed) => Ok(vec!["a schema cannot be compiled".to_owned()]),
            Err(busy @ (OffloadError::Full | OffloadError::TooSlow)) => Err(try_again(busy)),
        }
    }

    /// The outer error is temporary. The inner error belongs to the document and is permanent.
    async fn read(&self, value: Value) -> Result<Known, ApiError> {
        let read = self.work.try_run(PATIENCE, move || {
            let metadata = Metadata::from_value(&value).map_err(|error| unusable(&error.to_string()))?;
            let input = Schema::compile(&metadata.input_schema);
            let input = input.map_err(|error| unusable(&format!("its input_schema is not accepted: {error}")))?;
            Ok((metadata.endpoint, Arc::new(input)))
        });
        let read = match read.await {
            Ok(read) => read,
            Err(OffloadError::Failed) => Err(unusable("its input_schema cannot be compiled")),
            Err(busy @ (OffloadError::Full | OffloadError::TooSlow)) => return Err(try_again(busy)),
        };
        Ok(read.and_then(|(endpoint, input)| {
            self.outbound.policy().check_url(&endpoint).map_err(|error| uncallable(&error))?;
            let (outbound, work) = (self.outbound.clone(), self.work.clone());
            Ok(Arc::new(AgentDocument { endpoint, input, outbound, work }))
        }))
    }
}

fn examine(document: &[u8], policy: &OutboundPolicy) -> Vec<String> {
    let metadata = match Metadata::examine(document) {
        Ok(metadata) => metadata,
        Err(problems) => return problems.iter().map(ToString::to_string).collect(),
    };
    let url = policy.check_url(&metadata.endpoint);
    let endpoint = url.err().map(|error| format!("`endpoint` cannot be called: {error}"));
    let schemas = [("input_schema", &metadata.input_schema), ("output_schema", &metadata.output_schema)];
    let refused =
        |(name, schema)| Schema::compile(schema).err().map(|error| format!("`{name}` is not accepted: {error}"));
    endpoint.into_iter().chain(schemas.into_iter().filter_map(refused)).collect()
}

impl AgentDocument {
    /// 400 with the path of the first violation of the input schema. Parameters that match are put back into the map.
    pub async fn check(&self, parameters: &mut Map<String, Value>) -> Result<(), ApiError> {
        let value = Value::Object(std::mem::take(parameters));
        let (checked, value) = match self.input.check_if_light(&value) {
            Some(checked) => (checked, value),
            None => {
                let schema = Arc::clone(&self.input);
                let work = self.work.try_run(PATIENCE, move || (schema.check(&value), value));
                work.await.map_err(|error| match error {
                    OffloadError::Failed => unusable("checking the parameters against its input_schema fails"),
                    busy => try_again(busy),
                })?
            }
        };
        checked.map_err(|error| mismatch(&error))?;
        if let Value::Object(checked) = value {
            *parameters = checked;
        }
        Ok(())
    }

    /// Before the escrow is opened, so that no caller pays for a call that cannot reach its creator.
    pub async fn check_reachable(&self) -> Result<(), ApiError> {
        match self.outbound.check_reachable(&self.endpoint).await {
            Ok(_) => Ok(()),
            Err(OutboundError::Busy) => Err(try_again(OffloadError::Full)),
            Err(error @ OutboundError::SlowName(_)) => Err(uncallable(&error).with_retry_after(Duration::from_secs(5))),
            Err(error) => Err(uncallable(&error)),
        }
    }
}

fn mismatch(error: &CheckError) -> ApiError {
    match error {
        CheckError::Mismatch { pointer, problem } => ApiError::invalid(
            &format!("parameters{pointer}"),
            format!("does not match the agent's input_schema: {problem}"),
        ),
        CheckError::TooCostly => {
            ApiError::invalid("parameters", format!("is too costly for the agent's input_schema: {error}"))
        }
    }
}

fn unusable(problem: &str) -> ApiError {
    ApiError::new(ErrorCode::Unavailable, format!("the agent cannot be called as it is listed: {problem}"))
}

fn uncallable(error: &OutboundError) -> ApiError {
    unusable(&format!("its endpoint cannot be called: {error}"))
}

fn try_again(cause: OffloadError) -> ApiError {
    ApiError::unavailable(format!("the call could not be checked: {cause}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Reads a document that a test provides; the database is not used.
    async fn read(value: Value, policy: OutboundPolicy) -> Known {
        let pool = crtx_store::PgPool::connect_lazy("postgres://nowhere").expect("a pool");
        let executions = Executions::new(pool, Duration::from_secs(1));
        let documents = AgentDocuments::new(executions, Outbound::new(policy)).expect("threads");
        documents.read(value).await.expect("read")
    }

    async fn document(input_schema: &Value) -> Known {
        let value = json!({
            "name": "n", "tagline": "t", "description": "d", "tags": ["data"],
            "endpoint": "https://creator.example/execute",
            "input_schema": input_schema, "output_schema": {},
        });
        read(value, OutboundPolicy::STRICT).await
    }

    async fn check(input_schema: &Value, parameters: Value) -> Result<(), ApiError> {
        let Value::Object(mut parameters) = parameters else { panic!("parameters are an object") };
        let before = parameters.clone();
        let checked = document(input_schema).await.expect("usable").check(&mut parameters).await;
        assert!(checked.is_err() || parameters == before, "what matches is given back");
        checked
    }

    #[tokio::test]
    async fn a_violation_names_the_path() {
        let schema = json!({
            "type": "object", "required": ["mode"],
            "properties": {"mode": {"enum": ["a", "b"]}, "when": {"type": "string", "format": "date"}},
        });
        assert_eq!(check(&schema, json!({"mode": "a", "when": "2026-01-31"})).await, Ok(()));
        for (parameters, named) in [
            (json!({"mode": "c"}), "`parameters/mode`"),
            (json!({}), "mode"),
            (json!({"mode": "a", "when": "tomorrow"}), "`parameters/when`"),
        ] {
            let error = check(&schema, parameters).await.expect_err(named);
            assert_eq!(error.code, ErrorCode::InvalidRequest);
            assert!(error.message.contains(named), "{}", error.message);
        }
    }

    #[tokio::test]
    async fn references_to_elsewhere_are_never_followed() {
        for reference in ["https://example.com/schema.json", "http://127.0.0.1:1/x", "file:///etc/passwd"] {
            let error = document(&json!({"properties": {"a": {"$ref": reference}}})).await.err().expect(reference);
            assert_eq!(error.code, ErrorCode::Unavailable);
        }
    }

    #[tokio::test]
    async fn a_small_schema_that_is_expensive_to_check_makes_the_agent_unusable() {
        let mut definitions = Map::new();
        for number in 0..32 {
            let next = json!({"$ref": format!("#/$defs/d{}", number + 1)});
            definitions.insert(format!("d{number}"), json!({"allOf": [next, next]}));
        }
        definitions.insert("d32".to_owned(), json!({}));
        for schema in [
            json!({"$defs": definitions, "$ref": "#/$defs/d0"}),
            json!({"$ref": "#"}),
            json!({"pattern": "((a{100}){100}){100}"}),
            json!({"$dynamicRef": "#a"}),
        ] {
            let error = document(&schema).await.err().expect("a bomb");
            assert_eq!(error.code, ErrorCode::Unavailable);
            assert!(error.message.contains("as it is listed: its input_schema"), "{}", error.message);
        }
    }

    #[tokio::test]
    async fn parameters_that_cost_more_than_the_budget_are_refused_and_large_ones_within_it_are_checked() {
        let twice = json!({"allOf": [{"properties": {"a": {"$ref": "#"}}}, {"properties": {"a": {"$ref": "#"}}}]});
        let deep = (0..60).fold(json!({}), |inner, _| json!({"a": inner}));
        let error = check(&twice, deep).await.expect_err("2^60");
        assert_eq!(error.code, ErrorCode::InvalidRequest);
        assert!(error.message.contains("`parameters`") && error.message.contains("costly"), "{}", error.message);
        let schema = json!({"properties": {"a": {"items": {"type": "integer"}}}});
        assert_eq!(check(&schema, json!({"a": vec![1; 20_000]})).await, Ok(()));
        let mut bad = vec![json!(1); 20_000];
        bad.push(json!("x"));
        let error = check(&schema, json!({"a": bad})).await.expect_err("a string");
        assert!(error.message.contains("`parameters/a/20000`"), "{}", error.message);
    }

    #[tokio::test]
    async fn a_long_value_is_not_quoted_in_full() {
        let schema = json!({"properties": {"a": {"type": "integer"}}});
        let error = check(&schema, json!({"a": "x".repeat(100_000)})).await.expect_err("not an integer");
        assert!(error.message.len() < 1_000);
    }

    #[tokio::test]
    async fn an_endpoint_that_the_network_does_not_call_makes_the_agent_unusable() {
        let value = json!({
            "name": "n", "tagline": "t", "description": "d", "tags": ["data"], "endpoint": "http://127.0.0.1/execute",
            "input_schema": {}, "output_schema": {},
        });
        assert!(read(value.clone(), OutboundPolicy::STRICT).await.is_err());
        assert!(read(value, OutboundPolicy::LOCAL).await.is_ok());
    }

    #[tokio::test]
    async fn an_endpoint_without_an_address_is_found_before_any_money_moves() {
        let value = json!({
            "name": "n", "tagline": "t", "description": "d", "tags": ["data"],
            "endpoint": "https://creator.invalid/execute", "input_schema": {}, "output_schema": {},
        });
        let document = read(value.clone(), OutboundPolicy::STRICT).await.expect("usable");
        let error = document.check_reachable().await.expect_err("nowhere");
        assert_eq!(error.code, ErrorCode::Unavailable);
        assert!(error.message.contains("creator.invalid"), "{}", error.message);
        let home = json!({"endpoint": "http://localhost:9/execute"});
        let mut local = value;
        local["endpoint"] = home["endpoint"].clone();
        assert_eq!(read(local, OutboundPolicy::LOCAL).await.expect("usable").check_reachable().await, Ok(()));
    }
}
