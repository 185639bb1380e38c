//! `/metrics` for Prometheus, on an address of its own: what this process answers, its database connections, and what the
//! database says about mirror, documents and money.

use std::{
    net::SocketAddr,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use axum::{
    Router,
    extract::{MatchedPath, Request, State},
    http::{HeaderValue, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::get,
};
use crtx_gateway::Gateway;
use crtx_http::{ApiError, ServeLimits, TrustedProxies};
use crtx_mirror::figures::Figures as IndexerFigures;
use crtx_store::{Pools, metrics as figures};
use prometheus_client::{
    encoding::text::encode,
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};
use tokio::{net::TcpListener, sync::Mutex, time::timeout};
use tokio_util::sync::CancellationToken;

/// Longest wait for the database. Without its figures the others are served.
const PATIENCE: Duration = Duration::from_secs(3);
/// The database is not asked more often, however many ask.
const EVERY: Duration = Duration::from_secs(5);
const CONTENT_TYPE: HeaderValue =
    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
/// Upper bounds of the duration of requests, in seconds.
const SECONDS: [f64; 11] = [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];
/// What a client can choose is not a label, so the number of series is bounded.
const OTHER: &str = "other";

/// Figures by name.
type Known = Vec<(&'static str, i64)>;
type Labels<const N: usize> = [(&'static str, String); N];
type Durations = Family<Labels<1>, Histogram, fn() -> Histogram>;

/// The figures of one process. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Metrics(Arc<ProcessFigures>);

struct ProcessFigures {
    pools: Pools,
    /// What the indexer of this process counts; `None` without that role.
    indexer: Option<Arc<IndexerFigures>>,
    requests: Family<Labels<3>, Counter>,
    durations: Durations,
    registry: Registry,
    gauges: Family<Labels<1>, Gauge>,
    /// Figures of the database by name, and when they were read.
    read: Mutex<Option<(Instant, Known)>>,
}

impl Metrics {
    pub fn new(pools: Pools, indexer: Option<Arc<IndexerFigures>>, gateway: Option<&Gateway>) -> Self {
        let mut registry = Registry::with_prefix("crtx");
        let (requests, gauges) = (Family::default(), Family::default());
        let durations = Durations::new_with_constructor(|| Histogram::new(SECONDS));
        registry.register("http_requests", "Answered requests by route, method and class of status", requests.clone());
        registry.register("http_request_seconds", "Time to the head of an answer", durations.clone());
        registry.register("pool_connections", "Open database connections of this process by pool", gauges.clone());
        if let Some(gateway) = gateway {
            gateway.figures().register(&mut registry);
        }
        Self(Arc::new(ProcessFigures { pools, indexer, requests, durations, registry, gauges, read: Mutex::new(None) }))
    }

    /// Counts the requests of a router.
    pub fn count_requests(&self, router: Router) -> Router {
        router.layer(middleware::from_fn_with_state(self.clone(), count))
    }

    /// Serves `/metrics` until shut down.
    pub async fn serve(self, listen: SocketAddr, shutdown: CancellationToken) -> Result<()> {
        let listener = TcpListener::bind(listen).await.with_context(|| format!("cannot listen on {listen}"))?;
        let router = crtx_http::finish(Router::new().route("/metrics", get(show)).with_state(self));
        crtx_http::serve(
            TrustedProxies::default(),
            listener,
            router,
            ServeLimits::default(),
            shutdown.cancelled_owned(),
        )
        .await?;
        Ok(())
    }

    async fn text(&self) -> Result<String, std::fmt::Error> {
        for (name, pool) in self.0.pools.named() {
            let connections = i64::from(pool.size());
            self.0.gauges.get_or_create(&[("pool", name.to_owned())]).set(connections);
        }
        let mut text = String::new();
        encode(&mut text, &self.0.registry)?;
        // The encoder ends the text; what the database says goes before the end.
        let mut text = text.trim_end_matches("# EOF\n").to_owned();
        if let Some(indexer) = &self.0.indexer {
            text.push_str(&indexer_text(indexer));
        }
        for (name, value) in self.database().await {
            text.push_str(&format!("# TYPE crtx_{name} gauge\ncrtx_{name} {value}\n"));
        }
        text.push_str("# EOF\n");
        Ok(text)
    }

    /// What the database says: `crtx_database_up` alone if it does not answer in time.
    async fn database(&self) -> Known {
        let mut read = self.0.read.lock().await;
        if let Some((at, known)) = &*read
            && at.elapsed() < EVERY
        {
            return known.clone();
        }
        let asked = timeout(PATIENCE, figures::read(&self.0.pools.reads.points)).await;
        let mut known = vec![("database_up", i64::from(matches!(asked, Ok(Ok(_)))))];
        match asked {
            Ok(Ok(found)) => known.extend(found),
            Ok(Err(error)) => tracing::warn!(cause = %error, "the figures of the database could not be read"),
            Err(_) => tracing::warn!("the figures of the database could not be read in time"),
        }
        *read = Some((Instant::now(), known.clone()));
        known
    }
}

fn indexer_text(counted: &IndexerFigures) -> String {
    let IndexerFigures { events, rows_refused, rows_corrected, resyncs, resync_us } = counted;
    let mut text = String::new();
    for (name, value) in
        [("indexer_events", events), ("indexer_rows_refused", rows_refused), ("indexer_rows_corrected", rows_corrected)]
    {
        text.push_str(&format!("# TYPE crtx_{name} counter\ncrtx_{name}_total {}\n", value.load(Relaxed)));
    }
    let (name, resyncs) = ("indexer_resync_seconds", resyncs.load(Relaxed));
    let seconds = Duration::from_micros(resync_us.load(Relaxed)).as_secs_f64();
    text.push_str(&format!("# TYPE crtx_{name} summary\ncrtx_{name}_count {resyncs}\ncrtx_{name}_sum {seconds}\n"));
    text
}

async fn count(State(metrics): State<Metrics>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let method = match request.method().as_str() {
        known @ ("GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS") => known.to_owned(),
        _ => OTHER.to_owned(),
    };
    let response = next.run(request).await;
    let route = [("route", route.as_ref().map_or(OTHER, MatchedPath::as_str).to_owned())];
    let class = match response.status().as_u16() {
        200..300 => "2xx",
        300..400 => "3xx",
        400..500 => "4xx",
        _ => "5xx",
    };
    metrics.0.durations.get_or_create(&route).observe(started.elapsed().as_secs_f64());
    let [route] = route;
    metrics.0.requests.get_or_create(&[route, ("method", method), ("status", class.to_owned())]).inc();
    response
}

async fn show(State(metrics): State<Metrics>) -> Response {
    match metrics.text().await {
        Ok(text) => ([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response(),
        Err(error) => ApiError::internal(error).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use crtx_store::{pools::PoolSizes, testing::TestDatabase};
    use tower::ServiceExt;

    use super::*;

    async fn metrics(database: &TestDatabase) -> Metrics {
        let pools = Pools::connect(&database.url(), None, PoolSizes::of(16)).await.unwrap();
        Metrics::new(pools, Some(Arc::default()), None)
    }

    async fn ask(router: &Router, method: &str, path: &str) -> u16 {
        let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
        router.clone().oneshot(request).await.unwrap().status().as_u16()
    }

    #[tokio::test]
    async fn requests_are_counted_by_route_and_never_by_what_a_client_chooses() {
        let metrics = metrics(&TestDatabase::create().await).await;
        let routes = Router::new().route("/v1/agents/{agent_id}", get(|| async { "ok" }));
        let router = crtx_http::finish(metrics.count_requests(routes));
        for number in 0..100 {
            assert_eq!(ask(&router, "GET", &format!("/v1/agents/{number}")).await, 200);
            assert_eq!(ask(&router, &format!("M{number}"), "/v1/agents/x").await, 405);
            assert_eq!(ask(&router, "GET", &format!("/x{number}")).await, 404);
        }
        let text = metrics.text().await.unwrap();
        let counted = "crtx_http_requests_total{route=\"/v1/agents/{agent_id}\",method=\"GET\",status=\"2xx\"} 100";
        assert!(text.lines().any(|line| line == counted), "{text}");
        assert!(text.lines().filter(|line| line.starts_with("crtx_http_requests_total")).count() <= 3, "{text}");
        assert!(text.contains("crtx_http_request_seconds_count{route=\"/v1/agents/{agent_id}\"} "), "{text}");
    }

    #[tokio::test]
    async fn the_figures_of_the_database_are_there_and_the_text_ends_as_it_must() {
        let database = TestDatabase::create().await;
        crtx_store::mirror::move_to(database.pool(), 5).await.unwrap();
        let text = metrics(&database).await.text().await.unwrap();
        for name in [
            "database_up 1",
            "quarantined_accounts 0",
            "executions_overdue 0",
            "executions_abandoned 0",
            "events_waiting 0",
            "events_waiting_age_seconds 0",
            "disputes_open 0",
            "dispute_oldest_age_seconds 0",
            "documents_failing 0",
            "mirror_lag_seconds ",
            "pool_connections{pool=\"money\"}",
            "indexer_events_total 0",
            "indexer_rows_refused_total 0",
            "indexer_rows_corrected_total 0",
            "indexer_resync_seconds_count 0",
            "indexer_resync_seconds_sum 0",
        ] {
            assert!(text.contains(&format!("crtx_{name}")), "{name}: {text}");
        }
        assert!(text.ends_with("# EOF\n") && text.matches("# EOF").count() == 1, "{text}");
        let mut names: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
