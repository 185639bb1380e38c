//! Numbers the events of the log, and deletes old ones. Every indexer process runs this; the database lets one of them
//! number at a time, so another one goes on at once when a process ends.

use std::time::Duration;

use chrono::TimeDelta;
use crtx_store::{PgPool, events};
use tokio::time::sleep;

/// Between two looks. Receivers wait half of it on average; each look is one short query.
const INTERVAL: Duration = Duration::from_millis(150);
/// After a round that failed.
const PAUSE: Duration = Duration::from_secs(1);
const DROP_EVERY: Duration = Duration::from_secs(60);

/// Works as long as it is polled. `kept`: the age at which an event is deleted.
pub async fn run(pool: PgPool, kept: TimeDelta) {
    tokio::join!(number(&pool), drop_old(&pool, kept));
}

async fn number(pool: &PgPool) {
    loop {
        match events::number(pool).await {
            Ok(numbered) if numbered >= events::PER_ROUND.unsigned_abs().into() => {}
            Ok(_) => sleep(INTERVAL).await,
            Err(error) => {
                tracing::warn!(cause = %error, "events could not be numbered; receivers wait");
                sleep(PAUSE).await;
            }
        }
    }
}

async fn drop_old(pool: &PgPool, kept: TimeDelta) {
    loop {
        match events::drop_old(pool, kept).await {
            Ok(0) => sleep(DROP_EVERY).await,
            Ok(dropped) => tracing::info!(events = dropped, "old events were deleted"),
            Err(error) => {
                tracing::warn!(cause = %error, "old events could not be deleted");
                sleep(DROP_EVERY).await;
            }
        }
    }
}
