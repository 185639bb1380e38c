//! One address answers with the keys of two networks.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "tests")]

use std::fs;

use crtx_e2e::{Info, Up, market::Market, server::Server};
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn a_test_key_pays_at_the_address_of_the_mainnet_deployment_on_its_own_network() {
    let folder = crtx_e2e::folder();
    let mut up = Up::start(folder.path(), &["--trusted-proxies", "127.0.0.1/32"]).await.unwrap();
    let info = up.info().clone();
    // A deployment of mainnet for this test: over the same chain, with a key of its own kind.
    let config = folder.path().join("mainnet.toml");
    let text = fs::read_to_string(&info.server_config).unwrap();
    let other = format!("public_url = \"https://api.example\"\nother_network_url = \"{}\"\n", info.base_url);
    fs::write(&config, other + &text.replace("\"local\"", "\"mainnet\"")).unwrap();
    let mut mainnet = Server::start_with(&config, folder.path(), "mainnet", "api").unwrap();
    mainnet.until_readyz_is(200).await.unwrap();
    let (here, at_mainnet) = (Market::new(info.clone()), mainnet.market(&info));

    let before = here.balances().await;
    let paid = at_mainnet.execute(&at_mainnet.agent("text-stats"), &json!({"task": "One. Two."})).await;
    assert_eq!(paid.status, 200, "{paid:?}");
    assert_eq!(here.balances().await.caller, before.caller - here.price("text-stats"));
    let id = paid.text("execution_id").to_owned();
    let record = at_mainnet.get_as_owner(&format!("/v1/executions/{id}")).await;
    assert_eq!((record.status.as_u16(), record.text("status")), (200, "completed"), "{record:?}");

    let events = at_mainnet.get_as_owner(&format!("/v1/executions/{id}/events")).await;
    assert!(events.body.as_str().unwrap().contains("event: execution.completed\n"), "{events:?}");

    // Who has no key reads the network of the address.
    let network = |market: &Market| {
        let url = format!("{}/v1/network", market.info.base_url);
        async move { reqwest::get(url).await.unwrap().json::<serde_json::Value>().await.unwrap()["network"].clone() }
    };
    assert_ne!(network(&at_mainnet).await, network(&here).await);
    // A key of mainnet is not passed on, and the local network refuses it.
    let live = Info { api_key: info.api_key.replace("crtx_test_", "crtx_live_"), ..info.clone() };
    for base_url in [mainnet.base_url.clone(), info.base_url.clone()] {
        let answer = Market::new(Info { base_url, ..live.clone() }).get_as_owner("/v1/executions").await;
        assert_eq!(answer.status, 401, "{answer:?}");
    }

    // The deployment of the other network is away.
    up.stop().await.unwrap();
    let refused = at_mainnet.execute(&at_mainnet.agent("text-stats"), &json!({"task": "Three."})).await;
    assert_eq!((refused.status.as_u16(), refused.error_code()), (503, "unavailable"), "{refused:?}");
    assert!(mainnet.stop().await.unwrap().success());
}
