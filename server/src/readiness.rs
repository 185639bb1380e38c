//! `GET /healthz` and `GET /readyz`, on every process: whether it is alive, and whether its dependencies answer.
//! Both are answered from memory.

use std::{
    future::Future,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{Json, extract::State, http::StatusCode};
use crtx_api::agent_list::AgentList;
use crtx_chain::{ChainClient, CommitmentConfig};
use crtx_store::{PgPool, StoreError, fee_payers, indexer_status, mirror};
use serde::Serialize;
use tokio::{sync::watch, time::timeout};
use tokio_util::sync::CancellationToken;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

const EVERY: Duration = Duration::from_secs(1);
/// A check that takes longer has failed.
const CHECK_LIMIT: Duration = Duration::from_secs(2);
/// A dependency that fails for less than this leaves the process ready: requests wait longer for an answer.
const PATIENCE: Duration = Duration::from_secs(3);
/// A chain that confirmed no new slot for this long takes no transactions, though its node answers.
const STANDSTILL: Duration = Duration::from_secs(10);
/// An indexer that has not reported for this long is taken to be down.
const MAX_MIRROR_AGE_S: i64 = 30;

const TREASURY: &str = "treasury";

/// The last result of every check.
type Checks = watch::Receiver<Vec<ReadinessCheck>>;

/// What is asked.
pub(crate) struct Dependencies {
    pub database: PgPool,
    pub chain: ChainClient,
    /// Whether this process needs the mirror.
    pub mirror: bool,
    /// The list that this process answers from.
    pub agents: Option<Arc<AgentList>>,
    /// Whether this process takes or settles calls.
    pub gateway: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct ReadinessCheck {
    name: &'static str,
    failing_since: Option<Instant>,
    /// Why it failed last; `None` after a success.
    problem: Option<String>,
    succeeded: bool,
}

impl ReadinessCheck {
    fn new(name: &'static str) -> Self {
        Self { name, failing_since: None, problem: Some("it was not checked yet".to_owned()), succeeded: false }
    }

    fn note(&mut self, result: Result<(), String>) {
        match result {
            Ok(()) => *self = Self { name: self.name, failing_since: None, problem: None, succeeded: true },
            Err(problem) => {
                self.failing_since = self.failing_since.or_else(|| Some(Instant::now()));
                self.problem = Some(problem);
            }
        }
    }

    /// A dependency that has never answered is not ready; one that fails for a moment still is. A process whose treasury
    /// cannot be paid still serves reads and finishes calls.
    fn is_ready(&self) -> bool {
        self.name == TREASURY || self.succeeded && self.failing_since.is_none_or(|since| since.elapsed() < PATIENCE)
    }
}

/// The newest slot that was seen, and when.
type Progress = (u64, Instant);

/// Notes the confirmed slot of a node. Another node may be behind, which is no standstill.
fn note_slot(progress: &mut Progress, slot: u64, now: Instant) -> Result<(), String> {
    if slot > progress.0 {
        *progress = (slot, now);
    }
    let still = now.saturating_duration_since(progress.1);
    if still < STANDSTILL {
        return Ok(());
    }
    Err(format!("the chain has confirmed no new slot for {} s", still.as_secs()))
}

impl Dependencies {
    /// Begins to check, until `shutdown`.
    pub fn watch(self, shutdown: CancellationToken) -> Checks {
        let mut checks = vec![ReadinessCheck::new("database"), ReadinessCheck::new("rpc")];
        if self.mirror {
            checks.push(ReadinessCheck::new("mirror"));
        }
        if let Some(agents) = &self.agents {
            agents.start();
            checks.push(ReadinessCheck::new("agents"));
        }
        if self.gateway {
            checks.push(ReadinessCheck::new(TREASURY));
        }
        let (sender, receiver) = watch::channel(checks);
        tokio::spawn(async move { shutdown.run_until_cancelled(check_again_and_again(&self, &sender)).await });
        receiver
    }
}

async fn check_again_and_again(dependencies: &Dependencies, checks: &watch::Sender<Vec<ReadinessCheck>>) {
    let Dependencies { database, chain, agents, .. } = dependencies;
    let mut progress: Progress = (0, Instant::now());
    loop {
        let (mirror, treasury, rpc) = tokio::join!(
            within(mirror_state(database)),
            within(treasury_state(database)),
            within(async { chain.slot(CommitmentConfig::confirmed()).await.map_err(|error| error.to_string()) }),
        );
        let rpc = rpc.and_then(|slot| note_slot(&mut progress, slot, Instant::now()));
        // What the database says about the mirror shows as well that the database answers.
        let (database, mirror) = match mirror {
            Ok(mirror) => (Ok(()), mirror),
            Err(problem) => (Err(problem.clone()), Err(problem)),
        };
        let listed = agents.as_ref().is_none_or(|agents| agents.age().is_some());
        let agents = if listed { Ok(()) } else { Err("the list of agents was not read yet".to_owned()) };
        checks.send_modify(|checks| {
            for check in checks {
                check.note(match check.name {
                    "database" => database.clone(),
                    "rpc" => rpc.clone(),
                    "agents" => agents.clone(),
                    TREASURY => treasury.clone(),
                    _ => mirror.clone(),
                });
            }
        });
        tokio::time::sleep(EVERY).await;
    }
}

async fn within<T>(check: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    timeout(CHECK_LIMIT, check).await.unwrap_or_else(|_| Err(format!("no answer within {} s", CHECK_LIMIT.as_secs())))
}

/// The database's own messages can name hosts and users.
fn problem_of(error: &StoreError) -> String {
    tracing::debug!(%error, "a readiness check failed");
    "the database does not answer".to_owned()
}

/// Whether an indexer keeps the mirror up to date. An error: the database does not say.
async fn mirror_state(database: &PgPool) -> Result<Result<(), String>, String> {
    let checkpoint = mirror::checkpoint(database).await.map_err(|error| problem_of(&error))?;
    let beat = indexer_status::heartbeat(database).await.map_err(|error| problem_of(&error))?;
    if checkpoint.is_none_or(|checkpoint| checkpoint.snapshot_at.is_none()) {
        return Ok(Err("no snapshot of the chain was taken yet".to_owned()));
    }
    Ok(match beat.map(|beat| beat.silent_s) {
        Some(age) if age <= MAX_MIRROR_AGE_S as f64 => Ok(()),
        Some(age) => Err(format!("no indexer has reported for {age:.0} s")),
        None => Err("no indexer has reported yet".to_owned()),
    })
}

/// What a gateway said last about the treasury's account.
async fn treasury_state(database: &PgPool) -> Result<(), String> {
    let payer = fee_payers::latest(database).await.map_err(|error| problem_of(&error))?;
    payer.and_then(|payer| payer.treasury_problem).map_or(Ok(()), Err)
}

#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
struct HealthResponse {
    /// `ok`.
    status: &'static str,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
struct ReadinessReport {
    /// `ready` if every check is, else `not_ready`.
    status: &'static str,
    checks: Vec<DependencyReport>,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
struct DependencyReport {
    /// `database`, `rpc` (a Solana RPC node answers, and the chain goes on), `mirror` (an indexer keeps it up to date),
    /// `agents` (the list of agents was read) or `treasury` (its associated account receives the marketplace's fees).
    name: &'static str,
    /// Stays true for 3 s after the first failure, and always for `treasury`.
    ready: bool,
    /// Why the last check failed; null if it did not.
    #[schema(required)]
    problem: Option<String>,
}

impl DependencyReport {
    fn of(check: &ReadinessCheck) -> Self {
        Self { name: check.name, ready: check.is_ready(), problem: check.problem.clone() }
    }
}

/// Returns 200 as long as the process runs.
#[utoipa::path(
    get, path = "/healthz", tag = "service", operation_id = "health",
    responses((status = 200, description = "The process is alive", body = HealthResponse))
)]
async fn health() -> Json<HealthResponse> {
    Json(HealthResponse { status: "ok" })
}

/// Returns 200 if the database, the RPC node and the mirror answer, as far as the roles of the process need them.
#[utoipa::path(
    get, path = "/readyz", tag = "service", operation_id = "readiness",
    responses(
        (status = 200, description = "Ready", body = ReadinessReport),
        (status = 503, description = "A dependency does not answer", body = ReadinessReport)
    )
)]
async fn readiness(State(checks): State<Checks>) -> (StatusCode, Json<ReadinessReport>) {
    let checks: Vec<DependencyReport> = checks.borrow().iter().map(DependencyReport::of).collect();
    let (code, status) = if checks.iter().all(|check| check.ready) {
        (StatusCode::OK, "ready")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "not_ready")
    };
    (code, Json(ReadinessReport { status, checks }))
}

fn routes() -> OpenApiRouter<Checks> {
    OpenApiRouter::new().routes(routes!(health)).routes(routes!(readiness))
}

/// The two endpoints, without a fallback.
pub(crate) fn router(checks: Checks) -> axum::Router {
    routes().split_for_parts().0.with_state(checks)
}

pub(crate) fn openapi() -> utoipa::openapi::OpenApi {
    routes().split_for_parts().1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependency_that_never_answered_is_not_ready() {
        let mut check = ReadinessCheck::new("rpc");
        assert!(!check.is_ready());
        check.note(Err("refused".to_owned()));
        assert!(!check.is_ready());
        assert_eq!(DependencyReport::of(&check).problem.as_deref(), Some("refused"));
    }

    #[test]
    fn a_chain_that_stands_still_is_not_ready_and_a_node_that_is_behind_is_no_standstill() {
        let start = Instant::now();
        let after = |seconds| start.checked_add(Duration::from_secs(seconds)).expect("a time");
        let mut progress = (0, start);
        let mut note = |slot, now| note_slot(&mut progress, slot, now);
        assert_eq!(note(100, start), Ok(()));
        assert_eq!(note(101, after(8)), Ok(()));
        assert_eq!(note(90, after(12)), Ok(()), "another node is behind");
        let problem = note(101, after(18)).expect_err("nothing moved for 10 s");
        assert!(problem.contains("no new slot for 10 s"), "{problem}");
        assert_eq!(note(102, after(19)), Ok(()));
    }

    #[test]
    fn a_dependency_that_fails_for_a_moment_is_still_ready() {
        let mut check = ReadinessCheck::new("rpc");
        check.note(Ok(()));
        check.note(Err("refused".to_owned()));
        assert!(check.is_ready());
        check.failing_since = Instant::now().checked_sub(PATIENCE);
        assert!(!check.is_ready());
        check.note(Ok(()));
        assert!(check.is_ready());
        assert_eq!(DependencyReport::of(&check).problem, None);
    }
}
