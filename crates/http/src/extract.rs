//! Extractors whose failures are 400 `invalid_request` and name the field or parameter.

use axum::{
    RequestPartsExt,
    extract::{FromRequest, FromRequestParts, Path, Request, path::ErrorKind, rejection::PathRejection},
    http::{HeaderMap, header, request::Parts},
};
use crtx_protocol::strict_json::{self, JsonError};
use serde::de::DeserializeOwned;

use crate::{
    body,
    error::{ApiError, ErrorCode},
    query::{FromQuery, QueryParams},
};

/// Accepts JSON or no content type. Any other content type is 415.
pub fn check_content_type(headers: &HeaderMap) -> Result<(), ApiError> {
    let Some(value) = headers.get(header::CONTENT_TYPE) else { return Ok(()) };
    let essence = value.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json")) {
        Ok(())
    } else {
        let message = "the body must be sent with `content-type: application/json`";
        Err(ApiError::new(ErrorCode::UnsupportedMediaType, message))
    }
}

/// Reads a JSON object; the error names the field that is wrong. A member that is given more than once,
/// at any depth, is an error: readers differ in which of the two they use.
pub fn parse_object<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    // A derived reader would accept an array of the fields in their order.
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    if first.is_some_and(|byte| *byte != b'{') {
        return Err(ApiError::invalid_request("the body must be a JSON object"));
    }
    if let Err(JsonError::Duplicate { path }) = strict_json::check(bytes) {
        return Err(ApiError::invalid(&path, "is given more than once"));
    }
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        let cause = error.into_inner();
        if path == "." || cause.is_syntax() || cause.is_eof() {
            ApiError::invalid_request(format!("the body is not what this endpoint accepts: {cause}"))
        } else {
            ApiError::invalid(&path, format!("is not acceptable: {cause}"))
        }
    })?;
    deserializer
        .end()
        .map_err(|error| ApiError::invalid_request(format!("the body is not one JSON value: {error}")))?;
    Ok(value)
}

/// A body that is one JSON object of at most `LIMIT` bytes. Larger: 413. Another content type: 415. Otherwise 400 that
/// names the field.
#[derive(Clone, Copy, Debug)]
pub struct ApiJson<T, const LIMIT: usize>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send + 'static, const LIMIT: usize> FromRequest<S> for ApiJson<T, LIMIT> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        check_content_type(request.headers())?;
        let bytes = body::read(request.into_body(), LIMIT).await?;
        body::parsed(bytes, |bytes| parse_object(bytes)).await.map(Self)
    }
}

/// The query string.
#[derive(Clone, Copy, Debug)]
pub struct ApiQuery<T>(pub T);

impl<S: Send + Sync, T: FromQuery> FromRequestParts<S> for ApiQuery<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        read(parts.uri.query().unwrap_or_default()).map(Self)
    }
}

/// Reads a query string; nothing of it may be left.
pub fn read<T: FromQuery>(query: &str) -> Result<T, ApiError> {
    let mut params = QueryParams::parse(query);
    let value = T::from_query(&mut params)?;
    params.finish()?;
    Ok(value)
}

/// Parameters of the path.
#[derive(Clone, Copy, Debug)]
pub struct ApiPath<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send + 'static> FromRequestParts<S> for ApiPath<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        // With one parameter serde reports no key: the name then comes from the matched route.
        let only = only_parameter(parts);
        match parts.extract::<Path<T>>().await {
            Ok(Path(value)) => Ok(Self(value)),
            Err(rejection) => Err(path_error(rejection, only)),
        }
    }
}

fn only_parameter(parts: &Parts) -> Option<String> {
    let matched = parts.extensions.get::<axum::extract::MatchedPath>()?.as_str();
    let mut names = matched.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let first = names.next()?.to_owned();
    names.next().is_none().then_some(first)
}

fn path_error(rejection: PathRejection, only: Option<String>) -> ApiError {
    let PathRejection::FailedToDeserializePathParams(error) = rejection else {
        return ApiError::internal(rejection);
    };
    let text = error.body_text();
    let named = |key: &str| ApiError::invalid(key, "in the path is malformed");
    match error.into_kind() {
        ErrorKind::ParseErrorAtKey { key, .. }
        | ErrorKind::InvalidUtf8InPathParam { key }
        | ErrorKind::DeserializeError { key, .. } => named(&key),
        _ => {
            only.map_or_else(|| ApiError::invalid_request(format!("the path is malformed: {text}")), |key| named(&key))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    struct Body {
        #[expect(dead_code, reason = "read by nobody: the test is about what is refused")]
        task: String,
        #[expect(dead_code, reason = "read by nobody: the test is about what is refused")]
        #[serde(default)]
        n: u8,
    }

    #[test]
    fn a_bad_field_is_named() {
        for (body, named) in [
            (r#"{}"#, "`task`"),
            (r#"{"task": 5}"#, "`task`"),
            (r#"{"task": "t", "n": 300}"#, "`n`"),
            (r#"{"task": "t""#, "not what this endpoint accepts"),
            ("", "not what this endpoint accepts"),
            (r#"{"task":"t"} x"#, "not one JSON value"),
            (r#"{"task":"t","task":"t"}"#, "`task` is given more than once"),
            (r#"{"task":"t","p":{"a":[{"b":1,"\u0062":2}]}}"#, "`p/a/0/b` is given more than once"),
        ] {
            let error = parse_object::<Body>(body.as_bytes()).expect_err(body);
            assert_eq!(error.code, ErrorCode::InvalidRequest);
            assert!(error.message.contains(named), "{body}: {}", error.message);
        }
    }

    #[test]
    fn only_json_is_read_as_json() {
        for (value, accepted) in [
            ("application/json", true),
            ("Application/JSON; charset=utf-8", true),
            ("application/problem+json", true),
            ("text/plain", false),
            ("application/x-www-form-urlencoded", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, value.parse().expect("header value"));
            assert_eq!(check_content_type(&headers).is_ok(), accepted, "{value}");
        }
        assert!(check_content_type(&HeaderMap::new()).is_ok());
    }

    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct Named {
        name: String,
    }

    async fn read_body(body: &str, content_type: &str) -> Result<Named, ErrorCode> {
        let request =
            Request::post("/").header("content-type", content_type).body(axum::body::Body::from(body.to_owned()));
        let read = ApiJson::<Named, 20>::from_request(request.expect("request"), &()).await;
        read.map(|ApiJson(named)| named).map_err(|error| error.code)
    }

    #[tokio::test]
    async fn one_object_within_the_limit_is_read() {
        let json = "application/json";
        assert_eq!(read_body(r#" {"name":"n"}"#, json).await, Ok(Named { name: "n".to_owned() }));
        for (body, content_type, code) in [
            (r#"["n"]"#, json, ErrorCode::InvalidRequest),
            ("", json, ErrorCode::InvalidRequest),
            (r#"{"name":1}"#, json, ErrorCode::InvalidRequest),
            (r#"{"name":"nnnnnnnnnnn"}"#, json, ErrorCode::PayloadTooLarge),
            (r#"{"name":"n"}"#, "text/plain", ErrorCode::UnsupportedMediaType),
        ] {
            assert_eq!(read_body(body, content_type).await, Err(code), "{body}");
        }
    }
}
