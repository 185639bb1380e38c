//! `GET` and `PUT /ipfs/{cid}`: content by its hash.

use std::time::Duration;

use axum::{
    Json,
    body::Bytes,
    extract::{FromRequestParts, Request, State},
    http::{HeaderMap, StatusCode, header, request::Parts},
    response::{IntoResponse, IntoResponseParts, Response},
};
use crtx_http::{
    ApiError, ApiPath, ApiQuery, AuthState, ErrorBody, ErrorCode, SignedIn,
    body::BodyReader,
    credentials::{bearer, session_cookie},
};
use crtx_protocol::{
    content::{cid_of, ipfs_uri, parse_cid},
    metadata,
    result_hash::ResultHash,
};
use crtx_store::held_content::{Reference, reference};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{gateway::Gateway, held_content};

/// Largest piece of content that a client hands in, in bytes.
pub const MAX_PIECE_BYTES: usize = 1024 * 1024;
/// By then the mirror has probably reached a record that was confirmed a moment ago.
const MIRROR_RETRY: Duration = Duration::from_secs(2);

/// A piece of content that is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct StoredContent {
    /// CIDv1, raw codec, sha2-256.
    pub cid: String,
    /// `sha256:` and the hex SHA-256 of the bytes.
    pub hash: String,
    /// `ipfs://` and the CID.
    pub uri: String,
    /// In bytes.
    pub size: usize,
    /// Whether a record, a listing or a dispute refers to it. Otherwise it is dropped after a day.
    pub referenced: bool,
}

impl StoredContent {
    pub fn new(hash: &ResultHash, size: usize, referenced: bool) -> Self {
        Self { cid: cid_of(hash), hash: hash.to_string(), uri: ipfs_uri(hash), size, referenced }
    }
}

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
        (status = 503, description = "`unavailable`: the content store does not answer", body = ErrorBody),
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
        return Ok((StatusCode::NOT_MODIFIED, content_headers(tag), ()).into_response());
    }
    let text = std::str::from_utf8(&content).is_ok();
    let (kind, disposition) =
        if text { ("text/plain; charset=utf-8", "inline") } else { ("application/octet-stream", "attachment") };
    let kind = [(header::CONTENT_TYPE, kind), (header::CONTENT_DISPOSITION, disposition)];
    Ok((content_headers(tag), kind, content).into_response())
}

/// Stores content under the CID of its bytes. If the hash is in a record, a listing or a dispute, anybody may hand the
/// content in; a listing's content has at most 256 KiB and is dropped after ten newer documents. Otherwise the content is
/// held for the wallet that signed in, and dropped after a day if nothing refers to it.
#[utoipa::path(
    put,
    path = "/ipfs/{cid}",
    operation_id = "put_content",
    tag = "content",
    security((), ("session" = []), ("session_cookie" = [])),
    params(("cid" = String, Path, description = "CIDv1, raw codec, sha2-256")),
    request_body(content = String, content_type = "application/octet-stream", description = "The bytes; at most 1 MiB, for a listing 256 KiB"),
    responses(
        (status = 200, description = "It was stored before", body = StoredContent),
        (status = 201, description = "Stored", body = StoredContent),
        (status = 400, description = "`invalid_request`: not a CID of this form, or other bytes than it names", body = ErrorBody),
        (status = 401, description = "`unauthorized`: the session does not hold", body = ErrorBody),
        (status = 403, description = "`forbidden`: the session's cookie without its token", body = ErrorBody),
        (status = 408, description = "`request_timeout`: the body did not arrive in time", body = ErrorBody),
        (status = 409, description = "`conflict`: nothing refers to it (yet), and nobody signed in", body = ErrorBody,
            headers(("Retry-After" = u64, description = "Seconds"))),
        (status = 413, description = "`payload_too_large`: more than 1 MiB, or more than 256 KiB for a listing", body = ErrorBody),
        (status = 429, description = "`rate_limited`: the wallet has stored too much that nothing refers to", body = ErrorBody,
            headers(("Retry-After" = u64, description = "Seconds"))),
        (status = 503, description = "`unavailable`", body = ErrorBody),
    ),
)]
pub async fn put(
    State(gateway): State<Gateway>,
    ApiPath(cid): ApiPath<String>,
    ApiQuery(()): ApiQuery<()>,
    request: Request,
) -> Result<(StatusCode, Json<StoredContent>), ApiError> {
    let hash = parse_cid(&cid).map_err(|error| ApiError::invalid("cid", format!("is {error}")))?;
    let (mut head, body) = request.into_parts();
    let engine = &gateway.engine;
    let reference = reference(gateway.pool(), &hash.0).await?;
    let (holder, max_bytes) = match reference {
        Some(Reference::Lasting) => (None, MAX_PIECE_BYTES),
        Some(Reference::Listing { creator }) => (Some(creator), metadata::MAX_BYTES),
        None => {
            let wallet = signed_in(&gateway, &mut head).await?.wallet;
            gateway.uploads.allow(&wallet)?;
            (Some(wallet), MAX_PIECE_BYTES)
        }
    };
    // What is announced to be too long is refused before anything more is read for it.
    let body = BodyReader::new(body, max_bytes)?;
    let there = held_content::stored(engine, &hash).await?;
    if let (Some(Reference::Listing { .. }), Some(content)) = (reference, &there) {
        // Strangers may repeat what is there without taking anything of the creator's room.
        return Ok((StatusCode::OK, Json(StoredContent::new(&hash, content.len(), true))));
    }
    // What is here already is not read from the client again.
    let content = match there {
        Some(content) => content,
        None => read(body, hash).await?,
    };
    let size = content.len();
    let new = match holder {
        None => held_content::keep(engine, &hash, content).await?,
        Some(wallet) => gateway.uploads.hold(engine, &wallet, &[content], None).await?,
    };
    let status = if new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(StoredContent::new(&hash, size, reference.is_some()))))
}

async fn read(body: BodyReader, hash: ResultHash) -> Result<Bytes, ApiError> {
    let content = body.rest().await?;
    let check = move |content: &Bytes| {
        let actual = ResultHash::of(content);
        let cid = cid_of(&actual);
        let other = || ApiError::invalid("cid", format!("does not name these bytes; their CID is {cid}"));
        if actual == hash { Ok(content.clone()) } else { Err(other()) }
    };
    crtx_http::body::parsed(content, check).await
}

/// The session of a request about content that nothing refers to. Without one: 409, because the mirror may be behind.
async fn signed_in(gateway: &Gateway, head: &mut Parts) -> Result<SignedIn, ApiError> {
    if bearer(&head.headers, "SESSION_TOKEN")?.is_none() && session_cookie(&head.headers, gateway.site())?.is_none() {
        let message = "no record, listing or dispute refers to this content, as far as the index has come: try again, \
                       or sign in to store it beforehand";
        return Err(ApiError::new(ErrorCode::Conflict, message).with_retry_after(MIRROR_RETRY));
    }
    SignedIn::from_request_parts(head, gateway).await
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
fn content_headers(tag: String) -> impl IntoResponseParts {
    let fixed = [
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox"),
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
    ];
    (fixed, [(header::ETAG, tag)])
}
