//! A rebuild from past transactions against the mirror that saw everything happen: equal row for row.

use std::sync::Arc;

use crate::chain::{Chain, agent_closed, listing_bytes, record_bytes, record_closed};
use agent_marketplace::{
    event::ListingCreated,
    instruction,
    instructions::UpdateListingArgs,
    state::{DisputeOutcome, MarketParameters},
};
use anchor_lang::{AnchorSerialize, Discriminator, InstructionData};
use crtx_chain::{
    instructions::{Instructions, Opening},
    past::CalledInstruction,
};
use crtx_mirror::{
    closings::search::Closer,
    rebuild::{Rebuild, RebuildError},
};
use crtx_store::{
    PgPool, mirror, rebuild as progress,
    testing::{
        TestDatabase,
        fixtures::*,
        tampering::{tamper, text_of},
    },
};
use solana_instruction::Instruction;
use solana_pubkey::Pubkey;
use uuid::Uuid;

/// What no chain knows: when and at which slot a row was read, and what depends on the gateway's own rows.
const UNKNOWN: &str = "'{slot,observed_at,after_slot,initiated_at,changed_in}'";

/// The rows of every mirrored account.
async fn rows(pool: &PgPool) -> String {
    let tables = ["agents", "executions", "disputes", "grants", "creators", "config"];
    let mut all = String::new();
    for table in tables {
        let query = format!(
            "SELECT COALESCE(string_agg((to_jsonb(t) - {UNKNOWN}::text[])::text, E'\\n' ORDER BY address), '')
             FROM mirror_{table} t"
        );
        all += &format!("{table}\n{}\n", text_of(pool, &query).await);
    }
    let totals =
        "SELECT concat_ws(' ', (SELECT string_agg(t::text, ' ' ORDER BY agent, caller) FROM mirror_agent_callers t),
        (SELECT string_agg(t::text, ' ' ORDER BY agent) FROM mirror_agent_totals t))";
    all + &text_of(pool, totals).await
}

/// A chain on which the test trades, and the mirror that sees each change.
struct Market {
    chain: Chain,
    live: TestDatabase,
    build: Instructions,
    agent: Pubkey,
}

impl Market {
    async fn open() -> Self {
        let (chain, live) = (Chain::new(), TestDatabase::create().await);
        let build = Instructions::new(addresses(), wallet(95));
        let market = Self { chain, live, build, agent: addresses().agent(&wallet(1), 0) };
        let offer = listing(wallet(1), 0);
        let created = ListingCreated {
            agent: market.agent,
            creator: wallet(1),
            index: 0,
            result_key: offer.result_key,
            price: offer.price,
            timeout_seconds: offer.timeout_seconds,
            binding: false,
            min_cover: 0,
            collateral: offer.collateral,
            metadata_hash: offer.metadata_hash,
            metadata_uri: "x".to_owned(),
            listed_at_unix_s: NOON,
        };
        let mut event = ListingCreated::DISCRIMINATOR.to_vec();
        created.serialize(&mut event).expect("written");
        market.write(market.agent, listing_bytes(&offer)).await;
        market.chain.state().transact(&[market.agent], event);
        market
    }

    fn pool(&self) -> &PgPool {
        self.live.pool()
    }

    async fn write(&self, address: Pubkey, data: Vec<u8>) {
        self.chain.state().write(address, data);
        self.chain.mirror_into(self.pool()).await;
    }

    /// A transaction with this instruction.
    fn call(&self, called: &Instruction) {
        let accounts: Vec<Pubkey> = called.accounts.iter().map(|account| account.pubkey).collect();
        let mut state = self.chain.state();
        state.transact(&accounts, Vec::new());
        let call = CalledInstruction { program_id: program(), accounts, data: called.data.clone(), called: Vec::new() };
        state.transactions[0].2.instructions = vec![call];
    }

    /// Opens an execution in a transaction. `terms`: as the record gets them.
    async fn execute(
        &self,
        number: u128,
        with_grant: bool,
        change: impl FnOnce(&mut mirror::ExecutionAccount),
    ) -> Pubkey {
        let id = Uuid::from_u128(number);
        let opening = Opening {
            agent: self.agent,
            execution_id: *id.as_bytes(),
            request_hash: [number as u8; 32],
            max_amount: 50_000,
            terms_hash: None,
            min_cover: 0,
        };
        let caller = wallet(2);
        let mut instruction = if with_grant {
            self.build.open_execution_with_grant(&caller, &wallet(3), &wallet(78), &opening)
        } else {
            self.build.open_execution(&caller, &wallet(78), &opening)
        };
        instruction.program_id = program();
        let mut record = record(caller, self.agent, id);
        let terms = record.terms.as_mut().expect("open");
        terms.request_hash = [number as u8; 32];
        terms.paid_from = instruction.accounts[if with_grant { 8 } else { 5 }].pubkey;
        terms.grant = if with_grant { addresses().grant(&caller, &wallet(3)) } else { Pubkey::default() };
        let grace = MarketParameters::DEFAULT.settle_grace_s;
        terms.deadline_unix_s = NOON + i64::from(terms.timeout_seconds) + grace;
        change(&mut record);
        let address = addresses().execution(&caller, id.as_bytes());
        self.write(address, record_bytes(&record)).await;
        self.call(&instruction);
        let done = completed(record, "done");
        self.write(address, record_bytes(&done)).await;
        address
    }

    async fn close(&self, address: Pubkey, event: Vec<u8>, also: &[Pubkey]) {
        let slot = {
            let mut state = self.chain.state();
            state.close(address, event);
            for address in also {
                state.accounts.remove(address);
                state.transactions[0].1.push(*address);
            }
            state.slot
        };
        let gone: Vec<Pubkey> = also.iter().copied().chain([address]).collect();
        mirror::mark_closed(self.pool(), &gone, slot + 3).await.expect("marked");
    }

    fn data(&self, address: &Pubkey) -> Vec<u8> {
        self.chain.state().accounts[address].data.clone()
    }

    async fn rebuild(&self, pool: &PgPool) -> Result<crtx_mirror::rebuild::Rebuilt, RebuildError> {
        let rebuild = Rebuild {
            source: &self.chain,
            history: Arc::new(self.chain.clone()),
            pool,
            program: program(),
            show: &|_| {},
        };
        rebuild.run().await
    }

    /// Everything that closes: records with and without a dispute, and a listing. And a change of terms on the way.
    async fn trade(&self) {
        let first = self.execute(1, false, |_| {}).await;
        let second = self.execute(2, true, |_| {}).await;
        let update = UpdateListingArgs {
            timeout_seconds: Some(90),
            result_key: Some(wallet(70)),
            ..UpdateListingArgs::default()
        };
        let mut call = self.build.open_execution(
            &wallet(2),
            &wallet(78),
            &Opening {
                agent: self.agent,
                execution_id: [0; 16],
                request_hash: [0; 32],
                max_amount: 0,
                terms_hash: None,
                min_cover: 0,
            },
        );
        call.accounts.truncate(3);
        call.accounts[2].pubkey = self.agent;
        call.data = instruction::UpdateListing { args: update }.data();
        let mut offer = listing(wallet(1), 0);
        (offer.revision, offer.timeout_seconds, offer.result_key) = (2, 90, wallet(70));
        self.write(self.agent, listing_bytes(&offer)).await;
        self.call(&call);
        let third = self.execute(3, false, |record| {
            let terms = record.terms.as_mut().expect("open");
            (terms.timeout_seconds, terms.result_key) = (90, wallet(70));
            terms.deadline_unix_s += 30;
        });
        let third = third.await;
        let dispute_at = addresses().dispute(&second);
        let disputed = dispute(second, self.agent, wallet(2), DisputeOutcome::Rejected);
        let dispute_data = account_bytes(agent_marketplace::state::Dispute::DISCRIMINATOR, &disputed);
        self.write(dispute_at, dispute_data.clone()).await;
        let other = listing_bytes(&listing(wallet(1), 1));
        let other_at = addresses().agent(&wallet(1), 1);
        self.write(other_at, other.clone()).await;
        self.close(first, record_closed(first, self.data(&first), None), &[]).await;
        self.close(second, record_closed(second, self.data(&second), Some(dispute_data)), &[dispute_at]).await;
        self.close(other_at, agent_closed(other_at, other), &[]).await;
        assert!(self.chain.state().accounts.contains_key(&third), "the third lives");
        tamper(self.pool(), "UPDATE mirror_closings_wanted SET next_attempt = now()").await;
        let closer = Closer::new(Arc::new(self.chain.clone()), self.pool().clone(), program());
        assert_eq!(closer.round().await.expect("searched"), 4);
    }
}

#[tokio::test]
async fn a_rebuild_from_an_empty_database_equals_the_mirror_that_saw_everything() {
    let market = Market::open().await;
    market.trade().await;
    let empty = TestDatabase::create().await;
    let rebuilt = market.rebuild(empty.pool()).await.expect("rebuilt");
    assert_eq!((rebuilt.closings, rebuilt.accounts), (4, 2));
    let (live, again) = (rows(market.pool()).await, rows(empty.pool()).await);
    pretty_equal(&live, &again);
    assert!(crtx_store::closings::whole_history(empty.pool()).await.expect("read"));
}

#[track_caller]
fn pretty_equal(live: &str, again: &str) {
    for (live, again) in live.lines().zip(again.lines()) {
        assert_eq!(live, again);
    }
    assert_eq!(live, again);
}

#[tokio::test]
async fn a_rebuild_of_the_live_database_changes_no_row() {
    let market = Market::open().await;
    market.trade().await;
    let before = rows(market.pool()).await;
    market.rebuild(market.pool()).await.expect("rebuilt");
    pretty_equal(&before, &rows(market.pool()).await);
}

#[tokio::test]
async fn a_rebuild_that_stops_goes_on_where_it_was() {
    let market = Market::open().await;
    market.trade().await;
    let empty = TestDatabase::create().await;
    // The node forgets the newest transaction for a while.
    let newest = market.chain.state().transactions[0].0.clone();
    market.chain.state().forgets = Some(newest);
    let stopped = market.rebuild(empty.pool()).await;
    assert!(matches!(stopped, Err(RebuildError::Forgotten(_))), "{stopped:?}");
    let listed = progress::progress(empty.pool()).await.expect("read").expect("begun");
    assert!(listed.listed && !listed.is_finished && listed.transactions > 0, "{listed:?}");
    market.chain.state().forgets = None;
    market.rebuild(empty.pool()).await.expect("rebuilt");
    let after = progress::progress(empty.pool()).await.expect("read").expect("there");
    assert_eq!((after.transactions, after.is_finished), (listed.transactions, true));
    pretty_equal(&rows(market.pool()).await, &rows(empty.pool()).await);
    // A second rebuild reads only what is new.
    market.rebuild(empty.pool()).await.expect("rebuilt");
    let again = progress::progress(empty.pool()).await.expect("read").expect("there");
    assert_eq!(again.read, after.read);
}

#[tokio::test]
async fn a_database_of_another_chain_is_not_rebuilt() {
    let market = Market::open().await;
    mirror::snapshot_applied(market.pool(), 5, Some("another")).await.expect("noted");
    let refused = market.rebuild(market.pool()).await;
    assert!(matches!(refused, Err(RebuildError::OtherChain { .. })), "{refused:?}");
}
