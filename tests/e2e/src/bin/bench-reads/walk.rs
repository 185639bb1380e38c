//! A list from its first page to its last by `cursor`: nothing is missing, nothing stands twice, and the last pages
//! take no longer than the first.

use std::{collections::HashSet, time::Instant};

use anyhow::{Context, Result, ensure};
use crtx_e2e::bench::{Row, percentile};
use crtx_protocol::api_key::ApiKey;
use serde_json::Value;

use super::runner::{Runner, Total};

/// The last pages may take so many times as long as the first.
const FLAT: f64 = 2.0;

/// The cursors of a list's pages, in their order; the first page has none.
pub struct Walk {
    pub cursors: Vec<String>,
}

/// Follows the cursors. `path` ends with its query; `items` and `id` name the list and the identity of its items.
/// `None` if the service offers no cursors.
pub async fn walk(
    runner: &mut Runner,
    name: &str,
    path: &str,
    key: Option<&ApiKey>,
    (items, id): (&str, &str),
) -> Result<Option<Walk>> {
    let (mut cursors, mut seen, mut pages_ms) = (Vec::<String>::new(), HashSet::new(), Vec::new());
    let mut total = 0;
    loop {
        let cursor = cursors.last().map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
        let started = Instant::now();
        let (status, body) = runner.get(&format!("{path}{cursor}"), key).await?;
        pages_ms.push(started.elapsed().as_secs_f64() * 1_000.0);
        if cursors.is_empty() && (status != 200 || body.get("next_cursor").is_none()) {
            eprintln!("{name:48} no cursors ({status})");
            return Ok(None);
        }
        ensure!(status == 200, "page {} of {name}: {status} {body}", pages_ms.len());
        total = body["total"].as_i64().unwrap_or(total);
        for item in body[items].as_array().context("a page")? {
            seen.insert(item[id].as_str().context("an id")?.to_owned());
        }
        match &body["next_cursor"] {
            Value::String(next) => cursors.push(next.clone()),
            _ => break,
        }
    }
    runner.check_total(&format!("{name}_walk"), Total::Exactly(total), i64::try_from(seen.len()).ok());
    let ratio = growth(&pages_ms);
    eprintln!("{name:48} {} pages, the last tenth takes {ratio:.2} of the first", pages_ms.len());
    runner.keep(Row::new(format!("{name}_walk_last_of_first"), ratio, "").at_most(FLAT));
    Ok(Some(Walk { cursors }))
}

/// What a page of the last tenth takes, as a multiple of the first tenth.
fn growth(pages_ms: &[f64]) -> f64 {
    let tenth = pages_ms.len().div_ceil(10);
    let (mut first, mut last) = (pages_ms[..tenth].to_vec(), pages_ms[pages_ms.len() - tenth..].to_vec());
    percentile(&mut last, 0.5) / percentile(&mut first, 0.5)
}
