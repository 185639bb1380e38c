#![allow(clippy::arithmetic_side_effects, reason = "tests")]
use surfpool_core::types::TransactionWithStatusMeta;

use super::*;

fn position(slot: u64) -> Position {
    Position { slot, block_height: slot, tip_index: slot, clock_unix_ms: 1, saved_at_unix_ms: 1 }
}

fn signature(number: u64) -> String {
    let mut bytes = [7; 64];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    bs58::encode(bytes).into_string()
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
    Block { number, position: position(slot + 1), slot, header, transactions, accounts: BTreeMap::new() }
}

fn new(dir: &Path) -> ChainDatabase {
    let database = ChainDatabase::open(dir).expect("opens");
    database.save_state(&State::new("genesis".to_owned(), position(0))).expect("saves");
    database
}

fn about(
    database: &ChainDatabase,
    address: &Pubkey,
    until: Option<u64>,
    before: Option<u64>,
    limit: usize,
) -> Vec<String> {
    let place = |number: u64| Place { slot: number / 2 * 10, index: u32::try_from(number % 2).expect("small") };
    let found = database.about(address, until.map(place), before.map(place), limit).expect("reads");
    found.into_iter().map(|line| line.signature).collect()
}

#[test]
fn blocks_are_found_by_signature_by_slot_and_by_address_after_a_reopening() {
    let dir = tempfile::tempdir().expect("dir");
    let address = Pubkey::new_from_array([5; 32]);
    let blocks: Vec<Box<Block>> = (1..=40).map(|number| Box::new(block(number, address))).collect();
    let database = new(dir.path());
    database.add(&blocks).expect("adds");
    drop(database);

    let database = ChainDatabase::open(dir.path()).expect("opens again");
    let state = database.state().expect("reads").expect("a state");
    assert_eq!((state.last_number, state.position.slot, state.clean), (40, 401, false));
    assert_eq!(database.count().expect("counts"), 80);
    assert_eq!(database.header(70).expect("reads").expect("a header").block_time, 77);
    assert!(database.header(71).expect("reads").is_none());
    let found = database.transaction(&signature_bytes(&signature(9)).expect("bytes")).expect("reads");
    assert_eq!(found.expect("a transaction").expect_processed().0.slot, 40);
    assert!(database.transaction(&[1; 64]).expect("reads").is_none());
    assert_eq!(
        database.place(&signature_bytes(&signature(9)).expect("bytes")).expect("reads"),
        Some(Place { slot: 40, index: 1 })
    );
}

#[test]
fn an_addresss_transactions_come_newest_first_and_page_by_page() {
    let dir = tempfile::tempdir().expect("dir");
    let (address, other) = (Pubkey::new_from_array([5; 32]), Pubkey::new_from_array([6; 32]));
    let database = new(dir.path());
    let blocks: Vec<Box<Block>> =
        (1..=20).map(|number| Box::new(block(number, if number % 2 == 0 { address } else { other }))).collect();
    database.add(&blocks).expect("adds");
    let all = about(&database, &address, None, None, 1_000);
    let expected: Vec<String> = (1..=10).rev().flat_map(|half| [4 * half + 1, 4 * half].map(signature)).collect();
    assert_eq!(all, expected);
    assert_eq!(about(&database, &address, None, None, 3), expected[..3]);
    assert_eq!(about(&database, &address, None, Some(40), 3), expected[2..5], "before is left out");
    assert_eq!(about(&database, &address, Some(37), None, 1_000), expected[..2], "until is left out");
    assert!(about(&database, &address, Some(40), Some(37), 10).is_empty());
    assert!(about(&database, &Pubkey::new_from_array([9; 32]), None, None, 10).is_empty());
}

#[test]
fn accounts_follow_the_blocks_and_a_clean_stop() {
    let dir = tempfile::tempdir().expect("dir");
    let database = new(dir.path());
    let account =
        |lamports| Account { lamports, data: vec![1, 2], owner: Pubkey::new_from_array([3; 32]), ..Account::default() };
    let (kept, closed, late) = ([1u8; 32], [2u8; 32], [4u8; 32]);
    let name = |bytes: [u8; 32]| Pubkey::new_from_array(bytes).to_string();
    let mut first = block(1, Pubkey::default());
    first.accounts = [kept, closed].map(|address| (name(address), Some(SavedAccount::of(&account(5))))).into();
    let mut second = block(2, Pubkey::default());
    second.accounts = [(name(closed), None), (name(kept), Some(SavedAccount::of(&account(6))))].into();
    database.add(&[Box::new(first), Box::new(second)]).expect("adds");
    assert_eq!(database.accounts().expect("reads"), [(Pubkey::new_from_array(kept), account(6))]);

    let state = State { clean: true, ..database.state().expect("reads").expect("a state") };
    let all = BTreeMap::from([(Pubkey::new_from_array(late), account(9))]);
    database.save_all(&state, &all).expect("saves");
    assert_eq!(database.accounts().expect("reads"), [(Pubkey::new_from_array(late), account(9))]);
    assert!(database.state().expect("reads").expect("a state").clean);
}

#[test]
fn a_value_that_changed_on_the_disk_is_an_error_and_not_another_value() {
    let mut value = sealed(b"what was written");
    assert_eq!(unsealed(&value).expect("whole"), b"what was written");
    for at in 0..value.len() {
        value[at] ^= 4;
        assert!(matches!(unsealed(&value), Err(ChainFileError::Damaged(_))), "{at}");
        value[at] ^= 4;
    }
    assert!(unsealed(b"abc").is_err());
}

#[test]
fn a_chain_of_an_earlier_format_is_an_error_and_not_an_empty_chain() {
    let dir = tempfile::tempdir().expect("dir");
    std::fs::write(dir.path().join("snapshot.json"), "{}").expect("writes");
    let error = ChainDatabase::open(dir.path()).err().expect("refused");
    assert!(error.to_string().contains("--fresh"), "{error}");
    std::fs::write(dir.path().join(FILE), "not a database").expect("writes");
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
        let numbers: Vec<u64> = (1..=blocks).collect();
        for numbers in numbers.chunks(512) {
            let batch: Vec<Box<Block>> = numbers.iter().map(|number| Box::new(block(*number, address))).collect();
            database.add(&batch).expect("adds");
        }
        println!("{blocks} blocks: written in {:?}", started.elapsed());
        // As after a kill: nothing closes the file.
        let copy = tempfile::tempdir().expect("dir");
        std::fs::copy(dir.path().join(FILE), copy.path().join(FILE)).expect("copies");
        let started = std::time::Instant::now();
        let database = ChainDatabase::open(copy.path()).expect("opens");
        assert_eq!(database.state().expect("reads").expect("a state").last_number, blocks);
        println!("{blocks} blocks: opened after a kill in {:?}", started.elapsed());
        let started = std::time::Instant::now();
        for number in 1..=200 {
            let bytes = signature_bytes(&signature(2 * number * blocks / 200)).expect("bytes");
            assert!(database.transaction(&bytes).expect("reads").is_some());
            assert_eq!(about(&database, &address, None, Some(number * blocks / 200 * 2), 10).len().min(1), 1);
        }
        println!("{blocks} blocks: 200 transactions and 200 pages of ten in {:?}", started.elapsed());
        println!("{blocks} blocks: {} bytes", std::fs::metadata(copy.path().join(FILE)).expect("file").len());
    }
}
