//! `GET /v1/history` and `GET /v1/wallets/{wallet}/history`: what was paid day by day, in the market and to a creator.

use axum::{Extension, Json, extract::State};
use chrono::Utc;
use crtx_http::{ApiError, ApiPath, ApiQuery, ErrorBody, Peer};
use crtx_store::reads::{self, HistoryDay};

use crate::{
    history_response::{CreatorHistoryResponse, MarketHistoryResponse},
    lanes::{Client, Query},
    state::ApiState,
    types,
};

/// What was paid in the market, day by day. It may be some seconds old.
#[utoipa::path(
    get, path = "/v1/history", tag = "service", operation_id = "market_history",
    responses(
        (status = 200, description = "The last 30 days", body = MarketHistoryResponse),
        (status = 400, description = "`invalid_request`: a query parameter", body = ErrorBody),
        (status = 503, description = "`unavailable`: no database; `Retry-After`", body = ErrorBody)
    )
)]
pub async fn market_history(
    State(state): State<ApiState>,
    ApiQuery(()): ApiQuery<()>,
) -> Result<Json<MarketHistoryResponse>, ApiError> {
    if let Some(history) = state.market_history().fresh() {
        return Ok(Json(history));
    }
    let reading = state.clone();
    let history = state.market_history().ask(async move {
        let query: Query<Vec<HistoryDay>> = Box::new(|mut connection| {
            Box::pin(async move {
                let days = reads::market_history(&mut *connection, Utc::now()).await?;
                connection.done();
                Ok(days)
            })
        });
        let (days, took) = reading.lanes().list(Client::Local, "market history", &query).await?;
        let history = MarketHistoryResponse {
            window_days: reads::METRICS_DAYS.unsigned_abs(),
            days: days.into_iter().map(Into::into).collect(),
        };
        reading.market_history().keep(&history, took);
        Ok(history)
    });
    Ok(Json(history.await?))
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
    let wallet = types::address(&wallet).ok_or_else(|| ApiError::invalid("wallet", "must be an address in base58"))?;
    let client = peer.map_or(Client::Local, |Extension(Peer(address))| Client::Peer(address));
    let query: Query<Vec<HistoryDay>> = Box::new(move |mut connection| {
        Box::pin(async move {
            let days = reads::creator_history(&mut *connection, &wallet, Utc::now()).await?;
            connection.done();
            Ok(days)
        })
    });
    let (days, _) = state.lanes().list(client, "creator history", &query).await?;
    Ok(Json(CreatorHistoryResponse {
        window_days: reads::METRICS_DAYS.unsigned_abs(),
        days: days.into_iter().map(Into::into).collect(),
    }))
}
