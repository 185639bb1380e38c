//! `GET /v1/disputes` and `GET /v1/disputes/{id}`: the disputes of a wallet that signed in, and for the resolver all of
//! them. A dispute of others is not found.

use agent_marketplace::state::Dispute;
use axum::{Json, extract::State};
use chrono::TimeDelta;
use crtx_http::{ApiError, ApiPath, ApiQuery, ErrorBody, ErrorCode, FromQuery, QueryParams, SignedIn};
use crtx_protocol::result_hash::ResultHash;
use crtx_store::reads::{self, DisputeDetails, DisputeFilter, DisputeScope, DisputeStatus};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    paging::{Paging, next_cursor},
    state::ApiState,
    types::{self, Timestamp},
};

/// Within this time the resolver decides.
const RESPOND_WITHIN: TimeDelta = TimeDelta::hours(72);
/// Without the creator's answer, a dispute can be upheld after this time.
const ANSWER_PERIOD: TimeDelta = TimeDelta::seconds(Dispute::ANSWER_PERIOD_S);
/// Without a decision, anybody can end the dispute after this time.
const LIMIT: TimeDelta = TimeDelta::seconds(Dispute::LIMIT_S);

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct DisputeListResponse {
    pub disputes: Vec<DisputeDetails>,
    /// Disputes that pass the filter, on all pages.
    pub total: u64,
    pub limit: u32,
    /// 0 with a cursor.
    pub offset: u64,
    /// The `cursor` of the next page. null at the end.
    #[schema(required)]
    pub next_cursor: Option<String>,
}

/// Adds the links to the documents, and what follows from the times.
fn complete(state: &ApiState, dispute: DisputeDetails) -> DisputeDetails {
    let url = |hash: ResultHash| state.links().content(&hash);
    let Timestamp(raised_at) = dispute.raised_at;
    let later = |by: TimeDelta| Timestamp(raised_at.checked_add_signed(by).unwrap_or(raised_at));
    let answer_due = later(ANSWER_PERIOD);
    DisputeDetails {
        evidence_url: url(dispute.evidence_hash),
        answer_url: dispute.answer_hash.map(url),
        resolution_url: dispute.resolution_hash.map(url),
        respond_by: Some(later(RESPOND_WITHIN)),
        upholdable_from: Some(dispute.answered_at.map_or(answer_due, |at| at.min(answer_due))),
        expires_at: Some(later(LIMIT)),
        ..dispute
    }
}

/// A wallet's side of a dispute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum DisputeRole {
    Caller,
    Creator,
    /// Sees all disputes, if it is the resolver.
    Resolver,
}

/// Which disputes to list.
#[derive(Clone, Debug, PartialEq, Eq, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct DisputeListQuery {
    /// Disputes per page.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 100, default = 20)]
    limit: u32,
    /// Disputes to skip. Further pages are read with `cursor`.
    #[param(value_type = Option<u64>, minimum = 0, maximum = 10_000, default = 0)]
    offset: u64,
    /// The `next_cursor` of the page before, with the same `role` and `status`. Not together with `offset`.
    #[param(value_type = Option<String>, max_length = 512)]
    cursor: Option<String>,
    /// Only those in which the wallet is this. By default all that the wallet may see.
    #[param(inline, required = false, value_type = DisputeRole)]
    role: Option<DisputeRole>,
    #[param(inline, required = false, value_type = DisputeStatus)]
    status: Option<DisputeStatus>,
}

impl FromQuery for DisputeListQuery {
    fn from_query(params: &mut QueryParams) -> Result<Self, ApiError> {
        let Paging { limit, offset, cursor } = Paging::from_query(params)?;
        let role = types::word(params, "role", "`caller`, `creator` or `resolver`")?;
        let status = types::word(params, "status", "`open`, `upheld`, `rejected` or `expired`")?;
        Ok(Self { limit, offset, cursor, role, status })
    }
}

/// Disputes in which the wallet that signed in is caller or creator, and all of them for the resolver. Open ones come
/// first, those with the least time left at the top; then the others, newest first.
#[utoipa::path(
    get, path = "/v1/disputes", tag = "disputes", operation_id = "list_disputes", params(DisputeListQuery),
    security(("session" = []), ("session_cookie" = [])),
    responses(
        (status = 200, description = "One page of disputes", body = DisputeListResponse),
        (status = 400, description = "`invalid_request`: a parameter is unknown, repeated or malformed, or a `cursor` of another list", body = ErrorBody),
        (status = 401, description = "`unauthorized`: no session of a wallet that signed in", body = ErrorBody),
        (status = 403, description = "`forbidden`: `role=resolver` of another wallet", body = ErrorBody)
    )
)]
pub async fn list_disputes(
    State(state): State<ApiState>,
    signed_in: SignedIn,
    ApiQuery(query): ApiQuery<DisputeListQuery>,
) -> Result<Json<DisputeListResponse>, ApiError> {
    let DisputeListQuery { limit, offset, cursor, role, status } = query;
    let mut connection = state.shared.connections.point().await?;
    let may_see_all = match role {
        Some(DisputeRole::Caller | DisputeRole::Creator) => false,
        None | Some(DisputeRole::Resolver) => reads::is_resolver(&mut *connection, &signed_in.wallet).await?,
    };
    let filter = DisputeFilter { scope: scope(role, may_see_all)?, outcome: status };
    let list = format!("disputes of {} {filter:?}", signed_in.wallet);
    let start = Paging { limit, offset, cursor }.start(&list)?;
    let listed = reads::list_disputes(&mut *connection, &signed_in.wallet, filter, limit, &start).await?;
    connection.done();
    Ok(Json(DisputeListResponse {
        disputes: listed.items.into_iter().map(|dispute| complete(&state, dispute)).collect(),
        total: listed.total,
        limit,
        offset,
        next_cursor: next_cursor(&list, listed.next.as_ref())?,
    }))
}

fn scope(role: Option<DisputeRole>, may_see_all: bool) -> Result<DisputeScope, ApiError> {
    match (role, may_see_all) {
        (Some(DisputeRole::Caller), _) => Ok(DisputeScope::Caller),
        (Some(DisputeRole::Creator), _) => Ok(DisputeScope::Creator),
        (None | Some(DisputeRole::Resolver), true) => Ok(DisputeScope::All),
        (None, false) => Ok(DisputeScope::Parties),
        (Some(DisputeRole::Resolver), false) => {
            Err(ApiError::new(ErrorCode::Forbidden, "this wallet is not the resolver"))
        }
    }
}

/// One dispute, for its parties and the resolver.
#[utoipa::path(
    get, path = "/v1/disputes/{id}", tag = "disputes", operation_id = "get_dispute",
    params(("id" = String, Path, description = "Address of the dispute, or of the execution's record")),
    security(("session" = []), ("session_cookie" = [])),
    responses(
        (status = 200, description = "The dispute", body = DisputeDetails),
        (status = 400, description = "`invalid_request`: a query parameter, or a path that is no text", body = ErrorBody),
        (status = 401, description = "`unauthorized`: no session of a wallet that signed in", body = ErrorBody),
        (status = 404, description = "`not_found`: no such dispute that this wallet may see", body = ErrorBody)
    )
)]
pub async fn get_dispute(
    State(state): State<ApiState>,
    signed_in: SignedIn,
    ApiPath(id): ApiPath<String>,
    ApiQuery(()): ApiQuery<()>,
) -> Result<Json<DisputeDetails>, ApiError> {
    let not_found = || ApiError::new(ErrorCode::NotFound, "this wallet has no such dispute");
    let address = id.parse().map_err(|_| not_found())?;
    let mut connection = state.shared.connections.point().await?;
    let dispute = reads::dispute(&mut *connection, &signed_in.wallet, &address).await?;
    connection.done();
    let dispute = dispute.ok_or_else(not_found)?;
    let transactions = state.shared.dispute_history.of(&dispute).await;
    Ok(Json(DisputeDetails { transactions, ..complete(&state, dispute) }))
}
