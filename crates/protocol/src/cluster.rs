//! The kind of Solana network that a deployment works on.

use std::str::FromStr;

use crate::api_key::KeyNetwork;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cluster {
    Mainnet,
    Devnet,
    /// A network of one's own, such as the one of `crtx up`.
    Localnet,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a network is `solana:mainnet`, `solana:devnet` or `solana:localnet`")]
pub struct UnknownCluster;

impl Cluster {
    pub const ALL: [Self; 3] = [Self::Mainnet, Self::Devnet, Self::Localnet];

    /// The identifier of the wallet standard.
    pub const fn chain_id(self) -> &'static str {
        match self {
            Self::Mainnet => "solana:mainnet",
            Self::Devnet => "solana:devnet",
            Self::Localnet => "solana:localnet",
        }
    }

    /// The network of the API keys that work there.
    pub const fn key_network(self) -> KeyNetwork {
        match self {
            Self::Mainnet => KeyNetwork::Live,
            Self::Devnet | Self::Localnet => KeyNetwork::Test,
        }
    }
}

impl FromStr for Cluster {
    type Err = UnknownCluster;

    fn from_str(chain_id: &str) -> Result<Self, UnknownCluster> {
        Self::ALL.into_iter().find(|cluster| cluster.chain_id() == chain_id).ok_or(UnknownCluster)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_read_from_its_identifier_alone() {
        for cluster in Cluster::ALL {
            assert_eq!(cluster.chain_id().parse(), Ok(cluster));
        }
        for other in ["", "mainnet", "solana:testnet", "solana:mainnet-beta", "Solana:devnet"] {
            assert_eq!(other.parse::<Cluster>(), Err(UnknownCluster), "{other}");
        }
    }

    #[test]
    fn live_keys_work_on_mainnet_alone() {
        let live = Cluster::ALL.into_iter().filter(|cluster| cluster.key_network() == KeyNetwork::Live);
        assert_eq!(live.collect::<Vec<_>>(), [Cluster::Mainnet]);
    }
}
