#![allow(clippy::arithmetic_side_effects, reason = "tests")]
use surfpool_core::types::TransactionWithStatusMeta;

use super::*;

fn position(slot: u64) -> Position {
    Position { slot, block_height: slot, tip_index: slot, clock_unix_ms: 1, saved_at_unix_ms: 1 }
}

fn signature(number: u64) -> Signature {
    let mut bytes = [7; 64];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    bytes.into()
}

/// A transaction about one address.
fn status(slot: u64, address: Pubkey) -> SurfnetTransactionStatus {
    let mut processed = TransactionWithStatusMeta { slot, ..TransactionWithStatusMeta::default() };
    processed.meta.loaded_addresses.readonly = vec![address];
    SurfnetTransactionStatus::processed(processed, Default::default())
}

/// Block `number` in slot `10 × number`, with two transactions about `address`.
fn block(number: u64, address: Pubkey) -> Block {
    let slot = number * 10;
    let header = BlockHeader {
        hash: String::new(),
        previous_blockhash: String::new(),
        parent_slot: 0,
        block_time: 77,
        block_height: slot,
        signatures: vec![],
    };
    let transactions = [2 * number, 2 * number + 1].map(|n| (signature(n), status(slot, address))).to_vec();
    Block { position: position(slot + 1), slot, header, transactions, accounts: vec![] }
}

fn state(slot: u64) -> ChainState {
    ChainState { genesis_hash: "genesis".to_owned(), position: position(slot), clean: false }
}

fn new(dir: &Path) -> ChainDatabase {
    let database = ChainDatabase::open(dir).expect("opens");
    database.save_state(&state(0)).expect("saves");
    database
}

fn add(database: &ChainDatabase, blocks: impl IntoIterator<Item = Block>) {
    for block in blocks {
        database.add(&block, &state(block.slot + 1)).expect("adds");
    }
}

fn about(
    database: &ChainDatabase,
    address: &Pubkey,
    until: Option<u64>,
    before: Option<u64>,
    limit: usize,
) -> Vec<Signature> {
    let found = database.about(address, before.map(signature), until.map(signature), limit).expect("reads");
    found.into_iter().map(|line| line.signature.parse().expect("a signature")).collect()
}

#[test]
fn blocks_are_found_by_signature_by_slot_and_by_address_after_a_reopening() {
    let dir = tempfile::tempdir().expect("dir");
    let address = Pubkey::new_from_array([5; 32]);
    let database = new(dir.path());
    add(&database, (1..=40).map(|number| block(number, address)));
    drop(database);

    let database = ChainDatabase::open(dir.path()).expect("opens again");
    assert_eq!(database.state().expect("reads"), Some(state(401)));
    assert_eq!(database.header(70).expect("reads").expect("a header").block_time, 77);
    assert!(database.header(71).expect("reads").is_none());
    let newest = database.newest_headers(2).expect("reads");
    assert_eq!(
        newest.iter().map(|(slot, header)| (*slot, header.block_height)).collect::<Vec<_>>(),
        [(400, 400), (390, 390)]
    );
    let found = database.transaction(&signature(9)).expect("reads");
    assert_eq!(found.expect("a transaction").expect_processed().0.slot, 40);
    assert!(database.transaction(&Signature::from([1; 64])).expect("reads").is_none());
    database.clear_history().expect("clears");
    assert!(database.newest_headers(10).expect("reads").is_empty());
    assert!(about(&database, &address, None, None, 10).is_empty());
}

#[test]
fn an_addresss_transactions_come_newest_first_and_page_by_page() {
    let dir = tempfile::tempdir().expect("dir");
    let (address, other) = (Pubkey::new_from_array([5; 32]), Pubkey::new_from_array([6; 32]));
    let database = new(dir.path());
    add(&database, (1..=20).map(|number| block(number, if number % 2 == 0 { address } else { other })));
    let all = about(&database, &address, None, None, 1_000);
    let expected: Vec<Signature> = (1..=10).rev().flat_map(|half| [4 * half + 1, 4 * half].map(signature)).collect();
    assert_eq!(all, expected);
    assert_eq!(about(&database, &address, None, None, 3), expected[..3]);
    assert_eq!(about(&database, &address, None, Some(40), 3), expected[2..5], "before is left out");
    assert_eq!(about(&database, &address, Some(37), None, 1_000), expected[..2], "until is left out");
    assert!(about(&database, &address, Some(40), Some(37), 10).is_empty());
    assert!(about(&database, &address, None, Some(1_000), 10).is_empty(), "one that nobody knows is before all");
    assert_eq!(about(&database, &address, Some(1_000), None, 1_000), expected, "one that nobody knows ends nothing");
    assert!(about(&database, &Pubkey::new_from_array([9; 32]), None, None, 10).is_empty());
}

#[test]
fn accounts_follow_the_blocks_and_a_clean_stop() {
    let dir = tempfile::tempdir().expect("dir");
    let database = new(dir.path());
    let account =
        |lamports| Account { lamports, data: vec![1, 2], owner: Pubkey::new_from_array([3; 32]), ..Account::default() };
    let (kept, closed, late) = ([1u8; 32], [2u8; 32], [4u8; 32]);
    let mut first = block(1, Pubkey::default());
    first.accounts = [kept, closed].map(|address| (Pubkey::new_from_array(address), Some(account(5)))).into();
    let mut second = block(2, Pubkey::default());
    second.accounts = vec![(Pubkey::new_from_array(closed), None), (Pubkey::new_from_array(kept), Some(account(6)))];
    add(&database, [first, second]);
    assert_eq!(database.accounts().expect("reads"), [(Pubkey::new_from_array(kept), account(6))]);

    let state = ChainState { clean: true, ..database.state().expect("reads").expect("a state") };
    let all = BTreeMap::from([(Pubkey::new_from_array(late), account(9))]);
    database.save_all(&state, &all).expect("saves");
    assert_eq!(database.accounts().expect("reads"), [(Pubkey::new_from_array(late), account(9))]);
    assert!(database.state().expect("reads").expect("a state").clean);
}

#[test]
fn a_chain_of_an_earlier_format_is_an_error_and_not_an_empty_chain() {
    let dir = tempfile::tempdir().expect("dir");
    let database = new(dir.path());
    database.state.insert(STATE_KEY, r#"{"format":2}"#).expect("writes");
    drop(database);
    let error = ChainDatabase::open(dir.path()).err().expect("refused");
    assert!(error.to_string().contains("--fresh"), "{error}");
    let dir = tempfile::tempdir().expect("dir");
    std::fs::write(dir.path().join(EARLIER_FORMAT), "").expect("writes");
    let error = ChainDatabase::open(dir.path()).err().expect("refused");
    assert!(error.to_string().contains("--fresh"), "{error}");
    std::fs::write(dir.path().join(FOLDER), "not a database").expect("writes");
    let error = ChainDatabase::open(dir.path()).err().expect("refused");
    assert!(error.to_string().contains("--fresh"), "{error}");
}

/// Prints how long a history of 100 000 transactions takes to open and to look things up in:
/// `cargo test -p crtx-localnet --lib a_long_history -- --ignored --nocapture`.
#[test]
#[ignore = "measures for minutes"]
fn a_long_history_is_opened_and_read_like_a_short_one() {
    let address = Pubkey::new_from_array([5; 32]);
    for blocks in [500, 50_000] {
        let dir = tempfile::tempdir().expect("dir");
        let database = new(dir.path());
        let started = std::time::Instant::now();
        add(&database, (1..=blocks).map(|number| block(number, address)));
        println!("{blocks} blocks: written in {:?}", started.elapsed());
        // As after a kill: nothing closes the file.
        let copy = tempfile::tempdir().expect("dir");
        crate::chain::tests::copy(dir.path(), copy.path());
        let started = std::time::Instant::now();
        let database = ChainDatabase::open(copy.path()).expect("opens");
        assert_eq!(database.state().expect("reads"), Some(state(10 * blocks + 1)));
        println!("{blocks} blocks: opened after a kill in {:?}", started.elapsed());
        let started = std::time::Instant::now();
        for number in 1..=200 {
            let of_block = 2 * number * blocks / 200;
            assert!(database.transaction(&signature(of_block)).expect("reads").is_some());
            assert!(!about(&database, &address, None, Some(of_block), 10).is_empty());
        }
        println!("{blocks} blocks: 200 transactions and 200 pages of ten in {:?}", started.elapsed());
        println!("{blocks} blocks: {} bytes", database.database.disk_space().expect("a size"));
    }
}
