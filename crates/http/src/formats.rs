//! How texts of the API are written: patterns of addresses, hashes, identifiers and signatures, which the description adds
//! to every member and parameter of these names. So all endpoints describe them the same way, and a new member does too.

use serde_json::{Map, Value, json};
use utoipa::openapi::OpenApi;

/// The header of [`crate::credentials::MEANT_WALLET`], as people write it.
pub const MEANT_WALLET: &str = "X-Crtx-Wallet";

/// 32 bytes in base58. The pattern cannot say how many bytes a text is, so the format has a name.
const ADDRESSES: [&str; 27] = [
    "address",
    "admin",
    "agent_id",
    "agents",
    "allowed_agents",
    "associated_token_program",
    "caller",
    "config",
    "creator",
    "dispute",
    "event_authority",
    "execution_record",
    "gateway_authority",
    "grant",
    "insurance_owner",
    "pending_admin",
    "program_id",
    "pubkey",
    "resolver",
    "result_key",
    "session_public_key",
    "spender",
    "token_program",
    "treasury_owner",
    "usdc_account",
    "usdc_mint",
    "wallet",
];
const HASHES: [&str; 7] =
    ["answer_hash", "evidence_hash", "hash", "resolution_hash", "result_hash", "sha256", "terms_hash"];
const SIGNATURES: [&str; 2] = ["proof", "signature"];
const TRANSACTIONS: [&str; 3] = ["answered", "raised", "resolved"];
/// Numbers in questions to the database, which knows no larger ones.
const COUNTS: [&str; 2] = ["min_executions", "offset"];
/// Schemas whose members have these names for other things.
const EXCEPTIONS: [&str; 2] = ["NetworkSeeds", "ExplorerLinks"];

/// What a text of that name looks like.
fn format_of(name: &str) -> Option<Value> {
    let format = match name {
        "cid" => json!({"pattern": "^bafkrei[a-h][a-z2-7]{50}[aeimquy4]$"}),
        "last_four" => json!({"pattern": "^[1-9A-HJ-NP-Za-km-z]{4}$"}),
        "session_id" => json!({"pattern": "^(current|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$"}),
        "Idempotency-Key" => json!({"pattern": "^[!-~]{1,255}$"}),
        _ if ADDRESSES.contains(&name) || name == MEANT_WALLET => {
            json!({"format": "solana-address", "pattern": "^[1-9A-HJ-NP-Za-km-z]{32,44}$"})
        }
        _ if HASHES.contains(&name) => json!({"pattern": "^sha256:[0-9a-f]{64}$"}),
        _ if SIGNATURES.contains(&name) => {
            json!({"format": "ed25519-signature", "pattern": "^ed25519:[1-9A-HJ-NP-Za-km-z]{64,88}$"})
        }
        _ if TRANSACTIONS.contains(&name) => json!({"pattern": "^[1-9A-HJ-NP-Za-km-z]{64,88}$"}),
        _ => return None,
    };
    Some(format)
}

/// Adds the patterns to a description.
pub(crate) fn with_formats(openapi: OpenApi) -> OpenApi {
    let Ok(mut text) = serde_json::to_value(&openapi) else { return openapi };
    if let Some(Value::Object(schemas)) = text.pointer_mut("/components/schemas") {
        let described = schemas.iter_mut().filter(|(name, _)| !EXCEPTIONS.contains(&name.as_str()));
        described.for_each(|(_, schema)| each_object(schema, &describe_members));
    }
    if let Some(paths) = text.get_mut("paths") {
        each_object(paths, &describe_parameter);
    }
    serde_json::from_value(text).unwrap_or(openapi)
}

fn each_object(value: &mut Value, describe: &impl Fn(&mut Map<String, Value>)) {
    match value {
        Value::Object(members) => {
            describe(members);
            members.values_mut().for_each(|member| each_object(member, describe));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| each_object(item, describe)),
        _ => {}
    }
}

fn describe_members(schema: &mut Map<String, Value>) {
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.iter_mut().for_each(|(name, property)| describe(name, property));
    }
}

fn describe_parameter(parameter: &mut Map<String, Value>) {
    let name = parameter.get("name").and_then(Value::as_str).map(str::to_owned);
    if let (Some(name), Some(schema)) = (name, parameter.get_mut("schema")) {
        describe(&name, schema);
    }
}

/// Adds what is known of a text, of each text of an array, or of a number, unless its schema says more already.
fn describe(name: &str, schema: &mut Value) {
    let Value::Object(schema) = schema else { return };
    if COUNTS.contains(&name) && schema.contains_key("minimum") {
        schema.entry("maximum").or_insert_with(|| i64::MAX.into());
    }
    let is = |schema: &Map<String, Value>, kind: &str| match schema.get("type") {
        Some(Value::String(found)) => found == kind,
        Some(Value::Array(kinds)) => kinds.iter().any(|found| found == kind),
        _ => false,
    };
    if is(schema, "array") {
        if let Some(items) = schema.get_mut("items") {
            describe(name, items);
        }
        return;
    }
    let is_described = ["format", "pattern", "enum"].iter().any(|member| schema.contains_key(*member));
    if !is_described
        && is(schema, "string")
        && let Some(Value::Object(format)) = format_of(name)
    {
        schema.extend(format);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_known_names_have_their_pattern_wherever_they_are() {
        let openapi = json!({
            "openapi": "3.1.0", "info": {"title": "t", "version": "1"},
            "paths": {"/a/{cid}": {"get": {"responses": {}, "parameters": [
                {"name": "cid", "in": "path", "required": true, "schema": {"type": "string"}}]}}},
            "components": {"schemas": {
                "A": {"type": "object", "properties": {
                    "wallet": {"type": "string"}, "hash": {"type": ["string", "null"]}, "other": {"type": "string"},
                    "allowed_agents": {"type": "array", "items": {"type": "string"}},
                    "creator": {"type": "object"}}},
                "NetworkSeeds": {"type": "object", "properties": {"creator": {"type": "string"}}}}}
        });
        let described = with_formats(serde_json::from_value(openapi).expect("a description"));
        let text = serde_json::to_value(described).expect("json");
        let at = |path: &str| text.pointer(path).cloned();
        let members = "/components/schemas/A/properties";
        assert_eq!(at(&format!("{members}/wallet/format")), Some(json!("solana-address")));
        assert_eq!(at(&format!("{members}/allowed_agents/items/format")), Some(json!("solana-address")));
        assert_eq!(at(&format!("{members}/hash/pattern")), Some(json!("^sha256:[0-9a-f]{64}$")));
        assert_eq!(at(&format!("{members}/other/pattern")), None);
        assert_eq!(at(&format!("{members}/creator/pattern")), None);
        assert_eq!(at("/components/schemas/NetworkSeeds/properties/creator/pattern"), None);
        let parameter = at("/paths/~1a~1{cid}/get/parameters/0/schema/pattern");
        assert_eq!(parameter, Some(json!("^bafkrei[a-h][a-z2-7]{50}[aeimquy4]$")));
    }
}
