//! The chain's database: one file with all accounts, all transactions by signature and by address, and the headers
//! of all blocks that have transactions. It grows on the disk and not in memory.
//!
//! A commit is atomic and synced. Every value carries a checksum, since the database itself does not look at its
//! pages' checksums when it reads.

use std::{collections::BTreeMap, path::Path};

use redb::{Database, Durability, ReadableDatabase, ReadableTable, ReadableTableMetadata, TableDefinition};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use solana_account::Account;
use solana_pubkey::Pubkey;
use solana_rpc_client_api::response::RpcConfirmedTransactionStatusWithSignature;
use solana_transaction_status::{VersionedTransactionWithStatusMeta, extract_memos::extract_and_fmt_memos};
use surfpool_core::{
    surfnet::BlockHeader,
    types::{SurfnetTransactionStatus, TransactionWithStatusMeta},
};

use super::{
    block::{Block, Position, SavedAccount},
    error::ChainFileError,
};

const FILE: &str = "chain.redb";
const FORMAT: u32 = 2;
/// Pages that are kept in memory.
const CACHE_BYTES: usize = 16 * 1024 * 1024;
const COMPRESSION_LEVEL: i32 = 1;

/// One value, under the empty key.
const STATE: TableDefinition<&str, &[u8]> = TableDefinition::new("state");
const ACCOUNTS: TableDefinition<&[u8; 32], &[u8]> = TableDefinition::new("accounts");
const HEADERS: TableDefinition<u64, &[u8]> = TableDefinition::new("headers");
const TRANSACTIONS: TableDefinition<&[u8; 64], &[u8]> = TableDefinition::new("transactions");
/// What a list of transactions shows of each.
const LISTED: TableDefinition<&[u8; 64], &[u8]> = TableDefinition::new("listed");
/// Address and [`Place`] to signature, for walking an address's transactions in order.
const BY_ADDRESS: TableDefinition<&[u8; 44], &[u8; 64]> = TableDefinition::new("by_address");

/// The chain as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    pub format: u32,
    /// Identifies this chain.
    pub genesis_hash: String,
    /// The number of the last block that is in the database.
    pub last_number: u64,
    pub position: Position,
    /// False while a network uses the chain; still false at a start, it says that the last run was killed.
    pub clean: bool,
}

impl State {
    pub const fn new(genesis_hash: String, position: Position) -> Self {
        Self { format: FORMAT, genesis_hash, last_number: 0, position, clean: false }
    }
}

/// Where a transaction stands: its slot, and its index in the block. Later ones are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub slot: u64,
    pub index: u32,
}

/// A transaction as a list shows it.
#[derive(Clone, Debug)]
pub struct Listed {
    pub place: Place,
    /// All accounts that it names.
    pub addresses: Vec<Pubkey>,
    pub line: RpcConfirmedTransactionStatusWithSignature,
}

/// The transactions of a block as lists show them.
pub fn listed(block: &Block) -> Vec<Listed> {
    let describe = |(index, (signature, status)): (usize, &(String, SurfnetTransactionStatus))| {
        let SurfnetTransactionStatus::Processed(processed) = status else { return None };
        let TransactionWithStatusMeta { transaction, meta, .. } = &processed.0;
        let mut addresses = transaction.message.static_account_keys().to_vec();
        addresses.extend(meta.loaded_addresses.writable.iter().chain(&meta.loaded_addresses.readonly));
        let memo = extract_and_fmt_memos(&VersionedTransactionWithStatusMeta {
            transaction: transaction.clone(),
            meta: meta.clone(),
        });
        let line = RpcConfirmedTransactionStatusWithSignature {
            signature: signature.clone(),
            slot: block.slot,
            err: meta.status.clone().err().map(Into::into),
            memo,
            block_time: Some(block.header.block_time),
            confirmation_status: None,
            transaction_index: None,
        };
        Some(Listed { place: Place { slot: block.slot, index: u32::try_from(index).ok()? }, addresses, line })
    };
    block.transactions.iter().enumerate().filter_map(describe).collect()
}

pub struct ChainDatabase {
    database: Database,
}

impl ChainDatabase {
    /// Opens or makes the file.
    pub fn open(dir: &Path) -> Result<Self, ChainFileError> {
        let path = dir.join(FILE);
        if !path.exists() && dir.join("snapshot.json").exists() {
            return Err(ChainFileError::Form { path: dir.to_owned(), problem: "an earlier format".to_owned() });
        }
        let mut builder = Database::builder();
        builder.set_cache_size(CACHE_BYTES);
        let database =
            builder.create(&path).map_err(|error| ChainFileError::Form { path, problem: error.to_string() })?;
        let database = Self { database };
        database.write(|write| {
            write.open_table(STATE).map_err(problem)?;
            write.open_table(ACCOUNTS).map_err(problem)?;
            make_history(write)
        })?;
        Ok(database)
    }

    /// `None` for a chain that has never been saved.
    pub fn state(&self) -> Result<Option<State>, ChainFileError> {
        let read = self.database.begin_read().map_err(problem)?;
        let table = read.open_table(STATE).map_err(problem)?;
        let Some(value) = table.get("").map_err(problem)? else { return Ok(None) };
        let state: State = from_json(unsealed(value.value())?)?;
        match state.format {
            FORMAT => Ok(Some(state)),
            other => Err(ChainFileError::Damaged(format!("format {other}"))),
        }
    }

    pub fn accounts(&self) -> Result<Vec<(Pubkey, Account)>, ChainFileError> {
        let read = self.database.begin_read().map_err(problem)?;
        let table = read.open_table(ACCOUNTS).map_err(problem)?;
        let mut accounts = Vec::new();
        for entry in table.iter().map_err(problem)? {
            let (address, value) = entry.map_err(problem)?;
            accounts.push((Pubkey::new_from_array(*address.value()), account_of(unsealed(value.value())?)?));
        }
        Ok(accounts)
    }

    /// Adds blocks. Those that are there already are left out.
    pub fn add(&self, blocks: &[impl AsRef<Block>]) -> Result<(), ChainFileError> {
        let Some(last) = blocks.last() else { return Ok(()) };
        let last = last.as_ref();
        let before = self.state()?.ok_or_else(|| ChainFileError::Damaged("no state".to_owned()))?;
        let after = State { last_number: last.number, position: last.position.clone(), ..before };
        self.write(|write| {
            for block in blocks {
                write_block(write, block.as_ref())?;
            }
            write_state(write, &after)
        })
    }

    /// Saves the state alone.
    pub fn save_state(&self, state: &State) -> Result<(), ChainFileError> {
        self.write(|write| write_state(write, state))
    }

    /// Saves the state and makes the accounts what `accounts` says.
    pub fn save_all(&self, state: &State, accounts: &BTreeMap<Pubkey, Account>) -> Result<(), ChainFileError> {
        self.write(|write| {
            let mut table = write.open_table(ACCOUNTS).map_err(problem)?;
            let gone = |address: &[u8; 32]| !accounts.contains_key(&Pubkey::new_from_array(*address));
            table.retain(|address, _| !gone(address)).map_err(problem)?;
            for (address, account) in accounts {
                let value = sealed(&account_bytes(account));
                let same = table.get(&address.to_bytes()).map_err(problem)?.is_some_and(|old| old.value() == value);
                if !same {
                    table.insert(&address.to_bytes(), value.as_slice()).map_err(problem)?;
                }
            }
            drop(table);
            write_state(write, state)
        })
    }

    /// One synced transaction. A crash leaves the database as it was before or after; opening it again takes no
    /// longer for a large one.
    fn write(
        &self,
        change: impl FnOnce(&redb::WriteTransaction) -> Result<(), ChainFileError>,
    ) -> Result<(), ChainFileError> {
        let mut write = self.database.begin_write().map_err(problem)?;
        write.set_durability(Durability::Immediate).map_err(problem)?;
        write.set_quick_repair(true);
        change(&write)?;
        write.commit().map_err(problem)
    }

    pub fn transaction(&self, signature: &[u8; 64]) -> Result<Option<SurfnetTransactionStatus>, ChainFileError> {
        let read = self.database.begin_read().map_err(problem)?;
        let table = read.open_table(TRANSACTIONS).map_err(problem)?;
        let Some(value) = table.get(signature).map_err(problem)? else { return Ok(None) };
        let json = zstd::decode_all(unsealed(value.value())?).map_err(damaged)?;
        from_json(&json).map(Some)
    }

    pub fn header(&self, slot: u64) -> Result<Option<BlockHeader>, ChainFileError> {
        let read = self.database.begin_read().map_err(problem)?;
        let table = read.open_table(HEADERS).map_err(problem)?;
        let value = table.get(slot).map_err(problem)?;
        value.map(|value| from_json(unsealed(value.value())?)).transpose()
    }

    /// How many transactions there are.
    pub fn count(&self) -> Result<u64, ChainFileError> {
        let read = self.database.begin_read().map_err(problem)?;
        read.open_table(TRANSACTIONS).map_err(problem)?.len().map_err(problem)
    }

    /// Where a transaction stands.
    pub fn place(&self, signature: &[u8; 64]) -> Result<Option<Place>, ChainFileError> {
        let read = self.database.begin_read().map_err(problem)?;
        let table = read.open_table(LISTED).map_err(problem)?;
        let value = table.get(signature).map_err(problem)?;
        Ok(value.map(|value| line_of(value.value())).transpose()?.map(|(place, _)| place))
    }

    /// Transactions about an address between two places, both left out; the newest first, at most `limit`.
    pub fn about(
        &self,
        address: &Pubkey,
        until: Option<Place>,
        before: Option<Place>,
        limit: usize,
    ) -> Result<Vec<RpcConfirmedTransactionStatusWithSignature>, ChainFileError> {
        let read = self.database.begin_read().map_err(problem)?;
        let places = read.open_table(BY_ADDRESS).map_err(problem)?;
        let lines = read.open_table(LISTED).map_err(problem)?;
        let first = key(address, until.unwrap_or(Place { slot: 0, index: 0 }));
        let last = key(address, before.unwrap_or(Place { slot: u64::MAX, index: u32::MAX }));
        if first > last {
            return Ok(vec![]);
        }
        let mut found = Vec::new();
        for entry in places.range::<&[u8; 44]>(&first..&last).map_err(problem)?.rev() {
            let (place, signature) = entry.map_err(problem)?;
            if until.is_some() && *place.value() == first || found.len() >= limit {
                break;
            }
            let line = lines.get(signature.value()).map_err(problem)?;
            let line = line.ok_or_else(|| ChainFileError::Damaged("a transaction without its line".to_owned()))?;
            found.push(line_of(line.value())?.1);
        }
        Ok(found)
    }

    /// Forgets all transactions and headers: the network was reset.
    pub fn clear_history(&self) -> Result<(), ChainFileError> {
        self.write(|write| {
            write.delete_table(HEADERS).map_err(problem)?;
            write.delete_table(TRANSACTIONS).map_err(problem)?;
            write.delete_table(LISTED).map_err(problem)?;
            write.delete_table(BY_ADDRESS).map_err(problem)?;
            make_history(write)
        })
    }
}

fn make_history(write: &redb::WriteTransaction) -> Result<(), ChainFileError> {
    write.open_table(HEADERS).map_err(problem)?;
    write.open_table(TRANSACTIONS).map_err(problem)?;
    write.open_table(LISTED).map_err(problem)?;
    write.open_table(BY_ADDRESS).map_err(problem)?;
    Ok(())
}

fn write_state(write: &redb::WriteTransaction, state: &State) -> Result<(), ChainFileError> {
    let mut table = write.open_table(STATE).map_err(problem)?;
    table.insert("", sealed(&json(state)?).as_slice()).map_err(problem)?;
    Ok(())
}

fn write_block(write: &redb::WriteTransaction, block: &Block) -> Result<(), ChainFileError> {
    let mut headers = write.open_table(HEADERS).map_err(problem)?;
    headers.insert(block.slot, sealed(&json(&block.header)?).as_slice()).map_err(problem)?;
    let mut transactions = write.open_table(TRANSACTIONS).map_err(problem)?;
    for (signature, status) in &block.transactions {
        let compressed = zstd::encode_all(json(status)?.as_slice(), COMPRESSION_LEVEL).map_err(damaged)?;
        transactions.insert(&signature_bytes(signature)?, sealed(&compressed).as_slice()).map_err(problem)?;
    }
    let mut lines = write.open_table(LISTED).map_err(problem)?;
    let mut places = write.open_table(BY_ADDRESS).map_err(problem)?;
    for listed in listed(block) {
        let signature = signature_bytes(&listed.line.signature)?;
        let mut value = place_bytes(listed.place).to_vec();
        value.extend(json(&listed.line)?);
        lines.insert(&signature, sealed(&value).as_slice()).map_err(problem)?;
        for address in &listed.addresses {
            places.insert(&key(address, listed.place), &signature).map_err(problem)?;
        }
    }
    let mut accounts = write.open_table(ACCOUNTS).map_err(problem)?;
    for (address, change) in &block.accounts {
        let address = address.parse::<Pubkey>().map_err(damaged)?.to_bytes();
        match change.as_ref().map(SavedAccount::to_account) {
            None => drop(accounts.remove(&address).map_err(problem)?),
            Some(None) => return Err(ChainFileError::Damaged("an account that cannot be read".to_owned())),
            Some(Some(account)) => {
                accounts.insert(&address, sealed(&account_bytes(&account)).as_slice()).map_err(problem)?;
            }
        }
    }
    Ok(())
}

/// The 64 bytes of a signature in base58.
pub fn signature_bytes(text: &str) -> Result<[u8; 64], ChainFileError> {
    let bytes = bs58::decode(text).into_vec().map_err(damaged)?;
    bytes.try_into().map_err(|_| ChainFileError::Damaged(format!("{text} is not a signature")))
}

fn key(address: &Pubkey, place: Place) -> [u8; 44] {
    let mut key = [0; 44];
    let bytes = address.as_ref().iter().copied().chain(place_bytes(place));
    key.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
    key
}

/// Big-endian, so that the order of the bytes is that of the places.
fn place_bytes(place: Place) -> [u8; 12] {
    let mut bytes = [0; 12];
    let from = place.slot.to_be_bytes().into_iter().chain(place.index.to_be_bytes());
    bytes.iter_mut().zip(from).for_each(|(to, from)| *to = from);
    bytes
}

fn line_of(value: &[u8]) -> Result<(Place, RpcConfirmedTransactionStatusWithSignature), ChainFileError> {
    let short = || ChainFileError::Damaged("a short line".to_owned());
    let (slot, rest) = unsealed(value)?.split_first_chunk::<8>().ok_or_else(short)?;
    let (index, rest) = rest.split_first_chunk::<4>().ok_or_else(short)?;
    let place = Place { slot: u64::from_be_bytes(*slot), index: u32::from_be_bytes(*index) };
    Ok((place, from_json(rest)?))
}

/// Lamports, rent epoch, owner, data.
fn account_bytes(account: &Account) -> Vec<u8> {
    let mut bytes = account.lamports.to_le_bytes().to_vec();
    bytes.extend(account.rent_epoch.to_le_bytes());
    bytes.extend(account.owner.as_ref());
    bytes.extend(&account.data);
    bytes
}

fn account_of(bytes: &[u8]) -> Result<Account, ChainFileError> {
    let short = || ChainFileError::Damaged("a short account".to_owned());
    let (lamports, rest) = bytes.split_first_chunk::<8>().ok_or_else(short)?;
    let (rent_epoch, rest) = rest.split_first_chunk::<8>().ok_or_else(short)?;
    let (owner, data) = rest.split_first_chunk::<32>().ok_or_else(short)?;
    Ok(Account {
        lamports: u64::from_le_bytes(*lamports),
        data: data.to_vec(),
        owner: Pubkey::new_from_array(*owner),
        executable: false,
        rent_epoch: u64::from_le_bytes(*rent_epoch),
    })
}

/// The value with its checksum in front.
fn sealed(value: &[u8]) -> Vec<u8> {
    [crc32fast::hash(value).to_le_bytes().as_slice(), value].concat()
}

fn unsealed(bytes: &[u8]) -> Result<&[u8], ChainFileError> {
    bytes
        .split_first_chunk::<4>()
        .filter(|(checksum, value)| u32::from_le_bytes(**checksum) == crc32fast::hash(value))
        .map(|(_, value)| value)
        .ok_or_else(|| ChainFileError::Damaged("a checksum does not match".to_owned()))
}

fn json<T: Serialize>(value: &T) -> Result<Vec<u8>, ChainFileError> {
    serde_json::to_vec(value).map_err(damaged)
}

fn from_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ChainFileError> {
    serde_json::from_slice(bytes).map_err(damaged)
}

fn problem(error: impl Into<redb::Error>) -> ChainFileError {
    match error.into() {
        redb::Error::Corrupted(what) => ChainFileError::Damaged(what),
        other => ChainFileError::Database(other.to_string()),
    }
}

fn damaged(error: impl ToString) -> ChainFileError {
    ChainFileError::Damaged(error.to_string())
}

#[cfg(test)]
mod tests;
