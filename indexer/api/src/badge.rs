//! `GET /badge/{agent_id}.svg`: a picture for a creator's site, made of the list of agents in memory.
//!
//! A name is the text of a stranger: it is one line of visible characters, escaped, and cut by the width that it takes.

use axum::{
    Extension,
    extract::State,
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use crtx_http::{ApiError, ApiPath, ApiQuery, ErrorBody};
use crtx_protocol::plain_text::is_plain;
use crtx_store::reads::agent_list::AgentSummary;
use unicode_width::UnicodeWidthChar;

use crate::{layers::ShownSlot, list_agents::not_read_yet, state::ApiState};

const ENDING: &str = ".svg";
/// Columns of a name; a wide character takes two.
const MAX_COLUMNS: usize = 28;
/// Marks on one character; more would cover what is around it.
const MAX_MARKS: usize = 2;

const RESOURCE: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
/// Any site may show the picture; it loads and runs nothing.
const HEADERS: [(HeaderName, HeaderValue); 4] = [
    (header::CONTENT_TYPE, HeaderValue::from_static("image/svg+xml")),
    (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'")),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (RESOURCE, HeaderValue::from_static("cross-origin")),
];
const KEPT: HeaderValue = HeaderValue::from_static("public, max-age=300");
/// An agent that is listed now has its badge soon.
const KEPT_SHORT: HeaderValue = HeaderValue::from_static("public, max-age=30");

/// A badge of one active agent for other sites: its name, its calls, its success rate, whether its creator is verified, and
/// the slot of these figures.
#[utoipa::path(
    get, path = "/badge/{agent_id}.svg", tag = "agents", operation_id = "get_badge",
    params(("agent_id" = String, Path, description = "Address of the listing account")),
    responses(
        (status = 200, description = "The badge", body = String, content_type = "image/svg+xml"),
        (status = 404, description = "A badge that says that there is no such active agent", body = String, content_type = "image/svg+xml"),
        (status = 503, description = "`unavailable`: the list of agents is not read yet; `Retry-After`", body = ErrorBody)
    )
)]
pub async fn get_badge(
    State(state): State<ApiState>,
    ApiPath(file): ApiPath<String>,
    ApiQuery(()): ApiQuery<()>,
) -> Result<Response, ApiError> {
    let current = state.agent_list().current().await.ok_or_else(not_read_yet)?;
    let address = file.strip_suffix(ENDING).and_then(|address| address.parse().ok());
    let agent = address.and_then(|address| current.table.row_of(&address));
    let (status, kept, picture) = match agent {
        Some(agent) => (StatusCode::OK, KEPT, of_agent(agent, current.slot)),
        None => (StatusCode::NOT_FOUND, KEPT_SHORT, of_nobody(current.slot)),
    };
    let slot = Extension(ShownSlot(current.slot));
    Ok((status, slot, HEADERS, [(header::CACHE_CONTROL, kept)], picture).into_response())
}

fn of_agent(agent: &AgentSummary, slot: Option<u64>) -> String {
    let creator = if agent.creator.verified { "creator verified" } else { "creator not verified" };
    let figures = match agent.total_executions {
        0 => "no calls yet".to_owned(),
        1 => format!("1 call · {} success", percent(agent.success_rate)),
        calls => format!("{} calls · {} success", grouped(calls), percent(agent.success_rate)),
    };
    picture(&one_line(&agent.name), &figures, &format!("{creator} · {}", at(slot)))
}

fn of_nobody(slot: Option<u64>) -> String {
    picture("Not an active agent", "no agent of this market has this address", &at(slot))
}

fn at(slot: Option<u64>) -> String {
    slot.map_or_else(|| "slot unknown".to_owned(), |slot| format!("slot {}", grouped(slot)))
}

/// The texts are escaped here. The name is isolated in the title, so that it does not change the order of what follows.
fn picture(name: &str, figures: &str, small: &str) -> String {
    let [name, figures, small] = [name, figures, small].map(escaped);
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="320" height="76" viewBox="0 0 320 76" role="img"><title>{}{name}{}: {figures}, {small}, on crtx</title><style>text{{font:13px system-ui,sans-serif;fill:#191a2c}}.n{{font-size:15px;font-weight:600}}.s{{font-size:12px;fill:#575a70}}.b{{fill:#fff;stroke:#d5d7e3}}@media (prefers-color-scheme:dark){{text{{fill:#f1f2f8}}.s{{fill:#abaec2}}.b{{fill:#15161f;stroke:#3a3c4d}}}}</style><rect class="b" x=".5" y=".5" width="319" height="75" rx="10"/><g transform="translate(14 22)"><rect width="32" height="32" rx="8" fill="#4b4ddb"/><path d="M21.5 11.2a7 7 0 1 0 0 9.6" fill="none" stroke="#fff" stroke-width="3.4" stroke-linecap="round"/><circle cx="22" cy="16" r="2.1" fill="#fff"/></g><svg x="58" width="252" height="76"><text class="n" y="26">{name}</text><text y="45">{figures}</text><text class="s" y="63">{small}</text></svg></svg>
"##,
        FIRST_STRONG_ISOLATE, POP_ISOLATE
    )
}

const FIRST_STRONG_ISOLATE: &str = "&#x2068;";
const POP_ISOLATE: &str = "&#x2069;";

/// The text as one line that fits: white space is a space, a character that nobody sees a replacement character.
fn one_line(text: &str) -> String {
    let (mut line, mut columns, mut marks) = (String::new(), 0_usize, 0_usize);
    for c in text.trim().chars() {
        let c = match c {
            c if c.is_whitespace() => ' ',
            c if is_plain(c) => c,
            _ => char::REPLACEMENT_CHARACTER,
        };
        let width = c.width().unwrap_or(1);
        marks = if width == 0 { marks.saturating_add(1) } else { 0 };
        if marks > MAX_MARKS {
            continue;
        }
        if columns.saturating_add(width) > MAX_COLUMNS {
            return format!("{}…", line.trim_end());
        }
        columns = columns.saturating_add(width);
        line.push(c);
    }
    line
}

/// For text and attributes of XML. The characters that XML does not allow are not visible ones.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}

/// A share with one decimal, never rounded up to a better one.
fn percent(share: f64) -> String {
    let tenths = (share.clamp(0.0, 1.0) * 1_000.0 + 1e-6).floor();
    format!("{} %", tenths / 10.0)
}

/// A number with a comma between groups of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
    groups.join(",")
}
