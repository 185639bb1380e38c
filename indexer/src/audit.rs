//! The audit: compares every account of the program with its row, column by column, and every token account with the
//! amount that it must hold.
//!
//! The chain changes during the audit. So an account that differs is read a second time after two seconds, and reported
//! only if it still differs.

use std::{collections::HashSet, sync::Arc, time::Duration};

use crtx_chain::{Layout, token::TokenAccount};
use crtx_protocol::address::Addresses;
use crtx_store::{
    PgPool, StoreError, indexer_status,
    mirror::{self, Batch, Difference, OpenAmountMismatch},
};
use serde::Serialize;
use solana_pubkey::Pubkey;
use tokio_util::sync::CancellationToken;

use crate::{
    source::{AccountSource, MAX_ACCOUNTS_PER_READ, OwnedAccount, SourceError},
    sync::{self, SyncError},
};

/// Long enough for a change that the stream is about to deliver.
const SECOND_LOOK_AFTER: Duration = Duration::from_secs(2);
/// By then the first snapshot is applied, unless a fault has to be reported.
const FIRST_AUDIT_AFTER: Duration = Duration::from_secs(30);
/// Faults listed in a report; all are counted.
const MAX_LISTED: usize = 20;
/// Listing, escrow and collateral are read together, at one slot.
const AGENTS_PER_READ: usize = MAX_ACCOUNTS_PER_READ / 3;

/// What an audit found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AuditReport {
    /// True if nothing is wrong.
    pub ok: bool,
    pub slot: u64,
    /// Accounts read.
    pub accounts: u64,
    /// Accounts whose row is equal in every column.
    pub equal: u64,
    /// Accounts that changed while the audit ran.
    pub moving: u64,
    /// Accounts whose bytes cannot be decoded.
    pub unreadable: u64,
    /// Accounts whose row is missing, behind or wrong; the first of them below.
    pub different: u64,
    pub differences: Vec<Difference>,
    /// Agents whose token accounts were checked.
    pub vaults: u64,
    /// Token accounts that hold less than they must; the first of them below.
    pub short: u64,
    pub shortfalls: Vec<Shortfall>,
    /// Listings whose open amount is not the sum over their open records.
    pub open_amounts: Vec<OpenAmountMismatch>,
}

/// A token account that holds less than it must.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Shortfall {
    pub agent: String,
    /// `escrow` or `collateral`.
    pub account: &'static str,
    /// USDC base units.
    pub required: u64,
    pub held: u64,
}

pub struct Auditor<S> {
    source: Arc<S>,
    pool: PgPool,
    program: Pubkey,
    second_look_after: Duration,
}

impl<S: AccountSource> Auditor<S> {
    pub fn new(source: Arc<S>, pool: PgPool, program: Pubkey) -> Self {
        Self { source, pool, program, second_look_after: SECOND_LOOK_AFTER }
    }

    /// For tests: the time before differing accounts are read again.
    #[must_use]
    pub fn second_look_after(mut self, delay: Duration) -> Self {
        self.second_look_after = delay;
        self
    }

    /// Audits in regular intervals, and once soon after the start, until shut down.
    pub async fn run(self, interval: Duration, shutdown: CancellationToken) {
        let mut pause = interval.min(FIRST_AUDIT_AFTER);
        loop {
            tokio::select! {
                () = shutdown.cancelled() => return,
                () = tokio::time::sleep(pause) => pause = interval,
            }
            tokio::select! {
                () = shutdown.cancelled() => return,
                outcome = self.audit_and_store() => match outcome {
                    Ok(report) if report.ok => tracing::info!(accounts = report.accounts, "the audit found no fault"),
                    Ok(report) => tracing::error!(?report, "the audit found faults"),
                    Err(error) => tracing::warn!(cause = %error, "the audit failed"),
                },
            }
        }
    }

    /// Audits, and stores the report for `GET /v1/status`.
    pub async fn audit_and_store(&self) -> Result<AuditReport, SyncError> {
        let report = self.audit().await?;
        let value = serde_json::to_value(&report)
            .map_err(|error| StoreError::Corrupt { what: "audit report", value: error.to_string() })?;
        indexer_status::store_audit(&self.pool, &value).await?;
        Ok(report)
    }

    pub async fn audit(&self) -> Result<AuditReport, SyncError> {
        let snapshot = self.source.snapshot().await?;
        let mut batch = Batch::default();
        let accounts = u64::try_from(snapshot.accounts.len()).unwrap_or(u64::MAX);
        for (address, data) in snapshot.accounts {
            sync::push(&mut batch, &address, snapshot.slot, data)?;
        }
        let first = mirror::compare(&self.pool, &batch).await?;
        let open_amounts = batch.open_amount_mismatches();
        let unreadable = u64::try_from(batch.quarantined()).unwrap_or(u64::MAX);
        let (shortfalls, vaults) = self.check_vaults(&batch.agent_addresses()?).await?;
        let second = self.look_again(&first.differences).await?;
        let different = u64::try_from(second.differences.len()).unwrap_or(u64::MAX);
        let short = u64::try_from(shortfalls.len()).unwrap_or(u64::MAX);
        Ok(AuditReport {
            ok: different == 0 && short == 0 && unreadable == 0 && open_amounts.is_empty(),
            slot: snapshot.slot,
            accounts,
            equal: first.equal.saturating_add(second.equal),
            moving: first.newer_in_mirror.saturating_add(second.newer_in_mirror),
            unreadable,
            different,
            differences: second.differences.into_iter().take(MAX_LISTED).collect(),
            vaults,
            short,
            shortfalls: shortfalls.into_iter().take(MAX_LISTED).collect(),
            open_amounts: open_amounts.into_iter().take(MAX_LISTED).collect(),
        })
    }

    /// Reads the differing accounts again. A closed account no longer differs.
    async fn look_again(&self, differences: &[Difference]) -> Result<mirror::Comparison, SyncError> {
        if differences.is_empty() {
            return Ok(mirror::Comparison::default());
        }
        tokio::time::sleep(self.second_look_after).await;
        let suspects: HashSet<&str> = differences.iter().map(|difference| difference.address.as_str()).collect();
        let addresses: Vec<Pubkey> = suspects
            .iter()
            .map(|text| text.parse().map_err(|_| StoreError::Corrupt { what: "address", value: (*text).to_owned() }))
            .collect::<Result<_, _>>()?;
        let mut batch = Batch::default();
        for chunk in addresses.chunks(MAX_ACCOUNTS_PER_READ) {
            let read = self.source.read(chunk).await?;
            for (address, account) in chunk.iter().zip(read.accounts) {
                if let Some(account) = account.filter(|account| account.owner == self.program) {
                    sync::push(&mut batch, address, read.slot, account.data)?;
                }
            }
        }
        Ok(mirror::compare(&self.pool, &batch).await?)
    }

    /// Compares every agent's escrow with its open amount, and its vault with its collateral.
    async fn check_vaults(&self, agents: &[Pubkey]) -> Result<(Vec<Shortfall>, u64), SourceError> {
        let derive = Addresses::new(self.program);
        let mut shortfalls = Vec::new();
        let mut checked: u64 = 0;
        for chunk in agents.chunks(AGENTS_PER_READ) {
            let addresses: Vec<Pubkey> =
                chunk.iter().flat_map(|agent| [*agent, derive.escrow(agent), derive.collateral(agent)]).collect();
            let read = self.source.read(&addresses).await?;
            for (agent, accounts) in chunk.iter().zip(read.accounts.chunks_exact(3)) {
                if let [Some(listing), escrow, collateral] = accounts {
                    checked = checked.saturating_add(1);
                    shortfalls.extend(shortfalls_of(agent, listing, escrow.as_ref(), collateral.as_ref()));
                }
            }
        }
        Ok((shortfalls, checked))
    }
}

fn shortfalls_of(
    agent: &Pubkey,
    listing: &OwnedAccount,
    escrow: Option<&OwnedAccount>,
    collateral: Option<&OwnedAccount>,
) -> Vec<Shortfall> {
    let Ok(listing) = <agent_marketplace::state::AgentListed as Layout>::decode(&listing.data) else {
        return Vec::new();
    };
    [("escrow", listing.open_amount, escrow), ("collateral", listing.collateral, collateral)]
        .into_iter()
        .map(|(account, required, holder)| (account, required, holder.map_or(0, token_amount)))
        .filter(|(_, required, held)| held < required)
        .map(|(account, required, held)| Shortfall { agent: agent.to_string(), account, required, held })
        .collect()
}

/// The amount in an SPL token account; 0 for any other account.
fn token_amount(account: &OwnedAccount) -> u64 {
    TokenAccount::from_bytes(&account.data).map_or(0, |account| account.amount)
}
