//! Reads HTTP answers up to a limit: the server decides how many bytes it sends, the reader how many it keeps.
#![forbid(unsafe_code)]

use reqwest::{Client, Response, StatusCode};

#[derive(Debug, thiserror::Error)]
pub enum DownloadError {
    #[error("the request failed: {0}")]
    Request(#[from] reqwest::Error),
    #[error("the server answered {0}")]
    Status(StatusCode),
    #[error("the answer is longer than {max_bytes} bytes")]
    TooLarge { max_bytes: usize },
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
    let announced = usize::try_from(response.content_length().unwrap_or(0)).unwrap_or(usize::MAX);
    if announced > max_bytes {
        return Err(DownloadError::TooLarge { max_bytes });
    }
    let mut body = Vec::with_capacity(announced);
    while let Some(chunk) = response.chunk().await? {
        if body.len().saturating_add(chunk.len()) > max_bytes {
            return Err(DownloadError::TooLarge { max_bytes });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
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

    #[tokio::test]
    async fn any_status_but_200_is_an_error() {
        let (url, client) = (server().await, Client::builder().no_proxy().build().expect("client"));
        let error = get(&client, &format!("{url}/missing"), 10).await.expect_err("404");
        assert!(matches!(error, DownloadError::Status(StatusCode::NOT_FOUND)), "{error}");
    }
}
