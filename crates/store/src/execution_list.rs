//! Keeping the list of executions and its counters: rolling up notes, locking, rebuilding, and comparing with the sources.
//!
//! Triggers keep the list. See `migrations/0009_execution_list.sql`.

use sqlx::{PgConnection, PgExecutor, PgPool};

use crate::{Result, events, transaction};

/// Notes that one round of [`roll_up`] takes at most, of each kind.
pub const NOTES_PER_ROUND: i32 = 5_000;

/// Adds noted changes to the counters: of lists of executions and disputes, and of agents' days. Returns how many notes it
/// took; [`NOTES_PER_ROUND`] or more means that there may be others. While another process does this, it takes none.
///
/// The commit does not wait for the disk: after a crash the notes are there again.
pub async fn roll_up(pool: &PgPool) -> Result<u64> {
    let mut transaction = transaction::begin_relaxed(pool).await?;
    let taken = sqlx::query_scalar!(r#"SELECT roll_up_list_notes($1) AS "taken!""#, NOTES_PER_ROUND);
    let taken = taken.fetch_one(&mut *transaction).await?;
    transaction.commit().await?;
    Ok(taken.unsigned_abs())
}

/// Locks these records, first in the mirror and then in the list, each in order. A transaction that writes executions and
/// then disputes calls this first: its triggers lock rows of the list in the order of each kind, which is not one order
/// for both. The second statement does not lock a record that another transaction has added in between: that transaction waits for
/// its row of the list.
pub async fn lock(connection: &mut PgConnection, records: &[String]) -> Result<()> {
    let mirrored = sqlx::query_scalar!(
        "SELECT address FROM mirror_executions WHERE address = ANY ($1) ORDER BY address FOR NO KEY UPDATE",
        records
    );
    let mirrored = mirrored.fetch_all(&mut *connection).await?;
    let statement = sqlx::query!(
        "SELECT count(*) FROM (
             SELECT FROM execution_list l
             WHERE record = ANY ($1)
               AND (record = ANY ($2) OR NOT EXISTS (SELECT FROM mirror_executions m WHERE m.address = l.record))
             ORDER BY record FOR UPDATE) AS locked",
        records,
        &mirrored
    );
    statement.fetch_one(connection).await?;
    Ok(())
}

/// Makes list and counters again from their sources. Nobody reads or writes them meanwhile.
pub async fn rebuild(pool: &PgPool) -> Result<()> {
    let mut transaction = transaction::begin(pool).await?;
    events::log_nothing(&mut transaction).await?;
    sqlx::query!("SELECT FROM (SELECT rebuild_lists()) AS rebuilt").fetch_one(&mut *transaction).await?;
    Ok(transaction.commit().await?)
}

/// Makes the rows of these records again from their sources. Counters stay: they count what the sources said.
pub async fn rewrite(pool: &PgPool, records: &[String]) -> Result<()> {
    let mut transaction = transaction::begin(pool).await?;
    events::log_nothing(&mut transaction).await?;
    lock(&mut transaction, records).await?;
    sqlx::query!("DELETE FROM execution_list WHERE record = ANY ($1)", records).execute(&mut *transaction).await?;
    let statement = sqlx::query!(
        "INSERT INTO execution_list
         SELECT * FROM execution_list_sources WHERE record = ANY ($1) ORDER BY record ON CONFLICT (record) DO NOTHING",
        records
    );
    statement.execute(&mut *transaction).await?;
    Ok(transaction.commit().await?)
}

/// Something in the list or in its counters that is not what the sources say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListDifference {
    /// A row of the list: its record, and the names of the columns that differ. Without columns, either the row or its
    /// sources are missing.
    Row { record: String, columns: Vec<String> },
    /// Counters of a caller (role 0) or a creator (role 1), with all agents (empty) or one.
    Counters { role: i16, owner: String, agent: String },
}

/// What [`compare`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListComparison {
    /// Rows that were compared.
    pub rows: u64,
    /// Counters that were compared.
    pub counters: u64,
    pub differences: Vec<ListDifference>,
    /// The last record of this part, from which the next one begins. `None`: nothing follows.
    pub next: Option<String>,
}

/// Compares the rows of `most` records after `after` with their sources, and all counters that these rows are in with
/// the rows of the list. Each comparison is one statement, so it sees one moment.
///
/// Counters of a caller with many executions cost as much as counting them, so each key is counted once per call.
pub async fn compare(pool: &PgPool, after: &str, most: u32) -> Result<ListComparison> {
    let records = sqlx::query_scalar!(
        r#"SELECT record AS "record!" FROM (
               (SELECT record FROM execution_list WHERE record > $1 ORDER BY record LIMIT $2)
               UNION (SELECT address FROM mirror_executions WHERE address > $1 ORDER BY address LIMIT $2)
               UNION (SELECT record FROM executions WHERE record > $1 ORDER BY record LIMIT $2)) AS known
           ORDER BY record LIMIT $2"#,
        after,
        i64::from(most),
    );
    let records = records.fetch_all(pool).await?;
    let mut found = ListComparison {
        rows: u64::try_from(records.len()).unwrap_or(u64::MAX),
        next: records.last().filter(|_| records.len() >= usize::try_from(most).unwrap_or(usize::MAX)).cloned(),
        ..ListComparison::default()
    };
    found.differences.extend(differing_rows(pool, &records).await?);
    let (counters, wrong) = differing_counters(pool, &records).await?;
    found.counters = counters;
    found.differences.extend(wrong);
    Ok(found)
}

async fn differing_rows(db: impl PgExecutor<'_>, records: &[String]) -> Result<Vec<ListDifference>> {
    let rows = sqlx::query!(
        r#"SELECT known.record AS "record!", d.columns AS "columns!"
           FROM unnest($1::text[]) AS known (record)
           LEFT JOIN execution_list l ON l.record = known.record
           LEFT JOIN (SELECT * FROM execution_list_sources WHERE record = ANY ($1)) AS s ON s.record = known.record
           -- A listing can come after its executions, and a creator that is known stays.
           CROSS JOIN LATERAL (SELECT ARRAY(
               SELECT c.key FROM jsonb_each(to_jsonb(l)) AS c
               WHERE c.value <> to_jsonb(s) -> c.key
                 AND (c.key <> 'creator' OR l.creator <> s.creator OR NOT s.on_chain)) AS columns) AS d
           WHERE (l.record IS NULL) <> (s.record IS NULL) OR d.columns <> '{}'
           ORDER BY known.record"#,
        records,
    );
    let rows = rows.fetch_all(db).await?.into_iter();
    Ok(rows.map(|row| ListDifference::Row { record: row.record, columns: row.columns }).collect())
}

/// How many keys the rows of these records are in, and those whose counters, together with the notes, are not what the
/// list has.
async fn differing_counters(db: impl PgExecutor<'_>, records: &[String]) -> Result<(u64, Vec<ListDifference>)> {
    let rows = sqlx::query!(
        r#"WITH keys AS MATERIALIZED (
               SELECT DISTINCT k.role, k.owner, k.key_agent AS agent
               FROM execution_list l, execution_keys(l.caller, l.creator, l.agent, utc_day(l.initiated_at)) k
               WHERE l.record = ANY ($1) AND l.status >= 0)
           SELECT k.role AS "role!", k.owner AS "owner!", k.agent AS "agent!",
                  EXISTS (SELECT FROM (
                      SELECT d.day, c.status, c.n
                      FROM (SELECT l.initiated_at, l.status, 1 AS n FROM execution_list_rows l
                            WHERE l.role = k.role AND l.owner = k.owner AND l.of_agent = k.agent
                            UNION ALL
                            SELECT start_of_day(n.day), n.status, -n.n FROM execution_notes n
                            WHERE k.role = 0 AND n.caller = k.owner AND (k.agent = '' OR n.agent = k.agent)
                            UNION ALL
                            SELECT start_of_day(n.day), n.status, -n.n FROM execution_notes n
                            WHERE k.role = 1 AND n.creator = k.owner AND (k.agent = '' OR n.agent = k.agent)) AS c
                      CROSS JOIN LATERAL (VALUES ('-infinity'::date), (utc_day(c.initiated_at))) AS d (day)
                      WHERE c.status >= 0
                      UNION ALL
                      SELECT t.day, t.status, -t.n FROM execution_totals t
                      WHERE t.role = k.role AND t.owner = k.owner AND t.agent = k.agent) AS counted
                      GROUP BY day, status HAVING sum(n) <> 0) AS "differs!"
           FROM keys k"#,
        records,
    );
    let rows = rows.fetch_all(db).await?;
    let counters = u64::try_from(rows.len()).unwrap_or(u64::MAX);
    let wrong = rows.into_iter().filter(|row| row.differs);
    let wrong = wrong.map(|row| ListDifference::Counters { role: row.role, owner: row.owner, agent: row.agent });
    Ok((counters, wrong.collect()))
}
