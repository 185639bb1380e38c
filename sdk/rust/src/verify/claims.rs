//! What an execution record says about itself: the answer of `GET /v1/executions/{id}` or of a call,
//! from the API or from a file. Nothing in it is trusted.

use std::{fmt, str::FromStr};

use anyhow::Context;
use chrono::{DateTime, Utc};
use crtx_protocol::{content::parse_cid, result_hash::ResultHash, usdc::UsdcBase};
use serde::{Deserialize, Deserializer, Serialize, de::Error};
use solana_pubkey::Pubkey;
use url::Url;
use uuid::Uuid;

/// The fields of a record that can be checked. An answer to a call lacks some of them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Claims {
    pub execution_id: Uuid,
    #[serde(default, deserialize_with = "parsed")]
    pub agent_id: Option<Pubkey>,
    pub status: Status,
    pub result: Option<String>,
    #[serde(default, deserialize_with = "parsed")]
    pub result_hash: Option<ResultHash>,
    pub cost_usdc: Option<UsdcBase>,
    pub creator_amount_usdc: Option<UsdcBase>,
    pub platform_amount_usdc: Option<UsdcBase>,
    pub tokens_used: Option<u64>,
    pub execution_time_ms: Option<u64>,
    pub on_chain_record: Url,
    pub ipfs_url: Option<Url>,
    /// Where to look first in the chain's history; what is found there decides.
    pub initiated_at: Option<DateTime<Utc>>,
    pub completed_at: Option<DateTime<Utc>>,
}

/// The state of an execution, as the API and a saved record name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Pending,
    Running,
    Completed,
    Failed,
    Disputed,
}

impl Status {
    pub const fn is_under_way(self) -> bool {
        matches!(self, Self::Pending | Self::Running)
    }
}

/// A text of a known form, such as an address.
fn parsed<'de, D: Deserializer<'de>, T: FromStr<Err: fmt::Display>>(deserializer: D) -> Result<Option<T>, D::Error> {
    let text: Option<String> = Deserialize::deserialize(deserializer)?;
    text.map(|text| text.parse().map_err(D::Error::custom)).transpose()
}

impl Claims {
    /// Reads a saved record or answer.
    pub fn parse(json: &[u8]) -> anyhow::Result<Self> {
        serde_json::from_slice(json).context("not an execution record as the API answers it")
    }

    /// The record's address: the last part of the explorer link's path that is one.
    pub fn record_address(&self) -> anyhow::Result<Pubkey> {
        let mut parts: Vec<&str> = self.on_chain_record.path_segments().map(Iterator::collect).unwrap_or_default();
        parts.reverse();
        parts.iter().find_map(|part| part.parse().ok()).context("`on_chain_record` names no account")
    }

    /// The RPC node that the explorer link names, as those of local networks do.
    pub fn rpc_url(&self) -> Option<String> {
        self.on_chain_record.query_pairs().find(|(name, _)| name == "customUrl").map(|(_, value)| value.into_owned())
    }

    /// The last part of the content's address, and the hash that it names.
    pub fn cid(&self) -> Result<(&str, ResultHash), String> {
        let url = self.ipfs_url.as_ref().ok_or("the record states no content address")?;
        let cid = url.path().trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let hash = parse_cid(cid).map_err(|error| format!("`{cid}` is {error}"))?;
        Ok((cid, hash))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_explorer_link_names_the_record_and_the_node() {
        let json = br#"{"execution_id":"806e1eba-133b-4100-9a5e-ddbe7c578906","status":"completed","cost_usdc":0.01,
            "on_chain_record":"https://explorer.solana.com/address/BJu51f7FUVrLYHU1rHsBKtCGWToEFoKUhz3brbxX8A86?cluster=custom&customUrl=http%3A%2F%2F127.0.0.1%3A45819"}"#;
        let claims = Claims::parse(json).expect("a record");
        let address = "BJu51f7FUVrLYHU1rHsBKtCGWToEFoKUhz3brbxX8A86";
        assert_eq!(claims.record_address().expect("an address").to_string(), address);
        assert_eq!(claims.rpc_url().as_deref(), Some("http://127.0.0.1:45819"));
        assert_eq!(claims.cost_usdc, Some(UsdcBase(10_000)));
    }

    #[test]
    fn a_link_without_an_account_is_refused() {
        let json = br#"{"execution_id":"806e1eba-133b-4100-9a5e-ddbe7c578906","status":"failed","on_chain_record":"https://e.example/tx"}"#;
        let claims = Claims::parse(json).expect("a record");
        assert!(claims.record_address().is_err() && claims.rpc_url().is_none());
        assert!(Claims::parse(b"[]").is_err() && Claims::parse(b"{").is_err());
    }

    #[test]
    fn a_field_of_another_form_makes_no_record() {
        let good = serde_json::json!({
            "execution_id": "806e1eba-133b-4100-9a5e-ddbe7c578906", "status": "completed",
            "agent_id": "BJu51f7FUVrLYHU1rHsBKtCGWToEFoKUhz3brbxX8A86",
            "result_hash": ResultHash::of(b"x").to_string(), "ipfs_url": "http://127.0.0.1:1/ipfs/x",
            "on_chain_record": "https://e.example/address/BJu51f7FUVrLYHU1rHsBKtCGWToEFoKUhz3brbxX8A86",
            "completed_at": "2026-11-22T16:10:42Z",
        });
        let parse = |value: &serde_json::Value| Claims::parse(value.to_string().as_bytes());
        parse(&good).expect("a record");
        for field in
            ["execution_id", "status", "agent_id", "result_hash", "ipfs_url", "on_chain_record", "completed_at"]
        {
            let mut forged = good.clone();
            forged[field] = serde_json::json!("completed\nexecution 806e1eba-133b-4100-9a5e-ddbe7c578906 is verified");
            assert!(parse(&forged).is_err(), "{field}");
        }
    }
}
