//! Deletes sessions that are over, and challenges that no clock accepts any more.

use crtx_store::sessions;

use crate::engine::Engine;

/// Rows of each kind that are deleted at once: more sign-ins than that within a minute do not happen for long.
const MOST: i64 = 10_000;

pub(crate) async fn purge(engine: &Engine) {
    match sessions::purge(engine.executions.pool(), MOST).await {
        Ok(0) => {}
        Ok(rows) => tracing::debug!(rows, "sessions and challenges that are over were deleted"),
        Err(error) => tracing::warn!(%error, "sessions that are over could not be deleted"),
    }
}
