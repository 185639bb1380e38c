//! Accounts and instructions as the program's own types encode them, stored in `tests/vectors/` for clients in other
//! languages. `CRTX_WRITE_VECTORS=1` writes the files again.
#![allow(clippy::expect_used, clippy::arithmetic_side_effects, reason = "test data")]

use std::{fs, path::PathBuf};

use agent_marketplace::{
    instructions::{GrantSpendingArgs, ListAgentArgs},
    state::{
        AgentListed, AgentStatus, ClosedAgents, CollateralTier, Config, CreatorProfile, Dispute, DisputeOutcome,
        ExecutionRecord, ExecutionStatus, FailureReason, MarketParameters, OpenTerms, Settler, SpendingGrant,
    },
};
use anchor_lang::Discriminator;
use base64::{Engine, prelude::BASE64_STANDARD};
use crtx_chain::instructions::{Instructions, Opening, Refund, Settlement};
use crtx_protocol::{address::Addresses, call_text::OpeningId, fee, result_hash::ResultHash, terms::Terms};
use ed25519_dalek::{Signer, SigningKey};
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

impl Spelled for MarketParameters {
    fn spelled(&self) -> Value {
        json!({
            "min_price": self.min_price.spelled(),
            "dispute_bond": self.dispute_bond.spelled(),
            "dispute_window_s": self.dispute_window_s.spelled(),
            "settle_grace_s": self.settle_grace_s.spelled(),
            "collateral_tiers": self.collateral_tiers.spelled(),
            "fee_bps": self.fee_bps.spelled(),
            "max_penalty_multiple": self.max_penalty_multiple.spelled(),
        })
    }
}

impl Spelled for ClosedAgents {
    fn spelled(&self) -> Value {
        json!({
            "agents": self.agents.spelled(),
            "completed_executions": self.completed_executions.spelled(),
            "successful_executions": self.successful_executions.spelled(),
            "failed_executions": self.failed_executions.spelled(),
            "unproved_failures": self.unproved_failures.spelled(),
            "expired_executions": self.expired_executions.spelled(),
            "disputed_executions": self.disputed_executions.spelled(),
            "slashed_total": self.slashed_total.spelled(),
            "platform_fees_total": self.platform_fees_total.spelled(),
        })
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
    json!([agent_listed(), config(), creator_profile(), dispute(), execution_record(), spending_grant()])
}

fn agent_listed() -> Value {
    account!(AgentListed {
        creator: key(1),
        result_key: key(2),
        metadata_hash: bytes(3),
        revision: number(4),
        price: number(5),
        collateral: number(6),
        slashed_total: number(7),
        open_amount: number(8),
        disputed_amount: number(241),
        covered_amount: number(244),
        slashable_amount: number(246),
        open_bonds: number(247),
        total_executions: number(9),
        successful_executions: number(10),
        failed_executions: number(11),
        unproved_failures: number(239),
        expired_executions: number(242),
        disputed_executions: number(12),
        execution_time_ms_total: number(13),
        timed_executions: number(240),
        completed_executions: number(14),
        platform_fees_total: number(243),
        created_at_unix_s: time(15),
        updated_at_unix_s: time(16),
        last_dispute_deadline_unix_s: time(250),
        index: 0x1122_3344,
        timeout_seconds: 0x2233_4455,
        open_executions: 0x3344_5566,
        open_disputes: 0xfeed_4657,
        status: 1,
        binding: 9,
        version: 2,
        bump: 3,
        escrow_bump: 4,
        collateral_bump: 5,
        metadata_uri_len: 6,
        min_cover: 7,
        suspended: 1,
        reserved: bytes(10),
        metadata_uri: bytes(8),
        escrow: key(9),
    })
}

fn parameters(start: u8) -> MarketParameters {
    let tier = |start: u8| CollateralTier { max_price: number(start), collateral: number(start.wrapping_add(1)) };
    MarketParameters {
        min_price: number(start),
        dispute_bond: number(start.wrapping_add(11)),
        dispute_window_s: time(start.wrapping_add(1)),
        settle_grace_s: time(start.wrapping_add(2)),
        collateral_tiers: std::array::from_fn(|at| tier(start.wrapping_add(3 + 2 * u8::try_from(at).expect("four")))),
        fee_bps: 0xfedc_ba01,
        max_penalty_multiple: 0xfedc_ba02,
    }
}

fn config() -> Value {
    account!(Config {
        admin: key(21),
        pending_admin: key(22),
        resolver: key(23),
        gateway_authority: key(24),
        treasury_owner: key(25),
        insurance_owner: key(19),
        usdc_mint: key(26),
        guardian: key(18),
        announced_resolver: key(36),
        announced_treasury_owner: key(37),
        announced_insurance_owner: key(20),
        roles_apply_from_unix_s: time(38),
        resolver_since_unix_s: time(246),
        parameters_apply_from_unix_s: time(245),
        revision: number(27),
        parameters: parameters(28),
        announced_parameters: parameters(200),
        openings_paused: 1,
        listings_paused: 0,
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
        closed: ClosedAgents {
            agents: number(111),
            completed_executions: number(112),
            successful_executions: number(113),
            failed_executions: number(114),
            unproved_failures: number(119),
            expired_executions: number(115),
            disputed_executions: number(116),
            slashed_total: number(117),
            platform_fees_total: number(118),
        },
        next_agent_index: 0x5566_7788,
        display_name: bytes(46),
        display_name_len: 32,
        verified: 1,
        version: 2,
        bump: 3,
    })
}

fn dispute() -> Value {
    account!(Dispute {
        execution: key(51),
        agent: key(52),
        raised_by: key(53),
        rent_payer: key(54),
        evidence_hash: bytes(55),
        resolved_by: key(63),
        resolution_hash: bytes(56),
        answer_hash: bytes(119),
        revision: number(57),
        raised_at_unix_s: time(58),
        answered_at_unix_s: time(244),
        resolved_at_unix_s: time(253),
        bond: number(247),
        slash_amount: number(60),
        compensation: number(249),
        covered_amount: number(245),
        outcome: 1,
        evidence_uri_len: 2,
        answer_uri_len: 5,
        version: 3,
        bump: 4,
        resolution_uri_len: 7,
        reserved: bytes(6),
        evidence_uri: bytes(62),
        answer_uri: bytes(120),
        resolution_uri: bytes(130),
    })
}

fn execution_record() -> Value {
    account!(ExecutionRecord {
        agent: key(71),
        caller: key(72),
        rent_payer: key(76),
        result_hash: bytes(78),
        execution_id: bytes(79),
        revision: number(80),
        amount: number(81),
        opened_at_unix_s: time(86),
        finished_at_unix_s: time(254),
        execution_time_ms: 0xfedc_ba97,
        tokens_used: 0xfedc_ba98,
        dispute_window_s: 0xfedc_ba99,
        fee_bps: 0xfedc,
        max_penalty_multiple: 8,
        binding: 9,
        status: 1,
        failure_reason: 2,
        settled_by: 10,
        tokens_reported: 3,
        dispute_count: 4,
        version: 5,
        bump: 6,
        agents_failure: 7,
    })
}

/// Not an account by itself: it follows behind the record of an open execution.
fn open_terms() -> Value {
    let terms = OpenTerms {
        request_hash: bytes(121),
        result_key: key(122),
        grant: key(123),
        paid_from: key(124),
        deadline_unix_s: time(239),
        timeout_seconds: 0xfedc_ba96,
        reserved: bytes(5),
    };
    let OpenTerms { request_hash, result_key, grant, paid_from, deadline_unix_s, timeout_seconds, reserved } = terms;
    json!({
        "data": BASE64_STANDARD.encode(bytemuck::bytes_of(&terms)),
        "fields": {
            "request_hash": request_hash.spelled(), "result_key": result_key.spelled(), "grant": grant.spelled(),
            "paid_from": paid_from.spelled(), "deadline_unix_s": deadline_unix_s.spelled(),
            "timeout_seconds": timeout_seconds.spelled(), "reserved": reserved.spelled(),
        },
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
        daily_cap: number(248),
        spent_on_day: number(249),
        day: number(250),
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
        "failure_reason": numbers!(FailureReason { CreatorFailed, Timeout, InvalidResponse, Expired, Interrupted }),
        "settler": numbers!(Settler { Caller, Creator, Gateway }),
        "dispute_outcome": numbers!(DisputeOutcome { Open, Upheld, Rejected, Expired, Cancelled, Abusive }),
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
    let opening = Opening {
        agent,
        execution_id: bytes(11),
        request_hash: bytes(12),
        max_amount: number(13),
        terms_hash: Some(bytes(25)),
        min_cover: 26,
    };
    let record = build.addresses.execution(&caller, &opening.execution_id);
    let settlement = Settlement {
        agent,
        opening: OpeningId { record: record.to_bytes(), opened_at_unix_s: time(38) },
        rent_payer: payer,
        creator_token: build.usdc_of(&creator),
        treasury_token: build.usdc_of(&key(5)),
        result_key: key(6),
        result_hash: ResultHash(bytes(14)),
        binding: false,
        signature: bytes(15),
        execution_time_ms: number(16),
        tokens_used: Some(number(17)),
    };
    let grant = GrantSpendingArgs {
        session_key: session,
        per_call_cap: number(18),
        total_cap: number(19),
        daily_cap: number(28),
        expires_at_unix_s: time(20),
        allowed_agents: vec![agent, key(21)],
    };
    let listing = ListAgentArgs {
        index: 5,
        result_key: key(6),
        price: number(22),
        timeout_seconds: 60,
        binding: true,
        min_cover: 27,
        collateral: number(23),
        metadata_hash: bytes(24),
        metadata_uri: "https://agent.example/metadata.json".to_owned(),
    };
    let refund = Refund {
        agent,
        record,
        rent_payer: payer,
        grant: Some(build.addresses.grant(&caller, &session)),
        refund_token: build.usdc_of(&caller),
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
        "terms_hash": opening.terms_hash.map(|hash| hash.spelled()),
        "min_cover": opening.min_cover,
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
                "binding": listing.binding, "min_cover": listing.min_cover, "collateral": listing.collateral.spelled(), "metadata_hash": listing.metadata_hash.spelled(),
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
                "authority": key(&caller), "agent": key(&agent), "record": key(&record), "rent_payer": key(&payer),
                "usdc_mint": mint, "creator_token": usdc(&creator), "treasury_token": key(&settlement.treasury_token),
                "result_hash": settlement.result_hash.0.spelled(),
                "execution_time_ms": settlement.execution_time_ms.spelled(),
                "tokens_used": number(17).spelled(),
            }),
            &build.complete_execution(&caller, &settlement)[1],
        ),
        instruction(
            "fail_execution",
            json!({
                "authority": key(&creator), "agent": key(&agent), "record": key(&record), "rent_payer": key(&payer),
                "usdc_mint": mint, "refund_token": usdc(&caller), "reason": "InvalidResponse", "signed": false,
            }),
            &build.fail_execution(&creator, &Refund { grant: None, ..refund }, FailureReason::InvalidResponse),
        ),
        instruction(
            "refund_expired_execution",
            json!({
                "agent": key(&agent), "record": key(&record), "rent_payer": key(&payer),
                "grant": refund.grant.map(|grant| grant.to_string()), "wallet": key(&caller), "usdc_mint": mint,
                "refund_token": usdc(&caller),
            }),
            &build.refund_expired_execution(Some(&caller), &refund),
        ),
        instruction(
            "grant_spending",
            json!({
                "wallet": key(&caller), "session_key": key(&session), "per_call_cap": grant.per_call_cap.spelled(),
                "total_cap": grant.total_cap.spelled(), "daily_cap": grant.daily_cap.spelled(),
                "expires_at_unix_s": grant.expires_at_unix_s.spelled(),
                "allowed_agents": grant.allowed_agents.iter().map(Spelled::spelled).collect::<Vec<_>>(),
            }),
            &build.grant_spending(&caller, grant.clone()),
        ),
    ])
}

/// The hash of the terms that an opening names, from what the chain has.
fn terms() -> Value {
    let market = parameters(28).market_terms();
    let terms = |binding: bool| Terms {
        price: number(1),
        timeout_seconds: 0x0102_0304,
        binding,
        min_cover: 7,
        result_key: bytes(2),
        metadata_hash: bytes(3),
        market,
    };
    let vector = |terms: Terms| {
        json!({
            "price": terms.price.spelled(), "timeout_seconds": terms.timeout_seconds, "binding": terms.binding,
            "min_cover": terms.min_cover, "result_key": Pubkey::new_from_array(terms.result_key).spelled(),
            "metadata_hash": terms.metadata_hash.spelled(), "fee_bps": market.fee_bps,
            "max_penalty_multiple": market.max_penalty_multiple,
            "dispute_window_s": market.dispute_window_s.to_string(),
            "settle_grace_s": market.settle_grace_s.to_string(),
            "hash": ResultHash::of(&terms.bytes()).0.spelled(),
        })
    };
    json!([vector(terms(true)), vector(terms(false))])
}

/// A result's proof for both shapes of signature.
fn proofs() -> Value {
    let build = Instructions::new(Addresses::new(agent_marketplace::ID), key(7));
    let result_key = SigningKey::from_bytes(&bytes(30));
    let proof = |binding: bool| {
        let mut settlement = Settlement {
            agent: key(31),
            opening: OpeningId { record: bytes(32), opened_at_unix_s: time(38) },
            rent_payer: key(33),
            creator_token: key(34),
            treasury_token: key(35),
            result_key: Pubkey::new_from_array(result_key.verifying_key().to_bytes()),
            result_hash: ResultHash(bytes(36)),
            binding,
            signature: [0; 64],
            execution_time_ms: 1,
            tokens_used: None,
        };
        settlement.signature = result_key.sign(&settlement.signed_message()).to_bytes();
        let [instruction, _] = build.complete_execution(&key(37), &settlement);
        json!({
            "result_key": settlement.result_key.spelled(), "result_hash": settlement.result_hash.0.spelled(),
            "opening": binding.then(|| json!({
                "record": key(32).spelled(), "opened_at_unix_s": settlement.opening.opened_at_unix_s.to_string()
            })),
            "signature": settlement.signature.spelled(),
            "message": BASE64_STANDARD.encode(settlement.signed_message()),
            "instruction": {"program": instruction.program_id.spelled(), "data": BASE64_STANDARD.encode(&instruction.data)},
        })
    };
    json!([proof(false), proof(true)])
}

/// Every address that the program derives.
fn addresses() -> Value {
    let of = Addresses::new(agent_marketplace::ID);
    let (wallet, agent, record, session_key) = (key(41), key(42), key(43), key(44));
    json!({
        "wallet": wallet.spelled(), "agent": agent.spelled(), "record": record.spelled(),
        "session_key": session_key.spelled(), "index": 0x0102_0304, "execution_id": bytes::<16>(45).spelled(),
        "found": {
            "config": of.config().spelled(),
            "creator_profile": of.creator_profile(&wallet).spelled(),
            "agent_listed": of.agent(&wallet, 0x0102_0304).spelled(),
            "escrow": of.escrow(&agent).spelled(),
            "collateral_vault": of.collateral(&agent).spelled(),
            "execution_record": of.execution(&wallet, &bytes(45)).spelled(),
            "dispute": of.dispute(&record).spelled(),
            "spending_grant": of.grant(&wallet, &session_key).spelled(),
            "spender": of.spender(&wallet).spelled(),
            "event_authority":
                crtx_chain::instructions::event_authority_address(&agent_marketplace::ID).spelled(),
        },
    })
}

/// Amounts around the points where a fee is rounded, and the largest ones.
fn fees() -> Value {
    let amounts = [0, 1, 19, 20, 99, 100, 9_999, 10_000, 10_001, 1_234_567, 1_000_000_000_000, u64::MAX];
    let pairs = amounts.iter().flat_map(|amount| [0, 1, 100, 150, 499, 500].map(|fee_bps| (*amount, fee_bps)));
    pairs
        .map(|(amount, fee_bps): (u64, u32)| {
            let split = fee::split(amount, fee_bps).expect("at most a whole");
            json!({
                "amount": amount.spelled(), "fee_bps": fee_bps.spelled(),
                "creator": split.creator.spelled(), "platform": split.platform.spelled(),
            })
        })
        .collect()
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

#[test]
fn the_vectors_of_open_terms_proofs_and_addresses_are_what_the_rust_side_makes() {
    holds("open_terms.json", &open_terms());
    holds("proofs.json", &proofs());
    holds("terms.json", &terms());
    holds("addresses.json", &addresses());
}

#[test]
fn the_vectors_of_fees_are_what_the_program_splits() {
    holds("fees.json", &fees());
}
