//! What one test may cost at most.

use std::time::Duration;

/// Requests of one test.
pub const MAX_REQUESTS: u32 = 11;
/// Requests at the same time.
pub const PARALLEL_REQUESTS: u32 = 4;
/// Longest test, whatever the listing's time-out is.
pub const MAX_DURATION: Duration = Duration::from_secs(300);
/// Longest text that an entry of the report quotes, in characters.
pub const MAX_QUOTE_CHARS: usize = 300;
/// Bytes that an entry of the report shows in hexadecimal form.
pub const MAX_HEX_BYTES: usize = 64;
/// Memory of a result that is read as JSON, about.
pub(crate) const MAX_RESULT_MEMORY: usize = 32 * 1024 * 1024;

/// How long a test of an endpoint with this time-out takes at most. Most requests are sent one after the other.
pub fn duration(timeout_seconds: u32) -> Duration {
    let each = Duration::from_secs(u64::from(timeout_seconds));
    each.saturating_mul(8).saturating_add(Duration::from_secs(10)).min(MAX_DURATION)
}
