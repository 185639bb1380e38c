//! How an execution was opened and how it ended, read from the chain's transactions: a record that ended has neither its
//! request nor its terms any more. A record that was closed is read from the event that closed it.

use std::collections::BTreeMap;

use agent_marketplace::{
    instruction::{CompleteExecution, FailExecution, OpenExecution, OpenExecutionWithGrant, RefundExpiredExecution},
    instructions::OpenExecutionArgs,
};
use anchor_lang::{AnchorDeserialize, Discriminator};
use anyhow::anyhow;
use crtx_chain::{
    past::{CalledInstruction, PastTransaction},
    token::TOKEN_PROGRAM_ID,
};
use solana_pubkey::Pubkey;
use spl_token_interface::instruction::TokenInstruction;

use super::transactions::{History, Seen};

/// The last bytes of an account in the transaction of a program that closed it.
pub type ClosedBytes = fn(&PastTransaction, program: &Pubkey, address: &Pubkey) -> Option<Vec<u8>>;

/// What the opening instruction says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    pub signature: String,
    /// The wallet, or the session key of its API key. The program demands the signature of it.
    pub opened_by: Pubkey,
    /// SHA-256 of the request.
    pub request_hash: [u8; 32],
    /// SHA-256 of the terms that the caller agreed to, if it named them.
    pub terms_hash: Option<[u8; 32]>,
}

pub async fn opening(history: &mut History<'_>, times: &[i64], program_id: &Pubkey) -> anyhow::Result<Opening> {
    let record = history.address;
    let found = history.first(times, |signature, transaction| {
        let mut ours = transaction.calls().filter(|instruction| instruction.program_id == *program_id);
        let opens = |call: &CalledInstruction| Some((*call.accounts.first()?, arguments(call, &record)?));
        let (opened_by, OpenExecutionArgs { request_hash, terms_hash, .. }) = ours.find_map(opens)?;
        Some(Opening { signature: signature.to_owned(), opened_by, request_hash, terms_hash })
    });
    found.await?.map(|seen| seen.what).map_err(|not_found| {
        anyhow!("the RPC node shows no successful transaction that opens this execution ({not_found})")
    })
}

/// The arguments of the instruction, if it opens the execution of `record`. Here and below, indices are those of the
/// program's account lists.
fn arguments(instruction: &CalledInstruction, record: &Pubkey) -> Option<OpenExecutionArgs> {
    [(OpenExecution::DISCRIMINATOR, 4), (OpenExecutionWithGrant::DISCRIMINATOR, 7)]
        .into_iter()
        .find(|(_, record_at)| instruction.accounts.get(*record_at) == Some(record))
        .and_then(|(discriminator, _)| instruction.data.strip_prefix(discriminator))
        .and_then(|mut body| OpenExecutionArgs::deserialize(&mut body).ok())
}

/// The transaction that moved the money.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    pub signature: String,
    pub transaction: PastTransaction,
    /// Which of its top-level instructions it was.
    pub at: usize,
    pub payees: Payees,
}

impl Ending {
    /// What the instruction itself moved of a token, by account: a transaction can end several executions. A node that keeps
    /// no inner instructions shows only what the whole transaction moved.
    pub fn moved(&self, mint: &Pubkey) -> BTreeMap<Pubkey, i128> {
        let called = self.transaction.instructions.get(self.at).map_or(&[][..], |ended| &ended.called);
        let changes: Vec<(Pubkey, i128)> = if called.is_empty() {
            let of_mint = self.transaction.token_changes.iter().filter(|change| change.mint == *mint);
            of_mint.map(|change| (change.account, change.change)).collect()
        } else {
            called.iter().filter_map(|call| transfer(call, mint)).flatten().collect()
        };
        let mut moved = BTreeMap::new();
        for (account, change) in changes {
            let sum: &mut i128 = moved.entry(account).or_default();
            *sum = sum.saturating_add(change);
        }
        moved
    }
}

/// The changes that a transfer of this token makes.
fn transfer(call: &CalledInstruction, mint: &Pubkey) -> Option<[(Pubkey, i128); 2]> {
    let TokenInstruction::TransferChecked { amount, .. } = TokenInstruction::unpack(&call.data).ok()? else {
        return None;
    };
    let [from, of, to, ..] = call.accounts[..] else { return None };
    let amount = i128::from(amount);
    (call.program_id == TOKEN_PROGRAM_ID && of == *mint).then_some([(from, amount.saturating_neg()), (to, amount)])
}

/// The token accounts that got it, as the instruction names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payees {
    Settled { creator: Pubkey, treasury: Pubkey },
    Refunded { caller: Pubkey },
}

/// The transaction that completes, fails or refunds the record.
pub async fn ending(history: &mut History<'_>, times: &[i64], program_id: &Pubkey) -> anyhow::Result<Ending> {
    let record = history.address;
    let found = history.first(times, |signature, transaction| {
        let ended = transaction.instructions.iter().enumerate();
        let mut ended = ended.filter(|(_, instruction)| instruction.program_id == *program_id);
        let (at, payees) = ended.find_map(|(at, instruction)| Some((at, payees(instruction, &record)?)))?;
        Some(Ending { signature: signature.to_owned(), transaction: transaction.clone(), at, payees })
    });
    found.await?.map(|seen| seen.what).map_err(|not_found| {
        anyhow!("the RPC node shows no successful transaction that ends this execution ({not_found})")
    })
}

/// The payees of the instruction, if it ends the execution of `record`.
fn payees(instruction: &CalledInstruction, record: &Pubkey) -> Option<Payees> {
    let is = |discriminator: &[u8], record_at: usize| {
        instruction.data.starts_with(discriminator) && instruction.accounts.get(record_at) == Some(record)
    };
    let account = |at: usize| instruction.accounts.get(at).copied();
    if is(CompleteExecution::DISCRIMINATOR, 3) {
        return Some(Payees::Settled { creator: account(6)?, treasury: account(7)? });
    }
    if is(FailExecution::DISCRIMINATOR, 3) {
        return Some(Payees::Refunded { caller: account(6)? });
    }
    is(RefundExpiredExecution::DISCRIMINATOR, 1).then(|| account(4)).flatten().map(|caller| Payees::Refunded { caller })
}

/// The last bytes of a closed record, dispute or listing, and the transaction that closed it.
pub async fn closing(
    history: &mut History<'_>,
    times: &[i64],
    program_id: &Pubkey,
) -> anyhow::Result<Seen<(String, Vec<u8>)>> {
    let (address, closed_bytes) = (history.address, history.closed_bytes);
    let found = history.first(times, |signature, transaction| {
        Some((signature.to_owned(), closed_bytes(transaction, program_id, &address)?))
    });
    found.await?.map_err(|not_found| {
        anyhow!("{address} is not on the chain, and the RPC node shows no transaction that closed it ({not_found})")
    })
}

#[cfg(test)]
mod tests {
    use crtx_chain::{Instructions, instructions};
    use crtx_protocol::address::Addresses;

    use super::*;

    #[test]
    fn both_ways_to_open_an_execution_are_read_for_their_own_record_alone() {
        let build = Instructions::new(Addresses::new(agent_marketplace::ID), Pubkey::new_from_array([6; 32]));
        let (wallet, session_key, payer) =
            (Pubkey::new_from_array([1; 32]), Pubkey::new_from_array([2; 32]), Pubkey::new_from_array([3; 32]));
        let opening = instructions::Opening {
            agent: Pubkey::new_from_array([4; 32]),
            execution_id: [5; 16],
            request_hash: [7; 32],
            max_amount: 1,
            terms_hash: Some([8; 32]),
            min_cover: 1,
        };
        let record = build.addresses.execution(&wallet, &opening.execution_id);
        for built in [
            build.open_execution(&wallet, &payer, &opening),
            build.open_execution_with_grant(&wallet, &session_key, &payer, &opening),
        ] {
            let accounts = built.accounts.iter().map(|account| account.pubkey).collect();
            let plain = CalledInstruction { program_id: built.program_id, accounts, data: built.data, called: vec![] };
            let read = arguments(&plain, &record).expect("an opening");
            assert_eq!((read.request_hash, read.terms_hash), ([7; 32], Some([8; 32])));
            assert!(arguments(&plain, &payer).is_none(), "it opens another record");
        }
    }
}
