//! A record's address that is opened again once its record is closed: each opening has a row of its own.

use agent_marketplace::state::{Dispute, DisputeOutcome};
use crtx_store::{
    PgPool,
    audit::{self, kept_totals},
    closings::ClosingKind,
    execution_list,
    executions::Executions,
    mirror::{self, Batch, ExecutionAccount},
    reads::{self, ExecutionFilter, ShownStatus, Start},
    testing::{
        TestDatabase,
        encode::Encode,
        fixtures::*,
        single,
        tampering::{tamper, text_of},
    },
};
use solana_pubkey::Pubkey;
use uuid::Uuid;

const WINDOW_S: i64 = 72 * 3_600;
const ID: Uuid = Uuid::from_u128(1);

/// Two agents of a creator and a caller, and the address that is opened twice.
struct Market {
    database: TestDatabase,
    caller: Pubkey,
    first_agent: Pubkey,
    second_agent: Pubkey,
    address: Pubkey,
}

impl Market {
    async fn new() -> Self {
        let database = TestDatabase::create().await;
        let first_agent = show(database.pool(), listing(wallet(2), 0), "first", &["data"]).await;
        let second_agent = show(database.pool(), listing(wallet(2), 1), "second", &["data"]).await;
        let address = addresses().execution(&wallet(1), ID.as_bytes());
        Self { database, caller: wallet(1), first_agent, second_agent, address }
    }

    fn pool(&self) -> &PgPool {
        self.database.pool()
    }

    fn first(&self) -> ExecutionAccount {
        completed(record(self.caller, self.first_agent, ID), "the result")
    }

    fn second(&self) -> ExecutionAccount {
        let mut again = record(self.caller, self.second_agent, ID);
        again.record.opened_at_unix_s += WINDOW_S + 10;
        again.record.amount = 1_000_000;
        // As the program chooses it: from the time.
        again.record.revision = 1_000;
        again
    }

    /// Proves a closing, as the event of the closing says it.
    async fn close_with<A: mirror::Mirrored + Encode>(&self, address: &Pubkey, slot: u64, account: &A) -> bool {
        let mut last = Batch::default();
        last.push(address, slot, account).unwrap();
        let mut connection = self.pool().acquire().await.unwrap();
        mirror::close_with(&mut connection, last, slot).await.unwrap()
    }

    /// Status and agent of each execution in the caller's list, newest first.
    async fn list(&self) -> Vec<(ShownStatus, Pubkey)> {
        let filter = ExecutionFilter::default();
        let page = single::list_executions(self.pool(), &self.caller, &filter, 10, &Start::FIRST).await.unwrap();
        assert_eq!(page.total, page.items.len() as u64);
        assert!(page.items.iter().all(|item| item.record == self.address));
        page.items.iter().map(|item| (item.status, item.agent_id)).collect()
    }

    /// The lists and totals are what their sources say.
    async fn assert_consistent(&self) {
        let lists = execution_list::compare(self.pool(), "", 100).await.unwrap();
        assert_eq!(lists.differences, []);
        crtx_store::testing::roll_up_all(self.pool()).await.unwrap();
        assert_eq!(execution_list::compare(self.pool(), "", 100).await.unwrap().differences, []);
        assert_eq!(kept_totals(self.pool(), 10).await.unwrap().wrong, 0);
    }

    async fn keys(&self) -> String {
        text_of(self.pool(), "SELECT string_agg(address, ' ' ORDER BY opened_at) FROM mirror_executions").await
    }

    fn both_keys(&self) -> String {
        format!("{0}@{NOON} {0}", self.address)
    }
}

#[tokio::test]
async fn each_opening_of_a_record_keeps_its_row_and_shows_nothing_of_another() {
    let market = Market::new().await;
    let (pool, address) = (market.pool(), &market.address);
    GatewayRow::new(market.caller, market.first_agent, ID, "completed").insert(pool).await;
    tamper(pool, "UPDATE executions SET opened_at = created_at").await;
    put(pool, address, 10, &market.first()).await;
    mirror::mark_closed(pool, &[*address], 20).await.unwrap();
    let shown = single::execution(pool, &market.caller, &ID).await.unwrap().unwrap();
    assert_eq!((shown.status, shown.result.as_deref()), (ShownStatus::Completed, Some("the result")));

    put(pool, address, 30, &market.second()).await;
    let shown = single::execution(pool, &market.caller, &ID).await.unwrap().unwrap();
    assert_eq!((shown.status, shown.agent_id.as_str()), (ShownStatus::Running, &*market.second_agent.to_string()));
    assert_eq!((shown.result, shown.result_hash, shown.record), (None, None, *address));
    assert_eq!(shown.cost_usdc.0, 1_000_000);
    let both = [(ShownStatus::Running, market.second_agent), (ShownStatus::Completed, market.first_agent)];
    assert_eq!(market.list().await, both);
    market.assert_consistent().await;
    assert_eq!(market.list().await, both);
    assert_eq!(market.keys().await, market.both_keys());
    let of_first = reads::recent_executions(pool, &market.first_agent, 5, "{address}").await.unwrap();
    let shown = serde_json::to_value(&of_first).unwrap();
    assert_eq!((&shown[0]["record"], &shown[0]["status"]), (&address.to_string().into(), &"completed".into()));

    // A later state of the second opening changes only its own row.
    put(pool, address, 40, &completed(market.second(), "another")).await;
    let shown = single::execution(pool, &market.caller, &ID).await.unwrap().unwrap();
    assert_eq!((shown.status, shown.result), (ShownStatus::Completed, None), "nobody stored this one");
    assert_eq!(market.keys().await, market.both_keys());
    market.assert_consistent().await;
}

#[tokio::test]
async fn what_the_gateway_did_for_an_opening_moves_with_it_and_the_next_one_begins_anew() {
    let market = Market::new().await;
    let (pool, address) = (market.pool(), &market.address);
    put(pool, address, 10, &market.first()).await;
    GatewayRow::new(market.caller, market.first_agent, ID, "completed").insert(pool).await;
    let row = "UPDATE executions SET opened_at = created_at, idempotency_key = 'k'";
    tamper(pool, row).await;
    // The gateway has a row of the second opening before the mirror sees that opening.
    let shift = format!("UPDATE executions SET opened_at = opened_at + interval '{} s'", WINDOW_S + 11);
    tamper(pool, &shift).await;
    put(pool, address, 30, &market.second()).await;
    let records = "SELECT string_agg(record, ' ') FROM executions";
    assert_eq!(text_of(pool, records).await, address.to_string(), "it is of the second opening");

    let market = Market::new().await;
    let pool = market.pool();
    put(pool, address, 10, &market.first()).await;
    GatewayRow::new(market.caller, market.first_agent, ID, "completed").insert(pool).await;
    tamper(pool, row).await;
    put(pool, address, 30, &market.second()).await;
    assert_eq!(text_of(pool, records).await, format!("{address}@{NOON}"));
    // The wallet hands the second opening over. A key that is used again gets the answer of its own call.
    let executions = Executions::new(pool.clone(), std::time::Duration::from_secs(30));
    GatewayRow::new(market.caller, market.second_agent, ID, "running").insert(pool).await;
    tamper(pool, "UPDATE executions SET session_key = NULL, created_at = now() WHERE state = 'running'").await;
    tamper(pool, r#"UPDATE executions SET request = '{"task": "x", "parameters": {}}'"#).await;
    for (handed_over, agent) in [(false, market.first_agent), (true, market.second_agent)] {
        let found = executions.last(&market.caller, &ID, handed_over).await.unwrap().unwrap();
        assert_eq!((found.call.agent, found.call.record), (agent, *address));
    }
    market.assert_consistent().await;
}

#[tokio::test]
async fn the_closing_of_an_earlier_opening_proves_its_row_and_not_the_present_one() {
    let market = Market::new().await;
    let (pool, address) = (market.pool(), &market.address);
    put(pool, address, 10, &market.first()).await;
    put(pool, address, 30, &market.second()).await;
    assert!(!market.close_with(address, 20, &market.first()).await, "its row is right");
    let closed =
        "SELECT string_agg(COALESCE(closed_at_slot::text, '-'), ' ' ORDER BY opened_at) FROM mirror_executions";
    assert_eq!(text_of(pool, closed).await, "20 -");
    tamper(pool, "UPDATE mirror_executions SET tokens_used = 7 WHERE address LIKE '%@%'").await;
    assert!(market.close_with(address, 20, &market.first()).await, "it is repaired");
    assert_eq!(market.keys().await, market.both_keys());
    assert_eq!(text_of(pool, closed).await, "20 -");
    let page = audit::closed_rows(pool, ClosingKind::Execution, "", 10).await.unwrap();
    let found: Vec<_> = page.iter().map(|row| (row.key.clone(), row.address.clone())).collect();
    assert_eq!(found, [(format!("{address}@{NOON}"), address.to_string())]);
    assert_eq!(page[0].row["address"], address.to_string());
    market.assert_consistent().await;
}

#[tokio::test]
async fn openings_that_nobody_saw_while_they_were_open_get_their_rows_from_their_closings() {
    // The mirror has the second opening, and a rebuild finds the closing of the first.
    let market = Market::new().await;
    put(market.pool(), &market.address, 30, &market.second()).await;
    market.close_with(&market.address, 20, &market.first()).await;
    assert_eq!(market.keys().await, market.both_keys());
    market.assert_consistent().await;
    // The closings come in their order.
    let market = Market::new().await;
    market.close_with(&market.address, 20, &market.first()).await;
    market.close_with(&market.address, 50, &completed(market.second(), "another")).await;
    assert_eq!(market.keys().await, market.both_keys());
    let closed = "SELECT string_agg(closed_at_slot::text, ' ' ORDER BY opened_at) FROM mirror_executions";
    assert_eq!(text_of(market.pool(), closed).await, "20 50");
    market.assert_consistent().await;
}

#[tokio::test]
async fn an_opening_that_another_fork_moved_by_some_seconds_is_the_same_one() {
    let market = Market::new().await;
    let (pool, address) = (market.pool(), &market.address);
    let mut moved = market.first();
    (moved.record.opened_at_unix_s, moved.record.finished_at_unix_s) = (NOON + 3, NOON + 5);
    moved.record.revision += 1;
    put(pool, address, 10, &market.first()).await;
    put(pool, address, 12, &moved).await;
    assert_eq!(market.keys().await, address.to_string());
    market.close_with(address, 20, &market.first()).await;
    assert_eq!(market.keys().await, address.to_string());
    assert_eq!(
        text_of(pool, "SELECT extract(epoch FROM opened_at)::bigint::text FROM mirror_executions").await,
        NOON.to_string()
    );
    market.assert_consistent().await;
}

#[tokio::test]
async fn each_opening_keeps_its_dispute() {
    let raised = |market: &Market, agent, after_s: i64, outcome| -> Dispute {
        let mut dispute = dispute(market.address, agent, market.caller, outcome);
        dispute.raised_at_unix_s += after_s;
        dispute.revision = 1 + after_s as u64;
        dispute
    };
    // The new dispute is seen after the record that was opened again, or before it.
    for dispute_first in [false, true] {
        let market = Market::new().await;
        let (pool, address) = (market.pool(), &market.address);
        let of_dispute = addresses().dispute(address);
        let first = raised(&market, market.first_agent, 0, DisputeOutcome::Rejected);
        put(pool, address, 10, &market.first()).await;
        put(pool, &of_dispute, 10, &first).await;
        let second = raised(&market, market.second_agent, WINDOW_S + 20, DisputeOutcome::Open);
        let again = completed(market.second(), "another");
        if dispute_first {
            put(pool, &of_dispute, 30, &second).await;
            put(pool, address, 30, &again).await;
        } else {
            put(pool, address, 30, &again).await;
            put(pool, &of_dispute, 30, &second).await;
        }
        assert_eq!(market.keys().await, market.both_keys());
        let kept = "SELECT string_agg(address || ' of ' || execution, ', ' ORDER BY raised_at) FROM mirror_disputes";
        let at = NOON + 60;
        assert_eq!(
            text_of(pool, kept).await,
            format!("{of_dispute}@{at} of {address}@{NOON}, {of_dispute} of {address}"),
            "dispute first: {dispute_first}"
        );
        let filter = reads::DisputeFilter { scope: reads::DisputeScope::Caller, outcome: None };
        let list = reads::list_disputes(pool, &market.caller, filter, 10, &Start::FIRST).await.unwrap();
        let shown: Vec<_> = list.items.iter().map(|item| (item.dispute, item.agent_id.clone())).collect();
        let expected = [market.second_agent, market.first_agent].map(|agent| (of_dispute, agent.to_string()));
        assert_eq!((list.total, shown), (2, expected.to_vec()));
        assert!(!market.close_with(&of_dispute, 20, &first).await);
        assert_eq!(audit::closed_rows(pool, ClosingKind::Dispute, "", 10).await.unwrap().len(), 1);
        market.assert_consistent().await;
    }
}
