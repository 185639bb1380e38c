//! `GET /v1/disputes` and `GET /v1/disputes/{id}`: the disputes of a wallet that signed in, and for the resolver all of
//! them. A dispute of others is not found.

use agent_marketplace::state::Dispute;
use axum::{Json, extract::State};
use chrono::{DateTime, TimeDelta, Utc};
use crtx_http::{ApiError, ApiPath, ApiQuery, ErrorBody, ErrorCode, FromQuery, QueryParams, SignedIn};
use crtx_protocol::{result_hash::ResultHash, usdc::UsdcBase};
use crtx_store::reads::{self, DisputeFilter, DisputeScope, DisputeStatus};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::{
    dispute_transactions::{DisputeTransactions, Moments},
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

/// A dispute about an execution.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct DisputeResponse {
    /// Address of the dispute's account.
    pub dispute: String,
    pub execution_id: Uuid,
    /// Address of the execution's record.
    pub execution_record: String,
    pub agent_id: String,
    pub agent_name: String,
    /// The wallet that paid and raised the dispute.
    pub caller: String,
    /// The wallet that listed the agent.
    pub creator: String,
    /// What was paid.
    #[schema(value_type = f64)]
    pub amount_usdc: UsdcBase,
    /// `expired`: nobody decided within 30 days.
    pub status: DisputeStatus,
    /// SHA-256 of the evidence document: `sha256:` and hex.
    pub evidence_hash: String,
    /// Where the caller says the document is.
    pub evidence_uri: String,
    /// Where this service has it, once it was stored here.
    pub evidence_url: String,
    /// The same for the document of the creator's answer. null before there is one, like its time.
    #[schema(required)]
    pub answer_hash: Option<String>,
    #[schema(required)]
    pub answer_uri: Option<String>,
    #[schema(required)]
    pub answer_url: Option<String>,
    #[schema(required)]
    pub answered_at: Option<Timestamp>,
    pub raised_at: Timestamp,
    /// 72 hours after it was raised: until then the resolver decides.
    pub respond_by: Timestamp,
    /// From then on it can be upheld: the creator's answer, or 24 hours after it was raised. It can be rejected at once.
    pub upholdable_from: Timestamp,
    /// 30 days after it was raised: then it ends undecided.
    pub expires_at: Timestamp,
    #[schema(required)]
    pub resolved_at: Option<Timestamp>,
    /// SHA-256 of the resolver's reasons. null while open and when it expired.
    #[schema(required)]
    pub resolution_hash: Option<String>,
    /// Where this service has the reasons, once they were stored here.
    #[schema(required)]
    pub resolution_url: Option<String>,
    /// Taken from the collateral.
    #[schema(value_type = f64)]
    pub slash_usdc: UsdcBase,
    /// The part of it that the caller got.
    #[schema(value_type = f64)]
    pub compensation_usdc: UsdcBase,
    /// The part of it that the insurance got.
    #[schema(value_type = f64)]
    pub penalty_usdc: UsdcBase,
    /// Signatures of its transactions. null in lists, and if the chain could not be asked.
    #[schema(required)]
    pub transactions: Option<DisputeTransactions>,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct DisputeListResponse {
    pub disputes: Vec<DisputeResponse>,
    /// Disputes that pass the filter, on all pages.
    pub total: u64,
    pub limit: u32,
    /// 0 with a cursor.
    pub offset: u64,
    /// The `cursor` of the next page. null at the end.
    #[schema(required)]
    pub next_cursor: Option<String>,
}

impl DisputeResponse {
    fn new(state: &ApiState, dispute: reads::DisputeDetails) -> Self {
        let url = |hash: ResultHash| state.links().content(&hash);
        let raised_at = dispute.raised_at.0;
        let answer_due = later(raised_at, ANSWER_PERIOD);
        Self {
            dispute: dispute.address.to_string(),
            execution_id: dispute.execution_id,
            execution_record: dispute.record,
            agent_id: dispute.agent,
            agent_name: dispute.agent_name,
            caller: dispute.caller,
            creator: dispute.creator,
            amount_usdc: UsdcBase(dispute.amount),
            status: dispute.outcome,
            evidence_hash: dispute.evidence_hash.to_string(),
            evidence_uri: dispute.evidence_uri,
            evidence_url: url(dispute.evidence_hash),
            answer_hash: dispute.answer_hash.map(|hash| hash.to_string()),
            answer_uri: dispute.answer_uri,
            answer_url: dispute.answer_hash.map(url),
            answered_at: dispute.answered_at,
            raised_at: dispute.raised_at,
            respond_by: Timestamp(later(raised_at, RESPOND_WITHIN)),
            upholdable_from: Timestamp(dispute.answered_at.map_or(answer_due, |at| at.0.min(answer_due))),
            expires_at: Timestamp(later(raised_at, LIMIT)),
            resolved_at: dispute.resolved_at,
            resolution_hash: dispute.resolution_hash.map(|hash| hash.to_string()),
            resolution_url: dispute.resolution_hash.map(url),
            slash_usdc: UsdcBase(dispute.slash),
            compensation_usdc: UsdcBase(dispute.compensation),
            penalty_usdc: UsdcBase(dispute.slash.saturating_sub(dispute.compensation)),
            transactions: None,
        }
    }
}

fn later(time: DateTime<Utc>, by: TimeDelta) -> DateTime<Utc> {
    time.checked_add_signed(by).unwrap_or(time)
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
        (status = 403, description = "`forbidden`: `role=resolver` of another wallet", body = ErrorBody),
        (status = 503, description = "`unavailable`: no database; `Retry-After`", body = ErrorBody)
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
        disputes: listed.items.into_iter().map(|dispute| DisputeResponse::new(&state, dispute)).collect(),
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
        (status = 200, description = "The dispute", body = DisputeResponse),
        (status = 400, description = "`invalid_request`: a query parameter, or a path that is no text", body = ErrorBody),
        (status = 401, description = "`unauthorized`: no session of a wallet that signed in", body = ErrorBody),
        (status = 404, description = "`not_found`: no such dispute that this wallet may see", body = ErrorBody),
        (status = 503, description = "`unavailable`: no database; `Retry-After`", body = ErrorBody)
    )
)]
pub async fn get_dispute(
    State(state): State<ApiState>,
    signed_in: SignedIn,
    ApiPath(id): ApiPath<String>,
    ApiQuery(()): ApiQuery<()>,
) -> Result<Json<DisputeResponse>, ApiError> {
    let not_found = || ApiError::new(ErrorCode::NotFound, "this wallet has no such dispute");
    let address = id.parse().map_err(|_| not_found())?;
    let mut connection = state.shared.connections.point().await?;
    let dispute = reads::dispute(&mut *connection, &signed_in.wallet, &address).await?;
    connection.done();
    let dispute = dispute.ok_or_else(not_found)?;
    let moments = Moments {
        raised_at: dispute.raised_at.0.timestamp(),
        answered_at: dispute.answered_at.map(|at| at.0.timestamp()),
        resolved_at: dispute.resolved_at.map(|at| at.0.timestamp()),
    };
    let transactions = state.shared.dispute_history.of(dispute.address, moments).await;
    let response = DisputeResponse::new(&state, dispute);
    Ok(Json(DisputeResponse { transactions, ..response }))
}
