//! Results that the content store could not take when they came.

use crate::engine::Engine;

/// Results written to the content store in one go.
const AT_ONCE: u32 = 16;

/// Writes results that only the database has to the content store.
pub(crate) async fn write(engine: &Engine) {
    let missing = match engine.executions.without_content(AT_ONCE).await {
        Ok(missing) => missing,
        Err(error) => {
            tracing::debug!(%error, "results without content could not be looked for");
            return;
        }
    };
    for (record, result) in missing {
        if !engine.content.try_put(result).await {
            return;
        }
        if let Err(error) = engine.executions.content_stored(&record).await {
            tracing::debug!(%record, %error, "the content is stored once more");
        }
    }
}
