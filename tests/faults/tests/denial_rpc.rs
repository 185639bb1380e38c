//! What a hung or limiting RPC node costs: the calls that need it, and nothing else.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::time::{Duration, Instant};

use crtx_faults::{
    client::{Client, Execute, Reply},
    denial::{
        Bystander, Site,
        bystander::{attack_period, idle_period},
    },
    rpc_proxy::Mood,
};
use serde_json::json;

const CALLERS: usize = 60;
/// A gateway answers a call by then, whatever its node does: it gives a read of the chain 10 s, and an
/// opening that may have been sent 20 s.
const ANSWER_LIMIT: Duration = Duration::from_secs(35);
/// A node that limits requests is not waited for.
const LIMITED_ANSWER: Duration = Duration::from_secs(8);
const RECOVERY_LIMIT: Duration = Duration::from_secs(20);
const STOP_LIMIT: Duration = Duration::from_secs(45);

/// One call at the gateway whose node is broken; how long it took to be answered.
async fn call(client: Client, base_url: String, key: String, agent: String) -> (Duration, Reply) {
    let body = json!({"task": "One. Two."});
    let call = Execute {
        base_url: &base_url,
        api_key: &key,
        agent: &agent,
        body: &body,
        idempotency_key: None,
        patience: Duration::from_secs(90),
    };
    let started = Instant::now();
    let reply = client.execute(&call).await;
    (started.elapsed(), reply)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hung_or_limiting_node_stops_only_the_calls_that_need_it() {
    let mut site = Site::start("rpc", 1).await.unwrap();
    let gateway = site.world.gateways.remove(0);
    let agent = site.honest_agent().unwrap();
    // The bystander's gateway has a node that works; the same database lies under both.
    let bystander = site.bystander().unwrap();
    let pid = gateway.process.pid().unwrap();
    let neighbour = Bystander::new(&gateway.base_url, &site.attacker_key, &agent, pid);
    bystander.watch(Duration::from_secs(1)).await;
    neighbour.watch(Duration::from_secs(1)).await;
    let (idle, neighbour_idle) = tokio::join!(bystander.watch(idle_period()), neighbour.watch(idle_period()));
    assert!(
        idle.refused.is_empty() && neighbour_idle.refused.is_empty(),
        "{:?} {:?}",
        idle.refused,
        neighbour_idle.refused
    );
    let neighbour = neighbour.without_calls();

    let mut wrong = Vec::new();
    // Making a client takes longer than many a call.
    let client = Client::new().unwrap();
    for (mood, limit) in [(Mood::Hangs, ANSWER_LIMIT), (Mood::TooManyRequests, LIMITED_ANSWER)] {
        let name = format!("a node that {mood:?}");
        gateway.rpc.set(mood);
        let calls: Vec<_> = (0..CALLERS)
            .map(|_| {
                tokio::spawn(call(client.clone(), gateway.base_url.clone(), site.attacker_key.clone(), agent.clone()))
            })
            .collect();
        let (measured, at_neighbour) = tokio::join!(bystander.watch(attack_period()), neighbour.watch(attack_period()));
        wrong.extend(bystander.compare(&format!("{name}, at a gateway of its own"), &idle, &measured));
        wrong.extend(neighbour.compare(&format!("{name}, at its gateway"), &neighbour_idle, &at_neighbour));
        let mut slowest = Duration::ZERO;
        for call in calls {
            let (took, reply) = call.await.unwrap();
            slowest = slowest.max(took);
            // 503 is not a failure of the call; 429 is a limit of the gateway's own.
            if !matches!(reply.status(), Some(202 | 429 | 503)) {
                wrong.push(format!("{name}: {reply:?} after {took:?}"));
            }
        }
        eprintln!("{name}: {CALLERS} calls were answered within {slowest:.1?}");
        if slowest > limit {
            wrong.push(format!("{name}: a call was answered after {slowest:?}; {limit:?} are allowed"));
        }
        // The next fault meets a client that trusts its node again.
        gateway.rpc.set(Mood::Healthy);
        let healthy = Instant::now();
        let recovered = async {
            while call(client.clone(), gateway.base_url.clone(), site.attacker_key.clone(), agent.clone())
                .await
                .1
                .status()
                != Some(200)
            {
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        };
        match tokio::time::timeout(RECOVERY_LIMIT, recovered).await {
            Ok(()) => eprintln!("{name}: a call succeeds {:.1?} after it answers again", healthy.elapsed()),
            Err(_) => wrong.push(format!("{name}: no call succeeds {RECOVERY_LIMIT:?} after it answers again")),
        }
    }
    gateway.rpc.set(Mood::Hangs);
    let calls: Vec<_> = (0..8)
        .map(|_| tokio::spawn(call(client.clone(), gateway.base_url.clone(), site.attacker_key.clone(), agent.clone())))
        .collect();
    tokio::time::sleep(Duration::from_secs(1)).await;
    match gateway.process.stop(STOP_LIMIT).await {
        Ok(took) => eprintln!("SIGTERM ended the gateway of a hung node after {took:.1?}"),
        Err(error) => wrong.push(format!("SIGTERM while the node hangs: {error:#}")),
    }
    calls.into_iter().for_each(|call| call.abort());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
