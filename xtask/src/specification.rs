//! `docs/specification.md` contains everything that the interfaces contain: the IDL of the program, and the OpenAPI
//! description of the services.

use std::{collections::BTreeSet, fs};

use anyhow::{Context, Result};
use serde_json::{Map, Value};

use crate::{markdown, workspace};

const SPECIFICATION: &str = "docs/specification.md";
/// Number of the first custom error of an Anchor program.
const FIRST_ERROR: u64 = 6_000;

fn json(path: &str) -> Result<Value> {
    let text = fs::read_to_string(workspace::root().join(path)).with_context(|| format!("cannot read {path}"))?;
    serde_json::from_str(&text).context(path.to_owned())
}

fn objects<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Map<String, Value>> {
    value.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object)
}

fn name(object: &Map<String, Value>) -> Option<&str> {
    object.get("name").and_then(Value::as_str)
}

/// Names of instructions, and of fields of accounts, arguments and events.
fn names_of_program(idl: &Value) -> BTreeSet<String> {
    let instructions = objects(idl, "instructions").filter_map(name);
    let types = objects(idl, "types").filter_map(|defined| defined.get("type"));
    let fields = types.flat_map(|defined| objects(defined, "fields")).filter_map(name);
    instructions.chain(fields).map(str::to_owned).collect()
}

/// Each error as the specification writes it: name and number.
fn errors_of_program(idl: &Value) -> Vec<String> {
    let number = |error: &Map<String, Value>| error.get("code")?.as_u64()?.checked_sub(FIRST_ERROR);
    objects(idl, "errors").filter_map(|error| Some(format!("{} {}", name(error)?, number(error)?))).collect()
}

/// Method and path of each endpoint.
fn endpoints(openapi: &Value) -> Vec<String> {
    let paths = openapi.get("paths").and_then(Value::as_object).into_iter().flatten();
    let endpoint = |(path, methods): (&String, &Value)| {
        let methods: Vec<_> = methods.as_object().into_iter().flatten().map(|(method, _)| method.clone()).collect();
        methods.into_iter().map(|method| format!("{} {path}", method.to_uppercase())).collect::<Vec<_>>()
    };
    paths.flat_map(endpoint).collect()
}

/// Names of members of bodies, of parameters, and values of enumerations, at any depth.
fn names_of_services(openapi: &Value, names: &mut BTreeSet<String>) {
    match openapi {
        Value::Object(members) => {
            if let Some(properties) = members.get("properties").and_then(Value::as_object) {
                names.extend(properties.keys().cloned());
            }
            let values = members.get("enum").and_then(Value::as_array).into_iter().flatten();
            names.extend(values.filter_map(Value::as_str).map(str::to_owned));
            if members.contains_key("in") {
                names.extend(name(members).map(str::to_owned));
            }
            members.values().for_each(|member| names_of_services(member, names));
        }
        Value::Array(items) => items.iter().for_each(|item| names_of_services(item, names)),
        _ => {}
    }
}

/// What the specification does not contain.
pub fn missing() -> Result<Vec<String>> {
    let text = fs::read_to_string(workspace::root().join(SPECIFICATION)).context(SPECIFICATION)?;
    let (idl, openapi) = (json("idl/agent_marketplace.json")?, json("docs/openapi.json")?);
    Ok(missing_in(&text, &idl, &openapi))
}

fn missing_in(text: &str, idl: &Value, openapi: &Value) -> Vec<String> {
    let code: Vec<String> = markdown::read(text).code.into_iter().map(|(_, code)| code).collect();
    let words: BTreeSet<&str> =
        code.iter().flat_map(|code| code.split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-'))).collect();
    let mut names = names_of_program(idl);
    names_of_services(openapi, &mut names);
    let sentence = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let has_error = |error: &String| [",", ".", ";"].iter().any(|end| sentence.contains(&format!("{error}{end}")));
    let has_word = |name: &str| words.contains(name.to_lowercase().as_str()) || words.contains(name);
    let missing_names = names.iter().filter(|name| !has_word(name) && !code.contains(name));
    let missing_endpoints = endpoints(openapi).into_iter().filter(|endpoint| !code.contains(endpoint));
    let missing_errors = errors_of_program(idl).into_iter().filter(|error| !has_error(error));
    let missing = missing_names.cloned().chain(missing_endpoints).chain(missing_errors);
    missing.map(|what| format!("{SPECIFICATION} does not contain `{what}`")).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_specification_contains_everything_that_the_interfaces_contain() {
        assert_eq!(missing().expect("the interfaces are read"), Vec::<String>::new());
    }

    #[test]
    fn what_is_missing_is_named() {
        let idl = json!({
            "instructions": [{"name": "open"}, {"name": "close"}],
            "types": [{"type": {"kind": "struct", "fields": [{"name": "price"}, {"name": "time"}]}}],
            "errors": [{"code": 6000, "name": "NotAdmin"}, {"code": 6001, "name": "Paused"}],
        });
        let schema = json!({"properties": {"id": {"enum": ["a", "b"]}}});
        let paths = json!({"/x": {"get": {"parameters": [{"name": "limit", "in": "query"}]}, "put": {}}});
        let openapi = json!({"paths": paths, "components": {"schemas": {"Body": schema}}});
        let text = "`open` `price` `id` `a` `GET /x`. NotAdmin 0, Paused 10.";
        let missing: Vec<_> = missing_in(text, &idl, &openapi).into_iter().collect();
        let expected = ["b", "close", "limit", "time", "PUT /x", "Paused 1"];
        assert_eq!(missing, expected.map(|what| format!("{SPECIFICATION} does not contain `{what}`")));
    }
}
