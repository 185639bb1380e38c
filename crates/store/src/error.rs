//! Errors of the store.

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("database: {0}")]
    Database(#[from] sqlx::Error),
    #[error("migration: {0}")]
    Migration(#[from] sqlx::migrate::MigrateError),
    #[error(
        "another version of crtx migrated this database: its migration {migration} is different here. Use that \
         version or an empty database; `crtx up --fresh` starts a local network over"
    )]
    OtherSchema { migration: i64 },
    #[error(
        "reads can go to a standby only while the primary waits until it has applied what is committed: \
         `synchronous_commit` of the primary is {setting}, and must be remote_apply"
    )]
    StandbyBehind { setting: String },
    /// A stored value that this program never writes.
    #[error("the stored {what} is not valid: {value}")]
    Corrupt { what: &'static str, value: String },
    /// A value that the schema cannot hold.
    #[error("{what} is out of range: {value}")]
    OutOfRange { what: &'static str, value: String },
}

pub(crate) type Result<T, E = StoreError> = std::result::Result<T, E>;

/// SQLSTATEs of temporary conditions, by their first characters. A retry later may succeed.
const TEMPORARY: [&str; 10] = [
    "08",    // The connection is lost.
    "40001", // The transaction cannot be serialized.
    "40P01", // Deadlock.
    "53",    // Out of memory, disk or connections.
    "55P03", // The lock was not free in time.
    "55006", // The object is in use.
    "57014", // The statement was cancelled, for example by its time limit.
    "57P",   // The server ends the session.
    "25P03", // The session was idle in a transaction for too long.
    "58030", // Disk or network of the server failed.
];

/// SQLSTATEs of values that cannot be stored, by their first characters.
const REFUSED: [&str; 4] = [
    "22",    // The value is not one of its type.
    "23",    // A constraint refuses it.
    "54",    // It is larger than a limit of the server.
    "P0001", // A trigger refuses it.
];

impl StoreError {
    pub(crate) fn corrupt(what: &'static str, value: impl ToString) -> Self {
        Self::Corrupt { what, value: value.to_string() }
    }

    pub(crate) fn out_of_range(what: &'static str, value: impl ToString) -> Self {
        Self::OutOfRange { what, value: value.to_string() }
    }

    /// The database cannot be reached, is overloaded, or has cancelled the work. A retry later may succeed.
    pub fn is_unavailable(&self) -> bool {
        match self {
            Self::Database(
                sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed | sqlx::Error::Io(_) | sqlx::Error::WorkerCrashed,
            ) => true,
            Self::Database(sqlx::Error::Database(error)) => {
                error.code().is_some_and(|code| TEMPORARY.iter().any(|prefix| code.starts_with(prefix)))
            }
            _ => false,
        }
    }

    /// The database refuses a value of a row, now and later: a constraint, a range, a size, or a trigger's exception.
    pub fn refuses_a_row(&self) -> bool {
        let code = match self {
            Self::Database(sqlx::Error::Database(error)) => error.code(),
            _ => None,
        };
        code.is_some_and(|code| REFUSED.iter().any(|prefix| code.starts_with(prefix)))
    }
}
