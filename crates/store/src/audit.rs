//! What the audit reads of the database, and totals that it counts again. Each check of totals is one statement, so it
//! sees one state of the database.

use serde_json::Value;
use sqlx::PgPool;

use crate::{
    Result,
    closings::{Closing, ClosingKind},
    columns::Count,
    database::run,
};

/// A row of a closed account.
#[derive(Clone, Debug, PartialEq)]
pub struct ClosedRow {
    /// Its key, for the page after it.
    pub key: String,
    pub address: String,
    /// The whole row.
    pub row: Value,
    /// The first closing of that address since the row was read.
    pub closing: Option<Closing>,
    /// Searches for the closing that ended without it; `None` if none is under way.
    pub searches: Option<i32>,
    /// Why the last one did.
    pub error: Option<String>,
}

/// The closed rows of one table after `after`, in the order of their addresses.
pub async fn closed_rows(pool: &PgPool, kind: ClosingKind, after: &str, limit: u32) -> Result<Vec<ClosedRow>> {
    let rows = sqlx::query!(
        r#"SELECT t.key AS "key!", t.address AS "address!",
                  of_account(t.row) AS "row!",
                  c.slot AS "slot?: Count", c.signature AS "signature?", c.data AS "data?", c.closed_at AS "closed_at?",
                  w.attempts AS "searches?", w.error AS "error?"
           FROM (SELECT address AS key, key_address(address) AS address, row FROM mirror_rows
                 WHERE name = 'mirror_' || $1 || 's' AND closed_at_slot IS NOT NULL AND address > $2
                 ORDER BY mirror_rows.address LIMIT $3) AS t
           LEFT JOIN LATERAL (
               SELECT slot, signature, data, closed_at FROM mirror_closings c
               WHERE c.address = t.address AND c.slot >= (t.row ->> 'slot')::bigint
               ORDER BY c.slot LIMIT 1) c ON true
           LEFT JOIN mirror_closings_wanted w ON w.address = t.address
           ORDER BY t.key"#,
        kind.into_str(),
        after,
        i64::from(limit),
    );
    let rows = rows.fetch_all(pool).await?.into_iter().map(|row| {
        let closing = row.slot.zip(row.signature).zip(row.data).zip(row.closed_at);
        let closing = closing.map(|(((slot, signature), data), closed_at)| {
            let slot = slot.into();
            Closing { slot, signature, data, closed_at }
        });
        ClosedRow {
            key: row.key,
            address: row.address,
            row: row.row,
            closing,
            searches: row.searches,
            error: row.error,
        }
    });
    Ok(rows.collect())
}

/// Closings whose row is gone, and rows of kinds that nobody can close: their number, and the first addresses.
pub async fn closings_without_row(pool: &PgPool, list_at_most: u32) -> Result<(u64, Vec<(String, String)>)> {
    let rows = sqlx::query!(
        r#"SELECT f.address AS "address!", f.problem AS "problem!", count(*) OVER () AS "all!: Count" FROM (
               SELECT c.address, 'the chain closed it, and the mirror has no row of it' AS problem
               FROM mirror_closings c
               WHERE NOT EXISTS (SELECT FROM mirror_accounts t WHERE t.address = c.address
                                   AND t.tableoid = ('mirror_' || c.kind || 's')::regclass)
               UNION ALL
               SELECT t.address, 'the row is closed, but no instruction closes accounts of its kind'
               FROM mirror_rows t
               WHERE t.name IN ('mirror_config', 'mirror_creators', 'mirror_grants') AND t.closed_at_slot IS NOT NULL) AS f
           ORDER BY f.address LIMIT $1"#,
        i64::from(list_at_most),
    );
    let rows = rows.fetch_all(pool).await?;
    let all = rows.first().map_or(0, |row| row.all.into());
    Ok((all, rows.into_iter().map(|row| (row.address, row.problem)).collect()))
}

/// A stored document, as it was fetched and as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredDocument {
    /// Its agent and its hash, for the page after it.
    pub place: String,
    pub agent: String,
    pub sha256: [u8; 32],
    /// `None`: somebody removed them.
    pub bytes: Option<Vec<u8>>,
    pub document: Value,
    pub name: String,
    pub tagline: String,
    pub tags: Vec<String>,
    pub endpoint: String,
    /// What the listing's row has of it, if the listing names this document.
    pub listed_name: Option<String>,
    pub listed_tagline: Option<String>,
    pub listed_tags: Option<Vec<String>>,
}

/// Documents after the place `after`, in the order of agents and hashes. Those of closed listings, of which only the name
/// is left, are left out.
pub async fn documents(pool: &PgPool, after: &str, limit: u32) -> Result<Vec<StoredDocument>> {
    let documents = sqlx::query_as!(
        StoredDocument,
        r#"SELECT d.agent || ' ' || encode(d.sha256, 'hex') AS "place!", d.agent, d.sha256 AS "sha256: [u8; 32]", d.bytes,
                  d.document AS "document!", d.name AS "name!", d.tagline AS "tagline!", d.tags AS "tags!",
                  d.endpoint AS "endpoint!", a.name AS "listed_name?", a.tagline AS "listed_tagline?",
                  a.tags AS "listed_tags?"
           FROM agent_metadata d
           LEFT JOIN mirror_agents a ON a.address = d.agent AND a.metadata_hash = d.sha256
           WHERE d.document <> '{}'
             AND (d.agent, d.sha256) > (split_part($1, ' ', 1), decode(split_part($1, ' ', 2), 'hex'))
           ORDER BY d.agent, d.sha256 LIMIT $2"#,
        after,
        i64::from(limit),
    );
    Ok(documents.fetch_all(pool).await?)
}

/// Results that were compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResultPage {
    /// Record of the last one; `None` if there are no more.
    pub last: Option<String>,
    pub compared: u64,
    /// Record, and what is wrong.
    pub wrong: Vec<(String, String)>,
    /// SHA-256 of every result that is paid for, for a look into the content store.
    pub paid: Vec<Vec<u8>>,
}

/// Results of records after `after`, in the order of the records. PostgreSQL hashes them, so that they need not travel.
pub async fn results(pool: &PgPool, after: &str, limit: u32) -> Result<ResultPage> {
    let rows = sqlx::query!(
        r#"SELECT e.record, e.result_hash,
                  e.result IS NOT NULL AND sha256(e.result) IS DISTINCT FROM e.result_hash AS "altered!",
                  e.state = 'completed' AND NOT e.settled_elsewhere AND is_settled(m.status)
                      AND m.result_hash IS DISTINCT FROM e.result_hash AS "other?",
                  e.state = 'completed' AS "completed!"
           FROM executions e LEFT JOIN mirror_executions m ON m.address = e.record
           WHERE e.result_hash IS NOT NULL AND e.record > $1
           ORDER BY e.record LIMIT $2"#,
        after,
        i64::from(limit),
    );
    let rows = rows.fetch_all(pool).await?;
    let mut page = ResultPage { last: rows.last().map(|row| row.record.clone()), ..ResultPage::default() };
    page.compared = u64::try_from(rows.len()).unwrap_or(u64::MAX);
    for row in rows {
        let hash = row.result_hash.unwrap_or_default();
        if row.altered {
            let text =
                format!("the stored result does not have the SHA-256 {} that it was signed with", hex::encode(&hash));
            page.wrong.push((row.record, text));
        } else if row.other == Some(true) {
            let text = "the stored result has another hash than the record on the chain".to_owned();
            page.wrong.push((row.record, text));
        } else if row.completed {
            page.paid.push(hash);
        }
    }
    Ok(page)
}

/// A total that is not what its rows say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// Whose total it is: an agent, a wallet, or both.
    pub place: String,
    /// Name of the total.
    pub what: String,
    pub stated: String,
    pub counted: String,
    /// All wrong totals of the check.
    all: u64,
}

impl Wrong {
    /// The same total is wrong in the same way.
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.place, &self.what, &self.stated, &self.counted)
            == (&other.place, &other.what, &other.stated, &other.counted)
    }
}

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckedTotals {
    /// Listings, wallets and so on that were compared.
    pub compared: u64,
    /// Totals that are wrong; `listed` has the first of them.
    pub wrong: u64,
    pub listed: Vec<Wrong>,
}

/// Each listing's totals against the records of the mirror. What is open now must be equal. What has ended is at most
/// what the listing counts, because the mirror may have begun after a record was closed; if the mirror has the
/// `whole_history`, it must be equal as well.
pub async fn listing_totals(pool: &PgPool, whole_history: bool, list_at_most: u32) -> Result<CheckedTotals> {
    let wrong = sqlx::query_as!(
        Wrong,
        r#"WITH counted AS (
               SELECT m.agent,
                      count(*) FILTER (WHERE m.status = record_status('open')) AS open_executions,
                      sum(m.amount) FILTER (WHERE m.status = record_status('open')) AS open_amount,
                      count(*) FILTER (WHERE m.status = record_status('disputed')) AS open_disputes,
                      sum(m.amount) FILTER (WHERE m.status = record_status('disputed')) AS disputed_amount,
                      sum(m.amount * (1 + m.max_penalty_multiple)) FILTER (WHERE m.status = record_status('disputed'))
                          AS slashable_amount,
                      count(*) FILTER (WHERE is_settled(m.status)) AS completed,
                      count(*) FILTER (WHERE is_settled(m.status) AND m.status <> record_status('overturned'))
                          AS successful,
                      count(*) FILTER (WHERE m.agents_failure) AS failed,
                      count(*) FILTER (WHERE is_refunded(m.status) AND NOT m.agents_failure AND m.failure_reason NOT IN (
                          failure_reason('expired'), failure_reason('interrupted'))) AS unproved,
                      count(*) FILTER (WHERE is_refunded(m.status) AND m.failure_reason IN (
                          failure_reason('expired'), failure_reason('interrupted'))) AS expired,
                      sum(m.dispute_count) AS disputed,
                      sum(m.platform_amount) FILTER (WHERE is_settled(m.status)) AS fees,
                      sum(m.execution_time_ms) FILTER (WHERE m.settled_by = settler('gateway')) AS time_ms,
                      count(*) FILTER (WHERE m.settled_by = settler('gateway')) AS timed
               FROM mirror_executions m GROUP BY m.agent),
           claimed AS (
               SELECT agent, sum(covered_amount) AS covered, sum(bond) AS bonds
               FROM mirror_disputes WHERE resolved_at IS NULL GROUP BY agent),
           wrong AS (
               SELECT a.address, v.what, v.stated, v.counted
               FROM mirror_agents a
               LEFT JOIN counted c ON c.agent = a.address
               LEFT JOIN claimed d ON d.agent = a.address
               CROSS JOIN LATERAL (VALUES
                   ('open_executions', a.open_executions::numeric, c.open_executions::numeric, true),
                   ('open_amount', a.open_amount, c.open_amount, true),
                   ('open_disputes', a.open_disputes, c.open_disputes, true),
                   ('disputed_amount', a.disputed_amount, c.disputed_amount, true),
                   ('slashable_amount', a.slashable_amount, c.slashable_amount, true),
                   ('covered_amount', a.covered_amount, d.covered, true),
                   ('open_bonds', a.open_bonds, d.bonds, true),
                   ('completed_executions', a.completed_executions, c.completed, $1),
                   ('successful_executions', a.successful_executions, c.successful, $1),
                   ('failed_executions', a.failed_executions, c.failed, $1),
                   ('unproved_failures', a.unproved_failures, c.unproved, $1),
                   ('expired_executions', a.expired_executions, c.expired, $1),
                   ('disputed_executions', a.disputed_executions, c.disputed, $1),
                   ('platform_fees_total', a.platform_fees_total, c.fees, $1),
                   ('execution_time_ms_total', a.execution_time_ms_total, c.time_ms, $1),
                   ('timed_executions', a.timed_executions, c.timed, $1)
               ) AS v (what, stated, counted, exact)
               -- A dispute that is rejected makes an execution successful; none of the others ever falls.
               WHERE COALESCE(v.counted, 0) > v.stated OR (v.exact AND COALESCE(v.counted, 0) <> v.stated))
           SELECT w.address AS "place!", w.what AS "what!", w.stated::text AS "stated!",
                  COALESCE(w.counted, 0)::text AS "counted!", count(*) OVER () AS "all!: Count"
           FROM wrong w ORDER BY w.address, w.what LIMIT $2"#,
        whole_history,
        i64::from(list_at_most),
    );
    let listed = wrong.fetch_all(pool).await?;
    let compared = sqlx::query_scalar!(r#"SELECT count(*) AS "count!: Count" FROM mirror_agents"#);
    Ok(found(compared.fetch_one(pool).await?.into(), listed))
}

/// The mirror's own totals, counted again: what wallets paid which agent, what agents received.
pub async fn kept_totals(pool: &PgPool, list_at_most: u32) -> Result<CheckedTotals> {
    let wrong = sqlx::query_as!(
        Wrong,
        r#"WITH kept AS (
               SELECT caller, agent, sum(completed) AS completed, sum(failed) AS failed, sum(spent) AS spent,
                      sum(fees) AS fees, sum(disputed) AS disputed, sum(upheld) AS upheld
               FROM (SELECT caller, agent, completed, failed, spent, fees, disputed, upheld FROM mirror_agent_callers
                     UNION ALL SELECT caller, agent, completed, failed, spent, fees, disputed, upheld
                     FROM mirror_total_notes) AS kept
               GROUP BY caller, agent),
           wrong AS (
               SELECT agent || ' ' || caller AS place, 'agent_callers' AS what,
                      k.completed || ' completed, ' || k.failed || ' failed, spent ' || k.spent || ', fees ' || k.fees
                          || ', ' || k.disputed || ' disputed, ' || k.upheld || ' upheld' AS stated,
                      c.completed || ' completed, ' || c.failed || ' failed, spent ' || c.spent || ', fees ' || c.fees
                          || ', ' || c.disputed || ' disputed, ' || c.upheld || ' upheld' AS counted
               FROM counted_callers c FULL JOIN kept k USING (caller, agent)
               WHERE (COALESCE(k.completed, 0), COALESCE(k.failed, 0), COALESCE(k.spent, 0), COALESCE(k.fees, 0),
                      COALESCE(k.disputed, 0), COALESCE(k.upheld, 0))
                  <> (COALESCE(c.completed, 0), COALESCE(c.failed, 0), COALESCE(c.spent, 0), COALESCE(c.fees, 0),
                      COALESCE(c.disputed, 0), COALESCE(c.upheld, 0))
               UNION ALL
               SELECT agent, 'agent_totals', t.unique_callers || ' unique callers, earned ' || t.earned || ', trust '
                          || t.trust || ', ' || t.disputes || ' disputes, ' || t.upheld_wallets || ' upheld',
                      c.unique_callers || ' unique callers, earned ' || c.earned || ', trust '
                          || c.trust || ', ' || c.disputes || ' disputes, ' || c.upheld_wallets || ' upheld'
               FROM counted_agents c FULL JOIN mirror_agent_totals t USING (agent)
               WHERE (COALESCE(t.unique_callers, 0), COALESCE(t.earned, 0), COALESCE(t.trust, 0),
                      COALESCE(t.disputes, 0), COALESCE(t.upheld_wallets, 0))
                  <> (COALESCE(c.unique_callers, 0), COALESCE(c.earned, 0), COALESCE(c.trust, 0),
                      COALESCE(c.disputes, 0), COALESCE(c.upheld_wallets, 0))
                 AND NOT EXISTS (SELECT FROM mirror_total_notes))
           SELECT w.place AS "place!", w.what AS "what!", COALESCE(w.stated, 'nothing') AS "stated!",
                  COALESCE(w.counted, 'nothing') AS "counted!", count(*) OVER () AS "all!: Count"
           FROM wrong w ORDER BY w.what, w.place LIMIT $1"#,
        i64::from(list_at_most),
    );
    let listed = wrong.fetch_all(pool).await?;
    let compared = sqlx::query_scalar!(
        r#"SELECT (SELECT count(*) FROM mirror_agent_callers) + (SELECT count(*) FROM mirror_agent_totals)
                  AS "count!: Count""#
    );
    Ok(found(compared.fetch_one(pool).await?.into(), listed))
}

/// Counts the mirror's own totals again. It fails if the writers of now do not end in a moment.
pub async fn recount(pool: &PgPool) -> Result<()> {
    run(pool, sqlx::query!("SELECT FROM (SELECT recount_totals()) AS counted")).await
}

fn found(compared: u64, listed: Vec<Wrong>) -> CheckedTotals {
    CheckedTotals { compared, wrong: listed.first().map_or(0, |wrong| wrong.all), listed }
}
