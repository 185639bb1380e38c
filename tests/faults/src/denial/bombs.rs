//! Attacks by listings and creators: schemas, documents and answers that are cheap to send and expensive to process.

use std::{path::Path, time::Duration};

use agent_marketplace::{
    instructions::{ListAgentArgs, MetadataRef, UpdateListingArgs},
    state::MarketParameters,
};
use anyhow::Result;
use axum::{
    Router,
    body::{Body, Bytes},
    http::header,
    response::{IntoResponse, Response},
    routing::post,
};
use crtx_protocol::{content::cid_of, result_hash::ResultHash};
use serde_json::{Value, json};
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;
use solana_signer::Signer;
use tokio::{net::TcpListener, task::JoinHandle};

use crate::market::LocalChain;

const PRICE: u64 = 10_000;
const TIMEOUT_SECONDS: u32 = 2;
const MANY_LEVELS: usize = 100_000;

/// A schema that is expensive to compile or to check, and parameters for it.
pub struct SchemaBomb {
    pub name: &'static str,
    pub schema: Value,
    pub parameters: Value,
}

/// Schema bombs of every kind.
pub fn schemas() -> Vec<SchemaBomb> {
    let bomb = |name, schema, parameters| SchemaBomb { name, schema, parameters };
    let long: Vec<String> = (0..20_000).map(|n| format!("{n:0>20}")).collect();
    vec![
        bomb("definitions that each refer twice to the next", doubling("anyOf"), json!({"a": 1})),
        bomb("allOf chains", doubling("allOf"), json!({"a": 1})),
        bomb("oneOf chains", doubling("oneOf"), json!({"a": 1})),
        bomb("a schema that refers to itself", json!({"$ref": "#"}), json!({})),
        bomb(
            "recursion through properties",
            json!({"properties": {"a": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}}}),
            nested_object(60),
        ),
        bomb("dependent schemas", doubling_through("dependentSchemas"), json!({"a": 1})),
        bomb("not of not", doubling_not(), json!({"a": 1})),
        bomb(
            "a pattern that backtracks",
            json!({"properties": {"a": {"pattern": "^(a+)+(?!b)$"}}}),
            json!({"a": "a".repeat(40) + "!"}),
        ),
        bomb(
            "a pattern that expands",
            json!({"properties": {"a": {"pattern": "^((((a{1,99}){1,99}){1,99}){1,99})$"}}}),
            json!({"a": "aaaa"}),
        ),
        bomb(
            "unique items",
            json!({"properties": {"a": {"uniqueItems": true}}}),
            json!({"a": long.iter().map(|text| json!({"k": text})).collect::<Vec<_>>()}),
        ),
        bomb(
            "many patterns for many properties",
            json!({"patternProperties": (0..500).map(|n| (format!("^.*{n}.*$"), json!({"type": "integer"}))).collect::<serde_json::Map<_, _>>()}),
            Value::Object((0..5_000).map(|n| (format!("p{n}"), json!(1))).collect()),
        ),
    ]
}

/// Returns 32 definitions, each of which refers to the next one twice: 2^32 evaluations.
fn doubling(keyword: &str) -> Value {
    let mut definitions = serde_json::Map::new();
    for level in 0..32 {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        definitions.insert(format!("d{level}"), json!({keyword: [next, next]}));
    }
    // The last definition fails, so that no shortcut ends the search.
    definitions.insert("d32".to_owned(), json!({"type": "integer"}));
    json!({"$defs": definitions, "$ref": "#/$defs/d0"})
}

fn doubling_through(keyword: &str) -> Value {
    let mut definitions = serde_json::Map::new();
    for level in 0..32 {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        definitions
            .insert(format!("d{level}"), json!({keyword: {"a": next}, "properties": {}, "if": next, "then": next}));
    }
    definitions.insert("d32".to_owned(), json!({"type": "object"}));
    json!({"$defs": definitions, "$ref": "#/$defs/d0"})
}

fn doubling_not() -> Value {
    let mut definitions = serde_json::Map::new();
    for level in 0..32 {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        definitions.insert(format!("d{level}"), json!({"not": {"anyOf": [{"not": next}, {"not": next}]}}));
    }
    definitions.insert("d32".to_owned(), json!({"type": "object"}));
    json!({"$defs": definitions, "$ref": "#/$defs/d0"})
}

fn nested_object(levels: usize) -> Value {
    (0..levels).fold(json!(1), |inner, _| json!({"a": inner}))
}

/// Documents that no honest listing has: too deep, too long, or not JSON.
pub fn documents() -> Vec<Vec<u8>> {
    let around = |schema: &str| {
        format!(
            r#"{{"name":"n","tagline":"t","description":"d","tags":["data"],"endpoint":"http://127.0.0.1:1/",
                "input_schema":{schema},"output_schema":{{}}}}"#
        )
        .into_bytes()
    };
    let (open, close) = (r#"{"not":"#.repeat(MANY_LEVELS), "}".repeat(MANY_LEVELS));
    vec![
        around(&format!("{open}{{}}{close}")),
        "[".repeat(MANY_LEVELS).into_bytes(),
        around(&format!(r#"{{"enum":[{}]}}"#, vec!["0"; 5_000_000].join(","))),
        vec![b' '; 20 * 1024 * 1024],
        around(&format!(r#"{{"properties":{{{}}}}}"#, vec![r#""a":{}"#; 300_000].join(","))),
    ]
}

/// Lists an agent with this document.
pub async fn list(
    chain: &LocalChain,
    creator: &Keypair,
    content_dir: &Path,
    index: u32,
    document: &[u8],
) -> Result<Pubkey> {
    let hash = ResultHash::of(document);
    std::fs::write(content_dir.join(cid_of(&hash)), document)?;
    let metadata = MetadataRef { hash: hash.0, uri: format!("ipfs://{}", cid_of(&hash)) };
    let args = ListAgentArgs {
        index,
        result_key: creator.pubkey(),
        price: PRICE,
        timeout_seconds: TIMEOUT_SECONDS,
        binding: false,
        min_cover: 0,
        collateral: MarketParameters::DEFAULT.required_collateral(PRICE, 0),
        metadata_hash: metadata.hash,
        metadata_uri: metadata.uri,
    };
    chain.send(&[chain.build.list_agent(&creator.pubkey(), args)], &[creator]).await?;
    Ok(chain.build.addresses.agent(&creator.pubkey(), index))
}

/// Names other content in a listing. The content is stored nowhere.
pub async fn rename(chain: &LocalChain, creator: &Keypair, agent: &Pubkey, content: &[u8]) -> Result<()> {
    let hash = ResultHash::of(content);
    let metadata = Some(MetadataRef { hash: hash.0, uri: format!("ipfs://{}", cid_of(&hash)) });
    let args = UpdateListingArgs { metadata, ..UpdateListingArgs::default() };
    chain.send(&[chain.build.update_listing(&creator.pubkey(), agent, args)], &[creator]).await
}

/// A document that is honest except for its schema and its endpoint.
pub fn document(schema: &Value, endpoint: &str) -> Vec<u8> {
    serde_json::to_vec(&json!({
        "name": "bomb", "tagline": "t", "description": "d", "tags": ["data"], "endpoint": endpoint,
        "input_schema": schema, "output_schema": {},
    }))
    .expect("json")
}

/// A creator whose answers are bombs. Each path answers with one kind.
pub struct HostileCreator {
    base_url: String,
    task: JoinHandle<()>,
}

impl HostileCreator {
    pub async fn start() -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let base_url = format!("http://{}", listener.local_addr()?);
        let (deep, wide) = (Bytes::from(deep()), Bytes::from(wide()));
        let router = Router::new()
            .route("/deep", post(move || answer(deep.clone())))
            .route("/wide", post(move || answer(wide.clone())))
            .route("/endless", post(async || stream(Duration::ZERO, 16 * 1024)))
            .route("/drip", post(async || stream(Duration::from_millis(100), 1)))
            .layer(axum::extract::DefaultBodyLimit::disable());
        let task = tokio::spawn(async move {
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { base_url, task })
    }

    pub fn endpoints(&self) -> Vec<String> {
        ["deep", "wide", "endless", "drip"].map(|path| format!("{}/{path}", self.base_url)).to_vec()
    }
}

impl Drop for HostileCreator {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(body: Bytes) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}

/// A stream of blanks: JSON whose first character never comes.
fn stream(pause: Duration, length: usize) -> Response {
    let chunks = futures::stream::unfold((), move |()| async move {
        tokio::time::sleep(pause).await;
        Some((Ok::<_, std::io::Error>(Bytes::from(vec![b' '; length])), ()))
    });
    ([(header::CONTENT_TYPE, "application/json")], Body::from_stream(chunks)).into_response()
}

fn deep() -> Vec<u8> {
    format!(r#"{{"status":"completed","result":{}"#, "[".repeat(7 * 1024 * 1024)).into_bytes()
}

fn wide() -> Vec<u8> {
    let values = vec!["0"; 3_500_000].join(",");
    format!(r#"{{"status":"completed","result":[{values}]}}"#).into_bytes()
}
