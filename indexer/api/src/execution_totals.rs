//! `GET /v1/executions/totals`: what the executions of a wallet in a time range come to, by day, key, agent or status.

use axum::{Extension, Json, extract::State};
use chrono::{DateTime, NaiveTime, SubsecRound, TimeDelta, Utc};
use crtx_http::{ApiError, ApiQuery, ErrorBody, ErrorCode, FromQuery, Peer, QueryParams, Reader};
use crtx_store::reads::{self, ExecutionRole, ExecutionTotals, GroupedTotals, TotalsBy, TotalsQuestion};
use serde::Serialize;
use solana_pubkey::Pubkey;
use utoipa::{IntoParams, ToSchema};

use crate::{
    agent_names::Named,
    layers::ShownSlot,
    state::ApiState,
    types::{self, Timestamp},
};

/// Days before `to` at which a range begins that names no beginning.
const DEFAULT_RANGE: TimeDelta = TimeDelta::days(30);
const LONGEST_RANGE: TimeDelta = TimeDelta::days(366);

/// The executions of a wallet, added up.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ExecutionTotalsResponse {
    pub from: Timestamp,
    pub to: Timestamp,
    pub role: ExecutionRole,
    pub by: TotalsBy,
    /// At most 1 000: days in their order, others by what was paid, largest first. A group without executions is left out.
    pub groups: Vec<ExecutionTotals>,
    /// All executions of the range; what groups have in common is null.
    pub total: ExecutionTotals,
    /// Whether there are more groups. `total` counts them, too.
    pub truncated: bool,
}

/// What to add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ExecutionTotalsQuery {
    /// `caller`: executions for which the wallet paid. `creator`: executions of the agents that it listed.
    #[param(inline, required = false, value_type = ExecutionRole)]
    role: ExecutionRole,
    /// What the executions of a group have in common. `key` only with `role=caller`.
    #[param(inline, required = false, value_type = TotalsBy)]
    by: TotalsBy,
    /// Only executions of this agent.
    #[param(value_type = Option<String>)]
    agent_id: Option<Pubkey>,
    /// Only executions initiated at this ISO 8601 time or later; at most 366 days before `to`. 30 days before `to`, at
    /// midnight UTC, if it is left out.
    #[param(value_type = Option<String>, format = DateTime)]
    from: DateTime<Utc>,
    /// Only executions initiated before this ISO 8601 time. Now, if it is left out.
    #[param(value_type = Option<String>, format = DateTime)]
    to: Option<DateTime<Utc>>,
}

impl FromQuery for ExecutionTotalsQuery {
    fn from_query(params: &mut QueryParams) -> Result<Self, ApiError> {
        let role = types::word(params, "role", "`caller` or `creator`")?.unwrap_or_default();
        let by = types::word(params, "by", "`day`, `key`, `agent` or `status`")?.unwrap_or_default();
        if (role, by) == (ExecutionRole::Creator, TotalsBy::Key) {
            return Err(ApiError::invalid("by", "can be `key` only for executions that the wallet paid for"));
        }
        let agent_id = types::address(params, "agent_id", "is not an agent identifier")?;
        let (from, to) = (types::time(params, "from")?, types::time(params, "to")?);
        let end = to.unwrap_or_else(Utc::now);
        let from = from.unwrap_or_else(|| midnight(end.checked_sub_signed(DEFAULT_RANGE).unwrap_or(end)));
        if end.signed_duration_since(from) > LONGEST_RANGE {
            return Err(ApiError::invalid("from", "must be at most 366 days before `to`"));
        }
        Ok(Self { role, by, agent_id, from, to })
    }
}

/// The beginning of a time's day (UTC).
fn midnight(time: DateTime<Utc>) -> DateTime<Utc> {
    time.date_naive().and_time(NaiveTime::MIN).and_utc()
}

/// What the executions of the wallet of the API key or session come to: those for which it paid, or with `role=creator` those
/// of the agents that it listed.
#[utoipa::path(
    get, path = "/v1/executions/totals", tag = "executions", operation_id = "get_execution_totals",
    params(ExecutionTotalsQuery),
    security(("api_key" = []), ("session" = []), ("session_cookie" = [])),
    responses(
        (status = 200, description = "The totals", body = ExecutionTotalsResponse),
        (status = 400, description = "`invalid_request`: a parameter is unknown, repeated or malformed, or the range is too long", body = ErrorBody),
        (status = 503, description = "`unavailable`: the range has too many executions, too many expensive reads, or no database; `Retry-After`", body = ErrorBody)
    )
)]
pub async fn get_execution_totals(
    State(state): State<ApiState>,
    Reader { wallet, .. }: Reader,
    ApiQuery(query): ApiQuery<ExecutionTotalsQuery>,
    peer: Option<Extension<Peer>>,
) -> Result<(Extension<ShownSlot>, Json<ExecutionTotalsResponse>), ApiError> {
    let ExecutionTotalsQuery { role, by, agent_id, from, to } = query;
    let question = TotalsQuestion { wallet, role, by, agent: agent_id, from, to };
    let mirror_slot = state.shared.mirror.known().await.slot;
    let mut connection = state.shared.connections.list(peer.map(|Extension(Peer(address))| address)).await?;
    let grouped = reads::execution_totals(&mut *connection, &question).await;
    let GroupedTotals { groups, total, truncated } = grouped.map_err(|error| too_long(error.into()))?;
    connection.done();
    let to = Timestamp(to.unwrap_or_else(|| Utc::now().trunc_subsecs(3)));
    let (groups, slot) = with_names(&state, groups, mirror_slot).await?;
    let answer = ExecutionTotalsResponse { from: Timestamp(from), to, role, by, groups, total, truncated };
    Ok((Extension(ShownSlot(slot)), Json(answer)))
}

/// The groups of agents with their names, and the slot of what is shown: names from memory can be older than the rows.
async fn with_names(
    state: &ApiState,
    mut groups: Vec<ExecutionTotals>,
    rows: Option<u64>,
) -> Result<(Vec<ExecutionTotals>, Option<u64>), ApiError> {
    let agents: Vec<Pubkey> = groups.iter().filter_map(|group| group.agent_id.as_ref()?.parse().ok()).collect();
    if agents.is_empty() {
        return Ok((groups, rows));
    }
    let Named { names, slot } = state.shared.agent_names.of(&agents).await?;
    for (group, name) in groups.iter_mut().zip(names) {
        group.agent_name = Some(name);
    }
    Ok((groups, slot.map_or(rows, |names| rows.map(|rows| rows.min(names)))))
}

/// More executions than the time limit of a list allows. Its client learns what to do.
fn too_long(mut error: ApiError) -> ApiError {
    if error.code == ErrorCode::Unavailable {
        error.message =
            "the totals could not be read in time; try again, or ask for a shorter range or one agent".to_owned();
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Result<ExecutionTotalsQuery, ApiError> {
        ExecutionTotalsQuery::from_query(&mut QueryParams::parse(query))
    }

    #[test]
    fn a_range_begins_thirty_days_before_its_end_at_midnight_unless_the_query_says_otherwise() {
        let query = read("to=2026-11-28T15:00:00Z").expect("read");
        assert_eq!(query.from.to_rfc3339(), "2026-10-29T00:00:00+00:00");
        assert_eq!((query.role, query.by, query.agent_id), (ExecutionRole::Caller, TotalsBy::Day, None));
        let query = read("").expect("read");
        let days = Utc::now().signed_duration_since(query.from).num_days();
        assert!(query.to.is_none() && (30..=31).contains(&days), "{days}");
    }

    #[test]
    fn a_range_has_at_most_366_days() {
        assert!(read("from=2026-01-01&to=2027-01-02").is_ok());
        for query in ["from=2026-01-01&to=2027-01-02T00:00:01Z", "from=2000-01-01", "from=0001-01-01&to=9999-12-31"] {
            assert!(read(query).expect_err(query).message.contains("366 days"), "{query}");
        }
        assert!(read("from=2027-01-01&to=2026-01-01").is_ok(), "nothing is in it");
        assert!(read("to=0000-01-01").is_ok(), "the earliest time that can be named");
    }

    #[test]
    fn the_keys_of_callers_are_no_business_of_a_creator() {
        assert!(read("role=creator&by=key").is_err());
        assert!(read("role=creator&by=agent").is_ok() && read("by=key").is_ok());
        assert!(read("by=caller").is_err());
    }

    #[test]
    fn totals_that_take_too_long_say_what_to_ask_for() {
        assert!(too_long(ApiError::unavailable("a statement time-out")).message.contains("shorter range"));
        assert!(!too_long(ApiError::internal("a fault")).message.contains("shorter range"));
    }
}
