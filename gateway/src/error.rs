//! Why a gateway cannot start.

use crtx_chain::ChainError;
use crtx_content::ContentError;

#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    #[error(transparent)]
    Content(#[from] ContentError),
    #[error("no HTTP client for creators' services: {0}")]
    Client(#[from] reqwest::Error),
    #[error("no threads to check schemas and to read answers: {0}")]
    Threads(#[from] std::io::Error),
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// The configuration of this gateway and the one on chain differ.
    #[error("the program's configuration on chain {0}")]
    Misconfigured(String),
}
