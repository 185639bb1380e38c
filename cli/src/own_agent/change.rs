//! What an update of a listing changes.

use agent_marketplace::{
    instructions::update_listing::{MetadataRef, UpdateListingArgs},
    state::AgentListed,
};
use crtx_protocol::{content::ipfs_uri, usdc::UsdcBase};

use super::manifest::Manifest;

/// The difference between a manifest and the listing on chain.
#[derive(Debug)]
pub struct Change {
    pub args: UpdateListingArgs,
    /// One sentence for each difference.
    pub sentences: Vec<String>,
    /// The new document has to be uploaded first.
    pub needs_document: bool,
}

impl Change {
    pub fn between(listing: &AgentListed, manifest: &Manifest) -> Self {
        let mut sentences = Vec::new();
        let mut note = |changed: bool, sentence: String| {
            if changed {
                sentences.push(sentence);
            }
            changed
        };
        let hash = manifest.document_hash();
        let price = note(
            listing.price != manifest.price.0,
            format!("The price changes from {} to {} USDC.", UsdcBase(listing.price), manifest.price),
        );
        let timeout = note(
            listing.timeout_seconds != manifest.timeout_seconds,
            format!("The time-out changes from {} to {} s.", listing.timeout_seconds, manifest.timeout_seconds),
        );
        let result_key = note(
            listing.result_key != manifest.result_key,
            format!("The result key changes from {} to {}.", listing.result_key, manifest.result_key),
        );
        let is_binding = listing.binding != 0;
        let binding = note(
            is_binding != manifest.binding,
            format!("Results are {}signed for the call.", if manifest.binding { "" } else { "no longer " }),
        );
        let needs_document = note(
            listing.metadata_hash != hash.0,
            "The metadata document (texts, tags, endpoint, schemas) changes. The agent is hidden until the service has \
             checked the new document, which takes some seconds."
                .to_owned(),
        );
        let metadata = needs_document.then(|| MetadataRef { hash: hash.0, uri: ipfs_uri(&hash) });
        let args = UpdateListingArgs {
            price: price.then_some(manifest.price.0),
            timeout_seconds: timeout.then_some(manifest.timeout_seconds),
            result_key: result_key.then_some(manifest.result_key),
            binding: binding.then_some(manifest.binding),
            metadata,
        };
        Self { args, sentences, needs_document }
    }
}
