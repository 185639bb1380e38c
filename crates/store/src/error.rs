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

impl StoreError {
    pub(crate) fn corrupt(what: &'static str, value: impl ToString) -> Self {
        Self::Corrupt { what, value: value.to_string() }
    }

    pub(crate) fn out_of_range(what: &'static str, value: impl ToString) -> Self {
        Self::OutOfRange { what, value: value.to_string() }
    }

    /// The database cannot be reached or is overloaded: trying again later may help.
    pub fn is_unavailable(&self) -> bool {
        matches!(
            self,
            Self::Database(
                sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed | sqlx::Error::Io(_) | sqlx::Error::WorkerCrashed
            )
        )
    }

    /// A row with that key exists already.
    pub fn is_unique_violation(&self) -> bool {
        matches!(self, Self::Database(error) if error.as_database_error().is_some_and(|e| e.is_unique_violation()))
    }
}
