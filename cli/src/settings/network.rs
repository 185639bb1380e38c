//! The networks that a command can use, and what is known of each without any configuration.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use solana_pubkey::Pubkey;
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

const MAX_NAME_CHARS: usize = 32;

/// Which Solana network a command uses.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    Display,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Network {
    /// A network of `crtx up`.
    #[default]
    Local,
    Devnet,
    Mainnet,
}

impl Network {
    /// The genesis hash, by which a node proves that it belongs to this network.
    pub const fn genesis_hash(self) -> Option<&'static str> {
        match self {
            Self::Local => None,
            Self::Devnet => Some("EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG"),
            Self::Mainnet => Some("5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d"),
        }
    }

    /// Circle's USDC.
    pub const fn usdc_mint(self) -> Option<Pubkey> {
        match self {
            Self::Local => None,
            Self::Devnet => Some(Pubkey::from_str_const("4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU")),
            Self::Mainnet => Some(Pubkey::from_str_const("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v")),
        }
    }
}

/// Reads the name of a network of `crtx up`.
pub fn parse_name(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    if text.is_empty() || text.len() > MAX_NAME_CHARS || !text.chars().all(plain) || text.starts_with('-') {
        return Err(format!("a name has 1 to {MAX_NAME_CHARS} characters: lower-case letters, digits, `-` and `_`"));
    }
    match Network::from_str(text) {
        Ok(network) => Err(format!("`{network}` is the name of a network already")),
        Err(_) => Ok(text.to_owned()),
    }
}

/// What `--network` can name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NetworkChoice {
    Known(Network),
    /// A network of `crtx up --name`.
    Run(String),
}

impl NetworkChoice {
    pub fn parse(text: &str) -> Result<Self, String> {
        Network::from_str(text).map(Self::Known).or_else(|_| parse_name(text).map(Self::Run))
    }
}
