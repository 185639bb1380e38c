//! Each check fails on its own: one thing is altered at a time, and only the checks that look at it fail.

use agent_marketplace::state::{AgentListed, Config, Dispute, ExecutionRecord};
use crtx_chain::{
    Instructions,
    instructions::Settlement,
    past::{CalledInstruction, PastTransaction},
    token::TOKEN_PROGRAM_ID,
};
use crtx_protocol::{call_text::OpeningId, content::cid_of, result_hash::CallProof};
use ed25519_dalek::SigningKey;
use uuid::Uuid;

use super::{
    super::{
        ends::{Ending, Opening},
        evidence::ContentCopy,
    },
    *,
};

const RESULT: &str = "what the agent said";
const AMOUNT: u64 = 10_000;

fn address(seed: u8) -> Pubkey {
    Pubkey::new_from_array([seed; 32])
}

fn key() -> SigningKey {
    SigningKey::from_bytes(&[5; 32])
}

fn url(text: &str) -> url::Url {
    text.parse().expect("a URL")
}

const OPENED_AT_UNIX_S: i64 = 1_000;

fn public(key: &SigningKey) -> Pubkey {
    Pubkey::new_from_array(key.verifying_key().to_bytes())
}

fn called(program_id: Pubkey, data: Vec<u8>) -> CalledInstruction {
    CalledInstruction { program_id, accounts: vec![], data, called: vec![] }
}

fn proof_of(key: &SigningKey, hash: &ResultHash) -> CalledInstruction {
    proof_for(key, hash, None)
}

/// `bound_to`: the record, if the result is signed for the call.
fn proof_for(key: &SigningKey, hash: &ResultHash, bound_to: Option<Pubkey>) -> CalledInstruction {
    let record = bound_to.unwrap_or_default();
    let opening = OpeningId { record: record.to_bytes(), opened_at_unix_s: OPENED_AT_UNIX_S };
    let signed = CallProof::sign(key, &opening, hash);
    let bound_signature = signed.call_signature.expect("signed");
    let settlement = Settlement {
        agent: address(2),
        opening,
        rent_payer: address(7),
        creator_token: address(3),
        treasury_token: address(4),
        result_key: public(key),
        result_hash: *hash,
        binding: bound_to.is_some(),
        signature: if bound_to.is_some() { bound_signature } else { signed.signature },
        execution_time_ms: 12,
        tokens_used: None,
    };
    let build = Instructions::new(Addresses::new(agent_marketplace::ID), address(6));
    let [built, _] = build.complete_execution(&address(7), &settlement);
    called(built.program_id, built.data)
}

/// Evidence of an execution whose result was signed for the call, with which nothing is wrong.
fn bound() -> Evidence {
    let mut evidence = good();
    let record = evidence.record_address;
    record_mut(&mut evidence).binding = 1;
    *proof_mut(&mut evidence) = proof_for(&key(), &ResultHash::of(RESULT.as_bytes()), Some(record));
    agree(&mut evidence, |terms| terms.binding = true);
    evidence
}

/// Changes the terms that the listing has and the caller agreed to.
fn agree(evidence: &mut Evidence, change: impl FnOnce(&mut Terms)) {
    let market = evidence.config.as_ref().expect("a configuration").parameters.market_terms();
    let mut terms = evidence.listing.as_ref().expect("a listing").terms(market);
    change(&mut terms);
    let hash = Sha256::digest(terms.bytes()).into();
    evidence.opening.as_mut().expect("an opening").terms_hash = Some(hash);
}

/// Evidence of an execution with which nothing is wrong.
fn good() -> Evidence {
    let hash = ResultHash::of(RESULT.as_bytes());
    let program_id = agent_marketplace::ID;
    let id = Uuid::from_u128(7);
    let (caller, agent, creator, treasury, mint) = (address(1), address(2), address(3), address(4), address(6));
    let addresses = Addresses::new(program_id);
    let result_key = public(&key());
    let record = ExecutionRecord {
        agent,
        caller,
        result_hash: hash.0,
        execution_id: *id.as_bytes(),
        amount: AMOUNT,
        fee_bps: 100,
        max_penalty_multiple: 20,
        dispute_window_s: 259_200,
        execution_time_ms: 12,
        opened_at_unix_s: OPENED_AT_UNIX_S,
        status: ExecutionStatus::Completed as u8,
        ..bytemuck::Zeroable::zeroed()
    };
    let listing = AgentListed {
        creator,
        result_key,
        price: AMOUNT,
        timeout_seconds: 60,
        metadata_hash: [8; 32],
        updated_at_unix_s: 500,
        ..bytemuck::Zeroable::zeroed()
    };
    let config = Config {
        treasury_owner: treasury,
        usdc_mint: mint,
        parameters: MarketParameters::DEFAULT,
        ..bytemuck::Zeroable::zeroed()
    };
    let terms_hash = listing.terms_hash(config.parameters.market_terms());
    let change = |account, owner, change| TokenChange { account, owner, mint, change };
    let complete = called(program_id, vec![]);
    let content_url = format!("http://x/ipfs/{}", cid_of(&hash));
    Evidence {
        claims: Claims {
            execution_id: id,
            agent_id: Some(agent),
            status: Status::Completed,
            result: Some(RESULT.to_owned()),
            result_hash: Some(hash),
            cost_usdc: Some(UsdcBase(AMOUNT)),
            creator_amount_usdc: Some(UsdcBase(9_900)),
            platform_amount_usdc: Some(UsdcBase(100)),
            tokens_used: None,
            execution_time_ms: Some(12),
            on_chain_record: url("http://x/"),
            ipfs_url: Some(url(&content_url)),
            initiated_at: None,
            completed_at: None,
        },
        program_id,
        record_address: addresses.execution(&caller, id.as_bytes()),
        content: Ok(ContentCopy { bytes: RESULT.into(), source: content_url }),
        record: Ok(record),
        listing: Ok(listing),
        config: Ok(config),
        closed_by: None,
        dispute: None,
        opening: Ok(Opening {
            signature: "o".to_owned(),
            opened_by: caller,
            request_hash: [9; 32],
            terms_hash: Some(terms_hash),
        }),
        ending: Ok(Ending {
            signature: "s".to_owned(),
            transaction: PastTransaction {
                slot: 1,
                block_time: None,
                failed: false,
                instructions: vec![proof_of(&key(), &hash), complete],
                token_changes: vec![
                    change(addresses.escrow(&agent), agent, -10_000),
                    change(address(11), creator, 9_900),
                    change(address(12), treasury, 100),
                ],
            },
            at: 1,
            payees: Payees::Settled { creator: address(11), treasury: address(12) },
        }),
        failed_node: None,
    }
}

fn failing(evidence: &Evidence) -> Vec<&'static str> {
    run(evidence).into_iter().filter(|check| !check.ok).map(|check| check.name).collect()
}

/// Alters good evidence and names the checks that fail then.
fn with(alter: impl FnOnce(&mut Evidence)) -> Vec<&'static str> {
    let mut evidence = good();
    alter(&mut evidence);
    failing(&evidence)
}

fn record_mut(evidence: &mut Evidence) -> &mut ExecutionRecord {
    evidence.record.as_mut().expect("a record")
}

fn ending_mut(evidence: &mut Evidence) -> &mut Ending {
    evidence.ending.as_mut().expect("an ending")
}

fn proof_mut(evidence: &mut Evidence) -> &mut CalledInstruction {
    &mut ending_mut(evidence).transaction.instructions[0]
}

#[test]
fn nothing_is_wrong_with_an_honest_execution() {
    assert_eq!(failing(&good()), Vec::<&str>::new());
}

#[test]
fn altered_content_is_noticed() {
    assert_eq!(with(|e| e.content.as_mut().expect("content").bytes.push(b'!')), ["content"]);
    assert_eq!(with(|e| e.content = Err("404".to_owned())), ["content"]);
}

#[test]
fn an_altered_result_is_noticed() {
    assert_eq!(with(|e| e.claims.result = Some("else".to_owned())), ["result"]);
    assert!(with(|e| e.claims.result = None).is_empty(), "a record need not repeat the result");
}

#[test]
fn another_content_address_is_noticed() {
    let other = cid_of(&ResultHash::of(b"else"));
    assert_eq!(with(|e| e.claims.ipfs_url = Some(url(&format!("http://x/ipfs/{other}")))), ["address"]);
    assert_eq!(with(|e| e.claims.ipfs_url = None), ["address"]);
    assert_eq!(with(|e| e.claims.ipfs_url = Some(url("http://x/ipfs/junk"))), ["address"]);
}

#[test]
fn another_hash_that_content_and_address_agree_on_is_not_the_chains() {
    let failed = with(|e| {
        let hash = ResultHash::of(b"else");
        e.claims.result = Some("else".to_owned());
        e.claims.result_hash = Some(hash);
        e.claims.ipfs_url = Some(url(&format!("http://x/ipfs/{}", cid_of(&hash))));
        e.content = Ok(ContentCopy { bytes: b"else".to_vec(), source: String::new() });
    });
    assert_eq!(failed, ["commitment", "message", "signature"]);
}

#[test]
fn a_missing_or_foreign_record_is_noticed() {
    let failed = with(|e| e.record = Err("owned by another program".to_owned()));
    assert!(failed.starts_with(&["record", "identity", "status", "commitment"]), "{failed:?}");
}

#[test]
fn the_record_of_another_execution_wallet_or_agent_is_noticed() {
    assert_eq!(with(|e| e.claims.execution_id = Uuid::from_u128(8)), ["identity"]);
    assert_eq!(with(|e| e.record_address = address(99)), ["identity"]);
    assert_eq!(with(|e| e.claims.agent_id = Some(address(98))), ["identity"]);
}

#[test]
fn a_record_that_is_not_completed_is_noticed() {
    let with_status = |status: ExecutionStatus| with(|e| record_mut(e).status = status as u8);
    assert_eq!(with_status(ExecutionStatus::Open), ["status"]);
    // The chain says refunded: then nothing of what is stated fits.
    for status in [ExecutionStatus::Failed, ExecutionStatus::Expired] {
        assert_eq!(with_status(status), ["status", "payment", "amounts"]);
    }
    assert_eq!(with_status(ExecutionStatus::Overturned), ["status", "amounts"]);
    assert_eq!(with(|e| record_mut(e).status = 99), ["status"]);
    assert_eq!(with(|e| e.claims.status = Status::Failed), ["status"]);
    let disputed = with(|e| {
        record_mut(e).status = ExecutionStatus::Disputed as u8;
        e.claims.status = Status::Disputed;
    });
    assert!(disputed.is_empty(), "{disputed:?}");
}

#[test]
fn another_hash_on_the_chain_is_noticed() {
    assert_eq!(with(|e| record_mut(e).result_hash[0] ^= 1), ["commitment"]);
}

#[test]
fn a_missing_settlement_is_noticed() {
    let failed = with(|e| e.ending = Err("not found".to_owned()));
    assert_eq!(failed, ["settlement", "gate", "message", "key", "signature", "listing", "payment"]);
}

#[test]
fn a_proof_that_is_not_directly_before_the_completion_is_noticed() {
    let failed = with(|e| {
        let ending = ending_mut(e);
        let other = called(address(50), vec![]);
        ending.transaction.instructions.insert(1, other);
        ending.at = 2;
    });
    assert_eq!(failed, ["gate", "message", "key", "signature", "listing"]);
    let nothing_before = with(|e| {
        let ending = ending_mut(e);
        ending.transaction.instructions.swap(0, 1);
        ending.at = 0;
    });
    assert_eq!(nothing_before, ["gate", "message", "key", "signature", "listing"]);
}

#[test]
fn a_proof_of_another_shape_is_noticed() {
    for at in 0..16 {
        assert_eq!(with(|e| proof_mut(e).data[at] ^= 1), ["gate"], "header byte {at}");
    }
    for alter in [
        (|proof: &mut CalledInstruction| proof.data.push(0)) as fn(&mut CalledInstruction),
        |proof| proof.data.truncate(182),
        |proof| proof.accounts.push(address(1)),
        |proof| proof.program_id = address(1),
    ] {
        assert_eq!(with(|e| alter(proof_mut(e))), ["gate", "message", "key", "signature", "listing"]);
    }
}

#[test]
fn a_proof_of_another_message_key_or_signature_is_noticed() {
    let other_message = with(|e| *proof_mut(e) = proof_of(&key(), &ResultHash::of(b"else")));
    assert_eq!(other_message, ["message", "signature"]);
    let stranger = SigningKey::from_bytes(&[6; 32]);
    let other_key = with(|e| *proof_mut(e) = proof_of(&stranger, &ResultHash::of(RESULT.as_bytes())));
    assert_eq!(other_key, ["key", "listing"]);
    assert_eq!(with(|e| proof_mut(e).data[60] ^= 1), ["signature"]);
}

#[test]
fn nothing_is_wrong_with_an_honest_execution_that_was_signed_for_its_call() {
    assert_eq!(failing(&bound()), Vec::<&str>::new());
}

#[test]
fn a_signature_of_another_call_or_of_the_other_shape_is_noticed() {
    let with_proof = |mut evidence: Evidence, proof: CalledInstruction| {
        *proof_mut(&mut evidence) = proof;
        failing(&evidence)
    };
    let hash = ResultHash::of(RESULT.as_bytes());
    let other_call = proof_for(&key(), &hash, Some(address(88)));
    assert_eq!(with_proof(bound(), other_call), ["message", "signature"]);
    let unbound = proof_of(&key(), &hash);
    assert_eq!(with_proof(bound(), unbound), ["gate", "message", "key", "signature", "listing"]);
    let for_the_call = proof_for(&key(), &hash, Some(good().record_address));
    assert_eq!(with_proof(good(), for_the_call), ["gate", "message", "key", "signature", "listing"]);
}

#[test]
fn a_key_in_other_terms_than_the_caller_agreed_to_is_noticed() {
    let stranger = public(&SigningKey::from_bytes(&[6; 32]));
    let other_key = with(|e| {
        e.listing.as_mut().expect("a listing").result_key = stranger;
        agree(e, |terms| terms.result_key = stranger.to_bytes());
    });
    assert_eq!(other_key, ["key", "listing"]);
    let other_market = with(|e| record_mut(e).dispute_window_s += 1);
    assert_eq!(other_market, ["key"], "the record has another dispute window than the caller agreed to");
    assert_eq!(with(|e| e.opening = Err("not found".to_owned())), ["key"]);
    let changed_since = with(|e| e.listing.as_mut().expect("a listing").metadata_hash = [1; 32]);
    assert!(changed_since.is_empty(), "terms that have changed since are fine: {changed_since:?}");
    let named_nothing = with(|e| e.opening.as_mut().expect("an opening").terms_hash = None);
    assert!(named_nothing.is_empty(), "a wallet need not name the terms: {named_nothing:?}");
}

#[test]
fn a_key_that_the_listing_never_registered_is_noticed() {
    let other = address(77);
    assert_eq!(with(|e| e.listing.as_mut().expect("a listing").result_key = other), ["listing"]);
    let rotated = with(|e| {
        let listing = e.listing.as_mut().expect("a listing");
        (listing.result_key, listing.updated_at_unix_s) = (other, 2_000);
    });
    assert!(rotated.is_empty(), "a key that was rotated later is fine: {rotated:?}");
}

#[test]
fn parts_that_do_not_make_the_whole_are_noticed() {
    assert_eq!(with(|e| record_mut(e).amount += 1), ["key", "payment", "amounts"]);
    assert_eq!(with(|e| record_mut(e).fee_bps = 501), ["key", "split", "payment", "amounts"]);
    assert_eq!(with(|e| record_mut(e).fee_bps = 10_001), ["key", "split", "payment", "amounts"]);
}

#[test]
fn money_that_went_elsewhere_is_noticed() {
    for changed in 0..3 {
        assert_eq!(with(|e| ending_mut(e).transaction.token_changes[changed].change += 1), ["payment"]);
    }
    assert_eq!(with(|e| ending_mut(e).transaction.token_changes[1].owner = address(66)), ["payment"]);
    assert_eq!(with(|e| ending_mut(e).transaction.token_changes[2].mint = address(66)), ["payment"]);
}

/// A transaction that settles two executions of the agent: what it moved in all is not what this one moved.
#[test]
fn money_of_another_execution_in_the_same_transaction_is_no_money_of_this_one() {
    let transfer = |from, to, amount: u64| CalledInstruction {
        program_id: TOKEN_PROGRAM_ID,
        accounts: vec![from, address(6), to, address(9)],
        data: [&[12][..], &amount.to_le_bytes(), &[6]].concat(),
        called: vec![],
    };
    let shared = |creators: u64| {
        move |e: &mut Evidence| {
            let escrow = Addresses::new(e.program_id).escrow(&address(2));
            let transaction = &mut ending_mut(e).transaction;
            transaction.token_changes.iter_mut().for_each(|change| change.change *= 2);
            transaction.instructions[1].called =
                vec![transfer(escrow, address(11), creators), transfer(escrow, address(12), 100)];
            let mut other = called(agent_marketplace::ID, vec![]);
            other.called = vec![transfer(escrow, address(11), 9_900), transfer(escrow, address(12), 100)];
            let proof = transaction.instructions[0].clone();
            transaction.instructions.extend([proof, other]);
        }
    };
    assert_eq!(with(shared(9_900)), Vec::<&str>::new());
    assert_eq!(with(shared(9_899)), ["payment"]);
    let of_another_token = with(|e| {
        shared(9_900)(e);
        ending_mut(e).transaction.instructions[1].called[0].accounts[1] = address(66);
    });
    assert_eq!(of_another_token, ["payment"]);
    let no_token_program = with(|e| {
        shared(9_900)(e);
        ending_mut(e).transaction.instructions[1].called[0].program_id = address(66);
    });
    assert_eq!(no_token_program, ["payment"]);
}

#[test]
fn a_creator_who_owns_the_treasury_gets_both_parts() {
    let failed = with(|e| {
        e.config.as_mut().expect("a configuration").treasury_owner = address(3);
        ending_mut(e).transaction.token_changes[2].owner = address(3);
    });
    assert!(failed.is_empty(), "{failed:?}");
    let into_one_account = with(|e| {
        e.config.as_mut().expect("a configuration").treasury_owner = address(3);
        let ending = ending_mut(e);
        ending.payees = Payees::Settled { creator: address(11), treasury: address(11) };
        ending.transaction.token_changes[1].change = 10_000;
        ending.transaction.token_changes.truncate(2);
    });
    assert!(into_one_account.is_empty(), "{into_one_account:?}");
}

#[test]
fn a_treasury_that_has_changed_since_does_not_matter() {
    let mut evidence = good();
    evidence.config.as_mut().expect("a configuration").treasury_owner = address(99);
    assert_eq!(failing(&evidence), Vec::<&str>::new());
    let payment = run(&evidence).into_iter().find(|check| check.name == "payment").expect("there is one");
    assert!(payment.detail.contains("the treasury at that time"), "{}", payment.detail);
}

#[test]
fn a_call_without_a_fee_pays_no_treasury() {
    let failed = with(|e| {
        record_mut(e).fee_bps = 0;
        e.config.as_mut().expect("a configuration").parameters.fee_bps = 0;
        agree(e, |_| {});
        let ending = ending_mut(e);
        ending.transaction.token_changes[1].change = 10_000;
        ending.transaction.token_changes.truncate(2);
        (e.claims.creator_amount_usdc, e.claims.platform_amount_usdc) = (Some(UsdcBase(AMOUNT)), Some(UsdcBase(0)));
    });
    assert!(failed.is_empty(), "{failed:?}");
}

#[test]
fn amounts_stated_otherwise_are_noticed() {
    assert_eq!(with(|e| e.claims.cost_usdc = Some(UsdcBase(AMOUNT + 1))), ["amounts"]);
    assert_eq!(with(|e| e.claims.creator_amount_usdc = Some(UsdcBase(1))), ["amounts"]);
    assert_eq!(with(|e| e.claims.platform_amount_usdc = Some(UsdcBase(1))), ["amounts"]);
    assert_eq!(with(|e| e.claims.tokens_used = Some(1)), ["amounts"]);
    assert_eq!(with(|e| e.claims.execution_time_ms = Some(1)), ["amounts"]);
}

/// Evidence of an execution whose creator reported a failure, with which nothing is wrong.
fn refunded() -> Evidence {
    let mut evidence = good();
    let record = record_mut(&mut evidence);
    record.status = ExecutionStatus::Failed as u8;
    record.failure_reason = FailureReason::CreatorFailed as u8;
    record.result_hash = [0; 32];
    let (owner, caller) = (record.caller, address(13));
    let ending = ending_mut(&mut evidence);
    ending.payees = Payees::Refunded { caller };
    let mint = address(6);
    ending.transaction.token_changes.truncate(1);
    ending.transaction.token_changes.push(TokenChange { account: caller, owner, mint, change: 10_000 });
    evidence.content = Err("there is none".to_owned());
    let claims = &mut evidence.claims;
    claims.status = Status::Failed;
    (claims.result, claims.result_hash, claims.ipfs_url) = (None, None, None);
    let nothing = Some(UsdcBase(0));
    (claims.cost_usdc, claims.creator_amount_usdc, claims.platform_amount_usdc) = (nothing, nothing, nothing);
    evidence
}

fn with_refunded(alter: impl FnOnce(&mut Evidence)) -> Vec<&'static str> {
    let mut evidence = refunded();
    alter(&mut evidence);
    failing(&evidence)
}

#[test]
fn nothing_is_wrong_with_an_honest_refund() {
    assert_eq!(failing(&refunded()), Vec::<&str>::new());
    assert_eq!(MoneyOutcome::of(&refunded()), Some(MoneyOutcome::Refunded));
}

#[test]
fn a_refund_that_did_not_go_back_whole_to_the_caller_is_noticed() {
    for changed in 0..2 {
        assert_eq!(with_refunded(|e| ending_mut(e).transaction.token_changes[changed].change -= 1), ["payment"]);
    }
    assert_eq!(with_refunded(|e| ending_mut(e).transaction.token_changes[1].owner = address(66)), ["payment"]);
    let paid = Payees::Settled { creator: address(11), treasury: address(12) };
    assert_eq!(with_refunded(|e| ending_mut(e).payees = paid), ["payment"]);
    assert_eq!(with_refunded(|e| e.ending = Err("not found".to_owned())), ["settlement", "payment"]);
}

#[test]
fn a_refunded_execution_that_is_stated_as_anything_else_is_noticed() {
    assert_eq!(with_refunded(|e| e.claims.status = Status::Completed), ["status"]);
    assert_eq!(with_refunded(|e| e.claims.cost_usdc = Some(UsdcBase(AMOUNT))), ["amounts"]);
    assert_eq!(with_refunded(|e| e.claims.result = Some("made up".to_owned())), ["amounts"]);
    assert_eq!(with_refunded(|e| record_mut(e).failure_reason = 0), ["status"]);
    assert_eq!(with_refunded(|e| record_mut(e).execution_id = [9; 16]), ["identity"]);
}

#[test]
fn a_settlement_that_was_a_refund_is_noticed() {
    assert_eq!(with(|e| ending_mut(e).payees = Payees::Refunded { caller: address(13) }), ["payment"]);
}

#[test]
fn an_upheld_dispute_lowers_the_cost_by_its_compensation() {
    let overturned = |compensation: u64, cost: u64| {
        with(|e| {
            record_mut(e).status = ExecutionStatus::Overturned as u8;
            let dispute = Dispute { compensation, ..bytemuck::Zeroable::zeroed() };
            e.dispute = Some(Ok(dispute));
            e.claims.status = Status::Failed;
            e.claims.cost_usdc = Some(UsdcBase(cost));
        })
    };
    assert_eq!(overturned(4_000, 6_000), Vec::<&str>::new());
    assert_eq!(overturned(AMOUNT, 0), Vec::<&str>::new());
    assert_eq!(overturned(4_000, AMOUNT), ["amounts"]);
}

#[test]
fn a_closed_record_says_which_transaction_has_its_content() {
    let mut evidence = good();
    evidence.closed_by = Some("the closing one".to_owned());
    assert_eq!(failing(&evidence), Vec::<&str>::new());
    let record = run(&evidence).into_iter().find(|check| check.name == "record").expect("there is one");
    assert!(record.detail.contains("the closing one"), "{}", record.detail);
}
