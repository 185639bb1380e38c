//! `crtx mcp` as an MCP client uses it: messages of JSON-RPC, one on each line.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::arithmetic_side_effects, reason = "tests")]

use std::process::Stdio;

use crtx_e2e::{Up, market::Market};
use crtx_protocol::plain_text::is_plain;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
};

struct Client {
    server: Child,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    next_id: u64,
}

impl Client {
    /// Starts the server as the configuration of an MCP client does, and begins a session.
    async fn start(market: &Market, key: Option<&str>, more: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::from(crtx_e2e::crtx_without_settings(folder.path()));
        command.arg("mcp").args(more).env("CRTX_URL", &market.info.base_url);
        if let Some(key) = key {
            command.env("CRTX_API_KEY", key);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        let mut server = command.spawn().unwrap();
        let (input, output) = (server.stdin.take().unwrap(), server.stdout.take().unwrap());
        let mut client = Self { server, input, lines: BufReader::new(output).lines(), next_id: 0 };
        let about =
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let server = client.request("initialize", about).await;
        assert_eq!(server["result"]["serverInfo"]["name"], "crtx", "{server}");
        assert!(server["result"]["instructions"].as_str().unwrap().contains("texts of strangers"), "{server}");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        client
    }

    async fn send(&mut self, message: &Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn request(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        let message = json!({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params});
        self.send(&message).await;
        let line = self.lines.next_line().await.unwrap().unwrap();
        assert!(line.chars().all(is_plain), "every character can be seen: {line:?}");
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["id"], self.next_id, "{answer}");
        answer
    }

    /// What the model reads, or the text of the error.
    async fn call(&mut self, tool: &str, arguments: Value) -> Result<Value, String> {
        let answer = self.request("tools/call", json!({"name": tool, "arguments": arguments})).await;
        let Some(text) = answer["result"]["content"][0]["text"].as_str() else {
            return Err(answer["error"].to_string());
        };
        match answer["result"]["isError"].as_bool().unwrap_or_default() {
            true => Err(text.to_owned()),
            false => Ok(serde_json::from_str(text).unwrap()),
        }
    }

    async fn close(mut self) {
        drop(self.input);
        assert!(self.server.wait().await.unwrap().success(), "it ends with its input");
    }
}

/// The word behind `name` in an error.
fn named<'a>(text: &'a str, name: &str) -> &'a str {
    text.split_once(name).unwrap().1.split(';').next().unwrap().trim()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_finds_buys_and_proves_and_a_failure_costs_nothing() {
    let folder = crtx_e2e::folder();
    let mut up = Up::start(folder.path(), &[]).await.unwrap();
    let market = Market::new(up.info().clone());
    let mut client = Client::start(&market, Some(&market.info.api_key), &["--call-wait", "30"]).await;

    let tools = client.request("tools/list", json!({})).await["result"]["tools"].clone();
    let reads = |tool: &&Value| tool["annotations"]["readOnlyHint"] == true;
    let paying: Vec<&Value> = tools.as_array().unwrap().iter().filter(|tool| !reads(tool)).collect();
    assert_eq!((paying.len(), &paying[0]["name"]), (1, &json!("call_agent")), "{tools:#}");
    assert!(tools.as_array().unwrap().iter().all(|tool| tool["description"].is_string()), "{tools:#}");

    let found = client.call("search_agents", json!({"words": "text-stats", "max_price_usdc": "1"})).await.unwrap();
    let agent = found["agents"][0]["agent_id"].clone();
    assert_eq!(agent, market.agent("text-stats"), "{found:#}");
    let shown = client.call("get_agent", json!({"agent_id": agent})).await.unwrap();
    assert_eq!(shown["input_schema"]["type"], "object", "{shown:#}");

    let before = market.balances().await;
    let task = "One. Two.";
    let bought = client.call("call_agent", json!({"agent_id": agent, "task": task})).await.unwrap();
    assert_eq!((&bought["status"], &bought["verified"]), (&json!("completed"), &json!(true)), "{bought:#}");
    assert_eq!(bought["cost_usdc"], shown["price_per_call_usdc"]);
    assert!(bought["result"].as_str().unwrap().contains("words"), "{bought:#}");
    assert_eq!(before.caller - market.balances().await.caller, market.price("text-stats"));
    let id = json!({"execution_id": bought["execution_id"]});
    let listed = client.call("list_executions", json!({"limit": 1})).await.unwrap();
    assert_eq!(listed["executions"][0]["execution_id"], bought["execution_id"]);
    assert_eq!(client.call("get_execution", id.clone()).await.unwrap()["result"], bought["result"]);
    let proof = client.call("verify_execution", id).await.unwrap();
    assert_eq!((&proof["verified"], &proof["money"]), (&json!(true), &json!("paid")), "{proof:#}");

    // What an agent answers cannot hide anything from the person who watches the model.
    let target = market.agent("conformance-target");
    let hidden = "a\u{202e}b\u{e0041}\u{200b}\u{1b}[2J\n";
    let call = json!({"agent_id": target, "task": hidden, "parameters": {"behaviour": "ok"}});
    let echoed = client.call("call_agent", call).await.unwrap();
    let result: Value = serde_json::from_str(echoed["result"].as_str().unwrap()).unwrap();
    assert_eq!(result["task"], hidden);

    // The money of a call that fails comes back, and the same call pays nothing once more.
    let before = market.balances().await;
    let mut failing = json!({"agent_id": target, "task": "x", "parameters": {"behaviour": "fail"}});
    let failed = client.call("call_agent", failing.clone()).await.unwrap_err();
    assert!(failed.contains("The amount was refunded"), "{failed}");
    failing["idempotency_key"] = json!(named(&failed, "idempotency key"));
    let again = client.call("call_agent", failing).await.unwrap_err();
    assert_eq!(named(&again, "; execution"), named(&failed, "; execution"), "{again}");
    for nonsense in [
        json!({"agent_id": agent, "task": "x", "parameters": {"top_words": "many"}}),
        json!({"agent_id": agent, "task": "x", "budget": 1}),
        json!({"agent_id": "x", "task": "x"}),
        json!({"agent_id": agent}),
    ] {
        let refused = client.call("call_agent", nonsense.clone()).await.unwrap_err();
        assert!(!refused.is_empty(), "{nonsense}");
    }
    assert_eq!(market.balances().await, before);
    client.close().await;

    // A call that runs longer than the client waits is followed by its id.
    let mut client = Client::start(&market, Some(&market.info.api_key), &["--call-wait", "1"]).await;
    let long = json!({"agent_id": target, "task": "x", "parameters": {"behaviour": "ok", "delay_ms": 3_000}});
    let running = client.call("call_agent", long).await.unwrap();
    assert_eq!(running["status"], "running", "{running:#}");
    let id = json!({"execution_id": running["execution_id"]});
    let ended = loop {
        let shown = client.call("get_execution", id.clone()).await.unwrap();
        if shown["status"] != "running" && shown["status"] != "pending" {
            break shown;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    };
    assert_eq!(ended["status"], "completed", "{ended:#}");
    client.close().await;

    let mut stranger = Client::start(&market, None, &[]).await;
    assert!(stranger.call("search_agents", json!({})).await.unwrap()["total"].as_u64().unwrap() > 1);
    let refused = stranger.call("call_agent", json!({"agent_id": agent, "task": "x"})).await.unwrap_err();
    assert!(refused.contains("unauthorized"), "{refused}");
    stranger.close().await;
    up.stop().await.unwrap();
}
