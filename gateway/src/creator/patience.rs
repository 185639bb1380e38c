//! Waiting that does not count the time during which this process could not work: an answer that came while the
//! process was stopped came in time.

use std::{
    pin::pin,
    time::{Duration, Instant},
};

use tokio::time::timeout;

/// The wait is made of pieces of this length.
const PIECE: Duration = Duration::from_millis(500);
/// A piece that ends so much too late was not waited for: the process was stopped, or its machine was.
const STOPPED: Duration = Duration::from_millis(300);
/// What has arrived by then may lie in a socket that nobody has read yet.
const LAST_LOOK: Duration = Duration::from_millis(50);

/// Waits for `work` for at most `patience` of the time in which this process runs.
pub async fn within<T>(patience: Duration, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    let mut left = patience;
    while !left.is_zero() {
        let (piece, began) = (left.min(PIECE), Instant::now());
        if let Ok(value) = timeout(piece, &mut work).await {
            return Some(value);
        }
        let took = began.elapsed();
        let was_stopped = took > piece.saturating_add(STOPPED);
        left = left.saturating_sub(if was_stopped { piece } else { took });
    }
    timeout(LAST_LOOK, work).await.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ends after `looks` looks at it, each at least a tick of the runtime after the one before.
    async fn after_looks(looks: u32) -> u32 {
        for _ in 0..looks {
            tokio::task::yield_now().await;
        }
        looks
    }

    #[tokio::test]
    async fn the_time_in_which_the_process_is_stopped_does_not_count() {
        let waited = within(Duration::from_secs(1), async {
            // Nothing of this process runs for longer than its patience, and the answer takes a moment to be read.
            std::thread::sleep(Duration::from_millis(1_500));
            after_looks(20).await
        });
        assert_eq!(waited.await, Some(20));
    }

    #[tokio::test]
    async fn what_lies_in_a_socket_at_the_last_moment_is_read() {
        let waited = within(Duration::from_millis(200), async {
            std::thread::sleep(Duration::from_millis(300));
            after_looks(20).await
        });
        assert_eq!(waited.await, Some(20));
    }

    #[tokio::test]
    async fn patience_ends() {
        let began = Instant::now();
        assert_eq!(within(Duration::from_millis(700), std::future::pending::<()>()).await, None);
        assert!(began.elapsed() >= Duration::from_millis(700));
    }
}
