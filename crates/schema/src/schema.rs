//! A schema that was accepted, and the check of a value against it.

use crtx_protocol::text::shortened;
use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::Value;

use crate::{
    cost::{self, EvaluationCost},
    error::{CheckError, MAX_QUOTE_CHARS, SchemaError},
    graph::Graph,
    limits,
    scan::without_names,
};

/// Lazy automata of one regular expression on one thread, in bytes.
const MAX_AUTOMATON_CACHE: usize = 64 * 1024;

/// A compiled schema within the budget.
#[derive(Debug)]
pub struct Schema {
    validator: Validator,
    graph: Graph,
}

impl Schema {
    /// Accepts and compiles a schema. Bounded in time and memory; needs [`limits::STACK_BYTES`] of stack.
    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        let draft = draft_of(schema)?;
        let graph = Graph::build(schema, draft)?;
        let patterns = PatternOptions::regex()
            .size_limit(limits::MAX_PATTERN_MEMORY.saturating_mul(2))
            .dfa_size_limit(MAX_AUTOMATON_CACHE);
        let validator = jsonschema::options()
            .offline()
            .with_draft(draft)
            .should_validate_formats(true)
            .with_pattern_options(patterns)
            .build(&without_names(schema, draft))
            .map_err(|error| SchemaError::Malformed(shortened(&error.to_string(), MAX_QUOTE_CHARS)))?;
        Ok(Self { validator, graph })
    }

    /// What checking this value costs at most.
    pub fn cost(&self, value: &Value) -> EvaluationCost {
        cost::of(&self.graph, value, limits::MAX_STEPS, limits::MAX_NESTING)
    }

    /// Checks a value if that is cheap enough for any thread; none if it is not.
    pub fn check_if_light(&self, value: &Value) -> Option<Result<(), CheckError>> {
        let cost = cost::of(&self.graph, value, limits::LIGHT_STEPS, limits::LIGHT_NESTING);
        (!cost.exceeded).then(|| self.evaluate(value, &cost))
    }

    /// Checks a value. Needs [`limits::STACK_BYTES`] of stack.
    pub fn check(&self, value: &Value) -> Result<(), CheckError> {
        let cost = self.cost(value);
        if cost.exceeded { Err(CheckError::TooCostly) } else { self.evaluate(value, &cost) }
    }

    fn evaluate(&self, value: &Value, cost: &EvaluationCost) -> Result<(), CheckError> {
        if self.validator.is_valid(value) {
            return Ok(());
        }
        if cost.explanation > limits::MAX_EXPLANATION_STEPS {
            let problem = "the value does not match, and the reasons are too many to list".to_owned();
            return Err(CheckError::Mismatch { pointer: String::new(), problem });
        }
        self.validator.validate(value).map_err(|error| CheckError::Mismatch {
            pointer: shortened(error.instance_path().as_str(), MAX_QUOTE_CHARS),
            problem: shortened(&error.to_string(), MAX_QUOTE_CHARS),
        })
    }

    /// About what the compiled schema takes in memory.
    pub const fn memory_bytes(&self) -> usize {
        self.graph.memory_bytes
    }
}

/// The draft that the root names; the newest if it names none.
fn draft_of(schema: &Value) -> Result<Draft, SchemaError> {
    let Some(name) = schema.get("$schema") else { return Ok(Draft::Draft202012) };
    let text = name.as_str().unwrap_or_default();
    let short = text.trim_end_matches('#').trim_start_matches("https://").trim_start_matches("http://");
    match short {
        "json-schema.org/draft-04/schema" => Ok(Draft::Draft4),
        "json-schema.org/draft-06/schema" => Ok(Draft::Draft6),
        "json-schema.org/draft-07/schema" => Ok(Draft::Draft7),
        "json-schema.org/draft/2019-09/schema" => Ok(Draft::Draft201909),
        "json-schema.org/draft/2020-12/schema" => Ok(Draft::Draft202012),
        _ => Err(SchemaError::Draft(shortened(text, MAX_QUOTE_CHARS))),
    }
}
