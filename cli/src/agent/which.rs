//! How a command names an agent: by its address, or by its index among the agents of the wallet.

use std::str::FromStr;

use solana_pubkey::Pubkey;

use crate::market::Market;

/// An address, or an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    Address(Pubkey),
    Index(u32),
}

impl FromStr for Which {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let index = text.parse().map(Self::Index).ok();
        let address = || text.parse().map(Self::Address).ok();
        index.or_else(address).ok_or_else(|| "neither the address of an agent nor its index".to_owned())
    }
}

impl Which {
    pub fn address(self, market: &Market, creator: &Pubkey) -> Pubkey {
        match self {
            Self::Address(address) => address,
            Self::Index(index) => market.addresses().agent(creator, index),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_named_by_address_or_index() {
        let address = Pubkey::new_from_array([3; 32]);
        assert_eq!("0".parse(), Ok(Which::Index(0)));
        assert_eq!(address.to_string().parse(), Ok(Which::Address(address)));
        for bad in ["", "-1", "my-agent", "99999999999"] {
            assert!(bad.parse::<Which>().is_err(), "{bad}");
        }
    }
}
