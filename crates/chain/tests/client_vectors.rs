//! Accounts and instructions as the program's own types encode them, stored in `tests/vectors/` for clients in other
//! languages. `CRTX_WRITE_VECTORS=1` writes the files again.
#![allow(clippy::expect_used, clippy::arithmetic_side_effects, reason = "test data")]

use std::{fs, path::PathBuf};

use agent_marketplace::{
    instructions::{GrantSpendingArgs, ListAgentArgs},
    state::{
        AgentListing, AgentStatus, CollateralTier, Config, CreatorProfile, Dispute, DisputeOutcome, ExecutionRecord,
        ExecutionStatus, FailureReason, SpendingGrant,
    },
};
use anchor_lang::Discriminator;
use base64::{Engine, prelude::BASE64_STANDARD};
use crtx_chain::instructions::{Instructions, Opening, Settlement};
use crtx_protocol::{address::Addresses, result_hash::ResultHash};
use serde_json::{Map, Value, json};
use solana_instruction::Instruction;
use solana_pubkey::Pubkey;

/// A field's value in the format of the vectors: 64-bit numbers as decimal text, bytes as hexadecimal, keys as
/// base58.
trait Spelled {
    fn spelled(&self) -> Value;
}

impl Spelled for u8 {
    fn spelled(&self) -> Value {
        json!(self)
    }
}

impl Spelled for u16 {
    fn spelled(&self) -> Value {
        json!(self)
    }
}

impl Spelled for u32 {
    fn spelled(&self) -> Value {
        json!(self)
    }
}

impl Spelled for u64 {
    fn spelled(&self) -> Value {
        json!(self.to_string())
    }
}

impl Spelled for i64 {
    fn spelled(&self) -> Value {
        json!(self.to_string())
    }
}

impl Spelled for Pubkey {
    fn spelled(&self) -> Value {
        json!(self.to_string())
    }
}

impl<const N: usize> Spelled for [u8; N] {
    fn spelled(&self) -> Value {
        json!(self.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
    }
}

impl Spelled for [Pubkey; 8] {
    fn spelled(&self) -> Value {
        self.iter().map(Spelled::spelled).collect()
    }
}

impl Spelled for [CollateralTier; 4] {
    fn spelled(&self) -> Value {
        let tier = |tier: &CollateralTier| json!({"max_price": tier.max_price.spelled(), "collateral": tier.collateral.spelled()});
        self.iter().map(tier).collect()
    }
}

/// Creates an account with every field set; the compiler rejects a missing one.
macro_rules! account {
    ($kind:ident { $($field:ident: $value:expr),* $(,)? }) => {{
        let account = $kind { $($field: $value),* };
        let mut data = $kind::DISCRIMINATOR.to_vec();
        data.extend_from_slice(bytemuck::bytes_of(&account));
        assert_eq!(data.len(), $kind::SPACE);
        let mut fields = Map::new();
        $(fields.insert(stringify!($field).to_owned(), account.$field.spelled());)*
        json!({"account": stringify!($kind), "data": BASE64_STANDARD.encode(data), "fields": fields})
    }};
}

/// Bytes that differ for every `start` and never repeat, so that a shifted field is detected.
fn bytes<const N: usize>(start: u8) -> [u8; N] {
    std::array::from_fn(|at| start.wrapping_add(u8::try_from(at).expect("short")))
}

fn key(start: u8) -> Pubkey {
    Pubkey::new_from_array(bytes(start))
}

/// A number with eight different bytes.
fn number(start: u8) -> u64 {
    u64::from_le_bytes(bytes(start))
}

/// Negative times are included, because the sign must survive.
fn time(start: u8) -> i64 {
    i64::from_le_bytes(bytes(start))
}

fn accounts() -> Value {
    json!([agent_listing(), config(), creator_profile(), dispute(), execution_record(), spending_grant()])
}

fn agent_listing() -> Value {
    account!(AgentListing {
        creator: key(1),
        result_key: key(2),
        metadata_hash: bytes(3),
        revision: number(4),
        price: number(5),
        collateral: number(6),
        slashed_total: number(7),
        open_amount: number(8),
        total_executions: number(9),
        successful_executions: number(10),
        failed_executions: number(11),
        disputed_executions: number(12),
        execution_time_ms_total: number(13),
        completed_executions: number(14),
        created_at_unix_s: time(15),
        updated_at_unix_s: time(16),
        last_dispute_deadline_unix_s: time(250),
        index: 0x1122_3344,
        timeout_seconds: 0x2233_4455,
        open_executions: 0x3344_5566,
        open_disputes: 0xfeed_4657,
        status: 1,
        version: 2,
        bump: 3,
        escrow_bump: 4,
        collateral_bump: 5,
        metadata_uri_len: 6,
        reserved: bytes(7),
        metadata_uri: bytes(8),
        escrow: key(9),
    })
}

fn config() -> Value {
    let tier = |start| CollateralTier { max_price: number(start), collateral: number(start + 1) };
    account!(Config {
        admin: key(21),
        pending_admin: key(22),
        resolver: key(23),
        gateway_authority: key(24),
        treasury_owner: key(25),
        usdc_mint: key(26),
        announced_resolver: key(36),
        announced_treasury_owner: key(37),
        roles_apply_from_unix_s: time(38),
        resolver_since_unix_s: time(246),
        revision: number(27),
        dispute_window_s: time(28),
        settle_grace_s: time(251),
        collateral_tiers: [tier(30), tier(32), tier(34), tier(200)],
        fee_bps: 0xfe01,
        paused: 1,
        version: 2,
        bump: 3,
        reserved: bytes(4),
    })
}

fn creator_profile() -> Value {
    account!(CreatorProfile {
        wallet: key(41),
        revision: number(42),
        verified_at_unix_s: time(43),
        created_at_unix_s: time(44),
        updated_at_unix_s: time(252),
        display_name: bytes(46),
        display_name_len: 32,
        verified: 1,
        version: 2,
        bump: 3,
        reserved: bytes(4),
    })
}

fn dispute() -> Value {
    account!(Dispute {
        execution: key(51),
        agent: key(52),
        raised_by: key(53),
        rent_payer: key(54),
        evidence_hash: bytes(55),
        resolution_hash: bytes(56),
        revision: number(57),
        raised_at_unix_s: time(58),
        resolved_at_unix_s: time(253),
        slash_amount: number(60),
        compensation: number(249),
        outcome: 1,
        evidence_uri_len: 2,
        version: 3,
        bump: 4,
        reserved: bytes(5),
        evidence_uri: bytes(62),
    })
}

fn execution_record() -> Value {
    account!(ExecutionRecord {
        agent: key(71),
        caller: key(72),
        request_hash: bytes(73),
        refund_owner: key(74),
        result_key: key(75),
        rent_payer: key(76),
        grant: key(77),
        result_hash: bytes(78),
        execution_id: bytes(79),
        revision: number(80),
        amount: number(81),
        creator_amount: number(82),
        platform_amount: number(83),
        tokens_used: number(248),
        execution_time_ms: number(85),
        opened_at_unix_s: time(86),
        deadline_unix_s: time(87),
        finished_at_unix_s: time(88),
        dispute_deadline_unix_s: time(254),
        timeout_seconds: 0xfedc_ba98,
        dispute_window_s: 0xfedc_ba99,
        status: 1,
        failure_reason: 2,
        tokens_reported: 3,
        dispute_count: 4,
        version: 5,
        bump: 6,
        reserved: bytes(7),
    })
}

fn spending_grant() -> Value {
    account!(SpendingGrant {
        wallet: key(91),
        session_key: key(92),
        allowed_agents: std::array::from_fn(|at| key(100 + u8::try_from(at).expect("eight"))),
        revision: number(93),
        per_call_cap: number(94),
        total_cap: number(95),
        spent: number(247),
        expires_at_unix_s: time(97),
        created_at_unix_s: time(255),
        executions: number(99),
        allowed_agents_len: 8,
        revoked: 1,
        version: 2,
        bump: 3,
        spender_bump: 4,
        reserved: bytes(5),
    })
}

/// The numbers of the states. A variant that is added to the program must be added here.
fn stored() -> Value {
    macro_rules! numbers {
        ($kind:ident { $($variant:ident),* $(,)? }) => {{
            let all_named = |value: $kind| match value { $($kind::$variant => ()),* };
            $(all_named($kind::$variant);)*
            json!({ $(stringify!($variant): $kind::$variant as u8),* })
        }};
    }
    json!({
        "agent_status": numbers!(AgentStatus { Active, Paused, Delisted }),
        "execution_status": numbers!(ExecutionStatus { Open, Completed, Failed, Expired, Disputed, Overturned }),
        "failure_reason": numbers!(FailureReason { CreatorFailed, Timeout, InvalidResponse, Expired }),
        "dispute_outcome": numbers!(DisputeOutcome { Open, Upheld, Rejected, Expired }),
    })
}

/// An instruction with the inputs that a client needs to build the same.
fn instruction(name: &str, inputs: Value, built: &Instruction) -> Value {
    let accounts: Vec<_> = built
        .accounts
        .iter()
        .map(|meta| json!({"address": meta.pubkey.to_string(), "signer": meta.is_signer, "writable": meta.is_writable}))
        .collect();
    json!({
        "instruction": name,
        "inputs": inputs,
        "program": built.program_id.to_string(),
        "accounts": accounts,
        "data": BASE64_STANDARD.encode(&built.data),
    })
}

/// Values that a client derives by itself are not inputs.
fn instructions() -> Value {
    let build = Instructions::new(Addresses::new(agent_marketplace::ID), key(7));
    let (caller, payer, creator, session) = (key(1), key(2), key(3), key(4));
    let agent = build.addresses.agent(&creator, 5);
    let opening = Opening { agent, execution_id: bytes(11), request_hash: bytes(12), max_amount: number(13) };
    let record = build.addresses.execution(&caller, &opening.execution_id);
    let settlement = Settlement {
        agent,
        record,
        creator,
        treasury_owner: key(5),
        result_key: key(6),
        result_hash: ResultHash(bytes(14)),
        signature: bytes(15),
        execution_time_ms: number(16),
        tokens_used: Some(number(17)),
    };
    let grant = GrantSpendingArgs {
        session_key: session,
        per_call_cap: number(18),
        total_cap: number(19),
        expires_at_unix_s: time(20),
        allowed_agents: vec![agent, key(21)],
    };
    let listing = ListAgentArgs {
        index: 5,
        result_key: key(6),
        price: number(22),
        timeout_seconds: 60,
        collateral: number(23),
        metadata_hash: bytes(24),
        metadata_uri: "https://agent.example/metadata.json".to_owned(),
    };
    let key = |key: &Pubkey| key.to_string();
    let usdc = |owner: &Pubkey| build.usdc_of(owner).to_string();
    let mint = build.usdc_mint.to_string();
    let opening_inputs = json!({
        "agent": key(&agent),
        "payer": key(&payer),
        "usdc_mint": mint,
        "execution_id": opening.execution_id.spelled(),
        "request_hash": opening.request_hash.spelled(),
        "max_amount": opening.max_amount.spelled(),
    });
    let with = |more: Value| {
        let mut inputs = opening_inputs.clone();
        inputs.as_object_mut().expect("object").append(&mut more.as_object().expect("object").clone());
        inputs
    };
    json!([
        instruction(
            "list_agent",
            json!({
                "creator": key(&creator), "creator_token": usdc(&creator), "usdc_mint": mint,
                "index": listing.index.spelled(), "result_key": listing.result_key.spelled(),
                "price": listing.price.spelled(), "timeout_seconds": listing.timeout_seconds.spelled(),
                "collateral": listing.collateral.spelled(), "metadata_hash": listing.metadata_hash.spelled(),
                "metadata_uri": listing.metadata_uri,
            }),
            &build.list_agent(&creator, listing.clone()),
        ),
        instruction(
            "open_execution",
            with(json!({"caller": key(&caller), "caller_token": usdc(&caller)})),
            &build.open_execution(&caller, &payer, &opening),
        ),
        instruction(
            "open_execution_with_grant",
            with(json!({"session_key": key(&session), "wallet": key(&caller), "wallet_token": usdc(&caller)})),
            &build.open_execution_with_grant(&caller, &session, &payer, &opening),
        ),
        instruction(
            "complete_execution",
            json!({
                "authority": key(&caller), "agent": key(&agent), "record": key(&record), "usdc_mint": mint,
                "creator_token": usdc(&creator), "treasury_token": usdc(&settlement.treasury_owner),
                "result_hash": settlement.result_hash.0.spelled(),
                "execution_time_ms": settlement.execution_time_ms.spelled(),
                "tokens_used": number(17).spelled(),
            }),
            &build.complete_execution(&caller, &settlement)[1],
        ),
        instruction(
            "fail_execution",
            json!({
                "authority": key(&creator), "agent": key(&agent), "record": key(&record), "usdc_mint": mint,
                "refund_token": usdc(&caller), "reason": "InvalidResponse",
            }),
            &build.fail_execution(&creator, &agent, &record, &build.usdc_of(&caller), FailureReason::InvalidResponse),
        ),
        instruction(
            "refund_expired_execution",
            json!({"agent": key(&agent), "record": key(&record), "usdc_mint": mint, "refund_token": usdc(&caller)}),
            &build.refund_expired_execution(&agent, &record, &build.usdc_of(&caller)),
        ),
        instruction(
            "grant_spending",
            json!({
                "wallet": key(&caller), "session_key": key(&session), "per_call_cap": grant.per_call_cap.spelled(),
                "total_cap": grant.total_cap.spelled(), "expires_at_unix_s": grant.expires_at_unix_s.spelled(),
                "allowed_agents": grant.allowed_agents.iter().map(Spelled::spelled).collect::<Vec<_>>(),
            }),
            &build.grant_spending(&caller, grant.clone()),
        ),
    ])
}

fn holds(file: &str, wanted: &Value) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors").join(file);
    let wanted = serde_json::to_string_pretty(wanted).expect("JSON") + "\n";
    if std::env::var_os("CRTX_WRITE_VECTORS").is_some() {
        fs::create_dir_all(path.parent().expect("in a folder")).expect("folder");
        fs::write(&path, wanted).expect("written");
        return;
    }
    let kept = fs::read_to_string(&path).expect("the vectors are committed");
    assert!(
        kept == wanted,
        "tests/vectors/{file} is not what the program's types write: run with CRTX_WRITE_VECTORS=1"
    );
}

#[test]
fn the_account_vectors_are_what_the_programs_types_write() {
    holds("accounts.json", &accounts());
}

#[test]
fn the_vectors_of_stored_numbers_name_every_state() {
    holds("stored.json", &stored());
}

#[test]
fn the_instruction_vectors_are_what_the_builders_build() {
    holds("instructions.json", &instructions());
}
