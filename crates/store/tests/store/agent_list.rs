//! What the list of agents reads of a large mirror.

use std::time::Duration;

use crtx_store::{
    PgPool, mirror,
    reads::agent_list::{AgentListSnapshot, AgentSummary},
    testing::{TestDatabase, fixtures::*, probes, volume},
};

/// Rows of a table that this session has read and not reported yet: those of its earlier transactions may be among them.
async fn read_of(look: &mut AgentListSnapshot, table: &str) -> i64 {
    let read = "SELECT COALESCE(seq_tup_read, 0) + COALESCE(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables WHERE relname = $1";
    sqlx::query_scalar(read).bind(table).fetch_one(look.connection()).await.unwrap()
}

/// A look that began when every transaction that wrote these agents was older than all that still run on the server:
/// transactions of other tests make a look read more.
async fn look_after_all_others(pool: &PgPool) -> String {
    loop {
        let look = AgentListSnapshot::begin(pool).await.unwrap();
        let seen = look.head.seen.clone();
        look.end().await.unwrap();
        let is_behind = "SELECT bool_and(changed_in < split_part($1, ':', 1)::xid8) FROM mirror_agent_changes";
        if sqlx::query_scalar::<_, bool>(is_behind).bind(&seen).fetch_one(pool).await.unwrap() {
            return seen;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The agents that changed, as lists show them.
async fn changed(look: &mut AgentListSnapshot, seen: &str) -> Vec<AgentSummary> {
    let changed = look.changed(Some(seen)).await.unwrap();
    look.listed(&changed).await.unwrap()
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

    let mut look = AgentListSnapshot::begin(pool).await.unwrap();
    let agents = look.changed(None).await.unwrap();
    assert_eq!(agents.len(), 20_000);
    look.end().await.unwrap();
    probes::count_later(pool, &agents[1], 9_000).await.commit().await.unwrap();
    let mut look = AgentListSnapshot::begin(pool).await.unwrap();
    let before = read_of(&mut look, "mirror_agents").await;
    let changed = changed(&mut look, &seen).await;
    assert_eq!(changed.len(), 1);
    assert_eq!((changed[0].address, changed[0].creator.verified), (agents[1], true));
    assert_eq!(changed[0].total_executions, 9_000);
    let read = read_of(&mut look, "mirror_agents").await - before;
    assert!((1..20).contains(&read), "{read} of 20 000 rows were read for one change");
    look.end().await.unwrap();
}

#[tokio::test]
async fn a_change_that_lists_do_not_show_is_none() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let agent = show(pool, listing(wallet(1), 0), "agent", &["data"]).await;
    let first = AgentListSnapshot::begin(pool).await.unwrap();
    let seen = first.head.seen.clone();
    first.end().await.unwrap();
    let mut later = listing(wallet(1), 0);
    (later.revision, later.open_amount, later.open_executions) = (2, 50_000, 1);
    later.metadata_hash = crtx_protocol::result_hash::ResultHash::of(&document("agent", &["data"])).0;
    put(pool, &agent, 11, &later).await;
    let mut look = AgentListSnapshot::begin(pool).await.unwrap();
    assert!(look.changed(Some(&seen)).await.unwrap().is_empty());
    look.end().await.unwrap();
    (later.revision, later.price) = (3, 77_000);
    put(pool, &agent, 12, &later).await;
    let mut look = AgentListSnapshot::begin(pool).await.unwrap();
    assert_eq!(changed(&mut look, &seen).await[0].price_per_call_usdc.0, 77_000);
}

#[tokio::test]
async fn an_agent_that_is_gone_or_whose_creator_changed_is_among_the_changed_ones() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let mut agents = Vec::new();
    for number in 1..=4 {
        agents.push(show(pool, listing(wallet(number), 0), "agent", &["data"]).await);
    }
    let seen = async || {
        let look = AgentListSnapshot::begin(pool).await.unwrap();
        look.head.seen.clone()
    };
    let first = seen().await;
    put(pool, &wallet(101), 1, &profile(wallet(1), "Ada", true)).await;
    probes::delete_agent(pool, &agents[1]).await;
    let mut look = AgentListSnapshot::begin(pool).await.unwrap();
    let mut changed = look.changed(Some(&first)).await.unwrap();
    changed.sort_by_key(|agent| agents.iter().position(|it| it == agent));
    assert_eq!(changed, agents[..2]);
    let listed = look.listed(&changed).await.unwrap();
    assert_eq!(listed.iter().map(|row| (row.address, row.creator.verified)).collect::<Vec<_>>(), [(agents[0], true)]);
    look.end().await.unwrap();

    let second = seen().await;
    mirror::clear(pool).await.unwrap();
    let mut look = AgentListSnapshot::begin(pool).await.unwrap();
    let mut changed = look.changed(Some(&second)).await.unwrap();
    changed.sort_by_key(|agent| agents.iter().position(|it| it == agent));
    assert_eq!(changed, [agents[0], agents[2], agents[3]]);
    assert!(look.listed(&changed).await.unwrap().is_empty());
}
