//! The read API: listings, executions, and how far the mirror is.

mod agents;
mod executions;
mod status;
mod totals;
mod types;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderName, HeaderValue},
    middleware::{self, Next},
    response::Response,
};
use crtx_http::{AuthState, Links};
use crtx_protocol::api_key::KeyNetwork;
use crtx_store::{PgPool, mirror};
use tokio::sync::Mutex;
use utoipa::OpenApi;
use utoipa_axum::{router::OpenApiRouter, routes};

pub use agents::{AgentFull, AgentList, AgentSummary, Creator, CreatorFull};
pub use executions::{Dispute, ExecutionError, ExecutionFull, ExecutionList, ExecutionSummary};
pub use status::Status;
pub use types::Timestamp;

use totals::Totals;

/// The slot the mirror has reached, on every answer of the read API.
pub const INDEXED_SLOT: HeaderName = HeaderName::from_static("x-indexed-slot");

/// How old the slot in the header may be. It never claims more than the mirror shows.
const SLOT_MAX_AGE: Duration = Duration::from_millis(250);

/// What the handlers need. Cheap to clone.
#[derive(Clone)]
pub struct IndexerApiState {
    shared: Arc<Shared>,
}

struct Shared {
    pool: PgPool,
    network: KeyNetwork,
    links: Links,
    slot: Mutex<Option<(Instant, Option<u64>)>>,
    status: Mutex<Option<(Instant, Status)>>,
    totals: Totals,
}

impl IndexerApiState {
    pub fn new(pool: PgPool, network: KeyNetwork, links: Links) -> Self {
        let (slot, status) = (Mutex::new(None), Mutex::new(None));
        let shared = Shared { pool, network, links, slot, status, totals: Totals::default() };
        Self { shared: Arc::new(shared) }
    }

    fn totals(&self) -> &Totals {
        &self.shared.totals
    }

    fn links(&self) -> &Links {
        &self.shared.links
    }

    /// The slot the mirror had reached a moment ago.
    async fn indexed_slot(&self) -> Option<u64> {
        let mut cached = self.shared.slot.lock().await;
        if let Some((at, slot)) = *cached
            && at.elapsed() < SLOT_MAX_AGE
        {
            return slot;
        }
        let slot = match mirror::checkpoint(&self.shared.pool).await {
            Ok(checkpoint) => checkpoint.map(|checkpoint| checkpoint.slot),
            // The handler meets the same database and reports it.
            Err(_) => None,
        };
        *cached = Some((Instant::now(), slot));
        slot
    }
}

impl AuthState for IndexerApiState {
    fn pool(&self) -> &PgPool {
        &self.shared.pool
    }

    fn network(&self) -> KeyNetwork {
        self.shared.network
    }
}

#[derive(OpenApi)]
#[openapi(info(
    title = "crtx",
    description = "Agent Marketplace Execution API: browse agents, pay per call, verify results."
))]
struct Description;

fn routes() -> OpenApiRouter<IndexerApiState> {
    OpenApiRouter::with_openapi(Description::openapi())
        .routes(routes!(agents::list))
        .routes(routes!(agents::get))
        .routes(routes!(executions::list))
        .routes(routes!(executions::get))
        .routes(routes!(status::status))
        .routes(routes!(status::health))
}

/// The read endpoints. Has no fallback, so that it can be merged with other routers; pass the result
/// through [`crtx_http::finish`].
pub fn router(state: IndexerApiState) -> Router {
    let (router, _) = routes().split_for_parts();
    router.layer(middleware::from_fn_with_state(state.clone(), with_indexed_slot)).with_state(state)
}

/// The description of the read endpoints.
pub fn openapi() -> utoipa::openapi::OpenApi {
    crtx_http::docs::with_security(routes().split_for_parts().1)
}

/// Sets `x-indexed-slot`. The slot is read before the rows: they are at least as new as it says.
async fn with_indexed_slot(State(state): State<IndexerApiState>, request: Request, next: Next) -> Response {
    let slot = state.indexed_slot().await;
    let mut response = next.run(request).await;
    if let Some(slot) = slot {
        response.headers_mut().insert(INDEXED_SLOT, HeaderValue::from(slot));
    }
    response
}
