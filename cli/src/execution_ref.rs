//! How a command names an execution: by its id, or by the address of its record on chain.

use std::str::FromStr;

use anyhow::bail;
use crtx_chain::Execution;
use solana_pubkey::Pubkey;
use uuid::Uuid;

use crate::market::Market;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecutionRef {
    Id(Uuid),
    Record(Pubkey),
}

impl FromStr for ExecutionRef {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let id = Uuid::try_parse(text).map(Self::Id).ok();
        let record = || text.parse().map(Self::Record).ok();
        id.or_else(record).ok_or_else(|| "neither an execution id nor the address of a record".to_owned())
    }
}

impl ExecutionRef {
    /// Address and execution. An id is looked for among the executions of `wallet` first, and then among all: two
    /// wallets may use the same id.
    pub async fn find(self, market: &Market, wallet: &Pubkey) -> anyhow::Result<(Pubkey, Execution)> {
        let id = match self {
            Self::Record(address) => return Ok((address, market.execution(&address).await?)),
            Self::Id(id) => id,
        };
        let own = market.addresses().execution(wallet, id.as_bytes());
        if let Some(execution) = market.find(&own).await? {
            return Ok((own, execution));
        }
        let mut found = market.executions_with_id(id.as_bytes()).await?;
        match (found.pop(), found.len()) {
            (Some(only), 0) => Ok(only),
            (Some(_), _) => bail!("several wallets have an execution {id}; name the address of its record instead"),
            (None, _) => bail!(
                "there is no record of execution {id} on this chain; it was never opened, or its record is closed"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_execution_is_named_by_id_or_record() {
        let id = Uuid::from_bytes([7; 16]);
        let record = Pubkey::new_from_array([3; 32]);
        assert_eq!(id.to_string().parse(), Ok(ExecutionRef::Id(id)));
        assert_eq!(record.to_string().parse(), Ok(ExecutionRef::Record(record)));
        assert!("nonsense".parse::<ExecutionRef>().is_err());
    }
}
