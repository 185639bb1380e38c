//! One test, from the first request to the report.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    time::Instant,
};

use crtx_http::{
    offload::{Offload, OffloadConfig, OffloadError},
    outbound::Outbound,
};
use futures::future::try_join_all;

use crate::{
    answer::{self, Judged, needs},
    failure, limits, parallel, probes,
    report::{Check, CheckName, Report},
    schemas::{self, OutputSchema},
    send::{TestRequest, TestSender},
    subject::{Example, TestedEndpoint},
};

/// Schemas and answers of strangers are read on a thread of the test, which has the stack that schemas need.
const READING: OffloadConfig = OffloadConfig {
    threads: 1,
    places: limits::PARALLEL_REQUESTS as usize,
    stack_bytes: crtx_schema::limits::STACK_BYTES,
};

/// If the example fails no other checks than these, the test still sends the later requests.
const HARMLESS: [CheckName; 5] =
    [CheckName::ContentType, CheckName::TokensUsed, CheckName::Steps, CheckName::OutputSchema, CheckName::ExecutionId];

/// What is sent after the example, in the order of the report.
fn later() -> impl Iterator<Item = CheckName> {
    CheckName::ALL.iter().copied().filter(|name| *name >= CheckName::Unicode)
}

/// Why there is no report. It is not the endpoint's fault.
#[derive(Debug, thiserror::Error)]
pub enum CannotTest {
    #[error("no HTTP client: {0}")]
    Client(#[from] reqwest::Error),
    #[error("no thread to read answers: {0}")]
    Thread(#[from] std::io::Error),
    #[error("an answer could not be read: {0}")]
    Reading(#[from] OffloadError),
}

/// Tests an endpoint. The test takes at most [`limits::duration`] and sends at most [`limits::MAX_REQUESTS`] requests;
/// `outbound` decides which addresses it may call. It ends when its future is dropped, and sends nothing more after an
/// answer that does not come in time.
pub async fn run(subject: &TestedEndpoint, outbound: &Outbound) -> Result<Report, CannotTest> {
    let started = Instant::now();
    let mut test = Test::start(subject, outbound).await?;
    let output = Arc::clone(&test.output);
    let first_request = TestRequest::of(subject.example.clone());
    let first = test.ask(first_request.clone(), Some(output)).await?;
    test.checks.extend(first.checks.iter().cloned());
    let blocking = if first.no_time {
        Some("the test had no more time".to_owned())
    } else {
        first.problem(&HARMLESS).map(|problem| needs(problem.name))
    };
    match blocking {
        Some(reason) => test.checks.extend(later().map(|name| Check::skipped(name, reason.clone()))),
        None => test.go_on(&first_request, &first).await?,
    }
    Ok(test.report(started, &first))
}

struct Test {
    subject: Arc<TestedEndpoint>,
    output: Arc<OutputSchema>,
    sender: TestSender,
    reading: Offload,
    requests: AtomicU32,
    /// The checks of the first answer `failed` to a task that need not fail.
    failure: OnceLock<[Check; 2]>,
    checks: Vec<Check>,
}

impl Test {
    async fn start(subject: &TestedEndpoint, outbound: &Outbound) -> Result<Self, CannotTest> {
        let sender = TestSender::new(outbound, &subject.endpoint, subject.timeout_seconds)?;
        let reading = Offload::start("conformance", READING)?;
        let subject = Arc::new(subject.clone());
        let read = Arc::clone(&subject);
        let schemas = move || (schemas::check_input(&read), OutputSchema::compile(&read.output_schema));
        let (input, output) = reading.run(schemas).await?;
        let output = Arc::new(output);
        let (requests, failure) = (AtomicU32::new(0), OnceLock::new());
        Ok(Self { subject, output, sender, reading, requests, failure, checks: vec![input] })
    }

    async fn ask(&self, request: TestRequest, output: Option<Arc<OutputSchema>>) -> Result<Judged, CannotTest> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let outcome = self.sender.send(&request).await;
        let subject = Arc::clone(&self.subject);
        let judge = move || answer::judge(&subject, output.as_deref(), &request, outcome);
        let judged: Judged = self.reading.run(judge).await?;
        if let Some(failure) = judged.failure.clone() {
            self.failure.get_or_init(|| failure);
        }
        Ok(judged)
    }

    async fn ask_for(&self, example: Example) -> Result<Judged, CannotTest> {
        self.ask(TestRequest::of(example), None).await
    }

    /// Sends everything after the example, which was answered well.
    async fn go_on(&mut self, request: &TestRequest, first: &Judged) -> Result<(), CannotTest> {
        let example = &request.example;
        let ignored: Vec<CheckName> =
            first.checks.iter().filter(|check| check.has_failed()).map(|check| check.name).collect();
        let (mut changeable, mut signed) = (false, None);
        for name in later() {
            if self.sender.was_late() {
                // The API runs few tests at once, so the test of a slow endpoint gives its place back early.
                self.checks.push(Check::skipped(name, "an earlier request was not answered in time"));
                continue;
            }
            let check = match name {
                CheckName::Unicode => {
                    let judged = self.ask_for(probes::unicode(example)).await?;
                    changeable = judged.result.is_some();
                    probes::changed_task(name, &judged, &ignored, |result| !result.is_ascii(), UNICODE_UNSEEN)
                }
                CheckName::Crlf => {
                    let judged = self.ask_for(probes::crlf(example)).await?;
                    probes::changed_task(name, &judged, &ignored, |result| result.contains("\r\n"), CRLF_UNSEEN)
                }
                CheckName::EmptyResult => {
                    let judged = self.ask_for(probes::empty(example)).await?;
                    probes::changed_task(name, &judged, &ignored, str::is_empty, EMPTY_UNSEEN)
                }
                CheckName::UnknownFields => {
                    let more = TestRequest { unknown_fields: true, ..TestRequest::of(example.clone()) };
                    probes::unknown_fields(&self.ask(more, None).await?, &ignored)
                }
                CheckName::RepeatedId => probes::repeated(first, &self.ask(request.clone(), None).await?, &ignored),
                CheckName::FailureForm => {
                    let [form, signature] = self.failure().await?;
                    signed = Some(signature);
                    form
                }
                CheckName::FailureSignature => {
                    signed.take().unwrap_or_else(|| Check::skipped(name, needs(CheckName::FailureForm)))
                }
                _ => {
                    let examples = parallel::examples(example, changeable);
                    let answers = try_join_all(examples.into_iter().map(|example| self.ask_for(example))).await?;
                    parallel::judge(&answers, &ignored)
                }
            };
            self.checks.push(check);
        }
        Ok(())
    }

    /// Sends the task that the agent must refuse, and judges the answer. If the creator names no such task, it returns
    /// the checks of a task that the agent refused by itself, such as a blank one.
    async fn failure(&self) -> Result<[Check; 2], CannotTest> {
        let Some(failing) = self.subject.failing.clone() else {
            let seen = self.failure.get().cloned();
            return Ok(seen.unwrap_or_else(|| failure::skipped(FAILURE_UNSEEN)));
        };
        self.requests.fetch_add(1, Ordering::Relaxed);
        let request = TestRequest::of(failing);
        let outcome = self.sender.send(&request).await;
        let subject = Arc::clone(&self.subject);
        Ok(self.reading.run(move || failure::judge(&subject, &request, &outcome)).await?)
    }

    fn report(mut self, started: Instant, first: &Judged) -> Report {
        self.checks.sort_by_key(|check| check.name);
        Report {
            passed: !self.checks.iter().any(Check::has_failed),
            requests: self.requests.load(Ordering::Relaxed),
            duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            answer_ms: first.answer_ms,
            checks: self.checks,
        }
    }
}

const FAILURE_UNSEEN: &str =
    "no task is named that the agent must answer with `failed`, and it answered no other one so";
const UNICODE_UNSEEN: &str =
    "hash and signature are right, but the result of a task with characters outside of ASCII has none";
const CRLF_UNSEEN: &str = "hash and signature are right, but the result of a task with CR LF line ends has none";
const EMPTY_UNSEEN: &str = "hash and signature are right, but the agent answers a blank task with text";
