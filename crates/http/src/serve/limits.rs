//! What one server accepts of its clients, in number, size and time.

use std::time::Duration;

use crate::allowance::Rate;

/// Limits of [`super::serve`]. The defaults suit a public service on a small machine; `SECURITY.md` lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServeLimits {
    /// Connections at a time. Lowered at start to what the process may open files for.
    pub max_connections: usize,
    /// Connections at a time of one address (of one /64 network with IPv6). A connection of a trusted proxy counts for
    /// the client of its request.
    pub max_connections_per_peer: usize,
    /// Connections beyond `max_connections` that are answered with 503, health checks excepted.
    pub reserve: usize,
    /// From accepting a connection to its first byte.
    pub first_byte: Duration,
    /// From the first byte of a request to the end of its header fields.
    pub head: Duration,
    /// Between an answer and the next request on the same connection.
    pub keep_alive: Duration,
    /// How long a body may bring less than [`BODY_BYTES_PER_SECOND`] on average.
    pub body_stall: Duration,
    /// For a whole body.
    pub body: Duration,
    /// Without the client reading a byte of an answer.
    pub answer_stall: Duration,
    /// For a whole answer, plus a second for each [`ANSWER_BYTES_PER_SECOND`] that the client has read. Not for streams of
    /// events.
    pub answer: Duration,
    /// Bytes of request bodies in memory at a time while they arrive, over all connections: of those that are longer
    /// than [`crate::body::SMALL_BODY_BYTES`].
    pub max_bodies: usize,
    /// The same of shorter ones.
    pub max_small_bodies: usize,
    /// Answers 401, 413 and 429 to one client without a wait. Further ones wait for their turn, at most
    /// [`LONGEST_REFUSAL_WAIT`].
    pub refusals: Rate,
    /// How long a stop waits for requests under way.
    pub drain: Duration,
}

/// Files that are not connections of clients: the database, outbound requests, logs.
const OTHER_FILES: u64 = 64;
/// Longest request target; beyond it 414.
pub const MAX_TARGET: usize = 8 * 1024;
/// Request line and header fields together; beyond it 431.
pub const MAX_HEAD: usize = 32 * 1024;
/// Header fields of one request; beyond it 431.
pub const MAX_HEADER_FIELDS: usize = 100;
/// An answer that the client reads more slowly than this is aborted, after [`ServeLimits::answer`].
pub const ANSWER_BYTES_PER_SECOND: u64 = 2_048;
/// A body that arrives more slowly than this is aborted, after [`ServeLimits::body_stall`].
pub const BODY_BYTES_PER_SECOND: u64 = 8_192;
/// Longest wait for an answer 401, 413 or 429.
pub const LONGEST_REFUSAL_WAIT: Duration = Duration::from_secs(2);

impl Default for ServeLimits {
    fn default() -> Self {
        Self {
            max_connections: 2_048,
            max_connections_per_peer: 768,
            reserve: 64,
            first_byte: Duration::from_secs(10),
            head: Duration::from_secs(10),
            keep_alive: Duration::from_secs(60),
            body_stall: Duration::from_secs(5),
            body: Duration::from_secs(60),
            answer_stall: Duration::from_secs(15),
            answer: Duration::from_secs(30),
            max_bodies: 64 * 1024 * 1024,
            max_small_bodies: 16 * 1024 * 1024,
            refusals: Rate { policy: "refusals-per-address", burst: 50, quota: 10, window: Duration::from_secs(1) },
            drain: Duration::from_secs(5),
        }
    }
}

impl ServeLimits {
    /// A served connection may need a second file: the creator's, the node's, the database's.
    #[must_use]
    pub fn within_open_files(mut self) -> Self {
        let Ok((files, _)) = nix::sys::resource::getrlimit(nix::sys::resource::Resource::RLIMIT_NOFILE) else {
            return self;
        };
        let fits = files.saturating_sub(OTHER_FILES).checked_div(2).unwrap_or_default().max(8);
        let fits = usize::try_from(fits).unwrap_or(usize::MAX);
        if fits < self.max_connections.saturating_add(self.reserve) {
            self.reserve = self.reserve.min(fits.checked_div(8).unwrap_or_default());
            self.max_connections = fits.saturating_sub(self.reserve);
            self.max_connections_per_peer = self.max_connections_per_peer.min(self.max_connections);
            tracing::warn!(
                files,
                connections = self.max_connections,
                "the limit of open files lowers that of connections"
            );
        }
        self
    }
}
