//! What bodies of strangers cost everybody else: slow ones without a credential, and long ones that are refused.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crtx_faults::{
    denial::{Attack, Site, Trial, bombs, sockets, sockets::Held},
    market::Caps,
};
use crtx_protocol::{content::cid_of, result_hash::ResultHash};
use serde_json::{Value, json};
use solana_keypair::Keypair;

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

/// A path that takes content of anybody: a listing names it, and it is stored nowhere.
async fn wanted_content(site: &Site) -> String {
    let folder = site.world.content_dir();
    let document = bombs::document(&json!({}), "http://127.0.0.1:1/wanted");
    bombs::list(&site.chain, &site.creator, &folder, 0, &document).await.unwrap();
    site.settle_listings().await;
    let cid = cid_of(&ResultHash::of(&document));
    std::fs::remove_file(folder.join(&cid)).unwrap();
    format!("/ipfs/{cid}")
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_bodies_without_a_credential_keep_no_paid_call_out() {
    let site = Site::start("bodies", 0).await.unwrap();
    let target = format!("PUT {}", wanted_content(&site).await);
    for entrance in site.entrances().await.unwrap() {
        let bystander = entrance.bystander(site.bystander().unwrap());
        let mut trial = Trial::start(&bystander).await;
        for (clients, addresses) in [(100, 1), (200, 40)] {
            for held in [Held::Nearly(MIB), Held::Nearly(60 * KIB), Held::Unannounced(900 * KIB), Held::Nothing(MIB)] {
                let name = format!("{clients} clients of {addresses} addresses hold {held:?}, {}", entrance.name);
                trial.under(&name, sockets::held_bodies(entrance.address(), clients, addresses, &target, held)).await;
            }
        }
        trial.verdict();
    }
}

/// A call of nearly 1 MiB that takes much longer to read than to send.
fn dear_call(end: &str) -> Value {
    json!({"task": end, "parameters": {"top_words": vec![0; 500_000]}})
}

#[tokio::test(flavor = "multi_thread")]
async fn long_calls_that_are_refused_slow_no_paid_call_down() {
    let site = Site::start("long-calls", 0).await.unwrap();
    let caps = [Caps { per_call: 1_000_000, total: 1_000_000_000 }];
    let poor = site.chain.wallet(&site.pool, Keypair::new(), 1, &caps).await.unwrap();
    let poor = poor.keys.first().unwrap().reveal();
    let (agent, nobody) = (site.honest_agent().unwrap(), solana_pubkey::Pubkey::new_unique().to_string());
    let unknown_key = crtx_protocol::api_key::ApiKey::from_secret(crtx_protocol::api_key::KeyNetwork::Test, [9; 32]);
    for entrance in site.entrances().await.unwrap() {
        let bystander = entrance.bystander(site.bystander().unwrap());
        let mut trial = Trial::start(&bystander).await;
        for (what, key, agent) in [
            ("long calls of a key that nobody knows", &unknown_key.reveal(), &agent),
            ("long calls of an agent that is not there", &site.attacker_key, &nobody),
            ("long calls of a wallet that cannot pay", &poor, &agent),
            ("long calls with parameters that do not match", &site.attacker_key, &agent),
        ] {
            let calls = vec![(agent.clone(), dear_call(what))];
            let name = format!("{what}, {}", entrance.name);
            trial.under(&name, Attack::calls(10, &entrance.base_url, key, calls)).await;
        }
        trial.verdict();
    }
}
