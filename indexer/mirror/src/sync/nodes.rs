//! Two nodes, if there are two: the second one confirms what would shrink the market, and both are compared in regular
//! intervals. What only one of them shows is shown, and told.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use crtx_chain::ProgramAccount;
use crtx_store::{StoreError, mirror};
use solana_pubkey::Pubkey;
use tokio::time::{Instant, sleep, timeout};

use super::{
    apply::{Item, ROWS_PER_TRANSACTION, counts},
    correct::{hash_of, shows},
    doubts::Doubts,
    error::SyncError,
    parts::{Parts, READ_AT_ONCE, lock},
    resync::Part,
    seen::Seen,
};
use crate::{
    closings::{proof, search::Proof},
    source::{AccountSource, At, OwnedAccount, Read, SourceError},
};

/// Longest pause between two comparisons of the nodes.
const MAX_PAUSE: Duration = Duration::from_secs(20);
/// After a comparison, a pause of so many times its length.
const REST: u32 = 10;
/// Between two looks at accounts that the nodes may show differently.
const DOUBTS_EVERY: Duration = Duration::from_secs(2);

/// Two nodes of one network.
struct Pair {
    first: Arc<dyn AccountSource>,
    second: Arc<dyn AccountSource>,
}

/// What two nodes say about an account.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Same,
    /// It changed between the reads.
    Moving,
    /// They contradict each other. The state that the chain has reached, as far as that can be told.
    Differ(Option<Vec<u8>>),
}

impl Parts {
    fn pair(&self) -> Option<Pair> {
        let second = self.source.witness()?;
        Some(Pair { first: self.first_node(), second })
    }

    /// The node that is asked first, and no other in its place if there are two.
    pub fn first_node(&self) -> Arc<dyn AccountSource> {
        self.source.preferred().unwrap_or_else(|| Arc::clone(&self.source))
    }

    /// Of accounts that a read at `slot` did not find, those that another node, if there is one, does not have either.
    /// While it does not answer, only what is proved is gone.
    pub async fn confirmed_gone(&self, addresses: Vec<Pubkey>, at: At, slot: u64) -> Result<Vec<Pubkey>, SyncError> {
        let Some(second) = self.source.witness().filter(|_| !addresses.is_empty()) else { return Ok(addresses) };
        match self.read_doubted(second.as_ref(), &addresses, at, slot).await {
            Ok(read) => {
                let there = addresses.iter().zip(&read.accounts).filter(|(_, account)| account.is_some());
                let there: Vec<Pubkey> = there.map(|(address, _)| *address).collect();
                if there.is_empty() {
                    return Ok(addresses);
                }
                let proved = self.proved_on_chain(&there).await?;
                let shown: HashSet<Pubkey> = there.into_iter().filter(|address| !proved.contains(address)).collect();
                lock(&self.doubts).add(shown.iter().copied());
                self.doubt_now.notify_one();
                Ok(addresses.into_iter().filter(|address| !shown.contains(address)).collect())
            }
            Err(error) => {
                let proved = self.proved_closed(&addresses).await?;
                let shown = addresses.len().saturating_sub(proved.len());
                if shown > 0 {
                    let message = format!(
                        "the node at {} does not have {shown} accounts of the mirror, and no other node confirms that: \
                         they stay shown ({error})",
                        self.first_node().name()
                    );
                    self.problems.set("closing_unconfirmed", message);
                }
                Ok(addresses.into_iter().filter(|address| proved.contains(address)).collect())
            }
        }
    }

    /// Compares the nodes until the database fails.
    pub async fn comparisons(&self) -> SyncError {
        let mut next = Instant::now();
        loop {
            drop(timeout(DOUBTS_EVERY, self.doubt_now.notified()).await);
            if !self.caught_up.load(Ordering::Relaxed) || self.pulse.heard().late() {
                continue;
            }
            let Some(pair) = self.pair() else {
                *lock(&self.doubts) = Doubts::default();
                continue;
            };
            let began = Instant::now();
            let whole = next <= began;
            match self.compare_nodes(&pair, whole).await {
                Ok(()) => lock(&self.doubts).unusable = None,
                Err(error @ SyncError::Store(_)) => return error,
                Err(error) => lock(&self.doubts).unusable = Some(error.to_string()),
            }
            if whole {
                let most = self.settings.resync_interval.min(MAX_PAUSE);
                let pause = began.elapsed().saturating_mul(REST).max(most);
                next = Instant::now().checked_add(pause).unwrap_or_else(Instant::now);
            }
            // A node that is asked for again and again is asked at most so often.
            sleep(self.settings.finality_interval).await;
        }
    }

    async fn compare_nodes(&self, pair: &Pair, whole: bool) -> Result<(), SyncError> {
        // Without a list of its accounts, the node can still be asked for some.
        let surveyed = if whole { self.survey(pair.second.as_ref()).await } else { Ok(()) };
        let doubts: Vec<Pubkey> = {
            let doubts = lock(&self.doubts);
            if whole {
                doubts.open.union(&doubts.proved).copied().collect()
            } else {
                doubts.open.iter().copied().collect()
            }
        };
        for addresses in doubts.chunks(READ_AT_ONCE) {
            self.settle(pair, addresses).await?;
        }
        self.tell(pair);
        surveyed
    }

    /// Finds accounts that the second node shows in another state than the mirror.
    async fn survey(&self, second: &dyn AccountSource) -> Result<(), SyncError> {
        let from = self.indexed();
        let mut snapshot = second.snapshot(At::Confirmed, from).await?;
        let mut seen = Seen::default();
        let slot = loop {
            match self.next_part(&mut snapshot, from, None).await? {
                Part::End { slot } => break slot,
                Part::Page { accounts, .. } => self.survey_page(&accounts, &mut seen).await?,
            }
        };
        let seen = seen.sorted();
        for of in mirror::missing(&self.pool, slot, |address| seen.has(address)).await? {
            lock(&self.doubts).add(of.addresses);
        }
        Ok(())
    }

    async fn survey_page(&self, accounts: &[(Pubkey, Vec<u8>)], seen: &mut Seen) -> Result<(), SyncError> {
        for chunk in accounts.chunks(ROWS_PER_TRANSACTION) {
            let began = Instant::now();
            let addresses: Vec<Pubkey> =
                chunk.iter().filter(|(_, data)| counts(data)).map(|(address, _)| *address).collect();
            if !addresses.iter().all(|address| seen.add(address)) {
                return Err(SyncError::Doubtful("the node has more accounts than a mirror can hold".to_owned()));
            }
            let shown = mirror::shown(&self.pool, &addresses).await?;
            let differs =
                |(address, data): &&(Pubkey, Vec<u8>)| counts(data) && !shows(&shown, address, hash_of(Some(data)));
            lock(&self.doubts).add(chunk.iter().filter(differs).map(|(address, _)| *address));
            // Changes of the chain come first.
            sleep(began.elapsed()).await;
        }
        Ok(())
    }

    /// Asks both nodes for accounts, one after the other, and shows what the chain has reached.
    async fn settle(&self, pair: &Pair, addresses: &[Pubkey]) -> Result<(), SyncError> {
        let before = self.read_of(pair.second.as_ref(), addresses, self.indexed()).await?;
        let first = self.read_of(pair.first.as_ref(), addresses, before.slot).await?;
        let after = self.read_of(pair.second.as_ref(), addresses, first.slot).await?;
        let (mut items, mut agreed, mut hidden) = (Vec::new(), Vec::new(), HashMap::new());
        let looks = before.accounts.iter().zip(&first.accounts).zip(&after.accounts);
        for (address, ((before, first), after)) in addresses.iter().zip(looks) {
            let bytes = |account: &Option<OwnedAccount>| account.as_ref().map(|account| account.data.clone());
            let verdict = judge(bytes(before), bytes(first), bytes(after));
            let mut doubts = lock(&self.doubts);
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
        let closed = match self.history.get() {
            Some(history) => proof::closed(history.as_ref(), &self.program, &of_hidden, same).await,
            None => Vec::new(),
        };
        closed.iter().for_each(|address| drop(hidden.remove(address)));
        items.extend(hidden);
        let item = |(address, data)| Item { address, slot: first.slot, data, exact: false };
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
    fn tell(&self, pair: &Pair) {
        let (count, example) = {
            let doubts = lock(&self.doubts);
            (doubts.proved.len(), doubts.proved.first().copied())
        };
        match example {
            None => self.problems.clear(&["nodes_disagree"]),
            Some(example) => {
                let message = format!(
                    "the nodes at {} and {} show {count} accounts in different states, for example {example}: nothing is \
                     hidden, and each is shown in the newest state that one of them has",
                    pair.first.name(),
                    pair.second.name()
                );
                self.problems.set("nodes_disagree", message);
            }
        }
    }

    /// Of these accounts, those whose closing the stream told, or an event on the chain proves. The mirror has an open
    /// row of each.
    pub async fn proved_closed(&self, addresses: &[Pubkey]) -> Result<HashSet<Pubkey>, StoreError> {
        let told = |address: &&Pubkey| self.told_gone(address);
        let mut proved: HashSet<Pubkey> = addresses.iter().filter(told).copied().collect();
        let rest: Vec<Pubkey> = addresses.iter().filter(|address| !proved.contains(address)).copied().collect();
        proved.extend(self.proved_on_chain(&rest).await?);
        Ok(proved)
    }

    /// Those that a transaction closed after their rows were stored.
    async fn proved_on_chain(&self, addresses: &[Pubkey]) -> Result<HashSet<Pubkey>, StoreError> {
        let Some(history) = self.history.get() else { return Ok(HashSet::new()) };
        let mut rows: HashMap<Pubkey, u64> = HashMap::new();
        for chunk in addresses.chunks(ROWS_PER_TRANSACTION) {
            rows.extend(mirror::still_open(&self.pool, chunk).await?.into_iter().map(|row| (row.address, row.slot)));
        }
        let after_its_row = |address: &Pubkey, proof: &Proof| rows.get(address).is_none_or(|slot| proof.slot >= *slot);
        Ok(proof::closed(history.as_ref(), &self.program, addresses, after_its_row).await.into_iter().collect())
    }

    /// Whether the stream told the closing of an account.
    pub fn told_gone(&self, address: &Pubkey) -> bool {
        self.changes().newest(address).is_some_and(|state| state.exact && state.data_hash.is_none())
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
