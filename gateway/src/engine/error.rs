//! Why a worker stops before an execution ends. The execution is resumed later.

use crtx_chain::{ChainError, SignError};
use crtx_content::ContentError;
use crtx_store::{StoreError, executions::ExecutionsError};

#[derive(Debug, thiserror::Error)]
pub(crate) enum EngineError {
    #[error("another worker has taken over")]
    LeaseLost,
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Chain(#[from] ChainError),
    #[error(transparent)]
    Content(#[from] ContentError),
    #[error(transparent)]
    Sign(#[from] SignError),
    #[error("the chain does not have what it confirmed: {0}")]
    Missing(&'static str),
    #[error("the stored execution lacks {0}")]
    Incomplete(&'static str),
}

impl From<ExecutionsError> for EngineError {
    fn from(error: ExecutionsError) -> Self {
        match error {
            ExecutionsError::LeaseLost => Self::LeaseLost,
            ExecutionsError::Store(error) => Self::Store(error),
        }
    }
}
