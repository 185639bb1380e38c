//! Reads HTTP answers up to a limit: the server decides how many bytes it sends, the reader how many it keeps.
#![forbid(unsafe_code)]

use std::time::Duration;

use reqwest::{Client, Response, StatusCode};
use tokio::time::{Instant, timeout_at};

#[derive(Debug, thiserror::Error)]
pub enum DownloadError {
    #[error("the request failed: {0}")]
    Request(#[from] reqwest::Error),
    #[error("the server answered {0}")]
    Status(StatusCode),
    #[error("the answer is longer than {max_bytes} bytes")]
    TooLarge { max_bytes: usize },
}

/// What went wrong at the bottom. Errors of requests have the cause last, and before it what the caller knows.
pub fn root_cause(error: &(dyn std::error::Error + 'static)) -> String {
    std::iter::successors(Some(error), |error| error.source()).last().unwrap_or(error).to_string()
}

/// Why an answer that must keep a pace was not read.
#[derive(Debug, thiserror::Error)]
pub enum PacedError {
    #[error(transparent)]
    Download(#[from] DownloadError),
    #[error("no answer within {} s", .0.as_secs())]
    NoAnswer(Duration),
    #[error("the answer arrives too slowly")]
    TooSlow,
}

/// How fast an answer must arrive.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// From the request to the head of the answer, connecting included.
    pub first_byte: Duration,
    /// From the request to the last byte.
    pub whole: Duration,
    /// The body may be so much later than its rate says.
    pub grace: Duration,
    /// Of the body, on average.
    pub bytes_per_second: u32,
}

/// The body of a `GET` that keeps a pace: a server that drips is left soon. Any status but 200 is an error.
pub async fn get_paced(client: &Client, url: &str, max_bytes: usize, pace: Pace) -> Result<Vec<u8>, PacedError> {
    let start = Instant::now();
    let asked = timeout_at(later(start, pace.first_byte), client.get(url).send()).await;
    let mut response = asked.map_err(|_| PacedError::NoAnswer(pace.first_byte))?.map_err(DownloadError::from)?;
    if response.status() != StatusCode::OK {
        return Err(DownloadError::Status(response.status()).into());
    }
    let (mut body, body_start) = (empty_body(&response, max_bytes)?, Instant::now());
    loop {
        let bytes = u32::try_from(body.len()).unwrap_or(u32::MAX);
        let due = Duration::from_secs_f64(f64::from(bytes) / f64::from(pace.bytes_per_second.max(1)));
        let deadline = later(body_start, pace.grace.saturating_add(due)).min(later(start, pace.whole));
        let chunk = timeout_at(deadline, response.chunk()).await.map_err(|_| PacedError::TooSlow)?;
        match chunk.map_err(DownloadError::from)? {
            Some(chunk) => add(&mut body, &chunk, max_bytes)?,
            None => return Ok(body),
        }
    }
}

fn later(moment: Instant, pause: Duration) -> Instant {
    moment.checked_add(pause).unwrap_or(moment)
}

/// The body of a `GET`. Any status but 200 is an error.
pub async fn get(client: &Client, url: &str, max_bytes: usize) -> Result<Vec<u8>, DownloadError> {
    let response = client.get(url).send().await?;
    match response.status() {
        StatusCode::OK => read(response, max_bytes).await,
        status => Err(DownloadError::Status(status)),
    }
}

/// The body of an answer. A body that announces more than the limit is not read at all.
pub async fn read(mut response: Response, max_bytes: usize) -> Result<Vec<u8>, DownloadError> {
    let mut body = empty_body(&response, max_bytes)?;
    while let Some(chunk) = response.chunk().await? {
        add(&mut body, &chunk, max_bytes)?;
    }
    Ok(body)
}

fn empty_body(response: &Response, max_bytes: usize) -> Result<Vec<u8>, DownloadError> {
    let announced = usize::try_from(response.content_length().unwrap_or(0)).unwrap_or(usize::MAX);
    if announced > max_bytes { Err(DownloadError::TooLarge { max_bytes }) } else { Ok(Vec::with_capacity(announced)) }
}

fn add(body: &mut Vec<u8>, chunk: &[u8], max_bytes: usize) -> Result<(), DownloadError> {
    if body.len().saturating_add(chunk.len()) > max_bytes {
        return Err(DownloadError::TooLarge { max_bytes });
    }
    body.extend_from_slice(chunk);
    Ok(())
}

#[cfg(test)]
mod tests {
    use axum::{Router, body::Body, routing::get as route};

    use super::*;

    /// Serves 10 bytes with and without their number.
    async fn server() -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("bound"));
        let parts = || futures::stream::iter(["01234", "56789"].map(Ok::<_, std::io::Error>));
        let router = Router::new()
            .route("/announced", route(|| async { "0123456789" }))
            .route("/dripping", route(|| async { Body::from_stream(drops()) }))
            .route("/silent", route(std::future::pending::<&'static str>))
            .route("/streamed", route(move || async move { Body::from_stream(parts()) }));
        tokio::spawn(async move { axum::serve(listener, router).await });
        url
    }

    #[tokio::test]
    async fn an_answer_is_read_up_to_the_limit_whether_its_length_is_announced_or_not() {
        let (url, client) = (server().await, Client::builder().no_proxy().build().expect("client"));
        for path in ["announced", "streamed"] {
            let url = format!("{url}/{path}");
            assert_eq!(get(&client, &url, 10).await.expect("fits"), b"0123456789", "{path}");
            let error = get(&client, &url, 9).await.expect_err("too long");
            assert!(matches!(error, DownloadError::TooLarge { max_bytes: 9 }), "{path}: {error}");
        }
    }

    /// A byte every 50 ms, without end.
    fn drops() -> impl futures::Stream<Item = Result<&'static str, std::io::Error>> {
        futures::stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            Some((Ok("x"), ()))
        })
    }

    #[tokio::test]
    async fn a_server_that_is_silent_or_drips_is_left() {
        let (url, client) = (server().await, Client::builder().no_proxy().build().expect("client"));
        let pace = Pace {
            first_byte: Duration::from_millis(300),
            whole: Duration::from_secs(600),
            grace: Duration::from_millis(300),
            bytes_per_second: 1_000,
        };
        for path in ["announced", "streamed"] {
            assert_eq!(get_paced(&client, &format!("{url}/{path}"), 10, pace).await.expect("fits"), b"0123456789");
        }
        let error = get_paced(&client, &format!("{url}/silent"), 10, pace).await.expect_err("silent");
        assert!(matches!(error, PacedError::NoAnswer(_)), "{error}");
        let error = get_paced(&client, &format!("{url}/dripping"), 1_000, pace).await.expect_err("drips");
        assert!(matches!(error, PacedError::TooSlow), "{error}");
        let whole = Pace { whole: Duration::from_millis(300), bytes_per_second: 1, ..pace };
        let error = get_paced(&client, &format!("{url}/dripping"), 1_000, whole).await.expect_err("drips");
        assert!(matches!(error, PacedError::TooSlow), "{error}");
    }

    #[tokio::test]
    async fn any_status_but_200_is_an_error() {
        let (url, client) = (server().await, Client::builder().no_proxy().build().expect("client"));
        let error = get(&client, &format!("{url}/missing"), 10).await.expect_err("404");
        assert!(matches!(error, DownloadError::Status(StatusCode::NOT_FOUND)), "{error}");
    }
}
