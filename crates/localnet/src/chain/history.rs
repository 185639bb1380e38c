//! The chain's transactions and block headers as Surfpool sees them: the newest in memory, all others in the
//! database. Memory stays bounded, since what goes into the database leaves it.

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use solana_pubkey::Pubkey;
use solana_rpc_client_api::response::RpcConfirmedTransactionStatusWithSignature;
use solana_transaction_error::TransactionError;
use surfpool_core::{
    storage::{Storage, StorageError, StorageResult},
    surfnet::BlockHeader,
    types::SurfnetTransactionStatus,
};

use super::{
    block::Block,
    database::{ChainDatabase, Listed, Place, listed, signature_bytes},
    error::ChainFileError,
};

/// All transactions and headers of one chain.
pub struct History {
    database: Arc<ChainDatabase>,
    recent: RwLock<Recent>,
}

/// Where a transaction landed, and how it ended there.
pub struct LandedTransaction {
    pub slot: u64,
    pub result: Result<(), TransactionError>,
}

impl LandedTransaction {
    fn of(status: &SurfnetTransactionStatus) -> Option<Self> {
        match status {
            SurfnetTransactionStatus::Received => None,
            SurfnetTransactionStatus::Processed(of) => {
                let (transaction, _) = &**of;
                Some(Self { slot: transaction.slot, result: transaction.meta.status.clone() })
            }
        }
    }
}

/// What is not in the database yet.
#[derive(Default)]
struct Recent {
    statuses: HashMap<String, SurfnetTransactionStatus>,
    headers: BTreeMap<u64, BlockHeader>,
    /// Oldest first.
    listed: VecDeque<Listed>,
}

impl History {
    pub fn new(database: Arc<ChainDatabase>) -> Arc<Self> {
        Arc::new(Self { database, recent: RwLock::default() })
    }

    /// Surfpool's table of transactions.
    pub fn transactions(self: &Arc<Self>) -> Box<dyn Storage<String, SurfnetTransactionStatus>> {
        Box::new(Transactions(Arc::clone(self)))
    }

    /// Surfpool's table of block headers.
    pub fn headers(self: &Arc<Self>) -> Box<dyn Storage<u64, BlockHeader>> {
        Box::new(Headers(Arc::clone(self)))
    }

    /// Lists the transactions of a block that is being confirmed.
    pub fn add(&self, block: &Block) {
        self.write().listed.extend(listed(block));
    }

    /// Drops blocks that are in the database now.
    pub fn forget(&self, blocks: &[Arc<Block>]) {
        let slots: HashSet<u64> = blocks.iter().map(|block| block.slot).collect();
        let mut recent = self.write();
        for block in blocks {
            for (signature, _) in &block.transactions {
                recent.statuses.remove(signature);
            }
            recent.headers.remove(&block.slot);
        }
        recent.listed.retain(|listed| !slots.contains(&listed.place.slot));
    }

    /// Transactions about an address, newest first, between two signatures that are both left out. One that is not
    /// known leaves nothing (`before`) or has no effect (`until`), as on other nodes.
    pub fn about(
        &self,
        address: &Pubkey,
        before: Option<&str>,
        until: Option<&str>,
        limit: usize,
    ) -> Result<Vec<RpcConfirmedTransactionStatusWithSignature>, ChainFileError> {
        let before = match before.map(|signature| self.place(signature)).transpose()? {
            Some(None) => return Ok(vec![]),
            Some(place) => place,
            None => None,
        };
        let until = until.map(|signature| self.place(signature)).transpose()?.flatten();
        // Memory first: what moves into the database meanwhile is then found twice, never missed.
        let (mut found, oldest) = {
            let recent = self.read();
            let oldest = recent.listed.front().map(|listed| listed.place);
            let wanted = |listed: &&Listed| {
                listed.addresses.contains(address)
                    && before.is_none_or(|before| listed.place < before)
                    && until.is_none_or(|until| listed.place > until)
            };
            let lines = recent.listed.iter().rev().filter(wanted).take(limit).map(|listed| listed.line.clone());
            (lines.collect::<Vec<_>>(), oldest)
        };
        let before = match (before, oldest) {
            (Some(before), Some(oldest)) => Some(before.min(oldest)),
            (before, oldest) => before.or(oldest),
        };
        let rest = limit.saturating_sub(found.len());
        if rest > 0 {
            found.extend(self.database.about(address, until, before, rest)?);
        }
        Ok(found)
    }

    /// The result of a transaction. None if it is not known.
    pub fn landed(&self, signature: &str) -> Result<Option<LandedTransaction>, ChainFileError> {
        if let Some(status) = self.read().statuses.get(signature) {
            return Ok(LandedTransaction::of(status));
        }
        Ok(self.database.transaction(&signature_bytes(signature)?)?.as_ref().and_then(LandedTransaction::of))
    }

    #[cfg(test)]
    pub fn database_count(&self) -> Result<u64, ChainFileError> {
        self.database.count()
    }

    fn place(&self, signature: &str) -> Result<Option<Place>, ChainFileError> {
        let recent = self.read().listed.iter().find(|listed| listed.line.signature == signature).map(|l| l.place);
        match (recent, signature_bytes(signature)) {
            (Some(place), _) => Ok(Some(place)),
            (None, Ok(bytes)) => self.database.place(&bytes),
            (None, Err(_)) => Ok(None),
        }
    }

    // A panic elsewhere leaves these tables whole: each change is one call.
    fn read(&self) -> RwLockReadGuard<'_, Recent> {
        self.recent.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Recent> {
        self.recent.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An error as Surfpool passes it on.
fn stored(table: &str) -> impl Fn(ChainFileError) -> StorageError + '_ {
    move |error| StorageError::DeserializeValueError(table.to_owned(), serde::de::Error::custom(error))
}

struct Transactions(Arc<History>);

impl Storage<String, SurfnetTransactionStatus> for Transactions {
    fn store(&mut self, signature: String, status: SurfnetTransactionStatus) -> StorageResult<()> {
        self.0.write().statuses.insert(signature, status);
        Ok(())
    }

    fn clear(&mut self) -> StorageResult<()> {
        *self.0.write() = Recent::default();
        self.0.database.clear_history().map_err(stored("transactions"))
    }

    fn get(&self, signature: &String) -> StorageResult<Option<SurfnetTransactionStatus>> {
        if let Some(status) = self.0.read().statuses.get(signature) {
            return Ok(Some(status.clone()));
        }
        match signature_bytes(signature) {
            Ok(bytes) => self.0.database.transaction(&bytes).map_err(stored("transactions")),
            Err(_) => Ok(None),
        }
    }

    fn take(&mut self, signature: &String) -> StorageResult<Option<SurfnetTransactionStatus>> {
        Ok(self.0.write().statuses.remove(signature))
    }

    fn keys(&self) -> StorageResult<Vec<String>> {
        Ok(self.0.read().statuses.keys().cloned().collect())
    }

    /// The newest transactions only. Lists by address, which are the reason to walk all, are answered by
    /// [`History::about`].
    fn into_iter(&self) -> StorageResult<Box<dyn Iterator<Item = (String, SurfnetTransactionStatus)> + '_>> {
        let newest: Vec<_> = self.0.read().statuses.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        Ok(Box::new(newest.into_iter()))
    }

    fn count(&self) -> StorageResult<u64> {
        let recent = u64::try_from(self.0.read().statuses.len()).unwrap_or(u64::MAX);
        Ok(recent.saturating_add(self.0.database.count().map_err(stored("transactions"))?))
    }

    fn clone_box(&self) -> Box<dyn Storage<String, SurfnetTransactionStatus>> {
        Box::new(Self(Arc::clone(&self.0)))
    }
}

struct Headers(Arc<History>);

impl Storage<u64, BlockHeader> for Headers {
    fn store(&mut self, slot: u64, header: BlockHeader) -> StorageResult<()> {
        self.0.write().headers.insert(slot, header);
        Ok(())
    }

    /// The database's headers go with its transactions.
    fn clear(&mut self) -> StorageResult<()> {
        self.0.write().headers.clear();
        Ok(())
    }

    fn get(&self, slot: &u64) -> StorageResult<Option<BlockHeader>> {
        if let Some(header) = self.0.read().headers.get(slot) {
            return Ok(Some(header.clone()));
        }
        self.0.database.header(*slot).map_err(stored("blocks"))
    }

    fn take(&mut self, slot: &u64) -> StorageResult<Option<BlockHeader>> {
        Ok(self.0.write().headers.remove(slot))
    }

    fn keys(&self) -> StorageResult<Vec<u64>> {
        Ok(self.0.read().headers.keys().copied().collect())
    }

    /// The newest headers only.
    fn into_iter(&self) -> StorageResult<Box<dyn Iterator<Item = (u64, BlockHeader)> + '_>> {
        let newest: Vec<_> = self.0.read().headers.iter().map(|(slot, header)| (*slot, header.clone())).collect();
        Ok(Box::new(newest.into_iter()))
    }

    fn count(&self) -> StorageResult<u64> {
        Ok(u64::try_from(self.0.read().headers.len()).unwrap_or(u64::MAX))
    }

    fn clone_box(&self) -> Box<dyn Storage<u64, BlockHeader>> {
        Box::new(Self(Arc::clone(&self.0)))
    }
}
