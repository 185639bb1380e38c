//! The audit against a scripted chain and a real PostgreSQL: whatever somebody changed, it says what and where.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use agent_marketplace::state::AgentListed;

use crate::chain::{Chain, agent_closed, listing_bytes, record_bytes, record_closed};
use crtx_content::{ContentLocation, ContentStore};
use crtx_mirror::{
    closings::search::Closer,
    proof::{AuditCheck, AuditReport, Auditor},
};
use crtx_protocol::result_hash::ResultHash;
use crtx_store::{
    PgPool, indexer_status, mirror,
    testing::{
        TestDatabase,
        fixtures::*,
        tampering::{hex, tamper, text_of},
    },
};
use solana_pubkey::Pubkey;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// A market with a listing, an open record, a completed one and a closed one, and its true mirror.
struct Market {
    database: TestDatabase,
    chain: Chain,
    agent: Pubkey,
    open: Pubkey,
    completed: Pubkey,
    closed: Pubkey,
    closed_listing: Pubkey,
}

fn record_at(number: u128) -> Pubkey {
    addresses().execution(&wallet(2), Uuid::from_u128(number).as_bytes())
}

impl Market {
    async fn open() -> Self {
        let database = TestDatabase::create().await;
        let chain = Chain::new();
        let agent = addresses().agent(&wallet(1), 0);
        let mut offer = listing(wallet(1), 0);
        (offer.open_amount, offer.open_executions) = (50_000, 1);
        (offer.total_executions, offer.completed_executions, offer.successful_executions) = (2, 2, 2);
        (offer.execution_time_ms_total, offer.timed_executions, offer.platform_fees_total) = (2_400, 2, 1_000);
        let of = |number| record(wallet(2), agent, Uuid::from_u128(number));
        let gone = record_bytes(&completed(of(3), "three"));
        let delisted = listing_bytes(&listing(wallet(1), 1));
        let market = Self {
            agent,
            open: record_at(1),
            completed: record_at(2),
            closed: record_at(3),
            closed_listing: addresses().agent(&wallet(1), 1),
            database,
            chain,
        };
        {
            let mut state = market.chain.state();
            state.write(agent, listing_bytes(&offer));
            state.write(market.open, record_bytes(&of(1)));
            state.write(market.completed, record_bytes(&completed(of(2), "two")));
            state.write(market.closed, gone.clone());
            state.write(market.closed_listing, delisted.clone());
            state.fill_vaults(&agent, 50_000, 10_000_000);
        }
        market.chain.mirror_into(market.pool()).await;
        let gone_event = record_closed(market.closed, gone, None);
        market.chain.state().close(market.closed, gone_event);
        market.chain.state().close(market.closed_listing, agent_closed(market.closed_listing, delisted));
        market.find_closed(&[market.closed, market.closed_listing]).await;
        market
    }

    fn pool(&self) -> &PgPool {
        self.database.pool()
    }

    /// The mirror notices that accounts are gone, and the closings are searched for.
    async fn find_closed(&self, addresses: &[Pubkey]) {
        let slot = self.chain.state().slot;
        mirror::mark_closed(self.pool(), addresses, slot).await.expect("marked");
        self.execute("UPDATE mirror_closings_wanted SET since = now() - interval '1 hour', next_attempt = now()").await;
        let closer = Closer::new(Arc::new(self.chain.clone()), self.pool().clone(), program());
        closer.round().await.expect("searched");
    }

    async fn execute(&self, statement: &str) {
        tamper(self.pool(), statement).await;
    }

    fn auditor(&self) -> Auditor<Chain> {
        let mut auditor = Auditor::new(Arc::new(self.chain.clone()), self.pool().clone(), program());
        auditor.history = Some(Arc::new(self.chain.clone()));
        auditor.second_look_after = Duration::from_millis(10);
        auditor
    }

    async fn audit(&self) -> AuditReport {
        self.auditor().examine(false).await.expect("audited")
    }

    /// Audits, and expects exactly one fault of that check. Returns its words.
    async fn fault(&self, check: AuditCheck) -> String {
        let report = self.audit().await;
        assert!(!report.ok, "{report:#?}");
        let faults: Vec<_> = report.faults.iter().filter(|fault| fault.check == check).collect();
        assert_eq!(faults.len(), 1, "{:#?}", report.faults);
        format!("{}: {}", faults[0].place, faults[0].message)
    }
}

/// The market's listing after its price changed.
fn with_another_price() -> AgentListed {
    let mut newer = listing(wallet(1), 0);
    (newer.revision, newer.price) = (2, 70_000);
    (newer.open_amount, newer.open_executions) = (50_000, 1);
    (newer.total_executions, newer.completed_executions, newer.successful_executions) = (2, 2, 2);
    (newer.execution_time_ms_total, newer.timed_executions, newer.platform_fees_total) = (2_400, 2, 1_000);
    newer
}

#[track_caller]
fn assert_says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{text:?} does not say {part:?}");
    }
}

#[tokio::test]
async fn a_true_mirror_is_ok_and_the_report_counts_what_was_compared() {
    let market = Market::open().await;
    let report = market.audit().await;
    assert!(report.ok && report.complete, "{report:#?}");
    assert_eq!((report.accounts, report.equal, report.moving, report.ahead), (3, 3, 0, 0));
    let compared = |check| report.checks[&check].compared;
    assert_eq!(compared(AuditCheck::Rows), 3);
    assert_eq!(compared(AuditCheck::Closed), 2);
    assert!(compared(AuditCheck::Closings) >= 1);
    assert_eq!(compared(AuditCheck::Vaults), 1);
    assert_eq!(compared(AuditCheck::Listings), 2);
    assert!(compared(AuditCheck::Totals) >= 2);
}

#[tokio::test]
async fn an_invented_execution_is_found_by_its_missing_account_and_by_the_totals() {
    let market = Market::open().await;
    let invented = record_at(900);
    let mut record = record(wallet(2), market.agent, Uuid::from_u128(900));
    record.record.amount = 900_000_000;
    put(market.pool(), &invented, 50, &completed(record, "never")).await;
    let report = market.audit().await;
    assert!(!report.ok && report.surplus == 1, "{report:#?}");
    let row = report.faults.iter().find(|fault| fault.check == AuditCheck::Rows).expect("a fault");
    assert_says(&row.place, &[&invented.to_string()]);
    assert_says(&row.message, &["no such account"]);
    let totals = report.faults.iter().filter(|fault| fault.check == AuditCheck::Listings);
    let totals: Vec<_> = totals.map(|fault| format!("{}: {}", fault.place, fault.message)).collect();
    assert!(totals.iter().any(|text| text.contains("completed_executions is 2, its records make 3")), "{totals:?}");
}

#[tokio::test]
async fn totals_that_are_wrong_in_another_way_at_each_look_are_unproven_and_one_that_stays_wrong_is_found() {
    let market = Market::open().await;
    let load = async {
        loop {
            market.execute("UPDATE mirror_agents SET open_executions = open_executions + 1").await;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    market.execute("UPDATE mirror_agents SET open_amount = 7").await;
    let mut auditor = market.auditor();
    auditor.second_look_after = Duration::from_millis(100);
    let report = tokio::select! {
        report = auditor.examine(false) => report.expect("audited"),
        () = load => unreachable!(),
    };
    assert_eq!(report.checks[&AuditCheck::Listings].unproven, 1, "{report:#?}");
    let faults = report.faults.iter().filter(|fault| fault.check == AuditCheck::Listings);
    let faults: Vec<_> = faults.map(|fault| fault.message.as_str()).collect();
    assert!(faults.iter().all(|text| text.contains("open_amount is 7")) && !faults.is_empty(), "{faults:?}");
}

#[tokio::test]
async fn an_invented_execution_that_the_mirror_took_for_closed_is_found_by_its_missing_transaction() {
    let market = Market::open().await;
    let invented = record_at(900);
    let record = record(wallet(2), wallet(99), Uuid::from_u128(900));
    put(market.pool(), &invented, 50, &completed(record, "never")).await;
    market.find_closed(&[invented]).await;
    let text = market.fault(AuditCheck::Closed).await;
    assert_says(&text, &[&invented.to_string(), "no transaction on the chain names this account"]);
}

#[tokio::test]
async fn an_altered_closed_row_is_found_by_the_event_of_its_closing() {
    let market = Market::open().await;
    let alter = format!("UPDATE mirror_executions SET tokens_used = 7 WHERE address = '{}'", market.closed);
    market.execute(&alter).await;
    let text = market.fault(AuditCheck::Closed).await;
    assert_says(&text, &[&market.closed.to_string(), "tokens_used", "signature0"]);
}

#[tokio::test]
async fn a_closed_row_that_was_altered_together_with_its_stored_closing_is_found_by_the_chain() {
    let market = Market::open().await;
    let mut forged = completed(record(wallet(2), market.agent, Uuid::from_u128(3)), "three");
    forged.record.tokens_used = 7;
    let bytes = hex(&record_bytes(&forged));
    let alter = format!("UPDATE mirror_closings SET data = {bytes} WHERE address = '{}'", market.closed);
    market.execute(&alter).await;
    // The sample begins at a random time of closing; both closings here have the same.
    let text = market.fault(AuditCheck::Closings).await;
    assert_says(&text, &[&market.closed.to_string(), "signature0"]);
}

#[tokio::test]
async fn a_deleted_closed_row_is_found() {
    let market = Market::open().await;
    market.execute(&format!("DELETE FROM mirror_agents WHERE address = '{}'", market.closed_listing)).await;
    assert_says(&market.fault(AuditCheck::Closed).await, &[&market.closed_listing.to_string(), "no row"]);
}

#[tokio::test]
async fn an_altered_row_is_found_with_its_columns() {
    let market = Market::open().await;
    market.execute(&format!("UPDATE mirror_executions SET amount = 1 WHERE address = '{}'", market.completed)).await;
    let text = market.fault(AuditCheck::Accounts).await;
    assert_says(&text, &[&market.completed.to_string(), "mirror_executions", "amount"]);
}

#[tokio::test]
async fn a_row_with_a_later_revision_than_the_chain_ever_had_is_ahead() {
    let market = Market::open().await;
    market.execute(&format!("UPDATE mirror_agents SET revision = 9 WHERE address = '{}'", market.agent)).await;
    let text = market.fault(AuditCheck::Accounts).await;
    assert_says(&text, &[&market.agent.to_string(), "ahead of the chain", "revision 9"]);
}

#[tokio::test]
async fn a_row_that_was_read_at_a_slot_of_the_future_is_ahead() {
    let market = Market::open().await;
    market.execute(&format!("UPDATE mirror_agents SET slot = 900000 WHERE address = '{}'", market.agent)).await;
    let text = market.fault(AuditCheck::Rows).await;
    assert_says(&text, &[&market.agent.to_string(), "ahead of the chain", "900000"]);
}

#[tokio::test]
async fn a_row_that_the_stream_brought_during_the_audit_is_moving() {
    let market = Market::open().await;
    let newer = with_another_price();
    put(market.pool(), &market.agent, 104, &newer).await;
    let address = market.agent;
    // The chain has it when the audit looks again.
    market.chain.state().before_read = Some(Box::new(move |state| state.write(address, listing_bytes(&newer))));
    let report = market.audit().await;
    assert!(report.ok, "{report:#?}");
    assert_eq!((report.moving, report.ahead), (1, 0));
}

#[tokio::test]
async fn a_row_is_waited_for_while_the_mirror_has_not_reached_its_account() {
    let market = Market::open().await;
    let newer = with_another_price();
    market.chain.state().write(market.agent, listing_bytes(&newer));
    let mut auditor = market.auditor();
    auditor.second_look_after = Duration::from_millis(50);
    let (report, ()) = tokio::join!(auditor.examine(false), async {
        // Three looks see the row as it was.
        tokio::time::sleep(Duration::from_millis(400)).await;
        market.chain.mirror_into(market.pool()).await;
    });
    let report = report.expect("audited");
    assert!(report.ok, "{report:#?}");
    assert_eq!((report.moving, report.different), (1, 0));
}

#[tokio::test]
async fn a_row_that_is_behind_is_found() {
    let market = Market::open().await;
    let mut newer = listing(wallet(1), 0);
    newer.revision = 2;
    market.chain.state().write(market.agent, listing_bytes(&newer));
    assert_says(&market.fault(AuditCheck::Accounts).await, &["is behind", "revision 1", "has 2"]);
}

#[tokio::test]
async fn a_node_that_answers_no_accounts_proves_nothing() {
    let market = Market::open().await;
    market.chain.state().says_nothing = true;
    assert_says(&market.fault(AuditCheck::Node).await, &["node.example", "no account", "3 open rows"]);
}

#[tokio::test]
async fn an_audit_that_compared_nothing_is_not_ok() {
    let (database, chain) = (TestDatabase::create().await, Chain::new());
    let report =
        Auditor::new(Arc::new(chain), database.pool().clone(), program()).examine(false).await.expect("audited");
    assert!(!report.ok);
    assert_says(&report.faults[0].message, &["nothing was compared"]);
}

#[tokio::test]
async fn a_snapshot_that_breaks_off_is_a_fault_in_the_stored_report() {
    let market = Market::open().await;
    market.chain.state().breaks_off = true;
    assert!(market.auditor().audit_and_store().await.is_err());
    let (stored, _) = indexer_status::last_audit(market.pool()).await.expect("read").expect("there");
    assert_eq!((&stored["ok"], &stored["complete"]), (&false.into(), &false.into()));
    assert_says(stored["faults"][0]["message"].as_str().expect("text"), &["could not be made"]);
}

#[tokio::test]
async fn a_second_endpoint_that_sees_another_account_is_named() {
    let market = Market::open().await;
    let witness = Chain::new();
    {
        let (mut theirs, ours) = (witness.state(), market.chain.state());
        theirs.accounts = ours.accounts.clone();
        theirs.slot = ours.slot;
        theirs.accounts.values_mut().for_each(|account| {
            if let Some(last) = account.data.last_mut() {
                *last ^= 1;
            }
        });
    }
    market.chain.state().witness = Some(witness);
    let report = market.audit().await;
    assert!(!report.ok);
    assert!(report.faults.iter().any(|fault| fault.check == AuditCheck::Witness), "{report:#?}");
}

#[tokio::test]
async fn an_altered_document_is_found_wherever_it_was_altered() {
    let bytes = document("agent", &["data"]);
    for (alter, says) in [
        (
            "UPDATE agent_metadata SET document = jsonb_set(document, '{description}', '\"x\"')",
            "not the one that was fetched",
        ),
        ("UPDATE agent_metadata SET tagline = 'x'", "tagline"),
        ("UPDATE agent_metadata SET endpoint = 'https://evil.example'", "endpoint"),
        ("UPDATE agent_metadata SET bytes = NULL, fetched_at = fetched_at - interval '2 minutes'", "are gone"),
        ("UPDATE agent_metadata SET bytes = bytes || '\\x20'", "hash"),
        ("UPDATE mirror_agents SET name = 'x' WHERE name IS NOT NULL", "in lists"),
    ] {
        let market = Market::open().await;
        store_document(market.pool(), &market.agent, &bytes).await;
        let report = market.audit().await;
        assert!(report.ok && report.checks[&AuditCheck::Documents].compared == 1, "{report:#?}");
        market.execute(alter).await;
        let text = market.fault(AuditCheck::Documents).await;
        assert_says(&text, &[&market.agent.to_string(), says]);
    }
}

#[tokio::test]
async fn an_altered_total_of_the_mirror_is_found() {
    for (alter, says) in [
        ("UPDATE mirror_agent_totals SET unique_callers = 9", "agent_totals is 9 unique callers"),
        ("UPDATE mirror_agent_totals SET earned = 1", "earned 1, trust"),
        ("UPDATE mirror_agent_totals SET trust = 7", "trust 7, "),
        ("UPDATE mirror_agent_totals SET disputes = 7", "7 disputes, "),
        ("UPDATE mirror_agent_totals SET upheld_wallets = 7", "7 upheld, its records make"),
        ("UPDATE mirror_agent_callers SET spent = 1", "spent 1, fees"),
        ("UPDATE mirror_agent_callers SET fees = 7", "fees 7, "),
        ("DELETE FROM mirror_agent_callers", "agent_callers"),
    ] {
        let market = Market::open().await;
        market.execute(alter).await;
        assert_says(&market.fault(AuditCheck::Totals).await, &[says]);
    }
}

#[tokio::test]
async fn an_altered_row_of_the_list_of_executions_is_found() {
    let market = Market::open().await;
    let alter = format!("UPDATE execution_list SET cost = 900000000 WHERE record = '{}'", market.completed);
    market.execute(&alter).await;
    assert_says(&market.fault(AuditCheck::Lists).await, &[&market.completed.to_string(), "cost"]);
}

#[tokio::test]
async fn a_vault_that_holds_less_than_its_claims_is_found() {
    let market = Market::open().await;
    market.chain.state().fill_vaults(&market.agent, 50_000, 9_999_999);
    let text = market.fault(AuditCheck::Vaults).await;
    assert_says(&text, &[&market.agent.to_string(), "collateral", "9999999", "10000000"]);
}

#[tokio::test]
async fn a_result_that_does_not_have_its_hash_is_found() {
    let market = Market::open().await;
    let record = completed_call(market.pool(), 7, "the result").await;
    let report = market.audit().await;
    assert!(report.ok && report.checks[&AuditCheck::Results].compared == 1, "{report:#?}");
    market.execute("UPDATE executions SET result = 'another'").await;
    assert_says(&market.fault(AuditCheck::Results).await, &[&record.to_string(), "SHA-256"]);
}

#[tokio::test]
async fn content_that_does_not_match_its_name_is_found() {
    let market = Market::open().await;
    completed_call(market.pool(), 7, "the result").await;
    let folder = tempfile::tempdir().expect("folder");
    let store = ContentStore::create(&ContentLocation::Folder(folder.path().to_owned())).expect("store");
    let hash = store.put("the result").await.expect("put");
    let mut auditor = market.auditor();
    auditor.content = Some(store);
    assert!(auditor.examine(false).await.expect("audited").ok);
    std::fs::write(folder.path().join(crtx_protocol::content::cid_of(&hash)), "another").expect("damaged");
    let report = auditor.examine(false).await.expect("audited");
    assert!(!report.ok && report.checks[&AuditCheck::Results].faults == 1, "{report:#?}");
}

/// A call that the gateway completed. Returns its record.
async fn completed_call(pool: &PgPool, seed: u8, result: &str) -> Pubkey {
    let record = wallet(seed);
    let hash = ResultHash::of(result.as_bytes()).0;
    let insert = format!(
        "INSERT INTO executions (record, execution_id, caller, agent, session_key, state, body_hash, is_async, request,
             request_hash, amount, timeout_seconds, endpoint, result, result_hash, result_signature, execution_time_ms,
             finished_at)
         VALUES ('{record}', '{}', 'caller', 'agent', 'key', 'completed', {hash}, false, '{{}}', {hash}, 1, 60,
             'https://a', '{result}', {hash}, {}, 1, now())",
        Uuid::from_u128(seed.into()),
        hex(&[0; 64]),
        hash = hex(&hash),
    );
    tamper(pool, &insert).await;
    record
}

#[tokio::test]
async fn a_closed_row_that_missed_the_last_change_is_repaired_by_its_closing() {
    let market = Market::open().await;
    let address = record_at(5);
    let before = record(wallet(2), wallet(99), Uuid::from_u128(5));
    put(market.pool(), &address, 104, &before).await;
    // It is completed and closed, and the mirror sees neither.
    let last = record_bytes(&completed(before, "five"));
    let event = record_closed(address, last, None);
    let signature = market.chain.state().close(address, event);
    let slot = market.chain.state().slot;
    market.find_closed(&[address]).await;
    let row = format!(
        "SELECT concat_ws(' ', status, closed_at_slot, encode(request_hash, 'hex')) FROM mirror_executions
         WHERE address = '{address}'"
    );
    // Completed, without the terms that the program dropped.
    assert_eq!(text_of(market.pool(), &row).await, format!("2 {slot}"));
    let report = market.audit().await;
    assert!(report.ok, "{report:#?}");
    let kept = format!("SELECT signature FROM mirror_closings WHERE address = '{address}'");
    assert_eq!(text_of(market.pool(), &kept).await, signature);
}

#[tokio::test]
async fn the_search_for_a_closing_ends_with_the_row_that_it_was_for() {
    let market = Market::open().await;
    let address = record_at(7);
    put(market.pool(), &address, 104, &record(wallet(2), wallet(99), Uuid::from_u128(7))).await;
    let searches = format!("SELECT count(*)::text FROM mirror_closings_wanted WHERE address = '{address}'");
    market.find_closed(&[address]).await;
    assert_eq!(text_of(market.pool(), &searches).await, "1", "nothing was found, and the row is still there");
    // A fork was dropped that had opened and closed it.
    let slot = market.chain.state().slot;
    let gone = mirror::correct(market.pool(), &mirror::Batch::default(), &[address], slot).await.expect("corrected");
    assert_eq!(gone.deleted, 1);
    market.find_closed(&[address]).await;
    assert_eq!(text_of(market.pool(), &searches).await, "0");
    assert!(market.audit().await.ok);
}

#[tokio::test]
async fn only_the_process_that_leads_audits_and_a_new_leader_begins_soon() {
    let market = Market::open().await;
    let (leads, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
    let stop = CancellationToken::new();
    let leading = {
        let (leads, asked) = (Arc::clone(&leads), Arc::clone(&asked));
        move || {
            asked.fetch_add(1, Ordering::Relaxed);
            leads.load(Ordering::Relaxed)
        }
    };
    let auditing =
        tokio::spawn(stop.clone().run_until_cancelled_owned(market.auditor().run(Duration::from_millis(10), leading)));
    let audited = async || indexer_status::last_audit(market.pool()).await.expect("read").is_some();
    while asked.load(Ordering::Relaxed) < 10 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(!audited().await, "it stands by");
    leads.store(true, Ordering::Relaxed);
    while !audited().await {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    stop.cancel();
    auditing.await.expect("it ends");
}

#[tokio::test]
async fn an_event_about_an_account_that_it_cannot_be_about_is_not_believed() {
    let market = Market::open().await;
    let address = record_at(6);
    put(market.pool(), &address, 104, &completed(record(wallet(2), wallet(99), Uuid::from_u128(6)), "six")).await;
    // The bytes are those of another record.
    let other = record_bytes(&completed(record(wallet(2), wallet(99), Uuid::from_u128(7)), "seven"));
    market.chain.state().close(address, record_closed(address, other, None));
    market.find_closed(&[address]).await;
    let text = market.fault(AuditCheck::Closed).await;
    assert_says(&text, &[&address.to_string(), "no transaction on the chain closes this account"]);
}

impl Market {
    /// Audits as the service does, and expects that what it found is right afterwards.
    async fn assert_corrected(&self, check: AuditCheck, place: &str) {
        let report = self.auditor().audit_and_store().await.expect("audited");
        assert!(!report.ok, "{report:#?}");
        let corrected = report.corrections.iter().filter(|corrected| corrected.check == check);
        let places: Vec<_> = corrected.map(|corrected| corrected.place.as_str()).collect();
        assert!(places.iter().any(|shown| shown.contains(place)), "{places:?}");
        assert_eq!(report.corrected, u64::try_from(report.corrections.len()).unwrap());
        let after = self.audit().await;
        assert!(after.ok, "{after:#?}");
    }

    async fn dump(&self, table: &str) -> String {
        let rows = format!(
            "SELECT COALESCE(string_agg((to_jsonb(t) - 'observed_at' - 'slot' - 'after_slot')::text, ',' ORDER BY (to_jsonb(t) - 'observed_at' - 'slot' - 'after_slot')::text), '') FROM {table} t"
        );
        text_of(self.pool(), &rows).await
    }
}

#[tokio::test]
async fn a_row_that_was_altered_is_written_again_although_its_hash_fits() {
    let market = Market::open().await;
    for (table, address, alteration) in [
        ("mirror_agents", market.agent, "price = 1"),
        ("mirror_agents", market.agent, "revision = revision + 1000, price = 2"),
        ("mirror_agents", market.agent, "slot = 1, price = 3"),
        ("mirror_executions", market.open, "amount = 1"),
        ("mirror_executions", market.completed, "tokens_used = 77"),
    ] {
        let before = market.dump(table).await;
        market.execute(&format!("UPDATE {table} SET {alteration} WHERE address = '{address}'")).await;
        assert_ne!(market.dump(table).await, before);
        market.assert_corrected(AuditCheck::Accounts, &address.to_string()).await;
        assert_eq!(market.dump(table).await, before, "{table}: {alteration}");
    }
}

#[tokio::test]
async fn a_deleted_row_is_written_again() {
    let market = Market::open().await;
    market.execute(&format!("DELETE FROM mirror_executions WHERE address = '{}'", market.completed)).await;
    market.assert_corrected(AuditCheck::Accounts, &market.completed.to_string()).await;
}

#[tokio::test]
async fn an_altered_closed_row_is_written_again_from_the_transaction_that_closed_it() {
    let market = Market::open().await;
    let before = market.dump("mirror_executions").await;
    market.execute(&format!("UPDATE mirror_executions SET tokens_used = 7 WHERE address = '{}'", market.closed)).await;
    market.assert_corrected(AuditCheck::Closed, &market.closed.to_string()).await;
    assert_eq!(market.dump("mirror_executions").await, before);
}

#[tokio::test]
async fn altered_totals_and_lists_are_made_again_from_their_rows() {
    let market = Market::open().await;
    for (table, alteration, check) in [
        ("mirror_agent_callers", "completed = completed + 5", AuditCheck::Totals),
        ("mirror_agent_callers", "spent = 1", AuditCheck::Totals),
        ("mirror_agent_totals", "unique_callers = 9", AuditCheck::Totals),
        ("mirror_agent_totals", "earned = 1", AuditCheck::Totals),
        ("execution_list", "cost = cost + 1", AuditCheck::Lists),
    ] {
        crtx_store::testing::roll_up_all(market.pool()).await.expect("rolled up");
        let before = market.dump(table).await;
        market.execute(&format!("UPDATE {table} SET {alteration}")).await;
        market.assert_corrected(check, "").await;
        assert_eq!(market.dump(table).await, before, "{table}");
    }
    market.execute("UPDATE execution_totals SET n = n + 1 WHERE status = 2").await;
    market.assert_corrected(AuditCheck::Lists, "mirror").await;
}

#[tokio::test]
async fn a_row_that_is_newer_than_the_node_stays_while_a_second_node_has_it_so() {
    let market = Market::open().await;
    let second = Chain::new();
    second.state().slot = market.chain.state().slot;
    second.state().accounts = market.chain.state().accounts.clone();
    let mut newer = completed(record(wallet(2), market.agent, Uuid::from_u128(2)), "two");
    newer.record.revision += 1;
    newer.record.tokens_used = 5;
    second.state().write(market.completed, record_bytes(&newer));
    second.mirror_into(market.pool()).await;
    market.chain.state().slot += 10;
    second.state().slot += 10;
    market.chain.state().witness = Some(second);
    let before = market.dump("mirror_executions").await;
    let report = market.auditor().audit_and_store().await.expect("audited");
    assert!(!report.ok && report.ahead == 1, "{report:#?}");
    assert_eq!((report.corrected, market.dump("mirror_executions").await), (0, before));
}
