//! Webhooks and their deliveries on a real PostgreSQL.

use std::time::Duration;

use chrono::TimeDelta;
use crtx_store::{
    PgPool, events,
    testing::{
        TestDatabase,
        fixtures::wallet,
        probes::{age_webhooks, log_event, next_attempts, queue_event},
    },
    webhooks::{
        self, DeliveryAttempt, DeliveryRetry, MOST_PER_WALLET, NewWebhook, Replay, Sealed, Webhook, WebhookChange,
        WebhookLease,
    },
};
use solana_pubkey::Pubkey;
use uuid::Uuid;

const OWNER: u8 = 2;

fn agent(number: u8) -> Pubkey {
    Pubkey::new_from_array([number; 32])
}

/// A webhook of the owner that takes these types.
async fn webhook(pool: &PgPool, number: u128, types: &[&str]) -> Uuid {
    let types: Vec<String> = types.iter().map(|&name| name.to_owned()).collect();
    assert!(created(pool, number, OWNER, &types, &[]).await);
    Uuid::from_u128(number)
}

async fn created(pool: &PgPool, number: u128, owner: u8, types: &[String], agents: &[String]) -> bool {
    let new = NewWebhook {
        webhook_id: Uuid::from_u128(number),
        wallet: wallet(owner),
        url: "https://target.example",
        types,
        agents,
        secret: &[1; 60],
        sealed_by: "gateway",
    };
    webhooks::create(pool, &new).await.unwrap()
}

/// Events of these executions, one after another.
async fn log(pool: &PgPool, executions: &[u128]) {
    for execution in executions {
        log_event(pool, &wallet(OWNER), "execution.opened", Some(agent(7)), Some(Uuid::from_u128(*execution))).await;
    }
}

async fn claim(pool: &PgPool) -> Option<WebhookLease> {
    let mut calm = webhooks::claim(pool, false, 10, false).await.unwrap();
    calm.extend(webhooks::claim(pool, true, 10, false).await.unwrap());
    assert!(calm.len() < 2, "{calm:?}");
    calm.pop()
}

/// The numbers that are due.
async fn due(pool: &PgPool, lease: WebhookLease) -> Vec<u64> {
    let target = webhooks::take(pool, lease, &[]).await.unwrap().expect("the lease holds");
    target.due.iter().map(|due| due.sequence.into()).collect()
}

fn answered(status: u16) -> DeliveryAttempt {
    DeliveryAttempt { status: Some(status), duration: Duration::from_millis(20), answer: "so".to_owned() }
}

async fn acknowledge(pool: &PgPool, lease: WebhookLease, number: u64) {
    let target = webhooks::take(pool, lease, &[]).await.unwrap().expect("the lease holds");
    let due = target.due.iter().find(|due| u64::from(due.sequence) == number).expect("due");
    webhooks::acknowledge(pool, lease, due.sequence, &answered(200), false).await.unwrap();
}

async fn fail(pool: &PgPool, lease: WebhookLease, number: u64, status: u16, next_s: Option<u64>) {
    let target = webhooks::take(pool, lease, &[]).await.unwrap().expect("the lease holds");
    let due = target.due.iter().find(|due| u64::from(due.sequence) == number).expect("due");
    let retry = DeliveryRetry { next: next_s.map(Duration::from_secs), pause: Duration::ZERO };
    webhooks::fail(pool, lease, due.sequence, &answered(status), retry).await.unwrap();
}

async fn release(pool: &PgPool, lease: WebhookLease) {
    webhooks::release(pool, lease, Duration::ZERO).await.unwrap();
}

async fn shown(pool: &PgPool, id: Uuid) -> Webhook {
    webhooks::list(pool, &wallet(OWNER), Some(id)).await.unwrap().pop().expect("a webhook")
}

/// Number and state of each line of the log, oldest first.
async fn states(pool: &PgPool, id: Uuid) -> Vec<(u64, String)> {
    let lines = webhooks::deliveries(pool, &wallet(OWNER), id, 1_000_000, 100).await.unwrap();
    lines.into_iter().rev().map(|line| (line.sequence.into(), line.state)).collect()
}

#[tokio::test]
async fn a_webhook_gets_the_events_after_its_creation_and_is_leased_once() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    log(pool, &[1]).await;
    webhook(pool, 1, &[]).await;
    assert_eq!(claim(pool).await, None, "nothing is new");
    log(pool, &[2, 3]).await;
    let lease = claim(pool).await.expect("something is new");
    assert_eq!(claim(pool).await, None, "another worker has it");
    assert_eq!(due(pool, lease).await, [2, 3]);
    acknowledge(pool, lease, 2).await;
    acknowledge(pool, lease, 3).await;
    assert!(due(pool, lease).await.is_empty());
    release(pool, lease).await;
    assert_eq!(claim(pool).await, None, "everything was sent");
}

#[tokio::test]
async fn events_that_came_while_no_worker_was_there_are_found_by_a_look_at_all() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    webhook(pool, 1, &[]).await;
    log(pool, &[1]).await;
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(claim(pool).await, None);
    assert_eq!(webhooks::claim(pool, false, 10, true).await.unwrap().len(), 1);
}

#[tokio::test]
async fn what_a_dead_worker_left_is_taken_over_after_its_lease() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    webhook(pool, 1, &[]).await;
    log(pool, &[1]).await;
    let dead = claim(pool).await.expect("a lease");
    assert_eq!(due(pool, dead).await, [1]);
    age_webhooks(pool, TimeDelta::seconds(29)).await;
    assert_eq!(claim(pool).await, None);
    age_webhooks(pool, TimeDelta::seconds(2)).await;
    let lease = claim(pool).await.expect("it is over");
    assert_eq!(due(pool, lease).await, [1]);
    assert_eq!(webhooks::take(pool, dead, &[]).await.unwrap(), None, "the lease is lost");
    // The dead one was only slow: its failure counts no more, and its release frees nothing.
    let due = webhooks::take(pool, lease, &[]).await.unwrap().unwrap().due[0];
    let retry = DeliveryRetry { next: None, pause: Duration::ZERO };
    webhooks::fail(pool, dead, due.sequence, &answered(500), retry).await.unwrap();
    release(pool, dead).await;
    assert_eq!(self::due(pool, lease).await, [1]);
    assert_eq!(claim(pool).await, None);
}

#[tokio::test]
async fn events_of_one_execution_wait_for_the_one_before() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    webhook(pool, 1, &[]).await;
    log(pool, &[1, 1, 2, 1, 2]).await;
    let lease = claim(pool).await.expect("a lease");
    assert_eq!(due(pool, lease).await, [1, 3]);
    fail(pool, lease, 1, 500, Some(60)).await;
    acknowledge(pool, lease, 3).await;
    assert_eq!(due(pool, lease).await, [5], "what failed is due later, and what comes after it waits");
    fail(pool, lease, 5, 500, None).await;
    assert!(due(pool, lease).await.is_empty());
    age_webhooks(pool, TimeDelta::seconds(61)).await;
    let lease = claim(pool).await.expect("the lease is over as well");
    fail(pool, lease, 1, 500, None).await;
    assert_eq!(due(pool, lease).await, [2], "the one before was given up");
    // A number that is on its way is not read again, and nothing overtakes it.
    let on_its_way = webhooks::take(pool, lease, &[]).await.unwrap().unwrap().due[0].sequence;
    assert!(webhooks::take(pool, lease, &[on_its_way]).await.unwrap().unwrap().due.is_empty());
}

#[tokio::test]
async fn types_and_agents_choose_what_is_sent() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let id = webhook(pool, 1, &["payout"]).await;
    assert!(created(pool, 2, 3, &[], &[agent(7).to_string()]).await, "of another wallet");
    for (owner, event_type, of) in [
        (OWNER, "payout", Some(agent(7))),
        (OWNER, "execution.opened", Some(agent(7))),
        (3, "payout", Some(agent(7))),
        (3, "payout", Some(agent(8))),
        (3, "key.created", None),
    ] {
        log_event(pool, &wallet(owner), event_type, of, None).await;
    }
    let leases = webhooks::claim(pool, false, 10, false).await.unwrap();
    assert_eq!(leases.len(), 2);
    for lease in leases {
        assert_eq!(due(pool, lease).await, [1]);
        release(pool, lease).await;
    }
    assert_eq!(u64::from(shown(pool, id).await.taken), 2);
}

#[tokio::test]
async fn after_three_failures_the_webhook_pauses_and_its_first_success_makes_everything_due() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let id = webhook(pool, 1, &[]).await;
    log(pool, &[1, 2, 3, 4]).await;
    let lease = claim(pool).await.expect("a lease");
    for number in 1..=3 {
        fail(pool, lease, number, 503, Some(7_200)).await;
    }
    release(pool, lease).await;
    assert!(shown(pool, id).await.failing_since.is_some());
    assert_eq!(claim(pool).await, None, "the fourth is due, and the webhook pauses");
    age_webhooks(pool, TimeDelta::minutes(4)).await;
    assert!(webhooks::claim(pool, false, 10, false).await.unwrap().is_empty(), "it is apart from the others");
    let lease = claim(pool).await.expect("the pause is over");
    assert_eq!(due(pool, lease).await, [4]);
    acknowledge(pool, lease, 4).await;
    assert!(due(pool, lease).await.is_empty(), "five minutes after their last attempt");
    age_webhooks(pool, TimeDelta::seconds(61)).await;
    let lease = claim(pool).await.expect("two hours are not over");
    assert_eq!(due(pool, lease).await, [1, 2, 3]);
    assert_eq!(shown(pool, id).await.failing_since, None);
    // A target that asks for a pause gets it, whatever else is due.
    let target = webhooks::take(pool, lease, &[]).await.unwrap().unwrap();
    let retry = DeliveryRetry { next: Some(Duration::from_secs(600)), pause: Duration::from_secs(600) };
    webhooks::fail(pool, lease, target.due[0].sequence, &answered(429), retry).await.unwrap();
    release(pool, lease).await;
    age_webhooks(pool, TimeDelta::seconds(590)).await;
    assert_eq!(claim(pool).await, None);
    age_webhooks(pool, TimeDelta::seconds(20)).await;
    assert!(claim(pool).await.is_some());
}

/// The types of the owner's events, oldest first.
async fn types(pool: &PgPool) -> Vec<String> {
    while events::number(pool).await.unwrap() > 0 {}
    let mut connection = pool.acquire().await.unwrap();
    let page = events::page(&mut connection, &wallet(OWNER), 0, &[], 1_000).await.unwrap();
    page.events.into_iter().map(|event| event.event_type).collect()
}

#[tokio::test]
async fn after_five_days_of_failure_a_webhook_is_disabled_and_goes_on_without_a_hole() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let id = webhook(pool, 1, &[]).await;
    log(pool, &[1, 2, 3]).await;
    let lease = claim(pool).await.expect("a lease");
    acknowledge(pool, lease, 1).await;
    fail(pool, lease, 2, 500, None).await;
    release(pool, lease).await;
    age_webhooks(pool, TimeDelta::days(5) + TimeDelta::minutes(1)).await;
    // The first attempts after a long time say little.
    for _ in 0..2 {
        let lease = claim(pool).await.expect("a lease");
        fail(pool, lease, 3, 500, Some(5)).await;
        release(pool, lease).await;
        assert_eq!(shown(pool, id).await.disabled_at, None);
        age_webhooks(pool, TimeDelta::minutes(10)).await;
    }
    let lease = claim(pool).await.expect("a lease");
    fail(pool, lease, 3, 500, Some(5)).await;
    assert_eq!(shown(pool, id).await.disabled_reason.as_deref(), Some("failing"));
    assert_eq!(webhooks::take(pool, lease, &[]).await.unwrap(), None, "nothing is sent any more");
    log(pool, &[4]).await;
    age_webhooks(pool, TimeDelta::days(1)).await;
    assert_eq!(claim(pool).await, None);
    assert_eq!(types(pool).await[3..], ["webhook.disabled", "execution.opened"]);
    let enable = WebhookChange { enabled: Some(true), ..WebhookChange::default() };
    assert!(webhooks::change(pool, &wallet(OWNER), id, &enable).await.unwrap());
    let lease = claim(pool).await.expect("it goes on");
    assert_eq!(due(pool, lease).await, [2, 3, 4, 5], "from the last one that was acknowledged");
    assert_eq!(shown(pool, id).await.disabled_reason, None);
}

#[tokio::test]
async fn a_target_that_is_gone_disables_its_webhook_and_its_owner_can() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let id = webhook(pool, 1, &[]).await;
    log(pool, &[1]).await;
    let lease = claim(pool).await.expect("a lease");
    fail(pool, lease, 1, 410, Some(5)).await;
    assert_eq!(shown(pool, id).await.disabled_reason.as_deref(), Some("gone"));
    let change = |enabled| WebhookChange { enabled: Some(enabled), ..WebhookChange::default() };
    assert!(webhooks::change(pool, &wallet(OWNER), id, &change(true)).await.unwrap());
    while events::number(pool).await.unwrap() > 0 {}
    let lease = claim(pool).await.expect("it goes on");
    assert_eq!(due(pool, lease).await, [1, 2], "with the event that it was disabled");
    assert!(webhooks::change(pool, &wallet(OWNER), id, &change(false)).await.unwrap());
    assert_eq!(webhooks::take(pool, lease, &[]).await.unwrap(), None);
    assert_eq!(shown(pool, id).await.disabled_reason.as_deref(), Some("owner"));
    assert_eq!(types(pool).await, ["execution.opened", "webhook.disabled", "webhook.disabled"]);
}

#[tokio::test]
async fn a_replay_sends_what_it_planned_again_and_can_be_cancelled() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let owner = wallet(OWNER);
    let id = webhook(pool, 1, &[]).await;
    log(pool, &[1, 1, 2, 3]).await;
    let lease = claim(pool).await.expect("a lease");
    for number in [1, 2, 3, 4] {
        acknowledge(pool, lease, number).await;
    }
    release(pool, lease).await;
    let count = webhooks::count_replay(pool, &owner, id, (2, 9), &["execution.opened".to_owned()]).await.unwrap();
    assert_eq!(count, Some(3));
    assert_eq!(webhooks::count_replay(pool, &owner, id, (2, 9), &["payout".to_owned()]).await.unwrap(), Some(0));
    let replay = Replay { from: 1, through: 3, types: Vec::new(), events: 3, taken: 0, waiting: 0 };
    assert!(webhooks::start_replay(pool, &owner, id, &replay).await.unwrap());
    assert!(!webhooks::start_replay(pool, &owner, id, &replay).await.unwrap(), "one at a time");
    let lease = claim(pool).await.expect("it begins");
    assert_eq!(due(pool, lease).await, [1, 3], "in order");
    acknowledge(pool, lease, 1).await;
    let progress = shown(pool, id).await.replay.expect("a replay").0;
    assert_eq!(progress, Replay { taken: 3, waiting: 2, ..replay.clone() });
    assert!(!webhooks::start_replay(pool, &owner, id, &replay).await.unwrap(), "it is not over");
    assert!(webhooks::cancel_replay(pool, &owner, id).await.unwrap());
    assert!(due(pool, lease).await.is_empty());
    let acknowledged = |number| (number, "acknowledged".to_owned());
    assert_eq!(states(pool, id).await, [1, 2, 3, 4].map(acknowledged), "as before");
    assert!(webhooks::start_replay(pool, &owner, id, &replay).await.unwrap());
}

#[tokio::test]
async fn at_most_a_thousand_deliveries_wait_and_none_is_lost() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let id = webhook(pool, 1, &[]).await;
    for _ in 0..1_050 {
        queue_event(pool, &wallet(OWNER), "payout", &serde_json::json!({})).await;
    }
    while events::number(pool).await.unwrap() > 0 {}
    let lease = claim(pool).await.expect("a lease");
    assert_eq!(due(pool, lease).await.len(), 64);
    assert_eq!((u64::from(shown(pool, id).await.waiting), u64::from(shown(pool, id).await.taken)), (1_000, 1_000));
    let mut seen = Vec::new();
    loop {
        let target = webhooks::take(pool, lease, &[]).await.unwrap().expect("the lease holds");
        if target.due.is_empty() {
            break;
        }
        for due in target.due {
            seen.push(u64::from(due.sequence));
            webhooks::acknowledge(pool, lease, due.sequence, &answered(204), false).await.unwrap();
        }
    }
    assert_eq!(seen, (1..=1_050).collect::<Vec<_>>());
}

#[tokio::test]
async fn an_event_that_left_the_log_is_not_sent() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let id = webhook(pool, 1, &[]).await;
    log(pool, &[1, 1]).await;
    let lease = claim(pool).await.expect("a lease");
    fail(pool, lease, 1, 500, Some(5)).await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(events::drop_old(pool, TimeDelta::milliseconds(10)).await.unwrap(), 2);
    assert!(due(pool, lease).await.is_empty());
    assert_eq!(states(pool, id).await, [1, 2].map(|number| (number, "given_up".to_owned())));
}

#[tokio::test]
async fn only_its_wallet_sees_and_changes_a_webhook_and_it_has_ten_at_most() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let (owner, stranger) = (wallet(OWNER), wallet(9));
    let id = webhook(pool, 1, &[]).await;
    log(pool, &[1]).await;
    let lease = claim(pool).await.expect("a lease");
    assert_eq!(due(pool, lease).await, [1]);
    let change = WebhookChange { url: Some("https://evil.example"), ..WebhookChange::default() };
    assert!(!webhooks::change(pool, &stranger, id, &change).await.unwrap());
    assert!(!webhooks::delete(pool, &stranger, id).await.unwrap());
    assert_eq!(webhooks::sealed(pool, &stranger, id).await.unwrap(), None);
    assert!(webhooks::list(pool, &stranger, Some(id)).await.unwrap().is_empty());
    assert!(webhooks::list(pool, &stranger, None).await.unwrap().is_empty());
    assert!(webhooks::deliveries(pool, &stranger, id, 100, 100).await.unwrap().is_empty());
    assert_eq!(webhooks::count_replay(pool, &stranger, id, (1, 9), &[]).await.unwrap(), None);
    let replay = Replay { from: 1, through: 9, types: Vec::new(), events: 1, taken: 0, waiting: 0 };
    assert!(!webhooks::start_replay(pool, &stranger, id, &replay).await.unwrap());
    assert!(!webhooks::cancel_replay(pool, &stranger, id).await.unwrap());
    for number in 2..=MOST_PER_WALLET {
        webhook(pool, number.try_into().unwrap(), &[]).await;
    }
    assert!(!created(pool, 99, OWNER, &[], &[]).await);
    assert!(created(pool, 98, 9, &[], &[]).await, "another wallet has its own");
    assert!(webhooks::change(pool, &owner, id, &change).await.unwrap());
    assert_eq!(shown(pool, id).await.url, "https://evil.example");
    assert!(webhooks::delete(pool, &owner, id).await.unwrap());
    assert_eq!(webhooks::take(pool, lease, &[]).await.unwrap(), None);
}

#[tokio::test]
async fn the_old_secret_signs_until_the_overlap_is_over_and_a_lost_race_changes_nothing() {
    let database = TestDatabase::create().await;
    let (pool, owner) = (database.pool(), wallet(OWNER));
    let id = webhook(pool, 1, &[]).await;
    let sealed = async || webhooks::sealed(pool, &owner, id).await.unwrap().expect("secrets");
    let before = sealed().await;
    let after = Sealed { secret: vec![2; 60], old_secret: Some(vec![3; 60]), ..before.clone() };
    assert!(webhooks::reseal(pool, &before, &after, Some(TimeDelta::hours(24))).await.unwrap());
    assert!(!webhooks::reseal(pool, &before, &after, Some(TimeDelta::hours(24))).await.unwrap());
    assert_eq!(sealed().await, after);
    let other_key = Sealed { secret: vec![4; 60], sealed_by: "next".to_owned(), ..after.clone() };
    let others = webhooks::sealed_by(pool, &["gateway".to_owned()], 9).await.unwrap();
    assert_eq!(others.as_slice(), std::slice::from_ref(&after));
    assert!(webhooks::reseal(pool, &after, &other_key, None).await.unwrap());
    assert!(webhooks::sealed_by(pool, &["gateway".to_owned()], 9).await.unwrap().is_empty());
    age_webhooks(pool, TimeDelta::hours(23)).await;
    assert_eq!(sealed().await, other_key);
    age_webhooks(pool, TimeDelta::hours(2)).await;
    assert_eq!(sealed().await.old_secret, None);
}

#[tokio::test]
async fn enabling_and_a_new_address_hurry_what_waits() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let id = webhook(pool, 1, &[]).await;
    log(pool, &[1]).await;
    let lease = claim(pool).await.expect("a lease");
    fail(pool, lease, 1, 500, Some(7_200)).await;
    release(pool, lease).await;
    assert!(next_attempts(pool).await[0].1 > 7_000.0);
    let change = WebhookChange { url: Some("https://other.example"), ..WebhookChange::default() };
    assert!(webhooks::change(pool, &wallet(OWNER), id, &change).await.unwrap());
    let lease = claim(pool).await.expect("at once");
    assert_eq!(due(pool, lease).await, [1]);
}
