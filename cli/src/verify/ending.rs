//! How an execution ended, read from the chain's transactions: the one that moved the money out of escrow, and
//! the one that closed the account and emitted its last bytes as an event.

use agent_marketplace::instruction::{CompleteExecution, FailExecution, RefundExpiredExecution};
use anchor_lang::Discriminator;
use anyhow::anyhow;
use crtx_chain::past::{CalledInstruction, PastTransaction};
use crtx_mirror::closings::event::closed_accounts;
use solana_pubkey::Pubkey;

use super::transactions::{History, Seen};

/// The transaction that moved the money.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    pub signature: String,
    pub transaction: PastTransaction,
    /// Which of its top-level instructions it was.
    pub at: usize,
    pub payees: Payees,
}

/// The token accounts that got it, as the instruction names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payees {
    Settled { creator: Pubkey, treasury: Pubkey },
    Refunded { caller: Pubkey },
}

/// The transaction that completes, fails or refunds the record.
pub async fn find(history: &mut History<'_>, times: &[i64], program_id: &Pubkey) -> anyhow::Result<Ending> {
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

/// The payees of the instruction, if it ends the execution of `record`. The indices are those of the program's
/// account lists.
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
pub async fn find_closed(
    history: &mut History<'_>,
    times: &[i64],
    program_id: &Pubkey,
) -> anyhow::Result<Seen<(String, Vec<u8>)>> {
    let address = history.address;
    let found = history.first(times, |signature, transaction| {
        let closed = closed_accounts(transaction, program_id).into_iter().find(|closed| closed.address == address)?;
        Some((signature.to_owned(), closed.data))
    });
    found.await?.map_err(|not_found| {
        anyhow!("{address} is not on the chain, and the RPC node shows no transaction that closed it ({not_found})")
    })
}
