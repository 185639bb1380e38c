//! Reads of accounts that are doubted. Each also asks for an account that must exist, and a second node, if there is
//! one, confirms what it found.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use crtx_chain::ProgramAccount;
use crtx_store::{StoreError, mirror};
use solana_pubkey::Pubkey;

use super::{
    syncer::{SyncError, Syncer},
    writer::ROWS_PER_TRANSACTION,
};
use crate::{
    closings::search::{self, Proof},
    source::{AccountSource, At, MAX_ACCOUNTS_PER_READ, Read, has_kind},
};

/// One place of a read is for an account that must exist.
pub const READ_AT_ONCE: usize = MAX_ACCOUNTS_PER_READ - 1;

/// What the chain has, and what it does not have. Accounts that changed between two answers are left out.
#[derive(Debug, Default)]
pub struct Looked {
    pub slot: u64,
    pub there: HashMap<Pubkey, Vec<u8>>,
    pub gone: Vec<Pubkey>,
    /// Accounts about which two nodes contradict each other, with the state that is probably true.
    pub differ: HashMap<Pubkey, Option<Vec<u8>>>,
}

impl Looked {
    fn add(&mut self, address: Pubkey, data: Option<Vec<u8>>) {
        match data {
            Some(data) => drop(self.there.insert(address, data)),
            None => self.gone.push(address),
        }
    }
}

/// What two nodes say about an account.
#[derive(Debug, PartialEq, Eq)]
enum NodesVerdict {
    Same,
    /// It changed between the reads.
    Moving,
    /// They contradict each other. This state is probably true.
    Differ(Option<Vec<u8>>),
}

impl Syncer {
    /// The node that is asked first, and no other in its place if there are two.
    pub(super) fn first_node(&self) -> Arc<dyn AccountSource> {
        self.source.preferred().unwrap_or_else(|| Arc::clone(&self.source))
    }

    /// Two nodes may show these accounts differently.
    pub(super) fn doubt_accounts(&self, addresses: impl IntoIterator<Item = Pubkey>) {
        self.known().doubt(addresses);
        self.doubt_now.notify_one();
    }

    /// Reads at most [`READ_AT_ONCE`] accounts of both nodes, if there are two. While the second one does not answer,
    /// only what is proved is gone.
    pub(super) async fn look(&self, addresses: &[Pubkey], at: At, from: u64) -> Result<Looked, SyncError> {
        let mut unconfirmed = None;
        if let Some(second) = self.source.witness() {
            match self.ask_both(second.as_ref(), addresses, at, from).await {
                Ok(looked) => {
                    if !looked.differ.is_empty() {
                        self.doubt_accounts(looked.differ.keys().copied());
                    }
                    return Ok(looked);
                }
                Err(error @ SyncError::Store(_)) => return Err(error),
                Err(error) => unconfirmed = Some(error),
            }
        }
        let read = self.read_doubted(self.first_node().as_ref(), addresses, at, from).await?;
        let mut looked = Looked { slot: read.slot, ..Looked::default() };
        let accounts = addresses.iter().zip(read.value);
        accounts.for_each(|(address, account)| looked.add(*address, account.map(|account| account.data)));
        let Some(error) = unconfirmed else { return Ok(looked) };
        let proved = self.proved_closed(&looked.gone).await?;
        let shown = looked.gone.len().saturating_sub(proved.len());
        looked.gone.retain(|address| proved.contains(address));
        if shown > 0 {
            let message = format!(
                "the node at {} does not have {shown} accounts of the mirror, and no other node confirms that: they stay \
                 shown ({error})",
                self.first_node().name()
            );
            self.problems.set("closing_unconfirmed", message);
        }
        Ok(looked)
    }

    /// Asks the second node, the first one, and the second one again. What a transaction closed is gone, though the
    /// second one still has it.
    pub(super) async fn ask_both(
        &self,
        second: &dyn AccountSource,
        addresses: &[Pubkey],
        at: At,
        from: u64,
    ) -> Result<Looked, SyncError> {
        let before = self.read_doubted(second, addresses, at, from).await?;
        let first = self.read_doubted(self.first_node().as_ref(), addresses, at, before.slot).await?;
        let after = self.read_doubted(second, addresses, at, first.slot).await?;
        let (mut looked, mut hidden) = (Looked { slot: first.slot, ..Looked::default() }, Vec::new());
        let answers = before.value.into_iter().zip(first.value).zip(after.value);
        for (address, ((before, first), after)) in addresses.iter().zip(answers) {
            let [before, first, after] = [before, first, after].map(|account| account.map(|account| account.data));
            match judge(before, first.clone(), after) {
                NodesVerdict::Moving => {}
                NodesVerdict::Same => looked.add(*address, first),
                NodesVerdict::Differ(newest) => {
                    hidden.extend(first.is_none().then_some(*address));
                    looked.differ.insert(*address, newest);
                }
            }
        }
        for address in self.proved_on_chain(&hidden).await? {
            looked.differ.remove(&address);
            looked.gone.push(address);
        }
        Ok(looked)
    }

    /// Reads accounts of one node; those that are not the program's count as gone. Fails if the node does not find an
    /// account that must exist, or answers for an earlier slot.
    pub(super) async fn read_doubted(
        &self,
        source: &dyn AccountSource,
        addresses: &[Pubkey],
        at: At,
        from: u64,
    ) -> Result<Read, SyncError> {
        let control = self.known().witnessed;
        let asked: Vec<Pubkey> = addresses.iter().chain(&control).copied().collect();
        let mut read = source.read(&asked, at, from).await?;
        if read.slot < from || read.value.len() != asked.len() {
            return Err(SyncError::Doubtful(format!(
                "the node at {} answered a read for slot {} with {} accounts for slot {}",
                source.name(),
                from,
                read.value.len(),
                read.slot
            )));
        }
        self.believe(read.slot).await?;
        for account in &mut read.value {
            *account = account.take().filter(|account| account.owner == self.program && has_kind(&account.data));
        }
        if control.is_some() && !read.value.last().is_some_and(Option::is_some) {
            // It may be closed: the next snapshot names another one.
            if at == At::Confirmed {
                self.resync_now.notify_one();
            }
            return Err(SyncError::Doubtful(format!(
                "the node at {} does not find an account that exists",
                source.name()
            )));
        }
        read.value.truncate(addresses.len());
        Ok(read)
    }

    /// Those of these accounts that are closed: the stream reported it, or an event on the chain proves it. The mirror
    /// has an open row of each.
    pub(super) async fn proved_closed(&self, addresses: &[Pubkey]) -> Result<HashSet<Pubkey>, StoreError> {
        let (told, rest): (Vec<Pubkey>, Vec<Pubkey>) = {
            let known = self.known();
            addresses.iter().copied().partition(|address| known.told_gone(address))
        };
        let mut proved = self.proved_on_chain(&rest).await?;
        proved.extend(told);
        Ok(proved)
    }

    /// Takes those out that are closed, by [`Self::proved_closed`].
    pub(super) async fn take_proved(&self, addresses: &mut Vec<Pubkey>) -> Result<HashSet<Pubkey>, StoreError> {
        let proved = self.proved_closed(addresses).await?;
        addresses.retain(|address| !proved.contains(address));
        Ok(proved)
    }

    /// Those that a transaction closed after their rows were stored.
    async fn proved_on_chain(&self, addresses: &[Pubkey]) -> Result<HashSet<Pubkey>, StoreError> {
        let Some(history) = &self.history else { return Ok(HashSet::new()) };
        let mut rows: HashMap<Pubkey, u64> = HashMap::new();
        for chunk in addresses.chunks(ROWS_PER_TRANSACTION) {
            rows.extend(mirror::still_open(&self.pool, chunk).await?.into_iter().map(|row| (row.address, row.slot)));
        }
        let after_its_row = |address: &Pubkey, proof: &Proof| rows.get(address).is_none_or(|slot| proof.slot >= *slot);
        Ok(search::closed(history.as_ref(), &self.program, addresses, after_its_row).await.into_iter().collect())
    }
}

/// Compares what the second node said, what the first said at that slot or later, and what the second said at the slot
/// of that answer or later.
fn judge(before: Option<Vec<u8>>, first: Option<Vec<u8>>, after: Option<Vec<u8>>) -> NodesVerdict {
    if before == first || first == after {
        return NodesVerdict::Same;
    }
    let revision = |data: &[u8]| ProgramAccount::decode(data).map_or(0, |account| account.revision());
    match (before, first, after) {
        // The later answer is older.
        (Some(before), Some(first), _) if revision(&before) > revision(&first) => NodesVerdict::Differ(Some(before)),
        (_, Some(first), Some(after)) if revision(&first) > revision(&after) => NodesVerdict::Differ(Some(first)),
        // The same before and after, and something else between the two.
        (before, first, after) if before == after => NodesVerdict::Differ(match (before, first) {
            // Neither is newer than the other.
            (Some(_), Some(_)) => None,
            (one, other) => one.or(other),
        }),
        _ => NodesVerdict::Moving,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_between_two_answers_is_no_contradiction() {
        let (old, new) = (Some(vec![1; 40]), Some(vec![2; 40]));
        assert_eq!(judge(old.clone(), old.clone(), old.clone()), NodesVerdict::Same);
        assert_eq!(judge(old.clone(), new.clone(), new.clone()), NodesVerdict::Same);
        assert_eq!(judge(old.clone(), old.clone(), new.clone()), NodesVerdict::Same);
        assert_eq!(judge(old.clone(), None, None), NodesVerdict::Same, "it was closed meanwhile");
        assert_eq!(judge(None, new.clone(), new.clone()), NodesVerdict::Same, "it was opened meanwhile");
        assert_eq!(judge(old.clone(), Some(vec![3; 40]), new), NodesVerdict::Moving);
        assert_eq!(judge(old.clone(), None, old.clone()), NodesVerdict::Differ(old.clone()), "the first one hides it");
        assert_eq!(judge(None, old.clone(), None), NodesVerdict::Differ(old), "the second one hides it");
    }
}
