//! The wiring: which parts a process has, in which order they start and stop.

use std::{collections::BTreeSet, net::SocketAddr, sync::Arc, time::Duration};

use anyhow::{Context, Error, anyhow};
use axum::Router;
use crtx_api::{ApiState, Deployment};
use crtx_chain::ChainClient;
use crtx_gateway::{Gateway, GatewayConfig, GatewayError, Recovery};
use crtx_http::{
    AuthState, ServeLimits, TrustedProxies,
    other_network::{OtherNetwork, with_other_network},
};
use crtx_mirror::{IndexerConfig, figures::Figures};
use crtx_store::Pools;
use tokio::{net::TcpListener, sync::mpsc::UnboundedSender, task::JoinSet};
use tokio_util::sync::CancellationToken;

use crate::{
    metrics::Metrics,
    openapi,
    readiness::{self, Dependencies},
    role::Role,
};

/// Reads of the readiness checks.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);

/// What the parts of one process are configured with.
pub struct ServiceConfig {
    pub roles: BTreeSet<Role>,
    pub deployment: Deployment,
    /// Of the roles `api` and `worker`.
    pub gateway: Option<GatewayConfig>,
    /// Of the role `indexer`.
    pub indexer: Option<IndexerConfig>,
    /// Who may name the clients of requests.
    pub trusted_proxies: TrustedProxies,
    /// Where `/metrics` is served; nowhere if `None`.
    pub metrics_listen: Option<SocketAddr>,
    /// The deployment of the other network, which answers requests with its keys.
    pub other_network_url: Option<String>,
    /// Whether the dashboard is served at `/`. Only with the role `api`.
    pub dashboard: bool,
    /// Endpoints of the local network alone.
    pub local: Option<Router>,
    /// Reads of the mirror are refused once its newest proven state is older. `None`: never.
    pub max_lag: Option<Duration>,
}

/// The parts of a process. Nothing runs yet.
pub struct Service {
    config: ServiceConfig,
    gateway: Option<Gateway>,
    other_network: Option<Arc<OtherNetwork>>,
    pools: Pools,
}

/// How long a stop waits.
#[derive(Clone, Copy, Debug)]
pub struct StopLimits {
    /// For requests under way.
    pub requests: Duration,
    /// For the calls and the work behind them.
    pub work: Duration,
}

impl Service {
    /// Puts the parts together. The database's schema must be up to date ([`crtx_store::migrate`]).
    pub fn new(config: ServiceConfig, pools: Pools) -> Result<Self, GatewayError> {
        let gateway = config.gateway.clone().map(|gateway| Gateway::new(gateway, pools.money.clone())).transpose()?;
        let own = config.deployment.cluster.key_network();
        let other_url = config.other_network_url.as_deref().filter(|_| config.roles.contains(&Role::Api));
        let other_network = other_url.map(|url| OtherNetwork::new(url, own)).transpose()?;
        Ok(Self { config, gateway, other_network: other_network.map(Arc::new), pools })
    }

    /// Compares the configuration with the program's on the chain.
    pub async fn check(&self) -> Result<(), GatewayError> {
        let Some(gateway) = &self.gateway else { return Ok(()) };
        gateway.check().await?;
        tracing::info!(authority = %gateway.authority(), "the gateway's key pair matches the program's configuration");
        Ok(())
    }

    /// Starts what the roles name. A part that fails reports to `failures`.
    pub fn start(self, listener: TcpListener, failures: &UnboundedSender<Error>) -> Running {
        let mut running = Running::default();
        let indexed = self.config.indexer.as_ref().map(|_| Arc::<Figures>::default());
        let metrics = self
            .config
            .metrics_listen
            .map(|_| Metrics::new(self.pools.clone(), indexed.clone(), self.gateway.as_ref()));
        let router = self.router(&running.work, metrics.as_ref());
        let Self { config, gateway, pools, .. } = self;
        if let (Some(listen), Some(metrics)) = (config.metrics_listen, metrics) {
            let (shutdown, failures) = (running.work.clone(), failures.clone());
            running.work_tasks.spawn(async move {
                if let Err(error) = metrics.serve(listen, shutdown).await.context("the metrics") {
                    let _ = failures.send(error);
                }
            });
        }
        if let Some(gateway) = gateway {
            let recovery = if config.roles.contains(&Role::Worker) { Recovery::Here } else { Recovery::Elsewhere };
            running.work_tasks.spawn(crtx_gateway::run(gateway, recovery, running.work.clone()));
        }
        if let (Some(indexer), Some(figures)) = (config.indexer, indexed) {
            let indexing = crtx_mirror::run(indexer, pools.indexer, figures, running.work.clone());
            let failures = failures.clone();
            running.work_tasks.spawn(async move {
                if let Err(error) = indexing.await {
                    let _ = failures.send(anyhow!(error).context("the indexer"));
                }
            });
        }
        let (shutdown, failures) = (running.requests.clone(), failures.clone());
        running.request_tasks.spawn(async move {
            let (proxies, limits) = (config.trusted_proxies, ServeLimits::default());
            let served = crtx_http::serve(proxies, listener, router, limits, shutdown.cancelled_owned());
            if let Err(error) = served.await {
                let _ = failures.send(anyhow!(error).context("the HTTP server"));
            }
        });
        running
    }

    fn router(&self, shutdown: &CancellationToken, metrics: Option<&Metrics>) -> Router {
        let gateway = self.gateway.as_ref().filter(|_| self.config.roles.contains(&Role::Api));
        let api = gateway.map(|gateway| {
            let mut reads = ApiState::new(self.pools.reads.clone(), self.config.deployment.clone())
                .with_credentials(self.pools.credentials.clone(), Arc::clone(&gateway.credentials().strangers));
            (reads.max_lag, reads.content) = (self.config.max_lag, Some(gateway.content().clone()));
            (gateway, reads)
        });
        let dependencies = Dependencies {
            database: self.pools.health.clone(),
            chain: ChainClient::of_urls(&self.config.deployment.rpc_urls, CHECK_TIMEOUT),
            // A worker reads the chain itself.
            mirror: api.is_some() || self.config.indexer.is_some(),
            agents: api.as_ref().map(|(_, reads)| Arc::clone(reads.agent_list())),
            gateway: self.gateway.is_some(),
        };
        let mut router = readiness::router(dependencies.watch(shutdown.clone()));
        if let Some((gateway, reads)) = api {
            router = router
                .merge(crtx_api::router(reads))
                .merge(crtx_gateway::api::router(gateway.clone()))
                .merge(crtx_http::docs::router(openapi::description()));
            if let Some(local) = &self.config.local {
                router = router.merge(local.clone());
            }
        }
        // Inside of what answers unknown paths: those have no route.
        let router = match metrics {
            Some(metrics) => metrics.count_requests(router),
            None => router,
        };
        let Deployment { links, public_rpc_url, .. } = &self.config.deployment;
        let router = if self.config.dashboard && self.config.roles.contains(&Role::Api) {
            let pages = crtx_dashboard::pages(links.site().clone(), public_rpc_url.as_deref());
            crtx_http::finish_with(router, pages)
        } else {
            crtx_http::finish(router)
        };
        let router = crtx_http::over_tls_alone(router, links.site());
        match self.other_network.clone() {
            Some(other) => with_other_network(router, other),
            None => router,
        }
    }
}

/// A service that runs.
#[derive(Default)]
pub struct Running {
    /// Ends the HTTP server.
    requests: CancellationToken,
    /// Ends everything behind it.
    work: CancellationToken,
    request_tasks: JoinSet<()>,
    work_tasks: JoinSet<()>,
}

impl Running {
    /// Ends the requests first, then the work behind them. What does not end within the limits is cut off; calls that
    /// are cut off are resumed by another process or after the next start.
    pub async fn stop(mut self, limits: StopLimits) {
        self.requests.cancel();
        drain(&mut self.request_tasks, limits.requests).await;
        self.work.cancel();
        drain(&mut self.work_tasks, limits.work).await;
    }
}

async fn drain(tasks: &mut JoinSet<()>, limit: Duration) {
    let ended = async { while tasks.join_next().await.is_some() {} };
    if tokio::time::timeout(limit, ended).await.is_err() {
        tasks.shutdown().await;
    }
}
