//! The chain's transactions and block headers as Surfpool sees them: in the database, and in memory until their block
//! is written.

use std::{collections::HashMap, sync::Arc};

use parking_lot::RwLock;
use surfpool_core::{
    storage::{Storage, StorageError, StorageResult},
    surfnet::BlockHeader,
    types::SurfnetTransactionStatus,
};

use super::database::ChainDatabase;

/// Blocks that Surfpool walks through for methods about the latest ones.
const NEWEST_BLOCKS: usize = 300;

/// An error as Surfpool passes it on.
fn stored(table: &str) -> impl Fn(anyhow::Error) -> StorageError + '_ {
    move |error| StorageError::DeserializeValueError(table.to_owned(), serde::de::Error::custom(format!("{error:#}")))
}

/// Surfpool's table of transactions. Clones share what they hold.
#[derive(Clone)]
pub struct Transactions {
    database: Arc<ChainDatabase>,
    /// Executed, and in no block yet.
    waiting: Arc<RwLock<HashMap<String, SurfnetTransactionStatus>>>,
}

impl Transactions {
    pub fn new(database: Arc<ChainDatabase>) -> Self {
        Self { database, waiting: Arc::default() }
    }
}

impl Storage<String, SurfnetTransactionStatus> for Transactions {
    fn store(&mut self, signature: String, status: SurfnetTransactionStatus) -> StorageResult<()> {
        self.waiting.write().insert(signature, status);
        Ok(())
    }

    fn clear(&mut self) -> StorageResult<()> {
        self.waiting.write().clear();
        self.database.clear_history().map_err(stored("transactions"))
    }

    fn get(&self, signature: &String) -> StorageResult<Option<SurfnetTransactionStatus>> {
        if let Some(status) = self.waiting.read().get(signature) {
            return Ok(Some(status.clone()));
        }
        match signature.parse() {
            Ok(signature) => self.database.transaction(&signature).map_err(stored("transactions")),
            Err(_) => Ok(None),
        }
    }

    /// Takes out of memory; what is in the database stays.
    fn take(&mut self, signature: &String) -> StorageResult<Option<SurfnetTransactionStatus>> {
        Ok(self.waiting.write().remove(signature))
    }

    fn keys(&self) -> StorageResult<Vec<String>> {
        Ok(self.waiting.read().keys().cloned().collect())
    }

    /// Only what is in no block yet. Lists by address, which are the reason to walk through all, are answered by
    /// [`ChainDatabase::about`].
    fn into_iter(&self) -> StorageResult<Box<dyn Iterator<Item = (String, SurfnetTransactionStatus)> + '_>> {
        Ok(Box::new(self.waiting.read().clone().into_iter()))
    }

    /// Of what [`Self::into_iter`] goes through. Nothing asks for it.
    fn count(&self) -> StorageResult<u64> {
        Ok(u64::try_from(self.waiting.read().len()).unwrap_or(u64::MAX))
    }

    fn clone_box(&self) -> Box<dyn Storage<String, SurfnetTransactionStatus>> {
        Box::new(self.clone())
    }
}

/// Surfpool's table of block headers. The block maker writes them with their blocks; what Surfpool
/// stores, removes or clears here does nothing, because it does the same to the transactions.
#[derive(Clone)]
pub struct Headers(pub Arc<ChainDatabase>);

impl Storage<u64, BlockHeader> for Headers {
    fn store(&mut self, _: u64, _: BlockHeader) -> StorageResult<()> {
        Ok(())
    }

    fn clear(&mut self) -> StorageResult<()> {
        Ok(())
    }

    fn get(&self, slot: &u64) -> StorageResult<Option<BlockHeader>> {
        self.0.header(*slot).map_err(stored("blocks"))
    }

    fn take(&mut self, slot: &u64) -> StorageResult<Option<BlockHeader>> {
        self.get(slot)
    }

    fn keys(&self) -> StorageResult<Vec<u64>> {
        Ok(self.into_iter()?.map(|(slot, _)| slot).collect())
    }

    /// The newest headers only.
    fn into_iter(&self) -> StorageResult<Box<dyn Iterator<Item = (u64, BlockHeader)> + '_>> {
        Ok(Box::new(self.0.newest_headers(NEWEST_BLOCKS).map_err(stored("blocks"))?.into_iter()))
    }

    fn count(&self) -> StorageResult<u64> {
        Ok(u64::try_from(self.into_iter()?.count()).unwrap_or(u64::MAX))
    }

    fn clone_box(&self) -> Box<dyn Storage<u64, BlockHeader>> {
        Box::new(self.clone())
    }
}
