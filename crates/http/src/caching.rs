//! Answers that a client does not read twice: a validator (`ETag`), `304 Not Modified`, `Cache-Control`, and gzip.
//!
//! The validator is a hash of the answer's bytes, so an answer that is the same after a change elsewhere is still the
//! same. Answers are short and in memory; longer ones pass as they are.

use crate::{
    error::ApiError,
    whole::{KeptBody, Whole},
};
use axum::{
    body::{Body, HttpBody},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header, response::Parts},
    response::{IntoResponse, Response},
};

/// Longer answers have no validator and are not compressed.
const MAX_BYTES: usize = 256 * 1024;
/// Shorter answers fit one packet anyway.
const COMPRESSED_FROM: usize = 1_024;
const GZIP: &str = "gzip";

/// What caches may do with an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Anybody gets the same answer; a cache asks again after a second.
    Public,
    /// For this client alone, and for now.
    Private,
}

impl Policy {
    const fn header(self) -> HeaderValue {
        match self {
            Self::Public => HeaderValue::from_static("public, max-age=1, must-revalidate"),
            Self::Private => HeaderValue::from_static("private, no-store"),
        }
    }

    /// The policy of an answer that is the same for everybody: a request with credentials leaves no trace of it.
    pub fn of_public(headers: &HeaderMap) -> Self {
        let credentials = [header::AUTHORIZATION, header::COOKIE];
        if credentials.iter().any(|name| headers.contains_key(name)) { Self::Private } else { Self::Public }
    }
}

/// What a request says about caching. Read before the request is handled.
#[derive(Clone, Debug)]
pub struct Asked {
    policy: Policy,
    is_read: bool,
    known: Vec<HeaderValue>,
    takes_gzip: bool,
}

impl Asked {
    pub fn of(method: &Method, headers: &HeaderMap, policy: Policy) -> Self {
        Self {
            policy,
            is_read: matches!(*method, Method::GET | Method::HEAD),
            known: headers.get_all(header::IF_NONE_MATCH).iter().cloned().collect(),
            takes_gzip: takes(headers, GZIP),
        }
    }

    /// Completes an answer.
    pub async fn complete(self, response: Response) -> Response {
        let (mut parts, body) = response.into_parts();
        if !parts.headers.contains_key(header::CACHE_CONTROL) {
            let policy = if parts.status == StatusCode::OK { self.policy } else { Policy::Private };
            parts.headers.insert(header::CACHE_CONTROL, policy.header());
        }
        if let Some(KeptBody(body)) = parts.extensions.remove() {
            return self.finish(parts, &body);
        }
        let is_short = body.size_hint().upper().is_some_and(|bytes| bytes <= MAX_BYTES as u64);
        if parts.status != StatusCode::OK || !self.is_read || !is_short {
            return Response::from_parts(parts, body);
        }
        match axum::body::to_bytes(body, MAX_BYTES).await {
            Ok(bytes) => self.finish(parts, &Whole::json(bytes)),
            Err(error) => ApiError::internal(error).into_response(),
        }
    }

    fn finish(self, mut parts: Parts, body: &Whole) -> Response {
        let is_compressible = (COMPRESSED_FROM..=MAX_BYTES).contains(&body.bytes.len())
            && !parts.headers.contains_key(header::CONTENT_ENCODING);
        if is_compressible {
            parts.headers.append(header::VARY, HeaderValue::from_static("accept-encoding"));
        }
        let is_gzip = is_compressible && self.takes_gzip;
        parts.headers.insert(header::ETAG, body.tag(is_gzip));
        if self.known.iter().any(|known| names(known, body)) {
            parts.status = StatusCode::NOT_MODIFIED;
            parts.headers.remove(header::CONTENT_TYPE);
            parts.headers.remove(header::CONTENT_LENGTH);
            return Response::from_parts(parts, Body::empty());
        }
        let compressed = if is_gzip { body.gzip() } else { None };
        if compressed.is_some() {
            parts.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(GZIP));
            parts.headers.remove(header::CONTENT_LENGTH);
        }
        Response::from_parts(parts, Body::from(compressed.unwrap_or(&body.bytes).clone()))
    }
}

/// Whether a value of `If-None-Match` has a validator of this body among its own.
fn names(value: &HeaderValue, body: &Whole) -> bool {
    let Ok(text) = value.to_str() else { return false };
    text.split(',').map(str::trim).any(|one| {
        let one = one.strip_prefix("W/").unwrap_or(one);
        one == "*" || body.has_tag(one)
    })
}

/// Whether the client takes a coding of bodies, such as gzip. All browsers take gzip; a client that refuses it says `q=0`.
pub fn takes(headers: &HeaderMap, wanted: &str) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let mut any = false;
    for coding in values.flat_map(|value| value.split(',')) {
        let (name, parameters) = coding.split_once(';').unwrap_or((coding, ""));
        let quality = parameters.trim().strip_prefix("q=").map_or(1.0, |q| q.trim().parse::<f32>().unwrap_or(0.0));
        let name = name.trim();
        // What names the coding itself decides.
        if name.strip_prefix("x-").unwrap_or(name).eq_ignore_ascii_case(wanted) {
            return quality > 0.0;
        }
        if name == "*" {
            any = quality > 0.0;
        }
    }
    any
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().expect("a name"), value.parse().expect("a value"))).collect()
    }

    async fn ask(pairs: &[(&'static str, &str)], body: &str) -> (StatusCode, HeaderMap, Vec<u8>) {
        let headers = headers(pairs);
        let asked = Asked::of(&Method::GET, &headers, Policy::of_public(&headers));
        let response = asked.complete(Response::new(Body::from(body.to_owned()))).await;
        let (parts, body) = response.into_parts();
        (parts.status, parts.headers, axum::body::to_bytes(body, MAX_BYTES).await.expect("a body").into())
    }

    #[tokio::test]
    async fn an_answer_that_the_client_has_is_not_sent_again() {
        let (status, first, body) = ask(&[], "a body").await;
        assert_eq!((status, body.as_slice()), (StatusCode::OK, &b"a body"[..]));
        let tag = first[header::ETAG].to_str().expect("text");
        for known in [tag.to_owned(), format!("W/{tag}"), format!("\"x\", {tag}"), "*".to_owned()] {
            let (status, headers, body) = ask(&[("if-none-match", &known)], "a body").await;
            assert_eq!((status, body.as_slice()), (StatusCode::NOT_MODIFIED, &b""[..]), "{known}");
            assert_eq!(headers[header::ETAG], tag);
            assert_eq!(headers[header::CACHE_CONTROL], "public, max-age=1, must-revalidate");
        }
        for other in ["\"x\"", tag.trim_matches('"'), ""] {
            assert_eq!(ask(&[("if-none-match", other)], "a body").await.0, StatusCode::OK, "{other}");
        }
        assert_eq!(ask(&[("if-none-match", tag)], "another body").await.0, StatusCode::OK);
    }

    #[tokio::test]
    async fn a_long_answer_is_compressed_for_clients_that_ask() {
        let long = "abc ".repeat(1_000);
        for accepted in ["gzip", "br, gzip;q=0.5", "*", "GZIP", "deflate, *;q=0.1"] {
            let (_, headers, body) = ask(&[("accept-encoding", accepted)], &long).await;
            assert_eq!(headers[header::CONTENT_ENCODING], "gzip", "{accepted}");
            assert_eq!(headers[header::VARY], "accept-encoding");
            let mut text = String::new();
            GzDecoder::new(body.as_slice()).read_to_string(&mut text).expect("gzip");
            assert_eq!(text, long);
            assert!(body.len() < long.len() / 10);
        }
        for accepted in ["", "br", "gzip;q=0", "*;q=0", "gzip;q=0, *", "gzip;q=x"] {
            let (_, headers, body) = ask(&[("accept-encoding", accepted)], &long).await;
            assert!(!headers.contains_key(header::CONTENT_ENCODING), "{accepted}");
            assert_eq!((headers[header::VARY].as_bytes(), body.as_slice()), (&b"accept-encoding"[..], long.as_bytes()));
        }
        assert!(!ask(&[("accept-encoding", "gzip")], "short").await.1.contains_key(header::CONTENT_ENCODING));
    }

    #[tokio::test]
    async fn each_form_of_an_answer_has_its_own_validator_and_both_are_known() {
        let long = "abc ".repeat(1_000);
        let plain = ask(&[], &long).await.1[header::ETAG].clone();
        let gzip = ask(&[("accept-encoding", "gzip")], &long).await.1[header::ETAG].clone();
        assert_ne!(plain, gzip);
        for tag in [&plain, &gzip] {
            let tag = tag.to_str().expect("text");
            assert_eq!(ask(&[("if-none-match", tag)], &long).await.0, StatusCode::NOT_MODIFIED);
        }
    }

    #[tokio::test]
    async fn an_answer_to_credentials_or_an_error_is_not_kept() {
        for pairs in [&[("authorization", "Bearer x")], &[("cookie", "a=b")]] {
            assert_eq!(ask(pairs, "body").await.1[header::CACHE_CONTROL], "private, no-store");
        }
        let mut error = Response::new(Body::from("error"));
        *error.status_mut() = StatusCode::NOT_FOUND;
        let answer = Asked::of(&Method::GET, &HeaderMap::new(), Policy::Public).complete(error).await;
        assert_eq!(answer.headers()[header::CACHE_CONTROL], "private, no-store");
        assert!(!answer.headers().contains_key(header::ETAG));
    }
}
