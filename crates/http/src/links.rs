//! Links in answers: accounts on a chain explorer, content by its hash.

use crtx_protocol::{content::content_url, result_hash::ResultHash};
use solana_pubkey::Pubkey;
use url::form_urlencoded;

/// Stands for the address in an explorer's URL.
const ADDRESS: &str = "{address}";

/// Where explorer and content are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Links {
    explorer: String,
    ipfs_url_base: String,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the explorer URL `{0}` must hold {ADDRESS} where the address goes")]
pub struct LinksError(String);

impl Links {
    /// `explorer`: a URL with `{address}` in it. `ipfs_url_base`: what a CID is appended to, such as
    /// `https://api.example/ipfs`.
    pub fn new(explorer: &str, ipfs_url_base: &str) -> Result<Self, LinksError> {
        if !explorer.contains(ADDRESS) {
            return Err(LinksError(explorer.to_owned()));
        }
        Ok(Self { explorer: explorer.to_owned(), ipfs_url_base: ipfs_url_base.to_owned() })
    }

    /// Links of a local network: the public explorer, pointed at the local node.
    pub fn local(base_url: &str, rpc_url: &str) -> Self {
        let node: String = form_urlencoded::byte_serialize(rpc_url.as_bytes()).collect();
        Self {
            explorer: format!("https://explorer.solana.com/address/{ADDRESS}?cluster=custom&customUrl={node}"),
            ipfs_url_base: format!("{}/ipfs", base_url.trim_end_matches('/')),
        }
    }

    /// An account on the explorer.
    pub fn account(&self, address: &Pubkey) -> String {
        self.explorer.replace(ADDRESS, &address.to_string())
    }

    /// Content by its hash.
    pub fn content(&self, hash: &ResultHash) -> String {
        content_url(&self.ipfs_url_base, hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_the_account_and_the_content() {
        let links = Links::local("http://127.0.0.1:8080/", "http://127.0.0.1:8899");
        assert_eq!(
            links.account(&Pubkey::default()),
            "https://explorer.solana.com/address/11111111111111111111111111111111?cluster=custom&customUrl=http%3A%2F%2F127.0.0.1%3A8899"
        );
        assert!(links.content(&ResultHash::of(b"x")).starts_with("http://127.0.0.1:8080/ipfs/bafkrei"));
    }

    #[test]
    fn an_explorer_without_a_place_for_the_address_is_refused() {
        assert!(Links::new("https://e.example/", "https://a.example/ipfs").is_err());
        assert!(Links::new("https://e.example/{address}", "https://a.example/ipfs").is_ok());
    }
}
