//! The types are those of the description of the API: each one reads an answer that is made from it, and has every member.

use std::collections::BTreeSet;

use serde::de::DeserializeOwned;
use serde_json::json;

use super::{super::error::ErrorCode, *};

fn schemas() -> Value {
    let text = include_str!("../../../../docs/openapi.json");
    serde_json::from_str::<Value>(text).expect("JSON")["components"]["schemas"].clone()
}

/// A value of a schema, with all members or with those alone that must be there, and null where that is possible.
fn example(schemas: &Value, schema: &Value, full: bool) -> Value {
    if let Some(name) = schema["$ref"].as_str() {
        return example(schemas, &schemas[name.rsplit('/').next().expect("a name")], full);
    }
    let ways = schema["oneOf"].as_array();
    let types: Vec<&str> = match &schema["type"] {
        Value::Array(types) => types.iter().filter_map(Value::as_str).collect(),
        one => one.as_str().into_iter().collect(),
    };
    let is_null = |way: &Value| way["type"] == "null";
    if !full && (types.contains(&"null") || ways.is_some_and(|ways| ways.iter().any(is_null))) {
        return Value::Null;
    }
    if let Some(way) = ways.and_then(|ways| ways.iter().find(|way| !is_null(way))) {
        return example(schemas, way, full);
    }
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    match (types.first().copied().unwrap_or("string"), schema["format"].as_str().unwrap_or_default()) {
        ("object", _) => {
            let required = schema["required"].as_array().cloned().unwrap_or_default();
            let members = schema["properties"].as_object().cloned().unwrap_or_default().into_iter();
            let members = members.filter(|(name, _)| full || required.contains(&json!(name)));
            members.map(|(name, schema)| (name, example(schemas, &schema, full))).collect()
        }
        ("array", _) => json!([example(schemas, &schema["items"], full)]),
        ("string", "uuid") => json!(Uuid::nil()),
        ("string", "date-time") => json!("2026-11-22T16:10:42Z"),
        ("integer", _) => json!(1),
        ("number", _) => json!(0.05),
        ("boolean", _) => json!(true),
        _ => json!("text"),
    }
}

fn check<T: DeserializeOwned + Serialize>(name: &str) {
    let schemas = schemas();
    for full in [true, false] {
        let answer = example(&schemas, &schemas[name], full);
        let read: T = serde_json::from_str(&answer.to_string()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let members = |value: &Value| value.as_object().expect("members").keys().cloned().collect::<BTreeSet<_>>();
        let written: Value = serde_json::from_str(&serde_json::to_string(&read).expect("JSON")).expect("JSON");
        let all = example(&schemas, &schemas[name], true);
        assert_eq!(members(&written), members(&all), "{name}");
    }
}

#[test]
fn the_types_have_the_members_of_the_description_of_the_api() {
    check::<ExecutionDetails>("ExecutionResponse");
    check::<ExecutionFailure>("ExecutionFailure");
    check::<ExecutionDispute>("ExecutionDispute");
    check::<ExecutionList>("ExecutionListResponse");
    check::<ExecutionSummary>("ExecutionSummary");
    check::<AgentList>("AgentListResponse");
    check::<AgentOffer>("AgentSummary");
    check::<OfferCreator>("CreatorSummary");
    check::<AgentDetails>("AgentResponse");
    check::<CreatorDetails>("CreatorDetails");
    check::<ClosedAgents>("ClosedAgentsTotals");
    check::<AgentMetrics>("AgentMetricsResponse");
    check::<WalletEventList>("EventListResponse");
    check::<WalletEvent>("Event");
    check::<WalletEventData>("EventData");
}

#[test]
fn the_codes_are_those_of_the_description_of_the_api() {
    let codes = schemas()["ErrorCode"]["enum"].as_array().expect("codes").clone();
    for code in &codes {
        let code = code.as_str().expect("text");
        assert_eq!(code.parse::<ErrorCode>().expect(code).to_string(), code);
    }
    assert_eq!(codes.len(), 24);
}
