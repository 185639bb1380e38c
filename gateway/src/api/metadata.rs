//! `POST /v1/metadata`: checks the document of a listing, and stores it by content.

use axum::{
    Extension, Json,
    extract::{Request, State},
    http::StatusCode,
};
use crtx_http::{ApiError, ApiQuery, ErrorBody, Peer, SignedIn, extract::check_content_type};
use crtx_protocol::{metadata, result_hash::ResultHash};

use serde_json::Value;
use utoipa::{
    ToSchema,
    openapi::schema::{Array, ArrayBuilder, ObjectBuilder, Type},
};

use super::content::StoredContent;
use crate::gateway::Gateway;

/// The metadata document of a listing. Other members are allowed and ignored.
#[derive(ToSchema)]
#[allow(dead_code, reason = "only described: the document is stored as it was sent")]
pub struct MetadataBody {
    #[schema(min_length = 1, max_length = 80, format = "visible-lines")]
    name: String,
    /// One sentence.
    #[schema(min_length = 1, max_length = 200, format = "visible-lines")]
    tagline: String,
    #[schema(min_length = 1, max_length = 20_000, format = "visible-lines")]
    description: String,
    /// The standard tags or the creator's own.
    #[schema(schema_with = described_tags)]
    tags: Vec<String>,
    /// Full URL of the creator's service.
    #[schema(min_length = 1, max_length = 2048, pattern = "^https?://")]
    endpoint: String,
    /// JSON Schema of accepted `parameters`.
    #[schema(value_type = Object)]
    input_schema: Value,
    /// JSON Schema of the result structure.
    #[schema(value_type = Object)]
    output_schema: Value,
}

fn described_tags() -> Array {
    let tag = ObjectBuilder::new().schema_type(Type::String).pattern(Some("^[a-z0-9_-]{1,32}$"));
    ArrayBuilder::new().items(tag).min_items(Some(1)).max_items(Some(metadata::MAX_TAGS)).unique_items(true).build()
}

/// Checks the metadata document of a listing and stores its bytes as they were sent. The answer names what goes into the
/// listing. What no listing refers to within a day is dropped. If the document is not acceptable, the message lists every
/// problem.
#[utoipa::path(
    post,
    path = "/v1/metadata",
    operation_id = "create_metadata",
    tag = "agents",
    security(("session" = []), ("session_cookie" = [])),
    request_body(content = MetadataBody, description = "The metadata document; at most 256 KiB"),
    responses(
        (status = 201, description = "Stored", body = StoredContent),
        (status = 400, description = "`invalid_request`: every problem of the document, one a line", body = ErrorBody),
        (status = 401, description = "`unauthorized`: no session of a wallet that signed in", body = ErrorBody),
        (status = 403, description = "`forbidden`: the session's cookie without its token", body = ErrorBody),
        (status = 408, description = "`request_timeout`: the body did not arrive in time", body = ErrorBody),
        (status = 413, description = "`payload_too_large`: more than 256 KiB", body = ErrorBody),
        (status = 429, description = "`rate_limited`: another document of the wallet or the client is examined, there were too many of them, or the wallet has stored too much that nothing refers to", body = ErrorBody,
            headers(("Retry-After" = u64, description = "Seconds"))),
        (status = 503, description = "`unavailable`", body = ErrorBody),
    ),
)]
pub async fn create_metadata(
    State(gateway): State<Gateway>,
    signed_in: SignedIn,
    peer: Option<Extension<Peer>>,
    ApiQuery(()): ApiQuery<()>,
    request: Request,
) -> Result<(StatusCode, Json<StoredContent>), ApiError> {
    let (head, body) = request.into_parts();
    check_content_type(&head.headers)?;
    let engine = &gateway.engine;
    let client = peer.map(|Extension(Peer(address))| address);
    gateway.examinations.admit(signed_in.wallet, client)?;
    let document = crtx_http::body::read(body, metadata::MAX_BYTES).await?;
    let turn = gateway.examinations.begin(signed_in.wallet, client).await?;
    let problems = engine.documents.problems(document.clone(), turn).await?;
    if !problems.is_empty() {
        return Err(ApiError::invalid_request(problems.join("\n")));
    }
    let hash = ResultHash::of(&document);
    let size = document.len();
    gateway.uploads.allow(&signed_in.wallet)?;
    gateway.uploads.hold(engine, &signed_in.wallet, &[document], None).await?;
    Ok((StatusCode::CREATED, Json(StoredContent::new(&hash, size, false))))
}
