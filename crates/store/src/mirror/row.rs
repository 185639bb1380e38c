//! What the rows of all kinds of accounts have in common. Rows travel to PostgreSQL as JSON whose members are the columns,
//! and come back in the same way for the audit, so that one comparison shows whether a row equals its account.

use serde_json::{Map, Value};
use solana_pubkey::Pubkey;

use crate::{
    Result, StoreError,
    convert::{amount_to_db, time_to_db},
};

/// The table of a kind of account. The members of its rows' JSON name its columns.
#[derive(Debug)]
pub struct MirrorTable {
    pub name: &'static str,
    /// Columns that are not in the account, with their values from the account's row `r`. Only a new row gets them.
    pub derived: &'static [(&'static str, &'static str)],
}

impl MirrorTable {
    /// The statement that writes rows, a JSON array of rows such as this one.
    pub fn upsert(&self, row: &AccountRow) -> String {
        let of_account = || row.columns.keys().map(String::as_str);
        let columns: Vec<&str> = of_account().chain(self.derived.iter().map(|(column, _)| *column)).collect();
        let values: Vec<&str> = of_account().chain(self.derived.iter().map(|(_, value)| *value)).collect();
        let updated = of_account().filter(|column| *column != "address");
        let updates: Vec<String> = updated.map(|column| format!("{column} = excluded.{column}")).collect();
        format!(
            "INSERT INTO {table} AS t ({columns})
             SELECT {values} FROM jsonb_populate_recordset(NULL::{table}, $1) r ORDER BY r.address
             ON CONFLICT (address) DO UPDATE SET
                 {updates},
                 after_slot = CASE WHEN excluded.slot > t.closed_at_slot THEN t.closed_at_slot
                              ELSE t.after_slot END,
                 closed_at_slot = CASE WHEN excluded.slot > t.closed_at_slot THEN NULL ELSE t.closed_at_slot END,
                 observed_at = now()
             WHERE is_replaced(t.slot, t.revision, t.data_hash, t.after_slot, t.closed_at_slot,
                               excluded.slot, excluded.revision, excluded.data_hash)",
            table = self.name,
            columns = columns.join(", "),
            values = values.join(", "),
            updates = updates.join(", "),
        )
    }
}

/// An account type that the mirror has a table for.
pub trait Mirrored {
    /// The table, and the columns that are in the account. Fails for bytes that the program never writes.
    #[doc(hidden)]
    fn mirrored(&self) -> Result<(&'static MirrorTable, Value)>;
}

/// An account as it was read.
#[derive(Clone, Debug)]
pub struct AccountRow {
    pub table: &'static MirrorTable,
    pub address: String,
    /// BLAKE3 of the account's bytes.
    pub data_hash: [u8; 32],
    /// All of it, by column.
    pub columns: Map<String, Value>,
}

impl AccountRow {
    pub fn read<A: Mirrored>(address: &Pubkey, slot: u64, account: &A, hash: &[u8; 32]) -> Result<Self> {
        let (address, slot) = (address.to_string(), amount_to_db("slot", slot)?);
        let (table, columns) = account.mirrored()?;
        let mut columns: Map<String, Value> =
            serde_json::from_value(columns).map_err(|error| StoreError::corrupt("mirror row", error))?;
        columns.extend([
            ("address".to_owned(), address.clone().into()),
            ("slot".to_owned(), slot.into()),
            ("data_hash".to_owned(), bytes(hash).into()),
        ]);
        Ok(Self { table, address, data_hash: *hash, columns })
    }

    /// Rows are ordered by revision, then by slot.
    pub fn version(&self) -> (i64, i64) {
        (self.number("revision"), self.number("slot"))
    }

    pub fn text(&self, column: &str) -> &str {
        self.columns.get(column).and_then(Value::as_str).unwrap_or_default()
    }

    pub fn number(&self, column: &str) -> i64 {
        self.columns.get(column).and_then(Value::as_i64).unwrap_or_default()
    }
}

/// The text form of `bytea`: `\x` and hexadecimal digits.
pub fn bytes(bytes: &[u8]) -> String {
    format!("\\x{}", hex::encode(bytes))
}

/// A time of the chain's clock, as PostgreSQL writes it.
pub fn time(what: &'static str, unix_s: i64) -> Result<String> {
    time_to_db(what, unix_s).map(|time| time.to_rfc3339())
}

/// A time that the program stores as 0 before it is known.
pub fn optional_time(what: &'static str, unix_s: i64) -> Result<Option<String>> {
    if unix_s == 0 { Ok(None) } else { time(what, unix_s).map(Some) }
}

pub fn bit(what: &'static str, value: u8) -> Result<bool> {
    match value {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(StoreError::corrupt(what, other)),
    }
}
