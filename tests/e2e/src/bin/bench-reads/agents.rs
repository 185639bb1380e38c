//! The list of agents: every sort, every filter alone, all together, 500 different values, pages; and single agents.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::Result;
use crtx_e2e::bench::Row;
use crtx_store::testing::market::{self, AgentCount, COMMON_TAG, RARE_TAG, RARE_WORD, Random};

use super::{
    runner::{Case, Gates, Runner, Total, Worst},
    service::Service,
    walk::walk,
};

const GATES: Gates = Gates { rps: Some(6_000.0), p99_ms: Some(25.0), of_healthz: Some(0.4) };
const CHANGING: Gates = Gates { rps: Some(3_000.0), p99_ms: Some(50.0), of_healthz: None };
const SINGLE: Gates = Gates { rps: Some(8_000.0), p99_ms: None, of_healthz: None };
const INFO: Gates = Gates { rps: None, p99_ms: None, of_healthz: None };

const SORTS: [&str; 6] = ["total_executions", "success_rate", "price_asc", "price_desc", "created_at", "trust"];
/// Different values of the cases with many.
const VALUES: usize = 500;
/// 500 agents change in a second.
const TICK: Duration = Duration::from_millis(100);
const CHANGES_PER_TICK: u32 = 51;
const WANTED_CHANGES: f64 = 500.0;
/// A deep page by offset. Larger offsets are refused.
const DEEP_OFFSET: i64 = 9_980;

pub async fn measure(runner: &mut Runner, service: &Service) -> Result<()> {
    let mut worst = Worst::default();
    for sort in SORTS {
        let case = counted(service, &format!("sort_{sort}"), &format!("sort={sort}"), AgentCount::default()).await;
        worst.add(runner.run(&case, GATES).await?);
    }
    for (name, query, count) in filters(service) {
        let case = counted(service, name, &query, count).await;
        worst.add(runner.run(&case, GATES).await?);
    }
    for case in [searches(service).await, many_values(service).await, offsets(service).await].into_iter().flatten() {
        worst.add(runner.run(&case, GATES).await?);
    }
    pages(runner, &mut worst).await?;
    let whole = Case::new("agents_list_limit_100", paths(["limit=100".to_owned()]));
    runner.run(&whole, INFO).await?;
    let compressed = Case { compressed: true, ..Case::new("agents_list_compressed", paths(["limit=20".to_owned()])) };
    runner.run(&compressed, INFO).await?;
    for row in worst.rows("agents_list", GATES) {
        runner.keep(row);
    }
    changing(runner, service).await?;
    single(runner).await
}

/// Three of the lists while agents change, as they do when calls end.
async fn changing(runner: &mut Runner, service: &Service) -> Result<()> {
    if !runner.wants_some_of("agents_list_changing") {
        return Ok(());
    }
    let (pool, size) = (service.pool.clone(), service.size);
    let changed = Arc::new(AtomicU32::new(0));
    let started = Instant::now();
    let changes = tokio::spawn({
        let changed = Arc::clone(&changed);
        async move {
            let mut ticks = tokio::time::interval(TICK);
            loop {
                ticks.tick().await;
                let first = changed.fetch_add(CHANGES_PER_TICK, Ordering::Relaxed);
                let agents = (first..first + CHANGES_PER_TICK).map(|number| size.agent(number % size.agents));
                let agents: Vec<String> = agents.map(|agent| agent.to_string()).collect();
                market::complete_one_of_each(&pool, &agents).await;
            }
        }
    });
    for (name, query) in [
        ("sort_total_executions", "sort=total_executions".to_owned()),
        ("min_success_rate", "min_success_rate=0.9".to_owned()),
        ("q_typo", "q=analist".to_owned()),
    ] {
        let case = Case::new(format!("agents_list_changing_{name}"), paths([query]));
        runner.run(&case, CHANGING).await?;
    }
    changes.abort();
    let per_second = f64::from(changed.load(Ordering::Relaxed)) / started.elapsed().as_secs_f64();
    runner.keep(Row::new("agents_list_changing_changes", per_second, "1/s").at_least(WANTED_CHANGES));
    Ok(())
}

fn paths(queries: impl IntoIterator<Item = String>) -> Vec<String> {
    queries.into_iter().map(|query| format!("/v1/agents?{query}")).collect()
}

/// A case of one query, with the total that it must show.
async fn counted(service: &Service, name: &str, query: &str, count: AgentCount) -> Case {
    let total = count.count(&service.pool).await;
    let case = Case::new(format!("agents_list_{name}"), paths([query.to_owned()]));
    Case { total: Some(Total::Exactly(total)), ..case }
}

fn filters(service: &Service) -> Vec<(&'static str, String, AgentCount)> {
    let creator = service.size.creator(7);
    let none = AgentCount::default;
    let tag = |tag: &str| AgentCount { tags: vec![tag.to_owned()], ..none() };
    let all = AgentCount {
        tags: vec![COMMON_TAG.to_owned()],
        min_success_rate: 0.5,
        min_executions: 10,
        verified_only: true,
        max_price: Some(5_000_000),
        ..none()
    };
    let all_query = format!(
        "tags={COMMON_TAG}&min_success_rate=0.5&min_executions=10&verified_only=true&max_price=5&sort=price_asc"
    );
    vec![
        ("rare_tag", format!("tags={RARE_TAG}"), tag(RARE_TAG)),
        ("common_tag", format!("tags={COMMON_TAG}"), tag(COMMON_TAG)),
        (
            "two_tags",
            format!("tags={COMMON_TAG},tag-2"),
            AgentCount { tags: vec![COMMON_TAG.to_owned(), "tag-2".to_owned()], ..none() },
        ),
        ("min_success_rate", "min_success_rate=0.9".to_owned(), AgentCount { min_success_rate: 0.9, ..none() }),
        ("min_executions", "min_executions=1000".to_owned(), AgentCount { min_executions: 1_000, ..none() }),
        ("verified_only", "verified_only=true".to_owned(), AgentCount { verified_only: true, ..none() }),
        ("creator", format!("creator={creator}"), AgentCount { creator: Some(creator), ..none() }),
        ("max_price", "max_price=0.05".to_owned(), AgentCount { max_price: Some(50_000), ..none() }),
        ("all_filters", all_query, all),
    ]
}

/// A search for a frequent and a rare word, for a part of a word, for a word with a typing error, and with filters.
async fn searches(service: &Service) -> Vec<Case> {
    let rare = AgentCount { word: Some(RARE_WORD), ..AgentCount::default() };
    let common = AgentCount { word: Some("analyst"), ..AgentCount::default() };
    let (rare, common) = (rare.count(&service.pool).await, common.count(&service.pool).await);
    let case = |name: &str, query: &str, at_least: i64| Case {
        total: Some(Total::AtLeast(at_least)),
        ..Case::new(format!("agents_list_{name}"), paths([query.to_owned()]))
    };
    vec![
        case("q", "q=analyst", common),
        case("q_rare", &format!("q={RARE_WORD}"), rare),
        case("q_prefix", "q=anal", common),
        case("q_typo", "q=analist", common),
        case("q_filtered", "q=careful%20analyst&verified_only=true&min_success_rate=0.5&max_price=5", 0),
    ]
}

/// 500 different values of one filter, and 500 different combinations.
async fn many_values(service: &Service) -> Vec<Case> {
    let rate = |number: usize| 0.5 + number as f64 * 0.000_9;
    let rates = (0..VALUES).map(|number| format!("min_success_rate={:.4}", rate(number)));
    let first = AgentCount { min_success_rate: 0.5, ..AgentCount::default() }.count(&service.pool).await;
    let mut random = Random::new(21);
    let combinations = (0..VALUES).map(|number| {
        format!(
            "tags=tag-{}&min_success_rate={:.4}&min_executions={}&verified_only={}&sort={}",
            2 + random.below(40),
            rate(number) - 0.3,
            random.below(500),
            random.percent(30),
            random.pick(&SORTS)
        )
    });
    let rates = Case { total: Some(Total::Exactly(first)), ..Case::new("agents_list_different_values", paths(rates)) };
    vec![rates, Case::new("agents_list_different_filters", paths(combinations))]
}

async fn offsets(service: &Service) -> Vec<Case> {
    let total = AgentCount::default().count(&service.pool).await;
    let offset = DEEP_OFFSET.min(total - 20).max(0);
    let case = Case::new("agents_list_offset", paths([format!("offset={offset}")]));
    vec![Case { total: Some(Total::Exactly(total)), ..case }]
}

/// The first, middle and last page by cursor.
async fn pages(runner: &mut Runner, worst: &mut Worst) -> Result<()> {
    let list = "/v1/agents?limit=100&sort=created_at";
    let walked = walk(runner, "agents_list", list, None, ("agents", "agent_id")).await?;
    let cursors = walked.map(|walk| walk.cursors).unwrap_or_default();
    // Without cursors the last two are refused, as they should be seen.
    let at = |index: usize| cursors.get(index).map_or("none", String::as_str);
    for (name, cursor) in [("middle", at(cursors.len() / 2)), ("last", at(cursors.len().saturating_sub(1)))] {
        let query = format!("limit=20&sort=created_at&cursor={cursor}");
        let case = Case::new(format!("agents_list_cursor_{name}"), paths([query]));
        worst.add(runner.run(&case, GATES).await?);
    }
    Ok(())
}

/// 500 agents, one at a time.
async fn single(runner: &mut Runner) -> Result<()> {
    let mut ids = Vec::new();
    for page in 0..VALUES / 100 {
        let (_, body) =
            runner.get(&format!("/v1/agents?sort=price_desc&limit=100&offset={}", page * 100), None).await?;
        let agents = body["agents"].as_array().into_iter().flatten();
        ids.extend(agents.filter_map(|agent| Some(format!("/v1/agents/{}", agent["agent_id"].as_str()?))));
    }
    runner.run(&Case::new("agent_get", ids), SINGLE).await?;
    Ok(())
}
