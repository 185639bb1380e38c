//! One request to a target.

use std::time::{Duration, Instant, SystemTime};

use chrono::Utc;
use crtx_protocol::{text::printable, webhook::WebhookSecret};
use crtx_store::webhooks::DeliveryAttempt;
use reqwest::{
    Response,
    header::{CONTENT_TYPE, RETRY_AFTER},
};
use tokio::time::timeout;
use uuid::Uuid;

use super::Webhooks;

/// For the whole answer.
pub(super) const TIMEOUT: Duration = Duration::from_secs(15);
/// How much of an answer is read, and how long that may take once its status is known.
const READ_BYTES: usize = 1_024;
const READ_FOR: Duration = Duration::from_secs(1);
/// A target that asks for a longer pause gets this one.
const LONGEST_PAUSE: Duration = Duration::from_secs(24 * 3_600);

/// An attempt, and the pause that the target asks for.
pub(crate) struct SentDelivery {
    pub attempt: DeliveryAttempt,
    pub pause: Duration,
}

impl SentDelivery {
    /// Any status but a success is a failure, redirections too.
    pub fn is_acknowledged(&self) -> bool {
        self.attempt.status.is_some_and(|status| (200..300).contains(&status))
    }
}

impl Webhooks {
    /// Sends a body, and waits 15 seconds at most.
    pub async fn send(&self, url: &str, secrets: &[WebhookSecret], id: &Uuid, body: Vec<u8>) -> SentDelivery {
        let started = Instant::now();
        let sent = timeout(TIMEOUT, self.post(url, secrets, id, body)).await;
        let (status, pause, answer) = match sent {
            Ok(Ok(response)) => {
                let pause = pause(&response);
                (Some(response.status().as_u16()), pause, beginning(response).await)
            }
            Ok(Err(problem)) => (None, Duration::ZERO, problem),
            Err(_) => (None, Duration::ZERO, format!("no answer within {} s", TIMEOUT.as_secs())),
        };
        SentDelivery { attempt: DeliveryAttempt { status, duration: started.elapsed(), answer }, pause }
    }

    /// Errors of the client are not shown: they have the URL, which may have a secret of its owner.
    async fn post(&self, url: &str, secrets: &[WebhookSecret], id: &Uuid, body: Vec<u8>) -> Result<Response, String> {
        let url = self.outbound.check_reachable(url).await.map_err(|error| error.to_string())?;
        let now = Utc::now().timestamp();
        let request = self
            .http
            .post(url)
            .header(CONTENT_TYPE, "application/json")
            .header("webhook-id", id.to_string())
            .header("webhook-timestamp", now)
            .header("webhook-signature", self.seals.signatures(secrets, id, now, &body));
        request.body(body).send().await.map_err(|error| {
            let problem = match () {
                () if error.is_timeout() => "no answer in time",
                () if error.is_connect() => "no connection",
                () => "the connection ended before an answer",
            };
            problem.to_owned()
        })
    }
}

/// The first bytes of an answer, on one line. Nobody waits long for them: the status says what counts.
async fn beginning(mut response: Response) -> String {
    let mut bytes = Vec::new();
    let reading = async {
        while bytes.len() < READ_BYTES
            && let Ok(Some(chunk)) = response.chunk().await
        {
            bytes.extend(chunk.iter().take(READ_BYTES.saturating_sub(bytes.len())));
        }
    };
    let _ = timeout(READ_FOR, reading).await;
    printable(&String::from_utf8_lossy(&bytes))
}

/// What `Retry-After` says: seconds, or a date.
fn pause(response: &Response) -> Duration {
    let header = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let until = |date: SystemTime| date.duration_since(SystemTime::now()).ok();
    let asked = header.parse().ok().map(Duration::from_secs);
    asked.or_else(|| until(httpdate::parse_http_date(header).ok()?)).unwrap_or_default().min(LONGEST_PAUSE)
}
