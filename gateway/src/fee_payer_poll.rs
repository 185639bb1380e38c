//! Reads the balance of the fee payer between calls, for `/v1/status` and the log.

use agent_marketplace::state::ExecutionRecord;
use crtx_chain::ChainError;
use crtx_store::{StoreError, admission, fee_payers};
use solana_signer::Signer;
use tokio_util::sync::CancellationToken;

use crate::engine::Engine;

#[derive(Debug, thiserror::Error)]
enum PollError {
    #[error(transparent)]
    Chain(#[from] ChainError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Reads the balance periodically until `shutdown`.
pub(crate) async fn run(engine: &Engine, shutdown: &CancellationToken) {
    let work = async {
        loop {
            if let Err(error) = poll(engine).await {
                tracing::warn!(%error, "the fee payer's balance could not be read");
            }
            tokio::time::sleep(engine.config.limits.admission.fee_payer.poll_every).await;
        }
    };
    tokio::select! {
        () = work => {}
        () = shutdown.cancelled() => {}
    }
}

async fn poll(engine: &Engine) -> Result<(), PollError> {
    // Old counts of failures are deleted here, because this task runs periodically.
    admission::forget_old_failures(engine.executions.pool()).await?;
    let rent = engine.chain.rent_exemption(ExecutionRecord::OPEN_SPACE).await?;
    let address = engine.config.keypair.pubkey();
    let account = engine.chain.account(&address).await?.value;
    let payer = engine.fee_payer.note(address, account.map_or(0, |account| account.lamports), rent);
    Ok(fee_payers::store(engine.executions.pool(), &payer).await?)
}
