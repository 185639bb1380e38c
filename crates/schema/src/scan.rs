//! Finds every subschema of a schema, and refuses what cannot be bounded: too much of anything, and the
//! keywords that change what a reference means.

use std::collections::HashMap;

use crtx_protocol::text::shortened;
use jsonschema::Draft;
use serde_json::{Map, Value};

use crate::{
    error::{MAX_QUOTE_CHARS, SchemaError},
    limits,
};

/// Keywords whose value is data, not a schema.
const DATA: [&str; 5] = ["const", "enum", "default", "examples", "example"];
/// Keywords whose value maps names to schemas.
const MAPS: [&str; 6] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];
/// Keywords with which the target of a reference depends on the path of the evaluation.
const REFUSED: [&str; 5] = ["$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor", "$vocabulary"];

/// All places of a schema that hold a schema.
pub(crate) struct Places<'a> {
    pub schemas: Vec<&'a Value>,
    /// By address: a reference leads to a value of the same document.
    index: HashMap<*const Value, usize>,
    anchors: HashMap<&'a str, usize>,
    pointer_bytes: usize,
    references: usize,
    /// What the draft calls the name of a schema.
    id: &'static str,
}

impl<'a> Places<'a> {
    /// Walks the whole document once.
    pub fn find(root: &'a Value, draft: Draft) -> Result<Self, SchemaError> {
        check_size(root)?;
        let mut places = Self {
            schemas: Vec::new(),
            index: HashMap::new(),
            anchors: HashMap::new(),
            pointer_bytes: 0,
            references: 0,
            id: id_keyword(draft),
        };
        places.schema(root, 0)?;
        Ok(places)
    }

    /// The number of the subschema at this very value, if one is there.
    pub fn at(&self, value: &Value) -> Option<usize> {
        self.index.get(&std::ptr::from_ref(value)).copied()
    }

    /// The subschema that a `$ref` names.
    pub fn resolve(&self, reference: &str) -> Result<usize, SchemaError> {
        let unresolved = || SchemaError::Reference(shortened(reference, MAX_QUOTE_CHARS));
        let fragment = reference.strip_prefix('#').ok_or_else(unresolved)?;
        let fragment = percent_encoding::percent_decode_str(fragment).decode_utf8().map_err(|_| unresolved())?;
        if fragment.is_empty() || fragment.starts_with('/') {
            let root = self.schemas.first().ok_or_else(unresolved)?;
            let target = root.pointer(&fragment).ok_or_else(unresolved)?;
            return self.at(target).ok_or_else(unresolved);
        }
        self.anchors.get(fragment.as_ref()).copied().ok_or_else(unresolved)
    }

    fn schema(&mut self, value: &'a Value, pointer_bytes: usize) -> Result<(), SchemaError> {
        let place = self.schemas.len();
        let object = match value {
            Value::Object(object) => Some(object),
            Value::Bool(_) => None,
            _ => return Ok(()),
        };
        self.schemas.push(value);
        self.index.insert(std::ptr::from_ref(value), place);
        self.pointer_bytes = self.pointer_bytes.saturating_add(pointer_bytes);
        over(self.schemas.len(), limits::MAX_SUBSCHEMAS, "subschemas")?;
        over(self.pointer_bytes, limits::MAX_POINTER_BYTES, "bytes of JSON pointers")?;
        object.map_or(Ok(()), |object| self.object(object, place, pointer_bytes))
    }

    fn object(
        &mut self,
        object: &'a Map<String, Value>,
        place: usize,
        pointer_bytes: usize,
    ) -> Result<(), SchemaError> {
        if place > 0 {
            let names_a_resource = |name: &Value| name.as_str().is_some_and(|name| !name.starts_with('#'));
            if object.get(self.id).is_some_and(names_a_resource) {
                return Err(SchemaError::Keyword(format!("`{}` below the root", self.id)));
            }
            if object.get("$schema").is_some_and(Value::is_string) {
                return Err(SchemaError::Keyword("`$schema` below the root".to_owned()));
            }
        }
        if let Some(keyword) = REFUSED.into_iter().find(|keyword| object.contains_key(*keyword)) {
            return Err(SchemaError::Keyword(format!("`{keyword}`")));
        }
        if object.contains_key("$ref") {
            self.references = self.references.saturating_add(1);
            over(self.references, limits::MAX_REFERENCES, "references")?;
        }
        if let Some(Value::String(anchor)) = object.get("$anchor")
            && self.anchors.insert(anchor, place).is_some()
        {
            return Err(SchemaError::Keyword("the same `$anchor` twice".to_owned()));
        }
        for (keyword, value) in object {
            let below = pointer_bytes.saturating_add(keyword.len()).saturating_add(1);
            match value {
                _ if DATA.contains(&keyword.as_str()) => {}
                Value::Object(map) if MAPS.contains(&keyword.as_str()) => {
                    for (name, schema) in map {
                        self.schema(schema, below.saturating_add(name.len()).saturating_add(1))?;
                    }
                }
                Value::Array(items) => {
                    for item in items {
                        self.schema(item, below.saturating_add(6))?;
                    }
                }
                value => self.schema(value, below)?,
            }
        }
        Ok(())
    }
}

const fn id_keyword(draft: Draft) -> &'static str {
    if matches!(draft, Draft::Draft4) { "id" } else { "$id" }
}

/// The schema without names of schemas: without them, every reference is looked up in this document alone.
pub(crate) fn without_names(schema: &Value, draft: Draft) -> Value {
    fn strip(value: &Value, id: &str) -> Value {
        match value {
            Value::Object(object) => object
                .iter()
                .filter(|(keyword, value)| !(value.is_string() && (*keyword == id || *keyword == "$schema")))
                .map(|(keyword, value)| (keyword.clone(), member(keyword, value, id)))
                .collect(),
            other => other.clone(),
        }
    }
    fn member(keyword: &str, value: &Value, id: &str) -> Value {
        match value {
            _ if DATA.contains(&keyword) => value.clone(),
            Value::Object(map) if MAPS.contains(&keyword) => {
                map.iter().map(|(name, schema)| (name.clone(), strip(schema, id))).collect()
            }
            Value::Array(items) => items.iter().map(|item| strip(item, id)).collect(),
            value => strip(value, id),
        }
    }
    strip(schema, id_keyword(draft))
}

/// Bytes, depth and values of the JSON itself.
fn check_size(root: &Value) -> Result<(), SchemaError> {
    let mut values = 0_usize;
    let mut bytes = 0_usize;
    let mut left = vec![(root, 1_usize)];
    while let Some((value, depth)) = left.pop() {
        values = values.saturating_add(1);
        over(values, limits::MAX_VALUES, "values")?;
        over(depth, limits::MAX_DEPTH, "levels")?;
        // What the value takes in JSON at least, without what it holds.
        bytes = bytes.saturating_add(match value {
            Value::String(text) => text.len().saturating_add(3),
            Value::Object(members) => {
                members.keys().fold(2, |sum: usize, name| sum.saturating_add(name.len()).saturating_add(4))
            }
            _ => 2,
        });
        over(bytes, limits::MAX_BYTES, "bytes")?;
        let deeper = depth.saturating_add(1);
        match value {
            Value::Array(items) => left.extend(items.iter().map(|item| (item, deeper))),
            Value::Object(members) => left.extend(members.values().map(|member| (member, deeper))),
            _ => {}
        }
    }
    Ok(())
}

pub(crate) fn over(count: usize, most: usize, what: &'static str) -> Result<(), SchemaError> {
    if count > most { Err(SchemaError::TooMany { what, most: most as u64 }) } else { Ok(()) }
}
