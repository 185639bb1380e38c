//! Results that the content store could not write when they were delivered.

use crate::engine::Engine;

/// Results written to the content store in one batch.
const AT_ONCE: u32 = 16;

/// Copies results that only the database has to the content store.
pub(crate) async fn write(engine: &Engine) {
    let missing = match engine.executions.without_content(AT_ONCE).await {
        Ok(missing) => missing,
        Err(error) => {
            tracing::debug!(%error, "the results that the content store lacks could not be read");
            return;
        }
    };
    for (record, result) in missing {
        if !engine.content.try_put(result).await {
            return;
        }
        if let Err(error) = engine.executions.content_stored(&record).await {
            tracing::debug!(%record, %error, "the content is stored, but its row could not be updated");
        }
    }
}
