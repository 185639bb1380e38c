//! Which connections there are, how many each address has, and which one makes room for another.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use tokio_util::sync::CancellationToken;

use super::limits::ServeLimits;

/// What a connection waits for. The lower ones are given up first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Waits {
    /// For a request: nothing of it has come.
    Request = 1,
    /// For the rest of the header fields.
    Head = 2,
    /// For the rest of a body.
    Body = 3,
    /// For the client to take the answer.
    Reader = 4,
}

/// How long a client in the middle of a request or an answer is protected from making room.
const GRACE: Duration = Duration::from_secs(2);

/// State that the parts of one connection share.
#[derive(Debug)]
pub struct ConnectionState {
    /// The network of the client that the connection counts for: of the present request, or of the last one. `None`: a
    /// trusted proxy that has sent none yet.
    client: Mutex<Option<IpAddr>>,
    /// Beyond the limit: only health checks are answered.
    pub restricted: bool,
    /// The connection must make room for another.
    pub evicted: CancellationToken,
    started: Instant,
    /// 0 while the client waits for us; else milliseconds since `started`, and the [`Waits`] in the low bits.
    waits: AtomicU64,
    answered: AtomicBool,
    body_taken: AtomicBool,
}

impl ConnectionState {
    fn new(client: Option<IpAddr>, restricted: bool) -> Self {
        let state = Self {
            client: Mutex::new(client),
            restricted,
            evicted: CancellationToken::new(),
            started: Instant::now(),
            waits: AtomicU64::new(0),
            answered: AtomicBool::new(false),
            body_taken: AtomicBool::new(false),
        };
        state.waits_for(Waits::Request);
        state
    }

    pub fn client(&self) -> Option<IpAddr> {
        *self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_client(&self, client: IpAddr) -> Option<IpAddr> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner).replace(client)
    }

    /// Notes what the connection waits for from now on; saying the same again changes nothing.
    pub fn waits_for(&self, what: Waits) {
        let now = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX >> 3);
        let noted = self.waits.load(Ordering::Relaxed);
        if noted & 7 != what as u64 {
            self.waits.store((now << 3) | what as u64, Ordering::Relaxed);
        }
    }

    /// The client waits for us.
    pub fn is_at_work(&self) {
        self.waits.store(0, Ordering::Relaxed);
    }

    /// What it waits for and since when. `None`: the client waits for us.
    fn waiting(&self) -> Option<(u64, Duration)> {
        let noted = self.waits.load(Ordering::Relaxed);
        let since = Duration::from_millis(noted >> 3);
        (noted != 0).then(|| (noted & 7, self.started.elapsed().saturating_sub(since)))
    }

    /// A request has been passed on.
    pub fn begins(&self) {
        self.answered.store(false, Ordering::Release);
        self.body_taken.store(false, Ordering::Release);
        self.is_at_work();
    }

    /// The engine has all bytes of the answer.
    pub fn is_answered(&self) -> bool {
        self.answered.load(Ordering::Acquire)
    }

    pub fn set_answered(&self) {
        self.answered.store(true, Ordering::Release);
    }

    /// The body has ended, or nobody wants more of it.
    pub fn is_body_taken(&self) -> bool {
        self.body_taken.load(Ordering::Acquire)
    }

    pub fn set_body_taken(&self) {
        self.body_taken.store(true, Ordering::Release);
    }
}

/// All connections of one server.
#[derive(Debug)]
pub struct Connections {
    limits: ServeLimits,
    all: Mutex<All>,
}

#[derive(Debug, Default)]
struct All {
    next: u64,
    by_number: HashMap<u64, Arc<ConnectionState>>,
    per_client: HashMap<IpAddr, usize>,
}

/// A connection's place. Gives it back when it is dropped.
#[derive(Debug)]
pub struct Place {
    connections: Arc<Connections>,
    number: u64,
    pub state: Arc<ConnectionState>,
}

impl Connections {
    pub fn new(limits: ServeLimits) -> Arc<Self> {
        Arc::new(Self { limits, all: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Admits a connection. Where the limits are reached, the one that waits longest for its client makes
    /// room; if there is none, the new one is restricted to health checks; if there are too many of those,
    /// `None`. A connection of a proxy counts for no client until one is named.
    pub fn admit(self: &Arc<Self>, address: IpAddr, is_of_proxy: bool) -> Option<Place> {
        let client = (!is_of_proxy).then(|| network_of(address));
        let mut all = self.lock();
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
        let state = Arc::new(ConnectionState::new(client, restricted));
        let number = all.next;
        all.next = number.wrapping_add(1);
        all.by_number.insert(number, Arc::clone(&state));
        all.count_in(client);
        Some(Place { connections: Arc::clone(self), number, state })
    }

    fn is_at_limit(&self, all: &All, client: IpAddr) -> bool {
        all.per_client.get(&client).is_some_and(|count| *count >= self.limits.max_connections_per_peer)
    }

    /// Closes the connection that waits longest for its client. False if there is none.
    pub fn make_room(&self) -> bool {
        self.lock().evict(None)
    }
}

impl All {
    fn count_in(&mut self, client: Option<IpAddr>) {
        if let Some(client) = client {
            let count = self.per_client.entry(client).or_default();
            *count = count.saturating_add(1);
        }
    }

    fn count_out(&mut self, client: Option<IpAddr>) {
        if let Some(client) = client
            && let Some(count) = self.per_client.get_mut(&client)
        {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.per_client.remove(&client);
            }
        }
    }

    fn evict(&mut self, of: Option<IpAddr>) -> bool {
        let candidates = self
            .by_number
            .values()
            .filter(|state| (of.is_none() || state.client() == of) && !state.evicted.is_cancelled());
        let victim = candidates
            .filter_map(|state| state.waiting().map(|(what, since)| (what, since, state)))
            .filter(|(what, since, _)| *what == Waits::Request as u64 || *since >= GRACE)
            .min_by_key(|(what, since, _)| (*what, std::cmp::Reverse(*since)));
        let Some((_, _, victim)) = victim else { return false };
        victim.evicted.cancel();
        true
    }
}

impl Place {
    /// Counts the connection for the client of its present request. False if that client has as many connections as it
    /// may have, and none of them can make room.
    pub fn serves(&self, client: IpAddr) -> bool {
        if self.state.client() == Some(client) {
            return true;
        }
        let mut all = self.connections.lock();
        if self.connections.is_at_limit(&all, client) && !all.evict(Some(client)) {
            return false;
        }
        let before = self.state.set_client(client);
        all.count_out(before);
        all.count_in(Some(client));
        true
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut all = self.connections.lock();
        all.by_number.remove(&self.number);
        all.count_out(self.state.client());
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

    fn connections() -> Arc<Connections> {
        Connections::new(ServeLimits {
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
        assert_eq!(own.iter().filter(|place| place.state.evicted.is_cancelled()).count(), 1);
    }

    #[test]
    fn where_everybody_is_served_a_new_connection_is_restricted_and_then_refused() {
        let connections = connections();
        let places: Vec<_> = [ONE, ONE, OTHER].map(|peer| connections.admit(peer, false).expect("room")).into();
        places.iter().for_each(|place| place.state.is_at_work());
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
        places.iter().for_each(|place| place.state.waits_for(Waits::Body));
        assert!(connections.admit(OTHER, false).expect("the reserve").state.restricted);
    }

    #[test]
    fn connections_of_a_proxy_count_for_the_clients_that_it_names() {
        const PROXY: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 3));
        let connections = Connections::new(ServeLimits { max_connections: 9, ..connections().limits });
        let places: Vec<_> = (0..6).map(|_| connections.admit(PROXY, true).expect("room")).collect();
        assert!(places.iter().all(|place| !place.state.restricted), "one client's limit is not that of a proxy");
        let at_work = |place: &Place, client| {
            place.state.is_at_work();
            place.serves(client)
        };
        assert!(at_work(&places[0], ONE) && at_work(&places[1], ONE));
        assert!(!at_work(&places[2], ONE), "a client behind a proxy has as many as one in front of it");
        assert!(connections.admit(ONE, false).expect("the reserve").state.restricted);
        assert!(at_work(&places[3], OTHER));
        places[1].state.waits_for(Waits::Request);
        assert!(at_work(&places[2], ONE) && places[1].state.evicted.is_cancelled());
        // The connection is another client's with the next request.
        assert!(places[0].serves(OTHER) && places[0].state.client() == Some(OTHER));
        drop(places);
        let all = connections.lock();
        assert!(all.per_client.is_empty() && all.by_number.is_empty());
    }

    #[test]
    fn addresses_of_one_ipv6_network_count_as_one() {
        let network = |text: &str| network_of(text.parse().expect("address"));
        assert_eq!(network("2001:db8::1"), network("2001:db8::ffff:2"));
        assert_ne!(network("2001:db8::1"), network("2001:db8:0:1::1"));
        assert_eq!(network("::ffff:192.0.2.1"), ONE);
    }
}
