//! Schemas as people write them are accepted, and their values are checked as the standard says.
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::arithmetic_side_effects, reason = "helpers of tests")]

use crtx_schema::{CheckError, Schema, limits};
use serde_json::{Map, Value, json};

fn on_its_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(limits::STACK_BYTES).spawn_scoped(scope, work);
        thread.expect("a thread").join().expect("no panic")
    })
}

fn compile(schema: &Value) -> Schema {
    on_its_stack(|| Schema::compile(schema)).unwrap_or_else(|error| panic!("{error}: {schema}"))
}

fn accepts(schema: &Schema, value: &Value) -> bool {
    match on_its_stack(|| schema.check(value)) {
        Ok(()) => true,
        Err(CheckError::Mismatch { .. }) => false,
        Err(CheckError::TooCostly) => panic!("{:?} for {value}", schema.cost(value)),
    }
}

#[test]
fn a_form_of_fifty_fields_is_accepted() {
    let fields: Map<String, Value> = (0..50)
        .map(|number| {
            let field = match number % 5 {
                0 => json!({"type": "string", "minLength": 1, "maxLength": 200, "description": "A field."}),
                1 => json!({"type": "integer", "minimum": 0, "maximum": 1_000, "default": 3}),
                2 => json!({"type": "string", "enum": ["a", "b", "c"]}),
                3 => json!({"type": "array", "items": {"$ref": "#/$defs/tag"}, "uniqueItems": true, "maxItems": 20}),
                _ => json!({"type": "string", "format": "date-time"}),
            };
            (format!("field{number}"), field)
        })
        .collect();
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://a.example/form.json",
        "type": "object", "properties": fields, "required": ["field0"], "additionalProperties": false,
        "$defs": {"tag": {"type": "string", "pattern": "^[a-z0-9-]{1,32}$"}},
    });
    let schema = compile(&schema);
    let good =
        json!({"field0": "x", "field1": 7, "field2": "b", "field3": ["a-b", "c"], "field4": "2026-01-31T00:00:00Z"});
    assert!(accepts(&schema, &good));
    assert!(schema.cost(&good).steps < limits::LIGHT_STEPS);
    for (field, bad) in [
        ("field1", json!(-1)),
        ("field2", json!("d")),
        ("field3", json!(["A"])),
        ("field4", json!("soon")),
        ("other", json!(1)),
    ] {
        let mut value = good.clone();
        value[field] = bad;
        assert!(!accepts(&schema, &value), "{field}");
    }
}

#[test]
fn branches_with_a_discriminator_that_hold_one_another_are_accepted() {
    let schema = compile(&json!({
        "$defs": {
            "expression": {"oneOf": [
                {"$ref": "#/$defs/all"}, {"$ref": "#/$defs/any"}, {"$ref": "#/$defs/not"}, {"$ref": "#/$defs/test"},
            ]},
            "all": {"type": "object", "required": ["op", "of"], "properties": {
                "op": {"const": "all"}, "of": {"type": "array", "items": {"$ref": "#/$defs/expression"}}}},
            "any": {"type": "object", "required": ["op", "of"], "properties": {
                "op": {"const": "any"}, "of": {"type": "array", "items": {"$ref": "#/$defs/expression"}}}},
            "not": {"type": "object", "required": ["op", "arg"], "properties": {
                "op": {"const": "not"}, "arg": {"$ref": "#/$defs/expression"}}},
            "test": {"type": "object", "required": ["op", "field", "value"], "properties": {
                "op": {"enum": ["<", "=", ">"]}, "field": {"type": "string"}, "value": {"type": ["number", "string"]}}},
        },
        "type": "object", "properties": {"where": {"$ref": "#/$defs/expression"}}, "required": ["where"],
    }));
    let test = json!({"op": "=", "field": "age", "value": 7});
    let tree = (0..6).fold(test, |inner, level| match level % 3 {
        0 => json!({"op": "all", "of": [inner.clone(), inner]}),
        1 => json!({"op": "not", "arg": inner}),
        _ => json!({"op": "any", "of": [inner]}),
    });
    assert!(accepts(&schema, &json!({"where": tree})));
    assert!(!accepts(&schema, &json!({"where": {"op": "all", "of": [{"op": "none"}]}})));
}

#[test]
fn a_tree_of_any_usual_depth_is_accepted() {
    let schema = compile(&json!({
        "$ref": "#/definitions/node",
        "definitions": {"node": {"type": "object", "required": ["name"], "additionalProperties": false, "properties": {
            "name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/definitions/node"}}}}},
    }));
    let leaf = json!({"name": "leaf"});
    let deep = (0..60).fold(leaf.clone(), |inner, _| json!({"name": "n", "children": [inner]}));
    assert!(accepts(&schema, &deep));
    let wide = json!({"name": "root", "children": vec![leaf; 20_000]});
    assert!(accepts(&schema, &wide));
    assert!(!accepts(&schema, &json!({"name": "root", "children": [{"name": 1}]})));
}

#[test]
fn schemas_of_every_draft_and_style_are_accepted() {
    for (schema, good, bad) in [
        (json!({}), json!({"anything": [1]}), None),
        (
            json!({"$schema": "http://json-schema.org/draft-04/schema#", "id": "http://a.example/x", "minimum": 1,
            "exclusiveMinimum": true}),
            json!(2),
            Some(json!(1)),
        ),
        (json!({"$schema": "http://json-schema.org/draft-06/schema#", "const": 1}), json!(1), Some(json!(2))),
        (
            json!({"$schema": "http://json-schema.org/draft-07/schema#", "$id": "http://a.example/root.json",
            "properties": {"a": {"$id": "#/properties/a", "type": "integer", "examples": [1]}}}),
            json!({"a": 1}),
            Some(json!({"a": "x"})),
        ),
        (
            json!({"$schema": "http://json-schema.org/draft-07/schema", "if": {"properties": {"a": {"const": 1}}},
            "then": {"required": ["b"]}, "else": {"required": ["c"]}}),
            json!({"a": 1, "b": 2}),
            Some(json!({"a": 1, "c": 2})),
        ),
        (
            json!({"$schema": "https://json-schema.org/draft/2019-09/schema", "items": [{"type": "integer"}],
            "additionalItems": false, "dependentRequired": {"a": ["b"]}}),
            json!([1]),
            Some(json!([1, 2])),
        ),
        (
            json!({"allOf": [{"properties": {"a": {}}}], "properties": {"b": {}}, "unevaluatedProperties": false}),
            json!({"a": 1, "b": 2}),
            Some(json!({"c": 3})),
        ),
        (json!({"prefixItems": [{"type": "string"}], "unevaluatedItems": false}), json!(["a"]), Some(json!(["a", 1]))),
        (
            json!({"contains": {"type": "string"}, "minContains": 2, "maxContains": 3}),
            json!(["a", 1, "b"]),
            Some(json!(["a"])),
        ),
        (
            json!({"components": {"schemas": {"Pet": {"required": ["name"]}}}, "$ref": "#/components/schemas/Pet"}),
            json!({"name": "x"}),
            Some(json!({})),
        ),
        (
            json!({"$defs": {"a/b": {"type": "integer"}, "c%d": {"$anchor": "here", "type": "string"}},
            "properties": {"a": {"$ref": "#/$defs/a~1b"}, "b": {"$ref": "#/$defs/c%25d"}, "c": {"$ref": "#here"}}}),
            json!({"a": 1, "b": "x", "c": "y"}),
            Some(json!({"c": 1})),
        ),
        (
            json!({"properties": {"default": {"type": "integer"}, "$id": {"type": "string"}, "enum": {"type": "array"},
            "$ref": {"type": "string"}, "properties": {"type": "object"}}}),
            json!({"default": 1, "$id": "x", "enum": [], "$ref": "y"}),
            Some(json!({"default": "x"})),
        ),
        (
            json!({"propertyNames": {"pattern": "^[a-z]+$", "maxLength": 8}, "minProperties": 1, "maxProperties": 3}),
            json!({"abc": 1}),
            Some(json!({"A": 1})),
        ),
        (
            json!({"properties": {"email": {"format": "email"}, "url": {"format": "uri"}, "id": {"format": "uuid"},
            "day": {"format": "date"}, "ip": {"format": "ipv4"}, "when": {"format": "time"}}}),
            json!({"email": "a@b.example", "url": "https://a.example/", "day": "2026-01-31"}),
            Some(json!({"day": "tomorrow"})),
        ),
        (json!(true), json!(1), None),
        (json!(false), json!(null), Some(json!(1))),
    ] {
        let compiled = compile(&schema);
        assert_eq!(accepts(&compiled, &good), schema != json!(false), "{schema} {good}");
        assert!(bad.is_none_or(|bad| !accepts(&compiled, &bad)), "{schema}");
    }
}

/// Each definition refers twice to the next, each time for another member: the value decides how much that is.
#[test]
fn definitions_that_refer_twice_to_the_next_for_different_members_are_accepted_and_cheap() {
    let mut definitions = Map::new();
    for number in 0..40 {
        let next = json!({"$ref": format!("#/$defs/d{}", number + 1)});
        definitions.insert(format!("d{number}"), json!({"properties": {"a": next, "b": next}, "items": next}));
    }
    definitions.insert("d40".to_owned(), json!({"type": "integer"}));
    let schema = compile(&json!({"$defs": definitions, "$ref": "#/$defs/d0"}));
    let value = (0..39).fold(json!({"a": 1, "b": 1}), |inner, _| json!({"a": inner, "b": {}}));
    assert!(accepts(&schema, &value));
    assert!(schema.cost(&value).steps < 2_000, "{:?}", schema.cost(&value));
}

#[test]
fn a_violation_says_where_it_is() {
    let schema = compile(&json!({"properties": {"a": {"items": {"type": "integer"}}}}));
    let error = on_its_stack(|| schema.check(&json!({"a": [1, "x"]}))).expect_err("a string");
    assert!(
        matches!(&error, CheckError::Mismatch { pointer, problem } if pointer == "/a/1" && problem.contains("integer")),
        "{error:?}"
    );
    let light = schema.check_if_light(&json!({"a": [1, "x"]})).expect("light");
    assert_eq!(light, Err(error));
}
