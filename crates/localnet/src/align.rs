//! Makes the database agree with the chain before anything is served from it: after a stop that was not clean, and
//! where the database shows another chain. After a clean stop there is nothing to do, and nothing is touched.

use agent_marketplace::state::ExecutionStatus;
use crtx_chain::{ChainClient, CommitmentConfig, ProgramAccount};
use crtx_store::{
    PgPool, local_network,
    mirror::{self, Batch},
};
use solana_pubkey::Pubkey;

use crate::{
    chain::{StartedFrom, now_unix_ms},
    progress::StartProgress,
    solana::SolanaNetwork,
};

/// All accounts of the program.
struct Accounts {
    slot: u64,
    batch: Batch,
    addresses: Vec<Pubkey>,
    open: Vec<Pubkey>,
}

/// Aligns the database with the chain, and reports if the chain continues from an unclean stop. Nothing else may use
/// chain and database at the same time.
pub async fn align(
    pool: &PgPool,
    network: &SolanaNetwork,
    client: &ChainClient,
    progress: &dyn StartProgress,
) -> anyhow::Result<()> {
    if let StartedFrom::Recovered { slot, saved_at_unix_ms } = network.started_from() {
        let ago = now_unix_ms().saturating_sub(saved_at_unix_ms) / 1_000;
        progress.note(&format!(
            "the last run did not stop cleanly: the chain continues from its last block on disk (slot {slot}, {ago} s \
             ago), and the database is aligned with it"
        ));
    }
    let shown = mirror::checkpoint(pool).await?.and_then(|checkpoint| checkpoint.genesis_hash);
    let same_chain = shown.as_deref() == Some(network.genesis_hash());
    if same_chain && network.started_from() == StartedFrom::Saved {
        return Ok(());
    }
    let read_after = local_network::database_time(pool).await?;
    let accounts = read(client).await?;
    if !same_chain {
        if shown.is_some() {
            // The lists of the other chain go with its rows.
            mirror::clear(pool).await?;
        }
        mirror::apply_changes(pool, &accounts.batch, 0).await?;
        mirror::snapshot_applied(pool, accounts.slot, Some(network.genesis_hash())).await?;
    }
    let missing = local_network::unaccounted(pool, &accounts.addresses).await?;
    let (mut closed, mut lost) = (Vec::new(), Vec::new());
    for address in missing {
        if network.knows(client, &address).await? { &mut closed } else { &mut lost }.push(address);
    }
    let now = local_network::ChainNow { snapshot: &accounts.batch, open: &accounts.open, lost: &lost, read_after };
    let changed = local_network::realign(pool, &now).await?;
    mirror::mark_closed(pool, &closed, accounts.slot).await?;
    if changed != local_network::Realigned::default() {
        progress.note(&format!(
            "executions: {} are not on the chain and have failed, {} are open again and go on",
            changed.lost, changed.reopened
        ));
    }
    Ok(())
}

/// Shows the accounts that the set-up of a new marketplace made, so that no reader finds it empty.
pub async fn show(pool: &PgPool, network: &SolanaNetwork, client: &ChainClient) -> anyhow::Result<()> {
    if network.started_from() == StartedFrom::Nothing {
        let accounts = read(client).await?;
        mirror::apply_changes(pool, &accounts.batch, 0).await?;
        mirror::snapshot_applied(pool, accounts.slot, Some(network.genesis_hash())).await?;
    }
    Ok(())
}

async fn read(client: &ChainClient) -> anyhow::Result<Accounts> {
    let answer = client.program_accounts(&agent_marketplace::ID, &[], CommitmentConfig::confirmed()).await?;
    let mut accounts = Accounts { slot: answer.slot, batch: Batch::default(), addresses: vec![], open: vec![] };
    for (address, account) in answer.value {
        if let Ok(ProgramAccount::Execution(record)) = ProgramAccount::decode(&account.data)
            && record.status() == Some(ExecutionStatus::Open)
        {
            accounts.open.push(address);
        }
        crtx_mirror::sync::push(&mut accounts.batch, &address, answer.slot, account.data)?;
        accounts.addresses.push(address);
    }
    Ok(accounts)
}
