//! The report: one entry for each check, in a fixed order.

use serde::{Deserialize, Serialize};
use strum::{EnumMessage, VariantArray};
use utoipa::ToSchema;

/// What is checked, in the order of the report. A name never changes its meaning.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    ToSchema,
    strum::Display,
    strum::EnumMessage,
    strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum CheckName {
    #[strum(message = "`input_schema` is accepted by the marketplace and the example's parameters match it")]
    InputSchema,
    #[strum(message = "the endpoint is a URL that the marketplace may call, and it accepts a connection")]
    Reachable,
    #[strum(message = "https with a certificate that is valid for the host")]
    Tls,
    #[strum(message = "the whole answer arrives within `timeout_seconds`")]
    WithinTimeout,
    #[strum(message = "the connection stays open until the whole answer is sent")]
    WholeAnswer,
    #[strum(message = "no `content-encoding` except `identity`")]
    ContentEncoding,
    #[strum(message = "HTTP status 200 to 299; any status with an answer `failed`")]
    HttpStatus,
    #[strum(message = "`content-type: application/json`")]
    ContentType,
    #[strum(message = "one JSON object in UTF-8 that holds no member twice")]
    JsonShape,
    #[strum(message = "`execution_id` is the one of the request")]
    ExecutionId,
    #[strum(message = "`status` is `completed` for the example, and `completed` or `failed` in general")]
    Status,
    #[strum(message = "`result` is a JSON string")]
    ResultIsString,
    #[strum(message = "`result` has at most 1048576 bytes of UTF-8")]
    ResultSize,
    #[strum(message = "`result_hash` is `sha256:` and 64 lower-case hexadecimal digits")]
    ResultHashForm,
    #[strum(message = "`result_hash` is the SHA-256 of the UTF-8 bytes of the decoded `result`")]
    ResultHash,
    #[strum(message = "`signature` is `ed25519:` and the base58 form of 64 bytes")]
    SignatureForm,
    #[strum(message = "the signature is made with the private key of `result_key`")]
    ResultKey,
    #[strum(message = "`signature` is over the 71 bytes of the text `result_hash`")]
    Signature,
    #[strum(message = "`call_signature` is `ed25519:` and the base58 form of 64 bytes")]
    CallSignatureForm,
    #[strum(
        message = "`call_signature` is over `crtx-call-v2:`, the 32 bytes of `execution_record`, `:`, the 8 bytes of \
                   `opened_at_unix_s`, `:`, and `result_hash`"
    )]
    CallSignature,
    #[strum(message = "`tokens_used`, if present, is a whole number from 0 to 1000000000")]
    TokensUsed,
    #[strum(message = "`steps`, if present, is an array of at most 262144 bytes")]
    Steps,
    #[strum(message = "`output_schema` is accepted, and the result matches it")]
    OutputSchema,
    #[strum(message = "hash and signature are right for a result with characters outside of ASCII")]
    Unicode,
    #[strum(message = "hash and signature are right for a result with CR LF line ends")]
    Crlf,
    #[strum(message = "hash and signature are right for an empty result")]
    EmptyResult,
    #[strum(message = "a request with members that the agent does not know is completed")]
    UnknownFields,
    #[strum(message = "a repeated `execution_id` gets the same result, or a refusal")]
    RepeatedId,
    #[strum(
        message = "`failed` with the `execution_id`, a text in `error`, and null in `result`, `result_hash` and `signature`"
    )]
    FailureForm,
    #[strum(
        message = "`failure_signature`, if present, is over `crtx-failure-v1:`, the 32 bytes of `execution_record`, `:`, \
                   and the 8 bytes of `opened_at_unix_s`"
    )]
    FailureSignature,
    #[strum(message = "four requests at once get four good answers, each to its own request")]
    ParallelCalls,
}

impl CheckName {
    pub const ALL: &[Self] = Self::VARIANTS;
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Check {
    pub name: CheckName,
    /// Null if it was skipped.
    pub passed: Option<bool>,
    /// Why it was skipped.
    pub skipped: Option<String>,
    /// What a good endpoint does.
    pub expected: String,
    /// What came instead, or what shows that it passed. Bytes are shown in hexadecimal form, and long texts are cut.
    pub received: Option<String>,
    /// How to fix it. Null unless it failed.
    pub fix: Option<String>,
}

impl Check {
    pub(crate) fn passed(name: CheckName, received: impl Into<String>) -> Self {
        Self { passed: Some(true), received: Some(received.into()), ..Self::open(name) }
    }

    pub(crate) fn failed(name: CheckName, received: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { passed: Some(false), received: Some(received.into()), fix: Some(fix.into()), ..Self::open(name) }
    }

    pub(crate) fn skipped(name: CheckName, reason: impl Into<String>) -> Self {
        Self { skipped: Some(reason.into()), ..Self::open(name) }
    }

    fn open(name: CheckName) -> Self {
        let expected = name.get_message().unwrap_or_default().to_owned();
        Self { name, passed: None, skipped: None, expected, received: None, fix: None }
    }

    pub fn has_failed(&self) -> bool {
        self.passed == Some(false)
    }
}

/// The outcome of a test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Report {
    /// No check failed. Skipped checks do not count.
    pub passed: bool,
    /// Requests that were sent to the endpoint.
    pub requests: u32,
    /// Duration of the test in milliseconds.
    pub duration_ms: u64,
    /// Milliseconds until the first request was answered. Null if it was not.
    pub answer_ms: Option<u64>,
    /// Every check once, always in the same order.
    pub checks: Vec<Check>,
}

impl Report {
    pub fn check(&self, name: CheckName) -> Option<&Check> {
        self.checks.iter().find(|check| check.name == name)
    }

    /// The checks that failed.
    pub fn failed(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|check| check.has_failed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_has_a_name_of_its_own_that_serialises_as_it_is_written() {
        let mut names = CheckName::ALL.to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names, CheckName::ALL, "sorted by their order, each once");
        for name in CheckName::ALL {
            assert_eq!(serde_json::to_string(&name).expect("json"), format!("\"{name}\""));
        }
    }
}
