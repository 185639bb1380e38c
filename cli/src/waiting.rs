//! Waits: for a service that asks to come again, and for an execution that has not ended.

use std::time::{Duration, Instant};

use reqwest::StatusCode;
use serde_json::Value;
use uuid::Uuid;

use crate::{
    api::{ApiAnswer, NetworkGone},
    asker::Asker,
    output::{note, printable},
    progress::during,
};

/// How long a call is repeated whose answer is missing or says "later".
const PATIENCE: Duration = Duration::from_secs(120);
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// A service cannot make a command wait longer than this before it asks again.
const LONGEST_ASKED_PAUSE: Duration = Duration::from_secs(30);
/// How often an execution that runs is asked for.
const ASK_EVERY: Duration = Duration::from_millis(500);

/// Repeats a request that is safe to repeat, until its answer is final or patience ends. Then the last outcome counts.
pub async fn until_answered(what: &str, ask: impl AsyncFn() -> anyhow::Result<ApiAnswer>) -> anyhow::Result<ApiAnswer> {
    repeated(what, ask, PATIENCE, FIRST_PAUSE).await
}

async fn repeated(
    what: &str,
    ask: impl AsyncFn() -> anyhow::Result<ApiAnswer>,
    patience: Duration,
    mut pause: Duration,
) -> anyhow::Result<ApiAnswer> {
    let started = Instant::now();
    for number in 0_u32.. {
        let outcome = during(what.to_owned(), ask()).await;
        // The network was gone before the command sent anything. A network that goes after that may come back.
        if number == 0 && outcome.as_ref().is_err_and(|error| error.is::<NetworkGone>()) {
            return outcome;
        }
        let wait = match &outcome {
            Ok(answer) if !is_later(answer) => return outcome,
            Ok(answer) => asked_pause(answer).unwrap_or(pause),
            Err(_) => pause,
        };
        if started.elapsed().saturating_add(wait) > patience {
            return outcome;
        }
        if let Err(error) = &outcome {
            note!("crtx: {}; asking again with the same idempotency key", printable(&format!("{error:#}")));
        }
        during("the service asks to come again later", tokio::time::sleep(wait)).await;
        pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
    }
    anyhow::bail!("asked too often")
}

/// Answers that say when to come again, with the same key.
fn is_later(answer: &ApiAnswer) -> bool {
    let may_wait =
        matches!(answer.status, StatusCode::CONFLICT | StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS);
    may_wait && answer.retry_after.is_some()
}

fn asked_pause(answer: &ApiAnswer) -> Option<Duration> {
    answer.retry_after.as_deref()?.parse().ok().map(|seconds| Duration::from_secs(seconds).min(LONGEST_ASKED_PAUSE))
}

/// The execution's record, once it has ended. Waits as long as it takes: the chain bounds it.
pub async fn until_ended(asker: &Asker, id: &Uuid) -> anyhow::Result<ApiAnswer> {
    let asking = async {
        loop {
            let answer = until_answered("reading the execution", || asker.execution(id)).await?;
            answer.success()?;
            let record: Value = serde_json::from_slice(&answer.body)?;
            if !matches!(record.get("status").and_then(Value::as_str), Some("pending" | "running")) {
                return Ok(answer);
            }
            tokio::time::sleep(ASK_EVERY).await;
        }
    };
    during(format!("waiting for execution {id}"), asking).await
}

/// The id of an execution that an answer leaves open.
pub fn still_open(answer: &ApiAnswer) -> Option<Uuid> {
    let body: Value = serde_json::from_slice(&answer.body).ok()?;
    let open = matches!(body.get("status")?.as_str()?, "pending" | "running");
    body.get("execution_id")?.as_str().filter(|_| open && answer.status.is_success())?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    fn answer(status: u16, retry_after: Option<&str>, body: &str) -> ApiAnswer {
        ApiAnswer {
            status: StatusCode::from_u16(status).expect("a status"),
            body: body.as_bytes().to_vec(),
            request_id: None,
            retry_after: retry_after.map(str::to_owned),
            asked: String::new(),
        }
    }

    const SHORT: Duration = Duration::from_millis(1);

    #[tokio::test]
    async fn an_answer_that_says_later_is_asked_for_again_and_a_final_one_is_not() {
        let asked = AtomicU32::new(0);
        let ask = || async {
            match asked.fetch_add(1, Ordering::Relaxed) {
                0 => Err(anyhow::anyhow!("the connection broke")),
                1 => Ok(answer(503, Some("0"), "")),
                2 => Ok(answer(409, Some("0"), "")),
                _ => Ok(answer(409, None, "")),
            }
        };
        assert_eq!(repeated("asking", ask, PATIENCE, SHORT).await.expect("an answer").status.as_u16(), 409);
        assert_eq!(asked.load(Ordering::Relaxed), 4);
    }

    #[tokio::test]
    async fn patience_ends() {
        let refused = repeated("asking", || async { Ok(answer(503, Some("60"), "")) }, SHORT, SHORT).await;
        assert_eq!(refused.expect("the last answer").status.as_u16(), 503);
        let broken = repeated("asking", || async { Err(anyhow::anyhow!("no service")) }, SHORT, SHORT).await;
        assert!(broken.is_err());
    }

    #[test]
    fn only_an_execution_that_runs_is_waited_for() {
        let id = Uuid::from_u128(7);
        let body = |status: &str| format!(r#"{{"execution_id":"{id}","status":"{status}"}}"#);
        assert_eq!(still_open(&answer(202, None, &body("running"))), Some(id));
        assert_eq!(still_open(&answer(200, None, &body("pending"))), Some(id));
        assert_eq!(still_open(&answer(200, None, &body("completed"))), None);
        assert_eq!(still_open(&answer(503, None, &body("running"))), None);
    }
}
