//! A body with its validator and its compressed form, so that one that is sent many times is hashed and compressed once.

use std::{
    io::Write,
    sync::{Arc, OnceLock},
};

use axum::{
    body::{Body, Bytes},
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use flate2::{Compression, write::GzEncoder};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::error::ApiError;

/// Hexadecimal digits of the hash in a validator.
const TAG_DIGITS: usize = 32;
/// Behind the hash in the validator of the compressed form.
const GZIP_SUFFIX: &str = "-gzip";

/// A JSON body.
#[derive(Debug)]
pub struct Whole {
    bytes: Bytes,
    tag: HeaderValue,
    compressed: OnceLock<Option<Bytes>>,
}

/// An answer whose body is kept. [`Asked::complete`](crate::caching::Asked::complete) gives it the body.
#[derive(Clone, Debug)]
pub struct KeptBody(pub Arc<Whole>);

impl IntoResponse for KeptBody {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response.extensions_mut().insert(self);
        response
    }
}

/// How a body is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Plain,
    Gzip,
}

impl Whole {
    pub fn json(bytes: Bytes) -> Self {
        let tag = HeaderValue::try_from(format!("\"{:.*x}\"", TAG_DIGITS, Sha256::digest(&bytes)));
        // Letters and digits are a header value.
        let tag = tag.unwrap_or_else(|_| HeaderValue::from_static("\"\""));
        Self { bytes, tag, compressed: OnceLock::new() }
    }

    /// The body of an answer.
    pub fn of_json(answer: &impl Serialize) -> Result<Self, ApiError> {
        Ok(Self::json(serde_json::to_vec(answer).map_err(ApiError::internal)?.into()))
    }

    pub const fn len(&self) -> usize {
        self.bytes.len()
    }

    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The bytes in a form. Plain if they cannot be compressed.
    pub fn bytes(&self, form: Form) -> (Form, Bytes) {
        let compressed = match form {
            Form::Plain => &None,
            Form::Gzip => self.compressed.get_or_init(|| gzip(&self.bytes)),
        };
        match compressed {
            Some(bytes) => (form, bytes.clone()),
            None => (Form::Plain, self.bytes.clone()),
        }
    }

    /// The validator of a form.
    pub fn tag(&self, form: Form) -> HeaderValue {
        let compressed = || HeaderValue::try_from(format!("\"{}{GZIP_SUFFIX}\"", self.hash())).ok();
        match form {
            Form::Plain => self.tag.clone(),
            Form::Gzip => compressed().unwrap_or_else(|| self.tag.clone()),
        }
    }

    /// Whether a validator in quotation marks is one of this body, in either form.
    pub fn has_tag(&self, tag: &str) -> bool {
        let tag = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"'));
        tag.is_some_and(|tag| tag.strip_suffix(GZIP_SUFFIX).unwrap_or(tag) == self.hash())
    }

    fn hash(&self) -> &str {
        self.tag.to_str().unwrap_or_default().trim_matches('"')
    }
}

fn gzip(bytes: &[u8]) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len().div_ceil(2)), Compression::fast());
    encoder.write_all(bytes).ok()?;
    Some(encoder.finish().ok()?.into())
}
