//! Answers in JSON-RPC form. Accounts are decoded directly into bytes, because a snapshot of the program may have a
//! million of them.

use std::borrow::Cow;

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::Value;
use solana_pubkey::Pubkey;

use crate::error::ChainError;

/// JSON-RPC errors that concern the node and not the request: it is behind, or has no such history.
const NODE_UNHEALTHY: i64 = -32_005;
const MIN_CONTEXT_SLOT_NOT_REACHED: i64 = -32_016;

/// An answer with a result or an error.
#[derive(Deserialize)]
#[serde(bound(deserialize = "T: Deserialize<'de>"))]
pub struct JsonRpcResponse<T> {
    pub id: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    pub result: Option<T>,
    pub error: Option<JsonRpcError>,
}

/// A JSON-RPC error.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct JsonRpcError {
    #[serde(default)]
    pub code: i64,
    #[serde(default)]
    pub message: String,
}

impl JsonRpcError {
    /// The node is behind: it is unhealthy, or has not reached the slot that was asked for.
    pub const fn is_behind(&self) -> bool {
        matches!(self.code, NODE_UNHEALTHY | MIN_CONTEXT_SLOT_NOT_REACHED)
    }
}

/// Distinguishes `"result": null`, which is an answer, from a missing result.
fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// A value and the slot at which the node read it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct AtSlot<T> {
    #[serde(rename = "context", deserialize_with = "slot_of_context")]
    pub slot: u64,
    pub value: T,
}

/// Names a slot.
#[derive(Deserialize)]
pub struct Context {
    pub slot: u64,
}

fn slot_of_context<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    Context::deserialize(deserializer).map(|context| context.slot)
}

impl<T> AtSlot<T> {
    /// Checks the slot of the answer. Nodes are asked for this slot or later, but a load balancer in front of them
    /// may ignore that.
    pub(crate) fn at_least(&self, slot: u64) -> Result<(), ChainError> {
        if self.slot < slot { Err(ChainError::Behind { wanted: slot }) } else { Ok(()) }
    }
}

/// An account as the chain holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedAccount {
    pub owner: Pubkey,
    pub lamports: u64,
    pub data: Vec<u8>,
}

/// An account with its address.
#[derive(Deserialize)]
pub struct WireKeyedAccount {
    #[serde(deserialize_with = "address")]
    pub pubkey: Pubkey,
    pub account: FetchedAccount,
}

/// The node encodes the data in base64.
impl<'de> Deserialize<'de> for FetchedAccount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Fields<'a> {
            #[serde(borrow)]
            data: (Cow<'a, str>, Cow<'a, str>),
            lamports: u64,
            #[serde(deserialize_with = "address")]
            owner: Pubkey,
        }
        let Fields { data: (data, encoding), lamports, owner } = Fields::deserialize(deserializer)?;
        if encoding != "base64" {
            return Err(D::Error::custom("account data is not in base64"));
        }
        let data = BASE64.decode(data.as_bytes()).map_err(D::Error::custom)?;
        Ok(Self { owner, lamports, data })
    }
}

fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Pubkey, D::Error> {
    let text = Cow::<'de, str>::deserialize(deserializer)?;
    text.parse().map_err(|_| D::Error::custom("not an address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_in_another_encoding_is_not_read() {
        let account = |encoding: &str| {
            format!(
                r#"{{"data":["AQI=","{encoding}"],"executable":false,"lamports":5,"owner":"11111111111111111111111111111111","rentEpoch":0,"space":2}}"#
            )
        };
        let read: FetchedAccount = serde_json::from_str(&account("base64")).expect("an account");
        assert_eq!(read, FetchedAccount { owner: Pubkey::default(), lamports: 5, data: vec![1, 2] });
        assert!(serde_json::from_str::<FetchedAccount>(&account("base58")).is_err());
        assert!(serde_json::from_str::<FetchedAccount>(&account("base64+zstd")).is_err());
    }
}
