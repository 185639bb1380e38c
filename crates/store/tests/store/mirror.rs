//! The mirror on a real PostgreSQL: rows move forward only, whatever the order in which they come.

use agent_marketplace::state::{AgentStatus, DisputeOutcome, ExecutionStatus, MarketParameters};
use crtx_store::{
    mirror::{self, Batch},
    reads,
    testing::{TestDatabase, fixtures::*, single},
};
use proptest::prelude::*;
use solana_pubkey::Pubkey;
use uuid::Uuid;

async fn stored_price(database: &TestDatabase, agent: &Pubkey) -> u64 {
    reads::agents(database.pool(), &[*agent]).await.expect("read").pop().expect("shown").price_per_call_usdc.0
}

#[tokio::test]
async fn a_newer_revision_wins_and_an_older_one_changes_nothing() {
    let database = TestDatabase::create().await;
    let mut listing = listing(wallet(1), 0);
    listing.revision = 5;
    let agent = show(database.pool(), listing, "agent", &["data"]).await;
    listing.metadata_hash = crtx_protocol::result_hash::ResultHash::of(&document("agent", &["data"])).0;

    listing.price = 1;
    listing.revision = 4;
    assert!(!put(database.pool(), &agent, 999, &listing).await, "an older revision at a later slot");
    assert_eq!(stored_price(&database, &agent).await, 50_000);

    listing.price = 2;
    listing.revision = 6;
    assert!(put(database.pool(), &agent, 3, &listing).await, "a newer revision, whatever its slot");
    assert_eq!(stored_price(&database, &agent).await, 2);

    assert!(!put(database.pool(), &agent, 3, &listing).await, "the same again");
    assert!(!put(database.pool(), &agent, 4, &listing).await, "equal bytes seen later");
    listing.price = 3;
    assert!(!put(database.pool(), &agent, 3, &listing).await, "other bytes of the same revision in the same slot");
    assert!(put(database.pool(), &agent, 5, &listing).await, "other bytes of the same revision seen later");
    assert_eq!(stored_price(&database, &agent).await, 3);
}

#[tokio::test]
async fn the_newest_of_a_batch_is_written() {
    let database = TestDatabase::create().await;
    let agent = show(database.pool(), listing(wallet(1), 0), "agent", &["data"]).await;
    let mut batch = Batch::default();
    for (revision, price) in [(3, 30), (7, 70), (5, 50)] {
        let mut listing = listing(wallet(1), 0);
        listing.revision = revision;
        listing.price = price;
        batch.push(&agent, 20, &listing).expect("a row");
    }
    assert_eq!(mirror::apply_changes(database.pool(), &batch, 20).await.expect("applied"), 1);
    assert_eq!(stored_price(&database, &agent).await, 70);
}

#[tokio::test]
async fn every_kind_of_account_comes_back_as_it_went_in() {
    let database = TestDatabase::create().await;
    let agent = wallet(20);
    let id = Uuid::from_u128(1);
    let record_address = addresses().execution(&wallet(2), id.as_bytes());
    let mut batch = Batch::default();
    let mut config = <agent_marketplace::state::Config as bytemuck::Zeroable>::zeroed();
    config.revision = 1;
    config.parameters = MarketParameters::DEFAULT;
    config.announced_parameters = MarketParameters { min_price: 2_000, fee_bps: 200, ..MarketParameters::DEFAULT };
    config.parameters_apply_from_unix_s = NOON;
    config.insurance_owner = wallet(44);
    config.announced_insurance_owner = wallet(45);
    config.pending_admin = wallet(40);
    config.resolver = wallet(41);
    config.announced_resolver = wallet(42);
    config.announced_treasury_owner = wallet(43);
    config.roles_apply_from_unix_s = NOON;
    let mut listing = listing(wallet(1), 0);
    listing.last_dispute_deadline_unix_s = NOON;
    listing.binding = 1;
    listing.disputed_amount = 50_000;
    listing.expired_executions = 3;
    listing.platform_fees_total = 500;
    let mut creator = profile(wallet(1), "Ada", true);
    creator.next_agent_index = 2;
    creator.closed.agents = 1;
    creator.closed.platform_fees_total = 700;
    let mut failed = refunded(record(wallet(2), agent, Uuid::from_u128(2)), 5);
    failed.record.tokens_reported = 1;
    failed.record.tokens_used = 7;
    failed.record.binding = 1;
    let mut granted = record(wallet(2), agent, Uuid::from_u128(3));
    granted.terms.as_mut().expect("open").grant = wallet(33);
    let mut dispute = dispute(record_address, agent, wallet(2), DisputeOutcome::Upheld);
    dispute.resolution_hash = [8; 32];
    dispute.resolved_at_unix_s = NOON;
    dispute.answer_hash = [7; 32];
    dispute.answered_at_unix_s = NOON;
    dispute.set_answer_uri("https://a.example/answer").expect("fits");
    batch.push(&wallet(30), 7, &config).expect("config");
    batch.push(&wallet(31), 7, &creator).expect("profile");
    batch.push(&agent, 7, &listing).expect("listing");
    batch.push(&record_address, 7, &completed(record(wallet(2), agent, id), "r")).expect("record");
    batch.push(&wallet(34), 7, &failed).expect("record");
    batch.push(&wallet(35), 7, &granted).expect("record");
    batch.push(&wallet(32), 7, &dispute).expect("dispute");
    batch.push(&wallet(33), 7, &grant(wallet(2), wallet(3))).expect("grant");
    crtx_store::testing::resync(database.pool(), &batch, 7, Some("genesis")).await.expect("applied");

    let found = mirror::compare(database.pool(), &batch).await.expect("compared");
    assert_eq!((found.equal, found.differences), (8, vec![]));
    let checkpoint = mirror::checkpoint(database.pool()).await.expect("read").expect("there");
    assert_eq!((checkpoint.slot, checkpoint.genesis_hash.as_deref()), (7, Some("genesis")));
}

#[tokio::test]
async fn the_audit_names_what_differs_and_what_is_missing() {
    let database = TestDatabase::create().await;
    let mut listing = listing(wallet(1), 0);
    put(database.pool(), &wallet(20), 7, &listing).await;
    listing.price += 1;
    listing.timeout_seconds += 1;
    let mut batch = Batch::default();
    batch.push(&wallet(20), 8, &listing).expect("a row");
    batch.push(&wallet(21), 8, &listing).expect("a row");
    let mut found = mirror::compare(database.pool(), &batch).await.expect("compared");
    found.differences.sort_by(|a, b| a.columns.cmp(&b.columns));
    assert_eq!(found.differences[0].columns, Vec::<String>::new());
    assert_eq!(found.differences[0].address, wallet(21).to_string());
    assert_eq!(found.differences[1].columns, ["price", "timeout_seconds"]);
}

#[tokio::test]
async fn accounts_that_a_snapshot_lacks_are_found_and_marked_but_not_deleted() {
    let database = TestDatabase::create().await;
    let kept = show(database.pool(), listing(wallet(1), 0), "kept", &["data"]).await;
    let gone = show(database.pool(), listing(wallet(1), 1), "gone", &["data"]).await;
    // Written by somebody who read it after the snapshot was taken.
    let later = addresses().agent(&wallet(1), 2);
    put(database.pool(), &later, 60, &listing(wallet(1), 2)).await;

    let mut snapshot = Batch::default();
    snapshot.push(&kept, 50, &listing(wallet(1), 0)).expect("a row");
    crtx_store::testing::resync(database.pool(), &snapshot, 50, None).await.expect("applied");
    let missing = async || mirror::missing(database.pool(), 50, |address| *address == kept).await.expect("read");
    assert_eq!(missing().await.into_values().flat_map(|of| of.addresses).collect::<Vec<_>>(), [gone]);

    assert_eq!(mirror::mark_closed(database.pool(), &[gone, later], 55).await.expect("marked"), 1);
    assert!(reads::agents(database.pool(), &[gone]).await.expect("read").pop().is_none());
    assert_eq!(reads::mirror_counts(database.pool()).await.expect("counts").agents, 3);
    assert!(missing().await.is_empty());
}

#[tokio::test]
async fn an_address_that_is_used_again_after_closing_starts_over() {
    let database = TestDatabase::create().await;
    let (caller, agent, id) = (wallet(2), wallet(20), Uuid::from_u128(1));
    let address = addresses().execution(&caller, id.as_bytes());
    put(database.pool(), &address, 10, &completed(record(caller, agent, id), "r")).await;
    mirror::mark_closed(database.pool(), &[address], 20).await.expect("marked");
    assert!(!put(database.pool(), &address, 15, &record(caller, agent, id)).await, "older than the closing");
    assert!(put(database.pool(), &address, 30, &record(caller, agent, id)).await);
    let execution = single::execution(database.pool(), &caller, &id).await.expect("read").expect("there");
    assert_eq!(execution.status, reads::ShownStatus::Running);
}

#[tokio::test]
async fn a_replacing_snapshot_leaves_nothing_of_the_old_chain_but_documents() {
    let database = TestDatabase::create().await;
    let old = show(database.pool(), listing(wallet(1), 0), "old", &["data"]).await;
    let mut new = listing(wallet(1), 1);
    new.revision = 1;
    let address = addresses().agent(&wallet(1), 1);
    let mut snapshot = Batch::default();
    snapshot.push(&address, 2, &new).expect("a row");
    mirror::clear(database.pool()).await.expect("cleared");
    crtx_store::testing::resync(database.pool(), &snapshot, 2, Some("other")).await.expect("applied");
    assert!(reads::agents(database.pool(), &[old]).await.expect("read").pop().is_none());
    assert_eq!(mirror::checkpoint(database.pool()).await.expect("read").expect("there").slot, 2);
    // The same listing on the new chain finds its document.
    show(database.pool(), listing(wallet(1), 0), "old", &["data"]).await;
    assert!(reads::agents(database.pool(), &[old]).await.expect("read").pop().is_some());
}

#[tokio::test]
async fn unreadable_accounts_are_quarantined_until_they_can_be_read() {
    let database = TestDatabase::create().await;
    let address = wallet(20);
    let mut batch = Batch::default();
    batch.quarantine(&address, 5, vec![1, 2, 3], "no such\0discriminator").expect("kept");
    mirror::apply_changes(database.pool(), &batch, 5).await.expect("applied");
    assert_eq!(reads::quarantined(database.pool()).await.expect("count").0, 1);
    put(database.pool(), &address, 6, &listing(wallet(1), 0)).await;
    assert_eq!(reads::quarantined(database.pool()).await.expect("count").0, 0);
}

#[test]
fn values_that_the_program_never_writes_are_refused() {
    let mut bad_status = listing(wallet(1), 0);
    bad_status.status = 9;
    let mut bad_uri = listing(wallet(1), 0);
    bad_uri.metadata_uri[0] = 0xff;
    let mut bad_price = listing(wallet(1), 0);
    bad_price.price = u64::MAX;
    let mut bad_time = listing(wallet(1), 0);
    bad_time.created_at_unix_s = i64::MAX;
    for (listing, named) in
        [(bad_status, "listing status"), (bad_uri, "metadata URI"), (bad_price, "price"), (bad_time, "created_at")]
    {
        let error = Batch::default().push(&wallet(20), 1, &listing).expect_err("refused").to_string();
        assert!(error.contains(named), "{error}");
    }
}

#[tokio::test]
async fn text_with_a_null_character_is_stored_without_it() {
    let database = TestDatabase::create().await;
    put(database.pool(), &wallet(31), 1, &profile(wallet(1), "A\0B", false)).await;
    let agent = show(database.pool(), listing(wallet(1), 0), "agent", &["data"]).await;
    let detail = reads::agents(database.pool(), &[agent]).await.expect("read").pop().expect("shown");
    assert_eq!(detail.creator.display_name, "A\u{fffd}B");
}

#[tokio::test]
async fn the_checkpoint_never_goes_back() {
    let database = TestDatabase::create().await;
    for (slot, expected) in [(5, 5), (9, 9), (7, 9)] {
        mirror::apply_changes(database.pool(), &Batch::default(), slot).await.expect("applied");
        assert_eq!(mirror::checkpoint(database.pool()).await.expect("read").expect("there").slot, expected);
    }
}

#[tokio::test]
async fn a_delisted_agent_is_not_shown() {
    let database = TestDatabase::create().await;
    let mut delisted = listing(wallet(1), 0);
    delisted.status = AgentStatus::Delisted as u8;
    let agent = show(database.pool(), delisted, "agent", &["data"]).await;
    assert!(reads::agents(database.pool(), &[agent]).await.expect("read").pop().is_none());
}

/// The open terms that the row of an execution has: request hash, result key, grant, token account, deadline, time-out.
type Terms = (Option<Vec<u8>>, Option<String>, Option<String>, Option<String>, Option<i64>, Option<i64>);

async fn stored_terms(database: &TestDatabase, record: &Pubkey) -> Terms {
    sqlx::query_as(
        "SELECT request_hash, result_key, grant_address, paid_from, extract(epoch FROM deadline_at)::bigint,
                timeout_seconds
         FROM mirror_executions WHERE address = $1",
    )
    .bind(record.to_string())
    .fetch_one(database.pool())
    .await
    .expect("a row")
}

const NO_TERMS: Terms = (None, None, None, None, None, None);

/// An open execution that was paid with a grant, and its terms as they are stored.
fn granted(id: Uuid) -> (mirror::ExecutionAccount, Terms) {
    let mut execution = record(wallet(2), wallet(20), id);
    execution.terms.as_mut().expect("open").grant = wallet(33);
    let text = |number| Some(wallet(number).to_string());
    (execution, (Some(vec![5; 32]), text(77), text(33), text(76), Some(NOON + 180), Some(60)))
}

#[tokio::test]
async fn the_terms_of_an_execution_are_shown_until_it_ends() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let id = Uuid::from_u128(1);
    let address = addresses().execution(&wallet(2), id.as_bytes());
    let (open, terms) = granted(id);
    put(pool, &address, 7, &open).await;
    assert_eq!(stored_terms(&database, &address).await, terms);
    let mut ended = completed(open, "r");
    for status in [ExecutionStatus::Completed, ExecutionStatus::Disputed, ExecutionStatus::Overturned] {
        ended.record.status = status as u8;
        ended.record.revision += 1;
        assert!(put(pool, &address, 8, &ended).await, "{status:?}");
        assert_eq!(stored_terms(&database, &address).await, NO_TERMS, "{status:?}");
    }
    let mut batch = Batch::default();
    batch.push(&address, 9, &ended).expect("a row");
    let found = mirror::compare(pool, &batch).await.expect("compared");
    assert_eq!((found.equal, found.differences), (1, vec![]));
}

#[tokio::test]
async fn the_end_is_shown_if_opening_and_end_come_in_one_batch_in_any_order() {
    let database = TestDatabase::create().await;
    for (number, opening_first) in [(1, true), (2, false)] {
        let id = Uuid::from_u128(number);
        let address = addresses().execution(&wallet(2), id.as_bytes());
        let (open, _) = granted(id);
        let mut states = [open, completed(open, "r")];
        if !opening_first {
            states.reverse();
        }
        let mut batch = Batch::default();
        for state in states {
            batch.push(&address, 7, &state).expect("a row");
        }
        mirror::apply_changes(database.pool(), &batch, 7).await.expect("applied");
        assert_eq!(stored_terms(&database, &address).await, NO_TERMS);
        let execution = single::execution(database.pool(), &wallet(2), &id).await.expect("read").expect("there");
        assert_eq!(execution.status, reads::ShownStatus::Completed);
    }
}

#[tokio::test]
async fn a_mirror_that_never_saw_an_execution_open_has_no_terms_of_it() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let id = Uuid::from_u128(1);
    let address = addresses().execution(&wallet(2), id.as_bytes());
    let (open, _) = granted(id);
    let mut snapshot = Batch::default();
    snapshot.push(&address, 7, &completed(open, "r")).expect("a row");
    mirror::clear(pool).await.expect("cleared");
    crtx_store::testing::resync(pool, &snapshot, 7, Some("chain")).await.expect("applied");
    assert_eq!(stored_terms(&database, &address).await, NO_TERMS);
    assert_eq!(mirror::compare(pool, &snapshot).await.expect("compared").equal, 1);
    let execution = single::execution(pool, &wallet(2), &id).await.expect("read").expect("there");
    assert_eq!((execution.cost_usdc.0, execution.platform_amount_usdc.0), (50_000, 500));
    assert_eq!(execution.settled_by, Some(reads::SettledBy::Gateway));
}

#[tokio::test]
async fn an_execution_that_was_opened_again_does_not_inherit_terms() {
    let database = TestDatabase::create().await;
    let id = Uuid::from_u128(1);
    let address = addresses().execution(&wallet(2), id.as_bytes());
    let (open, _) = granted(id);
    put(database.pool(), &address, 7, &open).await;
    mirror::mark_closed(database.pool(), &[address], 8).await.expect("marked");
    let mut again = completed(open, "r");
    again.record.opened_at_unix_s += 600_000;
    again.record.finished_at_unix_s += 600_000;
    assert!(put(database.pool(), &address, 9, &again).await);
    assert_eq!(stored_terms(&database, &address).await, NO_TERMS);
}

#[tokio::test]
async fn the_audit_names_terms_of_an_open_execution_that_differ() {
    let database = TestDatabase::create().await;
    let id = Uuid::from_u128(1);
    let address = addresses().execution(&wallet(2), id.as_bytes());
    let (mut open, _) = granted(id);
    put(database.pool(), &address, 7, &open).await;
    open.terms.as_mut().expect("open").grant = Pubkey::default();
    let mut batch = Batch::default();
    batch.push(&address, 8, &open).expect("a row");
    let found = mirror::compare(database.pool(), &batch).await.expect("compared");
    assert_eq!(found.differences[0].columns, ["grant_address"]);
}

#[test]
fn an_execution_whose_terms_do_not_fit_its_status_is_refused() {
    let open = record(wallet(2), wallet(20), Uuid::from_u128(1));
    let ended = completed(open, "r");
    for wrong in
        [mirror::ExecutionAccount { terms: None, ..open }, mirror::ExecutionAccount { terms: open.terms, ..ended }]
    {
        let error = Batch::default().push(&wallet(20), 1, &wrong).expect_err("refused").to_string();
        assert!(error.contains("open terms"), "{error}");
    }
}

#[tokio::test]
async fn an_empty_display_name_is_no_name() {
    let database = TestDatabase::create().await;
    put(database.pool(), &wallet(31), 1, &profile(wallet(1), "", false)).await;
    let agent = show(database.pool(), listing(wallet(1), 0), "agent", &["data"]).await;
    let detail = reads::agents(database.pool(), &[agent]).await.expect("read").pop().expect("shown");
    assert_eq!(detail.creator.display_name, "");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// However updates are ordered and grouped, the last revision is what remains.
    #[test]
    fn any_order_of_updates_ends_in_the_newest_state(order in Just((1u64..=6).collect::<Vec<_>>()).prop_shuffle(), split in 0usize..6) {
        tokio::runtime::Runtime::new().expect("a runtime").block_on(async {
            let database = TestDatabase::create().await;
            let (caller, id) = (wallet(2), Uuid::from_u128(1));
            let address = addresses().execution(&caller, id.as_bytes());
            for revisions in [&order[..split], &order[split..]] {
                let mut batch = Batch::default();
                for revision in revisions {
                    let open = record(caller, wallet(20), id);
                    let mut execution = if *revision == 6 { completed(open, "r") } else { open };
                    execution.record.revision = *revision;
                    execution.record.amount = 1_000 * revision;
                    batch.push(&address, 1, &execution).expect("a row");
                }
                mirror::apply_changes(database.pool(), &batch, 1).await.expect("applied");
            }
            let execution = single::execution(database.pool(), &caller, &id).await.expect("read").expect("there");
            assert_eq!(execution.cost_usdc.0, 6_000);
            assert_eq!(execution.status, reads::ShownStatus::Completed);
        });
    }
}
