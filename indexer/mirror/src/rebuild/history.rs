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
use crtx_chain::{history::CalledInstruction, past::PastTransaction};
use crtx_store::{
    PgConnection, StoreError,
    rebuild::{self as store, Opening},
};
use solana_pubkey::Pubkey;

/// One of them. The indices below are those of the program's account lists.
enum Fact {
    Opening(Opening),
    Terms { agent: Pubkey, result_key: Option<Pubkey>, timeout_seconds: Option<u32> },
    Grace(i64),
    AnnouncedGrace(Option<i64>),
    GraceApplies,
}

/// All of a transaction, in their order.
pub struct Facts(Vec<Fact>);

impl Facts {
    /// A failed transaction says nothing.
    pub fn of(transaction: &PastTransaction, program: &Pubkey) -> Self {
        let calls = transaction.calls().filter(|call| call.program_id == *program && !transaction.failed);
        Self(calls.filter_map(fact).collect())
    }

    pub fn openings(&self) -> usize {
        self.0.iter().filter(|fact| matches!(fact, Fact::Opening(_))).count()
    }

    pub async fn store(&self, connection: &mut PgConnection) -> Result<(), StoreError> {
        for fact in &self.0 {
            match fact {
                Fact::Opening(opening) => store::store_opening(connection, opening).await?,
                Fact::Terms { agent, result_key, timeout_seconds } => {
                    let key = result_key.map(|key| key.to_string());
                    store::set_terms(connection, &agent.to_string(), key.as_deref(), *timeout_seconds).await?;
                }
                Fact::Grace(seconds) => store::set_grace(connection, *seconds).await?,
                Fact::AnnouncedGrace(seconds) => store::announce_grace(connection, *seconds).await?,
                Fact::GraceApplies => store::apply_grace(connection).await?,
            }
        }
        Ok(())
    }
}

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
        return Some(Fact::Terms { agent: account(2)?, result_key, timeout_seconds });
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
    Some(Fact::Terms { agent, result_key: Some(result_key), timeout_seconds: Some(timeout_seconds) })
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
