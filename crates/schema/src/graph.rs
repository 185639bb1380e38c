//! A schema as a graph of what an evaluation may visit. An edge leads to a subschema that sees the same value,
//! or to one that sees a part of it. The edges that keep the value form no cycle, and the number of subschemas
//! that one value can meet through them is bounded ([`limits::MAX_EXPANSIONS`]).

use std::collections::HashMap;

use crtx_protocol::text::shortened;
use jsonschema::Draft;
use serde_json::{Map, Value};

use crate::{
    error::{MAX_QUOTE_CHARS, SchemaError},
    limits,
    patterns::Patterns,
    scan::Places,
};

/// Steps for each byte of text that `format` looks at; regular expressions as text are parsed.
const FORMAT_STEPS: u64 = 4;
const REGEX_FORMAT_STEPS: u64 = 32;
/// Memory of a compiled subschema beyond its own text.
const NODE_MEMORY: usize = 2_048;

#[derive(Debug)]
pub(crate) struct Graph {
    pub nodes: Vec<Subschema>,
    /// About what the compiled schema takes in memory.
    pub memory_bytes: usize,
}

/// One subschema.
#[derive(Debug, Default)]
pub(crate) struct Subschema {
    /// Steps for each visit, whatever the value is.
    pub steps: u64,
    /// Steps for each byte, if the value is text.
    pub text_steps: u64,
    /// Whether the value's parts are compared with one another.
    pub unique: bool,
    /// `unevaluatedProperties` and `unevaluatedItems`: each looks at everything below `same` once more.
    pub marks: u64,
    /// Subschemas that see the same value.
    pub same: Vec<Same>,
    pub properties: HashMap<String, usize>,
    /// The regular expressions of `patternProperties`: steps per byte of a name, and the schema of what matches.
    pub patterns: Vec<(u64, usize)>,
    /// See every member whose name `properties` does not list.
    pub other_members: Vec<usize>,
    /// See the names of members.
    pub names: Vec<usize>,
    /// One for each item at the front.
    pub front_items: Vec<usize>,
    /// See every item; an evaluation for another keyword may look again.
    pub items: Vec<usize>,
    pub contains: Vec<usize>,
    pub unevaluated: Vec<usize>,
}

/// An edge to a subschema that sees the same value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Same {
    pub node: usize,
    /// The evaluation finds a mismatch first and explains it then: two visits.
    pub explained: bool,
}

impl Graph {
    pub fn build(root: &Value, draft: Draft) -> Result<Self, SchemaError> {
        let places = Places::find(root, draft)?;
        let mut patterns = Patterns::default();
        let nodes: Vec<Subschema> = places
            .schemas
            .iter()
            .map(|schema| Subschema::read(schema, &places, &mut patterns))
            .collect::<Result<_, _>>()?;
        let memory_bytes = nodes
            .len()
            .saturating_mul(NODE_MEMORY)
            .saturating_add(patterns.memory_bytes())
            .saturating_add(limits::MAX_BYTES);
        let graph = Self { nodes, memory_bytes };
        if graph.expansions()?.into_iter().any(|expansions| expansions > limits::MAX_EXPANSIONS) {
            return Err(SchemaError::TooManyExpansions);
        }
        Ok(graph)
    }

    /// For each subschema, how many subschemas a value meets at most that is checked against it. Linear in the
    /// size of the graph: a subschema is counted when everything below it has been.
    pub fn expansions(&self) -> Result<Vec<u64>, SchemaError> {
        // What one check costs, and what one look for evaluated parts costs (`Subschema::marks`).
        let mut checked = vec![0_u64; self.nodes.len()];
        let mut marked = vec![0_u64; self.nodes.len()];
        for place in self.innermost_first()? {
            let Some(node) = self.nodes.get(place) else { continue };
            let (mut check, mut mark) = (1_u64, 0_u64);
            for same in &node.same {
                let below = checked.get(same.node).copied().unwrap_or(u64::MAX);
                let marked_below = marked.get(same.node).copied().unwrap_or(u64::MAX);
                check = check.saturating_add(below);
                mark = mark.saturating_add(below).saturating_add(marked_below);
            }
            check = check.saturating_add(mark.saturating_mul(node.marks));
            if let (Some(checked), Some(marked)) = (checked.get_mut(place), marked.get_mut(place)) {
                (*checked, *marked) = (check, mark);
            }
        }
        Ok(checked)
    }

    /// All subschemas in an order in which each comes after those that see the same value as it does.
    fn innermost_first(&self) -> Result<Vec<usize>, SchemaError> {
        let mut callers: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        let mut open: Vec<usize> = self.nodes.iter().map(|node| node.same.len()).collect();
        for (place, node) in self.nodes.iter().enumerate() {
            for same in &node.same {
                if let Some(callers) = callers.get_mut(same.node) {
                    callers.push(place);
                }
            }
        }
        let mut order: Vec<usize> =
            open.iter().enumerate().filter(|(_, open)| **open == 0).map(|(place, _)| place).collect();
        let mut next = 0_usize;
        while let Some(place) = order.get(next).copied() {
            next = next.saturating_add(1);
            for caller in callers.get(place).into_iter().flatten() {
                if let Some(open) = open.get_mut(*caller) {
                    *open = open.saturating_sub(1);
                    if *open == 0 {
                        order.push(*caller);
                    }
                }
            }
        }
        if order.len() == self.nodes.len() { Ok(order) } else { Err(SchemaError::EndlessReference) }
    }
}

impl Subschema {
    fn read(schema: &Value, places: &Places<'_>, patterns: &mut Patterns) -> Result<Self, SchemaError> {
        let mut node = Self { steps: 1, ..Self::default() };
        let Value::Object(object) = schema else { return Ok(node) };
        for (keyword, value) in object {
            node.steps = node.steps.saturating_add(1).saturating_add(fixed_steps(keyword, value));
            node.keyword(keyword, value, places, patterns)?;
        }
        node.conditions(object, places);
        Ok(node)
    }

    fn keyword(
        &mut self,
        keyword: &str,
        value: &Value,
        places: &Places<'_>,
        patterns: &mut Patterns,
    ) -> Result<(), SchemaError> {
        let one = || places.at(value);
        let list = || value.as_array().into_iter().flatten().filter_map(|item| places.at(item));
        let map = || value.as_object().into_iter().flatten();
        match (keyword, value) {
            ("$ref", Value::String(reference)) => {
                self.same.push(Same { node: places.resolve(reference)?, explained: false });
            }
            ("$ref", _) => return Err(SchemaError::Reference(shortened(&value.to_string(), MAX_QUOTE_CHARS))),
            ("allOf", _) => self.same.extend(list().map(|node| Same { node, explained: false })),
            ("anyOf" | "oneOf", _) => self.same.extend(list().map(|node| Same { node, explained: true })),
            ("not", _) => self.same.extend(one().map(|node| Same { node, explained: true })),
            ("dependentSchemas" | "dependencies", _) => {
                let schemas = map().filter_map(|(_, schema)| places.at(schema));
                self.same.extend(schemas.map(|node| Same { node, explained: false }));
            }
            ("properties", _) => {
                self.properties.extend(map().filter_map(|(name, schema)| Some((name.clone(), places.at(schema)?))));
            }
            ("patternProperties", _) => {
                for (pattern, schema) in map() {
                    let steps = patterns.admit(pattern)?;
                    self.patterns.extend(places.at(schema).map(|node| (steps, node)));
                }
            }
            ("additionalProperties", _) => self.other_members.extend(one()),
            ("propertyNames", _) => self.names.extend(one()),
            ("prefixItems" | "items", Value::Array(_)) => self.front_items.extend(list()),
            ("items" | "additionalItems", _) => self.items.extend(one()),
            ("contains", _) => self.contains.extend(one()),
            ("unevaluatedProperties" | "unevaluatedItems", _) => {
                self.marks = self.marks.saturating_add(1);
                self.unevaluated.extend(one());
            }
            ("uniqueItems", _) => self.unique = true,
            ("pattern", Value::String(pattern)) => {
                self.text_steps = self.text_steps.saturating_add(patterns.admit(pattern)?);
            }
            ("format", Value::String(format)) => {
                let steps = if format == "regex" { REGEX_FORMAT_STEPS } else { FORMAT_STEPS };
                self.text_steps = self.text_steps.saturating_add(steps);
            }
            ("minLength" | "maxLength", _) => self.text_steps = self.text_steps.saturating_add(1),
            ("contentEncoding" | "contentMediaType" | "contentSchema", _) => {
                self.text_steps = self.text_steps.saturating_add(REGEX_FORMAT_STEPS);
            }
            _ => {}
        }
        Ok(())
    }

    /// `if` without a branch is not evaluated, and a branch without `if` neither; counting them costs nothing.
    fn conditions(&mut self, object: &Map<String, Value>, places: &Places<'_>) {
        for keyword in ["if", "then", "else"] {
            let node = object.get(keyword).and_then(|schema| places.at(schema));
            self.same.extend(node.map(|node| Same { node, explained: keyword == "if" }));
        }
    }
}

/// Steps of a keyword at each visit that grow with its own size: names to look up, values to compare with.
fn fixed_steps(keyword: &str, value: &Value) -> u64 {
    match keyword {
        "enum" | "const" => data_steps(value),
        "required" | "properties" | "dependentRequired" | "dependencies" | "dependentSchemas" => entries(value),
        _ => 0,
    }
}

/// Entries of a list or a map, and of the lists within.
fn entries(value: &Value) -> u64 {
    match value {
        Value::Array(items) => items.len() as u64,
        Value::Object(members) => members
            .values()
            .fold(members.len() as u64, |sum, member| sum.saturating_add(member.as_array().map_or(0, Vec::len) as u64)),
        _ => 0,
    }
}

/// Steps to compare with all of a value: one for each part of it, and for each eight bytes of text.
fn data_steps(value: &Value) -> u64 {
    let text = |text: &str| (text.len() as u64 / 8).saturating_add(1);
    match value {
        Value::String(string) => text(string),
        Value::Array(items) => items.iter().fold(1, |sum: u64, item| sum.saturating_add(data_steps(item))),
        Value::Object(members) => members
            .iter()
            .fold(1, |sum: u64, (name, member)| sum.saturating_add(text(name)).saturating_add(data_steps(member))),
        _ => 1,
    }
}
