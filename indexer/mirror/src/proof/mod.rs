//! The audit: compares the mirror with the chain in both directions, closed rows with their closings, documents and
//! results with their hashes, and totals with their rows.
//!
//! The chain changes during the audit. So what differs is looked at again, and reported only if it still differs.

mod accounts;
mod closed;
mod context;
mod corrections;
mod digest;
mod documents;
mod lists;
pub mod node_digest;
mod report;
mod results;
mod rows;
mod seen;
mod totals;
mod vaults;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use crtx_content::ContentStore;
use crtx_store::{PgPool, StoreError, closings::ClosingKind, indexer_status};
use solana_pubkey::Pubkey;
use tokio_util::sync::CancellationToken;

pub use context::AuditError;
pub use report::{AuditReport, Check, CheckName, Fault, Shortfall};

use crate::{figures::Figures, history::History, source::AccountSource};
use context::Context;

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

/// Where the parts that cannot read everything in one audit go on.
#[derive(Clone, Debug, Default)]
struct Places {
    vault: usize,
    executions: String,
    disputes: String,
    agents: String,
    document: documents::Place,
    result: String,
    record: String,
}

pub struct Auditor<S> {
    source: Arc<S>,
    history: Option<Arc<dyn History>>,
    content: Option<ContentStore>,
    pool: PgPool,
    program: Pubkey,
    second_look_after: Duration,
    places: Mutex<Places>,
    /// The newest corrections.
    corrections: Mutex<Vec<Fault>>,
    figures: Arc<Figures>,
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
            places: Mutex::default(),
            corrections: Mutex::default(),
            figures: Arc::default(),
        }
    }

    /// Counts what it corrects.
    #[must_use]
    pub fn with_figures(self, figures: Arc<Figures>) -> Self {
        Self { figures, ..self }
    }

    /// Closings are read again from this history.
    #[must_use]
    pub fn with_history(self, history: Arc<dyn History>) -> Self {
        Self { history: Some(history), ..self }
    }

    /// Results are looked up in this store.
    #[must_use]
    pub fn with_content(self, content: Option<ContentStore>) -> Self {
        Self { content, ..self }
    }

    /// For tests: the time before differing accounts are read again.
    #[must_use]
    pub fn second_look_after(mut self, delay: Duration) -> Self {
        self.second_look_after = delay;
        self
    }

    /// Audits while this process leads: in regular intervals, and once soon after it took the lead, until shut down.
    pub async fn run(self, interval: Duration, leads: impl Fn() -> bool, shutdown: CancellationToken) {
        let first = interval.min(FIRST_AUDIT_AFTER);
        let mut pause = first;
        loop {
            tokio::select! {
                () = shutdown.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
            }
            // Another process audits the mirror that it writes.
            pause = if leads() { interval } else { first };
            if !leads() {
                continue;
            }
            tokio::select! {
                () = shutdown.cancelled() => return,
                outcome = self.audit_and_store() => match outcome {
                    Ok(report) if report.ok => tracing::info!(accounts = report.accounts, "the audit found no fault"),
                    Ok(report) => {
                        tracing::error!(?report, "the audit found faults");
                        let corrected = report.corrected > 0;
                        let soon = if corrected { AGAIN_AFTER_CORRECTIONS } else { AGAIN_AFTER_FAULTS };
                        pause = interval.min(soon);
                    }
                    Err(error) => {
                        tracing::warn!(cause = %error, "the audit failed");
                        pause = interval.min(AGAIN_AFTER_FAILURE);
                    }
                },
            }
        }
    }

    /// Audits, writes again what is different, and stores the report for `GET /v1/status`. An audit that could not be made is stored as such: an old
    /// report does not show that nobody looks any more.
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
        report.fault(CheckName::Node, self.source.name(), format!("the audit could not be made: {error}"));
        report
    }

    fn empty_report(&self) -> AuditReport {
        let mut report = AuditReport::new(self.source.name(), self.source.witness().map(|witness| witness.name()));
        report.corrections.clone_from(&self.corrections.lock().unwrap_or_else(PoisonError::into_inner));
        report
    }

    /// Audits, and changes nothing.
    pub async fn audit(&self) -> Result<AuditReport, AuditError> {
        self.examine(false).await
    }

    async fn examine(&self, corrects: bool) -> Result<AuditReport, AuditError> {
        let began = Instant::now();
        let context = Context {
            source: self.source.as_ref(),
            witness: self.source.witness(),
            history: self.history.as_deref(),
            content: self.content.as_ref(),
            pool: &self.pool,
            program: self.program,
            pause: self.second_look_after,
            corrects,
            until: began.checked_add(BUDGET).unwrap_or(began),
        };
        let mut report = self.empty_report();
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner).clone();
        context.check_chain().await?;
        let survey = accounts::compare(&context, &mut report).await?;
        if corrects {
            corrections::rows(&context, &mut report, &survey.wrong).await?;
        }
        rows::compare(&context, &mut report, &survey).await?;
        accounts::ask_witness(&context, &mut report, &survey).await?;
        totals::compare(&context, &mut report).await?;
        digest::compare(&context, &mut report).await?;
        look_at_the_rest(&context, &mut report, &mut places).await?;
        places.vault = vaults::check(&context, &mut report, &survey.agents, places.vault).await?;
        *self.places.lock().unwrap_or_else(PoisonError::into_inner) = places;
        self.figures.rows_corrected(report.corrected);
        self.corrections.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&report.corrections);
        report.conclude(began.elapsed().as_secs());
        Ok(report)
    }
}

/// What goes on in the next audit if it does not reach its end.
async fn look_at_the_rest(
    context: &Context<'_>,
    report: &mut AuditReport,
    places: &mut Places,
) -> Result<(), AuditError> {
    for (kind, place) in [
        (ClosingKind::Execution, &mut places.executions),
        (ClosingKind::Dispute, &mut places.disputes),
        (ClosingKind::Agent, &mut places.agents),
    ] {
        *place = closed::compare(context, report, kind, place).await?;
    }
    closed::find_orphans(context, report).await?;
    closed::ask_chain(context, report).await?;
    places.document = documents::compare(context, report, std::mem::take(&mut places.document)).await?;
    places.result = results::compare(context, report, &places.result).await?;
    places.record = lists::compare(context, report, &places.record).await?;
    Ok(())
}
