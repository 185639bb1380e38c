//! One statement per mirrored table. A batch arrives as JSON, whose members are the table's columns. A row
//! replaces the stored one only if it is newer: revision first, then slot. A row of an account that had
//! been closed may start over: an address can be used again, and its revision then begins anew.

use serde_json::Value;
use sqlx::PgConnection;

use crate::StoreError;

pub async fn config(connection: &mut PgConnection, rows: &Value) -> Result<u64, StoreError> {
    let done = sqlx::query!(
        "INSERT INTO mirror_config AS t (
             address, slot, revision, admin, pending_admin, resolver, gateway_authority, treasury_owner,
             usdc_mint, announced_resolver, announced_treasury_owner, roles_apply_from, resolver_since,
             dispute_window_s, settle_grace_s, collateral_tiers, fee_bps, paused)
         SELECT
             r.address, r.slot, r.revision, r.admin, r.pending_admin, r.resolver, r.gateway_authority,
             r.treasury_owner, r.usdc_mint, r.announced_resolver, r.announced_treasury_owner,
             r.roles_apply_from, r.resolver_since, r.dispute_window_s, r.settle_grace_s,
             r.collateral_tiers, r.fee_bps, r.paused
         FROM jsonb_populate_recordset(NULL::mirror_config, $1) r
         ORDER BY r.address
         ON CONFLICT (address) DO UPDATE SET
             slot = excluded.slot, revision = excluded.revision, admin = excluded.admin,
             pending_admin = excluded.pending_admin, resolver = excluded.resolver,
             gateway_authority = excluded.gateway_authority, treasury_owner = excluded.treasury_owner,
             usdc_mint = excluded.usdc_mint, announced_resolver = excluded.announced_resolver,
             announced_treasury_owner = excluded.announced_treasury_owner,
             roles_apply_from = excluded.roles_apply_from, resolver_since = excluded.resolver_since,
             dispute_window_s = excluded.dispute_window_s,
             settle_grace_s = excluded.settle_grace_s, collateral_tiers = excluded.collateral_tiers,
             fee_bps = excluded.fee_bps, paused = excluded.paused, closed_at_slot = NULL,
             observed_at = now()
         WHERE (excluded.revision, excluded.slot) > (t.revision, t.slot) OR excluded.slot > t.closed_at_slot",
        rows,
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}

pub async fn creators(connection: &mut PgConnection, rows: &Value) -> Result<u64, StoreError> {
    let done = sqlx::query!(
        "INSERT INTO mirror_creators AS t (
             address, slot, revision, wallet, display_name, verified, verified_at, created_at, updated_at)
         SELECT
             r.address, r.slot, r.revision, r.wallet, r.display_name, r.verified, r.verified_at,
             r.created_at, r.updated_at
         FROM jsonb_populate_recordset(NULL::mirror_creators, $1) r
         ORDER BY r.address
         ON CONFLICT (address) DO UPDATE SET
             slot = excluded.slot, revision = excluded.revision, wallet = excluded.wallet,
             display_name = excluded.display_name, verified = excluded.verified,
             verified_at = excluded.verified_at, created_at = excluded.created_at,
             updated_at = excluded.updated_at, closed_at_slot = NULL, observed_at = now()
         WHERE (excluded.revision, excluded.slot) > (t.revision, t.slot) OR excluded.slot > t.closed_at_slot",
        rows,
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}

/// Takes along what lists show of the listing's document, if it has been fetched. A document that was stored
/// while this statement ran is not lost: the row's own value is kept as long as the hash is the same.
pub async fn agents(connection: &mut PgConnection, rows: &Value) -> Result<u64, StoreError> {
    let done = sqlx::query!(
        "INSERT INTO mirror_agents AS t (
             address, slot, revision, creator, agent_index, result_key, metadata_hash, metadata_uri, price,
             collateral, slashed_total, open_amount, total_executions, successful_executions,
             failed_executions, disputed_executions, completed_executions, execution_time_ms_total,
             timeout_seconds, open_executions, open_disputes, status, created_at, updated_at,
             last_dispute_deadline, name, tagline, tags)
         SELECT
             r.address, r.slot, r.revision, r.creator, r.agent_index, r.result_key, r.metadata_hash,
             r.metadata_uri, r.price, r.collateral, r.slashed_total, r.open_amount, r.total_executions,
             r.successful_executions, r.failed_executions, r.disputed_executions, r.completed_executions,
             r.execution_time_ms_total, r.timeout_seconds, r.open_executions, r.open_disputes, r.status,
             r.created_at, r.updated_at, r.last_dispute_deadline, m.name, m.tagline, m.tags
         FROM jsonb_populate_recordset(NULL::mirror_agents, $1) r
         -- OFFSET 0: each row looks for its document by key. A join would read the whole table for a few rows as
         -- soon as statistics are missing.
         LEFT JOIN LATERAL (
             SELECT d.name, d.tagline, d.tags FROM agent_metadata d
             WHERE d.agent = r.address AND d.sha256 = r.metadata_hash AND d.error IS NULL OFFSET 0) m ON true
         ORDER BY r.address
         ON CONFLICT (address) DO UPDATE SET
             slot = excluded.slot, revision = excluded.revision, creator = excluded.creator,
             agent_index = excluded.agent_index, result_key = excluded.result_key,
             metadata_hash = excluded.metadata_hash, metadata_uri = excluded.metadata_uri,
             price = excluded.price, collateral = excluded.collateral,
             slashed_total = excluded.slashed_total, open_amount = excluded.open_amount,
             total_executions = excluded.total_executions,
             successful_executions = excluded.successful_executions,
             failed_executions = excluded.failed_executions,
             disputed_executions = excluded.disputed_executions,
             completed_executions = excluded.completed_executions,
             execution_time_ms_total = excluded.execution_time_ms_total,
             timeout_seconds = excluded.timeout_seconds, open_executions = excluded.open_executions,
             open_disputes = excluded.open_disputes, status = excluded.status,
             created_at = excluded.created_at, updated_at = excluded.updated_at,
             last_dispute_deadline = excluded.last_dispute_deadline, closed_at_slot = NULL,
             observed_at = now(),
             name = CASE WHEN t.metadata_hash = excluded.metadata_hash THEN COALESCE(t.name, excluded.name)
                    ELSE excluded.name END,
             tagline = CASE WHEN t.metadata_hash = excluded.metadata_hash THEN COALESCE(t.tagline, excluded.tagline)
                       ELSE excluded.tagline END,
             tags = CASE WHEN t.metadata_hash = excluded.metadata_hash THEN COALESCE(t.tags, excluded.tags)
                    ELSE excluded.tags END
         WHERE (excluded.revision, excluded.slot) > (t.revision, t.slot) OR excluded.slot > t.closed_at_slot",
        rows,
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}

/// `initiated_at` is when the gateway took the request, where it did: that row is older than the record.
pub async fn executions(connection: &mut PgConnection, rows: &Value) -> Result<u64, StoreError> {
    let done = sqlx::query!(
        "INSERT INTO mirror_executions AS t (
             address, slot, revision, execution_id, agent, caller, request_hash, refund_owner, result_key,
             rent_payer, grant_address, result_hash, amount, creator_amount, platform_amount, tokens_used,
             execution_time_ms, timeout_seconds, dispute_window_s, opened_at, deadline_at, finished_at, dispute_deadline,
             status, failure_reason, dispute_count, initiated_at)
         SELECT
             r.address, r.slot, r.revision, r.execution_id, r.agent, r.caller, r.request_hash,
             r.refund_owner, r.result_key, r.rent_payer, r.grant_address, r.result_hash, r.amount,
             r.creator_amount, r.platform_amount, r.tokens_used, r.execution_time_ms, r.timeout_seconds, r.dispute_window_s,
             r.opened_at, r.deadline_at, r.finished_at, r.dispute_deadline, r.status, r.failure_reason,
             r.dispute_count,
             -- Not a join: for a few rows it would read the whole table as soon as statistics are missing.
             COALESCE((SELECT e.created_at FROM executions e WHERE e.record = r.address), r.opened_at)
         FROM jsonb_populate_recordset(NULL::mirror_executions, $1) r
         ORDER BY r.address
         ON CONFLICT (address) DO UPDATE SET
             slot = excluded.slot, revision = excluded.revision, execution_id = excluded.execution_id,
             agent = excluded.agent, caller = excluded.caller, request_hash = excluded.request_hash,
             refund_owner = excluded.refund_owner, result_key = excluded.result_key,
             rent_payer = excluded.rent_payer, grant_address = excluded.grant_address,
             result_hash = excluded.result_hash, amount = excluded.amount,
             creator_amount = excluded.creator_amount, platform_amount = excluded.platform_amount,
             tokens_used = excluded.tokens_used, execution_time_ms = excluded.execution_time_ms,
             timeout_seconds = excluded.timeout_seconds, dispute_window_s = excluded.dispute_window_s,
             opened_at = excluded.opened_at,
             deadline_at = excluded.deadline_at, finished_at = excluded.finished_at,
             dispute_deadline = excluded.dispute_deadline, status = excluded.status,
             failure_reason = excluded.failure_reason, dispute_count = excluded.dispute_count,
             closed_at_slot = NULL, observed_at = now()
         WHERE (excluded.revision, excluded.slot) > (t.revision, t.slot) OR excluded.slot > t.closed_at_slot",
        rows,
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}

pub async fn disputes(connection: &mut PgConnection, rows: &Value) -> Result<u64, StoreError> {
    let done = sqlx::query!(
        "INSERT INTO mirror_disputes AS t (
             address, slot, revision, execution, agent, raised_by, rent_payer, evidence_hash, evidence_uri,
             resolution_hash, raised_at, resolved_at, slash_amount, compensation, outcome)
         SELECT
             r.address, r.slot, r.revision, r.execution, r.agent, r.raised_by, r.rent_payer,
             r.evidence_hash, r.evidence_uri, r.resolution_hash, r.raised_at, r.resolved_at,
             r.slash_amount, r.compensation, r.outcome
         FROM jsonb_populate_recordset(NULL::mirror_disputes, $1) r
         ORDER BY r.address
         ON CONFLICT (address) DO UPDATE SET
             slot = excluded.slot, revision = excluded.revision, execution = excluded.execution,
             agent = excluded.agent, raised_by = excluded.raised_by, rent_payer = excluded.rent_payer,
             evidence_hash = excluded.evidence_hash, evidence_uri = excluded.evidence_uri,
             resolution_hash = excluded.resolution_hash, raised_at = excluded.raised_at,
             resolved_at = excluded.resolved_at, slash_amount = excluded.slash_amount,
             compensation = excluded.compensation, outcome = excluded.outcome, closed_at_slot = NULL,
             observed_at = now()
         WHERE (excluded.revision, excluded.slot) > (t.revision, t.slot) OR excluded.slot > t.closed_at_slot",
        rows,
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}

pub async fn grants(connection: &mut PgConnection, rows: &Value) -> Result<u64, StoreError> {
    let done = sqlx::query!(
        "INSERT INTO mirror_grants AS t (
             address, slot, revision, wallet, session_key, allowed_agents, per_call_cap, total_cap, spent,
             executions, expires_at_unix_s, created_at, revoked)
         SELECT
             r.address, r.slot, r.revision, r.wallet, r.session_key, r.allowed_agents, r.per_call_cap,
             r.total_cap, r.spent, r.executions, r.expires_at_unix_s, r.created_at, r.revoked
         FROM jsonb_populate_recordset(NULL::mirror_grants, $1) r
         ORDER BY r.address
         ON CONFLICT (address) DO UPDATE SET
             slot = excluded.slot, revision = excluded.revision, wallet = excluded.wallet,
             session_key = excluded.session_key, allowed_agents = excluded.allowed_agents,
             per_call_cap = excluded.per_call_cap, total_cap = excluded.total_cap, spent = excluded.spent,
             executions = excluded.executions, expires_at_unix_s = excluded.expires_at_unix_s,
             created_at = excluded.created_at, revoked = excluded.revoked, closed_at_slot = NULL,
             observed_at = now()
         WHERE (excluded.revision, excluded.slot) > (t.revision, t.slot) OR excluded.slot > t.closed_at_slot",
        rows,
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}
