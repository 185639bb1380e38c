//! Accounts, documents and gateway rows for tests. They are valid; a test changes what it needs.

use agent_marketplace::state::{
    AgentListed, AgentStatus, Config, CreatorProfile, Dispute, DisputeOutcome, ExecutionRecord, ExecutionStatus,
    MarketParameters, OpenTerms, Settler, SpendingGrant,
};
use bytemuck::Zeroable;
use chrono::{DateTime, Utc};
use crtx_protocol::{address::Addresses, metadata::Metadata, result_hash::ResultHash, usdc::UsdcBase};
use serde_json::{Map, Value, json};
use solana_pubkey::Pubkey;
use sqlx::PgPool;
use uuid::Uuid;

use crate::{
    admission::{Bounds, CallLimits, Funds, PerSubject, ReadAt},
    executions::{Call, CallRequest},
    metadata::WantedDocument,
    mirror::{self, ExecutionAccount},
};

/// Bounds that refuse no call.
pub fn unbounded() -> Bounds {
    let all = PerSubject { key: u32::MAX, wallet: u32::MAX, agent: u32::MAX };
    let funds = Funds {
        wallet: UsdcBase(u64::MAX),
        key: UsdcBase(u64::MAX),
        read_at: ReadAt::Local(std::time::Instant::now()),
    };
    Bounds { funds, limits: CallLimits { under_way: all, failures_per_hour: all } }
}

/// A call of 0.05 USDC, one for each seed. All have the same caller, agent and key.
pub fn call(seed: u8) -> Call {
    Call {
        record: wallet(seed),
        execution_id: Uuid::from_u128(seed.into()),
        caller: wallet(200),
        agent: wallet(201),
        session_key: Some(wallet(202)),
        idempotency_key: None,
        body_hash: [seed; 32],
        is_async: false,
        request: CallRequest { task: "x".to_owned(), parameters: Map::new() },
        request_hash: [4; 32],
        amount: UsdcBase(50_000),
        timeout_seconds: 60,
        endpoint: "https://a.example/execute".to_owned(),
    }
}

/// When everything in these fixtures happened: 2026-11-21T10:00:00Z.
pub const NOON: i64 = 1_795_255_200;

pub fn program() -> Pubkey {
    Pubkey::new_from_array([9; 32])
}

pub fn addresses() -> Addresses {
    Addresses::new(program())
}

/// The wallet with that number.
pub fn wallet(number: u8) -> Pubkey {
    Pubkey::new_from_array([number; 32])
}

/// The marketplace's configuration. The roles are the wallets 90 to 94, the mint is 95.
pub fn configuration() -> Config {
    let mut config = Config::zeroed();
    config.revision = 1;
    config.admin = wallet(90);
    config.resolver = wallet(91);
    config.gateway_authority = wallet(92);
    config.treasury_owner = wallet(93);
    config.insurance_owner = wallet(94);
    config.guardian = wallet(96);
    config.usdc_mint = wallet(95);
    config.resolver_since_unix_s = NOON;
    config.parameters = MarketParameters::DEFAULT;
    config.version = 1;
    config
}

/// An active agent of `creator` without a single execution.
pub fn listing(creator: Pubkey, index: u32) -> AgentListed {
    let mut listing = AgentListed::zeroed();
    listing.creator = creator;
    listing.index = index;
    listing.result_key = wallet(77);
    listing.revision = 1;
    listing.price = 50_000;
    listing.collateral = 10_000_000;
    listing.timeout_seconds = 60;
    listing.status = AgentStatus::Active as u8;
    listing.version = 1;
    listing.created_at_unix_s = NOON;
    listing.updated_at_unix_s = NOON;
    let document = document("agent", &["data"]);
    listing.metadata_hash = ResultHash::of(&document).0;
    set_uri(&mut listing, "https://a.example/metadata.json");
    listing
}

pub fn set_uri(listing: &mut AgentListed, uri: &str) {
    listing.metadata_uri = [0; 128];
    listing.metadata_uri[..uri.len()].copy_from_slice(uri.as_bytes());
    listing.metadata_uri_len = uri.len() as u8;
}

/// A metadata document's bytes.
pub fn document(name: &str, tags: &[&str]) -> Vec<u8> {
    serde_json::to_vec(&json!({
        "name": name, "tagline": format!("{name} in one sentence"), "description": format!("{name} at length"),
        "tags": tags, "endpoint": "https://creator.example/execute",
        "input_schema": {"type": "object"}, "output_schema": {"type": "string"}
    }))
    .expect("json")
}

pub fn profile(creator: Pubkey, name: &str, verified: bool) -> CreatorProfile {
    let mut profile = CreatorProfile::zeroed();
    profile.wallet = creator;
    profile.revision = 1;
    profile.display_name[..name.len()].copy_from_slice(name.as_bytes());
    profile.display_name_len = name.len() as u8;
    profile.verified = u8::from(verified);
    profile.verified_at_unix_s = if verified { NOON } else { 0 };
    profile.created_at_unix_s = NOON;
    profile.updated_at_unix_s = NOON;
    profile
}

/// An open execution of 0.05 USDC.
pub fn record(caller: Pubkey, agent: Pubkey, id: Uuid) -> ExecutionAccount {
    let mut record = ExecutionRecord::zeroed();
    record.caller = caller;
    record.agent = agent;
    record.execution_id = *id.as_bytes();
    record.rent_payer = wallet(78);
    record.revision = 1;
    record.amount = 50_000;
    record.fee_bps = 100;
    record.max_penalty_multiple = 20;
    record.dispute_window_s = 259_200;
    record.opened_at_unix_s = NOON;
    record.status = ExecutionStatus::Open as u8;
    record.version = 1;
    let mut terms = OpenTerms::zeroed();
    terms.request_hash = [5; 32];
    terms.result_key = wallet(77);
    terms.paid_from = wallet(76);
    terms.deadline_unix_s = NOON + 180;
    terms.timeout_seconds = 60;
    ExecutionAccount { record, terms: Some(terms) }
}

/// The same execution, settled with a result.
pub fn completed(open: ExecutionAccount, result: &str) -> ExecutionAccount {
    let mut record = open.record;
    record.revision += 1;
    record.status = ExecutionStatus::Completed as u8;
    record.result_hash = ResultHash::of(result.as_bytes()).0;
    record.execution_time_ms = 1_200;
    record.finished_at_unix_s = record.opened_at_unix_s + 2;
    record.settled_by = Settler::Gateway as u8;
    ExecutionAccount { record, terms: None }
}

/// The same execution, refunded because of `reason`.
pub fn refunded(open: ExecutionAccount, reason: u8) -> ExecutionAccount {
    let mut record = open.record;
    record.revision += 1;
    record.status = if reason == 4 { ExecutionStatus::Expired } else { ExecutionStatus::Failed } as u8;
    record.failure_reason = reason;
    record.agents_failure = u8::from(reason <= 3);
    record.finished_at_unix_s = record.opened_at_unix_s + 2;
    ExecutionAccount { record, terms: None }
}

pub fn dispute(execution: Pubkey, agent: Pubkey, by: Pubkey, outcome: DisputeOutcome) -> Dispute {
    let mut dispute = Dispute::zeroed();
    dispute.execution = execution;
    dispute.agent = agent;
    dispute.raised_by = by;
    dispute.evidence_hash = [6; 32];
    dispute.revision = 1;
    dispute.raised_at_unix_s = NOON + 60;
    dispute.outcome = outcome as u8;
    dispute
}

/// A configuration with that resolver.
pub fn config(resolver: Pubkey) -> Config {
    let mut config = Config::zeroed();
    config.resolver = resolver;
    config.revision = 1;
    config
}

pub fn grant(owner: Pubkey, session_key: Pubkey) -> SpendingGrant {
    let mut grant = SpendingGrant::zeroed();
    grant.wallet = owner;
    grant.session_key = session_key;
    grant.revision = 1;
    grant.per_call_cap = 1_000_000;
    grant.total_cap = u64::MAX;
    grant.expires_at_unix_s = i64::MAX;
    grant.created_at_unix_s = NOON;
    grant
}

/// The bytes of an account: discriminator and body.
pub fn account_bytes<A: bytemuck::Pod>(discriminator: &[u8], account: &A) -> Vec<u8> {
    [discriminator, bytemuck::bytes_of(account)].concat()
}

/// Writes one account at `slot`.
///
/// # Panics
/// When the database refuses.
pub async fn put<A: mirror::Mirrored + super::encode::Encode>(
    pool: &PgPool,
    address: &Pubkey,
    slot: u64,
    account: &A,
) -> bool {
    let mut connection = pool.acquire().await.expect("a connection");
    let mut batch = mirror::Batch::default();
    batch.push(address, slot, account).expect("a row");
    mirror::apply(&mut connection, &batch).await.expect("the account is written") > 0
}

/// Writes a listing together with its document, so that it is shown. Returns its address.
pub async fn show(pool: &PgPool, mut listing: AgentListed, name: &str, tags: &[&str]) -> Pubkey {
    let bytes = document(name, tags);
    listing.metadata_hash = ResultHash::of(&bytes).0;
    let address = addresses().agent(&listing.creator, listing.index);
    put(pool, &address, 10, &listing).await;
    store_document(pool, &address, &bytes).await;
    address
}

/// Makes every held piece of content older.
///
/// # Panics
/// When the database refuses.
pub async fn age_held_content(pool: &PgPool, by: std::time::Duration) {
    sqlx::query("UPDATE held_content SET held_at = held_at - make_interval(secs => $1)")
        .bind(by.as_secs_f64())
        .execute(pool)
        .await
        .expect("held content is changed");
}

/// Gives an agent trust, as if there were records of so many fees.
///
/// # Panics
/// When the database refuses.
pub async fn give_trust(pool: &PgPool, agent: &Pubkey, fees: UsdcBase) {
    let totals = "INSERT INTO mirror_agent_totals (agent, unique_callers, earned, trust, disputes, upheld_wallets)
                  VALUES ($1, 0, 0, $2, 0, 0)";
    let fees = i64::try_from(fees.0).expect("small");
    sqlx::query(totals).bind(agent.to_string()).bind(fees).execute(pool).await.expect("totals are written");
}

/// Keeps a document for an agent, under its own hash.
pub async fn store_document(pool: &PgPool, agent: &Pubkey, bytes: &[u8]) {
    let wanted = WantedDocument {
        agent: *agent,
        creator: Pubkey::default(),
        sha256: ResultHash::of(bytes).0,
        uri: "https://a.example/metadata.json".to_owned(),
        attempts: 0,
    };
    let metadata = Metadata::parse(bytes).expect("a valid document");
    let value: Value = serde_json::from_slice(bytes).expect("json");
    crate::metadata::store_document(pool, &wanted, bytes, &value, &metadata).await.expect("the document is stored");
}

/// A row of the gateway, as far as readers look at it.
#[derive(Clone, Debug)]
pub struct GatewayRow {
    pub caller: Pubkey,
    pub agent: Pubkey,
    pub id: Uuid,
    pub state: &'static str,
    pub created_at: DateTime<Utc>,
    pub finished_at: Option<DateTime<Utc>>,
    pub result: Option<&'static str>,
    pub steps: Option<Value>,
    /// Status, code and message of the answer.
    pub error: Option<(i16, &'static str, &'static str)>,
}

impl GatewayRow {
    pub fn new(caller: Pubkey, agent: Pubkey, id: Uuid, state: &'static str) -> Self {
        let created_at = DateTime::from_timestamp_millis(NOON * 1_000 + 500).expect("a time");
        let finished = matches!(state, "completed" | "failed");
        let delivered = matches!(state, "result_stored" | "settling" | "completed");
        Self {
            caller,
            agent,
            id,
            state,
            created_at,
            finished_at: finished.then(|| created_at + chrono::TimeDelta::milliseconds(90)),
            result: delivered.then_some("the result"),
            steps: None,
            error: matches!(state, "failed" | "refunding").then_some((408, "execution_timeout", "no answer in time")),
        }
    }

    /// Writes the row. Returns the address of its record.
    pub async fn insert(&self, pool: &PgPool) -> Pubkey {
        let record = addresses().execution(&self.caller, self.id.as_bytes());
        let (status, code, message) =
            self.error.map_or((None, None, None), |(status, code, message)| (Some(status), Some(code), Some(message)));
        sqlx::query(
            "INSERT INTO executions (record, execution_id, caller, agent, session_key, state, body_hash, is_async,
                 request, request_hash, amount, timeout_seconds, endpoint, result, result_hash, result_signature,
                 execution_time_ms, steps, error_status, error_code, error_message, created_at, finished_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, false, '{}', $7, 50000, 60, 'https://a.example', $8, $9, $10, $11, $12,
                 $13, $14, $15, $16, $17)",
        )
        .bind(record.to_string())
        .bind(self.id)
        .bind(self.caller.to_string())
        .bind(self.agent.to_string())
        .bind(wallet(79).to_string())
        .bind(self.state)
        .bind(vec![1u8; 32])
        .bind(self.result.map(|result| result.as_bytes().to_vec()))
        .bind(self.result.map(|result| ResultHash::of(result.as_bytes()).0.to_vec()))
        .bind(self.result.map(|_| vec![2u8; 64]))
        .bind(self.result.map(|_| 1_200i64))
        .bind(self.steps.clone())
        .bind(status)
        .bind(code)
        .bind(message)
        .bind(self.created_at)
        .bind(self.finished_at)
        .execute(pool)
        .await
        .expect("the gateway's row is written");
        record
    }
}

/// Keeps everybody from handing content in until the value is dropped.
pub async fn lock_held_content(pool: &PgPool) -> sqlx::Transaction<'static, sqlx::Postgres> {
    let mut transaction = crate::transaction::begin(pool).await.expect("a transaction");
    let lock = "SELECT pg_advisory_xact_lock(1668445306)";
    sqlx::query(lock).execute(&mut *transaction).await.expect("the lock");
    transaction
}

/// How many connections to this database wait for an advisory lock.
pub async fn waiting_for_advisory_locks(pool: &PgPool) -> i64 {
    sqlx::query_scalar(
        "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
         WHERE d.datname = current_database() AND l.locktype = 'advisory' AND NOT l.granted",
    )
    .fetch_one(pool)
    .await
    .expect("the locks")
}
