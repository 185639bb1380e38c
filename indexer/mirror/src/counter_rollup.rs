//! Adds what was noted about lists and agents to their counters, again and again.
//!
//! Every indexer process runs this; the database lets one of them work at a time. Lists are exact without it, because
//! readers add the notes that are left; they only become slower.

use std::time::Duration;

use crtx_store::{PgPool, execution_list};
use tokio::time::sleep;

/// Between two rounds that found little to do. Notes of the same counter are added together, so fewer rounds cost less;
/// and a reader adds the notes that wait, so they must not be many.
const INTERVAL: Duration = Duration::from_secs(1);
/// After a round that failed.
const PAUSE: Duration = Duration::from_secs(2);

/// Adds notes as long as it is polled.
pub async fn run(pool: PgPool) {
    loop {
        match execution_list::roll_up(&pool).await {
            Ok(notes) if notes >= execution_list::NOTES_PER_ROUND.unsigned_abs().into() => {}
            Ok(_) => sleep(INTERVAL).await,
            Err(error) => {
                tracing::warn!(cause = %error, "notes of lists could not be added to their counters");
                sleep(PAUSE).await;
            }
        }
    }
}
