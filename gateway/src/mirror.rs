//! Updates the mirror after a call without delaying it: changed accounts are read again and written in one batch for
//! many calls. The indexer repairs missed changes, so neither calls nor locked rows are waited for.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use agent_marketplace::state::{AgentListed, SpendingGrant};
use crtx_chain::{AtSlot, ChainClient, Execution, FetchedAccount, Layout, rpc::MAX_ACCOUNTS_PER_READ};
use crtx_store::{
    PgPool, StoreError,
    mirror::{self, ExecutionAccount},
};
use solana_pubkey::Pubkey;
use tokio::{sync::Notify, task::JoinHandle};

/// Accounts that wait to be written. Further accounts are left to the indexer.
const MOST_WAITING: usize = 10_000;
/// Changes within this time are read and written together. A call changes the same accounts twice, and calls for one
/// agent change its listing: separate writes would cost the database more than the calls.
const COALESCE: Duration = Duration::from_millis(100);
/// Pause after rows were locked, or the chain or the database did not answer.
const PAUSE: Duration = Duration::from_millis(200);

/// The waiting accounts and the task that writes them. Dropping this value ends the task.
pub(crate) struct MirrorRefresh {
    board: Arc<Board>,
    source: Source,
    task: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Board {
    waiting: Mutex<BTreeSet<Pubkey>>,
    arrived: Notify,
}

#[derive(Clone)]
struct Source {
    chain: ChainClient,
    pool: PgPool,
    program: Pubkey,
}

impl MirrorRefresh {
    pub fn new(chain: ChainClient, pool: PgPool, program: Pubkey) -> Self {
        Self { board: Arc::default(), source: Source { chain, pool, program }, task: Mutex::new(None) }
    }

    /// Notes that these accounts have changed. Returns immediately.
    pub fn changed(&self, addresses: &[Pubkey]) {
        let mut waiting = lock(&self.board.waiting);
        if waiting.len() < MOST_WAITING {
            waiting.extend(addresses);
        }
        drop(waiting);
        self.ensure_running();
        self.board.arrived.notify_one();
    }

    fn ensure_running(&self) {
        let mut task = lock(&self.task);
        if task.as_ref().is_none_or(JoinHandle::is_finished) {
            *task = Some(tokio::spawn(run(Arc::clone(&self.board), self.source.clone())));
        }
    }
}

impl Drop for MirrorRefresh {
    fn drop(&mut self) {
        // Cancelling the task drops a whole transaction, which is rolled back.
        if let Some(task) = lock(&self.task).take() {
            task.abort();
        }
    }
}

async fn run(board: Arc<Board>, source: Source) {
    loop {
        board.arrived.notified().await;
        tokio::time::sleep(COALESCE).await;
        // Accounts that arrive later wait for the next round.
        let mut due = std::mem::take(&mut *lock(&board.waiting));
        loop {
            let addresses: Vec<Pubkey> = std::iter::from_fn(|| due.pop_first()).take(MAX_ACCOUNTS_PER_READ).collect();
            if addresses.is_empty() {
                break;
            }
            if let Err(error) = source.refresh(&addresses).await {
                tracing::debug!(%error, accounts = addresses.len(), "the mirror could not be written; trying again");
                lock(&board.waiting).extend(addresses);
                board.arrived.notify_one();
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

impl Source {
    async fn refresh(&self, addresses: &[Pubkey]) -> Result<(), StoreError> {
        let read = match self.chain.accounts(addresses).await {
            Ok(read) => read,
            Err(error) => {
                tracing::debug!(%error, "changed accounts could not be read; the indexer mirrors them");
                return Ok(());
            }
        };
        let batch = self.batch(addresses, &read);
        if batch.is_empty() {
            return Ok(());
        }
        mirror::apply_if_free(&self.pool, &batch).await
    }

    fn batch(&self, addresses: &[Pubkey], read: &AtSlot<Vec<Option<FetchedAccount>>>) -> mirror::Batch {
        let mut batch = mirror::Batch::default();
        for (address, account) in addresses.iter().zip(&read.value) {
            let Some(account) = account.as_ref().filter(|account| account.owner == self.program) else { continue };
            // The indexer reports bytes that cannot be decoded or that the program never writes.
            let pushed = if let Ok(Execution { record, terms }) = Execution::decode(&account.data) {
                batch.push_read(address, read.slot, &ExecutionAccount { record, terms }, &account.data)
            } else if let Ok(listing) = AgentListed::decode(&account.data) {
                batch.push_read(address, read.slot, &listing, &account.data)
            } else if let Ok(grant) = SpendingGrant::decode(&account.data) {
                batch.push_read(address, read.slot, &grant, &account.data)
            } else {
                continue;
            };
            if let Err(error) = pushed {
                tracing::debug!(%address, %error, "an account cannot be mirrored");
            }
        }
        batch
    }
}

/// A panic leaves the data behind this lock consistent, so poisoning is ignored.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
