//! How an execution was opened, read from the chain's transactions. A record that ended has neither its request nor its
//! terms any more.

use agent_marketplace::{
    instruction::{OpenExecution, OpenExecutionWithGrant},
    instructions::OpenExecutionArgs,
};
use anchor_lang::{AnchorDeserialize, Discriminator};
use anyhow::anyhow;
use crtx_chain::past::CalledInstruction;
use solana_pubkey::Pubkey;

use super::transactions::History;

/// What the opening instruction says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    /// The transaction.
    pub signature: String,
    /// SHA-256 of the request.
    pub request_hash: [u8; 32],
    /// SHA-256 of the terms that the caller agreed to, if it named them.
    pub terms_hash: Option<[u8; 32]>,
}

/// The transaction that opened the record.
pub async fn find(history: &mut History<'_>, times: &[i64], program_id: &Pubkey) -> anyhow::Result<Opening> {
    let record = history.address;
    let found = history.first(times, |signature, transaction| {
        let mut ours = transaction.calls().filter(|instruction| instruction.program_id == *program_id);
        let args = ours.find_map(|instruction| arguments(instruction, &record))?;
        let OpenExecutionArgs { request_hash, terms_hash, .. } = args;
        Some(Opening { signature: signature.to_owned(), request_hash, terms_hash })
    });
    found.await?.map(|seen| seen.what).map_err(|not_found| {
        anyhow!("the RPC node shows no successful transaction that opens this execution ({not_found})")
    })
}

/// The arguments of the instruction, if it opens the execution of `record`. The indices are those of the program's
/// account lists.
fn arguments(instruction: &CalledInstruction, record: &Pubkey) -> Option<OpenExecutionArgs> {
    [(OpenExecution::DISCRIMINATOR, 4), (OpenExecutionWithGrant::DISCRIMINATOR, 7)]
        .into_iter()
        .find(|(_, record_at)| instruction.accounts.get(*record_at) == Some(record))
        .and_then(|(discriminator, _)| instruction.data.strip_prefix(discriminator))
        .and_then(|mut body| OpenExecutionArgs::deserialize(&mut body).ok())
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
