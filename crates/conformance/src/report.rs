//! The report: one entry for each check, in a fixed order.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What is checked, in the order of the report. A name never changes its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckName {
    InputSchema,
    Reachable,
    Tls,
    WithinTimeout,
    WholeAnswer,
    ContentEncoding,
    HttpStatus,
    ContentType,
    JsonShape,
    ExecutionId,
    Status,
    ResultIsString,
    ResultSize,
    ResultHashForm,
    ResultHash,
    SignatureForm,
    ResultKey,
    Signature,
    CallSignatureForm,
    CallSignature,
    TokensUsed,
    Steps,
    OutputSchema,
    Unicode,
    Crlf,
    EmptyResult,
    UnknownFields,
    RepeatedId,
    FailureForm,
    ParallelCalls,
}

impl CheckName {
    pub const ALL: [Self; 30] = [
        Self::InputSchema,
        Self::Reachable,
        Self::Tls,
        Self::WithinTimeout,
        Self::WholeAnswer,
        Self::ContentEncoding,
        Self::HttpStatus,
        Self::ContentType,
        Self::JsonShape,
        Self::ExecutionId,
        Self::Status,
        Self::ResultIsString,
        Self::ResultSize,
        Self::ResultHashForm,
        Self::ResultHash,
        Self::SignatureForm,
        Self::ResultKey,
        Self::Signature,
        Self::CallSignatureForm,
        Self::CallSignature,
        Self::TokensUsed,
        Self::Steps,
        Self::OutputSchema,
        Self::Unicode,
        Self::Crlf,
        Self::EmptyResult,
        Self::UnknownFields,
        Self::RepeatedId,
        Self::FailureForm,
        Self::ParallelCalls,
    ];

    /// The name as it stands in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InputSchema => "input_schema",
            Self::Reachable => "reachable",
            Self::Tls => "tls",
            Self::WithinTimeout => "within_timeout",
            Self::WholeAnswer => "whole_answer",
            Self::ContentEncoding => "content_encoding",
            Self::HttpStatus => "http_status",
            Self::ContentType => "content_type",
            Self::JsonShape => "json_shape",
            Self::ExecutionId => "execution_id",
            Self::Status => "status",
            Self::ResultIsString => "result_is_string",
            Self::ResultSize => "result_size",
            Self::ResultHashForm => "result_hash_form",
            Self::ResultHash => "result_hash",
            Self::SignatureForm => "signature_form",
            Self::ResultKey => "result_key",
            Self::Signature => "signature",
            Self::CallSignatureForm => "call_signature_form",
            Self::CallSignature => "call_signature",
            Self::TokensUsed => "tokens_used",
            Self::Steps => "steps",
            Self::OutputSchema => "output_schema",
            Self::Unicode => "unicode",
            Self::Crlf => "crlf",
            Self::EmptyResult => "empty_result",
            Self::UnknownFields => "unknown_fields",
            Self::RepeatedId => "repeated_id",
            Self::FailureForm => "failure_form",
            Self::ParallelCalls => "parallel_calls",
        }
    }

    /// What a good endpoint does.
    const fn expected(self) -> &'static str {
        match self {
            Self::InputSchema => "`input_schema` is accepted by the marketplace and the example's parameters match it",
            Self::Reachable => "the endpoint is a URL that the marketplace may call, and it accepts a connection",
            Self::Tls => "https with a certificate that is valid for the host",
            Self::WithinTimeout => "the whole answer arrives within `timeout_seconds`",
            Self::WholeAnswer => "the connection stays open until the whole answer is sent",
            Self::ContentEncoding => "no `content-encoding` except `identity`",
            Self::HttpStatus => "HTTP status 200 to 299; any status with an answer `failed`",
            Self::ContentType => "`content-type: application/json`",
            Self::JsonShape => "one JSON object in UTF-8 that holds no member twice",
            Self::ExecutionId => "`execution_id` is the one of the request",
            Self::Status => "`status` is `completed` for the example, and `completed` or `failed` in general",
            Self::ResultIsString => "`result` is a JSON string",
            Self::ResultSize => "`result` has at most 1048576 bytes of UTF-8",
            Self::ResultHashForm => "`result_hash` is `sha256:` and 64 lower-case hexadecimal digits",
            Self::ResultHash => "`result_hash` is the SHA-256 of the UTF-8 bytes of the decoded `result`",
            Self::SignatureForm => "`signature` is `ed25519:` and the base58 form of 64 bytes",
            Self::ResultKey => "the signature is made with the private key of `result_key`",
            Self::Signature => "`signature` is over the 71 bytes of the text `result_hash`",
            Self::CallSignatureForm => "`call_signature` is `ed25519:` and the base58 form of 64 bytes",
            Self::CallSignature => {
                "`call_signature` is over `crtx-call-v1:`, the 32 bytes of `execution_record`, `:`, and `result_hash`"
            }
            Self::TokensUsed => "`tokens_used`, if present, is a whole number from 0 to 1000000000",
            Self::Steps => "`steps`, if present, is an array of at most 262144 bytes",
            Self::OutputSchema => "`output_schema` is accepted, and the result matches it",
            Self::Unicode => "hash and signature are right for a result with characters outside of ASCII",
            Self::Crlf => "hash and signature are right for a result with CR LF line ends",
            Self::EmptyResult => "hash and signature are right for an empty result",
            Self::UnknownFields => "a request with members that the agent does not know is completed",
            Self::RepeatedId => "a repeated `execution_id` gets the same result, or a refusal",
            Self::FailureForm => {
                "`failed` with the `execution_id`, a text in `error`, and null in `result`, `result_hash` and `signature`"
            }
            Self::ParallelCalls => "four requests at once get four good answers, each to its own request",
        }
    }
}

impl fmt::Display for CheckName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
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
        let expected = name.expected().to_owned();
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
