//! Which connections there are, how many each address has, and which one makes room for another.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::limits::ServeLimits;

/// What a connection waits for. The lower ones are given up first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Waits {
    /// For a request: nothing of it has come.
    Request,
    /// For the rest of the header fields.
    Head,
    /// For the rest of a body.
    Body,
    /// For the client to take the answer.
    Reader,
}

/// How long a client in the middle of a request or an answer is protected from making room.
const GRACE: Duration = Duration::from_secs(2);

/// State that the parts of one connection share.
#[derive(Debug)]
pub struct ConnectionState {
    /// Beyond the limit: only health checks are answered.
    pub restricted: bool,
    /// The connection must make room for another.
    pub evicted: CancellationToken,
    /// What it waits for and since when. `None`: the client waits for us.
    waits: Mutex<Option<(Waits, Instant)>>,
    answered: AtomicBool,
    /// Whether the answer is a stream of events, which may go on as long as its client reads.
    pub streams: AtomicBool,
}

impl ConnectionState {
    fn new(restricted: bool, evicted: CancellationToken) -> Self {
        Self {
            restricted,
            evicted,
            waits: Mutex::new(Some((Waits::Request, Instant::now()))),
            answered: AtomicBool::new(false),
            streams: AtomicBool::new(false),
        }
    }

    /// Notes what the connection waits for from now on; saying the same again changes nothing.
    pub fn waits_for(&self, what: Waits) {
        let mut waits = self.waits.lock();
        if waits.is_none_or(|(noted, _)| noted != what) {
            *waits = Some((what, Instant::now()));
        }
    }

    /// The client waits for us.
    pub fn is_at_work(&self) {
        *self.waits.lock() = None;
    }

    /// A request has been passed on.
    pub fn begins(&self) {
        self.answered.store(false, Ordering::Release);
        self.streams.store(false, Ordering::Release);
        self.is_at_work();
    }

    /// Hyper has all bytes of the answer.
    pub fn is_answered(&self) -> bool {
        self.answered.load(Ordering::Acquire)
    }

    pub fn set_answered(&self) {
        self.answered.store(true, Ordering::Release);
    }
}

/// All connections of one server.
#[derive(Debug)]
pub struct ConnectionRegistry {
    limits: ServeLimits,
    all: Mutex<ConnectionTable>,
    /// Every connection ends.
    pub kill: CancellationToken,
}

#[derive(Debug, Default)]
struct ConnectionTable {
    next: u64,
    by_number: HashMap<u64, Connection>,
}

#[derive(Debug)]
struct Connection {
    /// The network of the client that it counts for: of the present request, or of the last one. `None`: a trusted proxy
    /// that has sent none yet.
    client: Option<IpAddr>,
    state: Arc<ConnectionState>,
}

/// The permit of one connection. Dropping it gives it back.
#[derive(Debug)]
pub struct ConnectionPermit {
    connections: Arc<ConnectionRegistry>,
    number: u64,
    pub state: Arc<ConnectionState>,
}

impl ConnectionRegistry {
    pub fn new(limits: ServeLimits) -> Arc<Self> {
        Arc::new(Self { limits, all: Mutex::default(), kill: CancellationToken::new() })
    }

    /// Admits a connection. Where the limits are reached, the one that waits longest for its client makes
    /// room; if there is none, the new one is restricted to health checks; if there are too many of those,
    /// `None`. A connection of a proxy counts for no client until one is named.
    pub fn admit(self: &Arc<Self>, address: IpAddr, is_of_proxy: bool) -> Option<ConnectionPermit> {
        let client = (!is_of_proxy).then(|| network_of(address));
        let mut all = self.all.lock();
        let count = all.by_number.len();
        let most = self.limits.max_connections.saturating_add(self.limits.reserve);
        if count >= most {
            all.evict(None);
            return None;
        }
        let restricted = if client.is_some_and(|client| self.is_at_limit(&all, client)) {
            !all.evict(client)
        } else if count >= self.limits.max_connections {
            !all.evict(None)
        } else {
            false
        };
        let state = Arc::new(ConnectionState::new(restricted, self.kill.child_token()));
        let number = all.next;
        all.next = number.wrapping_add(1);
        all.by_number.insert(number, Connection { client, state: Arc::clone(&state) });
        Some(ConnectionPermit { connections: Arc::clone(self), number, state })
    }

    fn is_at_limit(&self, all: &ConnectionTable, client: IpAddr) -> bool {
        let of_client = all.by_number.values().filter(|connection| connection.client == Some(client));
        of_client.count() >= self.limits.max_connections_per_peer
    }

    /// Closes the connection that waits longest for its client. False if there is none.
    pub fn make_room(&self) -> bool {
        self.all.lock().evict(None)
    }
}

impl ConnectionTable {
    fn evict(&self, of: Option<IpAddr>) -> bool {
        let victim = self
            .by_number
            .values()
            .filter(|connection| of.is_none() || connection.client == of)
            .map(|connection| &connection.state)
            .filter(|state| !state.evicted.is_cancelled())
            .filter_map(|state| (*state.waits.lock()).map(|(what, since)| (what, since, state)))
            .filter(|(what, since, _)| *what == Waits::Request || since.elapsed() >= GRACE)
            .min_by_key(|(what, since, _)| (*what, *since));
        let Some((_, _, victim)) = victim else { return false };
        victim.evicted.cancel();
        true
    }
}

impl ConnectionPermit {
    /// Counts the connection for the client of its present request. False if that client has as many connections as it
    /// may have, and none of them can make room.
    pub fn serves(&self, client: IpAddr) -> bool {
        let mut all = self.connections.all.lock();
        let counts_for =
            |all: &ConnectionTable| all.by_number.get(&self.number).and_then(|connection| connection.client);
        if counts_for(&all) == Some(client) {
            return true;
        }
        if self.connections.is_at_limit(&all, client) && !all.evict(Some(client)) {
            return false;
        }
        if let Some(connection) = all.by_number.get_mut(&self.number) {
            connection.client = Some(client);
        }
        true
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.connections.all.lock().by_number.remove(&self.number);
    }
}

/// The address, or with IPv6 its /64, because one client has all addresses of a /64.
pub fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from(u128::from(address) >> 64 << 64)),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const ONE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
    const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2));

    fn connections() -> Arc<ConnectionRegistry> {
        ConnectionRegistry::new(ServeLimits {
            max_connections: 3,
            max_connections_per_peer: 2,
            reserve: 1,
            ..ServeLimits::default()
        })
    }

    #[test]
    fn at_the_limit_the_connection_that_has_sent_nothing_for_longest_makes_room() {
        let connections = connections();
        let first = connections.admit(ONE, false).expect("room");
        std::thread::sleep(Duration::from_millis(5));
        let second = connections.admit(ONE, false).expect("room");
        let third = connections.admit(OTHER, false).expect("room");
        second.state.is_at_work();
        let fourth = connections.admit(OTHER, false).expect("room");
        assert!(first.state.evicted.is_cancelled() && !fourth.state.restricted);
        assert!(!second.state.evicted.is_cancelled() && !third.state.evicted.is_cancelled());
    }

    #[test]
    fn an_address_at_its_limit_makes_room_from_its_own_connections() {
        let connections = connections();
        let others = connections.admit(OTHER, false).expect("room");
        let own: Vec<_> = (0..2).map(|_| connections.admit(ONE, false).expect("room")).collect();
        let next = connections.admit(ONE, false).expect("room");
        assert!(!others.state.evicted.is_cancelled() && !next.state.restricted);
        assert_eq!(own.iter().filter(|permit| permit.state.evicted.is_cancelled()).count(), 1);
    }

    #[test]
    fn where_everybody_is_served_a_new_connection_is_restricted_and_then_refused() {
        let connections = connections();
        let places: Vec<_> = [ONE, ONE, OTHER].map(|peer| connections.admit(peer, false).expect("room")).into();
        places.iter().for_each(|permit| permit.state.is_at_work());
        let reserve = connections.admit(OTHER, false).expect("the reserve");
        assert!(reserve.state.restricted);
        reserve.state.is_at_work();
        assert!(connections.admit(OTHER, false).is_none());
        drop(places);
        assert!(!connections.admit(OTHER, false).expect("room again").state.restricted);
    }

    #[test]
    fn a_client_in_the_middle_of_a_request_has_a_moment_before_it_makes_room() {
        let connections = connections();
        let places: Vec<_> = [ONE, ONE, OTHER].map(|peer| connections.admit(peer, false).expect("room")).into();
        places.iter().for_each(|permit| permit.state.waits_for(Waits::Body));
        assert!(connections.admit(OTHER, false).expect("the reserve").state.restricted);
    }

    #[test]
    fn connections_of_a_proxy_count_for_the_clients_that_it_names() {
        const PROXY: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 3));
        let connections = ConnectionRegistry::new(ServeLimits { max_connections: 9, ..connections().limits });
        let places: Vec<_> = (0..6).map(|_| connections.admit(PROXY, true).expect("room")).collect();
        assert!(places.iter().all(|permit| !permit.state.restricted), "one client's limit is not that of a proxy");
        let at_work = |permit: &ConnectionPermit, client| {
            permit.state.is_at_work();
            permit.serves(client)
        };
        assert!(at_work(&places[0], ONE) && at_work(&places[1], ONE));
        assert!(!at_work(&places[2], ONE), "a client behind a proxy has as many as one in front of it");
        assert!(connections.admit(ONE, false).expect("the reserve").state.restricted);
        assert!(at_work(&places[3], OTHER));
        places[1].state.waits_for(Waits::Request);
        assert!(at_work(&places[2], ONE) && places[1].state.evicted.is_cancelled());
        // The connection is another client's with the next request.
        let clients = |client| connections.all.lock().by_number.values().filter(|c| c.client == Some(client)).count();
        assert_eq!((clients(ONE), clients(OTHER)), (3, 1));
        assert!(places[0].serves(OTHER));
        assert_eq!((clients(ONE), clients(OTHER)), (2, 2));
        drop(places);
        assert!(connections.all.lock().by_number.is_empty());
    }

    #[test]
    fn addresses_of_one_ipv6_network_count_as_one() {
        let network = |text: &str| network_of(text.parse().expect("address"));
        assert_eq!(network("2001:db8::1"), network("2001:db8::ffff:2"));
        assert_ne!(network("2001:db8::1"), network("2001:db8:0:1::1"));
        assert_eq!(network("::ffff:192.0.2.1"), ONE);
    }
}
