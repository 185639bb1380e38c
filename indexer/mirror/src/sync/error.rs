//! Why the mirror cannot go on.

use crtx_store::StoreError;

use crate::source::SourceError;

#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The node belongs to another chain than the mirror, and nobody allowed that.
    #[error("{0}")]
    OtherGenesis(String),
    /// A snapshot that cannot be true.
    #[error("{0}")]
    Doubtful(String),
}

impl SyncError {
    /// The code of this problem in `GET /v1/status`.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Source(error) => error.code(),
            Self::Store(_) => "database_unavailable",
            Self::OtherGenesis(_) => "other_genesis_held",
            Self::Doubtful(_) => "snapshot_failed",
        }
    }
}
