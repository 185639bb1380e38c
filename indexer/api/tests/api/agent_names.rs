//! The names of agents in the list of executions: from the list of agents in memory, or from the database.

use std::time::Duration;

use crate::common::Market;
use agent_marketplace::state::{AgentListed, AgentStatus};
use crtx_api::agent_list::AgentList;
use crtx_protocol::result_hash::ResultHash;
use crtx_store::{PgPool, mirror, reads, testing::fixtures::*};
use serde_json::json;
use solana_pubkey::Pubkey;
use uuid::Uuid;

/// A later version of a listing, with a document that is not known.
async fn change_document(pool: &PgPool, mut listing: AgentListed) -> AgentListed {
    listing.revision += 1;
    listing.metadata_hash = ResultHash::of(b"another document").0;
    put(pool, &addresses().agent(&listing.creator, listing.index), 20, &listing).await;
    listing
}

async fn set_slot(pool: &PgPool, slot: u64) {
    mirror::apply_changes(pool, &mirror::Batch::default(), slot).await.expect("applied");
}

/// The names in the list of the caller's executions, one for each of `agents`.
async fn shown_names(market: &Market, caller: Pubkey, agents: &[Pubkey]) -> Vec<String> {
    for (number, agent) in agents.iter().enumerate() {
        let id = Uuid::from_u128(number as u128);
        let mut record = record(caller, *agent, id);
        record.record.opened_at_unix_s = NOON - number as i64;
        put(market.database.pool(), &addresses().execution(&caller, id.as_bytes()), 5, &record).await;
    }
    let answer = market.get_as(&market.key_of(caller).await, "/v1/executions").await;
    let names = answer.each("executions", "agent_name").into_iter().map(str::to_owned).collect();
    assert_eq!(answer.body["total"], json!(agents.len()));
    names
}

#[tokio::test]
async fn listed_hidden_and_unknown_agents_have_the_names_that_the_database_has_for_them() {
    let market = Market::open().await;
    let pool = market.database.pool();
    let listed = show(pool, listing(wallet(1), 0), "listed", &["data"]).await;
    let mut paused = listing(wallet(1), 1);
    paused.status = AgentStatus::Paused as u8;
    let paused = show(pool, paused, "paused", &["data"]).await;
    let changed = show(pool, listing(wallet(1), 2), "before the change", &["data"]).await;
    change_document(pool, listing(wallet(1), 2)).await;
    let unknown = wallet(99);
    let agents = [listed, paused, unknown, changed, listed, unknown];
    let expected = ["listed", "paused", &unknown.to_string(), "before the change", "listed", &unknown.to_string()];
    // Before the list of agents is in memory, and with it.
    set_slot(pool, 40).await;
    assert!(market.state.agent_list().names(&agents).is_none_or(|(_, slot)| slot == 40));
    assert_eq!(shown_names(&market, wallet(2), &agents).await, expected);
    market.state.agent_list().refresh().await.expect("read");
    let (from_memory, slot) = market.state.agent_list().names(&agents).expect("a table of this moment");
    assert_eq!((from_memory[0].as_deref(), from_memory[1].as_deref(), slot), (Some("listed"), None, 40));
    assert_eq!(shown_names(&market, wallet(3), &agents).await, expected);
    let from_database = reads::agent_names(pool, &agents).await.expect("read");
    for (agent, name) in agents.iter().zip(expected) {
        assert_eq!(from_database.get(agent).map_or(agent.to_string(), String::clone), name);
    }
}

#[tokio::test]
async fn names_in_memory_follow_the_listings_and_say_how_old_they_are() {
    let market = Market::open().await;
    let pool = market.database.pool();
    let list = AgentList::new(pool.clone());
    let first = listing(wallet(1), 0);
    let agent = show(pool, first, "first", &["data"]).await;
    set_slot(pool, 40).await;
    assert_eq!(list.names(&[agent]), None, "nothing was read");
    list.refresh().await.expect("read");
    assert_eq!(list.names(&[agent, wallet(99)]), Some((vec![Some("first".to_owned()), None], 40)));
    // What is written later is not shown, and the slot says so.
    let mut second = first;
    second.revision += 1;
    show(pool, second, "second", &["data"]).await;
    set_slot(pool, 50).await;
    assert_eq!(list.names(&[agent]), Some((vec![Some("first".to_owned())], 40)));
    list.refresh().await.expect("read");
    assert_eq!(list.names(&[agent]), Some((vec![Some("second".to_owned())], 50)));
    // An agent that lists do not show has no name in memory.
    second.revision += 1;
    change_document(pool, second).await;
    set_slot(pool, 60).await;
    list.refresh().await.expect("read");
    assert_eq!(list.names(&[agent]), Some((vec![None], 60)));
}

#[tokio::test]
async fn a_list_of_executions_has_the_slot_of_the_names_if_that_is_the_older_one() {
    let market = Market::open().await;
    let pool = market.database.pool();
    let agent = show(pool, listing(wallet(1), 0), "name", &["data"]).await;
    let mut newest = listing(wallet(1), 0);
    for slot in 41_u64..=46 {
        newest.revision += 1;
        let name = format!("name {slot}");
        show(pool, newest, &name, &["data"]).await;
        set_slot(pool, slot).await;
        let key = market.key_of(wallet(2)).await;
        if slot == 41 {
            assert_eq!(shown_names(&market, wallet(2), &[agent]).await, [name.as_str()]);
        }
        // Without a look at the list of agents in between.
        loop {
            let answer = market.send_at_once(crate::common::get_as(&key, "/v1/executions")).await;
            let shown = answer.headers.get("x-indexed-slot").and_then(|slot| slot.to_str().ok()?.parse::<u64>().ok());
            if shown.is_some_and(|shown| shown >= slot) {
                assert_eq!(answer.each("executions", "agent_name"), [name.as_str()], "at slot {slot}");
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

#[tokio::test]
async fn names_of_a_list_that_stands_still_are_not_used() {
    let market = Market::open().await;
    let pool = market.database.pool();
    let list = AgentList::new(pool.clone());
    let agent = show(pool, listing(wallet(1), 0), "first", &["data"]).await;
    set_slot(pool, 40).await;
    list.refresh().await.expect("read");
    assert!(list.names(&[agent]).is_some());
    tokio::time::sleep(Duration::from_millis(2_100)).await;
    assert_eq!(list.names(&[agent]), None);
}
