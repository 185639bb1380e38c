#![allow(clippy::arithmetic_side_effects, reason = "tests")]
use std::collections::BTreeMap;

use proptest::prelude::*;
use surfpool_core::surfnet::BlockHeader;

use super::*;
use crate::chain::block::{Position, SavedAccount};

const BLOCKS: u64 = 12;

fn block(number: u64) -> Block {
    let slot = number * 3;
    let position = Position { slot, block_height: slot, tip_index: slot, clock_unix_ms: 1, saved_at_unix_ms: 1 };
    let header = BlockHeader {
        hash: "h".repeat(40),
        previous_blockhash: String::new(),
        parent_slot: slot,
        block_time: 0,
        block_height: slot,
        signatures: vec![],
    };
    let data = "A".repeat(usize::try_from(number).expect("small") * 40);
    let account = SavedAccount { lamports: number, owner: "o".to_owned(), rent_epoch: 0, data };
    let accounts = BTreeMap::from([(format!("account {number}"), Some(account))]);
    Block { number, position, slot, header, transactions: vec![], accounts }
}

/// The journal's bytes, and where each entry ends.
fn written(numbers: impl Iterator<Item = u64>) -> (Vec<u8>, Vec<usize>) {
    let dir = tempfile::tempdir().expect("dir");
    let mut journal = Journal::start(dir.path()).expect("starts");
    let mut ends = vec![];
    for number in numbers {
        journal.append(&block(number)).expect("appends");
        ends.push(usize::try_from(journal.bytes()).expect("small"));
    }
    (fs::read(dir.path().join("journal")).expect("reads"), ends)
}

fn numbers(old: Option<&[u8]>, new: &[u8], last: u64) -> Vec<u64> {
    let dir = tempfile::tempdir().expect("dir");
    if let Some(old) = old {
        fs::write(rotated(dir.path()), old).expect("writes");
    }
    fs::write(current(dir.path()), new).expect("writes");
    read(dir.path(), last).expect("reads").iter().map(|block| block.number).collect()
}

/// The entries that end at or before an offset.
fn whole_before(ends: &[usize], offset: usize) -> Vec<u64> {
    (1..).zip(ends).take_while(|(_, end)| **end <= offset).map(|(number, _)| number).collect()
}

#[test]
fn a_journal_cut_at_any_byte_keeps_its_whole_entries_and_nothing_else() {
    let (bytes, ends) = written(1..=BLOCKS);
    for cut in 0..=bytes.len() {
        assert_eq!(numbers(None, &bytes[..cut], 0), whole_before(&ends, cut), "cut at {cut}");
    }
}

#[test]
fn what_the_database_has_is_skipped_and_a_gap_ends_the_journal() {
    let (bytes, ends) = written(1..=BLOCKS);
    assert_eq!(numbers(None, &bytes, 9), [10, 11, 12]);
    assert_eq!(numbers(None, &bytes[ends[4]..], 0), [] as [u64; 0], "the first five are missing");
    let without_the_sixth = [&bytes[..ends[4]], &bytes[ends[5]..]].concat();
    assert_eq!(numbers(None, &without_the_sixth, 0), [1, 2, 3, 4, 5]);
}

#[test]
fn nothing_of_the_new_file_counts_after_a_torn_old_one() {
    let ((old, ends), (new, _)) = (written(1..=6), written(7..=9));
    assert_eq!(numbers(Some(&old), &new, 0), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    for cut in [ends[5] - 1, ends[4], 3, 0] {
        assert_eq!(numbers(Some(&old[..cut]), &new, 0), whole_before(&ends, cut), "cut at {cut}");
    }
    assert_eq!(numbers(Some(&old[..ends[2]]), &new, 6), [7, 8, 9], "the database has the first six");
}

#[test]
fn a_rotated_journal_stays_until_it_is_forgotten() {
    let dir = tempfile::tempdir().expect("dir");
    let mut journal = Journal::start(dir.path()).expect("starts");
    journal.append(&block(1)).expect("appends");
    journal.rotate().expect("rotates");
    journal.append(&block(2)).expect("appends");
    let read_numbers = |last| read(dir.path(), last).expect("reads").iter().map(|b| b.number).collect::<Vec<_>>();
    assert_eq!(read_numbers(0), [1, 2]);
    forget_rotated(dir.path()).expect("forgets");
    assert_eq!(read_numbers(1), [2]);
}

proptest! {
    #[test]
    fn a_flipped_bit_costs_its_entry_and_what_follows(at in any::<prop::sample::Index>(), bit in 0u8..8) {
        let (mut bytes, ends) = written(1..=BLOCKS);
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        prop_assert_eq!(numbers(None, &bytes, 0), whole_before(&ends, at));
    }

    /// What a power cut leaves where the disk wrote later pages before earlier ones.
    #[test]
    fn a_page_of_zeros_costs_its_entries_and_what_follows(
        at in any::<prop::sample::Index>(), length in 1usize..2_000,
    ) {
        let (mut bytes, ends) = written(1..=BLOCKS);
        let at = at.index(bytes.len());
        let end = (at + length).min(bytes.len());
        // The first byte that really changes.
        let changed = (at..end).find(|at| bytes[*at] != 0);
        bytes[at..end].fill(0);
        prop_assert_eq!(numbers(None, &bytes, 0), whole_before(&ends, changed.unwrap_or(usize::MAX)));
    }
}
