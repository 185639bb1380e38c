//! Values that are never printed.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// What is shown in place of a secret.
pub const HIDDEN: &str = "(secret)";

/// Text that is read as a `T`, and never shown again. `writeOnly` is what marks a secret in a schema.
#[derive(Clone, PartialEq, Eq, JsonSchema)]
#[schemars(bound = "", inline, extend("writeOnly" = true))]
pub struct Secret<T>(#[schemars(with = "String")] T);

impl<T> Secret<T> {
    /// The value itself.
    pub const fn reveal(&self) -> &T {
        &self.0
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

impl<T> Serialize for Secret<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(HIDDEN)
    }
}

impl<'de, T: FromStr<Err: fmt::Display>> Deserialize<'de> for Secret<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.trim().parse().map(Self).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_hidden_wherever_it_is_printed() {
        let secret: Secret<String> = serde_json::from_str("\" hunter2 \"").unwrap();
        assert_eq!(secret.reveal(), "hunter2");
        assert_eq!(format!("{secret:?}"), HIDDEN);
        assert_eq!(serde_json::to_value(&secret).unwrap(), HIDDEN);
    }
}
