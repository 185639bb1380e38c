//! `GET /ipfs/{cid}`: content by its hash.

use axum::{
    body::Bytes,
    extract::State,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use crtx_http::{ApiError, ApiPath, ErrorBody, ErrorCode};
use crtx_protocol::{
    content::{cid_of, parse_cid},
    result_hash::ResultHash,
};

use crate::gateway::Gateway;

/// The content of a CID: a result or a listing's metadata document. Content never changes.
#[utoipa::path(
    get,
    path = "/ipfs/{cid}",
    operation_id = "get_content",
    tag = "content",
    params(("cid" = String, Path, description = "CIDv1, raw codec, sha2-256")),
    responses(
        (status = 200, description = "The bytes", body = String, content_type = "text/plain"),
        (status = 304, description = "`If-None-Match` names this content, which never changes"),
        (status = 400, description = "`invalid_request`: not a CID of this form", body = ErrorBody),
        (status = 404, description = "`not_found`: not stored here", body = ErrorBody),
    ),
)]
pub async fn get(
    State(gateway): State<Gateway>,
    ApiPath(cid): ApiPath<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let hash = parse_cid(&cid).map_err(|error| ApiError::invalid("cid", format!("is {error}")))?;
    let content = stored(&gateway, &hash).await?;
    let content = content.ok_or_else(|| ApiError::new(ErrorCode::NotFound, "this content is not stored here"))?;
    let tag = format!("\"{}\"", cid_of(&hash));
    if headers.get_all(header::IF_NONE_MATCH).iter().any(|sent| sent.as_bytes() == tag.as_bytes()) {
        return Ok((StatusCode::NOT_MODIFIED, content_headers(&tag)).into_response());
    }
    let kind = content_type(&content);
    Ok((content_headers(&tag), [(header::CONTENT_TYPE, kind)], content).into_response())
}

/// Reads the content store, or the database if the store does not have the content or fails.
async fn stored(gateway: &Gateway, hash: &ResultHash) -> Result<Option<Bytes>, ApiError> {
    let in_store = gateway.content().get(hash).await;
    if let Ok(Some(content)) = in_store {
        return Ok(Some(content));
    }
    match gateway.engine.executions.result_by_hash(&hash.0).await? {
        Some(result) => Ok(Some(result.into())),
        None => in_store.map_err(ApiError::unavailable),
    }
}

/// Creators write this content, so a browser must never run it as a page of this origin.
fn content_headers(tag: &str) -> [(HeaderName, HeaderValue); 5] {
    let tag = HeaderValue::from_str(tag).unwrap_or(HeaderValue::from_static(""));
    [
        (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable")),
        (header::ETAG, tag),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'; sandbox")),
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*")),
    ]
}

fn content_type(content: &Bytes) -> HeaderValue {
    HeaderValue::from_static(match std::str::from_utf8(content) {
        Ok(_) => "text/plain; charset=utf-8",
        Err(_) => "application/octet-stream",
    })
}
