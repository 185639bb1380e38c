//! Bodies that an answer did not wait for. A request can be refused before its body has been read; were
//! the connection closed then, a client that is still sending would see it break and never the answer.
//! So what is left of such a body is read and thrown away, within bounds, while the answer is on its way.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    body::{Body, BodyDataStream, Bytes},
    extract::Request,
    middleware::Next,
    response::Response,
};
use futures::{Stream, StreamExt};

/// Beyond these a client may see its connection break.
const MOST_BYTES: usize = 16 * 1024 * 1024;
const LONGEST: Duration = Duration::from_secs(10);

/// Middleware: see the module.
pub(crate) async fn read_to_the_end(request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let body = Body::from_stream(Remaining { body: Some(body.into_data_stream()) });
    next.run(Request::from_parts(parts, body)).await
}

/// A body that is read to its end even if nobody is interested any more.
struct Remaining {
    /// None once it has ended or failed.
    body: Option<BodyDataStream>,
}

impl Stream for Remaining {
    type Item = Result<Bytes, axum::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let polled = body.poll_next_unpin(context);
        if matches!(polled, Poll::Ready(None | Some(Err(_)))) {
            self.body = None;
        }
        polled
    }
}

impl Drop for Remaining {
    fn drop(&mut self) {
        let (Some(body), Ok(runtime)) = (self.body.take(), tokio::runtime::Handle::try_current()) else { return };
        runtime.spawn(tokio::time::timeout(LONGEST, throw_away(body)));
    }
}

async fn throw_away(mut body: BodyDataStream) {
    let mut read: usize = 0;
    while let Some(Ok(bytes)) = body.next().await {
        read = read.saturating_add(bytes.len());
        if read > MOST_BYTES {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::{Router, routing::get};
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::{TcpListener, TcpStream},
    };

    #[tokio::test]
    async fn a_refusal_reaches_a_client_that_is_still_sending() {
        const LENGTH: usize = 4 * 1024 * 1024;
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("port");
        let address = listener.local_addr().expect("bound");
        let router = crate::finish(Router::new().route("/", get(|| async { "x" })));
        tokio::spawn(async move { axum::serve(listener, router).await });
        let mut stream = TcpStream::connect(address).await.expect("connected");
        for _ in 0..2 {
            let head = format!("PUT / HTTP/1.1\r\nhost: x\r\ncontent-length: {LENGTH}\r\n\r\n");
            stream.write_all(head.as_bytes()).await.expect("head");
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            stream.write_all(&vec![b'x'; LENGTH]).await.expect("the connection takes the whole body");
            let mut answer = vec![0; 4_096];
            let length = stream.read(&mut answer).await.expect("an answer");
            assert!(answer[..length].starts_with(b"HTTP/1.1 405 "), "{}", String::from_utf8_lossy(&answer[..length]));
        }
    }
}
