//! `GET /v1/agents`, answered from memory.

use std::{io::Write, sync::Arc, time::Duration};

use axum::{
    Extension,
    extract::{RawQuery, State},
};
use crtx_http::{ApiError, Cursor, ErrorBody, ErrorCode, FromQuery, KeptBody, QueryParams, Whole, extract::read};
use crtx_protocol::{metadata::is_tag, usdc::UsdcBase};
use utoipa::{IntoParams, ToSchema};

use crate::{
    agent_list::{Address, Filter, MAX_WORDS, Ordering, Page, Place, Sort, Start, Table, words},
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
/// Room for the members of a list that are not agents.
const LIST_BYTES: usize = 320;

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
    creator: Option<Address>,
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

fn creator(params: &mut QueryParams) -> Result<Option<Address>, ApiError> {
    let Some(text) = params.text("creator")? else { return Ok(None) };
    let address = types::address(&text);
    address.map_or_else(
        || Err(ApiError::invalid("creator", "must be the address of a wallet")),
        |address| Ok(Some(Address::from(&address))),
    )
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
    let key = [&place.score.to_be_bytes()[..], &place.key.to_be_bytes(), place.address.bytes()].concat();
    Cursor::encode_in(scope, &key)
}

fn read_cursor(scope: &str, text: &str) -> Result<Place, ApiError> {
    let bytes = Cursor::decode_in(scope, text)?;
    let place = || {
        let (score, rest) = bytes.split_first_chunk::<4>()?;
        let (key, address) = rest.split_first_chunk::<8>()?;
        Some(Place {
            score: u32::from_be_bytes(*score),
            key: u64::from_be_bytes(*key),
            address: Address::from_bytes(address)?,
        })
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
    let slot = Extension(ShownSlot(current.slot()));
    // A page that this table has given is given again.
    if let Some(body) = current.answers().get(&query) {
        return Ok((slot, KeptBody(body)));
    }
    let body = Arc::new(Whole::json(page(current.table(), read(&query)?)?.into()));
    current.answers().keep(&query, &body);
    Ok((slot, KeptBody(body)))
}

fn page(table: &Table, query: AgentListQuery) -> Result<Vec<u8>, ApiError> {
    let AgentListQuery { limit, offset, cursor, q, tags, creator, sort, scope, .. } = query;
    let (min_success_rate, min_executions) = (query.min_success_rate, query.min_executions);
    let (max_price, verified_only) = (query.max_price, query.verified_only);
    let filter = Filter { tags, min_success_rate, min_executions, max_price, verified_only, creator, words: q };
    let start = cursor.map_or_else(|| Start::Offset(usize::try_from(offset).unwrap_or(usize::MAX)), Start::After);
    let page = table.page(&filter, sort.ordering(), start, limit as usize);
    let next_cursor = page.next.as_ref().map(|place| write_cursor(&scope, place));
    written(&page, limit, offset, next_cursor).map_err(ApiError::internal)
}

/// The members of [`AgentListResponse`].
fn written(page: &Page<'_>, limit: u32, offset: u64, next_cursor: Option<String>) -> std::io::Result<Vec<u8>> {
    let agents = page.rows.iter().map(|row| row.shown.as_bytes());
    let bytes = agents.clone().fold(0_usize, |sum, json| sum.saturating_add(json.len()).saturating_add(1));
    let mut body = Vec::with_capacity(bytes.saturating_add(LIST_BYTES));
    body.extend_from_slice(b"{\"agents\":");
    let mut before = b'[';
    for json in agents {
        body.push(before);
        body.extend_from_slice(json);
        before = b',';
    }
    if before == b'[' {
        body.push(before);
    }
    write!(body, "],\"total\":{},\"limit\":{limit},\"offset\":{offset},\"next_cursor\":", page.total)?;
    serde_json::to_writer(&mut body, &next_cursor)?;
    body.push(b'}');
    Ok(body)
}

#[cfg(test)]
mod tests {
    use crtx_protocol::usdc::UsdcBase;
    use solana_pubkey::Pubkey;

    use super::*;
    use crate::{
        agent_list::{Agent, Document, Model},
        agents::CreatorSummary,
        list_agents_response::AgentSummary,
    };

    const CREATOR: Pubkey = Pubkey::new_from_array([9; 32]);

    fn agent(number: u8, print: &Model, name: &str) -> Agent {
        Agent {
            address: Address::from(&Pubkey::new_from_array([number; 32])),
            creator: Address::from(&CREATOR),
            binding: number.is_multiple_of(2),
            price: 1_234_567 + u64::from(number),
            total_executions: u64::MAX.saturating_sub(u64::from(number)),
            trust: 3_000_000,
            success_rate: 1.0 / f64::from(number),
            avg_execution_time_ms: 17,
            created_at: 0,
            print: print.print(b"", name, "", &[]),
        }
    }

    fn summary(agent: &Agent, name: &str, tags: &[String], verified: bool) -> AgentSummary {
        AgentSummary {
            agent_id: agent.address.as_str().to_owned(),
            name: name.to_owned(),
            tagline: "A \"tagline\"".to_owned(),
            tags: tags.to_owned(),
            binding: agent.binding,
            price_per_call_usdc: UsdcBase(agent.price),
            total_executions: agent.total_executions,
            trust_usdc: UsdcBase(agent.trust),
            success_rate: agent.success_rate,
            avg_execution_time_ms: agent.avg_execution_time_ms,
            creator: CreatorSummary { pubkey: CREATOR.to_string(), verified },
            status: "active",
        }
    }

    #[test]
    fn what_is_written_is_what_is_described() {
        let names = ["plain", "\"quoted\" \\ \u{1}\n", "über 翻訳 🦀", ""];
        let tags = ["data".to_owned(), "own-tag".to_owned()];
        let mut model = Model::default();
        let agents: Vec<Agent> = (1..).zip(names).map(|(number, name)| agent(number, &model, name)).collect();
        for (agent, name) in agents.iter().zip(names) {
            model.put(agent, Some(&Document { name, tagline: "A \"tagline\"", tags: &tags, description: "" }));
        }
        let check = |table: &Table, agents: &[Agent], limit: usize, verified: bool| {
            let page = table.page(
                &Filter::default(),
                Ordering::By(Sort::TotalExecutions),
                Start::Offset(agents.len() - limit.min(agents.len())),
                limit,
            );
            let cursor = (limit == 0).then(|| "a-cursor_0".to_owned());
            let written = written(&page, 7, 3, cursor.clone()).expect("written");
            let shown = agents.iter().zip(names).skip(agents.len() - limit.min(agents.len()));
            let described = AgentListResponse {
                agents: shown.map(|(agent, name)| summary(agent, name, &tags, verified)).collect(),
                total: agents.len() as u64,
                limit: 7,
                offset: 3,
                next_cursor: cursor,
            };
            assert_eq!(String::from_utf8(written).unwrap(), serde_json::to_string(&described).unwrap());
        };
        let table = model.publish();
        (0..=agents.len()).for_each(|limit| check(&table, &agents, limit, false));

        let changed: Vec<Agent> =
            agents.iter().map(|agent| Agent { price: agent.price * 2, trust: 1, ..agent.clone() }).collect();
        changed.iter().for_each(|agent| model.put(agent, None));
        check(&model.publish(), &changed, 9, false);
        model.verify(Address::from(&CREATOR), true);
        check(&model.publish(), &changed, 9, true);
    }
}
