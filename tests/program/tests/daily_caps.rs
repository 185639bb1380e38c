//! The cap of a grant for each day of UTC.

use agent_marketplace::{instructions as ix, state::SpendingGrant};
use crtx_program_tests::*;

use MarketplaceError as E;

const DAY_S: i64 = 86_400;
/// The first second of the day after the one in which a world begins.
const MIDNIGHT: i64 = START_UNIX_S - START_UNIX_S % DAY_S + DAY_S;

/// The caller changes the grant's cap of the day.
fn cap(world: &mut World, daily_cap: u64) {
    let change = world.grant_spending(ix::GrantSpendingArgs {
        session_key: world.session.pubkey(),
        per_call_cap: USDC,
        total_cap: 100 * USDC,
        daily_cap,
        expires_at_unix_s: START_UNIX_S + 30 * DAY_S,
        allowed_agents: vec![],
    });
    world.must(&[change], &[&world.caller.keypair.insecure_clone()]);
}

fn opened(world: &mut World) -> Execution {
    let execution = world.new_execution();
    assert_ok(world.open_with_grant(&execution));
    execution
}

fn is_over(world: &mut World) {
    let execution = world.new_execution();
    let open = world.open_execution_with_grant(&execution);
    let session = world.session.insecure_clone();
    refused(world, open, &[&session], E::DailyCapExceeded);
}

#[test]
fn a_days_cap_ends_at_midnight_and_a_refund_gives_it_back() {
    let mut world = World::new();
    cap(&mut world, 2 * PRICE);
    let (first, _) = (opened(&mut world), opened(&mut world));
    is_over(&mut world);
    assert_ok(world.fail(&first));
    assert_eq!((world.grant().spent_on_day, world.grant().spent), (PRICE, PRICE));
    opened(&mut world);
    for time in [START_UNIX_S, MIDNIGHT - 1] {
        world.set_time(time);
        is_over(&mut world);
    }
    world.set_time(MIDNIGHT);
    let (first, _) = (opened(&mut world), opened(&mut world));
    is_over(&mut world);
    // A refund of an expired call gives the room back as well.
    world.expire(&first);
    assert_ok(world.refund(&first));
    opened(&mut world);
    is_over(&mut world);
    let grant = world.grant();
    assert_eq!((grant.spent, grant.spent_on_day, grant.day), (4 * PRICE, 2 * PRICE, (MIDNIGHT / DAY_S) as u64));
}

#[test]
fn a_cap_below_the_next_price_is_exceeded_to_the_base_unit() {
    let mut world = World::new();
    cap(&mut world, 2 * PRICE - 1);
    opened(&mut world);
    is_over(&mut world);
    cap(&mut world, 2 * PRICE);
    opened(&mut world);
    is_over(&mut world);
    // A cap that is lowered below what was spent counts from midnight.
    cap(&mut world, PRICE);
    is_over(&mut world);
    world.set_time(MIDNIGHT);
    opened(&mut world);
    is_over(&mut world);
}

#[test]
fn a_refund_of_yesterdays_call_gives_today_nothing() {
    let mut world = World::new();
    cap(&mut world, 2 * PRICE);
    world.set_time(MIDNIGHT - 1);
    let yesterdays = [opened(&mut world), opened(&mut world)];
    world.set_time(MIDNIGHT);
    opened(&mut world);
    assert_ok(world.fail(&yesterdays[0]));
    assert_eq!((world.grant().spent, world.grant().spent_on_day), (2 * PRICE, PRICE));
    opened(&mut world);
    assert_ok(world.fail(&yesterdays[1]));
    is_over(&mut world);
}

/// The total counts the same whether a day is limited or not.
#[test]
fn a_cap_of_zero_limits_no_day_and_the_day_is_counted_all_the_same() {
    let mut world = World::new();
    for _ in 0..3 {
        opened(&mut world);
    }
    assert_eq!((world.grant().spent, world.grant().spent_on_day, world.grant().daily_cap), (3 * PRICE, 3 * PRICE, 0));
    cap(&mut world, 3 * PRICE);
    is_over(&mut world);
    cap(&mut world, 0);
    opened(&mut world);
}

#[test]
fn a_day_that_overflows_is_over_the_cap() {
    let mut world = World::new();
    let address = world.addresses.grant(&world.caller.key(), &world.session.pubkey());
    world.tamper_state::<SpendingGrant>(&address, |grant| {
        (grant.spent_on_day, grant.day) = (u64::MAX, (START_UNIX_S / DAY_S) as u64);
    });
    is_over(&mut world);
}

/// The wallet's own openings are nobody's key's.
#[test]
fn a_wallets_own_openings_do_not_use_a_days_cap_up() {
    let mut world = World::new();
    cap(&mut world, PRICE);
    world.opened();
    opened(&mut world);
    is_over(&mut world);
    world.opened();
}
