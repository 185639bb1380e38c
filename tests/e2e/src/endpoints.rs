//! The endpoints of a running service, as its own description lists them: a new one joins the tests by itself.
#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "test support")]

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::Value;

use crate::market::Market;

/// One method of one path.
#[derive(Clone, Debug)]
pub struct Endpoint {
    pub method: Method,
    /// With names of parameters in braces.
    pub path: String,
    pub operation: String,
    /// Each of these is enough: `api_key`, `session`, `session_cookie`.
    pub credentials: BTreeSet<String>,
    /// Whether it also answers without any.
    pub is_open: bool,
    pub query_parameters: Vec<String>,
    pub has_body: bool,
    /// The members of a JSON body.
    pub body_members: Vec<String>,
    pub statuses: BTreeSet<u16>,
}

/// All endpoints.
pub async fn endpoints(market: &Market) -> Vec<Endpoint> {
    let description = market.get("/openapi.json").await.body;
    let paths = description["paths"].as_object().unwrap();
    let schemas = &description["components"]["schemas"];
    let methods = paths.iter().flat_map(|(path, methods)| {
        let methods = methods.as_object().unwrap().iter();
        methods.map(move |(method, operation)| Endpoint::new(method, path, operation, schemas))
    });
    let all: Vec<_> = methods.collect();
    assert!(all.len() > 20, "{all:?}");
    all
}

impl Endpoint {
    fn new(method: &str, path: &str, operation: &Value, schemas: &Value) -> Self {
        let alternatives: Vec<BTreeSet<String>> = operation["security"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|alternative| alternative.as_object().unwrap().keys().cloned().collect())
            .collect();
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let query = parameters.filter(|parameter| parameter["in"] == "query");
        Self {
            method: method.to_uppercase().parse().unwrap(),
            path: path.to_owned(),
            operation: operation["operationId"].as_str().unwrap().to_owned(),
            is_open: alternatives.is_empty() || alternatives.iter().any(BTreeSet::is_empty),
            credentials: alternatives.into_iter().flatten().collect(),
            query_parameters: query.map(|parameter| parameter["name"].as_str().unwrap().to_owned()).collect(),
            has_body: operation.get("requestBody").is_some(),
            body_members: body_members(&operation["requestBody"], schemas),
            statuses: operation["responses"]
                .as_object()
                .unwrap()
                .keys()
                .map(|status| status.parse().unwrap())
                .collect(),
        }
    }

    /// Whether a session of a wallet makes a difference here.
    pub fn is_for_sessions(&self) -> bool {
        self.credentials.contains("session")
    }

    /// The path with a value for each parameter.
    pub fn at(&self, mut value: impl FnMut(&str) -> String) -> String {
        let segments = self.path.split('/').map(|segment| {
            let name = segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
            name.map_or_else(|| segment.to_owned(), &mut value)
        });
        segments.collect::<Vec<_>>().join("/")
    }
}

fn body_members(body: &Value, schemas: &Value) -> Vec<String> {
    let reference = body["content"]["application/json"]["schema"]["$ref"].as_str();
    let name = reference.and_then(|reference| reference.rsplit('/').next());
    let properties = name.and_then(|name| schemas[name]["properties"].as_object());
    properties.into_iter().flat_map(|properties| properties.keys().cloned()).collect()
}
