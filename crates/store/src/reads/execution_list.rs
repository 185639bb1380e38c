//! The list of executions of a caller, or of a creator's agents: `execution_list` and its counters.
//!
//! One statement reads a page and the total, so both are of the same moment, and it answers several questions. It has one
//! plan that fits all filters: ranges of an index in the order of the page. The names of agents are another read:
//! `agent_names`.

use chrono::{DateTime, Utc};
use crtx_protocol::usdc::UsdcBase;
use serde::{Deserialize, Serialize};
use solana_pubkey::Pubkey;
use sqlx::PgExecutor;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{
    disputes::address_text,
    page::{Listed, Start},
};
use crate::{
    Result, StoreError,
    columns::{Base58, Count, Timestamp, Usdc},
};

// The status that a caller sees. `docs/specification.md`, "Execution states in the gateway".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, sqlx::Type, ToSchema)]
#[schema(as = ExecutionStatusName)]
#[serde(rename_all = "snake_case")]
#[repr(i16)]
pub enum ShownStatus {
    // Their numbers in the list: the SQL function `listed_status`.
    Pending = 0,
    Running = 1,
    Completed = 2,
    Failed = 3,
    Disputed = 4,
}

/// A wallet's side of an execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ExecutionRoleName, default = "caller")]
#[serde(rename_all = "snake_case")]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ExecutionPlace {
    pub initiated_at: Timestamp,
    pub execution_id: Uuid,
    pub record: Pubkey,
}

/// An execution in a list.
// What the API adds is empty in what this module reads: the agent's name, the failure and the link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = ExecutionSummary)]
pub struct ListedExecution {
    pub execution_id: Uuid,
    /// Address of the on-chain record.
    #[serde(skip)]
    pub record: Pubkey,
    #[schema(value_type = String)]
    #[serde(serialize_with = "address_text")]
    pub agent_id: Pubkey,
    pub agent_name: String,
    pub status: ShownStatus,
    /// Total charged; 0 after a refund.
    #[schema(value_type = f64)]
    pub cost_usdc: UsdcBase,
    /// Part paid to the creator; 0 until the settlement.
    #[schema(value_type = f64)]
    pub creator_amount_usdc: UsdcBase,
    /// Part kept by the marketplace; 0 until the settlement.
    #[schema(value_type = f64)]
    pub platform_amount_usdc: UsdcBase,
    pub initiated_at: Timestamp,
    /// null while pending or running.
    #[schema(required)]
    pub completed_at: Option<Timestamp>,
    /// From dispatch to delivery; null before there is a result.
    #[schema(required, value_type = Option<u64>)]
    pub execution_time_ms: Option<Count>,
    /// Session public key of the API key that opened it. null: the wallet opened it itself, or another deployment did; and
    /// always for `role=creator`.
    #[schema(required)]
    pub session_public_key: Option<String>,
    /// The code of the error in its record; null unless it failed and was refunded or never opened.
    #[schema(required)]
    pub failure: Option<String>,
    /// The `ExecutionRecord` on the chain explorer.
    pub on_chain_record: String,
    /// As in `ExecutionDetails`.
    #[serde(skip)]
    pub error_code: Option<String>,
    #[serde(skip)]
    pub failure_reason: Option<i16>,
}

impl ListedExecution {
    fn place(&self) -> ExecutionPlace {
        ExecutionPlace { initiated_at: self.initiated_at, execution_id: self.execution_id, record: self.record }
    }
}

/// One question for a part of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecutionListQuestion {
    pub wallet: Pubkey,
    pub filter: ExecutionFilter,
    pub limit: u32,
    pub start: Start<ExecutionPlace>,
}

impl ExecutionListQuestion {
    /// A place after the end of the time range is not of this list; the range holds anyway.
    fn after(&self) -> Option<&ExecutionPlace> {
        self.start.after().filter(|place| self.filter.to.is_none_or(|to| place.initiated_at.0 < to))
    }
}

/// A part of a list of executions.
pub type ExecutionPage = Listed<ListedExecution, ExecutionPlace>;

/// Parts of the executions of wallets, newest first, and how many there are: the answers to questions, in their order, all
/// of one moment.
pub async fn execution_lists(
    db: impl PgExecutor<'_>,
    questions: &[ExecutionListQuestion],
) -> Result<Vec<ExecutionPage>> {
    let corrupt = |what| StoreError::corrupt("list of executions", what);
    let mut answers: Vec<Option<(u64, Vec<ListedExecution>)>> = vec![None; questions.len()];
    for (place, total, execution) in rows_of(db, questions).await? {
        let place = usize::try_from(place).ok().and_then(|place| place.checked_sub(1));
        let answer = place.and_then(|place| answers.get_mut(place)).ok_or_else(|| corrupt("nobody asked for a row"))?;
        answer.get_or_insert((total, Vec::new())).1.extend(execution);
    }
    let pages = questions.iter().zip(answers).map(|(question, answer)| {
        // Also an empty page has a row, with its total.
        let (total, mut items) = answer.ok_or_else(|| corrupt("it has no rows"))?;
        // They are in this order; SQL does not promise it without a sort.
        items.sort_by_key(|item| std::cmp::Reverse(item.place()));
        Ok(Listed::new(items, total, question.limit, ListedExecution::place))
    });
    pages.collect()
}

/// The rows of the pages: the place of the question, from 1 on, the total, and an execution unless the page is empty. A page
/// is a merge of one range of an index for each status. Of the four parts of `execution_list_rows`, for callers and for creators, with and without an agent, one has the rows of a question.
///
/// What the list itself does not have is looked up for the rows of the page: amounts by the rules of `shown_executions`.
///
/// A total is a sum of counters, with the notes that are not added to them yet. In a time range, these are the days after
/// the one in which it begins and before the one in which it ends; the rows of the range in these two days are counted,
/// from the same indexes. `OFFSET 0` keeps the planner from computing a value again wherever it is named.
async fn rows_of(
    db: impl PgExecutor<'_>,
    questions: &[ExecutionListQuestion],
) -> Result<Vec<(i64, u64, Option<ListedExecution>)>> {
    fn each<T>(questions: &[ExecutionListQuestion], value: impl Fn(&ExecutionListQuestion) -> T) -> Vec<T> {
        questions.iter().map(value).collect()
    }
    let rows = sqlx::query!(
        r#"SELECT q.place AS "place!", c.total AS "total!: Count", l.record AS "record?: Base58",
                  l.execution_id AS "execution_id?", l.agent AS "agent?: Base58", l.status AS "status?: ShownStatus",
                  l.cost AS "cost?: Usdc", l.initiated_at AS "initiated_at?: Timestamp",
                  l.completed_at AS "completed_at?: Timestamp",
                  CASE WHEN is_settled(m.status) OR e.state = 'completed'
                       THEN COALESCE(m.creator_amount, e.charged_creator_amount, 0) ELSE 0 END AS "creator_amount!: Usdc",
                  CASE WHEN is_settled(m.status) OR e.state = 'completed'
                       THEN COALESCE(m.platform_amount, e.charged_platform_amount, 0) ELSE 0 END
                      AS "platform_amount!: Usdc",
                  CASE WHEN is_settled(m.status) THEN m.execution_time_ms ELSE e.execution_time_ms END
                      AS "execution_time_ms?: Count",
                  CASE WHEN q.role = 0 THEN e.session_key END AS "session_public_key?",
                  e.error_code AS "error_code?",
                  CASE WHEN m.status IS NULL THEN e.failure_reason ELSE m.failure_reason END AS "failure_reason?"
           FROM unnest($1::text[], $2::int2[], $3::text[], $4::int2[], $5::timestamptz[], $6::timestamptz[],
                       $7::timestamptz[], $8::uuid[], $9::text[], $10::int8[], $11::int8[])
                WITH ORDINALITY AS q (wallet, role, agent, status, since, until, place_time, place_id, place_record, most,
                                      skipped, place)
           -- The days whose counters count as a whole. Without a time range it is the counter of all days.
           CROSS JOIN LATERAL (
               SELECT t.timed,
                      CASE WHEN t.timed THEN COALESCE(utc_day(q.since) + 1, '4713-01-01 BC')
                           ELSE '-infinity' END AS first,
                      CASE WHEN t.timed THEN COALESCE(utc_day(q.until) - 1, 'infinity') ELSE '-infinity' END AS last
               FROM (SELECT q.since IS NOT NULL OR q.until IS NOT NULL AS timed) AS t OFFSET 0) AS d
           CROSS JOIN LATERAL (
               SELECT ((SELECT COALESCE(sum(t.n), 0) FROM execution_totals t
                        WHERE t.role = q.role AND t.owner = q.wallet AND t.agent = q.agent
                          AND t.day BETWEEN d.first AND d.last AND (q.status IS NULL OR t.status = q.status))
                     + (SELECT COALESCE(sum(n.n), 0)
                        FROM (SELECT * FROM execution_notes WHERE q.role = 0 AND caller = q.wallet
                              UNION ALL
                              SELECT * FROM execution_notes WHERE q.role = 1 AND creator = q.wallet) AS n
                        WHERE (q.agent = '' OR n.agent = q.agent) AND (q.status IS NULL OR n.status = q.status)
                          AND (NOT d.timed OR n.day BETWEEN d.first AND d.last))
                     + (SELECT COALESCE(sum(r.n), 0)
                        FROM (VALUES (COALESCE(q.since + interval '1 microsecond', '-infinity'),
                                      LEAST(q.until, start_of_day(d.first))),
                                     (GREATEST(start_of_day(d.first), start_of_day(d.last + 1)),
                                      COALESCE(q.until, 'infinity'))) AS e (first, until)
                        CROSS JOIN unnest('{0, 1, 2, 3, 4}'::int2[]) AS s (status)
                        CROSS JOIN LATERAL (
                           SELECT count(*) AS n FROM execution_list_rows l
                           WHERE l.role = q.role AND l.owner = q.wallet AND l.of_agent = q.agent AND l.status = s.status
                             AND l.initiated_at >= e.first AND l.initiated_at < e.until) AS r
                        WHERE d.timed AND e.first < e.until AND (q.status IS NULL OR s.status = q.status)))::int8 AS total
               OFFSET 0) AS c
           LEFT JOIN LATERAL (
               SELECT p.* FROM unnest('{0, 1, 2, 3, 4}'::int2[]) AS s (status)
               CROSS JOIN LATERAL (
                   SELECT l.* FROM execution_list_rows l
                   WHERE l.role = q.role AND l.owner = q.wallet AND l.of_agent = q.agent AND l.status = s.status
                     AND l.initiated_at > COALESCE(q.since, '-infinity')
                     AND (l.initiated_at, l.execution_id, l.record)
                         < (COALESCE(q.place_time, 'infinity'), q.place_id, q.place_record)
                   ORDER BY l.initiated_at DESC, l.execution_id DESC, l.record DESC LIMIT q.most + q.skipped) AS p
               WHERE q.status IS NULL OR s.status = q.status
               ORDER BY p.initiated_at DESC, p.execution_id DESC, p.record DESC
               LIMIT q.most OFFSET q.skipped) AS l ON true
           LEFT JOIN LATERAL (
               SELECT status, creator_amount, platform_amount, execution_time_ms, failure_reason
               FROM mirror_executions WHERE address = l.record OFFSET 0) AS m ON true
           LEFT JOIN LATERAL (
               SELECT session_key, state, charged_creator_amount, charged_platform_amount, execution_time_ms, error_code,
                      failure_reason
               FROM executions WHERE record = l.record OFFSET 0) AS e ON true"#,
        &each(questions, |q| q.wallet.to_string()),
        &each(questions, |q| i16::from(q.filter.role == ExecutionRole::Creator)),
        &each(questions, |q| q.filter.agent.map(|agent| agent.to_string()).unwrap_or_default()),
        &each(questions, |q| q.filter.status.map(|status| status as i16)) as &[Option<i16>],
        &each(questions, |q| q.filter.from) as &[Option<DateTime<Utc>>],
        &each(questions, |q| q.filter.to) as &[Option<DateTime<Utc>>],
        &each(questions, |q| q.after().map(|place| place.initiated_at.0).or(q.filter.to)) as &[Option<DateTime<Utc>>],
        &each(questions, |q| q.after().map(|place| place.execution_id).unwrap_or_default()),
        &each(questions, |q| q.after().map(|place| place.record.to_string()).unwrap_or_default()),
        &each(questions, |q| i64::from(q.limit).saturating_add(1)),
        &each(questions, |q| q.start.offset_to_db()),
    );
    let rows = rows.fetch_all(db).await?.into_iter().map(|row| {
        let execution = || {
            Some(ListedExecution {
                execution_id: row.execution_id?,
                record: row.record?.into(),
                agent_id: row.agent?.into(),
                agent_name: String::new(),
                status: row.status?,
                cost_usdc: row.cost?.into(),
                creator_amount_usdc: row.creator_amount.into(),
                platform_amount_usdc: row.platform_amount.into(),
                initiated_at: row.initiated_at?,
                completed_at: row.completed_at,
                execution_time_ms: row.execution_time_ms,
                session_public_key: row.session_public_key,
                failure: None,
                on_chain_record: String::new(),
                error_code: row.error_code,
                failure_reason: row.failure_reason,
            })
        };
        (row.place, row.total.into(), execution())
    });
    Ok(rows.collect())
}
