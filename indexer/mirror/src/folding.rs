//! Adds what was noted about lists and agents to their counters, again and again.
//!
//! Every indexer process runs this; the database lets one of them work at a time. Lists are exact without it, because
//! readers add the notes that are left; they only become slower.

use std::time::Duration;

use crtx_store::{PgPool, execution_list};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// Between two rounds that found little to do. Notes of the same counter are added together, so fewer rounds cost less;
/// and a reader adds the notes that wait, so they must not be many.
const INTERVAL: Duration = Duration::from_secs(1);
/// After a round that failed.
const PAUSE: Duration = Duration::from_secs(2);

/// Folds until shut down.
pub async fn run(pool: PgPool, shutdown: CancellationToken) {
    let rounds = async {
        loop {
            sleep(round(&pool).await).await;
        }
    };
    shutdown.run_until_cancelled(rounds).await;
}

/// One round. Returns how long to wait for the next one.
async fn round(pool: &PgPool) -> Duration {
    match execution_list::fold(pool).await {
        Ok(notes) if notes >= execution_list::NOTES_PER_ROUND.unsigned_abs().into() => Duration::ZERO,
        Ok(_) => INTERVAL,
        Err(error) => {
            tracing::warn!(cause = %error, "counters of lists could not be folded");
            PAUSE
        }
    }
}
