//! What can go wrong with the store.

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("database: {0}")]
    Database(#[from] sqlx::Error),
    #[error("migration: {0}")]
    Migration(#[from] sqlx::migrate::MigrateError),
    /// A stored value that this program never writes.
    #[error("the stored {what} is not valid: {value}")]
    Corrupt { what: &'static str, value: String },
    /// A value that the schema cannot hold.
    #[error("{what} is out of range: {value}")]
    OutOfRange { what: &'static str, value: String },
}

/// SQLSTATEs of conditions that pass, by their beginning.
const PASSING: [&str; 10] = [
    // The connection is gone.
    "08", // Transaction could not be serialized; deadlock.
    "40001", "40P01", // Out of memory, of disk, of connections.
    "53",    // The lock was not free in time; the object is in use.
    "55P03", "55006", // The statement or the session was ended: time-out, cancelled, idle, shutting down.
    "57014", "57P", "25P03", // The disk or network failed below the server.
    "58030",
];

impl StoreError {
    pub(crate) fn corrupt(what: &'static str, value: impl ToString) -> Self {
        Self::Corrupt { what, value: value.to_string() }
    }

    pub(crate) fn out_of_range(what: &'static str, value: impl ToString) -> Self {
        Self::OutOfRange { what, value: value.to_string() }
    }

    /// The database cannot be reached, is overloaded, or has ended this work in favour of other work: trying
    /// again later may help.
    pub fn is_unavailable(&self) -> bool {
        match self {
            Self::Database(
                sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed | sqlx::Error::Io(_) | sqlx::Error::WorkerCrashed,
            ) => true,
            Self::Database(sqlx::Error::Database(error)) => {
                error.code().is_some_and(|code| PASSING.iter().any(|passing| code.starts_with(passing)))
            }
            _ => false,
        }
    }

    /// A row with that key exists already.
    pub fn is_unique_violation(&self) -> bool {
        matches!(self, Self::Database(error) if error.as_database_error().is_some_and(|e| e.is_unique_violation()))
    }
}
