//! The service: whether it answers, and how far its index is behind the chain.

use std::time::Duration;

use serde_json::Value;

use super::finding::Finding;
use crate::{
    api::Api,
    arguments::ServiceArgs,
    settings::{Network, Settings},
};

/// A service that answers later is no help.
const LIMIT: Duration = Duration::from_secs(10);
/// A few seconds of slots.
const MAX_LAG_SLOTS: u64 = 100;

pub async fn look(settings: &Settings, arguments: &ServiceArgs) -> Vec<Finding> {
    let fix = match settings.network {
        Network::Local => "start `crtx up`, or name the service with --url",
        _ => "name the service with --url, or: crtx config set url URL",
    };
    let api = match Api::of(settings, arguments) {
        Ok(api) => api,
        Err(error) => return vec![Finding::wrong("service", error.to_string(), fix)],
    };
    let status = tokio::time::timeout(LIMIT, api.get::<Value>("/v1/status")).await;
    match status {
        Err(_elapsed) => {
            vec![Finding::wrong("service", format!("{} does not answer in time", api.base_url()), fix)]
        }
        Ok(Err(error)) => vec![Finding::wrong("service", format!("{error:#}"), fix)],
        Ok(Ok(status)) => vec![Finding::ok("service", api.base_url()), index(&status)],
    }
}

fn index(status: &Value) -> Finding {
    let state = status.get("status").and_then(Value::as_str).unwrap_or("unknown");
    let lag = status.get("lag_slots").and_then(Value::as_u64);
    let fix = "answers about agents and executions may be old; see GET /v1/status, or tell the operator";
    match (state, lag) {
        ("live", Some(lag)) if lag <= MAX_LAG_SLOTS => Finding::ok("index", format!("{lag} slots behind the chain")),
        (state, Some(lag)) => Finding::wrong("index", format!("{state}, {lag} slots behind the chain"), fix),
        (state, None) => Finding::wrong("index", format!("{state}, and it does not say how far it is behind"), fix),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::doctor::finding::State;

    #[test]
    fn an_index_that_is_stale_or_far_behind_is_wrong() {
        assert_eq!(index(&json!({"status": "live", "lag_slots": 3})).state, State::Ok);
        for status in [
            json!({"status": "live", "lag_slots": 101}),
            json!({"status": "stale", "lag_slots": 3}),
            json!({"status": "starting", "lag_slots": null}),
            json!({}),
        ] {
            assert_eq!(index(&status).state, State::Wrong, "{status}");
        }
    }
}
