//! What the handlers share.

use std::sync::Arc;

use crtx_http::{AuthState, Links};
use crtx_protocol::api_key::KeyNetwork;
use crtx_store::{PgPool, ReadPools, reads};

use super::{
    cache::Cache, flights::Flights, lanes::Lanes, mirror_slot::MirrorSlot, status_response::StatusResponse,
    totals::Totals,
};

/// What the handlers need. Cheap to clone.
#[derive(Clone)]
pub struct IndexerApiState {
    shared: Arc<Shared>,
}

struct Shared {
    lanes: Lanes,
    mirror_slot: Arc<MirrorSlot>,
    network: KeyNetwork,
    links: Links,
    totals: Totals,
    status: Cache<StatusResponse>,
    agent_pages: Flights<Arc<Vec<reads::ListedAgent>>>,
    execution_pages: Flights<Arc<Vec<reads::ListedExecution>>>,
}

impl IndexerApiState {
    pub fn new(pools: impl Into<ReadPools>, network: KeyNetwork, links: Links) -> Self {
        let pools = pools.into();
        let shared = Shared {
            lanes: Lanes::new(&pools),
            mirror_slot: MirrorSlot::new(pools.health),
            network,
            links,
            totals: Totals::default(),
            status: Cache::default(),
            agent_pages: Flights::default(),
            execution_pages: Flights::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    pub(super) fn lanes(&self) -> &Lanes {
        &self.shared.lanes
    }

    pub(super) fn mirror_slot(&self) -> &Arc<MirrorSlot> {
        &self.shared.mirror_slot
    }

    pub(super) fn totals(&self) -> &Totals {
        &self.shared.totals
    }

    pub(super) fn links(&self) -> &Links {
        &self.shared.links
    }

    pub(super) fn status(&self) -> &Cache<StatusResponse> {
        &self.shared.status
    }

    pub(super) fn agent_pages(&self) -> &Flights<Arc<Vec<reads::ListedAgent>>> {
        &self.shared.agent_pages
    }

    pub(super) fn execution_pages(&self) -> &Flights<Arc<Vec<reads::ListedExecution>>> {
        &self.shared.execution_pages
    }
}

impl AuthState for IndexerApiState {
    fn pool(&self) -> &PgPool {
        self.shared.lanes.points()
    }

    fn network(&self) -> KeyNetwork {
        self.shared.network
    }
}
