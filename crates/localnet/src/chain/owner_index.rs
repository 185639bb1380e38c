//! Which accounts a program owns, in place of Surfpool's own index. That one is a list for each owner, and the
//! thread that executes transactions copies, searches and stores the whole list for every account of the
//! program that a transaction changes: each call made the next one more expensive.
//!
//! Surfpool changes the index through two functions only: one reads the list and stores it with one more
//! address, one reads it and stores it with one less. On the thread that executes transactions this index
//! therefore reads as empty, and takes what is stored as what is to be added. An address belongs to the owner
//! under which it was added last; one of a closed account stays until [`OwnerIndex::forget`], and readers
//! find no account under it. On every other thread it is an ordinary map.

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use surfpool_core::storage::{Storage, StorageResult};

thread_local! {
    static EXECUTES_TRANSACTIONS: Cell<bool> = const { Cell::new(false) };
}

/// Says that this thread executes transactions, now and until it ends.
pub fn this_thread_executes_transactions() {
    EXECUTES_TRANSACTIONS.set(true);
}

/// Clones share what they hold; [`Storage::clone_box`] makes a copy of its own.
#[derive(Clone, Debug, Default)]
pub struct OwnerIndex(Arc<RwLock<Addresses>>);

#[derive(Clone, Debug, Default)]
struct Addresses {
    by_owner: BTreeMap<Arc<str>, BTreeSet<Arc<str>>>,
    owner_of: HashMap<Arc<str>, Arc<str>>,
}

impl OwnerIndex {
    /// Takes over what another index holds.
    pub fn from(other: &dyn Storage<String, Vec<String>>) -> StorageResult<Self> {
        let mut addresses = Addresses::default();
        for (owner, list) in other.into_iter()? {
            list.iter().for_each(|address| addresses.add(address, &owner));
        }
        Ok(Self(Arc::new(RwLock::new(addresses))))
    }

    /// Leaves out a closed account.
    pub fn forget(&self, address: &str) {
        self.write().remove(address);
    }

    fn read(&self) -> RwLockReadGuard<'_, Addresses> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Addresses> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Addresses {
    fn add(&mut self, address: &str, owner: &str) {
        if self.owner_of.get(address).is_some_and(|known| **known == *owner) {
            return;
        }
        self.remove(address);
        let (address, owner): (Arc<str>, Arc<str>) = (address.into(), owner.into());
        self.owner_of.insert(Arc::clone(&address), Arc::clone(&owner));
        self.by_owner.entry(owner).or_default().insert(address);
    }

    fn remove(&mut self, address: &str) {
        let Some(owner) = self.owner_of.remove(address) else { return };
        if let Some(list) = self.by_owner.get_mut(&owner) {
            list.remove(address);
            if list.is_empty() {
                self.by_owner.remove(&owner);
            }
        }
    }

    fn take(&mut self, owner: &str) -> Option<Vec<String>> {
        let list = self.by_owner.remove(owner)?;
        for address in &list {
            self.owner_of.remove(address);
        }
        Some(texts(&list))
    }
}

fn texts(list: &BTreeSet<Arc<str>>) -> Vec<String> {
    list.iter().map(ToString::to_string).collect()
}

impl Storage<String, Vec<String>> for OwnerIndex {
    fn store(&mut self, owner: String, list: Vec<String>) -> StorageResult<()> {
        let mut addresses = self.write();
        if !EXECUTES_TRANSACTIONS.get() {
            addresses.take(&owner);
        }
        list.iter().for_each(|address| addresses.add(address, &owner));
        Ok(())
    }

    fn get(&self, owner: &String) -> StorageResult<Option<Vec<String>>> {
        if EXECUTES_TRANSACTIONS.get() {
            return Ok(None);
        }
        Ok(self.read().by_owner.get(owner.as_str()).map(texts))
    }

    fn take(&mut self, owner: &String) -> StorageResult<Option<Vec<String>>> {
        // A bundle that added and removed the same account takes what seems to have become empty.
        if EXECUTES_TRANSACTIONS.get() {
            return Ok(None);
        }
        Ok(self.write().take(owner))
    }

    fn clear(&mut self) -> StorageResult<()> {
        *self.write() = Addresses::default();
        Ok(())
    }

    fn keys(&self) -> StorageResult<Vec<String>> {
        Ok(self.read().by_owner.keys().map(ToString::to_string).collect())
    }

    fn into_iter(&self) -> StorageResult<Box<dyn Iterator<Item = (String, Vec<String>)> + '_>> {
        let lists: Vec<_> = self.read().by_owner.iter().map(|(owner, list)| (owner.to_string(), texts(list))).collect();
        Ok(Box::new(lists.into_iter()))
    }

    fn contains_key(&self, owner: &String) -> StorageResult<bool> {
        Ok(self.read().by_owner.contains_key(owner.as_str()))
    }

    fn count(&self) -> StorageResult<u64> {
        Ok(u64::try_from(self.read().by_owner.len()).unwrap_or(u64::MAX))
    }

    fn clone_box(&self) -> Box<dyn Storage<String, Vec<String>>> {
        Box::new(Self(Arc::new(RwLock::new(self.read().clone()))))
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

    /// Runs `work` on a thread that executes transactions.
    fn executing(index: &OwnerIndex, work: impl FnOnce(&mut OwnerIndex) + Send) {
        let mut shared = index.clone();
        std::thread::scope(|threads| {
            threads.spawn(move || {
                this_thread_executes_transactions();
                work(&mut shared);
            });
        });
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
