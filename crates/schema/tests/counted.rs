//! The bound is a bound: an evaluation of a random schema never visits more subschemas than were counted. A
//! keyword of our own in every subschema counts the visits that get to the subschema's end.
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::arithmetic_side_effects, reason = "helpers of tests")]

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use crtx_schema::{Schema, limits};
use jsonschema::{Keyword, ValidationError};
use proptest::prelude::*;
use serde_json::{Value, json};

/// `"x-visit": true` passes and `"x-visit": false` fails; both count.
struct Visited {
    passes: bool,
    visits: Arc<AtomicU64>,
}

impl<'i> Keyword<'i> for Visited {
    fn validate(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        if self.is_valid(instance) { Ok(()) } else { Err(ValidationError::custom("not this one")) }
    }

    fn is_valid(&self, _instance: &'i Value) -> bool {
        self.visits.fetch_add(1, Ordering::Relaxed);
        self.passes
    }
}

fn counted(schema: &Value, visits: &Arc<AtomicU64>) -> jsonschema::Validator {
    let visits = Arc::clone(visits);
    jsonschema::options()
        .offline()
        .with_keyword("x-visit", move |_parent: &_, value: &Value, _path| {
            Ok(Box::new(Visited { passes: value == &json!(true), visits: Arc::clone(&visits) }))
        })
        .build(schema)
        .expect("a schema")
}

fn on_its_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(limits::STACK_BYTES).spawn_scoped(scope, work);
        thread.expect("a thread").join().expect("no panic")
    })
}

/// What was counted beforehand, the visits of a check, and those of an explanation.
fn count(schema: &Value, value: &Value) -> Option<(crtx_schema::EvaluationCost, u64, u64)> {
    on_its_stack(|| {
        let cost = Schema::compile(schema).ok()?.cost(value);
        if cost.exceeded {
            return None;
        }
        let visits = Arc::new(AtomicU64::new(0));
        let validator = counted(schema, &visits);
        let valid = validator.is_valid(value);
        let checked = visits.swap(0, Ordering::Relaxed);
        if !valid {
            let _ = validator.validate(value);
        }
        Some((cost, checked, visits.load(Ordering::Relaxed)))
    })
}

/// Where nothing ends early, the count is exact: it is not a bound that bounds everything.
#[test]
fn an_evaluation_that_takes_every_branch_visits_exactly_what_was_counted() {
    let (yes, no) = (json!({"x-visit": true}), json!({"x-visit": false}));
    for (schema, value, visits) in [
        (json!({"allOf": [yes, yes, yes]}), json!(1), 3),
        (json!({"anyOf": [no, no, yes]}), json!(1), 3),
        (json!({"oneOf": [no, {"oneOf": [no, yes]}]}), json!(1), 3),
        (json!({"items": yes, "contains": no, "minContains": 0}), json!([1, 2, 3]), 6),
        (
            json!({"properties": {"a": yes}, "patternProperties": {"a": yes}, "additionalProperties": yes}),
            json!({"a": 1, "b": 2}),
            3,
        ),
        (json!({"propertyNames": yes}), json!({"a": 1, "b": 2}), 2),
        // Once checked, once more to see what it evaluates.
        (json!({"anyOf": [yes], "unevaluatedProperties": yes}), json!({}), 2),
        (json!({"anyOf": [{"anyOf": [yes]}], "unevaluatedProperties": yes}), json!({}), 3),
        (
            json!({"anyOf": [{"anyOf": [yes], "unevaluatedProperties": yes}], "unevaluatedProperties": yes}),
            json!({}),
            5,
        ),
    ] {
        let (cost, checked, _) = count(&schema, &value).expect("accepted");
        assert_eq!(checked, visits, "{schema} {value}");
        assert!(checked <= cost.visits, "{checked} of {cost:?}: {schema} {value}");
    }
}

/// A subschema of the definition `level`: it may refer to later definitions anywhere, and to all of them where
/// the value gets smaller.
fn subschema(level: usize) -> impl Strategy<Value = Value> {
    let leaf = any::<bool>().prop_map(|passes| json!({"x-visit": passes}));
    leaf.prop_recursive(3, 12, 3, move |inner| {
        let list = prop::collection::vec(inner.clone(), 1..3);
        let later = (level + 1..=3_usize).collect::<Vec<_>>();
        let part = (0..4_usize).prop_map(|target| json!({"$ref": format!("#/$defs/d{target}")}));
        let same = (!later.is_empty()).then(|| prop::sample::select(later));
        let reference = same.map_or(Just(json!({})).boxed(), |same| {
            same.prop_map(|target| json!({"$ref": format!("#/$defs/d{target}")})).boxed()
        });
        let part = prop_oneof![part, inner.clone()];
        let keyword = prop_oneof![
            list.clone().prop_map(|list| json!({"allOf": list})),
            list.clone().prop_map(|list| json!({"anyOf": list})),
            list.prop_map(|list| json!({"oneOf": list})),
            inner.clone().prop_map(|schema| json!({"not": schema})),
            (inner.clone(), inner.clone(), inner).prop_map(|(a, b, c)| json!({"if": a, "then": b, "else": c})),
            part.clone().prop_map(|schema| json!({"properties": {"a": schema}})),
            part.clone().prop_map(|schema| json!({"patternProperties": {"a|b": schema}})),
            part.clone().prop_map(|schema| json!({"additionalProperties": schema})),
            part.clone().prop_map(|schema| json!({"propertyNames": schema})),
            part.clone().prop_map(|schema| json!({"items": schema})),
            part.clone().prop_map(|schema| json!({"prefixItems": [schema]})),
            part.clone().prop_map(|schema| json!({"contains": schema, "minContains": 2})),
            part.clone().prop_map(|schema| json!({"contains": schema})),
            part.clone()
                .prop_map(|schema| json!({"dependentSchemas": {"a": schema}}))
                .prop_filter("sees the same value", |schema| !schema.to_string().contains("$ref")),
            part.clone().prop_map(|schema| json!({"unevaluatedProperties": schema})),
            part.prop_map(|schema| json!({"unevaluatedItems": schema})),
            reference,
        ];
        (prop::collection::vec(keyword, 1..4), any::<bool>()).prop_map(|(keywords, passes)| {
            let mut merged = json!({"x-visit": passes});
            for keyword in keywords {
                for (name, value) in keyword.as_object().expect("an object") {
                    merged[name] = value.clone();
                }
            }
            merged
        })
    })
}

fn schema() -> impl Strategy<Value = Value> {
    (subschema(0), subschema(1), subschema(2), subschema(3)).prop_map(
        |(a, b, c, d)| json!({"$defs": {"d0": a, "d1": b, "d2": c, "d3": d}, "$ref": "#/$defs/d0", "x-visit": true}),
    )
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![Just(json!(1)), Just(json!("b")), Just(json!(null))];
    leaf.prop_recursive(5, 24, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[abc]", inner, 0..3)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn an_evaluation_never_visits_more_than_was_counted(schema in schema(), value in value()) {
        if let Some((cost, checked, explained)) = count(&schema, &value) {
            prop_assert!(checked <= cost.visits, "{checked} of {cost:?}: {schema} {value}");
            prop_assert!(explained <= cost.steps.saturating_add(cost.explanation), "{explained} of {cost:?}: {schema} {value}");
        }
    }
}
