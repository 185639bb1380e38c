//! What leaves a process about a call: traces for a collector, and the log.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "tests")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use axum::{Router, body::Bytes, extract::State, routing::post};
use crtx_e2e::{
    Info,
    server::{Server, until_listed, without_services},
};
use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest, common::v1::any_value::Value as Attribute,
};
use prost::Message;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use uuid::Uuid;

const LIMIT: Duration = Duration::from_secs(120);
const TASK: &str = "Nobody else reads this task.";

/// A span as a collector gets it.
#[derive(Clone, Debug)]
struct Span {
    roles: String,
    name: String,
    id: Vec<u8>,
    parent: Vec<u8>,
    attributes: BTreeMap<String, String>,
    nanoseconds: u64,
}

/// A collector that keeps what it gets.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<Bytes>>>);

impl Collector {
    async fn start() -> (Self, String) {
        let collector = Self::default();
        let keep = |State(collector): State<Self>, body: Bytes| async move { collector.0.lock().unwrap().push(body) };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().route("/v1/traces", post(keep)).with_state(collector.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        (collector, url)
    }

    fn received(&self) -> Vec<Bytes> {
        self.0.lock().unwrap().clone()
    }

    fn trace(&self, execution: &str) -> Vec<Span> {
        let wanted = execution.parse::<Uuid>().unwrap().into_bytes();
        let mut spans = Vec::new();
        let text = |value: Option<Attribute>| match value {
            Some(Attribute::StringValue(text)) => text,
            other => panic!("not a text: {other:?}"),
        };
        for body in self.received() {
            for of_process in ExportTraceServiceRequest::decode(body).unwrap().resource_spans {
                let resource = of_process.resource.unwrap().attributes;
                let roles = resource.into_iter().find(|attribute| attribute.key == "crtx.roles").unwrap();
                let roles = text(roles.value.unwrap().value);
                let all = of_process.scope_spans.into_iter().flat_map(|scope| scope.spans);
                spans.extend(all.filter(|span| span.trace_id == wanted).map(|span| {
                    Span {
                        roles: roles.clone(),
                        name: span.name,
                        id: span.span_id,
                        parent: span.parent_span_id,
                        attributes: (span.attributes.into_iter())
                            .map(|attribute| (attribute.key, text(attribute.value.unwrap().value)))
                            .collect(),
                        nanoseconds: span.end_time_unix_nano.saturating_sub(span.start_time_unix_nano),
                    }
                }));
            }
        }
        spans
    }

    /// The trace, once it has these spans of these roles.
    async fn until(&self, execution: &str, wanted: &[(&str, &str)]) -> Vec<Span> {
        let started = Instant::now();
        loop {
            let trace = self.trace(execution);
            let has = |(roles, name): &(&str, &str)| trace.iter().any(|it| it.roles == *roles && it.name == *name);
            if wanted.iter().all(has) {
                return trace;
            }
            assert!(started.elapsed() < LIMIT, "{execution} has {wanted:?}: {trace:#?}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

fn start(info: &Info, folder: &Path, name: &str, role: &str, collector: &str) -> Server {
    let settings = format!("\n[traces]\nendpoint = \"{collector}\"\n");
    let config = fs::read_to_string(&info.server_config).unwrap();
    let before_tables = "log_format = \"json\"\nlog = \"info,crtx_gateway=debug,crtx_http=debug,crtx_chain=debug\"\n";
    let path = folder.join(format!("{name}.toml"));
    fs::write(&path, [before_tables, &config, &settings].concat()).unwrap();
    Server::start_with(&path, folder, name, role).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_one_trace_over_all_processes_and_no_trace_and_no_log_has_its_texts() {
    let (folder, mut up) = without_services().await.unwrap();
    let (info, folder) = (up.info().clone(), folder.path());
    let (collector, url) = Collector::start().await;
    let _indexer = start(&info, folder, "indexer", "indexer", &url);
    let mut worker = start(&info, folder, "worker", "worker", &url);
    let mut api = start(&info, folder, "api", "api", &url);
    worker.until_readyz_is(200).await.unwrap();
    api.until_readyz_is(200).await.unwrap();
    let market = api.market(&info);
    let agent = market.agent("text-stats");
    until_listed(&market, &agent).await;

    // One process: everything hangs below the request.
    let body = serde_json::to_vec(&json!({"task": TASK, "parameters": {"top_words": 3}})).unwrap();
    let path = format!("/v1/agents/{agent}/execute");
    let key = [("idempotency-key", "nobody-reads-this-key")];
    let paid = market.raw(Method::POST, &path, Some(&info.api_key), &key, Some(body)).await;
    assert_eq!(paid.status, 200, "{paid:?}");
    let (execution, request) = (paid.text("execution_id"), paid.headers["x-request-id"].to_str().unwrap());
    let wanted = ["request", "call", "opening", "transaction", "creator", "settlement"].map(|name| ("api", name));
    let trace = collector.until(execution, &wanted).await;
    let ids: BTreeSet<_> = trace.iter().map(|span| span.id.clone()).collect();
    assert_eq!(ids.len(), trace.len(), "{trace:#?}");
    for span in &trace {
        assert_eq!(span.parent.is_empty(), span.name == "request", "{span:?}");
        assert!(span.parent.is_empty() || ids.contains(&span.parent), "{span:?} of {trace:#?}");
    }
    let of = |name: &str| trace.iter().find(|span| span.name == name).unwrap();
    assert_eq!(of("request").attributes, BTreeMap::from([("crtx.id".to_owned(), request.to_owned())]));
    let call = &of("call").attributes;
    assert_eq!((&call["crtx.agent"], &*call["crtx.outcome"]), (&agent, "completed"), "{call:?}");
    assert_eq!(trace.iter().filter(|span| span.name == "transaction").count(), 2, "{trace:#?}");
    for inner in ["opening", "creator", "settlement"] {
        assert!(of(inner).nanoseconds > 0 && of(inner).nanoseconds < of("call").nanoseconds, "{trace:#?}");
    }

    // Two processes: one dies while the agent works, another one refunds.
    let body = json!({"task": TASK, "parameters": {"behaviour": "slow"}, "async": true});
    let hung = market.execute(&market.agent("conformance-target"), &body).await;
    let hung = hung.text("execution_id");
    collector.until(hung, &[("api", "opening")]).await;
    api.kill().await.unwrap();
    let trace = collector.until(hung, &[("worker", "call"), ("worker", "refund")]).await;
    let root = &hung.parse::<Uuid>().unwrap().into_bytes()[..8];
    let taken_over = trace.iter().find(|span| (&*span.roles, &*span.name) == ("worker", "call")).unwrap();
    assert_eq!((&*taken_over.parent, &*taken_over.attributes["crtx.outcome"]), (root, "failed"), "{trace:#?}");

    // The log names request and execution in each line of the call.
    let lines = fs::read_to_string(folder.join("api.log")).unwrap();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let ended = lines.iter().filter(|line| line["fields"]["message"] == "call ended");
    let ended: Vec<_> = ended.filter(|line| line["spans"].to_string().contains(execution)).collect();
    assert_eq!(ended.len(), 1, "{lines:#?}");
    assert!(ended[0]["spans"].to_string().contains(request), "{ended:?}");

    // Neither has what only caller and agent may know.
    assert!(paid.text("result").contains("reading_time_seconds"));
    let logs = ["api.log", "worker.log", "indexer.log"].map(|name| fs::read(folder.join(name)).unwrap());
    let texts: Vec<Vec<u8>> = logs.into_iter().chain(collector.received().iter().map(|body| body.to_vec())).collect();
    for secret in [TASK, "reading_time_seconds", &info.api_key, key[0].1, &info.database_url] {
        let found = |text: &Vec<u8>| String::from_utf8_lossy(text).contains(secret);
        assert!(!texts.iter().any(found), "{secret}");
    }

    // A collector that never answers, and one that is not there.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent_url = format!("http://{}", silent.local_addr().unwrap());
    for (name, url) in [("silent", silent_url.as_str()), ("absent", "http://127.0.0.1:9")] {
        let mut api = start(&info, folder, name, "api", url);
        api.until_readyz_is(200).await.unwrap();
        let market = api.market(&info);
        until_listed(&market, &agent).await;
        for _ in 0..3 {
            let started = Instant::now();
            market.paid().await;
            assert!(started.elapsed() < Duration::from_secs(5), "{name}: {:?}", started.elapsed());
        }
        let started = Instant::now();
        assert!(api.stop().await.unwrap().success());
        assert!(started.elapsed() < Duration::from_secs(10), "{name}: {:?}", started.elapsed());
    }

    // Days later the worker closes the record.
    market.travel(Duration::from_secs(4 * 24 * 3_600)).await;
    let trace = collector.until(execution, &[("worker", "closing")]).await;
    assert!(trace.iter().all(|span| span.name != "closing" || span.parent == of("request").id), "{trace:#?}");
    up.stop().await.unwrap();
}
