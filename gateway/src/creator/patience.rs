//! Waits that do not count the time in which this process did not run: an answer that arrived while the process was
//! stopped arrived in time.

use std::{
    pin::pin,
    time::{Duration, Instant},
};

use tokio::time::timeout;

/// A wait consists of pieces of this length.
const PIECE: Duration = Duration::from_millis(500);
/// If a piece ends this much late, the process or its machine was stopped, and the piece does not count.
const STOPPED: Duration = Duration::from_millis(300);
/// Time to read data that has arrived in a socket but was not read yet.
const LAST_READ: Duration = Duration::from_millis(50);

/// Waits for `work` for at most `patience`. Only time in which this process runs counts.
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
    timeout(LAST_READ, work).await.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ends when it was polled `polls` times, at least one tick of the runtime apart.
    async fn after_polls(polls: u32) -> u32 {
        for _ in 0..polls {
            tokio::task::yield_now().await;
        }
        polls
    }

    #[tokio::test]
    async fn the_time_in_which_the_process_is_stopped_does_not_count() {
        let waited = within(Duration::from_secs(1), async {
            // The process is stopped for longer than its patience, and reading the answer takes a moment.
            std::thread::sleep(Duration::from_millis(1_500));
            after_polls(20).await
        });
        assert_eq!(waited.await, Some(20));
    }

    #[tokio::test]
    async fn data_that_arrived_in_a_socket_before_the_end_is_read() {
        let waited = within(Duration::from_millis(200), async {
            std::thread::sleep(Duration::from_millis(300));
            after_polls(20).await
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
