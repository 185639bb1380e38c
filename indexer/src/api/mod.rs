//! The read API: listings, executions, and how far the mirror is.

mod agents;
mod executions;
mod flights;
mod lanes;
mod pulse;
mod status;
mod totals;
mod types;

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderName, HeaderValue},
    middleware::{self, Next},
    response::{IntoResponse, Response},
};
use crtx_http::{ApiError, AuthState, Links, Peer};
use crtx_protocol::api_key::KeyNetwork;
use crtx_store::{PgPool, ReadPools, reads};
use utoipa::OpenApi;
use utoipa_axum::{router::OpenApiRouter, routes};

pub use agents::{AgentFull, AgentList, AgentSummary, Creator, CreatorFull};
pub use executions::{Dispute, ExecutionError, ExecutionFull, ExecutionList, ExecutionSummary};
pub use status::Status;
pub use types::Timestamp;

use flights::Flights;
use lanes::{Client, Lanes};
use pulse::Pulse;
use status::StatusCache;
use totals::Totals;

/// The slot the mirror has reached, on every answer of the read API.
pub const INDEXED_SLOT: HeaderName = HeaderName::from_static("x-indexed-slot");

/// No read takes longer.
const READ_LIMIT: Duration = Duration::from_secs(10);

/// What the handlers need. Cheap to clone.
#[derive(Clone)]
pub struct IndexerApiState {
    shared: Arc<Shared>,
}

struct Shared {
    lanes: Lanes,
    pulse: Arc<Pulse>,
    network: KeyNetwork,
    links: Links,
    totals: Totals,
    status: StatusCache,
    agent_pages: Flights<Arc<Vec<reads::AgentSummary>>>,
    execution_pages: Flights<Arc<Vec<reads::ExecutionSummary>>>,
}

impl IndexerApiState {
    pub fn new(pools: impl Into<ReadPools>, network: KeyNetwork, links: Links) -> Self {
        let pools = pools.into();
        let shared = Shared {
            lanes: Lanes::new(&pools),
            pulse: Pulse::new(pools.health),
            network,
            links,
            totals: Totals::default(),
            status: StatusCache::default(),
            agent_pages: Flights::default(),
            execution_pages: Flights::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    fn lanes(&self) -> &Lanes {
        &self.shared.lanes
    }

    fn totals(&self) -> &Totals {
        &self.shared.totals
    }

    fn links(&self) -> &Links {
        &self.shared.links
    }
}

/// Whose queue a list without an API key waits in.
fn client_of(peer: Option<axum::Extension<Peer>>) -> Client {
    peer.map_or(Client::Local, |axum::Extension(Peer(address))| Client::Peer(address))
}

impl AuthState for IndexerApiState {
    fn pool(&self) -> &PgPool {
        self.shared.lanes.points()
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
}

/// The read endpoints. Has no fallback, so that it can be merged with other routers; pass the result
/// through [`crtx_http::finish`].
pub fn router(state: IndexerApiState) -> Router {
    let (router, _) = routes().split_for_parts();
    router
        .layer(middleware::from_fn(within_limit))
        .layer(middleware::from_fn_with_state(state.clone(), with_indexed_slot))
        .with_state(state)
}

/// The description of the read endpoints.
pub fn openapi() -> utoipa::openapi::OpenApi {
    crtx_http::docs::with_security(routes().split_for_parts().1)
}

/// Sets `x-indexed-slot`. The slot is read before the rows: they are at least as new as it says.
async fn with_indexed_slot(State(state): State<IndexerApiState>, request: Request, next: Next) -> Response {
    let slot = state.shared.pulse.slot().await;
    let mut response = next.run(request).await;
    if let Some(slot) = slot {
        response.headers_mut().insert(INDEXED_SLOT, HeaderValue::from(slot));
    }
    response
}

async fn within_limit(request: Request, next: Next) -> Response {
    let answer = tokio::time::timeout(READ_LIMIT, next.run(request)).await;
    answer.unwrap_or_else(|_| ApiError::unavailable("a read took too long").into_response())
}
