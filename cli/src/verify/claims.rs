//! What an execution record says about itself: the answer of `GET /v1/executions/{id}` or of a call,
//! from the API or from a file. Nothing in it is trusted.

use anyhow::Context;
use crtx_protocol::usdc::UsdcBase;
use serde::Deserialize;
use solana_pubkey::Pubkey;
use url::Url;
use uuid::Uuid;

/// The fields of a record that can be checked. An answer to a call lacks some of them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Claims {
    pub execution_id: Uuid,
    pub agent_id: Option<String>,
    pub status: String,
    pub result: Option<String>,
    pub result_hash: Option<String>,
    pub cost_usdc: Option<UsdcBase>,
    pub creator_amount_usdc: Option<UsdcBase>,
    pub platform_amount_usdc: Option<UsdcBase>,
    pub tokens_used: Option<u64>,
    pub execution_time_ms: Option<u64>,
    pub on_chain_record: String,
    pub ipfs_url: Option<String>,
}

impl Claims {
    /// Reads a saved record or answer.
    pub fn parse(json: &[u8]) -> anyhow::Result<Self> {
        serde_json::from_slice(json).context("not an execution record as the API answers it")
    }

    /// The record's address: the last part of the explorer link's path that is one.
    pub fn record_address(&self) -> anyhow::Result<Pubkey> {
        let url = self.explorer_link()?;
        let mut parts: Vec<&str> = url.path_segments().map(Iterator::collect).unwrap_or_default();
        parts.reverse();
        parts.iter().find_map(|part| part.parse().ok()).context("`on_chain_record` names no account")
    }

    /// The RPC node that the explorer link names, as those of local networks do.
    pub fn rpc_url(&self) -> Option<String> {
        let url = self.explorer_link().ok()?;
        url.query_pairs().find(|(name, _)| name == "customUrl").map(|(_, value)| value.into_owned())
    }

    fn explorer_link(&self) -> anyhow::Result<Url> {
        Url::parse(&self.on_chain_record).context("`on_chain_record` is not a URL")
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
        let json = br#"{"execution_id":"806e1eba-133b-4100-9a5e-ddbe7c578906","status":"x","on_chain_record":"https://e.example/tx"}"#;
        let claims = Claims::parse(json).expect("a record");
        assert!(claims.record_address().is_err() && claims.rpc_url().is_none());
        assert!(Claims::parse(b"[]").is_err() && Claims::parse(b"{").is_err());
    }
}
