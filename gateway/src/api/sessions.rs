//! `/v1/sessions`: the sessions of the wallet that signed in.

use axum::{
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use chrono::TimeDelta;
use crtx_http::{ApiError, ApiPath, ApiQuery, ErrorBody, ErrorCode, SignedIn};
use crtx_store::sessions::{self, SessionAnswer, SessionKind};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::sign_in::{cookie, unstored};
use crate::gateway::Gateway;

/// Stands for the session of the request, in place of its id.
const CURRENT: &str = "current";

#[derive(Debug, Serialize, ToSchema)]
pub struct SessionListAnswer {
    /// Newest first, at most 20.
    sessions: Vec<SessionAnswer>,
}

/// The session of the request.
#[derive(Debug, Serialize, ToSchema)]
pub struct CurrentSessionAnswer {
    #[serde(flatten)]
    session: SessionAnswer,
    /// The wallet that signed in.
    wallet: String,
    /// Only of a cookie session: what the header `X-CSRF-Token` must hold in every request that changes something.
    #[serde(skip_serializing_if = "Option::is_none")]
    csrf_token: Option<String>,
}

/// The sessions of the wallet that hold.
#[utoipa::path(
    get,
    path = "/v1/sessions",
    operation_id = "list_sessions",
    tag = "sessions",
    security(("session" = []), ("session_cookie" = [])),
    responses(
        (status = 200, description = "All of them", body = SessionListAnswer),
        (status = 400, description = "`invalid_request`: a query parameter", body = ErrorBody),
    ),
)]
pub async fn list(
    State(gateway): State<Gateway>,
    current: SignedIn,
    ApiQuery(()): ApiQuery<()>,
) -> Result<Response, ApiError> {
    let sessions = sessions::list(gateway.pool(), &current.wallet, &current.session_id).await?;
    Ok(unstored(SessionListAnswer { sessions }))
}

/// The session of the request.
#[utoipa::path(
    get,
    path = "/v1/sessions/{session_id}",
    operation_id = "get_session",
    tag = "sessions",
    params(("session_id" = String, Path, description = "`current`, or the id of the request's own session")),
    security(("session" = []), ("session_cookie" = [])),
    responses(
        (status = 200, description = "The session", body = CurrentSessionAnswer),
        (status = 400, description = "`invalid_request`: `session_id` is neither a UUID nor `current`", body = ErrorBody),
        (status = 404, description = "`not_found`: another session", body = ErrorBody),
    ),
)]
pub async fn get(
    State(gateway): State<Gateway>,
    current: SignedIn,
    ApiPath(session_id): ApiPath<String>,
    ApiQuery(()): ApiQuery<()>,
) -> Result<Response, ApiError> {
    if named(&session_id, &current)? != current.session_id {
        return Err(ApiError::new(
            ErrorCode::NotFound,
            "only the session of the request is shown; see `GET /v1/sessions`",
        ));
    }
    let sessions = sessions::list(gateway.pool(), &current.wallet, &current.session_id).await?;
    let session = sessions.into_iter().find(|session| session.current).ok_or_else(not_found)?;
    let wallet = current.wallet.to_string();
    Ok(unstored(CurrentSessionAnswer { session, wallet, csrf_token: current.csrf_token }))
}

/// Ends a session of the wallet, at once in every process.
#[utoipa::path(
    delete,
    path = "/v1/sessions/{session_id}",
    operation_id = "end_session",
    tag = "sessions",
    params(("session_id" = String, Path, description = "Id of the session, or `current`")),
    security(("session" = []), ("session_cookie" = [])),
    responses(
        (status = 204, description = "Ended. If it is the session of the request's cookie, the cookie is removed"),
        (status = 400, description = "`invalid_request`: `session_id` is neither a UUID nor `current`", body = ErrorBody),
        (status = 404, description = "`not_found`: this wallet has no such session", body = ErrorBody),
    ),
)]
pub async fn end(
    State(gateway): State<Gateway>,
    current: SignedIn,
    ApiPath(session_id): ApiPath<String>,
    ApiQuery(()): ApiQuery<()>,
) -> Result<Response, ApiError> {
    let session_id = named(&session_id, &current)?;
    if !sessions::end(gateway.pool(), &current.wallet, &session_id).await? {
        return Err(not_found());
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    if session_id == current.session_id && current.kind == SessionKind::Cookie {
        response.headers_mut().append(header::SET_COOKIE, cookie(&gateway, "", TimeDelta::zero())?);
    }
    Ok(response)
}

fn named(session_id: &str, current: &SignedIn) -> Result<Uuid, ApiError> {
    if session_id == CURRENT {
        return Ok(current.session_id);
    }
    session_id.parse().map_err(|_| ApiError::invalid("session_id", "in the path must be a UUID or `current`"))
}

fn not_found() -> ApiError {
    ApiError::new(ErrorCode::NotFound, "this wallet has no such session")
}
