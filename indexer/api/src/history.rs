//! `GET /v1/history` and `GET /v1/wallets/{wallet}/history`: what was paid day by day, in the market and to a creator.

use axum::{Extension, Json, extract::State};
use chrono::Utc;
use crtx_http::{ApiError, ApiPath, ApiQuery, ErrorBody, KeptBody, Peer};
use crtx_store::{
    pools::ReadConnection,
    reads::{self, CreatorDay, MarketDay},
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{state::ApiState, types};

/// The last 30 days of the market.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct MarketHistoryResponse {
    /// Days that are looked at, today among them.
    window_days: u32,
    /// Oldest first.
    days: Vec<MarketDay>,
}

/// The last 30 days of the agents of a creator, closed ones among them.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct CreatorHistoryResponse {
    /// Days that are looked at, today among them.
    window_days: u32,
    /// Oldest first.
    days: Vec<CreatorDay>,
}

/// What was paid in the market, day by day. It may be some seconds old.
#[utoipa::path(
    get, path = "/v1/history", tag = "service", operation_id = "market_history",
    responses(
        (status = 200, description = "The last 30 days", body = MarketHistoryResponse)
    )
)]
pub async fn market_history(State(state): State<ApiState>, ApiQuery(()): ApiQuery<()>) -> Result<KeptBody, ApiError> {
    let read = async |connection: &mut ReadConnection| {
        let days = reads::market_history(&mut **connection, Utc::now()).await?;
        Ok(MarketHistoryResponse { window_days: reads::METRICS_DAYS.unsigned_abs(), days })
    };
    state.kept_answer("history", state.shared.connections.kept_list(read)).await
}

/// What a creator earned, day by day. A wallet without agents has no days.
#[utoipa::path(
    get, path = "/v1/wallets/{wallet}/history", tag = "wallets", operation_id = "get_wallet_history",
    params(("wallet" = String, Path, description = "Address of the creator's wallet")),
    responses(
        (status = 200, description = "The last 30 days", body = CreatorHistoryResponse),
        (status = 400, description = "`invalid_request`: not an address, or a query parameter", body = ErrorBody),
        (status = 503, description = "`unavailable`: too many expensive reads, or no database; `Retry-After`", body = ErrorBody)
    )
)]
pub async fn get_wallet_history(
    State(state): State<ApiState>,
    ApiPath(wallet): ApiPath<String>,
    ApiQuery(()): ApiQuery<()>,
    peer: Option<Extension<Peer>>,
) -> Result<Json<CreatorHistoryResponse>, ApiError> {
    let wallet = types::wallet(&wallet)?;
    let mut connection = state.shared.connections.list(peer.map(|Extension(Peer(address))| address)).await?;
    let days = reads::creator_history(&mut *connection, &wallet, Utc::now()).await?;
    connection.done();
    Ok(Json(CreatorHistoryResponse { window_days: reads::METRICS_DAYS.unsigned_abs(), days }))
}
