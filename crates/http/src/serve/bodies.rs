//! Memory for the bodies of requests while they arrive: who holds how much of it, and whose body makes room.
//!
//! Short and long bodies have a pot each, so a short request never waits for long ones. One client address, and one
//! wallet, holds at most a share of a pot. Where a share or a pot is full, the slowest of its bodies ends.

use std::{
    collections::HashMap,
    hash::Hash,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use axum::http::Extensions;
use solana_pubkey::Pubkey;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::limits::ServeLimits;
use crate::body::SMALL_BODY_BYTES;

/// One address or wallet holds at most one part of this number of a pot.
const SHARES: usize = 8;
/// A body is as fast as it was in the present and in the last window of this length.
const WINDOW: Duration = Duration::from_secs(1);

/// All bodies of one server that are arriving.
#[derive(Debug)]
pub struct Bodies(Mutex<Pots>);

#[derive(Debug)]
struct Pots {
    next: u64,
    small: Pot,
    large: Pot,
}

#[derive(Debug, Default)]
struct Pot {
    max: usize,
    held: usize,
    by_address: HashMap<IpAddr, usize>,
    by_owner: HashMap<Pubkey, usize>,
    arriving: HashMap<u64, Arriving>,
    /// Bytes of bodies that were ended, until their handlers have dropped them.
    leaving: HashMap<u64, usize>,
}

#[derive(Debug)]
struct Arriving {
    address: IpAddr,
    owner: Option<Pubkey>,
    bytes: usize,
    speed: Speed,
    ended: CancellationToken,
}

/// Where room is missing.
#[derive(Clone, Copy, Debug)]
enum Full {
    Address(IpAddr),
    Owner(Pubkey),
    Pot,
}

/// The room of one body. Gives it back when it is dropped.
#[derive(Debug)]
pub struct Room {
    bodies: Arc<Bodies>,
    number: u64,
    ended: CancellationToken,
}

/// Says whose body it is, as an extension of the request: the server reads bodies before it knows wallets.
#[derive(Clone, Debug)]
pub struct BodyOwner {
    bodies: Arc<Bodies>,
    number: u64,
}

impl Bodies {
    pub fn new(limits: &ServeLimits) -> Arc<Self> {
        let pot = |max| Pot { max, ..Pot::default() };
        let pots = Pots { next: 0, small: pot(limits.max_small_bodies), large: pot(limits.max_bodies) };
        Arc::new(Self(Mutex::new(pots)))
    }

    /// Room for a body from this address. `length`: as the client announced it.
    pub fn room(self: &Arc<Self>, address: IpAddr, length: Option<u64>) -> Room {
        let ended = CancellationToken::new();
        let speed = Speed::new(Instant::now());
        let body = Arriving { address, owner: None, bytes: 0, speed, ended: ended.clone() };
        let is_large = length.is_some_and(|length| usize::try_from(length).map_or(true, |n| n > SMALL_BODY_BYTES));
        let mut pots = self.lock();
        let number = pots.next;
        pots.next = number.wrapping_add(1);
        let pot = if is_large { &mut pots.large } else { &mut pots.small };
        pot.arriving.insert(number, body);
        Room { bodies: Arc::clone(self), number, ended }
    }

    fn lock(&self) -> MutexGuard<'_, Pots> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Room {
    /// Counts bytes that have come. False if they have no room.
    pub fn take(&self, bytes: usize) -> bool {
        self.bodies.lock().take(self.number, bytes, Instant::now())
    }

    /// Ends when the body must make room for others.
    pub fn ended(&self) -> WaitForCancellationFutureOwned {
        self.ended.clone().cancelled_owned()
    }

    pub fn owner(&self) -> BodyOwner {
        BodyOwner { bodies: Arc::clone(&self.bodies), number: self.number }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let mut pots = self.bodies.lock();
        let Pots { small, large, .. } = &mut *pots;
        for pot in [small, large] {
            pot.remove(self.number);
            pot.leaving.remove(&self.number);
        }
    }
}

impl BodyOwner {
    /// Counts the body of a request for this wallet as well, as far as it is still arriving.
    pub fn note(extensions: &Extensions, wallet: &Pubkey) {
        if let Some(owner) = extensions.get::<Self>() {
            owner.is(wallet);
        }
    }

    fn is(&self, wallet: &Pubkey) {
        let mut pots = self.bodies.lock();
        let Pots { small, large, .. } = &mut *pots;
        for pot in [small, large] {
            if let Some(mut body) = pot.remove(self.number) {
                body.owner = Some(*wallet);
                pot.insert(self.number, body);
            }
        }
    }
}

impl Pots {
    fn take(&mut self, number: u64, bytes: usize, now: Instant) -> bool {
        // A body whose length was not announced may turn out to be a long one.
        let is_large = |body: &Arriving| body.bytes.saturating_add(bytes) > SMALL_BODY_BYTES;
        if self.small.arriving.get(&number).is_some_and(is_large)
            && let Some(mut body) = self.small.remove(number)
        {
            let before = std::mem::take(&mut body.bytes);
            self.large.insert(number, body);
            return self.large.take(number, before.saturating_add(bytes), now);
        }
        let pot = if self.small.arriving.contains_key(&number) { &mut self.small } else { &mut self.large };
        pot.take(number, bytes, now)
    }
}

impl Pot {
    fn take(&mut self, number: u64, bytes: usize, now: Instant) -> bool {
        while let Some(full) = self.full(number, bytes) {
            // What was ended a moment ago still has its memory. Bodies are not ended faster than they are dropped.
            let leaving: usize = self.leaving.values().sum();
            let victim = if leaving > self.share() { None } else { self.slowest(full, now) };
            self.end(victim.unwrap_or(number));
        }
        let Some(mut body) = self.remove(number) else { return false };
        body.bytes = body.bytes.saturating_add(bytes);
        body.speed.note(bytes, now);
        self.insert(number, body);
        true
    }

    fn share(&self) -> usize {
        self.max.checked_div(SHARES).unwrap_or(self.max)
    }

    /// Where so many more bytes of the body have no room. `None` if there is room, or the body has ended.
    fn full(&self, number: u64, bytes: usize) -> Option<Full> {
        let body = self.arriving.get(&number)?;
        let beyond = |held: Option<usize>, most: usize| held.unwrap_or(0).saturating_add(bytes) > most;
        if let Some(owner) = body.owner
            && beyond(self.by_owner.get(&owner).copied(), self.share())
        {
            return Some(Full::Owner(owner));
        }
        if beyond(self.by_address.get(&body.address).copied(), self.share()) {
            return Some(Full::Address(body.address));
        }
        beyond(Some(self.held), self.max).then_some(Full::Pot)
    }

    /// The slowest body that holds some of what is full. Those that began a moment ago come last.
    fn slowest(&self, full: Full, now: Instant) -> Option<u64> {
        let holds = |body: &Arriving| match full {
            _ if body.bytes == 0 => false,
            Full::Address(address) => body.address == address,
            Full::Owner(owner) => body.owner == Some(owner),
            Full::Pot => true,
        };
        let holding = self.arriving.iter().filter(|(_, body)| holds(body));
        holding.min_by_key(|(_, body)| body.speed.at(now)).map(|(number, _)| *number)
    }

    fn end(&mut self, number: u64) {
        if let Some(body) = self.remove(number) {
            body.ended.cancel();
            self.leaving.insert(number, body.bytes);
        }
    }

    fn insert(&mut self, number: u64, body: Arriving) {
        self.held = self.held.saturating_add(body.bytes);
        add(&mut self.by_address, body.address, body.bytes);
        if let Some(owner) = body.owner {
            add(&mut self.by_owner, owner, body.bytes);
        }
        self.arriving.insert(number, body);
    }

    fn remove(&mut self, number: u64) -> Option<Arriving> {
        let body = self.arriving.remove(&number)?;
        self.held = self.held.saturating_sub(body.bytes);
        subtract(&mut self.by_address, &body.address, body.bytes);
        if let Some(owner) = body.owner {
            subtract(&mut self.by_owner, &owner, body.bytes);
        }
        Some(body)
    }
}

/// The maps have no entry for who holds nothing.
fn add<K: Eq + Hash>(held: &mut HashMap<K, usize>, who: K, bytes: usize) {
    if bytes > 0 {
        let of_who = held.entry(who).or_default();
        *of_who = of_who.saturating_add(bytes);
    }
}

fn subtract<K: Eq + Hash>(held: &mut HashMap<K, usize>, who: &K, bytes: usize) {
    if let Some(of_who) = held.get_mut(who) {
        *of_who = of_who.saturating_sub(bytes);
        if *of_who == 0 {
            held.remove(who);
        }
    }
}

/// How fast a body has come of late. What came early does not count for a client that is slow now.
#[derive(Clone, Copy, Debug)]
struct Speed {
    /// When the present window began.
    since: Instant,
    now: usize,
    /// Bytes of the window before. `None` in the first one.
    before: Option<usize>,
}

impl Speed {
    const fn new(since: Instant) -> Self {
        Self { since, now: 0, before: None }
    }

    /// The same at a later time.
    fn rolled(self, now: Instant) -> Self {
        let elapsed = now.saturating_duration_since(self.since);
        if elapsed < WINDOW {
            return self;
        }
        match self.since.checked_add(WINDOW) {
            Some(since) if elapsed < WINDOW.saturating_mul(2) => Self { since, now: 0, before: Some(self.now) },
            _ => Self { since: now, now: 0, before: Some(0) },
        }
    }

    fn note(&mut self, bytes: usize, now: Instant) {
        *self = self.rolled(now);
        self.now = self.now.saturating_add(bytes);
    }

    /// Whether it began a moment ago, and bytes per second.
    fn at(self, now: Instant) -> (bool, u128) {
        let Self { since, now: bytes, before } = self.rolled(now);
        let bytes = u128::try_from(bytes.saturating_add(before.unwrap_or(0))).unwrap_or(u128::MAX);
        let window = if before.is_some() { WINDOW } else { Duration::ZERO };
        let elapsed = now.saturating_duration_since(since).saturating_add(window).as_millis().max(1);
        (before.is_none(), bytes.saturating_mul(1_000).checked_div(elapsed).unwrap_or(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: usize = 1024;
    const LARGE: Option<u64> = Some(1024 * 1024);

    /// Pots whose shares are 800 KiB and 80 KiB.
    fn bodies() -> Arc<Bodies> {
        let (max_bodies, max_small_bodies) = (8 * 800 * KIB, 8 * 80 * KIB);
        Bodies::new(&ServeLimits { max_bodies, max_small_bodies, ..ServeLimits::default() })
    }

    fn address(number: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, number])
    }

    fn wallet(number: u8) -> Pubkey {
        Pubkey::new_from_array([number; 32])
    }

    fn take_at(room: &Room, bytes: usize, now: Instant) -> bool {
        room.bodies.lock().take(room.number, bytes, now)
    }

    /// Whether nothing is left of bodies that have been dropped.
    fn is_empty(bodies: &Bodies) -> bool {
        let pots = bodies.lock();
        [&pots.small, &pots.large].iter().all(|pot| {
            pot.held == 0
                && pot.by_address.is_empty()
                && pot.by_owner.is_empty()
                && pot.arriving.is_empty()
                && pot.leaving.is_empty()
        })
    }

    #[test]
    fn an_address_holds_an_eighth_and_its_own_slowest_body_makes_room() {
        let bodies = bodies();
        let start = Instant::now();
        let [slow, fast, other, new] = [1, 1, 2, 1].map(|number| bodies.room(address(number), LARGE));
        assert!(take_at(&slow, 500 * KIB, start) && take_at(&fast, 100 * KIB, start) && take_at(&other, 9, start));
        let later = start + Duration::from_secs(5);
        assert!(take_at(&slow, 1, later) && take_at(&fast, 100 * KIB, later) && take_at(&new, 200 * KIB, later));
        assert!(slow.ended.is_cancelled(), "its early bytes do not count");
        assert!(![&fast, &other, &new].iter().any(|room| room.ended.is_cancelled()), "nobody else ends");
        assert!(!take_at(&slow, 1, later), "it has ended");
        drop((slow, fast, other, new));
        assert!(is_empty(&bodies));
    }

    #[test]
    fn a_wallet_holds_an_eighth_from_however_many_addresses() {
        let bodies = bodies();
        let rooms: Vec<Room> = (0..9).map(|number| bodies.room(address(number), LARGE)).collect();
        for room in rooms.iter().take(8) {
            room.owner().is(&wallet(1));
            assert!(room.take(100 * KIB));
        }
        let stranger = bodies.room(address(100), LARGE);
        assert!(stranger.take(700 * KIB));
        rooms[8].owner().is(&wallet(1));
        assert!(rooms[8].take(KIB), "a new one gets room");
        assert_eq!(rooms.iter().filter(|room| room.ended.is_cancelled()).count(), 1);
        assert!(!stranger.ended.is_cancelled());
        // The wallet may become known when some of the body is there.
        let late = bodies.room(address(101), LARGE);
        assert!(late.take(700 * KIB));
        late.owner().is(&wallet(2));
        late.owner().is(&wallet(2));
        assert_eq!(bodies.lock().large.by_owner.get(&wallet(2)), Some(&(700 * KIB)));
        drop((rooms, stranger, late));
        assert!(is_empty(&bodies));
    }

    #[test]
    fn in_a_full_pot_the_slowest_of_all_makes_room_for_a_new_one() {
        let bodies = bodies();
        let start = Instant::now();
        let rooms: Vec<Room> = (0..8).map(|number| bodies.room(address(number), LARGE)).collect();
        for room in &rooms {
            assert!(take_at(room, 700 * KIB, start));
        }
        let later = start + Duration::from_secs(3);
        for (room, bytes) in rooms.iter().zip(90 * KIB..) {
            assert!(take_at(room, bytes, later));
        }
        let new = bodies.room(address(100), LARGE);
        assert!(take_at(&new, 100 * KIB, later));
        let ended: Vec<bool> = rooms.iter().map(|room| room.ended.is_cancelled()).collect();
        assert_eq!(ended, [true, false, false, false, false, false, false, false]);
    }

    #[test]
    fn a_body_that_began_a_moment_ago_is_not_the_slowest() {
        let bodies = bodies();
        let start = Instant::now();
        let usual = bodies.room(address(1), LARGE);
        assert!(take_at(&usual, 700 * KIB, start));
        let later = start + Duration::from_secs(3);
        let new = bodies.room(address(1), LARGE);
        bodies.lock().large.arriving.get_mut(&new.number).expect("it arrives").speed = Speed::new(later);
        assert!(take_at(&new, 1, later) && take_at(&new, 200 * KIB, later + Duration::from_millis(900)));
        assert!(usual.ended.is_cancelled() && !new.ended.is_cancelled());
    }

    #[test]
    fn short_bodies_have_room_of_their_own_and_one_that_grows_long_leaves_it() {
        let bodies = bodies();
        let long: Vec<Room> = (0..8).map(|number| bodies.room(address(number), LARGE)).collect();
        assert!(long.iter().all(|room| room.take(800 * KIB)));
        let short = bodies.room(address(1), Some(64 * 1024));
        assert!(short.take(64 * KIB));
        assert!(!long.iter().any(|room| room.ended.is_cancelled()));
        let unannounced = bodies.room(address(9), None);
        assert!(unannounced.take(64 * KIB));
        assert_eq!(bodies.lock().small.held, 128 * KIB);
        assert_eq!(bodies.lock().large.held, 6_400 * KIB);
        assert!(unannounced.take(1), "one of the long ones ends");
        assert_eq!(bodies.lock().small.held, 64 * KIB);
        assert_eq!(long.iter().filter(|room| room.ended.is_cancelled()).count(), 1);
        drop((long, short, unannounced));
        assert!(is_empty(&bodies));
    }

    #[test]
    fn a_body_that_was_announced_and_never_comes_holds_nothing() {
        let bodies = bodies();
        let empty: Vec<Room> = (0..100).map(|_| bodies.room(address(1), LARGE)).collect();
        let new = bodies.room(address(1), LARGE);
        assert!(new.take(800 * KIB));
        assert!(!empty.iter().any(|room| room.ended.is_cancelled()), "that would make no room");
    }

    #[test]
    fn the_memory_is_bounded_while_ended_bodies_are_not_dropped_yet() {
        let bodies = bodies();
        let rooms: Vec<Room> = (0..200).map(|number| bodies.room(address(number), LARGE)).collect();
        let most = 8 * 800 * KIB;
        for room in &rooms {
            room.take(400 * KIB);
            let pots = bodies.lock();
            let leaving: usize = pots.large.leaving.values().sum();
            assert!(pots.large.held <= most && leaving <= (800 + 400) * KIB, "{} {leaving}", pots.large.held);
        }
        let ended = rooms.iter().filter(|room| room.ended.is_cancelled()).count();
        assert_eq!(ended, 200 - 16);
        drop(rooms);
        assert!(is_empty(&bodies));
    }
}
