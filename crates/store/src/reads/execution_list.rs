//! The list of executions of a caller, or of a creator's agents: `execution_list` and its counters.
//!
//! One statement reads a page and the total, so both are of the same moment, and it answers several questions of one
//! shape. Its text is put together from constant parts, one text for each combination of filters. So every text has one
//! plan that fits it: ranges of one index in the order of the page. All values are bound. The names of agents are another
//! read: `agent_names`.

use std::sync::{Arc, LazyLock};

use chrono::{DateTime, Utc};
use crtx_protocol::usdc::UsdcBase;
use solana_pubkey::Pubkey;
use sqlx::{
    AssertSqlSafe, PgExecutor, Postgres, Row,
    postgres::{PgArguments, PgRow},
    query::Query,
};
use uuid::Uuid;

use super::{
    asker::{Asker, Askers, WALLET},
    page::{Listed, Start},
};
use crate::{
    convert::{amount_from_db, pubkey},
    error::StoreError,
};

/// The status that a caller sees. `docs/specification.md`, "Execution states in the gateway".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShownStatus {
    Pending,
    Running,
    Completed,
    Failed,
    Disputed,
}

impl ShownStatus {
    /// In the order of their numbers in the list: the SQL function `listed_status`.
    pub const ALL: [Self; 5] = [Self::Pending, Self::Running, Self::Completed, Self::Failed, Self::Disputed];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Disputed => "disputed",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }

    const fn to_db(self) -> i16 {
        match self {
            Self::Pending => 0,
            Self::Running => 1,
            Self::Completed => 2,
            Self::Failed => 3,
            Self::Disputed => 4,
        }
    }

    pub(super) fn from_db(number: i16) -> Result<Self, StoreError> {
        let found = Self::ALL.into_iter().find(|status| status.to_db() == number);
        found.ok_or_else(|| StoreError::corrupt("execution status", number))
    }
}

/// What a wallet is in the executions to list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExecutionRole {
    /// It paid for them.
    #[default]
    Caller,
    /// It listed their agents.
    Creator,
}

/// Which executions of a wallet to list. The default is all for which it paid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExecutionFilter {
    pub role: ExecutionRole,
    pub status: Option<ShownStatus>,
    pub agent: Option<Pubkey>,
    /// Initiated after this time.
    pub from: Option<DateTime<Utc>>,
    /// Initiated before this time.
    pub to: Option<DateTime<Utc>>,
}

/// The sort key of an execution in a list. Newest first; no two executions have the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExecutionPlace {
    pub initiated_at: DateTime<Utc>,
    pub execution_id: Uuid,
    pub record: Pubkey,
}

/// An execution in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedExecution {
    pub execution_id: Uuid,
    /// Address of the on-chain record.
    pub record: Pubkey,
    pub agent: Pubkey,
    pub status: ShownStatus,
    pub cost: UsdcBase,
    pub initiated_at: DateTime<Utc>,
    pub completed_at: Option<DateTime<Utc>>,
}

impl ListedExecution {
    fn place(&self) -> ExecutionPlace {
        ExecutionPlace { initiated_at: self.initiated_at, execution_id: self.execution_id, record: self.record }
    }
}

/// What decides the text of the statement.
#[derive(Clone, Copy)]
struct Shape {
    role: ExecutionRole,
    of_agent: bool,
    of_status: bool,
    /// Whether the list is limited to a time range.
    timed: bool,
}

impl Shape {
    const COUNT: usize = 16;

    const fn of(filter: &ExecutionFilter) -> Self {
        Self {
            role: filter.role,
            of_agent: filter.agent.is_some(),
            of_status: filter.status.is_some(),
            timed: filter.from.is_some() || filter.to.is_some(),
        }
    }

    fn all() -> impl Iterator<Item = Self> {
        (0..Self::COUNT).map(|bits| Self {
            role: if bits & 8 == 0 { ExecutionRole::Caller } else { ExecutionRole::Creator },
            of_agent: bits & 4 != 0,
            of_status: bits & 2 != 0,
            timed: bits & 1 != 0,
        })
    }

    const fn index(self) -> usize {
        let role = match self.role {
            ExecutionRole::Caller => 0,
            ExecutionRole::Creator => 8,
        };
        role | ((self.of_agent as usize) << 2) | ((self.of_status as usize) << 1) | self.timed as usize
    }

    /// Whether one index has the rows in the order of the page. With an agent or a status they are found by status.
    const fn in_order(self) -> bool {
        !self.of_agent && !self.of_status
    }

    /// The rows of the list, without status and time.
    const fn rows(self) -> &'static str {
        match (self.role, self.of_agent) {
            // The inequality says that the index in order of time may be used: it has no other rows.
            (ExecutionRole::Caller, false) if self.in_order() => "l.caller = w.wallet AND l.caller <> ''",
            (ExecutionRole::Creator, false) if self.in_order() => "l.creator = w.wallet AND l.creator <> ''",
            (ExecutionRole::Caller, false) => "l.caller = w.wallet",
            (ExecutionRole::Caller, true) => "l.caller = w.wallet AND l.agent = q.agent",
            (ExecutionRole::Creator, false) => "l.creator = w.wallet",
            (ExecutionRole::Creator, true) => "l.creator = w.wallet AND l.agent = q.agent",
        }
    }

    /// The notes of these rows.
    const fn notes(self) -> &'static str {
        match (self.role, self.of_agent) {
            (ExecutionRole::Caller, false) => "t.caller = w.wallet",
            (ExecutionRole::Caller, true) => "t.caller = w.wallet AND t.agent = q.agent",
            (ExecutionRole::Creator, false) => "t.creator = w.wallet",
            (ExecutionRole::Creator, true) => "t.creator = w.wallet AND t.agent = q.agent",
        }
    }

    /// The counters of these rows. The agent is empty without a filter.
    const fn counters(self) -> &'static str {
        match self.role {
            ExecutionRole::Caller => "c.role = 0 AND c.owner = w.wallet AND c.agent = q.agent",
            ExecutionRole::Creator => "c.role = 1 AND c.owner = w.wallet AND c.agent = q.agent",
        }
    }

    /// What a row of counters counts.
    const fn counted(self) -> &'static str {
        if self.of_status {
            "CASE q.status WHEN 0 THEN c.pending WHEN 1 THEN c.running WHEN 2 THEN c.completed WHEN 3 THEN c.failed
                           WHEN 4 THEN c.disputed END"
        } else {
            "c.pending + c.running + c.completed + c.failed + c.disputed"
        }
    }

    /// The end of the sort key. Of one caller, no two executions have the same id.
    const fn order(self) -> &'static str {
        match self.role {
            ExecutionRole::Caller => "l.initiated_at DESC, l.execution_id DESC",
            ExecutionRole::Creator => "l.initiated_at DESC, l.execution_id DESC, l.record DESC",
        }
    }

    /// The rows after the place. Without one this is the end of the time range.
    const fn after(self) -> &'static str {
        match self.role {
            ExecutionRole::Caller => {
                "(l.initiated_at, l.execution_id) < (COALESCE(q.place_time, 'infinity'), q.place_id)"
            }
            ExecutionRole::Creator => {
                "(l.initiated_at, l.execution_id, l.record)
                 < (COALESCE(q.place_time, 'infinity'), q.place_id, q.place_record)"
            }
        }
    }

    /// One page: a range that is in order, or a merge of such ranges.
    fn page(self) -> String {
        let (rows, after, order) = (self.rows(), self.after(), self.order());
        let range = |of_status: &str| {
            format!(
                "(SELECT l.record, l.execution_id, l.agent, l.status, l.cost, l.initiated_at, l.completed_at
                  FROM execution_list l
                  WHERE {rows} {of_status} AND l.initiated_at > COALESCE(q.since, '-infinity') AND {after}
                  ORDER BY {order} LIMIT q.most + q.skipped)"
            )
        };
        let ranges = if self.in_order() {
            vec![range("")]
        } else if self.of_status {
            vec![range("AND l.status = q.status")]
        } else {
            [0, 1, 2, 3, 4].map(|status| range(&format!("AND l.status = {status}"))).into()
        };
        format!("SELECT * FROM ({}) AS l ORDER BY {order} LIMIT q.most OFFSET q.skipped", ranges.join(" UNION ALL "))
    }

    /// The total. Without a time range it is one row of counters, and the notes that are not folded yet.
    ///
    /// With one, it is the chunks from the one in which the range begins to the one before the range ends, plus the rows
    /// of the last chunk before the end, minus the rows of the first one before the begin. Where spans lie between these
    /// chunks, they are counted in place of their chunks.
    ///
    /// `OFFSET 0` keeps the planner from computing a bound again wherever it is named. Where no index has the rows in order
    /// of time, each status is a range of its own: with `status = ANY (…)` the planner may read all entries of the owner and
    /// look at their times afterwards.
    fn total(self) -> String {
        let (rows, notes, counters, counted) = (self.rows(), self.notes(), self.counters(), self.counted());
        let of_status = if self.of_status { "AND t.status = q.status" } else { "" };
        if !self.timed {
            return format!(
                "SELECT (SELECT COALESCE(sum({counted}), 0) FROM execution_totals c WHERE {counters})
                      + (SELECT COALESCE(sum(t.n), 0) FROM execution_notes t WHERE {notes} {of_status}) AS total
                 OFFSET 0"
            );
        }
        let statuses = if self.of_status { "VALUES (q.status)" } else { "VALUES (0), (1), (2), (3), (4)" };
        let chunk = |time: &str| {
            format!(
                "COALESCE((SELECT c.start FROM execution_chunks c WHERE {counters} AND c.start <= {time}
                           ORDER BY c.start DESC LIMIT 1), '-infinity')"
            )
        };
        // Only between two chunks.
        let span = |bound: &str, order: &str| {
            format!(
                "CASE WHEN f.first < f.last THEN
                     (SELECT c.start FROM execution_spans c WHERE {counters} AND c.start {bound}
                      ORDER BY c.start {order} LIMIT 1) END"
            )
        };
        let sum = |table: &str, from: &str, to: &str| {
            format!(
                "CASE WHEN {from} < {to} THEN (
                     SELECT COALESCE(sum({counted}), 0) FROM {table} c
                     WHERE {counters} AND c.start >= {from} AND c.start < {to}) ELSE 0 END"
            )
        };
        let count = |from: &str, to: &str| {
            let counted = |of_status: &str| {
                format!(
                    "SELECT count(*) AS n FROM execution_list l
                     WHERE {rows} {of_status} AND l.initiated_at >= {from} AND l.initiated_at < {to}"
                )
            };
            if self.in_order() {
                return format!("({})", counted(""));
            }
            let counted = counted("AND l.status = s.status");
            format!(
                "(SELECT sum(counted.n) FROM ({statuses}) AS s (status)
                  CROSS JOIN LATERAL ({counted} OFFSET 0) AS counted)"
            )
        };
        format!(
            "SELECT CASE WHEN b.from >= b.to THEN 0 ELSE
                        {} + {} + {}
                      + (SELECT COALESCE(sum(t.n), 0) FROM execution_notes t
                         WHERE {notes} {of_status} AND t.initiated_at >= b.first AND t.initiated_at < b.last)
                      + {}
                      - CASE WHEN b.first = b.last THEN 0 ELSE {} END END AS total
             FROM (SELECT m.from, m.to, m.first, m.last,
                          CASE WHEN m.since < m.until THEN m.since ELSE m.last END AS since,
                          CASE WHEN m.since < m.until THEN m.until ELSE m.last END AS until
                   FROM (SELECT f.from, f.to, f.first, f.last, {} AS since, {} AS until
                         FROM (SELECT r.from, r.to, {} AS first, {} AS last
                               FROM (SELECT COALESCE(q.since + interval '1 microsecond', '-infinity') AS from,
                                            COALESCE(q.until, 'infinity') AS to OFFSET 0) AS r OFFSET 0) AS f
                         OFFSET 0) AS m OFFSET 0) AS b OFFSET 0",
            sum("execution_chunks", "b.first", "b.since"),
            sum("execution_spans", "b.since", "b.until"),
            sum("execution_chunks", "b.until", "b.last"),
            count("GREATEST(b.last, b.from)", "b.to"),
            count("b.first", "b.from"),
            span(">= f.first", ""),
            span("<= f.last", "DESC"),
            chunk("r.from"),
            chunk("r.to"),
        )
    }

    /// Pages and totals for several questions. A question without rows on its page has one row with the total alone; one
    /// of a credential that has no wallet here has no wallet in its row.
    fn statement(self) -> String {
        format!(
            "SELECT q.place, w.wallet, c.total::bigint AS total, l.record, l.execution_id, l.agent, l.status, l.cost,
                    l.initiated_at, l.completed_at
             FROM unnest($1::text[], $2::text[], $3::bytea[], $4::text[], $5::text[], $6::int2[], $7::timestamptz[],
                         $8::timestamptz[], $9::timestamptz[], $10::uuid[], $11::text[], $12::int8[], $13::int8[])
                  WITH ORDINALITY AS q (wallet, key, token, kind, agent, status, since, until, place_time, place_id,
                                        place_record, most, skipped, place)
             CROSS JOIN LATERAL ({WALLET} OFFSET 0) AS w
             CROSS JOIN LATERAL ({}) AS c
             LEFT JOIN LATERAL ({}) AS l ON true",
            self.total(),
            self.page(),
        )
    }
}

/// The statements, by [`Shape::index`].
static STATEMENTS: LazyLock<Vec<Arc<str>>> =
    LazyLock::new(|| Shape::all().map(|shape| shape.statement().into()).collect());

/// The statements of all lists of executions, so that a test can look at their plans.
#[cfg(feature = "testing")]
pub fn execution_list_statements() -> Vec<Arc<str>> {
    STATEMENTS.clone()
}

/// One question for a part of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutionListQuestion {
    pub asker: Asker,
    pub filter: ExecutionFilter,
    pub limit: u32,
    pub start: Start<ExecutionPlace>,
}

impl ExecutionListQuestion {
    /// Questions with the same number can be asked in one statement.
    pub const fn shape(&self) -> usize {
        Shape::of(&self.filter).index()
    }

    /// A place after the end of the time range is not of this list; the range holds anyway.
    fn after(&self) -> Option<&ExecutionPlace> {
        self.start.after().filter(|place| self.filter.to.is_none_or(|to| place.initiated_at < to))
    }
}

/// A part of a list of executions.
pub type ExecutionPage = Listed<ListedExecution, ExecutionPlace>;

/// A part of the executions of one wallet, newest first, and how many there are.
pub async fn list_executions(
    executor: impl PgExecutor<'_>,
    wallet: &Pubkey,
    filter: &ExecutionFilter,
    limit: u32,
    start: &Start<ExecutionPlace>,
) -> Result<ExecutionPage, StoreError> {
    let question = ExecutionListQuestion { asker: Asker::Wallet(*wallet), filter: *filter, limit, start: *start };
    let answer = execution_lists(executor, &[question]).await?.pop().flatten();
    answer.map(|(_, page)| page).ok_or_else(|| StoreError::corrupt("list of executions", "it has no answer"))
}

/// The answers to questions of one shape, in their order, all of one moment: the wallet that asked and its page. `None`:
/// the credential has to be authenticated first.
pub async fn execution_lists(
    executor: impl PgExecutor<'_>,
    questions: &[ExecutionListQuestion],
) -> Result<Vec<Option<(Pubkey, ExecutionPage)>>, StoreError> {
    let Some(first) = questions.first() else { return Ok(Vec::new()) };
    let statement = STATEMENTS.get(first.shape()).cloned();
    let statement = statement.ok_or_else(|| StoreError::corrupt("list of executions", "it has no statement"))?;
    let rows = bind(statement, questions)?.fetch_all(executor).await?;
    let mut rows = rows.as_slice();
    let mut answers = Vec::with_capacity(questions.len());
    for (place, question) in (1_i64..).zip(questions) {
        let mut own = 0_usize;
        while rows.get(own).map(|row| row.try_get::<i64, _>(column::PLACE)).transpose()? == Some(place) {
            own = own.saturating_add(1);
        }
        let (mine, others) = rows.split_at(own);
        rows = others;
        answers.push(answer(mine, question)?);
    }
    if rows.is_empty() { Ok(answers) } else { Err(StoreError::corrupt("list of executions", "rows out of order")) }
}

/// Binds one array for each column of the questions.
fn bind(
    statement: Arc<str>,
    questions: &[ExecutionListQuestion],
) -> Result<Query<'static, Postgres, PgArguments>, StoreError> {
    fn each<T>(questions: &[ExecutionListQuestion], value: impl Fn(&ExecutionListQuestion) -> T) -> Vec<T> {
        questions.iter().map(value).collect()
    }
    let askers: Askers = questions.iter().map(|question| &question.asker).collect();
    let skipped: Result<Vec<i64>, StoreError> =
        questions.iter().map(|question| question.start.offset_to_db()).collect();
    Ok(sqlx::query(AssertSqlSafe(statement))
        .bind(askers.wallets)
        .bind(askers.keys)
        .bind(askers.tokens)
        .bind(askers.kinds)
        .bind(each(questions, |q| q.filter.agent.map(|agent| agent.to_string()).unwrap_or_default()))
        .bind(each(questions, |q| q.filter.status.map(ShownStatus::to_db)))
        .bind(each(questions, |q| q.filter.from))
        .bind(each(questions, |q| q.filter.to))
        .bind(each(questions, |q| q.after().map(|place| place.initiated_at).or(q.filter.to)))
        .bind(each(questions, |q| q.after().map(|place| place.execution_id).unwrap_or_default()))
        .bind(each(questions, |q| q.after().map(|place| place.record.to_string()).unwrap_or_default()))
        .bind(each(questions, |q| i64::from(q.limit).saturating_add(1)))
        .bind(skipped?))
}

/// The places of the columns in a row.
mod column {
    pub const PLACE: usize = 0;
    pub const WALLET: usize = 1;
    pub const TOTAL: usize = 2;
    pub const RECORD: usize = 3;
    pub const EXECUTION_ID: usize = 4;
    pub const AGENT: usize = 5;
    pub const STATUS: usize = 6;
    pub const COST: usize = 7;
    pub const INITIATED_AT: usize = 8;
    pub const COMPLETED_AT: usize = 9;
}

/// The answer in the rows of one question.
fn answer(rows: &[PgRow], question: &ExecutionListQuestion) -> Result<Option<(Pubkey, ExecutionPage)>, StoreError> {
    let first = rows.first().ok_or_else(|| StoreError::corrupt("list of executions", "it has no rows"))?;
    let Some(wallet) = first.try_get::<Option<&str>, _>(column::WALLET)? else { return Ok(None) };
    let total = amount_from_db("count", first.try_get(column::TOTAL)?)?;
    let mut items = rows.iter().filter_map(|row| listed(row).transpose()).collect::<Result<Vec<_>, _>>()?;
    // They are in this order; SQL does not promise it without a sort.
    items.sort_by_key(|item| std::cmp::Reverse(item.place()));
    let page = Listed::new(items, total, question.limit, ListedExecution::place);
    Ok(Some((pubkey("wallet", wallet)?, page)))
}

/// The execution of a row; `None` for the row of an empty page.
fn listed(row: &PgRow) -> Result<Option<ListedExecution>, StoreError> {
    let Some(record) = row.try_get::<Option<&str>, _>(column::RECORD)? else { return Ok(None) };
    Ok(Some(ListedExecution {
        execution_id: row.try_get(column::EXECUTION_ID)?,
        record: pubkey("record address", record)?,
        agent: pubkey("agent address", row.try_get(column::AGENT)?)?,
        status: ShownStatus::from_db(row.try_get(column::STATUS)?)?,
        cost: UsdcBase(amount_from_db("cost", row.try_get(column::COST)?)?),
        initiated_at: row.try_get(column::INITIATED_AT)?,
        completed_at: row.try_get(column::COMPLETED_AT)?,
    }))
}
