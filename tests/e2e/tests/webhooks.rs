//! Webhooks of a running marketplace: receivers in Python and Node check what they get, with the libraries of the standard and
//! with the code of `docs/api.md`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "tests"
)]

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use axum::{Router, body::Bytes, http::HeaderMap};
use crtx_e2e::{
    Up,
    chain::Chain,
    market::Market,
    session::{Session, ask, bearer},
};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt, process::Command};

const PYTHON_PACKAGES: [&str; 2] = ["standardwebhooks==1.0.1", "cryptography==48.0.0"];
const NODE_PACKAGES: [&str; 1] = ["standardwebhooks@1.1.1"];

/// Reads one delivery from standard input, and says what it believes.
const PYTHON_MAIN: &str = r#"
import base64, json, sys
ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

def b58decode(text):
    number = 0
    for digit in text:
        number = number * 58 + ALPHABET.index(digit)
    return number.to_bytes(32 if len(text) < 50 else 64, "big")

def holds(check, *arguments):
    try:
        check(*arguments)
        return True
    except Exception:
        return False

it = json.load(sys.stdin)
headers, body, key = it["headers"], base64.b64decode(it["body"]), it["key"]
forged = body + b" "
other = "whpk_" + base64.b64encode(b58decode(key["gateway_authority"])).decode()
print(json.dumps({
    "v1": holds(verify_v1, it["secret"], headers, body), "v1a": holds(verify_v1a, key["public_key"], headers, body),
    "key": holds(check_webhook_key, it["program_id"], key, b58decode),
    "forged": holds(verify_v1, it["secret"], headers, forged) or holds(verify_v1a, key["public_key"], headers, forged)
        or holds(verify_v1a, other, headers, body) or holds(check_webhook_key, "x", key, b58decode)
        or holds(verify_v1a, key["public_key"], {**headers, "webhook-timestamp": "1"}, body),
}))
"#;
const NODE_MAIN: &str = r#"
import { readFileSync } from "node:fs";

const holds = (check, ...args) => {
  try {
    check(...args);
    return true;
  } catch {
    return false;
  }
};
const { secret, headers, body: encoded, key } = JSON.parse(readFileSync(0, "utf8"));
const body = Buffer.from(encoded, "base64");
const forged = Buffer.concat([body, Buffer.from(" ")]);
console.log(JSON.stringify({
  v1: holds(verifyV1, secret, headers, body),
  v1a: holds(verifyV1a, key.public_key, headers, body),
  key: true,
  forged: holds(verifyV1, secret, headers, forged) || holds(verifyV1a, key.public_key, headers, forged)
    || holds(verifyV1a, key.public_key, { ...headers, "webhook-timestamp": "1" }, body),
}));
"#;

/// The code blocks of the section in this language.
fn documented(language: &str) -> String {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/api.md")).unwrap();
    let section = text.split("#### Check of a signature").nth(1).unwrap().split("\n### ").next().unwrap();
    let blocks =
        section.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix(&format!("{language}\n")));
    blocks.collect::<Vec<_>>().join("\n")
}

/// A program that checks deliveries, or `None` and a message where its packages cannot be had.
struct Checker {
    program: &'static str,
    arguments: Vec<PathBuf>,
    packages: PathBuf,
}

async fn runs(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().await.is_ok_and(|status| status.success())
}

impl Checker {
    async fn python(folder: &Path) -> Option<Self> {
        let packages = folder.join("python");
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target"]);
        if !runs(pip.arg(&packages).args(PYTHON_PACKAGES)).await {
            eprintln!("skipped: `python3 -m pip install {}` does not work here", PYTHON_PACKAGES.join(" "));
            return None;
        }
        let script = folder.join("receiver.py");
        std::fs::write(&script, documented("python") + PYTHON_MAIN).unwrap();
        Some(Self { program: "python3", arguments: vec![script], packages })
    }

    async fn node(folder: &Path) -> Option<Self> {
        let mut npm = Command::new("npm");
        npm.args(["install", "--silent", "--no-save", "--prefix"]);
        if !runs(npm.arg(folder).args(NODE_PACKAGES)).await {
            eprintln!("skipped: `npm install {}` does not work here", NODE_PACKAGES.join(" "));
            return None;
        }
        let script = folder.join("receiver.mjs");
        std::fs::write(&script, documented("js") + NODE_MAIN).unwrap();
        Some(Self { program: "node", arguments: vec![script], packages: folder.to_owned() })
    }

    async fn check(&self, delivery: &Value) -> Value {
        let mut child = Command::new(self.program)
            .args(&self.arguments)
            .env("PYTHONPATH", &self.packages)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(delivery.to_string().as_bytes()).await.unwrap();
        let output = child.wait_with_output().await.unwrap();
        assert!(output.status.success(), "{}", self.program);
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

type Deliveries = Arc<Mutex<Vec<(HeaderMap, Vec<u8>)>>>;

/// The URL of a target, and what it received.
async fn target() -> (String, Deliveries) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/crtx", listener.local_addr().unwrap());
    let got = Deliveries::default();
    let seen = Arc::clone(&got);
    let router = Router::new().fallback(move |headers: HeaderMap, body: Bytes| async move {
        seen.lock().unwrap().push((headers, body.to_vec()));
    });
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url, got)
}

async fn until(got: &Deliveries, is: impl Fn(&[(HeaderMap, Vec<u8>)]) -> bool) {
    let started = Instant::now();
    while !is(&got.lock().unwrap()) {
        assert!(started.elapsed() < Duration::from_secs(60), "{:?}", got.lock().unwrap());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn type_of(body: &[u8]) -> String {
    let event: Value = serde_json::from_slice(body).unwrap();
    event["type"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paid_call_reaches_receivers_in_python_and_node_and_a_developer_without_an_address() {
    use base64::Engine;
    let folder = crtx_e2e::folder();
    let mut up = Up::start(folder.path(), &[]).await.unwrap();
    let market = Market::new(up.info().clone());
    let chain = Chain::of(&market, folder.path());
    let session = Session::bearer(&market, &chain.wallet).await;
    let (url, got) = target().await;
    let created = session.ask(&market, Method::POST, "/v1/webhooks", Some(&json!({"url": url}))).await;
    assert_eq!(created.status, 201, "{created:?}");
    let key = session.new_key(&market, &chain, &chain.wallet, "of the test").await;
    let path = format!("/v1/agents/{}/execute", market.agent("text-stats"));
    let paid = ask(&market, Method::POST, &path, &bearer(&key.reveal()), Some(&json!({"task": "One. Two."}))).await;
    assert_eq!(paid.status, 200, "{paid:?}");
    until(&got, |all| all.iter().any(|(_, body)| type_of(body) == "execution.completed")).await;
    let deliveries = got.lock().unwrap().clone();

    let network = session.ask(&market, Method::GET, "/v1/network", None).await.body;
    assert_eq!(network["webhook_keys"][0]["gateway_authority"], network["roles"]["gateway_authority"]);
    let delivery = |(headers, body): &(HeaderMap, Vec<u8>)| {
        let headers: serde_json::Map<String, Value> =
            headers.iter().map(|(name, value)| (name.to_string(), json!(value.to_str().unwrap()))).collect();
        json!({
            "headers": headers, "body": base64::prelude::BASE64_STANDARD.encode(body), "secret": created.body["secret"],
            "key": network["webhook_keys"][0], "program_id": network["program_id"],
        })
    };
    let packages = tempfile::tempdir().unwrap();
    for checker in [Checker::python(packages.path()).await, Checker::node(packages.path()).await].into_iter().flatten()
    {
        for one in &deliveries {
            let believed = checker.check(&delivery(one)).await;
            let right = json!({"v1": true, "v1a": true, "key": true, "forged": false});
            assert_eq!(believed, right, "{}", checker.program);
        }
    }

    // The same events, as a developer has them forwarded.
    let (local, forwarded) = target().await;
    let secret = created.body["secret"].as_str().unwrap();
    let listen = Command::from(crtx_e2e::crtx_without_settings(&crtx_e2e::config_dir(folder.path())))
        .args(["listen", "--after", "0", "--once", "--forward", &local, "--url", &market.info.base_url])
        .args(["--api-key", &key.reveal()])
        .env("CRTX_WEBHOOK_SECRET", secret)
        .output()
        .await
        .unwrap();
    assert!(listen.status.success(), "{listen:?}");
    let lines: Vec<Value> =
        String::from_utf8(listen.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let forwarded = forwarded.lock().unwrap().clone();
    assert_eq!(forwarded.len(), lines.len());
    for (number, (headers, body)) in forwarded.iter().enumerate() {
        assert_eq!(lines[number]["sequence"], number + 1);
        let id = headers["webhook-id"].to_str().unwrap();
        if let Some((_, same)) = deliveries.iter().find(|(other, _)| other["webhook-id"] == id) {
            assert_eq!(body, same, "the bytes of the service");
        }
        let secret: crtx_protocol::webhook::WebhookSecret = secret.parse().unwrap();
        let time = headers["webhook-timestamp"].to_str().unwrap().parse().unwrap();
        assert_eq!(headers["webhook-signature"], secret.sign(&crtx_protocol::webhook::signed_content(id, time, body)));
    }
    up.stop().await.unwrap();
}
