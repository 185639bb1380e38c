//! Collects what the checks look at: accounts, and the transactions that opened and ended the execution. An account that
//! has been closed is read from the event that closed it.

use agent_marketplace::state::{AgentListed, Config, Dispute, ExecutionRecord};
use anyhow::bail;
use crtx_chain::{ChainClient, ChainError, Execution, Layout};
use crtx_protocol::address::Addresses;
use solana_pubkey::Pubkey;

use super::{
    claims::Claims,
    ends::{self, ClosedBytes, Ending, Opening},
    transactions::{History, Seen},
};

/// Everything that was found, or the reason why it was not found.
#[derive(Clone, Debug)]
pub struct Evidence {
    pub claims: Claims,
    pub program_id: Pubkey,
    pub record_address: Pubkey,
    pub content: Result<ContentCopy, String>,
    pub record: Result<ExecutionRecord, String>,
    /// The transaction that closed the record, if it is closed.
    pub closed_by: Option<String>,
    pub listing: Result<AgentListed, String>,
    /// `None` if the execution was never disputed.
    pub dispute: Option<Result<Dispute, String>>,
    pub config: Result<Config, String>,
    pub opening: Result<Opening, String>,
    pub ending: Result<Ending, String>,
    /// The first request that the node did not answer. Then what is missing says nothing.
    pub failed_node: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentCopy {
    pub bytes: Vec<u8>,
    /// Where it came from, for the report.
    pub source: String,
}

/// Looks at everything that `claims` point to.
pub async fn collect(
    claims: Claims,
    program_id: Pubkey,
    chain: &ChainClient,
    content: Result<ContentCopy, String>,
    closed_bytes: ClosedBytes,
) -> anyhow::Result<Evidence> {
    let record_address = claims.record_address()?;
    let addresses = Addresses::new(program_id);
    let at = |address| History::new(chain, address, closed_bytes);
    let config: anyhow::Result<Found<Config>> = account(&mut at(addresses.config()), &program_id, &[]).await;
    let window = config.as_ref().map_or(0, |config| config.account.parameters.dispute_window_s);
    // A record is closed when its dispute window is over. The stated times only say where to begin.
    let stated = [claims.initiated_at, claims.completed_at].map(|time| time.map(|time| time.timestamp()));
    let closed = stated[1].map(|ended| ended.saturating_add(window));
    let mut history = at(record_address);
    let record: anyhow::Result<Found<Execution>> = account(&mut history, &program_id, &Vec::from_iter(closed)).await;
    let listing: anyhow::Result<Found<AgentListed>> = match &record {
        Ok(found) => account(&mut at(found.account.agent), &program_id, &[]).await,
        Err(_) => Err(anyhow::anyhow!("there is no record that names it")),
    };
    let dispute: Option<anyhow::Result<Found<Dispute>>> = match &record {
        Ok(Found { account: record, closed_by }) if record.dispute_count > 0 => {
            // A dispute is closed together with its record.
            let closed = Vec::from_iter(closed_by.as_ref().and_then(|closed| closed.time));
            Some(account(&mut at(addresses.dispute(&record_address)), &program_id, &closed).await)
        }
        _ => None,
    };
    let [opened, ended] = match &record {
        Ok(Found { account, .. }) => [account.opened_at_unix_s, account.finished_at_unix_s].map(Some),
        Err(_) => stated,
    };
    let opening = ends::opening(&mut history, &Vec::from_iter(opened), &program_id).await;
    let ending = ends::ending(&mut history, &Vec::from_iter(ended), &program_id).await;
    let mut failed_node = None;
    let mut text = |error: anyhow::Error| {
        let text = format!("{error:#}");
        if error.is::<ChainError>() {
            failed_node.get_or_insert_with(|| text.clone());
        }
        text
    };
    Ok(Evidence {
        claims,
        program_id,
        record_address,
        content,
        closed_by: record.as_ref().ok().and_then(|found| Some(found.closed_by.as_ref()?.what.clone())),
        record: record.map(|found| found.account.record).map_err(&mut text),
        listing: listing.map(|found| found.account).map_err(&mut text),
        dispute: dispute.map(|dispute| dispute.map(|found| found.account).map_err(&mut text)),
        config: config.map(|found| found.account).map_err(&mut text),
        opening: opening.map_err(&mut text),
        ending: ending.map_err(&mut text),
        failed_node,
    })
}

/// An account, and the transaction that closed it if it is closed.
struct Found<T> {
    account: T,
    closed_by: Option<Seen<String>>,
}

/// An account of the program as it is, or as it was when it was closed, next to one of these times.
async fn account<T: Layout>(history: &mut History<'_>, program_id: &Pubkey, times: &[i64]) -> anyhow::Result<Found<T>> {
    let address = history.address;
    if let Some(found) = history.chain.account(&address).await?.value {
        if found.owner != *program_id {
            bail!("{address} is owned by {}, not by the marketplace program {program_id}", found.owner);
        }
        return Ok(Found { account: T::decode(&found.data)?, closed_by: None });
    }
    let Seen { what: (signature, data), time } = ends::closing(history, times, program_id).await?;
    Ok(Found { account: T::decode(&data)?, closed_by: Some(Seen { what: signature, time }) })
}
