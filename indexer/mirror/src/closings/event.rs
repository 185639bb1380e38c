//! Reads the events of closings out of a transaction, and checks that they are about the accounts that they name.

use agent_marketplace::event::{AgentClosed, ExecutionClosed};
use anchor_lang::{AnchorDeserialize, Discriminator, event::EVENT_IX_TAG_LE};
use chrono::{DateTime, Utc};
use crtx_chain::{ProgramAccount, past::PastTransaction};
use crtx_protocol::address::Addresses;
use crtx_store::closings::ClosingKind;
use solana_pubkey::Pubkey;

/// An account that a transaction closed, with its last bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClosedAccount {
    pub address: Pubkey,
    pub kind: ClosingKind,
    pub data: Vec<u8>,
    pub closed_at: DateTime<Utc>,
}

/// The accounts that a transaction closed. A failed transaction closed none. Only the program itself can call its event
/// instruction: the call is signed by an address of its own.
pub fn closed_accounts(transaction: &PastTransaction, program: &Pubkey) -> Vec<ClosedAccount> {
    if transaction.failed {
        return Vec::new();
    }
    let derive = Addresses::new(*program);
    let calls = transaction.calls().filter(|call| call.program_id == *program);
    let events = calls.filter_map(|call| call.data.strip_prefix(EVENT_IX_TAG_LE));
    events.flat_map(|event| accounts_of(event, &derive)).filter(|closed| is_at_its_address(closed, &derive)).collect()
}

fn accounts_of(event: &[u8], derive: &Addresses) -> Vec<ClosedAccount> {
    let closed = |address, kind, data, unix_s| {
        let closed_at = DateTime::from_timestamp(unix_s, 0)?;
        Some(ClosedAccount { address, kind, data, closed_at })
    };
    if let Some(mut body) = event.strip_prefix(ExecutionClosed::DISCRIMINATOR) {
        let Ok(event) = ExecutionClosed::deserialize(&mut body) else { return Vec::new() };
        let at = event.closed_at_unix_s;
        let record = closed(event.record, ClosingKind::Execution, event.record_data, at);
        let dispute = derive.dispute(&event.record);
        let dispute = event.dispute_data.and_then(|data| closed(dispute, ClosingKind::Dispute, data, at));
        return record.into_iter().chain(dispute).collect();
    }
    let Some(mut body) = event.strip_prefix(AgentClosed::DISCRIMINATOR) else { return Vec::new() };
    let Ok(event) = AgentClosed::deserialize(&mut body) else { return Vec::new() };
    closed(event.agent, ClosingKind::Agent, event.agent_data, event.closed_at_unix_s).into_iter().collect()
}

/// Whether the bytes are an account of that kind, at the address that they belong to.
fn is_at_its_address(closed: &ClosedAccount, derive: &Addresses) -> bool {
    match (closed.kind, ProgramAccount::decode(&closed.data)) {
        (ClosingKind::Execution, Ok(ProgramAccount::Execution(account))) => {
            derive.execution(&account.caller, &account.execution_id) == closed.address
        }
        (ClosingKind::Dispute, Ok(ProgramAccount::Dispute(account))) => {
            derive.dispute(&account.execution) == closed.address
        }
        (ClosingKind::Agent, Ok(ProgramAccount::AgentListed(account))) => {
            derive.agent(&account.creator, account.index) == closed.address
        }
        _ => false,
    }
}
