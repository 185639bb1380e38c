//! Where accounts come from: a stream of changes, snapshots in pages, and single reads, behind one trait.
//!
//! A source is doubted. It claims only what it can prove: [`SourceEvent::Reached`] comes from a source that knows that it
//! delivered every change, and a snapshot is complete only with its [`SnapshotItem::End`].

mod accounts;
mod banks;
mod deadlines;
mod endpoint;
mod endpoints;
mod error;
mod event_sender;
mod http;
mod listing;
mod messages;
mod snapshot;
mod websocket;
mod yellowstone;

use std::sync::Arc;

use async_trait::async_trait;
use crtx_chain::{AtSlot, FetchedAccount, past::SignatureInfo};
use serde::Serialize;
use solana_pubkey::Pubkey;
use tokio::sync::mpsc;

pub use accounts::has_kind;
pub use deadlines::Deadlines;
pub use endpoint::EndpointUrls;
pub use endpoints::Endpoints;
pub use error::SourceError;
pub use yellowstone::YellowstoneAddress;

/// Most addresses that [`AccountSource::read`] takes.
pub const MAX_ACCOUNTS_PER_READ: usize = crtx_chain::rpc::MAX_ACCOUNTS_PER_READ;
/// Most accounts in one page of a snapshot.
pub const MAX_ACCOUNTS_PER_PAGE: usize = 1_000;
/// Most transactions that [`AccountSource::transactions_after`] returns.
pub const MAX_TRANSACTIONS: usize = 10_000;

/// How certain the chain is about what is read. Serialized as JSON-RPC names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum At {
    Confirmed,
    Finalized,
}

/// A change of one of the program's accounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub address: Pubkey,
    /// The slot in the notification. It can be too old (Surfpool 1.6.1 sends the slot at which the subscription began),
    /// so the account's revision decides the order first.
    pub slot: u64,
    /// `None`: the account is gone, or no longer the program's.
    pub data: Option<Vec<u8>>,
}

/// What a stream delivers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceEvent {
    Change(Change),
    /// Every change of the program up to this slot was delivered before. Only a source that can prove it sends it.
    Reached(u64),
    /// The stream itself is alive: the node's newest slot. It says nothing about changes.
    Alive(u64),
    /// The chain left this slot, so its changes never happened.
    Dropped(u64),
}

/// The events of one subscription. The channel is bounded. The last item before it closes is the reason.
pub type Events = mpsc::Receiver<Result<SourceEvent, SourceError>>;

/// A part of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SnapshotItem {
    /// At most [`MAX_ACCOUNTS_PER_PAGE`] accounts, read at `slot`.
    Page { slot: u64, accounts: Vec<(Pubkey, Vec<u8>)> },
    /// The snapshot is complete. `slot` is the lowest of all pages.
    End { slot: u64 },
}

/// A snapshot in pages. The channel is bounded. If it closes without [`SnapshotItem::End`], the snapshot failed, and
/// what it delivered says nothing about accounts that it did not deliver.
pub type Snapshot = mpsc::Receiver<Result<SnapshotItem, SourceError>>;

/// Accounts read together at one slot, in the order asked for.
pub type Read = AtSlot<Vec<Option<FetchedAccount>>>;

/// A source of the program's accounts.
///
/// An account is the program's once the program has written its kind, the first eight bytes, into it. Anybody can give
/// the program an account of zeros; such an account is in no snapshot, and its change has no data.
#[async_trait]
pub trait AccountSource: Send + Sync + 'static {
    /// Names the endpoint in a status and in messages: its host, without secrets.
    fn name(&self) -> String;

    /// Changes from now on, at `confirmed`.
    async fn subscribe(&self) -> Result<Events, SourceError>;

    /// All accounts of the program, read at `min_slot` or later.
    async fn snapshot(&self, at: At, min_slot: u64) -> Result<Snapshot, SourceError>;

    /// At most [`MAX_ACCOUNTS_PER_READ`] accounts, of the program or not, read at `min_slot` or later.
    async fn read(&self, addresses: &[Pubkey], at: At, min_slot: u64) -> Result<Read, SourceError>;

    /// The newest slot.
    async fn slot(&self, at: At) -> Result<u64, SourceError>;

    /// Identifies the chain.
    async fn genesis_hash(&self) -> Result<String, SourceError>;

    /// The program's transactions after `after`, newest first, at most [`MAX_TRANSACTIONS`], from a node that has reached
    /// `min_slot`. `None`: the node does not offer them.
    async fn transactions_after(
        &self,
        after: Option<&str>,
        min_slot: u64,
    ) -> Result<Option<Vec<SignatureInfo>>, SourceError>;

    /// The accounts, of the program or not, that a transaction may have written. `None`: the node does not tell.
    async fn written_by(&self, _signature: &str) -> Result<Option<Vec<Pubkey>>, SourceError> {
        Ok(None)
    }

    /// Waits until a better stream than the present one is there, which the next subscription then is.
    async fn better(&self) {
        std::future::pending().await
    }

    /// The oldest slot that the source sends again after a break. `None`: none, or the source does not tell.
    async fn replays_from(&self) -> Option<u64> {
        None
    }

    /// Names the chain that the mirror follows, by its genesis hash. Endpoints of another chain are not used while one
    /// of this chain answers.
    fn expect_chain(&self, _genesis: &str) {}

    /// The endpoint that is asked first, alone: a second look then comes from another one for certain. `None` if there is
    /// one only.
    fn preferred(&self) -> Option<Arc<dyn AccountSource>> {
        None
    }

    /// Why endpoints cannot be used now, each in words that name it.
    fn unusable(&self) -> Vec<String> {
        Vec::new()
    }

    /// Asks endpoints that cannot be used again, if their rest is over.
    async fn ask_unusable_again(&self) {}

    /// Another endpoint, for a second look. `None` if there is one only.
    fn witness(&self) -> Option<Arc<dyn AccountSource>> {
        None
    }
}
