//! A JSON body of bounded size.

use axum::extract::{FromRequest, Request};
use serde::de::DeserializeOwned;

use crate::{
    body,
    error::ApiError,
    extract::{check_content_type, parse_object},
};

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

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;
    use crate::ErrorCode;

    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct Named {
        name: String,
    }

    async fn read(body: &str, content_type: &str) -> Result<Named, ErrorCode> {
        let request = Request::post("/").header("content-type", content_type).body(Body::from(body.to_owned()));
        let read = ApiJson::<Named, 20>::from_request(request.expect("request"), &()).await;
        read.map(|ApiJson(named)| named).map_err(|error| error.code)
    }

    #[tokio::test]
    async fn one_object_within_the_limit_is_read() {
        let json = "application/json";
        assert_eq!(read(r#" {"name":"n"}"#, json).await, Ok(Named { name: "n".to_owned() }));
        for (body, content_type, code) in [
            (r#"["n"]"#, json, ErrorCode::InvalidRequest),
            ("", json, ErrorCode::InvalidRequest),
            (r#"{"name":1}"#, json, ErrorCode::InvalidRequest),
            (r#"{"name":"nnnnnnnnnnn"}"#, json, ErrorCode::PayloadTooLarge),
            (r#"{"name":"n"}"#, "text/plain", ErrorCode::UnsupportedMediaType),
        ] {
            assert_eq!(read(body, content_type).await, Err(code), "{body}");
        }
    }
}
