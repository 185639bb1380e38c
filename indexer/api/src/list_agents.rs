//! `GET /v1/agents`, answered from memory.

use std::{sync::Arc, time::Duration};

use axum::{
    Extension,
    extract::{RawQuery, State},
};
use crtx_http::{ApiError, Cursor, ErrorBody, ErrorCode, FromQuery, KeptBody, QueryParams, Whole, extract::read};
use crtx_protocol::{metadata::is_tag, usdc::UsdcBase};
use utoipa::{IntoParams, ToSchema};

use crate::{
    agent_list::{Filter, MAX_WORDS, Ordering, Place, Sort, Start, Table, words},
    layers::ShownSlot,
    list_agents_response::AgentListResponse,
    paging::Paging,
    state::ApiState,
    types,
};

/// Limit of the filter. No listing has more tags.
const MAX_TAGS_IN_FILTER: usize = 20;
/// Characters of a search.
const MAX_SEARCH_CHARS: usize = 200;
/// When a client may ask again before the first table is read.
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// Orders of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum AgentSort {
    TotalExecutions,
    SuccessRate,
    PriceAsc,
    PriceDesc,
    CreatedAt,
    Trust,
    Relevance,
}

impl AgentSort {
    const NAMES: [(&'static str, Self); 7] = [
        ("total_executions", Self::TotalExecutions),
        ("success_rate", Self::SuccessRate),
        ("price_asc", Self::PriceAsc),
        ("price_desc", Self::PriceDesc),
        ("created_at", Self::CreatedAt),
        ("trust", Self::Trust),
        ("relevance", Self::Relevance),
    ];

    const fn ordering(self) -> Ordering {
        match self {
            Self::TotalExecutions => Ordering::By(Sort::TotalExecutions),
            Self::SuccessRate => Ordering::By(Sort::SuccessRate),
            Self::PriceAsc => Ordering::By(Sort::PriceAscending),
            Self::PriceDesc => Ordering::By(Sort::PriceDescending),
            Self::CreatedAt => Ordering::By(Sort::CreatedAt),
            Self::Trust => Ordering::By(Sort::Trust),
            Self::Relevance => Ordering::Relevance,
        }
    }
}

/// Which agents to list.
#[derive(Clone, Debug, PartialEq, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct AgentListQuery {
    /// Agents per page.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 100, default = 20)]
    limit: u32,
    /// Agents to skip. Deeper pages are reached with `cursor`.
    #[param(value_type = Option<u64>, minimum = 0, maximum = 10_000, default = 0)]
    offset: u64,
    /// The `next_cursor` of an answer to the same request: the page after that one. Not together with `offset`.
    #[param(value_type = Option<String>, max_length = 512)]
    cursor: Option<Place>,
    /// Words to search for in name, tagline, tags and description: agents that have all of them, the last one also as
    /// the beginning of a word. Words of 4 letters may differ by one edit, of 8 by two.
    #[param(value_type = Option<String>, min_length = 1, max_length = 200, example = "contract audit")]
    q: Vec<String>,
    /// Comma-separated tags: agents that have all of them.
    #[param(value_type = Option<String>, example = "data,finance",
        pattern = "^ *[a-z0-9_-]{1,32} *(, *[a-z0-9_-]{1,32} *){0,19}$")]
    tags: Vec<String>,
    /// Only agents of this creator: the address of its wallet.
    #[param(value_type = Option<String>)]
    creator: Option<String>,
    #[param(value_type = Option<f64>, minimum = 0.0, maximum = 1.0)]
    min_success_rate: f64,
    /// Minimum total executions.
    #[param(value_type = Option<u64>, minimum = 0)]
    min_executions: u64,
    /// Highest price of one execution, in USDC with at most 6 decimals.
    #[param(value_type = Option<f64>, minimum = 0.0, example = 0.05)]
    max_price: Option<u64>,
    /// Only agents of verified creators.
    #[param(value_type = Option<bool>, default = false)]
    verified_only: bool,
    /// `total_executions`, `success_rate`, `price_asc`, `price_desc`, `created_at` (newest first), `trust` (highest
    /// `trust_usdc` first) or, with `q`, `relevance`. The default is `relevance` with `q`, otherwise `total_executions`.
    #[param(inline, required = false, value_type = AgentSort)]
    sort: AgentSort,
    /// What cursors of this list are valid for.
    #[param(ignore)]
    scope: String,
}

impl FromQuery for AgentListQuery {
    fn from_query(params: &mut QueryParams) -> Result<Self, ApiError> {
        let Paging { limit, offset, cursor } = Paging::from_query(params)?;
        let q = search(params)?;
        let mut query = Self {
            limit,
            offset,
            cursor: None,
            sort: sort(params, !q.is_empty())?,
            q,
            tags: tags(params)?,
            creator: creator(params)?,
            min_success_rate: min_success_rate(params)?,
            min_executions: params.integer("min_executions", 0, i64::MAX.unsigned_abs())?.unwrap_or(0),
            max_price: max_price(params)?,
            verified_only: params.boolean("verified_only")?.unwrap_or(false),
            scope: String::new(),
        };
        query.scope = query.scope();
        query.cursor = cursor.map(|text| read_cursor(&query.scope, &text)).transpose()?;
        Ok(query)
    }
}

impl AgentListQuery {
    /// The list and its order, without the page.
    fn scope(&self) -> String {
        let Self { q, tags, creator, min_success_rate, min_executions, max_price, verified_only, sort, .. } = self;
        format!(
            "agents {q:?} {tags:?} {creator:?} {min_success_rate} {min_executions} {max_price:?} {verified_only} {sort:?}"
        )
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

fn creator(params: &mut QueryParams) -> Result<Option<String>, ApiError> {
    let Some(text) = params.text("creator")? else { return Ok(None) };
    let address =
        types::address(&text).ok_or_else(|| ApiError::invalid("creator", "must be the address of a wallet"))?;
    Ok(Some(address.to_string()))
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
    let Some(text) = params.text("sort")? else {
        return Ok(if searching { AgentSort::Relevance } else { AgentSort::TotalExecutions });
    };
    match AgentSort::NAMES.into_iter().find(|(name, _)| *name == text) {
        Some((_, AgentSort::Relevance)) if !searching => {
            Err(ApiError::invalid("sort", "can be `relevance` only together with `q`"))
        }
        Some((_, sort)) => Ok(sort),
        None => Err(ApiError::invalid(
            "sort",
            "must be `total_executions`, `success_rate`, `price_asc`, `price_desc`, `created_at`, `trust` or `relevance`",
        )),
    }
}

fn write_cursor(scope: &str, place: &Place) -> String {
    let key = [&[place.score], &place.key.to_be_bytes()[..], place.agent_id.as_bytes()].concat();
    Cursor::encode_in(scope, &key)
}

fn read_cursor(scope: &str, text: &str) -> Result<Place, ApiError> {
    let bytes = Cursor::decode_in(scope, text)?;
    let place = || {
        let (score, rest) = bytes.split_first()?;
        let (key, agent_id) = rest.split_first_chunk()?;
        let agent_id = String::from_utf8(agent_id.to_vec()).ok()?;
        Some(Place { score: *score, key: u64::from_be_bytes(*key), agent_id })
    };
    place().ok_or_else(Cursor::refused)
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
    let Some(current) = state.agent_list().current().await else {
        let message = "the list of agents is not read yet; try again";
        return Err(ApiError::new(ErrorCode::Unavailable, message).with_retry_after(RETRY_AFTER));
    };
    let answers = state.agent_list().answers();
    let make = async {
        let asked: AgentListQuery = read(&query)?;
        if asked.q.is_empty() {
            return Whole::of_json(&page(current.table(), asked));
        }
        let current = Arc::clone(&current);
        answers.search(move || Whole::of_json(&page(current.table(), asked))).await
    };
    let body = answers.get(&current, query.clone(), make).await?;
    Ok((Extension(ShownSlot(current.slot())), KeptBody(body)))
}

fn page(table: &Table, query: AgentListQuery) -> AgentListResponse {
    let AgentListQuery { limit, offset, cursor, q, tags, creator, sort, scope, .. } = query;
    let (min_success_rate, min_executions) = (query.min_success_rate, query.min_executions);
    let (max_price, verified_only) = (query.max_price, query.verified_only);
    let filter = Filter { tags, min_success_rate, min_executions, max_price, verified_only, creator, words: q };
    let start = cursor.map_or_else(|| Start::Offset(usize::try_from(offset).unwrap_or(usize::MAX)), Start::After);
    let page = table.page(&filter, sort.ordering(), &start, limit as usize);
    AgentListResponse {
        agents: page.rows.iter().map(|row| row.summary.clone()).collect(),
        total: page.total as u64,
        limit,
        offset,
        next_cursor: page.next.map(|place| write_cursor(&scope, &place)),
    }
}
