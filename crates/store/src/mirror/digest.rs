//! The accounts at the finalized state, and their digest. `mirror_final_accounts`, `mirror_digest`,
//! `mirror_digest_history`.
//!
//! Each write locks the row of the digest, changes accounts and digest together, and writes only what differs. So the
//! digest always fits the accounts in the table, and only their slot has to be proved. A process that begins to lead takes
//! the digest over ([`begin_digest`]): it shows no slot until that process has proved one, and later writes of other
//! processes change nothing.

use std::collections::BTreeMap;

use crtx_protocol::mirror_digest::MirrorDigest;
use serde::{Serialize, Serializer};
use solana_pubkey::Pubkey;
use sqlx::{PgConnection, PgExecutor, PgPool};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{
    Result, StoreError,
    columns::{Base58, Count},
    convert::amount_to_db,
    database::run,
    transaction,
};

/// The digest of all accounts of the program at one finalized slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = DigestAnswer)]
pub struct DigestRow {
    /// A finalized slot.
    pub slot: u64,
    /// Accounts of the program at that slot.
    pub accounts: u64,
    /// The checksum of their lattice hash, 64 hexadecimal digits.
    #[schema(value_type = String, pattern = "^[0-9a-f]{64}$")]
    #[serde(serialize_with = "hex_digits")]
    pub checksum: [u8; 32],
}

fn hex_digits<S: Serializer>(bytes: &[u8; 32], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&hex::encode(bytes))
}

/// Hashes of accounts at the finalized state; without one the account is gone.
pub type FinalHashes = BTreeMap<Pubkey, Option<[u8; 32]>>;

/// Entries that the history keeps.
const HISTORY: i64 = 4_096;

/// The digest now; `None` while it is computed for the first time or repaired.
pub async fn digest(db: impl PgExecutor<'_>) -> Result<Option<DigestRow>> {
    let row = sqlx::query_as!(
        DigestRow,
        r#"SELECT slot AS "slot!: Count", accounts AS "accounts: Count", checksum AS "checksum: [u8; 32]"
           FROM mirror_digest WHERE slot IS NOT NULL"#
    );
    Ok(row.fetch_optional(db).await?)
}

/// The digest at a slot; `None` if it is not known for exactly this slot: it is later than the digest, too long ago, or
/// in a time that was caught up with in one step.
pub async fn digest_at(db: impl PgExecutor<'_>, slot: u64) -> Result<Option<DigestRow>> {
    let row = sqlx::query_as!(
        DigestRow,
        r#"SELECT h.slot AS "slot: Count", h.accounts AS "accounts: Count", h.checksum AS "checksum: [u8; 32]"
           FROM mirror_digest_history h JOIN mirror_digest d ON d.slot >= $1
           WHERE h.slot <= $1 AND COALESCE(h.through, d.slot) >= $1
           ORDER BY h.slot DESC LIMIT 1"#,
        amount_to_db("slot", slot)?,
    );
    Ok(row.fetch_optional(db).await?)
}

/// The digest while its row is locked.
struct Open {
    slot: Option<i64>,
    accounts: i64,
    lattice: MirrorDigest,
    /// Hashes of the accounts that this transaction is about.
    known: FinalHashes,
    /// What has to be written.
    changed: BTreeMap<Pubkey, (i64, Option<[u8; 32]>)>,
}

impl Open {
    /// `None` if the digest belongs to another process.
    async fn lock(connection: &mut PgConnection, process: Uuid, addresses: &[Pubkey]) -> Result<Option<Self>> {
        let row =
            sqlx::query!("SELECT slot, accounts, lattice FROM mirror_digest WHERE filled_by = $1 FOR UPDATE", process);
        let Some(row) = row.fetch_optional(&mut *connection).await? else { return Ok(None) };
        let known = final_hashes(&mut *connection, addresses).await?;
        let lattice =
            MirrorDigest::from_bytes(&row.lattice).map_err(|error| StoreError::corrupt("mirror digest", error))?;
        Ok(Some(Self { slot: row.slot, accounts: row.accounts, lattice, known, changed: BTreeMap::new() }))
    }

    /// True if the account was another one before. An account that was never there and is not there gets no row: a row
    /// says that the account was final once.
    fn set(&mut self, address: Pubkey, data_hash: Option<[u8; 32]>, slot: i64) -> bool {
        let before = self.known.get(&address).copied();
        if before == Some(data_hash) || before.is_none() && data_hash.is_none() {
            return false;
        }
        self.known.insert(address, data_hash);
        if let Some(hash) = before.flatten() {
            self.lattice.remove(&address, &hash);
            self.accounts = self.accounts.saturating_sub(1);
        }
        if let Some(hash) = data_hash {
            self.lattice.add(&address, &hash);
            self.accounts = self.accounts.saturating_add(1);
        }
        self.changed.insert(address, (slot, data_hash));
        before.flatten() != data_hash
    }

    /// Writes the accounts and the digest, which shows `slot` now.
    async fn write(self, connection: &mut PgConnection, slot: Option<i64>) -> Result<()> {
        if self.changed.is_empty() {
            sqlx::query!("UPDATE mirror_digest SET slot = $1", slot).execute(connection).await?;
            return Ok(());
        }
        let addresses: Vec<String> = self.changed.keys().map(Pubkey::to_string).collect();
        let (slots, hashes): (Vec<i64>, Vec<Option<Vec<u8>>>) =
            self.changed.values().map(|(slot, hash)| (*slot, hash.map(Vec::from))).unzip();
        let statement = sqlx::query!(
            "WITH accounts AS (
                 INSERT INTO mirror_final_accounts (address, slot, data_hash)
                 SELECT * FROM unnest($5::text[], $6::bigint[], $7::bytea[])
                 ON CONFLICT (address) DO UPDATE SET slot = excluded.slot, data_hash = excluded.data_hash)
             UPDATE mirror_digest SET slot = $1, accounts = $2, lattice = $3, checksum = $4",
            slot,
            self.accounts,
            &self.lattice.to_bytes(),
            &self.lattice.checksum(),
            &addresses,
            &slots,
            hashes.as_slice() as _,
        );
        run(connection, statement).await
    }
}

/// What the digest moves to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DigestMove {
    /// The slot that the digest shows before; `None` if it shows none.
    pub from: Option<u64>,
    /// The slot that it shows afterwards.
    pub to: u64,
    /// What became final, by slots.
    pub steps: BTreeMap<u64, FinalHashes>,
    /// Every change between the two slots is among the steps, and every step is one slot of the chain. Otherwise the
    /// history does not know the slots between.
    pub exact: bool,
}

/// What became of a write of the digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DigestWrite {
    Done,
    /// The digest shows another slot than the writer thinks. Nothing was written.
    Elsewhere,
    /// Another process has taken the digest over. Nothing was written.
    Taken,
}

/// Takes the digest over for a process that begins to lead, or to fill it again. No slot is stated until that process
/// moves it: what was proved before says nothing about what happened since.
pub async fn begin_digest(pool: &PgPool, process: Uuid) -> Result<()> {
    let empty = MirrorDigest::identity();
    let mut transaction = transaction::begin(pool).await?;
    let statement = sqlx::query!(
        "INSERT INTO mirror_digest (slot, accounts, lattice, checksum, filled_by) VALUES (NULL, 0, $1, $2, $3)
         ON CONFLICT (only_row) DO UPDATE SET slot = NULL, filled_by = excluded.filled_by",
        &empty.to_bytes(),
        &empty.checksum(),
        process,
    );
    statement.execute(&mut *transaction).await?;
    sqlx::query!("DELETE FROM mirror_digest_history").execute(&mut *transaction).await?;
    Ok(transaction.commit().await?)
}

/// Applies what became final and shows the digest at a later slot.
pub async fn advance_digest(pool: &PgPool, process: Uuid, moved: &DigestMove) -> Result<DigestWrite> {
    let DigestMove { from, to, steps, exact } = moved;
    let at = amount_to_db("slot", *to)?;
    let addresses: Vec<Pubkey> = steps.values().flat_map(BTreeMap::keys).copied().collect();
    let mut transaction = transaction::begin(pool).await?;
    let Some(mut open) = Open::lock(&mut transaction, process, &addresses).await? else {
        return Ok(DigestWrite::Taken);
    };
    let before = from.map(|from| amount_to_db("slot", from)).transpose()?;
    if open.slot != before || before.is_some_and(|before| before > at) {
        return Ok(DigestWrite::Elsewhere);
    }
    let (exact, mut entries) = (*exact && before.is_some(), Vec::new());
    for (slot, states) in steps {
        let (slot, mut changed) = (amount_to_db("slot", *slot)?, false);
        for (address, data_hash) in states {
            changed |= open.set(*address, *data_hash, slot);
        }
        if changed && exact {
            entries.push((slot, open.accounts, open.lattice.checksum()));
        }
    }
    // A digest that showed no slot before, or that moved over many slots in one step, is known from this slot on: in
    // between an account may have been opened and closed, even if no account differs now.
    if !exact {
        entries.push((at, open.accounts, open.lattice.checksum()));
    }
    let grows = !entries.is_empty();
    for (entry, accounts, checksum) in entries {
        end_entry(&mut transaction, if exact { Some(entry.saturating_sub(1)) } else { before }).await?;
        let statement = sqlx::query!(
            "INSERT INTO mirror_digest_history (slot, accounts, checksum) VALUES ($1, $2, $3)
             ON CONFLICT (slot) DO UPDATE SET accounts = excluded.accounts, checksum = excluded.checksum, through = NULL",
            entry,
            accounts,
            checksum.as_slice(),
        );
        statement.execute(&mut *transaction).await?;
    }
    if grows {
        let statement = sqlx::query!(
            "DELETE FROM mirror_digest_history WHERE slot <=
                 (SELECT slot FROM mirror_digest_history ORDER BY slot DESC OFFSET $1 LIMIT 1)",
            HISTORY
        );
        statement.execute(&mut *transaction).await?;
    }
    open.write(&mut transaction, Some(at)).await?;
    transaction.commit().await?;
    Ok(DigestWrite::Done)
}

/// The newest entry of the history holds until `through`.
async fn end_entry(connection: &mut PgConnection, through: Option<i64>) -> Result<()> {
    let statement = sqlx::query!(
        "UPDATE mirror_digest_history SET through = GREATEST(slot, COALESCE($1, slot)) WHERE through IS NULL",
        through
    );
    run(connection, statement).await
}

/// Sets accounts as a finalized snapshot or read of `slot` shows them. If one differs, the digest shows no slot until it
/// is moved again. Returns how many differed; `None` if another process has taken the digest over.
pub async fn fill_digest(pool: &PgPool, process: Uuid, slot: u64, states: &FinalHashes) -> Result<Option<u64>> {
    let addresses: Vec<Pubkey> = states.keys().copied().collect();
    let mut transaction = transaction::begin(pool).await?;
    let Some(mut open) = Open::lock(&mut transaction, process, &addresses).await? else { return Ok(None) };
    let (at, shown) = (amount_to_db("slot", slot)?, open.slot);
    for (address, data_hash) in states {
        open.set(*address, *data_hash, at);
    }
    let differed = u64::try_from(open.changed.len()).unwrap_or(u64::MAX);
    if differed > 0 {
        end_entry(&mut transaction, shown).await?;
        open.write(&mut transaction, None).await?;
    }
    transaction.commit().await?;
    Ok(Some(differed))
}

/// Accounts of the finalized state after `after` with their hashes, in the order of their addresses.
pub async fn final_hashes_after(db: impl PgExecutor<'_>, after: &str, limit: u32) -> Result<Vec<(Pubkey, [u8; 32])>> {
    let rows = sqlx::query!(
        r#"SELECT address AS "address: Base58", data_hash AS "data_hash!: [u8; 32]" FROM mirror_final_accounts
           WHERE data_hash IS NOT NULL AND address > $1 ORDER BY address LIMIT $2"#,
        after,
        i64::from(limit),
    );
    Ok(rows.fetch_all(db).await?.into_iter().map(|row| (row.address.into(), row.data_hash)).collect())
}

/// The finalized states of these accounts, as far as they were finalized once.
pub async fn final_hashes(db: impl PgExecutor<'_>, addresses: &[Pubkey]) -> Result<FinalHashes> {
    let addresses: Vec<String> = addresses.iter().map(Pubkey::to_string).collect();
    let stored = sqlx::query!(
        r#"SELECT f.address AS "address: Base58", f.data_hash AS "data_hash: [u8; 32]"
           FROM unnest($1::text[]) AS a (address)
           CROSS JOIN LATERAL (SELECT * FROM mirror_final_accounts t WHERE t.address = a.address OFFSET 0) f"#,
        &addresses,
    );
    Ok(stored.fetch_all(db).await?.into_iter().map(|row| (row.address.into(), row.data_hash)).collect())
}

/// Forgets the digest and what was final, but not which accounts were final once. Those of `lost` never were.
pub(super) async fn forget(connection: &mut PgConnection, lost: &[String]) -> Result<()> {
    sqlx::query!("DELETE FROM mirror_final_accounts WHERE address = ANY($1)", lost).execute(&mut *connection).await?;
    sqlx::query!("TRUNCATE mirror_digest, mirror_digest_history").execute(&mut *connection).await?;
    run(connection, sqlx::query!("UPDATE mirror_final_accounts SET data_hash = NULL")).await
}
