//! The audit: compares the mirror with the chain in both directions, closed rows with their closings, documents and
//! results with their hashes, and totals with their rows.
//!
//! The chain changes during the audit. So what differs is looked at again, and reported only if it still differs.

mod accounts;
mod audit;
pub mod node_digest;
mod report;
mod rows;
mod stored;
mod totals;
mod vaults;

use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

use crtx_content::ContentStore;
use crtx_store::{PgPool, StoreError, indexer_status};
use parking_lot::Mutex;
use solana_pubkey::Pubkey;

pub use audit::AuditError;
pub use report::{AuditCheck, AuditFault, AuditReport, CheckCounts, Shortfall};

use crate::{figures::Figures, history::History, source::AccountSource};
use accounts::Survey;
use audit::Audit;

/// Long enough for a change that the stream is about to deliver.
const SECOND_LOOK_AFTER: Duration = Duration::from_secs(2);
/// By then the first snapshot is applied, unless a fault has to be reported.
const FIRST_AUDIT_AFTER: Duration = Duration::from_secs(30);
/// After an audit that failed.
const AGAIN_AFTER_FAILURE: Duration = Duration::from_secs(15);
/// After an audit that found faults: they may be corrected, or over.
const AGAIN_AFTER_FAULTS: Duration = Duration::from_secs(60);
/// After an audit that corrected rows.
const AGAIN_AFTER_CORRECTIONS: Duration = Duration::from_secs(10);
/// How long the parts of an audit that can go on the next time may take together.
const BUDGET: Duration = Duration::from_secs(300);

/// What the next audit goes on with.
#[derive(Clone, Debug, Default)]
struct LeftOff {
    vault: usize,
    places: stored::Places,
    /// The newest corrections.
    corrections: Vec<AuditFault>,
}

pub struct Auditor<S> {
    source: Arc<S>,
    /// Closings are read again from it.
    pub history: Option<Arc<dyn History>>,
    /// Results are looked up in it.
    pub content: Option<ContentStore>,
    pool: PgPool,
    program: Pubkey,
    /// The time before what differs is read again.
    pub second_look_after: Duration,
    left_off: Mutex<LeftOff>,
    /// Count what it corrects.
    pub figures: Arc<Figures>,
}

impl<S: AccountSource> Auditor<S> {
    pub fn new(source: Arc<S>, pool: PgPool, program: Pubkey) -> Self {
        Self {
            source,
            history: None,
            content: None,
            pool,
            program,
            second_look_after: SECOND_LOOK_AFTER,
            left_off: Mutex::default(),
            figures: Arc::default(),
        }
    }

    /// Audits while this process leads: in regular intervals, and once soon after it took the lead.
    pub async fn run(self, interval: Duration, leads: impl Fn() -> bool) {
        let first = interval.min(FIRST_AUDIT_AFTER);
        let mut pause = first;
        loop {
            tokio::time::sleep(pause).await;
            // Another process audits the mirror that it writes.
            if !leads() {
                pause = first;
                continue;
            }
            let soon = match self.audit_and_store().await {
                Ok(report) if report.ok => {
                    tracing::info!(accounts = report.accounts, "the audit found no fault");
                    interval
                }
                Ok(report) => {
                    tracing::error!(?report, "the audit found faults");
                    if report.corrected > 0 { AGAIN_AFTER_CORRECTIONS } else { AGAIN_AFTER_FAULTS }
                }
                Err(error) => {
                    tracing::warn!(cause = %error, "the audit failed");
                    AGAIN_AFTER_FAILURE
                }
            };
            pause = interval.min(soon);
        }
    }

    /// Audits, writes again what is different, and stores the report for `GET /v1/status`. An audit that could not be made
    /// is stored as such: an old report does not show that nobody looks any more.
    pub async fn audit_and_store(&self) -> Result<AuditReport, AuditError> {
        let outcome = self.examine(true).await;
        let stored = match &outcome {
            Ok(report) => report.clone(),
            Err(error) => self.failed(error),
        };
        let value = serde_json::to_value(&stored)
            .map_err(|error| StoreError::Corrupt { what: "audit report", value: error.to_string() })?;
        indexer_status::store_audit(&self.pool, &value).await?;
        outcome
    }

    fn failed(&self, error: &AuditError) -> AuditReport {
        let mut report = self.empty_report();
        report.complete = false;
        report.fault(AuditCheck::Node, self.source.name(), format!("the audit could not be made: {error}"));
        report
    }

    fn empty_report(&self) -> AuditReport {
        let mut report = AuditReport::new(self.source.name(), self.source.witness().map(|witness| witness.name()));
        report.corrections.clone_from(&self.left_off.lock().corrections);
        report
    }

    /// Audits, and changes nothing unless it `corrects`.
    pub async fn examine(&self, corrects: bool) -> Result<AuditReport, AuditError> {
        let began = Instant::now();
        let mut audit = Audit {
            source: self.source.as_ref(),
            witness: self.source.witness(),
            history: self.history.as_deref(),
            content: self.content.as_ref(),
            pool: &self.pool,
            program: self.program,
            pause: self.second_look_after,
            corrects,
            until: began.checked_add(BUDGET).unwrap_or(began),
            wrong_counters: false,
            report: self.empty_report(),
        };
        let LeftOff { mut vault, mut places, .. } = self.left_off.lock().clone();
        audit.check_chain().await?;
        let survey = Survey::make(&mut audit).await?;
        if corrects {
            survey.correct(&mut audit).await?;
        }
        rows::compare(&mut audit, &survey).await?;
        survey.ask_witness(&mut audit).await?;
        totals::kept(&mut audit).await?;
        totals::of_listings(&mut audit).await?;
        totals::digest(&mut audit).await?;
        stored::compare(&mut audit, &mut places).await?;
        totals::closings_without_row(&mut audit).await?;
        totals::closings_on_chain(&mut audit).await?;
        vault = vaults::check(&mut audit, &survey.agents, vault).await?;
        let mut report = audit.report;
        *self.left_off.lock() = LeftOff { vault, places, corrections: report.corrections.clone() };
        self.figures.rows_corrected.fetch_add(report.corrected, Relaxed);
        report.conclude(began.elapsed().as_secs());
        Ok(report)
    }
}
