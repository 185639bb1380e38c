//! Schemas that are built to cost more than they look: each is refused with a reason, or what it can cost is
//! counted before it is evaluated. Nothing here looks at a clock; a bomb that is not caught never ends.
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::arithmetic_side_effects, reason = "helpers of tests")]

use crtx_schema::{CheckError, Schema, SchemaError, limits};
use serde_json::{Value, json};

/// Runs on a stack of the size that the crate asks for.
fn on_its_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(limits::STACK_BYTES).spawn_scoped(scope, work);
        thread.expect("a thread").join().expect("no panic")
    })
}

fn compile(schema: &Value) -> Result<Schema, SchemaError> {
    on_its_stack(|| Schema::compile(schema))
}

fn refused(schema: &Value) -> String {
    compile(schema).expect_err("a bomb").to_string()
}

/// `definitions` of `length` schemas `d0`, `d1`, …; each made by `link` from references to the next.
fn chain(length: usize, link: impl Fn(Value) -> Value) -> Value {
    let mut definitions = serde_json::Map::new();
    for number in 0..length {
        let next = json!({"$ref": format!("#/$defs/d{}", number + 1)});
        definitions.insert(format!("d{number}"), link(next));
    }
    definitions.insert(format!("d{length}"), json!({"type": "integer"}));
    json!({"$defs": definitions, "$ref": "#/$defs/d0"})
}

/// `{"a": {"a": … }}`, so deep.
fn nested(depth: usize, wrap: impl Fn(Value) -> Value) -> Value {
    (0..depth).fold(json!(0), |value, _| wrap(value))
}

#[test]
fn a_chain_of_definitions_that_each_meet_the_value_twice_is_refused() {
    for (name, schema) in [
        ("allOf", chain(32, |next| json!({"allOf": [next, next]}))),
        ("anyOf", chain(32, |next| json!({"anyOf": [next, next]}))),
        ("oneOf", chain(32, |next| json!({"oneOf": [next, next]}))),
        ("not", chain(32, |next| json!({"not": next, "allOf": [next]}))),
        ("if", chain(32, |next| json!({"if": next, "then": next, "else": next}))),
        ("$ref with a sibling", chain(32, |next| json!({"$ref": next["$ref"], "anyOf": [next]}))),
        ("dependentSchemas", chain(32, |next| json!({"dependentSchemas": {"a": next, "b": next}}))),
        ("dependencies", chain(32, |next| json!({"dependencies": {"a": next, "b": next}}))),
        ("nested allOf", chain(32, |next| json!({"allOf": [{"allOf": [next]}, {"anyOf": [{"allOf": [next]}]}]}))),
        ("thirteen", chain(13, |next| json!({"allOf": [next, next]}))),
    ] {
        assert_eq!(compile(&schema).err(), Some(SchemaError::TooManyExpansions), "{name}");
    }
}

#[test]
fn a_chain_through_anchors_is_refused_like_one_through_pointers() {
    let mut definitions = serde_json::Map::new();
    for number in 0..40 {
        let next = json!({"$ref": format!("#d{}", number + 1)});
        definitions.insert(format!("x{number}"), json!({"$anchor": format!("d{number}"), "allOf": [next, next]}));
    }
    definitions.insert("end".to_owned(), json!({"$anchor": "d40"}));
    let schema = json!({"$defs": definitions, "$ref": "#d0"});
    assert_eq!(compile(&schema).err(), Some(SchemaError::TooManyExpansions));
}

#[test]
fn a_chain_in_places_that_no_draft_knows_is_refused_too() {
    let mut odd = serde_json::Map::new();
    for number in 0..40 {
        let next = json!({"$ref": format!("#/x-odd/d{}", number + 1)});
        odd.insert(format!("d{number}"), json!({"allOf": [next, next]}));
    }
    odd.insert("d40".to_owned(), json!({}));
    let schema = json!({"x-odd": odd, "$ref": "#/x-odd/d0"});
    assert_eq!(compile(&schema).err(), Some(SchemaError::TooManyExpansions));
}

#[test]
fn unevaluated_keywords_inside_one_another_are_counted_as_often_as_they_look() {
    let schema = (0..20)
        .fold(json!({"properties": {"a": {}}}), |inner, _| json!({"allOf": [inner], "unevaluatedProperties": false}));
    assert_eq!(compile(&schema).err(), Some(SchemaError::TooManyExpansions));
    let schema =
        (0..20).fold(json!({"prefixItems": [{}]}), |inner, _| json!({"anyOf": [inner], "unevaluatedItems": false}));
    assert_eq!(compile(&schema).err(), Some(SchemaError::TooManyExpansions));
    assert!(compile(&chain(32, |next| json!({"allOf": [next, next], "unevaluatedProperties": false}))).is_err());
}

#[test]
fn a_reference_that_never_goes_into_the_value_is_refused() {
    for schema in [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}]}),
        json!({"not": {"anyOf": [{"$ref": "#"}]}}),
        json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}),
        json!({"if": {"$ref": "#"}, "then": {}}),
    ] {
        assert_eq!(compile(&schema).err(), Some(SchemaError::EndlessReference), "{schema}");
    }
}

#[test]
fn only_references_within_the_document_are_followed() {
    for reference in [
        json!("https://example.com/schema.json"),
        json!("http://127.0.0.1:1/x"),
        json!("file:///etc/passwd"),
        json!("other.json#/$defs/a"),
        json!(""),
        json!("#/$defs/nowhere"),
        json!("#nowhere"),
        json!("#/const/a"),
        json!("#/default"),
        json!({"a": 1}),
        json!("https://json-schema.org/draft/2020-12/schema"),
    ] {
        let schema = json!({"const": {"a": {}}, "default": {}, "properties": {"a": {"$ref": reference}}});
        assert!(matches!(compile(&schema), Err(SchemaError::Reference(_))), "{reference}");
    }
}

#[test]
fn keywords_that_change_what_a_reference_means_are_refused() {
    for (schema, named) in [
        (json!({"$dynamicAnchor": "a", "items": {"$dynamicRef": "#a"}}), "$dynamic"),
        (json!({"$recursiveAnchor": true, "items": {"$recursiveRef": "#"}}), "$recursive"),
        (json!({"properties": {"a": {"$id": "https://a.example/x", "items": {"$ref": "#"}}}}), "$id"),
        (json!({"$defs": {"a": {"$schema": "http://json-schema.org/draft-04/schema#"}}}), "$schema"),
        (json!({"$vocabulary": {}}), "$vocabulary"),
        (json!({"$defs": {"a": {"$anchor": "x"}, "b": {"$anchor": "x"}}}), "$anchor"),
        (json!({"$schema": "https://a.example/meta"}), "$schema"),
        (json!({"$schema": 7}), "$schema"),
    ] {
        assert!(refused(&schema).contains(named), "{schema}: {}", refused(&schema));
    }
}

#[test]
fn the_name_of_the_root_never_leads_a_reference_elsewhere() {
    for id in ["https://json-schema.org/draft/2020-12/schema", "https://a.example/s.json", "#x", "", "::"] {
        let schema =
            json!({"$id": id, "$defs": {"a": {"type": "integer"}}, "properties": {"x": {"$ref": "#/$defs/a"}}});
        let schema = compile(&schema).expect(id);
        assert_eq!(schema.check(&json!({"x": 1})), Ok(()), "{id}");
        assert!(schema.check(&json!({"x": "y"})).is_err(), "{id}");
    }
}

#[test]
fn what_is_too_much_of_anything_is_refused_and_named() {
    let names = |count: usize, value: &Value| -> Value {
        (0..count).map(|number| (format!("n{number}"), value.clone())).collect::<serde_json::Map<_, _>>().into()
    };
    let patterns: serde_json::Map<String, Value> = (0..200).map(|number| (format!("^a{number}$"), json!({}))).collect();
    let pointers: serde_json::Map<String, Value> =
        [("k".repeat(100_000), json!({"properties": names(100, &json!({}))}))].into_iter().collect();
    for (schema, named) in [
        (json!({"description": "x".repeat(limits::MAX_BYTES)}), "bytes"),
        (json!({"enum": (0..limits::MAX_VALUES).collect::<Vec<_>>()}), "values"),
        (nested(limits::MAX_DEPTH, |inner| json!({"items": inner})), "levels"),
        (json!({"const": nested(limits::MAX_DEPTH, |inner| json!([inner]))}), "levels"),
        (json!({"properties": names(limits::MAX_SUBSCHEMAS, &json!(true))}), "subschemas"),
        (
            json!({"properties": names(limits::MAX_REFERENCES + 1, &json!({"$ref": "#/$defs/a"})), "$defs": {"a": {}}}),
            "references",
        ),
        (json!({"patternProperties": patterns}), "regular expressions"),
        (json!({"pattern": "a".repeat(limits::MAX_PATTERN_BYTES + 1)}), "regular expression"),
        (json!({"properties": pointers}), "pointers"),
    ] {
        assert!(refused(&schema).contains(named), "{named}: {}", refused(&schema));
    }
}

#[test]
fn a_regular_expression_is_small_when_it_is_compiled_and_never_looks_around() {
    for pattern in [
        "((a{100}){100}){100}",
        "(((((a{9}){9}){9}){9}){9}){9}",
        "(?:a{1000}){1000}",
        "\\p{L}{1000}",
        "(a)\\1",
        "(?=a)b",
        "(?<!a)b",
        "(",
        "[",
        "a{99999999999}",
        "(?i)(?:\\p{L}|\\p{Lu}){500}",
    ] {
        for schema in [json!({"pattern": pattern}), json!({"patternProperties": {pattern: {}}})] {
            assert!(matches!(compile(&schema), Err(SchemaError::Pattern(_))), "{pattern}");
        }
    }
    let many: Vec<Value> = (0..100).map(|number| json!({"pattern": format!("^x{number}[a-z]{{700}}$")})).collect();
    assert!(refused(&json!({"anyOf": many})).contains("compiled regular expressions"));
}

/// Accepted schemas whose cost depends on the value: the count is what stops them.
#[test]
fn a_value_that_makes_an_accepted_schema_explode_is_refused_before_it_is_evaluated() {
    let deep_object = nested(100, |inner| json!({"a": inner}));
    let deep_array = nested(100, |inner| json!([inner]));
    let reference = json!({"$ref": "#"});
    for (name, schema, value) in [
        ("items of two branches", json!({"allOf": [{"items": reference}, {"items": reference}]}), &deep_array),
        (
            "members of two branches",
            json!({"anyOf": [{"properties": {"a": reference}}, {"properties": {"a": reference}}]}),
            &deep_object,
        ),
        ("patterns that overlap", json!({"patternProperties": {"a": reference, "^a": reference}}), &deep_object),
        (
            "a member and a pattern",
            json!({"properties": {"a": reference}, "patternProperties": {"a": reference}}),
            &deep_object,
        ),
        ("contains and items", json!({"contains": reference, "items": reference}), &deep_array),
        ("unevaluated items", json!({"anyOf": [{"contains": reference}], "unevaluatedItems": reference}), &deep_array),
        (
            "unevaluated members",
            json!({"anyOf": [{"minProperties": 9}, {"additionalProperties": reference}],
            "unevaluatedProperties": reference}),
            &deep_object,
        ),
        ("front items", json!({"oneOf": [{"prefixItems": [reference]}, {"prefixItems": [reference]}]}), &deep_array),
    ] {
        let schema = compile(&schema).expect(name);
        assert_eq!(on_its_stack(|| schema.check(value)), Err(CheckError::TooCostly), "{name}");
        assert!(schema.check_if_light(value).is_none(), "{name}");
    }
}

#[test]
fn large_values_are_counted_by_what_each_keyword_reads() {
    let text = json!("a".repeat(1_000_000));
    let numbers: Value = (0..200_000).collect::<Vec<u32>>().into();
    let big_data: Vec<Value> = (0..1_000).map(|number| json!({"number": number, "text": "x".repeat(50)})).collect();
    for (name, schema, value, exceeded) in [
        ("length", json!({"minLength": 5, "maxLength": 2_000_000}), &text, false),
        ("a plain pattern", json!({"pattern": "^[a-z]+$"}), &text, false),
        ("a pattern with many states", json!({"pattern": "(a{300}|b{300}){2}$"}), &text, true),
        (
            "many patterns",
            json!({"allOf": (0..20).map(|n| json!({"pattern": format!("a{n}$")})).collect::<Vec<_>>()}),
            &text,
            true,
        ),
        ("a format", json!({"format": "uri"}), &text, false),
        ("two formats", json!({"format": "uri", "allOf": [{"format": "uri"}]}), &text, true),
        ("regular expressions as text", json!({"format": "regex"}), &text, true),
        ("integers", json!({"items": {"type": "integer", "minimum": 0}}), &numbers, false),
        ("unique items", json!({"uniqueItems": true}), &numbers, false),
        (
            "unique items, often",
            json!({"allOf": [{"uniqueItems": true}, {"uniqueItems": true, "items": {}}, {"uniqueItems": true, "title": "x"}, {"uniqueItems": true}]}),
            &numbers,
            true,
        ),
        ("a large enum", json!({"items": {"enum": big_data}}), &numbers, true),
    ] {
        let schema = compile(&schema).expect(name);
        assert_eq!(schema.cost(value).exceeded, exceeded, "{name}: {:?}", schema.cost(value));
    }
}

#[test]
fn a_mismatch_with_too_many_reasons_is_reported_without_them() {
    let branches: Vec<Value> =
        (0..50).map(|number| json!({"items": {"type": "string", "minLength": number}})).collect();
    let schema = compile(&json!({"anyOf": branches})).expect("accepted");
    let value: Value = (0..2_000).collect::<Vec<u32>>().into();
    assert!(schema.cost(&value).explanation > limits::MAX_EXPLANATION_STEPS);
    let error = on_its_stack(|| schema.check(&value)).expect_err("no branch matches");
    assert!(matches!(&error, CheckError::Mismatch { pointer, .. } if pointer.is_empty()), "{error:?}");
    let error = on_its_stack(|| schema.check(&json!([1]))).expect_err("no branch matches");
    assert!(error.to_string().contains("anyOf"), "{error}");
}

#[test]
fn a_deep_value_meets_a_recursive_schema_within_the_stack() {
    let schema =
        compile(&json!({"properties": {"a": {"$ref": "#"}}, "additionalProperties": false})).expect("accepted");
    let value = nested(126, |inner| json!({"a": inner}));
    assert_eq!(on_its_stack(|| schema.check(&value)), Ok(()));
    let steep = chain(300, |next| json!({"allOf": [{"anyOf": [next]}]}));
    let steep = compile(&steep).expect("accepted: one path only");
    assert_eq!(on_its_stack(|| steep.check(&json!(1))), Ok(()));
    assert!(on_its_stack(|| steep.check(&json!("x"))).is_err());
}
