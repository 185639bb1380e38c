//! The checks. They are pure and independent: no check uses the result of another.

use agent_marketplace::{
    ed25519_gate::{self, ED25519_PROGRAM_ID},
    state::{ExecutionStatus, FailureReason, MarketParameters},
};
use crtx_chain::past::TokenChange;
use crtx_protocol::{
    address::Addresses,
    call_text::{self, OpeningId},
    fee::Split,
    result_hash::{ResultHash, verify_call_signature, verify_signature},
    terms::{MarketTerms, Terms},
    usdc::UsdcBase,
};
use serde::Serialize;
use sha2::{Digest, Sha256};
use solana_pubkey::Pubkey;

use super::{
    claims::{Claims, Status},
    ends::Payees,
    evidence::Evidence,
};

/// One line of the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    pub name: &'static str,
    pub ok: bool,
    pub detail: String,
}

/// The result of a check: what was found, or what is wrong.
type Finding = Result<String, String>;
type Checker = fn(&Evidence) -> Finding;

/// Who has the money, according to the record on chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MoneyOutcome {
    /// Creator and treasury were paid.
    Paid,
    /// The caller got everything back, out of escrow.
    Refunded,
    /// Creator and treasury were paid, and a dispute was upheld.
    Overturned,
}

impl MoneyOutcome {
    /// `None` while the execution is open, or if its record is unavailable.
    pub fn of(evidence: &Evidence) -> Option<Self> {
        match evidence.record.as_ref().ok()?.status()? {
            ExecutionStatus::Open => None,
            ExecutionStatus::Completed | ExecutionStatus::Disputed => Some(Self::Paid),
            ExecutionStatus::Failed | ExecutionStatus::Expired => Some(Self::Refunded),
            ExecutionStatus::Overturned => Some(Self::Overturned),
        }
    }
}

/// Of an execution with a result, in the order of a reader's questions.
const RESULT: [(&str, Checker); 16] = [
    ("content", content_has_the_hash),
    ("result", result_is_the_content),
    ("address", address_is_the_hash),
    ("record", record_is_the_programs),
    ("identity", record_is_of_this_execution),
    ("status", record_is_completed),
    ("commitment", record_commits_to_the_hash),
    ("settlement", settlement_is_there),
    ("gate", proof_has_the_canonical_shape),
    ("message", proof_is_about_the_hash),
    ("key", proof_is_of_the_agreed_key),
    ("signature", signature_verifies),
    ("listing", key_is_the_listings),
    ("split", parts_make_the_whole),
    ("payment", tokens_moved_as_recorded),
    ("amounts", stated_amounts_are_the_chains),
];

/// Of an execution that was refunded.
const REFUND: [(&str, Checker); 6] = [
    ("record", record_is_the_programs),
    ("identity", record_is_of_this_execution),
    ("status", record_is_refunded),
    ("settlement", settlement_is_there),
    ("payment", refund_moved_as_recorded),
    ("amounts", nothing_is_stated_as_paid),
];

/// All checks that apply.
pub fn run(evidence: &Evidence) -> Vec<Check> {
    let checks: &[(&'static str, Checker)] = match MoneyOutcome::of(evidence) {
        Some(MoneyOutcome::Refunded) => &REFUND,
        _ => &RESULT,
    };
    checks
        .iter()
        .map(|(name, check)| match check(evidence) {
            Ok(detail) => Check { name, ok: true, detail },
            Err(detail) => Check { name, ok: false, detail },
        })
        .collect()
}

fn stated_hash(evidence: &Evidence) -> Result<ResultHash, String> {
    evidence.claims.result_hash.ok_or_else(|| "the record states no result hash".to_owned())
}

/// What a check needs. If it is missing, another check reports it.
fn known<T>(found: &Result<T, String>) -> Result<&T, String> {
    found.as_ref().map_err(|problem| format!("not checked: {problem}"))
}

fn content_has_the_hash(evidence: &Evidence) -> Finding {
    let content = evidence.content.as_ref().map_err(|problem| format!("the content is unavailable: {problem}"))?;
    let (actual, stated) = (ResultHash::of(&content.bytes), stated_hash(evidence)?);
    if actual != stated {
        return Err(format!("the content of {} has {actual}, the record states {stated}", content.source));
    }
    Ok(format!("{} bytes of {} have {actual}", content.bytes.len(), content.source))
}

fn result_is_the_content(evidence: &Evidence) -> Finding {
    let Some(result) = evidence.claims.result.as_deref() else { return Ok("none is stated".to_owned()) };
    if ResultHash::of(result.as_bytes()) != stated_hash(evidence)? {
        return Err("the stated result does not have the stated hash".to_owned());
    }
    Ok("the stated result has the stated hash".to_owned())
}

fn address_is_the_hash(evidence: &Evidence) -> Finding {
    let (cid, named) = evidence.claims.cid()?;
    if named != stated_hash(evidence)? {
        return Err(format!("{cid} names {named}"));
    }
    Ok(format!("{cid} names the same hash"))
}

fn record_is_the_programs(evidence: &Evidence) -> Finding {
    evidence.record.as_ref().map_err(Clone::clone)?;
    let (address, program_id) = (evidence.record_address, evidence.program_id);
    Ok(match &evidence.closed_by {
        None => format!("{address} belongs to program {program_id}"),
        Some(by) => format!("{address} belonged to program {program_id}, its content is from {by}, which closed it"),
    })
}

fn record_is_of_this_execution(evidence: &Evidence) -> Finding {
    let record = known(&evidence.record)?;
    let id = evidence.claims.execution_id;
    if record.execution_id != *id.as_bytes() {
        return Err(format!("the record is not of execution {id}"));
    }
    let derived = Addresses::new(evidence.program_id).execution(&record.caller, &record.execution_id);
    if derived != evidence.record_address {
        return Err(format!("execution {id} of {} has its record at {derived}", record.caller));
    }
    match &evidence.claims.agent_id {
        Some(agent) if *agent != record.agent => Err(format!("the record's agent is {}", record.agent)),
        _ => Ok(format!("execution {id} of wallet {}, agent {}", record.caller, record.agent)),
    }
}

fn record_is_completed(evidence: &Evidence) -> Finding {
    let (record, stated) = (known(&evidence.record)?, evidence.claims.status);
    match record.status() {
        Some(ExecutionStatus::Completed) if stated == Status::Completed => Ok("completed".to_owned()),
        Some(ExecutionStatus::Disputed) if stated == Status::Disputed => Ok("completed, and disputed since".to_owned()),
        Some(ExecutionStatus::Overturned) if stated == Status::Failed => {
            Ok("completed, and overturned by an upheld dispute since".to_owned())
        }
        Some(status) => Err(format!("the chain says {status:?}, the record states {stated:?}")),
        None => Err(format!("unknown status {}", record.status)),
    }
}

fn record_commits_to_the_hash(evidence: &Evidence) -> Finding {
    let (committed, stated) = (ResultHash(known(&evidence.record)?.result_hash), stated_hash(evidence)?);
    if committed != stated {
        return Err(format!("the chain has {committed}, the record states {stated}"));
    }
    Ok("the chain has the same result hash".to_owned())
}

fn settlement_is_there(evidence: &Evidence) -> Finding {
    let ending = evidence.ending.as_ref().map_err(Clone::clone)?;
    let did = match ending.payees {
        Payees::Settled { .. } => "completed",
        Payees::Refunded { .. } => "refunded",
    };
    Ok(format!("transaction {} {did} the execution", ending.signature))
}

/// The parts of the Ed25519 instruction directly before the completion.
struct Ed25519Proof<'a> {
    header: [u8; 16],
    /// The key that signed. The program compared it with the record's key when it completed the record.
    key: Pubkey,
    signature: [u8; 64],
    message: &'a [u8],
}

/// Length of the parts before the message.
const PROOF_LEN: usize = 112;

/// The message that the record demands a signature over: about the result alone, or about the result of this call.
fn demanded_message(evidence: &Evidence) -> Result<Vec<u8>, String> {
    let hash = stated_hash(evidence)?;
    Ok(match is_bound(evidence)? {
        false => hash.signed_text().to_vec(),
        true => call_text::of(&opening_id(evidence)?, &hash.0).to_vec(),
    })
}

fn opening_id(evidence: &Evidence) -> Result<OpeningId, String> {
    let opened_at_unix_s = known(&evidence.record)?.opened_at_unix_s;
    Ok(OpeningId { record: evidence.record_address.to_bytes(), opened_at_unix_s })
}

fn is_bound(evidence: &Evidence) -> Result<bool, String> {
    match known(&evidence.record)?.binding {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(format!("the record has the unknown binding {other}")),
    }
}

fn proof(evidence: &Evidence) -> Result<Ed25519Proof<'_>, String> {
    let ending = known(&evidence.ending)?;
    let before = ending.at.checked_sub(1).and_then(|at| ending.transaction.instructions.get(at));
    let proof = before.ok_or("no instruction is before the completion")?;
    if proof.program_id != ED25519_PROGRAM_ID {
        return Err(format!("the instruction before the completion is of {}", proof.program_id));
    }
    if !proof.accounts.is_empty() {
        return Err("the Ed25519 instruction names accounts".to_owned());
    }
    let parts = || {
        let (header, rest) = proof.data.split_first_chunk()?;
        let (key, rest) = rest.split_first_chunk()?;
        let (signature, message) = rest.split_first_chunk()?;
        Some(Ed25519Proof { header: *header, key: Pubkey::new_from_array(*key), signature: *signature, message })
    };
    let (length, due) = (proof.data.len(), PROOF_LEN.saturating_add(demanded_message(evidence)?.len()));
    parts()
        .filter(|_| length == due)
        .ok_or_else(|| format!("the Ed25519 instruction has {length} bytes of data instead of {due}"))
}

fn proof_has_the_canonical_shape(evidence: &Evidence) -> Finding {
    let size = u8::try_from(demanded_message(evidence)?.len()).map_err(|_| "the message is too long")?;
    if proof(evidence)?.header != ed25519_gate::header(size) {
        return Err("the Ed25519 instruction is not the one canonical shape".to_owned());
    }
    Ok("the chain's Ed25519 program ran directly before the completion, in the one canonical shape".to_owned())
}

fn proof_is_about_the_hash(evidence: &Evidence) -> Finding {
    let Ed25519Proof { message, .. } = proof(evidence)?;
    if message != demanded_message(evidence)? {
        return Err(format!("what was signed is {:?}", String::from_utf8_lossy(message)));
    }
    Ok(match is_bound(evidence)? {
        true => format!(
            "what was signed is the result hash, for this opening of the record {} alone",
            evidence.record_address
        ),
        false => "what was signed is the result hash".to_owned(),
    })
}

/// The opening names the terms that the caller agreed to by their hash, and the key is one of them. The hash can be
/// made again as long as the listing has the same terms.
fn proof_is_of_the_agreed_key(evidence: &Evidence) -> Finding {
    let (key, record) = (proof(evidence)?.key, known(&evidence.record)?);
    let opening = known(&evidence.opening)?;
    let by_program = format!("{key} signed; the program compared it with the key that it copied at the opening");
    let Some(agreed) = opening.terms_hash else { return Ok(by_program) };
    let listing = known(&evidence.listing)?;
    let present = known(&evidence.config)?.parameters.market_terms();
    // The record keeps all of the market's terms but the grace.
    let market = MarketTerms {
        fee_bps: record.fee_bps.into(),
        max_penalty_multiple: record.max_penalty_multiple.into(),
        dispute_window_s: record.dispute_window_s.into(),
        ..present
    };
    let terms = Terms {
        price: record.amount,
        timeout_seconds: listing.timeout_seconds,
        binding: is_bound(evidence)?,
        min_cover: listing.min_cover,
        result_key: key.to_bytes(),
        metadata_hash: listing.metadata_hash,
        market,
    };
    if <[u8; 32]>::from(Sha256::digest(terms.bytes())) == agreed {
        return Ok(format!("{key} signed, the key in the terms that the caller agreed to"));
    }
    if listing.terms_hash(present) == agreed {
        return Err(format!("{key} signed, and it is not in the terms that the caller agreed to"));
    }
    Ok(by_program)
}

fn signature_verifies(evidence: &Evidence) -> Finding {
    let Ed25519Proof { signature, key, .. } = proof(evidence)?;
    let (key, hash) = (key.to_bytes(), stated_hash(evidence)?);
    let verified = match is_bound(evidence)? {
        true => verify_call_signature(&key, &opening_id(evidence)?, &hash, &signature),
        false => verify_signature(&key, &hash, &signature),
    };
    verified.map_err(|error| error.to_string())?;
    Ok("verifies under Ed25519's strict rules".to_owned())
}

fn key_is_the_listings(evidence: &Evidence) -> Finding {
    let recorded = proof(evidence)?.key;
    let listing = known(&evidence.listing)?;
    if listing.result_key == recorded {
        return Ok("the listing registers this key".to_owned());
    }
    // The program copied the key at opening, and only an update by the creator changes the listing's.
    if listing.updated_at_unix_s >= known(&evidence.record)?.opened_at_unix_s {
        return Ok(format!("the listing registers {} since, this key was registered at opening", listing.result_key));
    }
    Err(format!("the listing registers {}, and did when the execution was opened", listing.result_key))
}

/// The parts of the amount, at the fee that the record has fixed at the opening.
fn split(evidence: &Evidence) -> Result<Split, String> {
    let record = known(&evidence.record)?;
    record.split().ok_or_else(|| format!("{} USDC do not split", UsdcBase(record.amount)))
}

fn parts_make_the_whole(evidence: &Evidence) -> Finding {
    let (record, split) = (known(&evidence.record)?, split(evidence)?);
    let bps = u32::from(record.fee_bps);
    if bps > MarketParameters::MAX_FEE_BPS {
        return Err(format!("the record has a fee of {bps} basis points, which the program never takes"));
    }
    let (amount, creator, platform) = (UsdcBase(record.amount), UsdcBase(split.creator), UsdcBase(split.platform));
    let is_current = evidence.config.as_ref().is_ok_and(|config| config.parameters.fee_bps == bps);
    let since = if is_current { "" } else { ", which is not the current one" };
    Ok(format!("{amount} = {creator} + {platform} USDC, a fee of {bps} basis points{since}"))
}

/// Fails unless the instruction that ended the execution changed USDC accounts by exactly this.
fn check_changes(evidence: &Evidence, due: &[(Pubkey, i128)]) -> Result<(), String> {
    let moved = known(&evidence.ending)?.moved(&known(&evidence.config)?.usdc_mint);
    for (account, expected) in due {
        let got = moved.get(account).copied().unwrap_or_default();
        if got != *expected {
            return Err(format!("{account} changed by {got} base units instead of {expected}"));
        }
    }
    Ok(())
}

fn usdc_change<'a>(evidence: &'a Evidence, account: &Pubkey) -> Result<Option<&'a TokenChange>, String> {
    let config = known(&evidence.config)?;
    let mut changes = known(&evidence.ending)?.transaction.token_changes.iter();
    Ok(changes.find(|change| change.account == *account && change.mint == config.usdc_mint))
}

/// The change of the agent's escrow: the whole amount leaves it.
fn out_of_escrow(evidence: &Evidence) -> Result<(Pubkey, i128), String> {
    let record = known(&evidence.record)?;
    let escrow = Addresses::new(evidence.program_id).escrow(&record.agent);
    Ok((escrow, i128::from(record.amount).saturating_neg()))
}

/// The payees are those that the settling instruction names. The program checked that the second was the treasury at
/// that time; the treasury can be another one now.
fn tokens_moved_as_recorded(evidence: &Evidence) -> Finding {
    let ending = known(&evidence.ending)?;
    let config = known(&evidence.config)?;
    let listing = known(&evidence.listing)?;
    let Payees::Settled { creator, treasury } = ending.payees else {
        return Err(format!("transaction {} refunded the execution", ending.signature));
    };
    let split = split(evidence)?;
    let platform = i128::from(split.platform);
    let mut due = vec![out_of_escrow(evidence)?, (creator, i128::from(split.creator))];
    match due.iter_mut().find(|(account, _)| *account == treasury) {
        Some((_, amount)) => *amount = amount.saturating_add(platform),
        None => due.push((treasury, platform)),
    }
    check_changes(evidence, &due)?;
    if usdc_change(evidence, &creator)?.is_some_and(|change| change.owner != listing.creator) {
        return Err(format!("{creator} is not an account of the creator {}", listing.creator));
    }
    let treasury = match usdc_change(evidence, &treasury)?.map(|change| change.owner) {
        Some(owner) if owner == config.treasury_owner => format!("the treasury {owner}"),
        Some(owner) => format!("the treasury at that time, {owner},"),
        None => "the treasury".to_owned(),
    };
    Ok(format!(
        "in that transaction {} got {} and {treasury} got {} USDC out of escrow",
        listing.creator,
        UsdcBase(split.creator),
        UsdcBase(split.platform)
    ))
}

fn refund_moved_as_recorded(evidence: &Evidence) -> Finding {
    let (record, ending) = (known(&evidence.record)?, known(&evidence.ending)?);
    let Payees::Refunded { caller } = ending.payees else {
        return Err(format!("transaction {} paid the creator", ending.signature));
    };
    check_changes(evidence, &[out_of_escrow(evidence)?, (caller, i128::from(record.amount))])?;
    if usdc_change(evidence, &caller)?.is_some_and(|change| change.owner != record.caller) {
        return Err(format!("{caller} is not an account of the caller {}", record.caller));
    }
    let amount = UsdcBase(record.amount);
    Ok(format!("in that transaction {} got all {amount} USDC back out of escrow", record.caller))
}

fn record_is_refunded(evidence: &Evidence) -> Finding {
    let (record, stated) = (known(&evidence.record)?, evidence.claims.status);
    if stated != Status::Failed {
        return Err(format!("the chain says {:?}, the record states {stated:?}", record.status()));
    }
    let reason = match record.failure_reason() {
        Some(FailureReason::CreatorFailed) => "the creator's service reported a failure",
        Some(FailureReason::Timeout) => "no answer within the time-out",
        Some(FailureReason::InvalidResponse) => "the creator's answer broke the contract",
        Some(FailureReason::Expired) => "no result before the deadline",
        Some(FailureReason::Interrupted) => "the gateway was interrupted and gave the execution up",
        None => return Err(format!("unknown failure reason {}", record.failure_reason)),
    };
    Ok(format!("refunded: {reason}"))
}

/// The amounts that are stated: of the whole, of the creator and of the platform.
fn stated_amounts(claims: &Claims) -> [(&'static str, Option<UsdcBase>); 3] {
    [
        ("cost_usdc", claims.cost_usdc),
        ("creator_amount_usdc", claims.creator_amount_usdc),
        ("platform_amount_usdc", claims.platform_amount_usdc),
    ]
}

fn nothing_is_stated_as_paid(evidence: &Evidence) -> Finding {
    let claims = &evidence.claims;
    for (name, stated) in stated_amounts(claims) {
        if let Some(stated) = stated.filter(|stated| stated.0 != 0) {
            return Err(format!("{name} is stated as {stated}, and everything was refunded"));
        }
    }
    if claims.result.is_some() || claims.result_hash.is_some() {
        return Err("a result is stated, and the chain has none".to_owned());
    }
    Ok("nothing is stated as paid, and no result".to_owned())
}

/// What the execution cost in the end: after an upheld dispute less than what was paid.
fn cost(evidence: &Evidence) -> Result<u64, String> {
    let record = known(&evidence.record)?;
    if record.status() != Some(ExecutionStatus::Overturned) {
        return Ok(record.amount);
    }
    let dispute = known(evidence.dispute.as_ref().ok_or("not checked: there is no dispute")?)?;
    Ok(record.amount.saturating_sub(dispute.compensation))
}

fn stated_amounts_are_the_chains(evidence: &Evidence) -> Finding {
    let (record, split, claims) = (known(&evidence.record)?, split(evidence)?, &evidence.claims);
    let actual = [cost(evidence)?, split.creator, split.platform];
    for ((name, stated), actual) in stated_amounts(claims).into_iter().zip(actual) {
        if stated.is_some_and(|stated| stated != UsdcBase(actual)) {
            return Err(format!("{name} differs from the chain's {}", UsdcBase(actual)));
        }
    }
    for (name, stated, actual) in [
        ("execution_time_ms", claims.execution_time_ms, Some(u64::from(record.execution_time_ms))),
        ("tokens_used", claims.tokens_used, record.reported_tokens()),
    ] {
        if stated.is_some() && stated != actual {
            return Err(format!("{name} differs from the chain"));
        }
    }
    Ok("every stated amount is the chain's".to_owned())
}

#[cfg(test)]
mod tests;
