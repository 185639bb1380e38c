//! `GET /v1/digest/{slot}`: the digest of the mirror at a finalized slot, to be compared with any node's accounts.

use axum::{Json, extract::State};
use crtx_http::{ApiError, ApiPath, ApiQuery, ErrorBody, ErrorCode};
use crtx_store::mirror::{self, DigestRow};

use crate::state::ApiState;

/// The digest of all accounts of the program at a finalized slot.
#[utoipa::path(
    get, path = "/v1/digest/{slot}", tag = "service", operation_id = "digest",
    params(("slot" = u64, Path, description = "A finalized slot")),
    responses(
        (status = 200, description = "The digest", body = DigestRow),
        (status = 400, description = "`invalid_request`: the slot is not a number", body = ErrorBody),
        (status = 404, description = "`not_found`: the digest of that slot is not known: it is later than the slots \
            that the index has proved since its indexer started, or earlier, or not one that was proved by itself",
            body = ErrorBody)
    )
)]
pub async fn digest(
    State(state): State<ApiState>,
    ApiPath(slot): ApiPath<String>,
    ApiQuery(()): ApiQuery<()>,
) -> Result<Json<DigestRow>, ApiError> {
    let asked: Option<u64> = slot.parse().ok().filter(|slot| i64::try_from(*slot).is_ok());
    let asked = asked.ok_or_else(|| ApiError::invalid("slot", "must be a slot"))?;
    let mut connection = state.shared.connections.point().await?;
    let found = mirror::digest_at(&mut *connection, asked).await?;
    let newest = mirror::digest(&mut *connection).await?;
    connection.done();
    let Some(found) = found else {
        let message = match newest {
            Some(newest) if newest.slot < asked => {
                format!("the digest is proved up to slot {}, and not yet for {asked}", newest.slot)
            }
            Some(newest) => format!(
                "the digest of slot {asked} was not proved, or is not kept any more; the newest is the one of slot {}",
                newest.slot
            ),
            None => "no digest is proved yet: the indexer has started, and what it read is not final".to_owned(),
        };
        return Err(ApiError::new(ErrorCode::NotFound, message));
    };
    // The entry may be older: no account changed since.
    Ok(Json(DigestRow { slot: asked, ..found }))
}
