//! `GET /v1/events`: the event log of the wallet of an API key or a session.

use axum::{Json, extract::State};
use crtx_http::{ApiError, ApiQuery, ErrorBody, FromQuery, QueryParams, Reader};
use crtx_store::{
    events::{self, Event},
    pools::ReadConnection,
};
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};

use crate::state::ApiState;

const DEFAULT_LIMIT: u64 = 100;
const MAX_LIMIT: u64 = 1_000;

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct EventListResponse {
    /// Oldest first.
    pub events: Vec<Event>,
    /// The `after` of the next request.
    pub next_after: u64,
    /// The first event that is kept: those with smaller numbers were deleted.
    pub oldest: u64,
    /// The newest event of the wallet. 0: it has none.
    pub newest: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct EventQuery {
    /// The number of the last event that the client has. Without it, the log from its beginning.
    #[param(required = false)]
    after: u64,
    /// Types of events, separated by commas, such as `execution.completed,payout`. All types without it. With it, the
    /// numbers of an answer have gaps.
    #[param(required = false, value_type = Option<String>)]
    types: Vec<String>,
    /// 1 to 1000, 100 by default.
    #[param(required = false)]
    limit: u32,
}

impl FromQuery for EventQuery {
    fn from_query(params: &mut QueryParams) -> Result<Self, ApiError> {
        let limit = params.integer("limit", 1, MAX_LIMIT)?.unwrap_or(DEFAULT_LIMIT);
        Ok(Self {
            after: params.integer("after", 0, i64::MAX.unsigned_abs())?.unwrap_or(0),
            types: types(params)?,
            limit: u32::try_from(limit).map_err(ApiError::internal)?,
        })
    }
}

/// The parameter `types`.
pub fn types(params: &mut QueryParams) -> Result<Vec<String>, ApiError> {
    let Some(text) = params.text("types")? else { return Ok(Vec::new()) };
    let types: Vec<String> = text.split(',').map(str::to_owned).collect();
    if types.len() > events::TYPES.len() || types.iter().any(|name| !events::TYPES.contains(&name.as_str())) {
        return Err(ApiError::invalid("types", format!("must be some of {}", events::TYPES.join(","))));
    }
    Ok(types)
}

/// The event log of the wallet of the API key or session: what happened to its executions, disputes, listings and keys. Each
/// event has the number after the one before it, and names that one in `previous`: so a client that has all numbers has
/// missed nothing.
#[utoipa::path(
    get, path = "/v1/events", tag = "events", operation_id = "list_events",
    params(EventQuery),
    security(("api_key" = []), ("session" = []), ("session_cookie" = [])),
    responses(
        (status = 200, description = "A page of events", body = EventListResponse),
        (status = 400, description = "`invalid_request`: a query parameter, or an `after` that this log has not reached", body = ErrorBody),
        (status = 401, description = "`unauthorized`", body = ErrorBody),
        (status = 503, description = "`unavailable`: no database; `Retry-After`", body = ErrorBody)
    )
)]
pub async fn list_events(
    State(state): State<ApiState>,
    Reader { wallet }: Reader,
    ApiQuery(EventQuery { after, types, limit }): ApiQuery<EventQuery>,
) -> Result<Json<EventListResponse>, ApiError> {
    let mut connection = ReadConnection::acquire(&state.shared.connections.pools.points).await?;
    let page = events::page(&mut connection, &wallet, after, &types, limit).await?;
    connection.done();
    if after > page.newest {
        let problem = format!("is {after}, but the newest event is {}: it is the number of another log", page.newest);
        return Err(ApiError::invalid("after", problem));
    }
    Ok(Json(EventListResponse {
        events: page.events,
        next_after: page.through,
        oldest: page.oldest,
        newest: page.newest,
    }))
}
