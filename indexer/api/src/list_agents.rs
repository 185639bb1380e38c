//! `GET /v1/agents`, answered from memory.

use std::{sync::Arc, time::Duration};

use axum::{
    Extension,
    extract::{RawQuery, State},
};
use crtx_http::{ApiError, ErrorBody, ErrorCode, FromQuery, KeptBody, QueryParams, Whole, extract::read};
use crtx_protocol::{metadata::is_tag, usdc::UsdcBase};
use crtx_store::reads::agent_list::AgentSummary;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    agent_list::{AgentListQuery, AgentSort, MAX_WORDS, Table, words},
    layers::ShownSlot,
    paging::{self, Paging},
    state::ApiState,
    types,
};

/// Limit of the filter. No listing has more tags.
const MAX_TAGS_IN_FILTER: usize = 20;
/// Characters of a search.
const MAX_SEARCH_CHARS: usize = 200;
/// When a client may ask again before the first table is read.
const RETRY_AFTER: Duration = Duration::from_secs(2);

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct AgentListResponse {
    pub agents: Vec<AgentSummary>,
    /// Agents that pass the filter, on all pages.
    pub total: u64,
    pub limit: u32,
    pub offset: u64,
    /// The `cursor` of the next page; null on the last.
    #[schema(required)]
    pub next_cursor: Option<String>,
}

impl FromQuery for AgentListQuery {
    fn from_query(params: &mut QueryParams) -> Result<Self, ApiError> {
        let Paging { limit, offset, cursor } = Paging::from_query(params)?;
        let q = search(params)?;
        Ok(Self {
            limit,
            offset,
            cursor,
            sort: sort(params, !q.is_empty())?,
            q,
            tags: tags(params)?,
            creator: types::address(params, "creator", "must be the address of a wallet")?.map(|it| it.to_string()),
            min_success_rate: min_success_rate(params)?,
            min_executions: params.integer("min_executions", 0, i64::MAX.unsigned_abs())?.unwrap_or(0),
            max_price: max_price(params)?,
            verified_only: params.boolean("verified_only")?.unwrap_or(false),
        })
    }
}

fn search(params: &mut QueryParams) -> Result<Vec<String>, ApiError> {
    let Some(text) = params.text("q")? else { return Ok(Vec::new()) };
    let refused = |problem: String| Err(ApiError::invalid("q", problem));
    if text.chars().count() > MAX_SEARCH_CHARS {
        return refused(format!("must have at most {MAX_SEARCH_CHARS} characters"));
    }
    let mut found: Vec<String> = Vec::new();
    for word in words(&text) {
        // A word that occurs again says nothing new, except as the last one, which may be a beginning.
        found.retain(|earlier| *earlier != word);
        found.push(word);
        if found.len() > MAX_WORDS {
            return refused(format!("must have at most {MAX_WORDS} different words"));
        }
    }
    if found.is_empty() { refused("must have at least one letter or digit".to_owned()) } else { Ok(found) }
}

fn tags(params: &mut QueryParams) -> Result<Vec<String>, ApiError> {
    let Some(text) = params.text("tags")? else { return Ok(Vec::new()) };
    let tags: Vec<String> = text.split(',').map(|tag| tag.trim().to_owned()).collect();
    if tags.len() > MAX_TAGS_IN_FILTER || !tags.iter().all(|tag| is_tag(tag)) {
        return Err(ApiError::invalid(
            "tags",
            "must be tags separated by commas, each of lower-case letters, digits, `-` and `_`",
        ));
    }
    Ok(tags)
}

fn min_success_rate(params: &mut QueryParams) -> Result<f64, ApiError> {
    const EXPECTED: &str = "a number from 0 to 1";
    let rate = params.value::<f64>("min_success_rate", EXPECTED)?.unwrap_or(0.0);
    if (0.0..=1.0).contains(&rate) {
        Ok(rate)
    } else {
        Err(ApiError::invalid("min_success_rate", format!("must be {EXPECTED}")))
    }
}

fn max_price(params: &mut QueryParams) -> Result<Option<u64>, ApiError> {
    let Some(text) = params.text("max_price")? else { return Ok(None) };
    let price = UsdcBase::parse(&text);
    let price = price.map_err(|_| ApiError::invalid("max_price", "must be a number of USDC with at most 6 decimals"));
    Ok(Some(price?.0))
}

fn sort(params: &mut QueryParams, searching: bool) -> Result<AgentSort, ApiError> {
    const SORTS: &str =
        "`total_executions`, `success_rate`, `price_asc`, `price_desc`, `created_at`, `trust` or `relevance`";
    match types::word(params, "sort", SORTS)? {
        Some(AgentSort::Relevance) if !searching => {
            Err(ApiError::invalid("sort", "can be `relevance` only together with `q`"))
        }
        Some(sort) => Ok(sort),
        None => Ok(if searching { AgentSort::Relevance } else { AgentSort::TotalExecutions }),
    }
}

/// Active agents, page by page.
#[utoipa::path(
    get, path = "/v1/agents", tag = "agents", operation_id = "list_agents", params(AgentListQuery),
    responses(
        (status = 200, description = "One page of agents", body = AgentListResponse),
        (status = 400, description = "`invalid_request`: a parameter is unknown, repeated or malformed", body = ErrorBody),
        (status = 503, description = "`unavailable`: the list is not read yet; `Retry-After`", body = ErrorBody)
    )
)]
pub async fn list_agents(
    State(state): State<ApiState>,
    RawQuery(query): RawQuery,
) -> Result<(Extension<ShownSlot>, KeptBody), ApiError> {
    let query = query.unwrap_or_default();
    let current = state.agent_list().current().await.ok_or_else(not_read_yet)?;
    let answers = &state.agent_list().answers;
    let make = async {
        let asked: AgentListQuery = read(&query)?;
        if asked.q.is_empty() {
            return page(&current.table, asked);
        }
        let table = Arc::clone(&current.table);
        answers.search(move || page(&table, asked)).await
    };
    let body = answers.get(current.version, query.clone(), make).await?;
    Ok((Extension(ShownSlot(current.slot)), KeptBody(body)))
}

/// Before the first table.
pub(crate) fn not_read_yet() -> ApiError {
    let message = "the list of agents is not read yet; try again";
    ApiError::new(ErrorCode::Unavailable, message).with_retry_after(RETRY_AFTER)
}

fn page(table: &Table, mut query: AgentListQuery) -> Result<Whole, ApiError> {
    let (limit, offset) = (query.limit, query.offset);
    let paging = Paging { limit, offset, cursor: query.cursor.take() };
    // Cursors are valid for the same list, wherever its pages begin.
    let scope = format!("agents {:?}", AgentListQuery { limit: 0, offset: 0, ..query.clone() });
    let page = table.page(&query, &paging.start(&scope)?);
    Whole::of_json(&AgentListResponse {
        agents: page.items.into_iter().cloned().collect(),
        total: page.total,
        limit,
        offset,
        next_cursor: paging::next_cursor(&scope, page.next.as_ref())?,
    })
}
