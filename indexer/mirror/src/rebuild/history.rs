//! What a transaction says about the open terms of executions: openings, and the terms of listings and of the
//! configuration that openings copy.

use agent_marketplace::{
    event::ListingCreated,
    instruction::{
        AnnounceParameters, ApplyParameters, InitializeConfig, OpenExecution, OpenExecutionWithGrant, UpdateListing,
    },
    instructions::{AnnounceParametersArgs, InitializeConfigArgs, OpenExecutionArgs, UpdateListingArgs},
};
use anchor_lang::{AnchorDeserialize, Discriminator, event::EVENT_IX_TAG_LE};
use crtx_chain::past::{CalledInstruction, PastTransaction};
use crtx_store::rebuild::{Fact, Opening};
use solana_pubkey::Pubkey;

/// What a transaction says, in its order. A failed one says nothing.
pub fn facts(transaction: &PastTransaction, program: &Pubkey) -> Vec<Fact> {
    let calls = transaction.calls().filter(|call| call.program_id == *program && !transaction.failed);
    calls.filter_map(fact).collect()
}

/// The indices are those of the program's account lists.
fn fact(call: &CalledInstruction) -> Option<Fact> {
    let account = |at: usize| call.accounts.get(at).copied();
    if let Some(args) = args::<OpenExecutionArgs>(call, OpenExecution::DISCRIMINATOR) {
        return Some(Fact::Opening(opening(&args, account(3)?, account(4)?, None, account(5)?)));
    }
    if let Some(args) = args::<OpenExecutionArgs>(call, OpenExecutionWithGrant::DISCRIMINATOR) {
        return Some(Fact::Opening(opening(&args, account(6)?, account(7)?, account(3), account(8)?)));
    }
    if let Some(args) = args::<UpdateListingArgs>(call, UpdateListing::DISCRIMINATOR) {
        let UpdateListingArgs { result_key, timeout_seconds, .. } = args;
        return Some(terms(account(2)?, result_key, timeout_seconds));
    }
    if let Some(args) = args::<AnnounceParametersArgs>(call, AnnounceParameters::DISCRIMINATOR) {
        return Some(Fact::AnnouncedGrace(args.parameters.map(|parameters| parameters.settle_grace_s)));
    }
    if let Some(args) = args::<InitializeConfigArgs>(call, InitializeConfig::DISCRIMINATOR) {
        return Some(Fact::Grace(args.parameters.settle_grace_s));
    }
    if call.data.strip_prefix(ApplyParameters::DISCRIMINATOR).is_some() {
        return Some(Fact::GraceApplies);
    }
    let event = call.data.strip_prefix(EVENT_IX_TAG_LE)?;
    let created = ListingCreated::deserialize(&mut event.strip_prefix(ListingCreated::DISCRIMINATOR)?).ok()?;
    let ListingCreated { agent, result_key, timeout_seconds, .. } = created;
    Some(terms(agent, Some(result_key), Some(timeout_seconds)))
}

fn terms(agent: Pubkey, result_key: Option<Pubkey>, timeout_seconds: Option<u32>) -> Fact {
    Fact::Terms { agent: agent.to_string(), result_key: result_key.map(|key| key.to_string()), timeout_seconds }
}

fn args<T: AnchorDeserialize>(call: &CalledInstruction, discriminator: &[u8]) -> Option<T> {
    T::deserialize(&mut call.data.strip_prefix(discriminator)?).ok()
}

fn opening(
    args: &OpenExecutionArgs,
    agent: Pubkey,
    record: Pubkey,
    grant: Option<Pubkey>,
    paid_from: Pubkey,
) -> Opening {
    Opening {
        record: record.to_string(),
        agent: agent.to_string(),
        request_hash: args.request_hash,
        grant: grant.map(|grant| grant.to_string()),
        paid_from: paid_from.to_string(),
    }
}
