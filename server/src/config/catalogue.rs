//! The list of all settings, read from the type: key, kind of value, documentation, default, and the names that a
//! setting has as an environment variable and as a flag.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use super::model::ServerSettings;

/// Names that other tools use for the same thing. They count if ours is not set.
const OTHER_VARIABLES: [(&str, &str); 3] =
    [("database.url", "DATABASE_URL"), ("log", "RUST_LOG"), ("traces.endpoint", "OTEL_EXPORTER_OTLP_ENDPOINT")];

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its place in the file, such as `database.url`.
    pub key: String,
    pub kind: ValueKind,
    pub documentation: String,
    /// Null if there is none.
    pub default: Value,
    /// Never printed, and not a flag: the command line of a process is visible to every user of a machine.
    pub secret: bool,
}

/// What is written as the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueKind {
    Text,
    Integer {
        min: Option<i64>,
        max: Option<i64>,
    },
    Choice(Vec<String>),
    /// `true` or `false`.
    Flag,
    List(Box<Self>),
}

impl Setting {
    /// `CRTX_DATABASE_URL` for `database.url`.
    pub fn variable(&self) -> String {
        format!("CRTX_{}", self.key.replace('.', "_").to_uppercase())
    }

    /// Another variable that counts if [`Self::variable`] is not set.
    pub fn other_variable(&self) -> Option<&'static str> {
        OTHER_VARIABLES.iter().find(|(key, _)| *key == self.key).map(|(_, name)| *name)
    }

    /// `database-connections` for `database.connections`. Of a secret, `database-url-file`: the file that holds it.
    pub fn flag(&self) -> String {
        self.file_key().unwrap_or_else(|| self.key.clone()).replace(['.', '_'], "-")
    }

    /// The key of the file that holds a secret.
    pub fn file_key(&self) -> Option<String> {
        self.secret.then(|| format!("{}_file", self.key))
    }
}

/// Every setting: those outside of tables first, then table by table, each in the order of the names.
pub fn settings() -> Vec<Setting> {
    let generator = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true).into_generator();
    let schema = generator.into_root_schema_for::<ServerSettings>();
    let defaults = serde_json::to_value(ServerSettings::default()).unwrap_or_default();
    let mut found = Vec::new();
    collect(schema.as_value(), &defaults, "", &mut found);
    found
}

fn collect(schema: &Value, defaults: &Value, prefix: &str, found: &mut Vec<Setting>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    for (name, property) in in_order(properties) {
        let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        let default = defaults.get(name).cloned().unwrap_or_default();
        if property.get("properties").is_some() {
            collect(property, &default, &key, found);
            continue;
        }
        let documentation = property.get("description").and_then(Value::as_str).unwrap_or_default().replace('\n', " ");
        let value = without_null(property);
        let secret = [property, value].iter().any(|schema| schema.get("writeOnly") == Some(&Value::Bool(true)));
        found.push(Setting { key, kind: kind_of(value), documentation, default, secret });
    }
}

/// Settings of their own before tables, as in the file.
fn in_order(properties: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    let is_table = |property: &Value| property.get("properties").is_some();
    let plain = properties.iter().filter(move |(_, property)| !is_table(property));
    plain.chain(properties.iter().filter(move |(_, property)| is_table(property)))
}

/// The schema of the value of an optional setting.
fn without_null(schema: &Value) -> &Value {
    let options = schema.get("anyOf").and_then(Value::as_array);
    let value = options.and_then(|options| options.iter().find(|option| option.get("type") != Some(&"null".into())));
    value.unwrap_or(schema)
}

fn kind_of(schema: &Value) -> ValueKind {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    if let Some(options) = schema.get("oneOf").and_then(Value::as_array) {
        return ValueKind::Choice(options.iter().filter_map(|option| option.get("const").and_then(text)).collect());
    }
    if let Some(options) = schema.get("enum").and_then(Value::as_array) {
        return ValueKind::Choice(options.iter().filter_map(text).collect());
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("integer") => {
            let bound = |name: &str| schema.get(name).and_then(Value::as_i64);
            ValueKind::Integer { min: bound("minimum"), max: bound("maximum") }
        }
        Some("boolean") => ValueKind::Flag,
        Some("array") => ValueKind::List(Box::new(schema.get("items").map_or(ValueKind::Text, kind_of))),
        _ => ValueKind::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(key: &str) -> Setting {
        settings().into_iter().find(|setting| setting.key == key).expect(key)
    }

    #[test]
    fn every_setting_is_documented_and_has_its_own_names() {
        let settings = settings();
        assert!(settings.len() > 20);
        for setting in &settings {
            assert!(!setting.documentation.is_empty(), "{} has no documentation", setting.key);
        }
        let mut variables: Vec<String> = settings.iter().map(Setting::variable).collect();
        variables.sort();
        variables.dedup();
        assert_eq!(variables.len(), settings.len());
    }

    #[test]
    fn names_follow_from_the_key() {
        let url = setting("rpc.ws_url");
        assert_eq!((url.variable().as_str(), url.flag().as_str()), ("CRTX_RPC_WS_URL", "rpc-ws-url-file"));
        assert_eq!(setting("database.connections").flag(), "database-connections");
        assert_eq!(url.file_key().as_deref(), Some("rpc.ws_url_file"));
        assert_eq!(setting("database.url").other_variable(), Some("DATABASE_URL"));
        assert_eq!(setting("listen").file_key(), None);
    }

    #[test]
    fn kinds_and_bounds_are_those_of_the_type() {
        let networks = ["local", "devnet", "mainnet"].map(str::to_owned).to_vec();
        assert_eq!(setting("network").kind, ValueKind::Choice(networks));
        assert!(matches!(setting("role").kind, ValueKind::List(kind) if matches!(*kind, ValueKind::Choice(_))));
        assert_eq!(setting("indexer.resync_seconds").kind, ValueKind::Integer { min: Some(1), max: Some(86_400) });
        assert_eq!(setting("indexer.accept_new_genesis").kind, ValueKind::Flag);
        assert!(
            matches!(setting("outbound.ports").kind, ValueKind::List(kind) if matches!(*kind, ValueKind::Integer { .. }))
        );
        let secrets: Vec<String> =
            settings().into_iter().filter(|setting| setting.secret).map(|setting| setting.key).collect();
        assert_eq!(
            secrets,
            [
                "content.s3_access_key_id",
                "content.s3_secret_access_key",
                "database.standby_url",
                "database.url",
                "gateway.keypair",
                "gateway.other_keypair",
                "rpc.urls",
                "rpc.ws_url",
                "rpc.yellowstone_token",
                "rpc.yellowstone_url"
            ]
        );
    }
}
