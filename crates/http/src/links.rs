//! Links in answers: accounts on a chain explorer, content by its hash, and the public URL that they stand under.

use crtx_protocol::{content::content_url, result_hash::ResultHash};
use solana_pubkey::Pubkey;
use url::form_urlencoded;

use crate::site::Site;

/// Stands for the address in an explorer's URL.
const ADDRESS: &str = "{address}";

/// Where explorer and content are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Links {
    site: Site,
    /// The explorer's URL of an account, with `{address}` where the address goes.
    pub account_template: String,
    /// Content is at this URL, `/`, and its CID.
    pub ipfs_url_base: String,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the explorer URL `{0}` must hold {ADDRESS} where the address goes")]
pub struct LinksError(String);

impl Links {
    /// `explorer`: a URL with `{address}` in it. `public_url`: where clients reach the API, such as
    /// `https://api.example`. Content is linked below it.
    pub fn new(explorer: &str, public_url: &str) -> Result<Self, LinksError> {
        if !explorer.contains(ADDRESS) {
            return Err(LinksError(explorer.to_owned()));
        }
        Ok(Self::below(public_url, explorer.to_owned()))
    }

    /// Links of a local network: the public explorer, pointed at the local node.
    pub fn local(public_url: &str, rpc_url: &str) -> Self {
        let node: String = form_urlencoded::byte_serialize(rpc_url.as_bytes()).collect();
        let explorer = format!("https://explorer.solana.com/address/{ADDRESS}?cluster=custom&customUrl={node}");
        Self::below(public_url, explorer)
    }

    fn below(public_url: &str, account_template: String) -> Self {
        let site = Site::new(public_url);
        Self { ipfs_url_base: format!("{}/ipfs", site.url()), site, account_template }
    }

    /// Where clients reach the API.
    pub const fn site(&self) -> &Site {
        &self.site
    }

    /// An account on the explorer.
    pub fn account(&self, address: &Pubkey) -> String {
        self.account_template.replace(ADDRESS, &address.to_string())
    }

    /// The same for a transaction, with `{signature}`, if the explorer's URLs have the usual form.
    pub fn transaction_template(&self) -> Option<String> {
        let usual = format!("/address/{ADDRESS}");
        self.account_template.contains(&usual).then(|| self.account_template.replace(&usual, "/tx/{signature}"))
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
    fn the_page_of_a_transaction_follows_from_the_usual_page_of_an_account() {
        let template = |explorer| Links::new(explorer, "https://a.example").expect("good").transaction_template();
        let found = template("https://explorer.example/address/{address}?cluster=devnet");
        assert_eq!(found.as_deref(), Some("https://explorer.example/tx/{signature}?cluster=devnet"));
        assert_eq!(template("https://explorer.example/account?a={address}"), None);
    }

    #[test]
    fn an_explorer_without_a_place_for_the_address_is_refused() {
        assert!(Links::new("https://e.example/", "https://a.example").is_err());
        assert!(Links::new("https://e.example/{address}", "https://a.example").is_ok());
    }
}
