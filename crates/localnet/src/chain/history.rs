//! The chain's transactions and block headers as Surfpool sees them: those of the block under way in memory, all others
//! in the database.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use solana_pubkey::Pubkey;
use solana_transaction_error::TransactionError;
use surfpool_core::{
    storage::{Storage, StorageError, StorageResult},
    surfnet::BlockHeader,
    types::SurfnetTransactionStatus,
};

use super::{
    block::Block,
    database::{ChainDatabase, Line, Place, signature_bytes},
    error::ChainFileError,
};

/// Headers that Surfpool looks through for an estimate of fees.
const NEWEST: usize = 150;

/// All transactions and headers of one chain.
pub struct History {
    database: Arc<ChainDatabase>,
    /// Transactions that no block in the database has.
    pending: RwLock<HashMap<String, SurfnetTransactionStatus>>,
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

impl History {
    pub fn new(database: Arc<ChainDatabase>) -> Arc<Self> {
        Arc::new(Self { database, pending: RwLock::default() })
    }

    /// Surfpool's table of transactions.
    pub fn transactions(self: &Arc<Self>) -> Box<dyn Storage<String, SurfnetTransactionStatus>> {
        Box::new(Transactions(Arc::clone(self)))
    }

    /// Surfpool's table of block headers.
    pub fn headers(self: &Arc<Self>) -> Box<dyn Storage<u64, BlockHeader>> {
        Box::new(Headers(Arc::clone(self)))
    }

    /// Drops the transactions of a block that is in the database now.
    pub fn forget(&self, block: &Block) {
        let mut pending = self.write();
        for (signature, _) in &block.transactions {
            pending.remove(signature);
        }
    }

    /// Transactions about an address, newest first, between two signatures that are both left out. One that is not
    /// known leaves nothing (`before`) or has no effect (`until`), as on other nodes.
    pub fn about(
        &self,
        address: &Pubkey,
        before: Option<&str>,
        until: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Line>, ChainFileError> {
        let before = match before.map(|signature| self.place(signature)).transpose()? {
            Some(None) => return Ok(vec![]),
            Some(place) => place,
            None => None,
        };
        let until = until.map(|signature| self.place(signature)).transpose()?.flatten();
        self.database.about(address, until, before, limit)
    }

    fn place(&self, signature: &str) -> Result<Option<Place>, ChainFileError> {
        let Ok(bytes) = signature_bytes(signature) else { return Ok(None) };
        Ok(self.database.listed(&bytes)?.map(|(place, _)| place))
    }

    /// The result of a transaction. None if it is not known.
    pub fn landed(&self, signature: &str) -> Result<Option<LandedTransaction>, ChainFileError> {
        if let Some(status) = self.read().get(signature) {
            return Ok(LandedTransaction::of(status));
        }
        let listed = self.database.listed(&signature_bytes(signature)?)?;
        let landed = |(place, line): (Place, Line)| {
            let result = line.err.map_or(Ok(()), |error| Err(error.into()));
            LandedTransaction { slot: place.slot, result }
        };
        Ok(listed.map(landed))
    }

    #[cfg(test)]
    pub fn database_count(&self) -> Result<u64, ChainFileError> {
        self.database.count()
    }

    // A panic elsewhere leaves the table whole: each change is one call.
    fn read(&self) -> RwLockReadGuard<'_, HashMap<String, SurfnetTransactionStatus>> {
        self.pending.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<String, SurfnetTransactionStatus>> {
        self.pending.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An error as Surfpool passes it on.
fn stored(table: &str) -> impl Fn(ChainFileError) -> StorageError + '_ {
    move |error| StorageError::DeserializeValueError(table.to_owned(), serde::de::Error::custom(error))
}

struct Transactions(Arc<History>);

impl Storage<String, SurfnetTransactionStatus> for Transactions {
    fn store(&mut self, signature: String, status: SurfnetTransactionStatus) -> StorageResult<()> {
        self.0.write().insert(signature, status);
        Ok(())
    }

    fn clear(&mut self) -> StorageResult<()> {
        self.0.write().clear();
        self.0.database.clear_history().map_err(stored("transactions"))
    }

    fn get(&self, signature: &String) -> StorageResult<Option<SurfnetTransactionStatus>> {
        if let Some(status) = self.0.read().get(signature) {
            return Ok(Some(status.clone()));
        }
        match signature_bytes(signature) {
            Ok(bytes) => self.0.database.transaction(&bytes).map_err(stored("transactions")),
            Err(_) => Ok(None),
        }
    }

    fn take(&mut self, signature: &String) -> StorageResult<Option<SurfnetTransactionStatus>> {
        Ok(self.0.write().remove(signature))
    }

    fn keys(&self) -> StorageResult<Vec<String>> {
        Ok(self.0.read().keys().cloned().collect())
    }

    /// Those of the block under way only. Lists by address, which are the reason to walk all, are answered by
    /// [`History::about`].
    fn into_iter(&self) -> StorageResult<Box<dyn Iterator<Item = (String, SurfnetTransactionStatus)> + '_>> {
        let pending: Vec<_> = self.0.read().iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        Ok(Box::new(pending.into_iter()))
    }

    fn count(&self) -> StorageResult<u64> {
        let pending = u64::try_from(self.0.read().len()).unwrap_or(u64::MAX);
        Ok(pending.saturating_add(self.0.database.count().map_err(stored("transactions"))?))
    }

    fn clone_box(&self) -> Box<dyn Storage<String, SurfnetTransactionStatus>> {
        Box::new(Self(Arc::clone(&self.0)))
    }
}

/// A header is written with its block, and none goes without the transactions of its block.
struct Headers(Arc<History>);

impl Storage<u64, BlockHeader> for Headers {
    fn store(&mut self, _: u64, _: BlockHeader) -> StorageResult<()> {
        Ok(())
    }

    fn clear(&mut self) -> StorageResult<()> {
        Ok(())
    }

    fn get(&self, slot: &u64) -> StorageResult<Option<BlockHeader>> {
        self.0.database.header(*slot).map_err(stored("blocks"))
    }

    fn take(&mut self, _: &u64) -> StorageResult<Option<BlockHeader>> {
        Ok(None)
    }

    fn keys(&self) -> StorageResult<Vec<u64>> {
        Ok(self.into_iter()?.map(|(slot, _)| slot).collect())
    }

    /// The newest only, for the estimate of fees.
    fn into_iter(&self) -> StorageResult<Box<dyn Iterator<Item = (u64, BlockHeader)> + '_>> {
        Ok(Box::new(self.0.database.newest_headers(NEWEST).map_err(stored("blocks"))?.into_iter()))
    }

    fn count(&self) -> StorageResult<u64> {
        Ok(u64::try_from(self.keys()?.len()).unwrap_or(u64::MAX))
    }

    fn clone_box(&self) -> Box<dyn Storage<u64, BlockHeader>> {
        Box::new(Self(Arc::clone(&self.0)))
    }
}
