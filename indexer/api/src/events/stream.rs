//! Server-sent events: the log of a wallet, or what it says of one execution, as it goes on.

use std::{collections::VecDeque, convert::Infallible, sync::Arc, time::Duration};

use axum::{
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, HeaderName, HeaderValue, header},
    response::{IntoResponse, Response},
};
use crtx_http::{ApiError, ApiPath, ApiQuery, ErrorBody, FromQuery, QueryParams, Reader};
use crtx_store::{events, pools::ReadConnection, reads::ExecutionQuestion};
use tokio::time::{Instant, sleep, sleep_until};
use utoipa::IntoParams;
use uuid::Uuid;

use super::{
    hub::{Frame, Waiter},
    reached, types,
};
use crate::state::ApiState;

/// The number of the last event that the client has. It goes before `after`.
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// A stream that has sent nothing for so long sends a comment.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
const COMMENT: &str = ":\n\n";
/// Events that a stream which is behind reads at once.
const PER_READ: u32 = 50;
/// After a read that failed.
const PAUSE: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, PartialEq, Eq, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct StreamQuery {
    /// The number of the last event that the client has. Without it and `Last-Event-ID`, the stream begins with what happens
    /// from now on.
    #[param(required = false)]
    after: Option<u64>,
    /// Types of events, separated by commas, such as `execution.completed,payout`. All types without it. With it, the
    /// numbers of a stream have gaps.
    #[param(required = false, value_type = Option<String>)]
    types: Vec<String>,
}

impl FromQuery for StreamQuery {
    fn from_query(params: &mut QueryParams) -> Result<Self, ApiError> {
        Ok(Self { after: params.integer("after", 0, i64::MAX.unsigned_abs())?, types: types(params)? })
    }
}

/// Events of the wallet of the API key or session, as they happen: server-sent events whose `id` is the number of the event,
/// whose `event` is its type, and whose `data` is the event as `GET /v1/events` shows it. A client that reconnects with the
/// last `id` misses nothing. Every 15 seconds without an event the stream sends a comment. It ends when the credential ends,
/// when the service stops, and when the client reads nothing for 15 seconds.
#[utoipa::path(
    get, path = "/v1/events/stream", tag = "events", operation_id = "stream_events",
    params(
        StreamQuery,
        ("Last-Event-ID" = Option<u64>, Header, description = "The number of the last event that the client has. It goes before `after`"),
    ),
    security(("api_key" = []), ("session" = []), ("session_cookie" = [])),
    responses(
        (status = 200, description = "A stream of events, without an end of its own", body = String, content_type = "text/event-stream"),
        (status = 400, description = "`invalid_request`: a parameter, or a number that this log has not reached", body = ErrorBody),
        (status = 429, description = "`rate_limited`: this wallet has too many streams; `Retry-After`", body = ErrorBody),
        (status = 503, description = "`unavailable`: no database, or too many streams; `Retry-After`", body = ErrorBody)
    )
)]
pub async fn stream_events(
    State(state): State<ApiState>,
    Reader { wallet, credential }: Reader,
    ApiQuery(StreamQuery { after, types }): ApiQuery<StreamQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let after = last_event_id(&headers)?.or(after);
    let waiting = state.hub.wait(wallet, credential).await?;
    if let Some(after) = after {
        let newest = events::newest(&state.hub.pool, &[wallet]).await?;
        reached(after, newest.first().map_or(0, |(_, newest)| *newest))?;
    }
    let after = after.unwrap_or_else(|| waiting.newest());
    Ok(EventStream::new(waiting, after, types, None).answer())
}

/// What happens to one execution of the wallet of the API key or session, as `GET /v1/events/stream` sends it: from its first
/// event on, or after `Last-Event-ID`. The stream goes on after the execution has ended, because a dispute or a correction can
/// follow: a client leaves when it has what it waits for.
#[utoipa::path(
    get, path = "/v1/executions/{execution_id}/events", tag = "events", operation_id = "stream_execution_events",
    params(
        ("execution_id" = Uuid, Path, description = "Id of the execution"),
        ("Last-Event-ID" = Option<u64>, Header, description = "The number of the last event that the client has"),
    ),
    security(("api_key" = []), ("session" = []), ("session_cookie" = [])),
    responses(
        (status = 200, description = "A stream of events, without an end of its own", body = String, content_type = "text/event-stream"),
        (status = 400, description = "`invalid_request`: `execution_id` is not a UUID, a parameter, or a number that this log has not reached", body = ErrorBody),
        (status = 404, description = "`execution_not_found`: this wallet has no such execution, and no event of it", body = ErrorBody),
        (status = 429, description = "`rate_limited`: this wallet has too many streams; `Retry-After`", body = ErrorBody),
        (status = 503, description = "`unavailable`: no database, or too many streams; `Retry-After`", body = ErrorBody)
    )
)]
pub async fn stream_execution_events(
    State(state): State<ApiState>,
    Reader { wallet, credential }: Reader,
    ApiPath(execution_id): ApiPath<Uuid>,
    ApiQuery(()): ApiQuery<()>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let after = last_event_id(&headers)?.unwrap_or(0);
    // A creator has events of executions that others paid for.
    if state.shared.executions.ask(ExecutionQuestion { wallet, execution_id }).await?.is_none()
        && events::of_execution(&state.hub.pool, &wallet, &execution_id, 0, 1).await?.is_empty()
    {
        return Err(ApiError::execution_not_found(&execution_id));
    }
    let waiting = state.hub.wait(wallet, credential).await?;
    let newest = events::newest(&state.hub.pool, &[wallet]).await?;
    reached(after, newest.first().map_or(0, |(_, newest)| *newest))?;
    Ok(EventStream::new(waiting, after, Vec::new(), Some(execution_id)).answer())
}

fn last_event_id(headers: &HeaderMap) -> Result<Option<u64>, ApiError> {
    let Some(value) = headers.get(LAST_EVENT_ID) else { return Ok(None) };
    let digits = value.to_str().ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    let number = digits.and_then(|text| text.parse().ok()).filter(|number| *number <= i64::MAX.unsigned_abs());
    number.map(Some).ok_or_else(|| ApiError::invalid("Last-Event-ID", "must be the number of an event"))
}

/// One stream: what it has sent, and what it sends next.
struct EventStream {
    waiting: Waiter,
    /// Every event up to this one was sent or left out.
    after: u64,
    /// All if empty.
    types: Vec<String>,
    execution: Option<Uuid>,
    ready: VecDeque<Bytes>,
    sent: Instant,
}

impl EventStream {
    fn new(waiting: Waiter, after: u64, types: Vec<String>, execution: Option<Uuid>) -> Self {
        // The number where it begins: a client that is cut off before its first event goes on from there.
        let begin = format!("retry: 1000\nid: {after}\n\n").into();
        Self { waiting, after, types, execution, ready: VecDeque::from([begin]), sent: Instant::now() }
    }

    fn answer(self) -> Response {
        let headers = [
            (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
            (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
            (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
        ];
        let frames = futures::stream::unfold(self, |mut stream| async move {
            let over = stream.waiting.over();
            let frame = tokio::select! {
                biased;
                () = over => return None,
                frame = stream.next() => frame,
            };
            stream.sent = Instant::now();
            Some((Ok::<_, Infallible>(frame), stream))
        });
        (headers, Body::from_stream(frames)).into_response()
    }

    async fn next(&mut self) -> Bytes {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return frame;
            }
            match self.waiting.after(self.after) {
                Some(frames) if frames.is_empty() => tokio::select! {
                    () = self.waiting.news() => {}
                    () = sleep_until(self.sent.checked_add(KEEP_ALIVE).unwrap_or(self.sent)) => return COMMENT.into(),
                },
                Some(frames) => {
                    let wanted = |frame: &&Arc<Frame>| self.is_wanted(frame);
                    self.ready = frames.iter().filter(wanted).map(|frame| frame.text.clone()).collect();
                    self.after = frames.last().map_or(self.after, |frame| frame.sequence);
                }
                None => {
                    if let Err(cause) = self.read().await {
                        tracing::warn!(%cause, "a stream waits for the database");
                        sleep(PAUSE).await;
                    }
                }
            }
        }
    }

    fn is_wanted(&self, frame: &Frame) -> bool {
        (self.types.is_empty() || self.types.contains(&frame.event_type))
            && self.execution.is_none_or(|execution| frame.execution_id == Some(execution))
    }

    /// Reads what is not in memory.
    async fn read(&mut self) -> Result<(), ApiError> {
        let hub = &self.waiting.hub;
        let _turn = hub.turns.acquire().await.map_err(ApiError::internal)?;
        let (wallet, newest) = (self.waiting.wallet, self.waiting.newest());
        let mut connection = ReadConnection::acquire(&hub.pool).await?;
        let (found, through) = match self.execution {
            Some(execution) => {
                let found = events::of_execution(&mut *connection, &wallet, &execution, self.after, PER_READ).await?;
                let last = found.last().map_or(self.after, |event| event.sequence.into());
                let is_full = found.len() >= PER_READ as usize;
                (found, if is_full { last } else { last.max(newest) })
            }
            None => {
                let page = events::page(&mut connection, &wallet, self.after, &self.types, PER_READ).await?;
                (page.events, page.through)
            }
        };
        connection.done();
        for event in found {
            self.ready.push_back(Frame::new(event)?.text);
        }
        self.after = through;
        Ok(())
    }
}
