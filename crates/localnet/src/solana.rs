//! The Solana network of a marketplace: the embedded one, or Agave's validator.

use crtx_chain::{ChainClient, CommitmentConfig};
use solana_pubkey::Pubkey;

use crate::{
    chain::{Chain, StartedFrom},
    validator::Validator,
};

/// A running network.
pub enum SolanaNetwork {
    Embedded(Box<Chain>),
    Validator(Validator),
}

impl SolanaNetwork {
    pub fn rpc_port(&self) -> u16 {
        match self {
            Self::Embedded(chain) => chain.rpc_port,
            Self::Validator(validator) => validator.ports.rpc(),
        }
    }

    pub fn ws_port(&self) -> u16 {
        match self {
            Self::Embedded(chain) => chain.ws_port,
            Self::Validator(validator) => validator.ports.websocket(),
        }
    }

    pub fn rpc_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.rpc_port())
    }

    pub fn ws_url(&self) -> String {
        format!("ws://127.0.0.1:{}", self.ws_port())
    }

    pub fn started_from(&self) -> StartedFrom {
        match self {
            Self::Embedded(chain) => chain.started_from,
            Self::Validator(validator) => validator.started_from,
        }
    }

    /// Identifies this chain, and stays the same from run to run.
    pub fn genesis_hash(&self) -> &str {
        match self {
            Self::Embedded(chain) => &chain.genesis_hash,
            Self::Validator(validator) => &validator.genesis_hash,
        }
    }

    /// Whether any transaction on the chain names the address.
    pub async fn knows(&self, client: &ChainClient, address: &Pubkey) -> anyhow::Result<bool> {
        Ok(match self {
            Self::Embedded(chain) => chain.knows(address)?,
            Self::Validator(_) => {
                !client.transactions_about(CommitmentConfig::confirmed(), address, None, 1).await?.is_empty()
            }
        })
    }

    /// Saves the chain and ends the network.
    pub async fn stop(self) -> anyhow::Result<()> {
        match self {
            Self::Embedded(chain) => tokio::task::spawn_blocking(|| chain.stop()).await?,
            Self::Validator(validator) => validator.stop().await,
        }
    }
}
