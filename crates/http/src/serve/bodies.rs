//! Memory for the bodies of requests while they arrive: who holds how much of it, and whose body makes room.
//!
//! Short and long bodies have a pot each, so a short request never waits for long ones. One client address, and one
//! wallet, holds at most a share of a pot. Where a share or a pot is full, the slowest of its bodies ends.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use axum::http::Extensions;
use parking_lot::Mutex;
use solana_pubkey::Pubkey;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::limits::ServeLimits;
use crate::body::SMALL_BODY_BYTES;

/// One address or wallet holds at most one part of this number of a pot.
const SHARES: usize = 8;
/// A body that began so short a time ago is not known to be slow.
const FIRST_MOMENT: Duration = Duration::from_secs(1);

/// All bodies of one server that are arriving.
#[derive(Debug)]
pub struct Bodies(Mutex<BodyTable>);

/// There are at most as many as connections, so sums are taken where they are needed.
#[derive(Debug)]
struct BodyTable {
    next: u64,
    max_small: usize,
    max_large: usize,
    by_number: HashMap<u64, Arriving>,
}

#[derive(Debug)]
struct Arriving {
    address: IpAddr,
    owner: Option<Pubkey>,
    /// Which of the two pots holds it.
    is_large: bool,
    bytes: usize,
    speed: Speed,
    /// It made room for others; its handler drops it soon.
    ended: CancellationToken,
}

/// The bodies of one pot that have room together.
#[derive(Clone, Copy, Debug)]
enum BodyGroup {
    Owner(Pubkey),
    Address(IpAddr),
    Pot,
}

impl BodyGroup {
    fn has(self, body: &Arriving) -> bool {
        match self {
            Self::Owner(owner) => body.owner == Some(owner),
            Self::Address(address) => body.address == address,
            Self::Pot => true,
        }
    }
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
pub struct BodyOwner(Weak<Room>);

impl Bodies {
    pub fn new(limits: &ServeLimits) -> Arc<Self> {
        let (max_small, max_large) = (limits.max_small_bodies, limits.max_bodies);
        Arc::new(Self(Mutex::new(BodyTable { next: 0, max_small, max_large, by_number: HashMap::new() })))
    }

    /// Room for a body from this address. `length`: as the client announced it.
    pub fn room(self: &Arc<Self>, address: IpAddr, length: Option<u64>) -> Room {
        let ended = CancellationToken::new();
        let is_large = length.is_some_and(|length| usize::try_from(length).map_or(true, |n| n > SMALL_BODY_BYTES));
        let speed = Speed::new(Instant::now());
        let body = Arriving { address, owner: None, is_large, bytes: 0, speed, ended: ended.clone() };
        let mut all = self.0.lock();
        let number = all.next;
        all.next = number.wrapping_add(1);
        all.by_number.insert(number, body);
        Room { bodies: Arc::clone(self), number, ended }
    }
}

impl Room {
    /// Counts bytes that have come. False if they have no room.
    pub fn take(&self, bytes: usize) -> bool {
        self.bodies.0.lock().take(self.number, bytes, Instant::now())
    }

    /// Ends when the body must make room for others.
    pub fn ended(&self) -> WaitForCancellationFutureOwned {
        self.ended.clone().cancelled_owned()
    }

    fn is_of(&self, wallet: &Pubkey) {
        if let Some(body) = self.bodies.0.lock().by_number.get_mut(&self.number) {
            body.owner = Some(*wallet);
        }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.bodies.0.lock().by_number.remove(&self.number);
    }
}

impl BodyOwner {
    pub fn of(room: &Arc<Room>) -> Self {
        Self(Arc::downgrade(room))
    }

    /// Counts the body of a request for this wallet as well, as far as it is still arriving.
    pub fn note(extensions: &Extensions, wallet: &Pubkey) {
        if let Some(room) = extensions.get::<Self>().and_then(|owner| owner.0.upgrade()) {
            room.is_of(wallet);
        }
    }
}

impl BodyTable {
    fn take(&mut self, number: u64, bytes: usize, now: Instant) -> bool {
        let Some(body) = self.by_number.get_mut(&number).filter(|body| !body.ended.is_cancelled()) else {
            return false;
        };
        let mut bytes = bytes;
        if !body.is_large && body.bytes.saturating_add(bytes) > SMALL_BODY_BYTES {
            // Its length was not announced, and it turns out to be a long one: all of it needs room in the other pot.
            body.is_large = true;
            bytes = bytes.saturating_add(std::mem::take(&mut body.bytes));
        }
        let is_large = body.is_large;
        while let Some(full) = self.full(number, bytes) {
            // What was ended a moment ago still has its memory. Bodies are not ended faster than they are dropped.
            let leaving = sum(self.of_pot(is_large, true).map(|(_, body)| body.bytes));
            let victim = if leaving > self.share(is_large) { None } else { self.slowest(is_large, full, now) };
            if let Some(body) = self.by_number.get_mut(&victim.unwrap_or(number)) {
                body.ended.cancel();
            }
        }
        match self.by_number.get_mut(&number) {
            Some(body) if !body.ended.is_cancelled() => {
                body.bytes = body.bytes.saturating_add(bytes);
                body.speed.note(bytes, now);
                true
            }
            _ => false,
        }
    }

    const fn max(&self, is_large: bool) -> usize {
        if is_large { self.max_large } else { self.max_small }
    }

    fn share(&self, is_large: bool) -> usize {
        let max = self.max(is_large);
        max.checked_div(SHARES).unwrap_or(max)
    }

    fn of_pot(&self, is_large: bool, is_ended: bool) -> impl Iterator<Item = (&u64, &Arriving)> {
        let wanted = move |body: &Arriving| body.is_large == is_large && body.ended.is_cancelled() == is_ended;
        self.by_number.iter().filter(move |(_, body)| wanted(body))
    }

    /// Where so many more bytes of the body have no room. `None` if there is room, or the body has ended.
    fn full(&self, number: u64, bytes: usize) -> Option<BodyGroup> {
        let body = self.by_number.get(&number).filter(|body| !body.ended.is_cancelled())?;
        let (share, max) = (self.share(body.is_large), self.max(body.is_large));
        let owner = body.owner.map(|owner| (BodyGroup::Owner(owner), share));
        let others = [(BodyGroup::Address(body.address), share), (BodyGroup::Pot, max)];
        let is_full = |group: BodyGroup, most| {
            let of_group = self.of_pot(body.is_large, false).filter(|(_, body)| group.has(body));
            sum(of_group.map(|(_, body)| body.bytes)).saturating_add(bytes) > most
        };
        owner.into_iter().chain(others).find(|(group, most)| is_full(*group, *most)).map(|(group, _)| group)
    }

    /// The slowest body that holds some of what is full. Those that began a moment ago come last.
    fn slowest(&self, is_large: bool, full: BodyGroup, now: Instant) -> Option<u64> {
        let holding = self.of_pot(is_large, false).filter(|(_, body)| body.bytes > 0 && full.has(body));
        let order = holding.map(|(number, body)| (body.speed.is_new(now), body.speed.at(now), number));
        let slowest = order.min_by(|one, other| one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)));
        slowest.map(|(_, _, number)| *number)
    }
}

fn sum(bytes: impl Iterator<Item = usize>) -> usize {
    bytes.fold(0, usize::saturating_add)
}

/// How fast a body has come of late: its bytes, of which a sixteenth counts a second later. What came early does not count
/// for a client that is slow now.
#[derive(Clone, Copy, Debug)]
struct Speed {
    began: Instant,
    noted: Instant,
    bytes: f64,
}

impl Speed {
    const fn new(began: Instant) -> Self {
        Self { began, noted: began, bytes: 0.0 }
    }

    fn is_new(self, now: Instant) -> bool {
        now.saturating_duration_since(self.began) < FIRST_MOMENT
    }

    fn at(self, now: Instant) -> f64 {
        self.bytes * 16_f64.powf(-now.saturating_duration_since(self.noted).as_secs_f64())
    }

    fn note(&mut self, bytes: usize, now: Instant) {
        (self.bytes, self.noted) = (self.at(now) + bytes as f64, now);
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
        room.bodies.0.lock().take(room.number, bytes, now)
    }

    /// Whether nothing is left of bodies that have been dropped.
    fn is_empty(bodies: &Bodies) -> bool {
        bodies.0.lock().by_number.is_empty()
    }

    fn held(bodies: &Bodies, is_large: bool) -> usize {
        sum(bodies.0.lock().of_pot(is_large, false).map(|(_, body)| body.bytes))
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
            room.is_of(&wallet(1));
            assert!(room.take(100 * KIB));
        }
        let stranger = bodies.room(address(100), LARGE);
        assert!(stranger.take(700 * KIB));
        rooms[8].is_of(&wallet(1));
        assert!(rooms[8].take(KIB), "a new one gets room");
        assert_eq!(rooms.iter().filter(|room| room.ended.is_cancelled()).count(), 1);
        assert!(!stranger.ended.is_cancelled());
        // The wallet may become known when some of the body is there.
        let late = bodies.room(address(101), LARGE);
        assert!(late.take(700 * KIB));
        late.is_of(&wallet(2));
        late.is_of(&wallet(2));
        assert!(late.take(100 * KIB), "it is counted once");
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
        bodies.0.lock().by_number.get_mut(&new.number).expect("it arrives").speed = Speed::new(later);
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
        assert_eq!(held(&bodies, false), 128 * KIB);
        assert_eq!(held(&bodies, true), 6_400 * KIB);
        assert!(unannounced.take(1), "one of the long ones ends");
        assert_eq!(held(&bodies, false), 64 * KIB);
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
            let held = held(&bodies, true);
            let leaving = sum(bodies.0.lock().of_pot(true, true).map(|(_, body)| body.bytes));
            assert!(held <= most && leaving <= (800 + 400) * KIB, "{held} {leaving}");
        }
        let ended = rooms.iter().filter(|room| room.ended.is_cancelled()).count();
        assert_eq!(ended, 200 - 16);
        drop(rooms);
        assert!(is_empty(&bodies));
    }
}
