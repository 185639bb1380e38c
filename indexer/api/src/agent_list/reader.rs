//! Reads the rows of the list from the database: all of them at first, then what changed since the last look.

use std::{collections::HashMap, mem, sync::Arc};

use chrono::{DateTime, TimeDelta, Utc};
use crtx_store::{
    PgPool, StoreError,
    reads::agent_list::{self, After, ListRow, ListedRow, Look, LookHead, Removed},
};
use solana_pubkey::Pubkey;

use super::{
    model::{Agent, Model},
    names::Names,
    row::Address,
    search::Document,
    table::Table,
};

/// Rows of one query.
const PAGE: u32 = 2_000;
/// Documents of one query: they can be large.
const DOCUMENTS: usize = 250;
/// Removed rows that are worth more than reading everything again.
const MAX_REMOVED: u32 = 10_000;
/// After a longer time, removals can be forgotten: `prune_removals` in the database keeps them for a day.
const MAX_PAUSE: TimeDelta = TimeDelta::hours(1);

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the agents were removed while they were read")]
    Emptied,
    #[error("a table could not be made: {0}")]
    Interrupted(#[from] tokio::task::JoinError),
}

/// A table, and the slot that it shows.
#[derive(Clone, Debug)]
pub struct Shown {
    pub table: Arc<Table>,
    /// The mirror had reached this slot when the rows were read.
    pub slot: Option<u64>,
}

/// Follows the tables of the database.
#[derive(Default)]
pub struct Reader {
    model: Model,
    /// The last look. `None`: everything is to be read.
    last: Option<LookHead>,
    names: Arc<Names>,
}

/// Rows of one look.
#[derive(Default)]
struct Changes {
    creators: Vec<(Address, bool)>,
    removed: Vec<Pubkey>,
    rows: Vec<ListRow>,
}

impl Reader {
    /// The names of the agents that were read.
    pub fn names(&self) -> Arc<Names> {
        Arc::clone(&self.names)
    }

    /// Reads what is new, and makes a table of it.
    pub async fn read(&mut self, pool: &PgPool) -> Result<Shown, ReadError> {
        if let Some(last) = self.last.clone()
            && let Some(shown) = self.follow(pool, &last).await?
        {
            return Ok(shown);
        }
        self.last = None;
        let seen = self.read_all(pool).await?;
        // What changed meanwhile.
        match self.follow(pool, &seen).await? {
            Some(shown) => Ok(shown),
            None => Err(ReadError::Emptied),
        }
    }

    /// Reads what the last look did not see. `None`: everything is to be read again.
    async fn follow(&mut self, pool: &PgPool, last: &LookHead) -> Result<Option<Shown>, ReadError> {
        let mut look = Look::begin(pool).await?;
        let head = look.head.clone();
        if head.next_transaction < last.next_transaction || is_long(last.at, head.at) {
            look.end().await?;
            return Ok(None);
        }
        let changes = if head.seen == last.seen { Some(Changes::default()) } else { changes(&mut look, last).await? };
        look.end().await?;
        let Some(changes) = changes else { return Ok(None) };
        for (creator, verified) in changes.creators {
            self.model.verify(creator, verified);
        }
        self.names.put(changes.removed.iter().map(|agent| (agent, None)));
        changes.removed.iter().for_each(|agent| self.model.remove(&Address::from(agent)));
        self.put(pool, changes.rows).await?;
        let table = self.table().await?;
        self.last = Some(head.clone());
        Ok(Some(Shown { table, slot: head.slot }))
    }

    /// The table of the rows that were put. Large ones take a moment, so no request waits for its thread.
    async fn table(&mut self) -> Result<Arc<Table>, ReadError> {
        if !self.model.is_changed() {
            return Ok(Arc::clone(self.model.table()));
        }
        let mut model = mem::take(&mut self.model);
        self.last = None;
        let made = tokio::task::spawn_blocking(move || {
            let table = model.publish();
            (model, table)
        });
        let (model, table) = made.await?;
        self.model = model;
        Ok(table)
    }

    /// Reads all rows into an empty model. Returns the look before the first.
    async fn read_all(&mut self, pool: &PgPool) -> Result<LookHead, StoreError> {
        self.model = Model::default();
        self.names.clear();
        let look = Look::begin(pool).await?;
        let seen = look.head.clone();
        look.end().await?;
        let mut after: Option<Pubkey> = None;
        loop {
            let wallets = agent_list::verified_creators(pool, after.as_ref(), PAGE).await?;
            after = wallets.last().copied();
            wallets.iter().for_each(|wallet| self.model.verify(wallet.into(), true));
            if wallets.len() < PAGE as usize {
                break;
            }
        }
        after = None;
        loop {
            let rows = agent_list::all(pool, after.as_ref(), PAGE).await?;
            after = rows.last().map(|row| row.address);
            let is_last = rows.len() < PAGE as usize;
            self.put(pool, rows).await?;
            if is_last {
                return Ok(seen);
            }
        }
    }

    /// Puts rows into the model, with the documents of those whose texts it does not have.
    async fn put(&mut self, pool: &PgPool, rows: Vec<ListRow>) -> Result<(), StoreError> {
        let names = rows.iter().map(|row| (&row.address, row.listed.as_ref().map(|listed| listed.name.as_str())));
        self.names.put(names);
        let mut without_texts = Vec::new();
        for row in rows {
            let address = Address::from(&row.address);
            let Some(listed) = row.listed else {
                self.model.remove(&address);
                continue;
            };
            let agent = self.agent(address, &listed);
            if self.model.needs_texts(&agent) {
                without_texts.push((row.address, agent, listed));
            } else {
                self.model.put(&agent, None);
            }
        }
        for some in without_texts.chunks(DOCUMENTS) {
            let addresses: Vec<Pubkey> = some.iter().map(|(address, ..)| *address).collect();
            let hashes: Vec<Vec<u8>> = some.iter().map(|(.., listed)| listed.metadata_hash.clone()).collect();
            let descriptions = agent_list::descriptions(pool, &addresses, &hashes).await?;
            let descriptions: HashMap<Pubkey, String> = descriptions.into_iter().collect();
            for (address, agent, listed) in some {
                let description = descriptions.get(address).map(String::as_str).unwrap_or_default();
                let ListedRow { name, tagline, tags, .. } = listed;
                self.model.put(agent, Some(&Document { name, tagline, tags, description }));
            }
        }
        Ok(())
    }

    fn agent(&self, address: Address, row: &ListedRow) -> Agent {
        Agent {
            address,
            creator: Address::from(&row.creator),
            binding: row.binding,
            price: row.price,
            total_executions: row.total_executions,
            trust: row.trust,
            success_rate: row.success_rate,
            avg_execution_time_ms: row.avg_execution_time_ms,
            created_at: row.created_at.timestamp_micros(),
            print: self.model.print(&row.metadata_hash, &row.name, &row.tagline, &row.tags),
        }
    }
}

fn is_long(since: DateTime<Utc>, until: DateTime<Utc>) -> bool {
    until.signed_duration_since(since) > MAX_PAUSE
}

/// What a look finds that an earlier one did not see. `None`: more than can be told.
async fn changes(look: &mut Look, last: &LookHead) -> Result<Option<Changes>, StoreError> {
    let seen = &last.seen;
    let mut changes = Changes::default();
    let removed = agent_list::removed(&mut **look, seen, MAX_REMOVED).await?;
    if removed.len() >= MAX_REMOVED as usize {
        return Ok(None);
    }
    for removed in removed {
        match removed {
            Removed::Agent(agent) => changes.removed.push(agent),
            Removed::Creator(wallet) => changes.creators.push((Address::from(&wallet), false)),
            Removed::All => return Ok(None),
        }
    }
    let mut after: Option<After> = None;
    loop {
        let creators = agent_list::changed_creators(&mut **look, seen, after.as_ref(), PAGE).await?;
        let is_last = creators.len() < PAGE as usize;
        after = creators.last().map(|it| After { changed_in: it.changed_in.clone(), address: it.wallet });
        changes.creators.extend(creators.iter().map(|creator| (Address::from(&creator.wallet), creator.verified)));
        if is_last {
            break;
        }
    }
    after = None;
    loop {
        let rows = agent_list::changed(&mut **look, seen, after.as_ref(), PAGE).await?;
        let is_last = rows.len() < PAGE as usize;
        after = rows.last().map(|it| After { changed_in: it.changed_in.clone(), address: it.address });
        changes.rows.extend(rows);
        if is_last {
            return Ok(Some(changes));
        }
    }
}
