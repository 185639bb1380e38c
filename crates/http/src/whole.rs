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
    pub bytes: Bytes,
    hash: String,
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

impl Whole {
    pub fn json(bytes: Bytes) -> Self {
        let hash = format!("{:.*x}", TAG_DIGITS, Sha256::digest(&bytes));
        Self { bytes, hash, compressed: OnceLock::new() }
    }

    /// The body of an answer.
    pub fn of_json(answer: &impl Serialize) -> Result<Self, ApiError> {
        Ok(Self::json(serde_json::to_vec(answer).map_err(ApiError::internal)?.into()))
    }

    pub fn gzip(&self) -> Option<&Bytes> {
        self.compressed.get_or_init(|| gzip(&self.bytes)).as_ref()
    }

    /// The validator of the plain or of the compressed form.
    pub fn tag(&self, is_gzip: bool) -> HeaderValue {
        let suffix = if is_gzip { GZIP_SUFFIX } else { "" };
        // Letters, digits and a hyphen are a header value.
        HeaderValue::try_from(format!("\"{}{suffix}\"", self.hash)).unwrap_or(HeaderValue::from_static("\"\""))
    }

    /// Whether a validator in quotation marks is one of this body, in either form.
    pub fn has_tag(&self, tag: &str) -> bool {
        let tag = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"'));
        tag.is_some_and(|tag| tag.strip_suffix(GZIP_SUFFIX).unwrap_or(tag) == self.hash)
    }
}

fn gzip(bytes: &[u8]) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len().div_ceil(2)), Compression::fast());
    encoder.write_all(bytes).ok()?;
    Some(encoder.finish().ok()?.into())
}
