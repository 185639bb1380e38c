//! A market of any size for benchmarks, the same in every run: agents with documents, callers with few and very many
//! executions, and what the lists over it must count.

mod agents;
mod copy;
mod counts;
mod executions;
mod random;
mod size;

use sqlx::PgPool;
use uuid::Uuid;

use super::fixtures;
use crate::api_keys::{self, NewApiKey};

pub use counts::{AgentCount, ExecutionCount, execution_ids};
pub use random::Random;
pub use size::{COMMON_TAG, DAYS, RARE_TAG, RARE_WORD, Size};

/// Where the mirror stands.
const SLOT: u64 = 1_000;

/// Whether nobody has written a market into the database yet.
///
/// # Panics
/// When the database refuses.
pub async fn is_empty(pool: &PgPool) -> bool {
    let empty = "SELECT NOT EXISTS (SELECT FROM mirror_agents)";
    sqlx::query_scalar(empty).fetch_one(pool).await.expect("the tables are read")
}

/// The process that serves one of the pool's connections.
///
/// # Panics
/// When the database refuses.
pub async fn backend_pid(pool: &PgPool) -> u32 {
    let pid: i32 = sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(pool).await.expect("the database answers");
    pid.unsigned_abs()
}

/// Writes the whole market into an empty database, with an API key for each of the three large callers.
///
/// # Panics
/// When the database refuses.
pub async fn fill(pool: &PgPool, size: &Size, say: &(dyn Fn(&str) + Send + Sync)) {
    say(&format!("{} agents", size.agents));
    agents::write_creators(pool, size).await;
    agents::write_agents(pool, size).await;
    say(&format!("{} executions", size.executions));
    executions::write_executions(pool, size).await;
    add_up(pool, size).await;
    for caller in 0..3 {
        let key = size.key_of(caller);
        let row = NewApiKey {
            session_public_key: key.session_public_key().into(),
            wallet: size.caller(caller),
            grant: size.caller(caller),
            name: "bench",
            last_four: "abcd",
        };
        api_keys::register(pool, &row).await.expect("the key is stored");
    }
    say("statistics");
    sqlx::query("VACUUM (ANALYZE)").execute(pool).await.expect("the tables are analysed");
    stay_live(pool).await;
}

/// Adds one completed execution to each of some agents.
///
/// # Panics
/// When the database refuses.
pub async fn complete_one_of_each(pool: &PgPool, agents: &[String]) {
    let statement = "UPDATE mirror_agents SET revision = revision + 1, total_executions = total_executions + 1,
             successful_executions = successful_executions + 1, completed_executions = completed_executions + 1
         WHERE address = ANY ($1)";
    sqlx::query(statement).bind(agents).execute(pool).await.expect("agents change");
}

/// Adds what the triggers noted to the totals, as the indexer does.
async fn add_up(pool: &PgPool, size: &Size) {
    // Those that the transaction of each batch adds.
    let last = fixtures::record(size.caller(3), size.agent(0), Uuid::from_u128(7));
    fixtures::put(pool, &size.caller(u32::MAX), SLOT, &last).await;
    // Those that a task of its own adds.
    crate::testing::roll_up_all(pool).await.expect("notes are rolled up");
}

/// Shows a mirror that an indexer keeps. To be repeated every few seconds: readers doubt an old sign of life.
///
/// # Panics
/// When the database refuses.
pub async fn stay_live(pool: &PgPool) {
    let statements = [
        "INSERT INTO mirror_checkpoint (slot, genesis_hash, snapshot_at) VALUES ($1, 'bench', now())
         ON CONFLICT (only_row) DO UPDATE SET snapshot_at = now(), updated_at = now()",
        "INSERT INTO indexer_processes (id, leads, source, streaming, chain_slot, last_change_at, led_at)
         VALUES ('00000000-0000-0000-0000-000000000001', true, 'bench', true, $1, now(), now())
         ON CONFLICT (id) DO UPDATE SET at = now(), last_change_at = now(), led_at = now()",
    ];
    for statement in statements {
        sqlx::query(statement).bind(SLOT as i64).execute(pool).await.expect("a sign of life");
    }
}
