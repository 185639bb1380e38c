//! Two nodes, if there are two, are compared in regular intervals. What only one of them shows is shown, and told.

use std::{collections::HashMap, time::Duration};

use crtx_chain::ProgramAccount;
use crtx_protocol::mirror_digest::data_hash;
use crtx_store::mirror;
use solana_pubkey::Pubkey;
use tokio::time::{Instant, sleep, timeout};

use super::{
    correct::shows,
    known::Doubts,
    look::READ_AT_ONCE,
    syncer::{SyncError, Syncer},
    writer::{Item, ROWS_PER_TRANSACTION},
};
use crate::{
    closings::search::{self, Proof},
    snapshots::Seen,
    source::{AccountSource, At, OwnedAccount, Read, SnapshotItem, SourceError, has_kind},
};

/// Longest pause between two comparisons of the nodes.
const MAX_PAUSE: Duration = Duration::from_secs(20);
/// After a comparison, a pause of so many times its length.
const REST: u32 = 10;
/// Between two looks at accounts that the nodes may show differently.
const DOUBTS_EVERY: Duration = Duration::from_secs(2);

/// What two nodes say about an account.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Same,
    /// It changed between the reads.
    Moving,
    /// They contradict each other. The state that the chain has reached, as far as that can be told.
    Differ(Option<Vec<u8>>),
}

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
                self.known().doubts = Doubts::default();
                continue;
            };
            let began = Instant::now();
            let whole = next <= began;
            let unusable = match self.compare(second.as_ref(), whole).await {
                Ok(()) => None,
                Err(error @ SyncError::Store(_)) => return error,
                Err(error) => Some(error.to_string()),
            };
            self.known().doubts.unusable = unusable;
            if whole {
                let most = self.settings.resync_interval.min(MAX_PAUSE);
                let pause = began.elapsed().saturating_mul(REST).max(most);
                next = Instant::now().checked_add(pause).unwrap_or_else(Instant::now);
            }
            // A node that is asked for again and again is asked at most so often.
            sleep(self.settings.finality_interval).await;
        }
    }

    async fn compare(&self, second: &dyn AccountSource, whole: bool) -> Result<(), SyncError> {
        // Without a list of its accounts, the node can still be asked for some.
        let surveyed = if whole { self.survey(second).await } else { Ok(()) };
        let doubts: Vec<Pubkey> = {
            let Doubts { open, proved, .. } = &self.known().doubts;
            if whole { open.union(proved).copied().collect() } else { open.iter().copied().collect() }
        };
        let first = self.first_node();
        for addresses in doubts.chunks(READ_AT_ONCE) {
            self.settle(first.as_ref(), second, addresses).await?;
        }
        self.tell(&first.name(), &second.name());
        surveyed
    }

    /// Finds accounts that the second node shows in another state than the mirror.
    async fn survey(&self, second: &dyn AccountSource) -> Result<(), SyncError> {
        let from = self.known().indexed;
        let mut snapshot = second.snapshot(At::Confirmed, from).await?;
        let mut seen = Seen::default();
        let slot = loop {
            match self.next_part(&mut snapshot, from).await? {
                SnapshotItem::End { slot } => break slot,
                SnapshotItem::Page { accounts, .. } => self.survey_page(&accounts, &mut seen).await?,
            }
        };
        let seen = seen.sorted();
        for of in mirror::missing(&self.pool, slot, |address| seen.has(address)).await? {
            self.known().doubts.add(of.addresses);
        }
        Ok(())
    }

    async fn survey_page(&self, accounts: &[(Pubkey, Vec<u8>)], seen: &mut Seen) -> Result<(), SyncError> {
        for chunk in accounts.chunks(ROWS_PER_TRANSACTION) {
            let began = Instant::now();
            let there: Vec<&(Pubkey, Vec<u8>)> = chunk.iter().filter(|(_, data)| has_kind(data)).collect();
            let addresses: Vec<Pubkey> = there.iter().map(|(address, _)| *address).collect();
            addresses.iter().for_each(|address| seen.add(address));
            let shown = mirror::shown(&self.pool, &addresses).await?;
            let differing = there.iter().filter(|(address, data)| !shows(&shown, address, Some(data_hash(data))));
            self.known().doubts.add(differing.map(|(address, _)| *address));
            // Changes of the chain come first.
            sleep(began.elapsed()).await;
        }
        Ok(())
    }

    /// Asks both nodes for accounts, one after the other, and shows what the chain has reached.
    async fn settle(
        &self,
        first_node: &dyn AccountSource,
        second_node: &dyn AccountSource,
        addresses: &[Pubkey],
    ) -> Result<(), SyncError> {
        let from = self.known().indexed;
        let before = self.read_of(second_node, addresses, from).await?;
        let first = self.read_of(first_node, addresses, before.slot).await?;
        let after = self.read_of(second_node, addresses, first.slot).await?;
        let (mut items, mut agreed, mut hidden) = (Vec::new(), Vec::new(), HashMap::new());
        let looks = before.accounts.iter().zip(&first.accounts).zip(&after.accounts);
        for (address, ((before, first), after)) in addresses.iter().zip(looks) {
            let bytes = |account: &Option<OwnedAccount>| account.as_ref().map(|account| account.data.clone());
            let verdict = judge(bytes(before), bytes(first), bytes(after));
            let mut known = self.known();
            let doubts = &mut known.doubts;
            match verdict {
                Verdict::Moving => continue,
                Verdict::Same => {
                    doubts.proved.remove(address);
                    agreed.extend(first.clone().map(|account| (*address, account.data)));
                }
                Verdict::Differ(newest) => {
                    doubts.proved.insert(*address);
                    match newest {
                        Some(data) if first.is_none() => drop(hidden.insert(*address, data)),
                        newest => items.extend(newest.map(|data| (*address, data))),
                    }
                }
            }
            doubts.open.remove(address);
        }
        // What a transaction closed is closed, though a node still has it.
        let of_hidden: Vec<Pubkey> = hidden.keys().copied().collect();
        let same = |address: &Pubkey, proof: &Proof| {
            proof.closed.iter().any(|closed| closed.address == *address && hidden.get(address) == Some(&closed.data))
        };
        let closed = match &self.history {
            Some(history) => search::closed(history.as_ref(), &self.program, &of_hidden, same).await,
            None => Vec::new(),
        };
        closed.iter().for_each(|address| drop(hidden.remove(address)));
        items.extend(hidden);
        let item = |(address, data)| Item::read(address, first.slot, data);
        // What both show, and what only one of them does: the mirror has it, or takes it now.
        let items: Vec<Item> = items.into_iter().chain(agreed).map(item).collect();
        self.apply_page(&items).await?;
        Ok(())
    }

    async fn read_of(&self, node: &dyn AccountSource, addresses: &[Pubkey], from: u64) -> Result<Read, SyncError> {
        let mut read = node.read(addresses, At::Confirmed, from).await?;
        if read.slot < from || read.accounts.len() != addresses.len() {
            return Err(SourceError::Behind { node: node.name(), wanted: from }.into());
        }
        self.keep_accounts(&mut read);
        Ok(read)
    }

    /// Says what the nodes contradict each other about, or that they do not.
    fn tell(&self, first: &str, second: &str) {
        let (count, example) = {
            let known = self.known();
            let doubts = &known.doubts;
            (doubts.proved.len(), doubts.proved.first().copied())
        };
        let Some(example) = example else { return self.problems.clear(&["nodes_disagree"]) };
        let message = format!(
            "the nodes at {first} and {second} show {count} accounts in different states, for example {example}: nothing is hidden, \
             and each is shown in the newest state that one of them has"
        );
        self.problems.set("nodes_disagree", message);
    }
}

/// Compares what the second node said, what the first said at that slot or later, and what the second said at the slot of
/// that answer or later.
fn judge(before: Option<Vec<u8>>, first: Option<Vec<u8>>, after: Option<Vec<u8>>) -> Verdict {
    if before == first || first == after {
        return Verdict::Same;
    }
    let revision = |data: &[u8]| ProgramAccount::decode(data).map_or(0, |account| account.revision());
    match (before, first, after) {
        // The later answer is older.
        (Some(before), Some(first), _) if revision(&before) > revision(&first) => Verdict::Differ(Some(before)),
        (_, Some(first), Some(after)) if revision(&first) > revision(&after) => Verdict::Differ(Some(first)),
        // The same before and after, and something else between the two.
        (before, first, after) if before == after => Verdict::Differ(match (before, first) {
            // Neither is newer than the other.
            (Some(_), Some(_)) => None,
            (one, other) => one.or(other),
        }),
        _ => Verdict::Moving,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_between_two_answers_is_no_contradiction() {
        let (old, new) = (Some(vec![1; 40]), Some(vec![2; 40]));
        assert_eq!(judge(old.clone(), old.clone(), old.clone()), Verdict::Same);
        assert_eq!(judge(old.clone(), new.clone(), new.clone()), Verdict::Same);
        assert_eq!(judge(old.clone(), old.clone(), new.clone()), Verdict::Same);
        assert_eq!(judge(old.clone(), None, None), Verdict::Same, "it was closed meanwhile");
        assert_eq!(judge(None, new.clone(), new.clone()), Verdict::Same, "it was opened meanwhile");
        assert_eq!(judge(old.clone(), Some(vec![3; 40]), new), Verdict::Moving);
        assert_eq!(judge(old.clone(), None, old.clone()), Verdict::Differ(old.clone()), "the first one hides it");
        assert_eq!(judge(None, old.clone(), None), Verdict::Differ(old), "the second one hides it");
    }
}
