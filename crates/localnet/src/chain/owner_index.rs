//! Which accounts a program owns, in place of Surfpool's own index. That one is a list for each owner, and the
//! thread that executes transactions copies, searches and stores the whole list for every account of the
//! program that a transaction changes: each call made the next one more expensive.
//!
//! Surfpool changes the index through two functions only: one reads the list and stores it with one more
//! address, one reads it and stores it with one less. On the thread that executes transactions this index
//! therefore reads as empty, and adds what Surfpool stores. An address belongs to the owner
//! under which it was added last; one of a closed account stays until [`OwnerIndex::forget`], and readers
//! find no account under it. On every other thread it is an ordinary map.

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use parking_lot::RwLock;
use surfpool_core::storage::{Storage, StorageResult};

thread_local! {
    static EXECUTES_TRANSACTIONS: Cell<bool> = const { Cell::new(false) };
}

/// Does what this thread does for transactions that it executes.
pub fn executing_transactions<T>(work: impl FnOnce() -> T) -> T {
    EXECUTES_TRANSACTIONS.set(true);
    let done = work();
    EXECUTES_TRANSACTIONS.set(false);
    done
}

/// Clones share what they hold; [`Storage::clone_box`] makes a copy of its own.
#[derive(Clone, Debug, Default)]
pub struct OwnerIndex(Arc<RwLock<Addresses>>);

/// By owner. There are few owners.
type Addresses = BTreeMap<String, BTreeSet<Arc<str>>>;

impl OwnerIndex {
    /// Takes over what another index holds.
    pub fn from(other: &dyn Storage<String, Vec<String>>) -> StorageResult<Self> {
        let lists = other.into_iter()?.map(|(owner, list)| (owner, list.into_iter().map(Arc::from).collect()));
        Ok(Self(Arc::new(RwLock::new(lists.collect()))))
    }

    /// Leaves out a closed account.
    pub fn forget(&self, address: &str) {
        remove(&mut self.0.write(), address);
    }
}

fn remove(addresses: &mut Addresses, address: &str) {
    addresses.retain(|_, list| !list.remove(address) || !list.is_empty());
}

fn texts(list: &BTreeSet<Arc<str>>) -> Vec<String> {
    list.iter().map(ToString::to_string).collect()
}

impl Storage<String, Vec<String>> for OwnerIndex {
    fn store(&mut self, owner: String, list: Vec<String>) -> StorageResult<()> {
        let mut addresses = self.0.write();
        if !EXECUTES_TRANSACTIONS.get() {
            addresses.remove(&owner);
        }
        list.iter().for_each(|address| remove(&mut addresses, address));
        addresses.entry(owner).or_default().extend(list.into_iter().map(Arc::from));
        Ok(())
    }

    fn get(&self, owner: &String) -> StorageResult<Option<Vec<String>>> {
        if EXECUTES_TRANSACTIONS.get() {
            return Ok(None);
        }
        Ok(self.0.read().get(owner).map(texts))
    }

    fn take(&mut self, owner: &String) -> StorageResult<Option<Vec<String>>> {
        // A bundle that added and removed the same account takes what seems to have become empty.
        if EXECUTES_TRANSACTIONS.get() {
            return Ok(None);
        }
        Ok(self.0.write().remove(owner).as_ref().map(texts))
    }

    fn clear(&mut self) -> StorageResult<()> {
        self.0.write().clear();
        Ok(())
    }

    fn keys(&self) -> StorageResult<Vec<String>> {
        Ok(self.0.read().keys().cloned().collect())
    }

    fn into_iter(&self) -> StorageResult<Box<dyn Iterator<Item = (String, Vec<String>)> + '_>> {
        let lists: Vec<_> = self.0.read().iter().map(|(owner, list)| (owner.clone(), texts(list))).collect();
        Ok(Box::new(lists.into_iter()))
    }

    fn count(&self) -> StorageResult<u64> {
        Ok(u64::try_from(self.0.read().len()).unwrap_or(u64::MAX))
    }

    fn clone_box(&self) -> Box<dyn Storage<String, Vec<String>>> {
        Box::new(Self(Arc::new(RwLock::new(self.0.read().clone()))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(addresses: &[&str]) -> Vec<String> {
        addresses.iter().map(ToString::to_string).collect()
    }

    fn read(index: &OwnerIndex, owner: &str) -> Vec<String> {
        index.get(&owner.to_owned()).expect("read").unwrap_or_default()
    }

    /// What Surfpool does with its index when an account comes to be owned by `owner`.
    fn add_as_surfpool_does(index: &mut OwnerIndex, owner: &str, address: &str) {
        let mut known = read(index, owner);
        if !known.contains(&address.to_owned()) {
            known.push(address.to_owned());
            index.store(owner.to_owned(), known).expect("store");
        }
    }

    /// What it does when an account is closed or gets another owner.
    fn remove_as_surfpool_does(index: &mut OwnerIndex, owner: &str, address: &str) {
        let Some(mut known) = index.get(&owner.to_owned()).expect("read") else { return };
        known.retain(|other| other != address);
        match known.is_empty() {
            true => drop(index.take(&owner.to_owned()).expect("take")),
            false => index.store(owner.to_owned(), known).expect("store"),
        }
    }

    fn executing(index: &OwnerIndex, work: impl FnOnce(&mut OwnerIndex)) {
        executing_transactions(|| work(&mut index.clone()));
    }

    #[test]
    fn other_threads_see_an_ordinary_map() {
        let mut index = OwnerIndex::default();
        add_as_surfpool_does(&mut index, "p", "a");
        add_as_surfpool_does(&mut index, "p", "b");
        add_as_surfpool_does(&mut index, "q", "c");
        assert_eq!((read(&index, "p"), read(&index, "q")), (list(&["a", "b"]), list(&["c"])));
        remove_as_surfpool_does(&mut index, "p", "a");
        remove_as_surfpool_does(&mut index, "q", "c");
        assert_eq!((read(&index, "p"), index.keys().expect("keys")), (list(&["b"]), list(&["p"])));
        index.store("p".to_owned(), list(&["x"])).expect("store");
        assert_eq!(read(&index, "p"), list(&["x"]), "what is stored replaces what was there");
    }

    #[test]
    fn what_transactions_create_is_found_by_readers() {
        let index = OwnerIndex::default();
        executing(&index, |index| {
            for address in ["a", "b", "a"] {
                remove_as_surfpool_does(index, "p", address);
                add_as_surfpool_does(index, "p", address);
            }
        });
        assert_eq!(read(&index, "p"), list(&["a", "b"]));
    }

    #[test]
    fn an_account_that_gets_another_owner_is_found_under_that_one_alone() {
        let index = OwnerIndex::default();
        executing(&index, |index| {
            add_as_surfpool_does(index, "p", "a");
            add_as_surfpool_does(index, "p", "b");
            remove_as_surfpool_does(index, "p", "a");
            add_as_surfpool_does(index, "system", "a");
        });
        assert_eq!((read(&index, "p"), read(&index, "system")), (list(&["b"]), list(&["a"])));
    }

    #[test]
    fn a_list_that_seems_empty_to_a_transaction_is_kept() {
        let index = OwnerIndex::default();
        executing(&index, |index| {
            add_as_surfpool_does(index, "p", "a");
            index.take(&"p".to_owned()).expect("take");
        });
        assert_eq!(read(&index, "p"), list(&["a"]));
    }

    #[test]
    fn a_closed_account_is_forgotten_and_can_come_again() {
        let index = OwnerIndex::default();
        executing(&index, |index| add_as_surfpool_does(index, "p", "a"));
        index.forget("a");
        assert_eq!(index.count().expect("count"), 0);
        executing(&index, |index| add_as_surfpool_does(index, "p", "a"));
        assert_eq!(read(&index, "p"), list(&["a"]));
    }

    #[test]
    fn a_copy_changes_by_itself_and_a_takeover_is_complete() {
        let mut index = OwnerIndex::default();
        add_as_surfpool_does(&mut index, "p", "a");
        let mut copy = index.clone_box();
        copy.store("p".to_owned(), list(&["b"])).expect("store");
        assert_eq!(read(&index, "p"), list(&["a"]));
        let taken = OwnerIndex::from(&*copy).expect("taken over");
        assert_eq!(read(&taken, "p"), list(&["b"]));
    }
}
