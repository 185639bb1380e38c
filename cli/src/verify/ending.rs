//! How an execution ended, read from the chain's transactions: the one that moved the money out of escrow, and
//! the one that closed the account and emitted its last bytes as an event.

use agent_marketplace::{
    event::{AgentClosed, ExecutionClosed},
    instruction::{CompleteExecution, FailExecution, RefundExpiredExecution},
};
use anchor_lang::{AnchorDeserialize, Discriminator, event::EVENT_IX_TAG_LE};
use anyhow::anyhow;
use crtx_protocol::address::Addresses;
use solana_pubkey::Pubkey;

use super::transactions::{History, PlainInstruction, PlainTransaction, Seen};

/// The transaction that moved the money.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    pub transaction: PlainTransaction,
    /// Which of its instructions it was.
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
    let found = history.first(times, |transaction| {
        let ended = transaction.instructions.iter().enumerate();
        let mut ended = ended.filter(|(_, instruction)| instruction.program_id == *program_id);
        let (at, payees) = ended.find_map(|(at, instruction)| Some((at, payees(instruction, &record)?)))?;
        Some(Ending { transaction: transaction.clone(), at, payees })
    });
    found.await?.map(|seen| seen.what).map_err(|not_found| {
        anyhow!("the RPC node shows no successful transaction that ends this execution ({not_found})")
    })
}

/// The payees of the instruction, if it ends the execution of `record`. The indices are those of the program's
/// account lists.
fn payees(instruction: &PlainInstruction, record: &Pubkey) -> Option<Payees> {
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
    let found = history.first(times, |transaction| {
        // Only the program itself can call its event instruction: the call is signed by an address of its own.
        let events = transaction.inner_instructions.iter().filter(|inner| inner.program_id == *program_id);
        let mut events = events.filter_map(|inner| inner.data.strip_prefix(EVENT_IX_TAG_LE));
        let bytes = events.find_map(|event| closed_bytes(event, program_id, &address))?;
        Some((transaction.signature.clone(), bytes))
    });
    found.await?.map_err(|not_found| {
        anyhow!("{address} is not on the chain, and the RPC node shows no transaction that closed it ({not_found})")
    })
}

/// What the event says of the account at `address`.
fn closed_bytes(event: &[u8], program_id: &Pubkey, address: &Pubkey) -> Option<Vec<u8>> {
    if let Some(mut body) = event.strip_prefix(ExecutionClosed::DISCRIMINATOR) {
        let closed = ExecutionClosed::deserialize(&mut body).ok()?;
        if closed.record == *address {
            return Some(closed.record_data);
        }
        let dispute = Addresses::new(*program_id).dispute(&closed.record);
        return closed.dispute_data.filter(|_| dispute == *address);
    }
    let mut body = event.strip_prefix(AgentClosed::DISCRIMINATOR)?;
    let closed = AgentClosed::deserialize(&mut body).ok()?;
    (closed.agent == *address).then_some(closed.agent_data)
}
