//! Why a schema or a value is not accepted.

use crate::limits;

/// Longest part of a schema's or a value's text that an error quotes, in characters.
pub(crate) const MAX_QUOTE_CHARS: usize = 300;

/// Why a schema is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    #[error("it has more than {most} {what}")]
    TooMany { what: &'static str, most: u64 },
    #[error("one value can meet more than {} of its subschemas", limits::MAX_EXPANSIONS)]
    TooManyExpansions,
    #[error("a reference leads back to itself without going into the value")]
    EndlessReference,
    #[error("`$ref` leads to `{0}`; only schemas of the same document are followed (`#`, `#/…`, `#anchor`)")]
    Reference(String),
    #[error("it uses {0}, which is not accepted")]
    Keyword(String),
    #[error("the regular expression `{0}` is not accepted: it is malformed, too large, or looks around or back")]
    Pattern(String),
    #[error("its `$schema` is `{0}`; drafts 4, 6, 7, 2019-09 and 2020-12 are accepted")]
    Draft(String),
    #[error("{0}")]
    Malformed(String),
}

/// Why a value was not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// The value does not match. `pointer` names the place in the value.
    #[error("{problem}")]
    Mismatch { pointer: String, problem: String },
    /// Checking could take more than the budget; nothing was evaluated.
    #[error("checking it could take more than {} steps", limits::MAX_STEPS)]
    TooCostly,
}
