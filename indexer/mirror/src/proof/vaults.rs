//! Token accounts hold what they must: the escrow of an agent its open amount and bonds, the vault its collateral. Listing, escrow
//! and vault are read together, at one slot.

use agent_marketplace::state::AgentListed;
use crtx_chain::{FetchedAccount, Layout, token::TokenAccount};
use crtx_protocol::address::Addresses;
use futures::{StreamExt, TryStreamExt};
use solana_pubkey::Pubkey;

use super::{
    audit::{Audit, AuditError},
    report::{AuditCheck, AuditReport, MAX_LISTED, Shortfall},
};
use crate::source::{AccountSource, At, MAX_ACCOUNTS_PER_READ, Read};

/// Listing, escrow and collateral of each.
const AGENTS_PER_READ: usize = MAX_ACCOUNTS_PER_READ / 3;
const READS_AT_ONCE: usize = 4;

/// Checks the token accounts of `agents`, beginning at the one with that number and going round. Returns the number of
/// the one to begin with the next time.
pub async fn check(audit: &mut Audit<'_>, agents: &[Pubkey], begin: usize) -> Result<usize, AuditError> {
    let begin = begin.min(agents.len());
    let (before, from) = agents.split_at(begin);
    let chunks = from.chunks(AGENTS_PER_READ).chain(before.chunks(AGENTS_PER_READ));
    let reads: Vec<_> = chunks.map(|chunk| read(audit.source, audit.program, chunk.to_vec())).collect();
    let mut reads = futures::stream::iter(reads).buffered(READS_AT_ONCE);
    let mut done: usize = 0;
    audit.report.compared(AuditCheck::Vaults, 0);
    while let Some((chunk, read)) = reads.try_next().await? {
        done = done.saturating_add(chunk.len());
        for (agent, accounts) in chunk.iter().zip(read.value.chunks_exact(3)) {
            check_one(&mut audit.report, agent, accounts);
        }
        if audit.is_over() && done < agents.len() {
            audit.report.cut_short(AuditCheck::Vaults);
            break;
        }
    }
    Ok(begin.saturating_add(done).checked_rem(agents.len()).unwrap_or(0))
}

async fn read(
    source: &dyn AccountSource,
    program: Pubkey,
    agents: Vec<Pubkey>,
) -> Result<(Vec<Pubkey>, Read), AuditError> {
    let derive = Addresses::new(program);
    let addresses: Vec<Pubkey> =
        agents.iter().flat_map(|agent| [*agent, derive.escrow(agent), derive.collateral(agent)]).collect();
    let read = source.read(&addresses, At::Confirmed, 0).await?;
    Ok((agents, read))
}

fn check_one(report: &mut AuditReport, agent: &Pubkey, accounts: &[Option<FetchedAccount>]) {
    let [Some(listing), escrow, collateral] = accounts else { return };
    let Ok(listing) = AgentListed::decode(&listing.data) else { return };
    report.vaults = report.vaults.saturating_add(1);
    report.compared(AuditCheck::Vaults, 1);
    let escrowed = listing.open_amount.saturating_add(listing.open_bonds);
    for (account, required, holder) in [("escrow", escrowed, escrow), ("collateral", listing.collateral, collateral)] {
        // Any other account than one for tokens holds none.
        let held = holder.as_ref().and_then(|holder| TokenAccount::from_bytes(&holder.data));
        let held = held.map_or(0, |account| account.amount);
        if held < required {
            let text = format!("its {account} holds {held} base units and must hold {required}");
            report.fault(AuditCheck::Vaults, agent, text);
            report.short = report.short.saturating_add(1);
            if report.shortfalls.len() < MAX_LISTED {
                report.shortfalls.push(Shortfall { agent: agent.to_string(), account, required, held });
            }
        }
    }
}
