//! What every indexer process repeats in rounds: it adds what was noted about lists and agents to their counters,
//! numbers the events of the log, and deletes old ones. The database lets one process at a time add notes, and one
//! number events, so another one goes on at once when a process ends.
//!
//! Lists are exact although notes are left, because readers add them; they only become slower.

use std::time::Duration;

use chrono::TimeDelta;
use crtx_store::{PgPool, StoreError, events, execution_list};
use tokio::time::sleep;

/// Between two rounds that found few notes. Notes of the same counter are added together, so fewer rounds cost less; and
/// a reader adds the notes that wait, so they must not be many.
const ROLL_UP_EVERY: Duration = Duration::from_secs(1);
/// Between two looks for events without a number. Receivers wait half of it on average; each look is one short query.
const NUMBER_EVERY: Duration = Duration::from_millis(150);
const DROP_EVERY: Duration = Duration::from_secs(60);
/// After a round that failed. Old events are looked for as rarely as after a round that did not fail.
const ROLL_UP_PAUSE: Duration = Duration::from_secs(2);
const NUMBER_PAUSE: Duration = Duration::from_secs(1);

/// Works as long as it is polled. `kept`: the age at which an event is deleted.
pub async fn run(pool: PgPool, kept: TimeDelta) {
    let pool = &pool;
    let roll_up = || async move {
        let notes = execution_list::roll_up(pool).await?;
        Ok(notes >= execution_list::NOTES_PER_ROUND.unsigned_abs().into())
    };
    let number = || async move {
        let numbered = events::number(pool).await?;
        Ok(numbered >= events::PER_ROUND.unsigned_abs().into())
    };
    let drop_old = || async move {
        let dropped = events::drop_old(pool, kept).await?;
        if dropped > 0 {
            tracing::info!(events = dropped, "old events were deleted");
        }
        Ok(dropped > 0)
    };
    tokio::join!(
        repeat("notes of lists could not be added to their counters", ROLL_UP_EVERY, ROLL_UP_PAUSE, roll_up),
        repeat("events could not be numbered; receivers wait", NUMBER_EVERY, NUMBER_PAUSE, number),
        repeat("old events could not be deleted", DROP_EVERY, DROP_EVERY, drop_old),
    );
}

/// A round that returns true left something to do, so the next one begins at once. `every`: the pause after one that
/// returns false. `pause`: after one that failed, which the log tells in the words of `failed`.
async fn repeat<F: Future<Output = Result<bool, StoreError>>>(
    failed: &str,
    every: Duration,
    pause: Duration,
    round: impl Fn() -> F,
) {
    loop {
        match round().await {
            Ok(true) => {}
            Ok(false) => sleep(every).await,
            Err(error) => {
                tracing::warn!(cause = %error, "{failed}");
                sleep(pause).await;
            }
        }
    }
}
