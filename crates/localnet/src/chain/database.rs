//! The chain's database: all accounts, all transactions by signature and by address, and the headers of all blocks that
//! have transactions. It grows on the disk and not in memory.
//!
//! A write is atomic, and outlives the process when it returns. It outlives a power cut after the next
//! [`ChainDatabase::sync`].

use std::{collections::BTreeMap, ops::Bound, path::Path};

use anyhow::{Context, ensure};
use fjall::{Database, Keyspace, KeyspaceCreateOptions, OwnedWriteBatch, PersistMode};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use solana_account::Account;
use solana_pubkey::Pubkey;
use solana_rpc_client_api::response::RpcConfirmedTransactionStatusWithSignature;
use solana_signature::Signature;
use solana_transaction_status::{VersionedTransactionWithStatusMeta, extract_memos::extract_and_fmt_memos};
use surfpool_core::{
    surfnet::BlockHeader,
    types::{SurfnetTransactionStatus, TransactionWithStatusMeta},
};

/// The folder of the database.
pub const FOLDER: &str = "database";
/// A file that chains of earlier versions have in its place.
const EARLIER_FORMAT: &str = "chain.redb";
/// Blocks of files that are kept in memory.
const CACHE_BYTES: u64 = 16 * 1024 * 1024;
/// What a start reads again at most.
const JOURNAL_BYTES: u64 = 64 * 1024 * 1024;
/// What was written to one table and is not in its files yet.
const MEMTABLE_BYTES: u64 = 4 * 1024 * 1024;
/// The one key of [`ChainDatabase::state`].
const STATE_KEY: &[u8] = b"state";

/// Where the chain stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    pub slot: u64,
    pub block_height: u64,
    /// Index of the latest block hash, as Surfpool numbers them.
    pub tip_index: u64,
    /// The chain's clock in milliseconds since 1970. Ahead of the machine's after a time travel.
    pub clock_unix_ms: u64,
    /// The machine's clock when this was written.
    pub saved_at_unix_ms: u64,
}

/// One block with its transactions and its effect.
#[derive(Debug)]
pub struct Block {
    /// Where the chain stands after it.
    pub position: Position,
    pub slot: u64,
    pub header: BlockHeader,
    /// In the order of their execution.
    pub transactions: Vec<(Signature, SurfnetTransactionStatus)>,
    /// The accounts that it changed. `None`: the account was closed.
    pub accounts: Vec<(Pubkey, Option<Account>)>,
}

/// The chain as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainState {
    /// Identifies this chain.
    pub genesis_hash: String,
    pub position: Position,
    /// False while a network uses the chain; still false at a start, it says that the last run was killed.
    pub clean: bool,
}

pub struct ChainDatabase {
    database: Database,
    /// One value, as JSON.
    state: Keyspace,
    /// By address.
    accounts: Keyspace,
    /// By slot, as JSON.
    headers: Keyspace,
    /// By signature, as JSON.
    transactions: Keyspace,
    /// What a list shows of a transaction, by signature, as JSON.
    lines: Keyspace,
    /// Signatures by address and [`Place`], for walking an address's transactions in order.
    by_address: Keyspace,
}

/// Where a transaction stands: its slot, and its index in the block. Later ones are greater.
type Place = (u64, u32);

impl ChainDatabase {
    /// Opens or makes the database.
    pub fn open(dir: &Path) -> anyhow::Result<Self> {
        let path = dir.join(FOLDER);
        let open = || {
            ensure!(path.exists() || !dir.join(EARLIER_FORMAT).exists(), "an earlier format");
            let database =
                Database::builder(&path).cache_size(CACHE_BYTES).max_journaling_size(JOURNAL_BYTES).open()?;
            let options = || KeyspaceCreateOptions::default().max_memtable_size(MEMTABLE_BYTES);
            let table = |name| database.keyspace(name, options);
            let opened = Self {
                state: table("state")?,
                accounts: table("accounts")?,
                headers: table("headers")?,
                transactions: table("transactions")?,
                lines: table("lines")?,
                by_address: table("by_address")?,
                database,
            };
            opened.state()?;
            anyhow::Ok(opened)
        };
        let refusal = || format!("{} is not a chain of this version; `crtx up --fresh` starts over", path.display());
        open().with_context(refusal)
    }

    /// `None` for a chain that has never been saved.
    pub fn state(&self) -> anyhow::Result<Option<ChainState>> {
        read(&self.state, STATE_KEY)
    }

    pub fn accounts(&self) -> anyhow::Result<Vec<(Pubkey, Account)>> {
        let read = |entry: fjall::Guard| {
            let (address, value) = entry.into_inner()?;
            Ok((Pubkey::try_from(&*address).context("an address")?, account_of(&value).context("a short account")?))
        };
        self.accounts.iter().map(read).collect()
    }

    /// Adds a block, and what the chain is after it.
    pub fn add(&self, block: &Block, state: &ChainState) -> anyhow::Result<()> {
        let mut batch = self.database.batch();
        batch.insert(&self.headers, block.slot.to_be_bytes(), serde_json::to_vec(&block.header)?);
        for (index, (signature, status)) in (0..).zip(&block.transactions) {
            self.add_transaction(&mut batch, block, index, signature, status)?;
        }
        for (address, account) in &block.accounts {
            match account {
                Some(account) => batch.insert(&self.accounts, address.as_array(), account_bytes(account)),
                None => batch.remove(&self.accounts, address.as_array()),
            }
        }
        self.commit(batch, state)
    }

    fn add_transaction(
        &self,
        batch: &mut OwnedWriteBatch,
        block: &Block,
        index: u32,
        signature: &Signature,
        status: &SurfnetTransactionStatus,
    ) -> anyhow::Result<()> {
        let SurfnetTransactionStatus::Processed(processed) = status else { return Ok(()) };
        let TransactionWithStatusMeta { transaction, meta, .. } = &processed.0;
        let memo = extract_and_fmt_memos(&VersionedTransactionWithStatusMeta {
            transaction: transaction.clone(),
            meta: meta.clone(),
        });
        let line = RpcConfirmedTransactionStatusWithSignature {
            signature: signature.to_string(),
            slot: block.slot,
            err: meta.status.clone().err().map(Into::into),
            memo,
            block_time: Some(block.header.block_time),
            confirmation_status: None,
            transaction_index: Some(index),
        };
        batch.insert(&self.transactions, signature.as_array(), serde_json::to_vec(status)?);
        batch.insert(&self.lines, signature.as_array(), serde_json::to_vec(&line)?);
        let loaded = meta.loaded_addresses.writable.iter().chain(&meta.loaded_addresses.readonly);
        for address in transaction.message.static_account_keys().iter().chain(loaded) {
            batch.insert(&self.by_address, key(address, (block.slot, index)), signature.as_array());
        }
        Ok(())
    }

    /// Saves the state alone.
    pub fn save_state(&self, state: &ChainState) -> anyhow::Result<()> {
        self.commit(self.database.batch(), state)
    }

    /// Saves the state and makes the accounts what `accounts` says.
    pub fn save_all(&self, state: &ChainState, accounts: &BTreeMap<Pubkey, Account>) -> anyhow::Result<()> {
        let mut batch = self.database.batch();
        for (address, _) in self.accounts()? {
            batch.remove(&self.accounts, address.as_array());
        }
        for (address, account) in accounts {
            batch.insert(&self.accounts, address.as_array(), account_bytes(account));
        }
        self.commit(batch, state)?;
        self.sync()
    }

    fn commit(&self, mut batch: OwnedWriteBatch, state: &ChainState) -> anyhow::Result<()> {
        batch.insert(&self.state, STATE_KEY, serde_json::to_vec(state)?);
        Ok(batch.durability(Some(PersistMode::Buffer)).commit()?)
    }

    /// What was written so far outlives a power cut.
    pub fn sync(&self) -> anyhow::Result<()> {
        Ok(self.database.persist(PersistMode::SyncData)?)
    }

    pub fn transaction(&self, signature: &Signature) -> anyhow::Result<Option<SurfnetTransactionStatus>> {
        read(&self.transactions, signature.as_array())
    }

    pub fn header(&self, slot: u64) -> anyhow::Result<Option<BlockHeader>> {
        read(&self.headers, &slot.to_be_bytes())
    }

    /// The newest headers with their slots, at most `limit`.
    pub fn newest_headers(&self, limit: usize) -> anyhow::Result<Vec<(u64, BlockHeader)>> {
        let read = |entry: fjall::Guard| {
            let (slot, header) = entry.into_inner()?;
            Ok((u64::from_be_bytes(slot.as_ref().try_into()?), serde_json::from_slice(&header)?))
        };
        self.headers.iter().rev().take(limit).map(read).collect()
    }

    /// Transactions about an address, newest first, between two signatures that are both left out. One that is not
    /// known leaves nothing (`before`) or has no effect (`until`), as on other nodes.
    pub fn about(
        &self,
        address: &Pubkey,
        before: Option<Signature>,
        until: Option<Signature>,
        limit: usize,
    ) -> anyhow::Result<Vec<RpcConfirmedTransactionStatusWithSignature>> {
        let before = match before.map(|signature| self.place(&signature)).transpose()? {
            Some(None) => return Ok(vec![]),
            before => before.flatten(),
        };
        let until = until.map(|signature| self.place(&signature)).transpose()?.flatten();
        if until >= before && before.is_some() {
            return Ok(vec![]);
        }
        let first = until.map_or(Bound::Included((0, 0)), Bound::Excluded);
        let last = before.map_or(Bound::Included((u64::MAX, u32::MAX)), Bound::Excluded);
        let range = (first.map(|place| key(address, place)), last.map(|place| key(address, place)));
        let read = |entry: fjall::Guard| {
            let signature = entry.value()?.as_ref().try_into()?;
            let line = self.line(&signature)?.context("a transaction is listed and not there")?;
            Ok(RpcConfirmedTransactionStatusWithSignature { transaction_index: None, ..line })
        };
        self.by_address.range(range).rev().take(limit).map(read).collect()
    }

    /// What a list shows of a transaction.
    pub fn line(&self, signature: &Signature) -> anyhow::Result<Option<RpcConfirmedTransactionStatusWithSignature>> {
        read(&self.lines, signature.as_array())
    }

    fn place(&self, signature: &Signature) -> anyhow::Result<Option<Place>> {
        Ok(self.line(signature)?.map(|line| (line.slot, line.transaction_index.unwrap_or_default())))
    }

    /// Forgets all transactions and headers: the network was reset.
    pub fn clear_history(&self) -> anyhow::Result<()> {
        for table in [&self.by_address, &self.lines, &self.transactions, &self.headers] {
            table.clear()?;
        }
        Ok(())
    }
}

/// A value that is stored as JSON.
fn read<T: DeserializeOwned>(table: &Keyspace, key: &[u8]) -> anyhow::Result<Option<T>> {
    let value = table.get(key)?;
    let name = || format!("the table `{}`", table.name());
    value.map(|value| serde_json::from_slice(&value).with_context(name)).transpose()
}

/// Big-endian, so that the order of the bytes is that of the places.
fn key(address: &Pubkey, (slot, index): Place) -> Vec<u8> {
    [address.as_ref(), &slot.to_be_bytes(), &index.to_be_bytes()].concat()
}

/// Lamports, rent epoch, owner, data.
fn account_bytes(account: &Account) -> Vec<u8> {
    let numbers = [account.lamports.to_le_bytes(), account.rent_epoch.to_le_bytes()].concat();
    [&numbers, account.owner.as_ref(), &account.data].concat()
}

fn account_of(bytes: &[u8]) -> Option<Account> {
    let (lamports, rest) = bytes.split_first_chunk()?;
    let (rent_epoch, rest) = rest.split_first_chunk()?;
    let (owner, data) = rest.split_first_chunk()?;
    Some(Account {
        lamports: u64::from_le_bytes(*lamports),
        data: data.to_vec(),
        owner: Pubkey::new_from_array(*owner),
        executable: false,
        rent_epoch: u64::from_le_bytes(*rent_epoch),
    })
}

#[cfg(test)]
mod tests;
