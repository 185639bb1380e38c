//! Compares two nodes, if there are two, in regular intervals. The mirror shows what only one of them has, and the
//! status says so.

use std::time::Duration;

use crtx_protocol::mirror_digest::data_hash;
use crtx_store::mirror;
use solana_pubkey::Pubkey;
use tokio::time::{Instant, sleep, timeout};

use super::{
    correct::shows,
    look::{Looked, READ_AT_ONCE},
    syncer::{SyncError, Syncer},
    writer::{Item, ROWS_PER_TRANSACTION},
};
use crate::{
    snapshots::AddressSet,
    source::{AccountSource, At, SnapshotItem, has_kind},
};

/// Longest pause between two comparisons of the nodes.
const MAX_PAUSE: Duration = Duration::from_secs(20);
/// Pause after a comparison, in lengths of the comparison.
const REST: u32 = 10;
/// Between two looks at accounts that the nodes may show differently.
const DOUBTS_EVERY: Duration = Duration::from_secs(2);

impl Syncer {
    /// Compares two nodes, if there are two, until the database fails.
    pub(super) async fn comparisons(&self) -> SyncError {
        let mut next = Instant::now();
        loop {
            drop(timeout(DOUBTS_EVERY, self.doubt_now.notified()).await);
            if !self.known().caught_up || self.is_late() {
                continue;
            }
            let Some(second) = self.source.witness() else {
                let mut known = self.known();
                known.doubts.clear();
                known.second_unusable = None;
                continue;
            };
            let began = Instant::now();
            let whole = next <= began;
            let unusable = match self.compare(second.as_ref(), whole).await {
                Ok(()) => None,
                Err(error @ SyncError::Store(_)) => return error,
                Err(error) => Some(error.to_string()),
            };
            self.known().second_unusable = unusable;
            if whole {
                let most = self.settings.resync_interval.min(MAX_PAUSE);
                let pause = began.elapsed().saturating_mul(REST).max(most);
                next = Instant::now().checked_add(pause).unwrap_or_else(Instant::now);
            }
            // Doubts that never end ask the nodes at most this often.
            sleep(self.settings.finality_interval).await;
        }
    }

    async fn compare(&self, second: &dyn AccountSource, whole: bool) -> Result<(), SyncError> {
        // Without a list of its accounts, the node can still be asked for some.
        let surveyed = if whole { self.survey(second).await } else { Ok(()) };
        let doubts: Vec<Pubkey> = {
            let known = self.known();
            let asked = known.doubts.iter().filter(|(_, differed)| whole || !**differed);
            asked.map(|(address, _)| *address).collect()
        };
        for addresses in doubts.chunks(READ_AT_ONCE) {
            self.settle(second, addresses).await?;
        }
        self.tell(&self.first_node().name(), &second.name());
        surveyed
    }

    /// Finds accounts that the second node shows in another state than the mirror.
    async fn survey(&self, second: &dyn AccountSource) -> Result<(), SyncError> {
        let from = self.known().indexed;
        let mut snapshot = second.snapshot(At::Confirmed, from).await?;
        let mut seen = AddressSet::default();
        let slot = loop {
            match self.next_part(&mut snapshot, from).await? {
                SnapshotItem::End { slot } => break slot,
                SnapshotItem::Page { accounts, .. } => self.survey_page(&accounts, &mut seen).await?,
            }
        };
        let seen = seen.sorted();
        for of in mirror::missing(&self.pool, slot, |address| seen.has(address)).await?.into_values() {
            self.known().doubt(of.addresses);
        }
        Ok(())
    }

    async fn survey_page(&self, accounts: &[(Pubkey, Vec<u8>)], seen: &mut AddressSet) -> Result<(), SyncError> {
        for chunk in accounts.chunks(ROWS_PER_TRANSACTION) {
            let began = Instant::now();
            let there: Vec<&(Pubkey, Vec<u8>)> = chunk.iter().filter(|(_, data)| has_kind(data)).collect();
            let addresses: Vec<Pubkey> = there.iter().map(|(address, _)| *address).collect();
            addresses.iter().for_each(|address| seen.add(address));
            let shown = mirror::shown(&self.pool, &addresses).await?;
            let differing = there.iter().filter(|(address, data)| !shows(&shown, address, Some(data_hash(data))));
            self.known().doubt(differing.map(|(address, _)| *address));
            // Changes of the chain come first.
            sleep(began.elapsed()).await;
        }
        Ok(())
    }

    /// Compares accounts, and shows what the chain has reached.
    async fn settle(&self, second: &dyn AccountSource, addresses: &[Pubkey]) -> Result<(), SyncError> {
        let from = self.known().indexed;
        let Looked { slot, there, gone, differ } = self.ask_both(second, addresses, At::Confirmed, from).await?;
        for address in addresses {
            let doubts = &mut self.known().doubts;
            if differ.contains_key(address) {
                doubts.insert(*address, true);
            } else if there.contains_key(address) || gone.contains(address) {
                doubts.remove(address);
            }
        }
        // The mirror takes what it lacks of the states that both nodes show, or only one of them.
        let newest = differ.into_iter().filter_map(|(address, newest)| Some((address, newest?)));
        let shown = there.into_iter().chain(newest);
        let items: Vec<Item> = shown.map(|(address, data)| Item::read(address, slot, data)).collect();
        Ok(self.apply_page(&items).await?)
    }

    /// Says what the nodes contradict each other about, or that they do not.
    fn tell(&self, first: &str, second: &str) {
        let (count, example) = {
            let known = self.known();
            let mut differing = known.doubts.iter().filter(|(_, differed)| **differed).map(|(address, _)| *address);
            (differing.clone().count(), differing.next())
        };
        let Some(example) = example else { return self.problems.clear(&["nodes_disagree"]) };
        let message = format!(
            "the nodes at {first} and {second} show {count} accounts in different states, for example {example}: nothing \
             is hidden, and each is shown in the newest state that one of them has"
        );
        self.problems.set("nodes_disagree", message);
    }
}
