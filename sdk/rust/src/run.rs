//! One run of the function, and everybody who waits for it.

use std::{
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use crtx_protocol::{
    call_text::OpeningId,
    creator_answer::{MAX_RESULT_BYTES, MAX_STEPS_BYTES, MAX_TOKENS_USED},
    signed_answer,
    text::shortened,
};
use ed25519_dalek::{Signature, Signer};
use futures::{FutureExt, future::BoxFuture};
use http::StatusCode;
use serde_json::{Value, json};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{sleep, timeout},
};

use crate::{
    counts::Counts,
    guard::{Begun, CallKey, GuardError, ReplayGuard},
    seller::{Task, Work},
};

/// Between the end of a run's time and its limit in the guard.
const GRACE: Duration = Duration::from_secs(5);
const ASK_AGAIN: Duration = Duration::from_millis(50);
const MAX_ERROR_CHARS: usize = 500;

/// An answer that is no answer to a call.
#[derive(Debug)]
pub struct Refusal {
    pub status: StatusCode,
    pub message: String,
}

impl Refusal {
    pub fn new(status: StatusCode, message: &str) -> Self {
        Self { status, message: message.to_owned() }
    }

    fn of_guard(error: &GuardError) -> Self {
        tracing::error!(%error, "calls cannot be noted");
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "calls cannot be noted right now")
    }
}

pub struct Runner {
    pub key: Box<dyn Signer<Signature> + Send + Sync>,
    pub work: Box<dyn Fn(Task) -> BoxFuture<'static, Result<Work, String>> + Send + Sync>,
    pub guard: Arc<dyn ReplayGuard>,
    pub running: Semaphore,
    pub max_running: usize,
    pub counts: Counts,
}

impl Runner {
    /// The answer to a call: of a run that begins now, of one that is under way, or of one that has ended.
    pub async fn answer(
        self: &Arc<Self>,
        call: CallKey,
        opening: OpeningId,
        task: Task,
        held: OwnedSemaphorePermit,
    ) -> Result<Arc<str>, Refusal> {
        let patience = task.time_limit.saturating_add(GRACE);
        let until = SystemTime::now().checked_add(patience).unwrap_or_else(SystemTime::now);
        let begun = async {
            loop {
                match self.guard.begin(&call, until).await {
                    Ok(Begun::Wait) => sleep(ASK_AGAIN).await,
                    begun => return begun,
                }
            }
        };
        // A run that another request began has ended by then.
        match timeout(patience, begun).await {
            Ok(Ok(Begun::Run)) => {}
            Ok(Ok(Begun::Done(answer))) => {
                Counts::add(&self.counts.repeated);
                return Ok(answer);
            }
            Ok(Err(error)) => return Err(Refusal::of_guard(&error)),
            _ => {
                let answer =
                    self.failure(&call, &opening, "the call was interrupted, and does not run a second time")?;
                self.guard.finish(&call, Arc::clone(&answer)).await.map_err(|error| Refusal::of_guard(&error))?;
                return Ok(answer);
            }
        }
        let runner = Arc::clone(self);
        // A task of its own: the call goes on if the client disconnects.
        let run = tokio::spawn(async move {
            let answer = runner.run(&call, &opening, task).await?;
            if let Err(error) = runner.guard.finish(&call, Arc::clone(&answer)).await {
                tracing::error!(%error, execution_id = %call.execution_id, "an answer was not kept");
            }
            drop(held);
            Ok(answer)
        });
        run.await.unwrap_or_else(|_| Err(Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "the service stops")))
    }

    async fn run(&self, call: &CallKey, opening: &OpeningId, task: Task) -> Result<Arc<str>, Refusal> {
        let (started, limit) = (Instant::now(), task.time_limit);
        let work = async {
            let _running = self.running.acquire().await;
            (self.work)(task).await
        };
        // A panic fails this call alone.
        let outcome = timeout(limit, AssertUnwindSafe(work).catch_unwind()).await;
        self.counts.took(started.elapsed());
        let (counter, outcome) = match outcome {
            Err(_) => (&self.counts.timed_out, Err(format!("there was no result within {} s", limit.as_secs()))),
            Ok(Err(_)) => (&self.counts.failed, Err("the agent broke down".to_owned())),
            Ok(Ok(Err(error))) => (&self.counts.failed, Err(error)),
            Ok(Ok(Ok(work))) if work.result.len() > MAX_RESULT_BYTES => {
                (&self.counts.failed, Err("the result is larger than 1 MiB".to_owned()))
            }
            Ok(Ok(Ok(work))) => (&self.counts.completed, Ok(work)),
        };
        Counts::add(counter);
        let ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        tracing::info!(execution_id = %call.execution_id, completed = outcome.is_ok(), ms, "call");
        match outcome {
            Ok(work) => self.completed(call, opening, &work),
            Err(error) => self.failure(call, opening, &error),
        }
    }

    fn completed(&self, call: &CallKey, opening: &OpeningId, work: &Work) -> Result<Arc<str>, Refusal> {
        let mut answer =
            signed_answer::completed(&*self.key, call.execution_id, opening, &work.result).map_err(unsigned)?;
        if let Some(members) = answer.as_object_mut() {
            // The marketplace refuses more tokens, and does not show more steps.
            let tokens = work.tokens_used.filter(|tokens| *tokens <= MAX_TOKENS_USED);
            members.extend(tokens.map(|tokens| ("tokens_used".to_owned(), json!(tokens))));
            let steps = work.steps.clone().map(Value::Array).filter(|it| it.to_string().len() <= MAX_STEPS_BYTES);
            members.extend(steps.map(|steps| ("steps".to_owned(), steps)));
        }
        Ok(answer.to_string().into())
    }

    /// A failure that is signed for the call.
    pub fn failure(&self, call: &CallKey, opening: &OpeningId, error: &str) -> Result<Arc<str>, Refusal> {
        let error = if error.trim().is_empty() { "the agent gave no reason" } else { error };
        let error = shortened(error, MAX_ERROR_CHARS);
        let answer = signed_answer::failed(&*self.key, call.execution_id, opening, &error).map_err(unsigned)?;
        Ok(answer.to_string().into())
    }
}

fn unsigned(error: ed25519_dalek::SignatureError) -> Refusal {
    tracing::error!(%error, "an answer could not be signed");
    Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "the answer could not be signed")
}
