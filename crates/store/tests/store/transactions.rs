//! No cancelled caller leaves a connection of the pool inside an open transaction.

use std::{future::poll_fn, pin::pin, time::Duration};

use crtx_store::{PgPool, testing::TestDatabase, transaction};

/// Polls a future once and drops it: what happens to a future in `select!` or under a time-out.
async fn cancelled(future: impl Future) {
    let mut future = pin!(future);
    poll_fn(|context| {
        let _ = future.as_mut().poll(context);
        std::task::Poll::Ready(())
    })
    .await;
}

/// Connections of this database that the server sees inside a transaction.
async fn in_transaction(pool: &PgPool) -> i64 {
    sqlx::query_scalar(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'",
    )
    .fetch_one(pool)
    .await
    .unwrap()
}

async fn write(pool: &PgPool) {
    sqlx::query("INSERT INTO gateway_processes (id) VALUES (gen_random_uuid())").execute(pool).await.unwrap();
}

/// Rows that somebody else can see.
async fn committed(pool: &PgPool) -> i64 {
    let other = PgPool::connect_with((*pool.connect_options()).clone()).await.unwrap();
    sqlx::query_scalar("SELECT count(*) FROM gateway_processes").fetch_one(&other).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_after_a_cancelled_begin_is_committed() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    for round in 0..40 {
        if round % 2 == 0 {
            cancelled(transaction::begin(pool)).await;
        } else {
            cancelled(transaction::begin_relaxed(pool)).await;
        }
        if round % 3 == 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        write(pool).await;
    }
    assert_eq!(committed(pool).await, 40);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(in_transaction(pool).await, 0);
}
