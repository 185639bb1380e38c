//! `GET /v1/agents/{agent_id}/listing`: whether a listing is shown, and why not.

use axum::{Json, extract::State};
use crtx_http::{ApiError, ApiPath, ApiQuery, ErrorBody};
use crtx_store::{
    pools::ReadConnection,
    reads::{self, ListingReason, ListingReasonCode, ListingState},
};
use serde::Serialize;
use solana_pubkey::Pubkey;
use utoipa::ToSchema;

use crate::state::ApiState;

/// Whether a listing that is on chain is shown.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ListingResponse {
    /// Address of the listing account.
    pub agent_id: String,
    /// Whether it is shown by its id and can be called, unless it is paused.
    pub shown: bool,
    /// Whether it is in lists.
    pub listed: bool,
    /// null if it is in lists.
    #[schema(required)]
    pub reason: Option<ListingReason>,
    /// The metadata document that it names. null if its account cannot be decoded.
    #[schema(required)]
    pub document: Option<ListingState>,
}

/// Whether a listing is shown, and why not. For the tools of creators.
#[utoipa::path(
    get, path = "/v1/agents/{agent_id}/listing", tag = "agents", operation_id = "get_listing",
    params(("agent_id" = String, Path, description = "Address of the listing account")),
    responses(
        (status = 200, description = "The state of the listing", body = ListingResponse),
        (status = 404, description = "`agent_not_found`: this index knows no listing at the address", body = ErrorBody)
    )
)]
pub async fn get_listing(
    State(state): State<ApiState>,
    ApiPath(agent_id): ApiPath<String>,
    ApiQuery(()): ApiQuery<()>,
) -> Result<Json<ListingResponse>, ApiError> {
    let not_found = || ApiError::agent_not_found(&agent_id);
    let address: Pubkey = agent_id.parse().map_err(|_| not_found())?;
    let mut connection = state.shared.connections.point().await?;
    let found = find(&mut connection, &address).await?;
    connection.done();
    let (listing, reason) = found.ok_or_else(not_found)?;
    let shown = reason.as_ref().is_none_or(|reason| reason.code == ListingReasonCode::Paused);
    Ok(Json(ListingResponse {
        agent_id: address.to_string(),
        shown,
        listed: reason.is_none(),
        reason,
        document: listing,
    }))
}

/// The 404 of an agent that is not shown. It says the reason if the listing is on chain.
pub(crate) async fn not_shown(
    connection: &mut ReadConnection,
    agent_id: &str,
    address: &Pubkey,
) -> Result<ApiError, ApiError> {
    let mut error = ApiError::agent_not_found(agent_id);
    if let Some((_, Some(reason))) = find(connection, address).await? {
        error.message = format!("the agent {address} is on chain, but it is not shown: {}", reason.message);
    }
    Ok(error)
}

/// The listing, unless its account cannot be decoded, and why it is not in lists. `None`: there is no listing.
async fn find(
    connection: &mut ReadConnection,
    address: &Pubkey,
) -> Result<Option<(Option<ListingState>, Option<ListingReason>)>, ApiError> {
    if let Some(listing) = reads::listing(&mut **connection, address).await? {
        let reason = listing.reason();
        return Ok(Some((Some(listing), reason)));
    }
    let quarantined = reads::is_quarantined(&mut **connection, address).await?;
    Ok(quarantined.then(|| (None, Some(ListingReason::unreadable()))))
}
