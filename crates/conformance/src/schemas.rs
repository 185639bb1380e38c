//! The schemas of a listing, and the checks against them. All of it needs a large stack.

use crtx_protocol::creator_answer::fits_in_memory;
use crtx_schema::{CheckError, Schema};
use serde_json::Value;

use crate::{
    limits::MAX_RESULT_MEMORY,
    quote,
    report::{Check, CheckName},
    subject::TestedEndpoint,
};

/// The schema of results, or why it is not accepted.
#[derive(Debug)]
pub struct OutputSchema(Result<Schema, String>);

impl OutputSchema {
    pub fn compile(schema: &Value) -> Self {
        Self(accept(schema))
    }

    /// Whether a result matches. A result is the text itself or, if the text is JSON, the value in it: a schema that
    /// describes a string describes the text, any other schema the value.
    pub fn check(&self, result: &str) -> Check {
        const NAME: CheckName = CheckName::OutputSchema;
        let schema = match &self.0 {
            Ok(schema) => schema,
            Err(problem) => {
                let fix = "Change `output_schema`: its rules are under \"Accepted schemas\" in the specification.";
                return Check::failed(NAME, format!("`output_schema` is not accepted: {problem}"), fix);
            }
        };
        if schema.check(&Value::String(result.to_owned())).is_ok() {
            return Check::passed(NAME, "the text matches");
        }
        if !fits_in_memory(result, MAX_RESULT_MEMORY) {
            let fix = "Return the JSON value that `output_schema` describes as a string, or describe a string.";
            return Check::failed(NAME, format!("the result is not JSON: {}", quote::text(result)), fix);
        }
        let value: Value = serde_json::from_str(result).unwrap_or_default();
        match schema.check(&value) {
            Ok(()) => Check::passed(NAME, "the JSON value in the result matches"),
            Err(error) => {
                Check::failed(NAME, problem(&error), "Change the result or `output_schema` so that they agree.")
            }
        }
    }
}

/// Whether the input schema is accepted, and the example's parameters match it.
pub fn check_input(subject: &TestedEndpoint) -> Check {
    const NAME: CheckName = CheckName::InputSchema;
    let schema = match accept(&subject.input_schema) {
        Ok(schema) => schema,
        Err(problem) => {
            let fix = "Change `input_schema`: its rules are under \"Accepted schemas\" in the specification.";
            return Check::failed(NAME, format!("`input_schema` is not accepted: {problem}"), fix);
        }
    };
    match schema.check(&Value::Object(subject.example.parameters.clone())) {
        Ok(()) => Check::passed(NAME, "the parameters match"),
        Err(error) => Check::failed(
            NAME,
            format!("the parameters do not match: {}", problem(&error)),
            "Change the parameters of the example or `input_schema`: callers' parameters are checked before a call.",
        ),
    }
}

fn accept(schema: &Value) -> Result<Schema, String> {
    if !schema.is_object() {
        return Err("it is not a JSON object".to_owned());
    }
    Schema::compile(schema).map_err(|error| quote::text(&error.to_string()))
}

fn problem(error: &CheckError) -> String {
    match error {
        CheckError::Mismatch { pointer, problem } if !pointer.is_empty() => {
            quote::text(&format!("at `{pointer}`: {problem}"))
        }
        error => quote::text(&error.to_string()),
    }
}
