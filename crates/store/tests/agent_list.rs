//! What the list of agents reads of a large mirror.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "tests"
)]

use std::time::Duration;

use crtx_store::{
    PgPool,
    reads::agent_list::{self, Look},
    testing::{TestDatabase, fixtures::*, probes, volume},
};

/// Rows of a table that this session has read and not reported yet: those of its earlier transactions may be among them.
async fn read_of(look: &mut Look, table: &str) -> i64 {
    let read = "SELECT COALESCE(seq_tup_read, 0) + COALESCE(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables WHERE relname = $1";
    sqlx::query_scalar(read).bind(table).fetch_one(&mut **look).await.unwrap()
}

/// A look that began when every transaction that wrote these agents was older than all that still run on the server:
/// transactions of other tests make a look read more.
async fn look_after_all_others(pool: &PgPool) -> String {
    loop {
        let look = Look::begin(pool).await.unwrap();
        let seen = look.head.seen.clone();
        look.end().await.unwrap();
        let is_behind = "SELECT bool_and(changed_in < split_part($1, ':', 1)::xid8) FROM mirror_agent_changes";
        if sqlx::query_scalar::<_, bool>(is_behind).bind(&seen).fetch_one(pool).await.unwrap() {
            return seen;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_look_reads_what_changed_and_not_the_rest() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    volume::agents(pool, &wallet(1), 20_000).await;
    put(pool, &wallet(101), 1, &profile(wallet(1), "Ada", true)).await;
    // As autovacuum does soon after a load: until then the plan reads the table.
    sqlx::query("ANALYZE mirror_agents, mirror_agent_changes").execute(pool).await.unwrap();
    let seen = look_after_all_others(pool).await;

    let agents = agent_list::all(pool, None, 2).await.unwrap();
    probes::count_later(pool, &agents[1].address, 9_000).await.commit().await.unwrap();
    let mut look = Look::begin(pool).await.unwrap();
    let before = read_of(&mut look, "mirror_agents").await;
    let changed = agent_list::changed(&mut *look, &seen, None, 100).await.unwrap();
    assert_eq!(changed.len(), 1);
    assert_eq!(changed[0].address, agents[1].address);
    assert_eq!(changed[0].listed.as_ref().unwrap().total_executions, 9_000);
    assert!(agent_list::changed_creators(&mut *look, &seen, None, 100).await.unwrap().is_empty());
    assert!(agent_list::removed(&mut *look, &seen, 100).await.unwrap().is_empty());
    let read = read_of(&mut look, "mirror_agents").await - before;
    assert!((1..20).contains(&read), "{read} of 20 000 rows were read for one change");
    look.end().await.unwrap();
}

#[tokio::test]
async fn a_change_that_lists_do_not_show_is_none() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let agent = show(pool, listing(wallet(1), 0), "agent", &["data"]).await;
    let first = Look::begin(pool).await.unwrap();
    let seen = first.head.seen.clone();
    first.end().await.unwrap();
    let mut later = listing(wallet(1), 0);
    (later.revision, later.open_amount, later.open_executions) = (2, 50_000, 1);
    later.metadata_hash = crtx_protocol::result_hash::ResultHash::of(&document("agent", &["data"])).0;
    put(pool, &agent, 11, &later).await;
    assert!(agent_list::changed(pool, &seen, None, 10).await.unwrap().is_empty());
    (later.revision, later.price) = (3, 77_000);
    put(pool, &agent, 12, &later).await;
    let changed = agent_list::changed(pool, &seen, None, 10).await.unwrap();
    assert_eq!(changed[0].listed.as_ref().unwrap().price, 77_000);
}
