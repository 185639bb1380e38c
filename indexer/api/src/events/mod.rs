//! `GET /v1/events`: the event log of the wallet of an API key or a session. [`stream`]: the same as it goes on.

pub mod hub;
pub mod stream;

use std::time::Duration;

use axum::{Extension, Json, extract::State};
use crtx_http::{ApiError, ApiQuery, CredentialName, ErrorBody, FromQuery, QueryParams, Reader, Stopping};
use crtx_store::{
    PgPool,
    events::{self, EventPage},
    pools::ReadConnection,
};
use solana_pubkey::Pubkey;
use tokio::time::{Instant, sleep_until};
use utoipa::IntoParams;

use crate::state::ApiState;

const DEFAULT_LIMIT: u64 = 100;
const MAX_LIMIT: u64 = 1_000;
/// Longest wait for an event, in seconds.
const MAX_WAIT_S: u64 = 25;
pub const MAX_WAIT: Duration = Duration::from_secs(MAX_WAIT_S);

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
    /// 0 to 25 seconds, 0 by default: how long the answer waits if there is no event to show yet.
    #[param(required = false)]
    wait: u64,
}

impl FromQuery for EventQuery {
    fn from_query(params: &mut QueryParams) -> Result<Self, ApiError> {
        let limit = params.integer("limit", 1, MAX_LIMIT)?.unwrap_or(DEFAULT_LIMIT);
        Ok(Self {
            after: params.integer("after", 0, i64::MAX.unsigned_abs())?.unwrap_or(0),
            types: types(params)?,
            limit: u32::try_from(limit).map_err(ApiError::internal)?,
            wait: params.integer("wait", 0, MAX_WAIT_S)?.unwrap_or(0),
        })
    }
}

/// The parameter `types`.
pub fn types(params: &mut QueryParams) -> Result<Vec<String>, ApiError> {
    let Some(text) = params.text("types")? else { return Ok(Vec::new()) };
    let types: Vec<String> = text.split(',').map(str::to_owned).collect();
    if !events::are_types(&types) {
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
        (status = 200, description = "A page of events", body = EventPage),
        (status = 400, description = "`invalid_request`: a query parameter, or an `after` that this log has not reached", body = ErrorBody),
        (status = 429, description = "`rate_limited`: this wallet has too many streams and requests that wait; `Retry-After`", body = ErrorBody),
        (status = 503, description = "`unavailable`: no database, or too many requests that wait; `Retry-After`", body = ErrorBody)
    )
)]
pub async fn list_events(
    State(state): State<ApiState>,
    Reader { wallet, credential }: Reader,
    ApiQuery(query): ApiQuery<EventQuery>,
    stopping: Option<Extension<Stopping>>,
) -> Result<Json<EventPage>, ApiError> {
    let mut page = query.read(&state.shared.connections.pools.points, &wallet, query.after).await?;
    if query.after > page.newest {
        // A standby can be behind what the client was sent by the primary.
        page = query.read(&state.hub.pool, &wallet, query.after).await?;
        reached(query.after, page.newest)?;
    }
    if query.wait > 0 && page.events.is_empty() {
        page = query.wait(&state, wallet, credential, stopping.map(|stopping| stopping.0)).await?;
    }
    Ok(Json(page))
}

/// Refuses the number of another log.
fn reached(after: u64, newest: u64) -> Result<(), ApiError> {
    if after > newest {
        let problem = format!("is {after}, but the newest event is {newest}: it is the number of another log");
        return Err(ApiError::invalid("after", problem));
    }
    Ok(())
}

impl EventQuery {
    async fn read(&self, pool: &PgPool, wallet: &Pubkey, after: u64) -> Result<EventPage, ApiError> {
        let mut connection = ReadConnection::acquire(pool).await?;
        let page = events::page(&mut connection, wallet, after, &self.types, self.limit).await?;
        connection.done();
        Ok(page)
    }

    /// The first page with an event, or the last one without when the time is over or the service stops.
    async fn wait(
        &self,
        state: &ApiState,
        wallet: Pubkey,
        credential: CredentialName,
        stopping: Option<Stopping>,
    ) -> Result<EventPage, ApiError> {
        let now = Instant::now();
        let end = now.checked_add(Duration::from_secs(self.wait)).unwrap_or(now);
        let mut waiting = state.hub.wait(wallet, credential).await?;
        let (mut after, stopping) = (self.after, stopping.unwrap_or_default().0);
        loop {
            // Before the read: what comes during it is news.
            waiting.after(after);
            let page = self.read(&state.hub.pool, &wallet, after).await?;
            if !page.events.is_empty() || Instant::now() >= end {
                return Ok(page);
            }
            after = page.through;
            if after < page.newest {
                continue;
            }
            let over = waiting.over();
            tokio::select! {
                () = over => return Err(ApiError::unauthorized("the API key or session is not valid any more")),
                () = waiting.news() => {}
                () = sleep_until(end) => {}
                () = stopping.cancelled() => return Ok(page),
            }
        }
    }
}
