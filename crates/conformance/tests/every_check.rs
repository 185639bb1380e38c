//! Each check fails alone when a creator breaks its rule alone.
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::arithmetic_side_effects, reason = "tests")]

mod support;

use std::collections::BTreeSet;

use crtx_conformance::{Check, CheckName, Example, Report, TestedEndpoint, limits, run};
use crtx_http::outbound::{Outbound, OutboundPolicy};
use crtx_protocol::{
    call_text::OpeningId,
    result_hash::{ResultHash, format_signature, sign_failure},
};
use ed25519_dalek::{Signer, SigningKey};
use serde_json::{Map, json};
use solana_pubkey::Pubkey;

use support::{Call, Change, Reply, creator, key, test};

/// A creator with one fault.
struct Case {
    fails: CheckName,
    /// Part of the advice or of what was received.
    says: &'static str,
    subject: fn(&mut TestedEndpoint),
    change: Change,
}

const fn replies(fails: CheckName, says: &'static str, change: Change) -> Case {
    Case { fails, says, subject: |_| {}, change }
}

const fn listed(fails: CheckName, says: &'static str, subject: fn(&mut TestedEndpoint)) -> Case {
    Case { fails, says, subject, change: |_, _| {} }
}

fn raw(reply: &mut Reply, body: impl Into<Vec<u8>>) {
    reply.raw = Some(body.into());
}

/// A signature over another message than the right one.
fn sign(reply: &mut Reply, message: impl AsRef<[u8]>) {
    reply.json["signature"] = json!(format_signature(&key().sign(message.as_ref()).to_bytes()));
}

fn closed_port() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    format!("http://{}/", listener.local_addr().expect("bound"))
}

fn is_parallel(call: &Call, number: u32) -> bool {
    call.task().contains(&format!("parallel request {number}"))
}

fn connection_cases() -> Vec<Case> {
    use CheckName::{
        ContentEncoding, ContentType, HttpStatus, InputSchema, JsonShape, Reachable, Tls, WholeAnswer, WithinTimeout,
    };
    vec![
        listed(InputSchema, "parameters do not match", |subject| subject.input_schema["required"] = json!(["a"])),
        listed(InputSchema, "not accepted", |subject| subject.input_schema = json!({"$ref": "https://a.example/b"})),
        listed(InputSchema, "not a JSON object", |subject| subject.input_schema = json!([])),
        listed(Reachable, "Start the service", |subject| subject.endpoint = closed_port()),
        listed(Reachable, "not a URL", |subject| subject.endpoint = "nowhere".to_owned()),
        listed(Tls, "certificate", |subject| subject.endpoint = subject.endpoint.replace("http:", "https:")),
        Case {
            fails: WithinTimeout,
            says: "within 1 seconds",
            subject: |subject| subject.timeout_seconds = 1,
            change: |_, reply| reply.never_comes = true,
        },
        replies(WholeAnswer, "closed the connection", |_, reply| reply.breaks_off = true),
        replies(ContentEncoding, "gzip", |_, reply| reply.headers.push(("content-encoding", "gzip"))),
        replies(HttpStatus, "HTTP 503", |_, reply| reply.status = 503),
        replies(HttpStatus, "redirects are not followed", |_, reply| {
            reply.status = 302;
            reply.headers.push(("location", "https://a.example/"));
        }),
        replies(ContentType, "text/plain", |_, reply| reply.headers = vec![("content-type", "text/plain")]),
        replies(ContentType, "no content-type", |_, reply| reply.headers.clear()),
        replies(JsonShape, "HTML", |_, reply| raw(reply, "<html></html>")),
        replies(JsonShape, "Serialise the answer once", |_, reply| {
            let twice = json!(reply.json.to_string()).to_string();
            raw(reply, twice);
        }),
        replies(JsonShape, "not with an array", |_, reply| reply.json = json!([reply.json])),
        replies(JsonShape, "twice", |_, reply| {
            let text = reply.json.to_string().replacen('{', "{\"status\": \"completed\",", 1);
            raw(reply, text);
        }),
        replies(JsonShape, "UTF-8", |_, reply| {
            let mut bytes = reply.json.to_string().into_bytes();
            bytes.push(0xff);
            raw(reply, bytes);
        }),
        replies(JsonShape, "byte order mark", |_, reply| {
            let text = format!("\u{feff}{}", reply.json);
            raw(reply, text);
        }),
        replies(JsonShape, "body is empty", |_, reply| raw(reply, "")),
    ]
}

fn result_cases() -> Vec<Case> {
    use CheckName::{
        ExecutionId, OutputSchema, ResultHash as Hash, ResultHashForm, ResultIsString, ResultSize, Status, Steps,
        TokensUsed,
    };
    vec![
        replies(ExecutionId, "the request has", |call, reply| {
            // A failure has a check of its own.
            if call.task() != "impossible" {
                reply.json["execution_id"] = json!(uuid::Uuid::from_u128(1));
            }
        }),
        replies(Status, "done", |_, reply| reply.json["status"] = json!("done")),
        replies(Status, "no model", |call, reply| reply.json = call.failed("no model")),
        replies(Status, "no model", |call, reply| {
            reply.status = 500;
            reply.json = call.failed("no model");
        }),
        replies(ResultIsString, "Serialise", |_, reply| reply.json["result"] = json!({"a": 1})),
        replies(ResultIsString, "missing or null", |_, reply| reply.json["result"] = json!(null)),
        replies(ResultSize, "1048577 bytes", |call, reply| reply.json = call.completed(&"x".repeat(1024 * 1024 + 1))),
        replies(ResultSize, "whole answer", |_, reply| raw(reply, " ".repeat(8 * 1024 * 1024))),
        replies(ResultHashForm, "Put `sha256:` in front", |_, reply| {
            let text = reply.json["result_hash"].as_str().unwrap_or_default().replace("sha256:", "");
            reply.json["result_hash"] = json!(text);
        }),
        replies(ResultHashForm, "lower case", |_, reply| {
            let text = reply.json["result_hash"].as_str().unwrap_or_default().to_uppercase().replace("SHA", "sha");
            reply.json["result_hash"] = json!(text);
        }),
        replies(ResultHashForm, "missing or null", |_, reply| reply.json["result_hash"] = json!(null)),
        replies(Hash, "quotation marks", |call, reply| {
            reply.json = call.hashed(call.result(), json!(call.result()).to_string());
        }),
        replies(Hash, "line end after", |call, reply| {
            reply.json = call.hashed(call.result(), format!("{}\n", call.result()));
        }),
        replies(Hash, "UTF-16", |call, reply| {
            let units: Vec<u8> = call.result().encode_utf16().flat_map(u16::to_le_bytes).collect();
            reply.json = call.hashed(call.result(), units);
        }),
        replies(Hash, "exactly the string", |call, reply| reply.json = call.hashed(call.result(), "something else")),
        replies(TokensUsed, "whole number", |_, reply| reply.json["tokens_used"] = json!(-1)),
        replies(TokensUsed, "whole number", |_, reply| reply.json["tokens_used"] = json!(1_000_000_001_u64)),
        replies(Steps, "array", |_, reply| reply.json["steps"] = json!("thinking")),
        replies(Steps, "Shorten", |_, reply| reply.json["steps"] = json!(["x".repeat(300_000)])),
        listed(OutputSchema, "not JSON", |subject| subject.output_schema = json!({"type": "object"})),
        listed(OutputSchema, "not accepted", |subject| subject.output_schema = json!({"type": "nothing"})),
        Case {
            fails: OutputSchema,
            says: "at `/words`",
            subject: |subject| {
                let words = json!({"words": {"type": "integer"}});
                subject.output_schema = json!({"properties": words, "not": {"type": "string"}});
            },
            change: |call, reply| {
                if call.task() != "impossible" {
                    reply.json = call.completed(&json!({"words": call.result()}).to_string());
                }
            },
        },
    ]
}

fn signature_cases() -> Vec<Case> {
    use CheckName::{CallSignature, CallSignatureForm, ResultKey, Signature, SignatureForm};
    vec![
        replies(SignatureForm, "not in hexadecimal form", |_, reply| reply.json["signature"] = json!("ab".repeat(64))),
        replies(SignatureForm, "Put `ed25519:` in front", |_, reply| {
            let text = reply.json["signature"].as_str().unwrap_or_default().replace("ed25519:", "");
            reply.json["signature"] = json!(text);
        }),
        replies(SignatureForm, "all 64 bytes", |_, reply| reply.json["signature"] = json!("ed25519:111")),
        replies(SignatureForm, "base64", |_, reply| reply.json["signature"] = json!("ed25519:AA+/==")),
        replies(SignatureForm, "Add the signature", |call, reply| {
            if call.task() != "impossible" {
                reply.json["signature"] = json!(null);
            }
        }),
        replies(ResultKey, "list the public key", |call, reply| {
            let hash = ResultHash::of(call.result().as_bytes());
            reply.json = call.signed(call.result(), &hash, &SigningKey::from_bytes(&[8; 32]));
        }),
        listed(ResultKey, "private key", |subject| subject.result_key = Pubkey::new_from_array([7; 32])),
        listed(ResultKey, "is not such a key", |subject| subject.result_key = Pubkey::default()),
        replies(Signature, "32 bytes of the hash", |call, reply| {
            sign(reply, ResultHash::of(call.result().as_bytes()).0);
        }),
        replies(Signature, "without `sha256:`", |_, reply| {
            let text = reply.json["result_hash"].as_str().unwrap_or_default().replace("sha256:", "");
            sign(reply, text);
        }),
        replies(Signature, "the result in place", |call, reply| sign(reply, call.result())),
        replies(Signature, "quotation marks", |_, reply| {
            let text = reply.json["result_hash"].to_string();
            sign(reply, text);
        }),
        replies(Signature, "message of `call_signature`", |_, reply| {
            reply.json["signature"] = reply.json["call_signature"].clone();
        }),
        replies(CallSignatureForm, "Add the signature", |_, reply| reply.json["call_signature"] = json!(null)),
        replies(CallSignatureForm, "as a string", |_, reply| reply.json["call_signature"] = json!([1, 2])),
        replies(CallSignature, "without the call", |_, reply| {
            reply.json["call_signature"] = reply.json["signature"].clone();
        }),
        replies(CallSignature, "base58 text", |call, reply| {
            let record = call.body["execution_record"].as_str().unwrap_or_default();
            let hash = reply.json["result_hash"].as_str().unwrap_or_default();
            let message = [
                b"crtx-call-v2:".as_slice(),
                record.as_bytes(),
                b":",
                &call.second().to_le_bytes(),
                b":",
                hash.as_bytes(),
            ];
            reply.json["call_signature"] = json!(format_signature(&key().sign(&message.concat()).to_bytes()));
        }),
    ]
}

fn later_cases() -> Vec<Case> {
    use CheckName::{
        Crlf, EmptyResult, FailureForm, FailureSignature, ParallelCalls, RepeatedId, Unicode, UnknownFields,
    };
    vec![
        replies(Unicode, "outside of ASCII", |call, reply| {
            let ascii: String = call.result().chars().filter(char::is_ascii).collect();
            if ascii != call.result() {
                reply.json = call.hashed(call.result(), ascii);
            }
        }),
        replies(Unicode, "HTTP 500", |call, reply| {
            if !call.result().is_ascii() {
                reply.status = 500;
            }
        }),
        replies(Crlf, "LF line ends in place of CR LF", |call, reply| {
            if call.result().contains('\r') {
                reply.json = call.hashed(call.result(), call.result().replace("\r\n", "\n"));
            }
        }),
        replies(EmptyResult, "result_is_string", |call, reply| {
            if call.result().is_empty() {
                reply.json["result"] = json!(null);
            }
        }),
        replies(UnknownFields, "Ignore members", |call, reply| {
            if call.body.as_object().is_some_and(|members| members.len() > 7) {
                reply.status = 400;
            }
        }),
        replies(RepeatedId, "another result", |call, reply| {
            if call.repetition > 0 {
                reply.json = call.completed(&format!("{} again", call.result()));
            }
        }),
        replies(RepeatedId, "HTTP 500", |call, reply| {
            if call.repetition > 0 {
                reply.status = 500;
            }
        }),
        replies(FailureForm, "`status` is \"completed\"", |call, reply| {
            if call.task() == "impossible" {
                reply.json = call.completed("done");
            }
        }),
        replies(FailureForm, "to null", |call, reply| {
            if call.task() == "impossible" {
                reply.json["result"] = json!("");
            }
        }),
        replies(FailureForm, "Say in `error`", |call, reply| {
            if call.task() == "impossible" {
                reply.json["error"] = json!(null);
            }
        }),
        replies(FailureForm, "HTTP 500", |call, reply| {
            if call.task() == "impossible" {
                reply.status = 500;
                raw(reply, "<html>");
            }
        }),
        replies(FailureSignature, "57 bytes", |call, reply| {
            if call.task() == "impossible" {
                let other = OpeningId { opened_at_unix_s: call.second() + 1, ..call.opening() };
                reply.json["failure_signature"] = json!(format_signature(&sign_failure(&key(), &other)));
            }
        }),
        replies(FailureSignature, "Put `ed25519:` in front", |call, reply| {
            if call.task() == "impossible" {
                let text = reply.json["failure_signature"].as_str().unwrap_or_default().replace("ed25519:", "");
                reply.json["failure_signature"] = json!(text);
            }
        }),
        replies(ParallelCalls, "HTTP 429", |call, reply| {
            if is_parallel(call, 3) {
                reply.status = 429;
            }
        }),
        replies(ParallelCalls, "execution_id", |call, reply| {
            if is_parallel(call, 2) {
                reply.json["execution_id"] = json!(uuid::Uuid::from_u128(1));
            }
        }),
        replies(ParallelCalls, "request 2 has the result of request 1", |call, reply| {
            if is_parallel(call, 2) {
                reply.json = call.completed(&call.result().replace("request 2", "request 1"));
            }
        }),
    ]
}

fn cases() -> Vec<Case> {
    [connection_cases(), result_cases(), signature_cases(), later_cases()].into_iter().flatten().collect()
}

fn failed(report: &Report) -> Vec<CheckName> {
    report.failed().map(|check| check.name).collect()
}

/// Each check is passed, or failed with advice, or skipped with a reason.
fn assert_complete(report: &Report) {
    assert_eq!(report.checks.iter().map(|check| check.name).collect::<Vec<_>>(), CheckName::ALL);
    assert_eq!(report.passed, report.failed().next().is_none());
    assert!(report.requests <= limits::MAX_REQUESTS, "{}", report.requests);
    for check in &report.checks {
        let Check { passed, skipped, received, fix, .. } = check;
        assert_eq!(passed.is_none(), skipped.as_ref().is_some_and(|reason| !reason.is_empty()), "{check:?}");
        assert_eq!(passed.is_some(), received.is_some(), "{check:?}");
        assert_eq!(check.has_failed(), fix.as_ref().is_some_and(|fix| !fix.is_empty()), "{check:?}");
        for text in [skipped, received, fix].into_iter().flatten() {
            assert!(text.len() < 4_096, "{check:?}");
        }
    }
}

#[tokio::test]
async fn a_creator_that_breaks_one_rule_fails_exactly_this_check() {
    for (number, case) in cases().iter().enumerate() {
        let mut subject = creator(case.change).await;
        (case.subject)(&mut subject);
        let report = test(&subject).await;
        assert_complete(&report);
        assert_eq!(failed(&report), [case.fails], "case {number}, {}: {report:#?}", case.says);
        let check = report.check(case.fails).expect("there");
        let said = format!("{} {}", check.received.as_deref().unwrap_or(""), check.fix.as_deref().unwrap_or(""));
        assert!(said.contains(case.says), "case {number}: `{}` is not in: {said}", case.says);
    }
}

#[test]
fn every_check_has_a_creator_that_breaks_it() {
    let broken: BTreeSet<CheckName> = cases().iter().map(|case| case.fails).collect();
    assert_eq!(broken.into_iter().collect::<Vec<_>>(), CheckName::ALL);
}

#[tokio::test]
async fn a_creator_that_does_everything_right_passes_every_check() {
    let subject = creator(|_, _| {}).await;
    let report = test(&subject).await;
    assert_complete(&report);
    let skipped: Vec<CheckName> = report.checks.iter().filter(|check| check.passed.is_none()).map(|c| c.name).collect();
    assert_eq!(skipped, [CheckName::Tls], "{report:#?}");
    assert!(report.passed && report.answer_ms.is_some());
    assert_eq!(report.requests, limits::MAX_REQUESTS);
    let json = serde_json::to_string(&report).expect("json");
    assert_eq!(serde_json::from_str::<Report>(&json).expect("the same form"), report);
}

#[tokio::test]
async fn a_listing_that_is_not_bound_does_not_look_at_the_call_signature() {
    let mut subject = creator(|_, reply| reply.json["call_signature"] = json!("junk")).await;
    subject.binding = false;
    subject.failing = None;
    let report = test(&subject).await;
    assert!(report.passed, "{report:#?}");
    for name in
        [CheckName::CallSignatureForm, CheckName::CallSignature, CheckName::FailureForm, CheckName::FailureSignature]
    {
        assert_eq!(report.check(name).expect("there").passed, None, "{name}");
    }
}

#[tokio::test]
async fn without_a_failing_task_a_failure_of_the_agents_own_is_judged() {
    let mut subject = creator(|call, reply| {
        if call.task().trim().is_empty() {
            reply.json = call.failed("a blank task");
            reply.json["failure_signature"] = reply.json["failure_signature"].as_str().map(|it| &it[..40]).into();
        }
    })
    .await;
    subject.failing = None;
    let report = test(&subject).await;
    assert_complete(&report);
    assert_eq!(failed(&report), [CheckName::FailureSignature], "{report:#?}");
    assert_eq!(report.check(CheckName::FailureForm).expect("there").received.as_deref(), Some("failed: a blank task"));
}

#[tokio::test]
async fn a_failure_without_a_signature_breaks_no_rule() {
    let subject = creator(|_, reply| {
        reply.json.as_object_mut().expect("an object").remove("failure_signature");
    })
    .await;
    let report = test(&subject).await;
    assert!(report.passed, "{report:#?}");
    let check = report.check(CheckName::FailureSignature).expect("there");
    assert!(check.skipped.as_ref().expect("skipped").contains("unproved"));
}

#[tokio::test]
async fn an_agent_that_refuses_changed_tasks_and_repetitions_passes_with_reasons() {
    let subject = creator(|call, reply| {
        if call.task() != "repeat this" || call.repetition > 0 {
            reply.json = call.failed("only one task, only once");
        }
    })
    .await;
    let report = test(&subject).await;
    assert!(report.passed, "{report:#?}");
    for name in [CheckName::Unicode, CheckName::Crlf, CheckName::EmptyResult] {
        assert!(report.check(name).expect("there").skipped.as_ref().expect("skipped").contains("only one task"));
    }
    for name in [CheckName::RepeatedId, CheckName::ParallelCalls, CheckName::UnknownFields] {
        assert_eq!(report.check(name).expect("there").passed, Some(true), "{name}");
    }
}

#[tokio::test]
async fn an_endpoint_that_the_policy_forbids_gets_no_request() {
    let subject = creator(|_, _| unreachable!("a request came")).await;
    let strict = Outbound::new(OutboundPolicy::STRICT);
    let report = run(&subject, &strict).await.expect("a report");
    assert_eq!(failed(&report), [CheckName::Tls], "{report:#?}");
    let subject = TestedEndpoint { endpoint: "https://127.0.0.1/execute".to_owned(), ..subject };
    let report = run(&subject, &strict).await.expect("a report");
    assert_complete(&report);
    assert_eq!(failed(&report), [CheckName::Reachable], "{report:#?}");
}

#[tokio::test]
async fn a_result_with_json_is_compared_as_a_value_and_hashed_as_a_text() {
    let mut subject = creator(|call, reply| reply.json = call.completed(r#"{"words": 2}"#)).await;
    subject.output_schema = json!({
        "type": "object", "properties": {"words": {"type": "integer"}}, "required": ["words"],
        "additionalProperties": false,
    });
    subject.example = Example { task: "two words".to_owned(), parameters: Map::new() };
    subject.failing = None;
    let report = test(&subject).await;
    assert!(report.passed, "{report:#?}");
    assert_eq!(report.check(CheckName::OutputSchema).expect("there").passed, Some(true));
}

#[test]
fn a_test_ends_within_five_minutes_whatever_the_time_out_is() {
    for timeout_seconds in [1, 60, 900, u32::MAX] {
        assert!(limits::duration(timeout_seconds) <= limits::MAX_DURATION);
    }
}
