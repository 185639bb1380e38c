//! Executions of many callers: records on chain, disputes, and the rows of a gateway.

use chrono::{DateTime, TimeDelta, Utc};
use crtx_protocol::result_hash::ResultHash;
use solana_pubkey::Pubkey;
use sqlx::PgPool;
use uuid::Uuid;

use super::{copy::Copy, random::Random, size::Size};

/// Records in one `COPY`.
const BATCH: u32 = 20_000;
/// Of a hundred records, those that this deployment's gateway worked on.
const OWN_PERCENT: u32 = 20;
/// One execution that never came on chain for so many that did.
const ON_CHAIN_PER_OFF_CHAIN: u32 = 50;

const RECORD_COLUMNS: [&str; 26] = [
    "address",
    "slot",
    "revision",
    "execution_id",
    "agent",
    "caller",
    "rent_payer",
    "result_hash",
    "amount",
    "creator_amount",
    "platform_amount",
    "tokens_used",
    "execution_time_ms",
    "dispute_window_s",
    "fee_bps",
    "max_penalty_multiple",
    "binding",
    "settled_by",
    "opened_at",
    "finished_at",
    "status",
    "failure_reason",
    "agents_failure",
    "dispute_count",
    "initiated_at",
    "deadline_at",
];

const DISPUTE_COLUMNS: [&str; 15] = [
    "address",
    "slot",
    "revision",
    "execution",
    "agent",
    "raised_by",
    "rent_payer",
    "evidence_hash",
    "evidence_uri",
    "resolution_hash",
    "raised_at",
    "resolved_at",
    "slash_amount",
    "compensation",
    "outcome",
];

const GATEWAY_COLUMNS: [&str; 24] = [
    "record",
    "execution_id",
    "caller",
    "agent",
    "session_key",
    "state",
    "body_hash",
    "is_async",
    "request",
    "request_hash",
    "amount",
    "timeout_seconds",
    "endpoint",
    "result",
    "result_hash",
    "result_signature",
    "execution_time_ms",
    "failure_reason",
    "error_status",
    "error_code",
    "error_message",
    "created_at",
    "opened_at",
    "finished_at",
];

/// The numbers of `record_status(…)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Open = 1,
    Completed = 2,
    Failed = 3,
    Expired = 4,
    Disputed = 5,
    Overturned = 6,
}

impl Status {
    /// Of a hundred: 3 open, 82 completed, 6 failed, 3 expired, 3 disputed, 3 overturned.
    fn random(random: &mut Random) -> Self {
        match random.below(100) {
            0..3 => Self::Open,
            3..9 => Self::Failed,
            9..12 => Self::Expired,
            12..15 => Self::Disputed,
            15..18 => Self::Overturned,
            _ => Self::Completed,
        }
    }

    fn is_settled(self) -> bool {
        matches!(self, Self::Completed | Self::Disputed | Self::Overturned)
    }

    /// The number of the reason of a failure.
    fn reason(self) -> Option<u8> {
        match self {
            Self::Failed => Some(1),
            Self::Expired => Some(4),
            _ => None,
        }
    }

    /// The state of the gateway's row.
    fn state(self) -> &'static str {
        match self {
            Self::Open => "running",
            Self::Failed | Self::Expired => "failed",
            _ => "completed",
        }
    }
}

struct Execution {
    record: Pubkey,
    id: Uuid,
    caller: Pubkey,
    agent: Pubkey,
    amount: u64,
    initiated_at: DateTime<Utc>,
    took_ms: i64,
}

impl Execution {
    fn random(size: &Size, caller: u32, random: &mut Random) -> Self {
        Self {
            record: random.address(),
            id: random.uuid(),
            caller: size.caller(caller),
            agent: size.agent(random.skewed(size.agents)),
            amount: 1_000 + u64::from(random.skewed(50_000)) * 1_000,
            initiated_at: size.time(random.share()),
            took_ms: 100 + i64::from(random.skewed(30_000)),
        }
    }

    fn finished_at(&self) -> DateTime<Utc> {
        self.initiated_at + TimeDelta::milliseconds(self.took_ms)
    }

    fn result(&self) -> String {
        format!("The result of {}: {}", self.id, "all is well. ".repeat(10))
    }
}

struct Tables {
    records: Copy,
    disputes: Copy,
    gateway: Copy,
}

/// Writes all executions.
pub async fn write_executions(pool: &PgPool, size: &Size) {
    let mut tables = Tables {
        records: Copy::into("mirror_executions", &RECORD_COLUMNS),
        disputes: Copy::into("mirror_disputes", &DISPUTE_COLUMNS),
        gateway: Copy::into("executions", &GATEWAY_COLUMNS),
    };
    let mut random = Random::new(13);
    for number in 0..size.executions {
        let caller = size.caller_of(number);
        tables.add_on_chain(&Execution::random(size, caller, &mut random), &mut random);
        if number.is_multiple_of(ON_CHAIN_PER_OFF_CHAIN) {
            tables.add_off_chain(&Execution::random(size, caller, &mut random), &mut random);
        }
        if number % BATCH == BATCH - 1 {
            tables.write(pool).await;
        }
    }
    tables.write(pool).await;
}

impl Tables {
    async fn write(&mut self, pool: &PgPool) {
        self.gateway.write(pool).await;
        self.disputes.write(pool).await;
        self.records.write(pool).await;
    }

    fn add_on_chain(&mut self, execution: &Execution, random: &mut Random) {
        let status = Status::random(random);
        self.add_record(execution, status);
        match status {
            Status::Disputed => self.add_dispute(execution, 1, random),
            Status::Overturned => self.add_dispute(execution, 2, random),
            Status::Completed if random.percent(1) => self.add_dispute(execution, 3, random),
            _ => {}
        }
        if random.percent(OWN_PERCENT) {
            self.add_gateway_row(execution, status.state(), status.reason(), random);
        }
    }

    fn add_off_chain(&mut self, execution: &Execution, random: &mut Random) {
        let state = *random.pick(&["reserved", "opening", "running", "failed"]);
        self.add_gateway_row(execution, state, None, random);
    }

    fn add_record(&mut self, execution: &Execution, status: Status) {
        let (open, settled) = (status == Status::Open, status.is_settled());
        let opened = execution.initiated_at;
        let finished = (!open).then(|| execution.finished_at());
        let fee = execution.amount / 100;
        let result = execution.result();
        let hash = ResultHash::of(result.as_bytes()).0;
        let disputes = matches!(status, Status::Disputed | Status::Overturned);
        self.records
            .row()
            .plain(execution.record)
            .plain(10)
            .plain(if open { 1 } else { 2 })
            .plain(execution.id)
            .plain(execution.agent)
            .plain(execution.caller)
            .plain(execution.caller)
            .bytes(settled.then_some(hash.as_slice()))
            .plain(execution.amount)
            .plain(execution.amount - fee)
            .plain(fee)
            .plain_or_null(None::<u8>)
            .plain(if settled { execution.took_ms } else { 0 })
            .plain(259_200)
            .plain(100)
            .plain(20)
            .plain(false)
            .plain_or_null(settled.then_some(3))
            .time(Some(opened))
            .time(finished)
            .plain(status as u8)
            .plain_or_null(status.reason())
            .plain(status == Status::Failed)
            .plain(u8::from(disputes))
            .time(Some(execution.initiated_at))
            .time(Some(opened + TimeDelta::minutes(5)))
            .end();
    }

    fn add_dispute(&mut self, execution: &Execution, outcome: u8, random: &mut Random) {
        let raised = execution.finished_at() + TimeDelta::hours(1);
        let (decided, upheld) = (outcome != 1, outcome == 2);
        let compensation = if upheld { execution.amount / 2 } else { 0 };
        self.disputes
            .row()
            .plain(random.address())
            .plain(10)
            .plain(outcome)
            .plain(execution.record)
            .plain(execution.agent)
            .plain(execution.caller)
            .plain(execution.caller)
            .bytes(Some(&random.bytes::<32>()))
            .text("https://a.example/evidence")
            .bytes(decided.then(|| random.bytes::<32>()).as_ref().map(<[u8; 32]>::as_slice))
            .time(Some(raised))
            .time(decided.then(|| raised + TimeDelta::days(2)))
            .plain(compensation)
            .plain(compensation)
            .plain(outcome)
            .end();
    }

    fn add_gateway_row(&mut self, execution: &Execution, state: &str, reason: Option<u8>, random: &mut Random) {
        let (completed, failed) = (state == "completed", state == "failed");
        let result = completed.then(|| execution.result());
        let hash = result.as_ref().map(|result| ResultHash::of(result.as_bytes()).0);
        let row = self
            .gateway
            .row()
            .plain(execution.record)
            .plain(execution.id)
            .plain(execution.caller)
            .plain(execution.agent)
            .plain(execution.caller)
            .plain(state)
            .bytes(Some(&random.bytes::<32>()))
            .plain(false)
            .text(r#"{"task":"What is this?","parameters":{}}"#)
            .bytes(Some(&random.bytes::<32>()))
            .plain(execution.amount)
            .plain(60)
            .text("https://creator.example/execute")
            .bytes(result.as_ref().map(String::as_bytes))
            .bytes(hash.as_ref().map(<[u8; 32]>::as_slice))
            .bytes(completed.then_some([2; 64].as_slice()))
            .plain_or_null(completed.then_some(execution.took_ms))
            .plain_or_null(reason);
        let row = if failed {
            row.plain(408).plain("execution_timeout").text("no answer in time")
        } else {
            let null = None::<u8>;
            row.plain_or_null(null).plain_or_null(null).plain_or_null(null)
        };
        let opened = (state != "reserved").then_some(execution.initiated_at);
        row.time(Some(execution.initiated_at))
            .time(opened)
            .time((completed || failed).then(|| execution.finished_at()))
            .end();
    }
}
