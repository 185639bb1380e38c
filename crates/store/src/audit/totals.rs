//! Totals against the rows that they are made of: those that listings state, and those that the mirror keeps.
//!
//! Each check is one statement, so it sees one state of the database.

use sqlx::PgPool;

use crate::{columns::Count, error::StoreError};

/// A total that is not what its rows say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// Whose total it is: an agent, a wallet, or both.
    pub place: String,
    /// Name of the total.
    pub what: String,
    pub stated: String,
    pub counted: String,
}

impl Wrong {
    fn new(place: String, what: String, stated: String, counted: String) -> Self {
        Self { place, what, stated, counted }
    }
}

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Listings, wallets and so on that were compared.
    pub compared: u64,
    /// Totals that are wrong; `listed` has the first of them.
    pub wrong: u64,
    pub listed: Vec<Wrong>,
}

/// Each listing's totals against the records of the mirror. What is open now must be equal. What has ended is at most
/// what the listing counts, because the mirror may have begun after a record was closed; if the mirror has the
/// `whole_history`, it must be equal as well.
pub async fn listing_totals(pool: &PgPool, whole_history: bool, list_at_most: u32) -> Result<Found, StoreError> {
    let rows = sqlx::query!(
        r#"WITH counted AS (
               SELECT m.agent,
                      count(*) FILTER (WHERE m.status = record_status('open')) AS open_executions,
                      sum(m.amount) FILTER (WHERE m.status = record_status('open')) AS open_amount,
                      count(*) FILTER (WHERE m.status = record_status('disputed')) AS open_disputes,
                      sum(m.amount) FILTER (WHERE m.status = record_status('disputed')) AS disputed_amount,
                      count(*) FILTER (WHERE is_settled(m.status)) AS completed,
                      count(*) FILTER (WHERE is_settled(m.status) AND m.status <> record_status('overturned'))
                          AS successful,
                      count(*) FILTER (WHERE is_refunded(m.status) AND m.failure_reason NOT IN (
                          failure_reason('expired'), failure_reason('interrupted'))) AS failed,
                      count(*) FILTER (WHERE is_refunded(m.status) AND m.failure_reason IN (
                          failure_reason('expired'), failure_reason('interrupted'))) AS expired,
                      sum(m.dispute_count) AS disputed,
                      sum(m.platform_amount) FILTER (WHERE is_settled(m.status)) AS fees,
                      sum(m.execution_time_ms) FILTER (WHERE is_settled(m.status)) AS time_ms
               FROM mirror_executions m GROUP BY m.agent),
           wrong AS (
               SELECT a.address, v.what, v.stated, v.counted
               FROM mirror_agents a
               LEFT JOIN counted c ON c.agent = a.address
               CROSS JOIN LATERAL (VALUES
                   ('open_executions', a.open_executions::numeric, c.open_executions::numeric, true),
                   ('open_amount', a.open_amount, c.open_amount, true),
                   ('open_disputes', a.open_disputes, c.open_disputes, true),
                   ('disputed_amount', a.disputed_amount, c.disputed_amount, true),
                   ('completed_executions', a.completed_executions, c.completed, $1),
                   ('successful_executions', a.successful_executions, c.successful, $1),
                   ('failed_executions', a.failed_executions, c.failed, $1),
                   ('expired_executions', a.expired_executions, c.expired, $1),
                   ('disputed_executions', a.disputed_executions, c.disputed, $1),
                   ('platform_fees_total', a.platform_fees_total, c.fees, $1),
                   ('execution_time_ms_total', a.execution_time_ms_total, c.time_ms, $1)
               ) AS v (what, stated, counted, exact)
               -- A dispute that is rejected makes an execution successful; none of the others ever falls.
               WHERE COALESCE(v.counted, 0) > v.stated OR (v.exact AND COALESCE(v.counted, 0) <> v.stated))
           SELECT w.address AS "place!", w.what AS "what!", w.stated::text AS "stated!",
                  COALESCE(w.counted, 0)::text AS "counted!", count(*) OVER () AS "wrong!: Count"
           FROM wrong w ORDER BY w.address, w.what LIMIT $2"#,
        whole_history,
        i64::from(list_at_most),
    );
    let rows = rows.map(|row| (row.wrong.into(), Wrong::new(row.place, row.what, row.stated, row.counted)));
    let wrong = rows.fetch_all(pool).await?;
    let compared = sqlx::query_scalar!(r#"SELECT count(*) AS "count!: Count" FROM mirror_agents"#);
    Ok(found(compared.fetch_one(pool).await?.into(), wrong))
}

/// The mirror's own totals, counted again: what wallets paid which agent, what agents received.
pub async fn kept_totals(pool: &PgPool, list_at_most: u32) -> Result<Found, StoreError> {
    let rows = sqlx::query!(
        r#"WITH kept AS (
               SELECT caller, agent, sum(completed) AS completed, sum(failed) AS failed, sum(spent) AS spent
               FROM (SELECT caller, agent, completed, failed, spent FROM mirror_agent_callers
                     UNION ALL SELECT caller, agent, completed, failed, spent FROM mirror_total_notes) AS kept
               GROUP BY caller, agent),
           wrong AS (
               SELECT agent || ' ' || caller AS place, 'agent_callers' AS what,
                      k.completed || ' completed, ' || k.failed || ' failed, spent ' || k.spent AS stated,
                      c.completed || ' completed, ' || c.failed || ' failed, spent ' || c.spent AS counted
               FROM counted_callers c FULL JOIN kept k USING (caller, agent)
               WHERE (COALESCE(k.completed, 0), COALESCE(k.failed, 0), COALESCE(k.spent, 0))
                  <> (COALESCE(c.completed, 0), COALESCE(c.failed, 0), COALESCE(c.spent, 0))
               UNION ALL
               SELECT agent, 'agent_totals', t.unique_callers || ' unique callers, earned ' || t.earned,
                      c.unique_callers || ' unique callers, earned ' || c.earned
               FROM counted_agents c FULL JOIN mirror_agent_totals t USING (agent)
               WHERE (COALESCE(t.unique_callers, 0), COALESCE(t.earned, 0))
                  <> (COALESCE(c.unique_callers, 0), COALESCE(c.earned, 0))
                 AND NOT EXISTS (SELECT FROM mirror_total_notes))
           SELECT w.place AS "place!", w.what AS "what!", COALESCE(w.stated, 'nothing') AS "stated!",
                  COALESCE(w.counted, 'nothing') AS "counted!", count(*) OVER () AS "wrong!: Count"
           FROM wrong w ORDER BY w.what, w.place LIMIT $1"#,
        i64::from(list_at_most),
    );
    let rows = rows.map(|row| (row.wrong.into(), Wrong::new(row.place, row.what, row.stated, row.counted)));
    let wrong = rows.fetch_all(pool).await?;
    let compared = sqlx::query_scalar!(
        r#"SELECT (SELECT count(*) FROM mirror_agent_callers) + (SELECT count(*) FROM mirror_agent_totals)
                  AS "count!: Count""#
    );
    Ok(found(compared.fetch_one(pool).await?.into(), wrong))
}

/// Counts the mirror's own totals again. It fails if the writers of now do not end in a moment.
pub async fn recount(pool: &PgPool) -> Result<(), StoreError> {
    sqlx::query!("SELECT FROM (SELECT recount_totals()) AS counted").execute(pool).await?;
    Ok(())
}

/// Each row comes with the number of all of them.
fn found(compared: u64, wrong: Vec<(u64, Wrong)>) -> Found {
    let all = wrong.first().map_or(0, |(all, _)| *all);
    Found { compared, wrong: all, listed: wrong.into_iter().map(|(_, wrong)| wrong).collect() }
}
