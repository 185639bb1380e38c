//! The list of executions of callers with few and very many, with every filter and to the end; and single executions.

use anyhow::Result;
use chrono::TimeDelta;
use crtx_protocol::api_key::ApiKey;
use crtx_store::testing::market::{DAYS, ExecutionCount, execution_ids};

use super::{
    runner::{Case, Gates, Outcome, Runner, Total, Worst},
    service::Service,
    walk::walk,
};

const GATES: Gates = Gates { rps: Some(3_000.0), p99_ms: Some(50.0), of_healthz: None };
const SINGLE: Gates = Gates { rps: Some(8_000.0), p99_ms: None, of_healthz: None };
/// The callers by the number of their executions: half of all, 10 000, 200.
const CALLERS: [&str; 3] = ["most", "many", "few"];
/// Different executions that are read one at a time.
const VALUES: i64 = 500;

pub async fn measure(runner: &mut Runner, service: &Service) -> Result<()> {
    let mut worst = Worst::default();
    for (caller, name) in (0..).zip(CALLERS) {
        let key = service.size.key_of(caller);
        let name = format!("executions_list_{name}");
        for (filter, query, count) in filters(service, caller) {
            let full_name = format!("{name}_{filter}");
            if !runner.wants(&full_name) {
                continue;
            }
            let total = count.count(&service.pool).await;
            let case = Case {
                key: Some(key.clone()),
                total: Some(Total::Exactly(total)),
                ..Case::new(full_name, vec![format!("/v1/executions?limit=20{query}")])
            };
            worst.add(runner.run(&case, GATES).await?);
        }
        worst.add(different(runner, service, &name, &key).await?);
        worst.add(last_page(runner, &name, &key).await?);
    }
    for row in worst.rows("executions_list", GATES) {
        runner.keep(row);
    }
    single(runner, service).await
}

fn filters(service: &Service, caller: u32) -> Vec<(&'static str, String, ExecutionCount)> {
    let size = &service.size;
    let wallet = size.caller(caller);
    // The agent with the most executions.
    let agent = size.agent(0);
    let from = size.now - TimeDelta::days(DAYS * 2 / 3);
    let to = size.now - TimeDelta::days(DAYS / 3);
    let none = || ExecutionCount { wallet, ..ExecutionCount::default() };
    let times = format!("&from={}&to={}", from.format("%FT%T%.6fZ"), to.format("%FT%T%.6fZ"));
    // To the microsecond, as in the query.
    let whole = |time: chrono::DateTime<chrono::Utc>| {
        chrono::DateTime::from_timestamp_micros(time.timestamp_micros()).unwrap_or(time)
    };
    let within = || ExecutionCount { from: Some(whole(from)), to: Some(whole(to)), ..none() };
    vec![
        ("none", String::new(), none()),
        ("status", "&status=failed".to_owned(), ExecutionCount { status: Some("failed"), ..none() }),
        ("agent", format!("&agent_id={agent}"), ExecutionCount { agent: Some(agent), ..none() }),
        ("from_to", times.clone(), within()),
        (
            "all",
            format!("&status=completed&agent_id={agent}{times}"),
            ExecutionCount { status: Some("completed"), agent: Some(agent), ..within() },
        ),
        ("creator", "&role=creator".to_owned(), ExecutionCount { as_creator: true, ..none() }),
        (
            "creator_all",
            format!("&role=creator&status=completed&agent_id={agent}{times}"),
            ExecutionCount { as_creator: true, status: Some("completed"), agent: Some(agent), ..within() },
        ),
    ]
}

/// Time ranges of which no two are equal.
async fn different(runner: &mut Runner, service: &Service, name: &str, key: &ApiKey) -> Result<Outcome> {
    let full_name = format!("{name}_different_times");
    if !runner.wants(&full_name) {
        return Ok(Outcome::Skipped);
    }
    let paths = (0..VALUES).map(|value| {
        let from = service.size.now - TimeDelta::days(DAYS * 2 / 3) + TimeDelta::minutes(7 * value);
        let to = service.size.now - TimeDelta::days(DAYS / 3) - TimeDelta::minutes(11 * value);
        format!("/v1/executions?limit=20&from={}&to={}", from.format("%FT%TZ"), to.format("%FT%TZ"))
    });
    let case = Case { key: Some(key.clone()), ..Case::new(full_name, paths.collect()) };
    runner.run(&case, GATES).await
}

/// The last page by cursor, after a walk through all pages.
async fn last_page(runner: &mut Runner, name: &str, key: &ApiKey) -> Result<Outcome> {
    let full_name = format!("{name}_cursor_last");
    if !runner.wants(&full_name) {
        return Ok(Outcome::Skipped);
    }
    let list = "/v1/executions?limit=100";
    let walked = walk(runner, name, list, Some(key), ("executions", "execution_id")).await?;
    let cursors = walked.map(|walk| walk.cursors).unwrap_or_default();
    let cursor = cursors.last().map_or("none", String::as_str);
    let path = format!("/v1/executions?limit=20&cursor={cursor}");
    let case = Case { key: Some(key.clone()), ..Case::new(full_name, vec![path]) };
    runner.run(&case, GATES).await
}

/// Executions of the caller with 10 000, one at a time.
async fn single(runner: &mut Runner, service: &Service) -> Result<()> {
    let ids = execution_ids(&service.pool, &service.size.caller(1), VALUES).await;
    let paths = ids.into_iter().map(|id| format!("/v1/executions/{id}")).collect();
    let case = Case { key: Some(service.size.key_of(1)), ..Case::new("execution_get", paths) };
    runner.run(&case, SINGLE).await?;
    Ok(())
}
