//! A node that a test scripts: JSON-RPC over HTTP, and a WebSocket.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::post,
};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use crtx_mirror::source::{Deadlines, EndpointUrls, Endpoints, Snapshot, SnapshotItem, SourceError};
use crtx_store::testing::fixtures::program;
use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use solana_pubkey::Pubkey;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::mpsc,
};
use tokio_tungstenite::tungstenite::Message;

/// What a node answers to a request.
pub enum Reply {
    Result(Value),
    Error(i64, &'static str),
    Status(u16),
    /// Takes the request and never answers.
    Hang,
    /// Parts of a body, with a pause before each.
    Parts(Vec<Bytes>, Duration),
    /// A body that is made while it is sent.
    Stream(Body),
}

/// What a node does with a new WebSocket connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnConnect {
    #[default]
    Talk,
    /// Takes the TCP connection and sends nothing.
    HalfOpen,
    /// Shakes hands, and answers neither requests nor pings.
    Deaf,
}

type Handler = Box<dyn Fn(&Value) -> Reply + Send + Sync>;

#[derive(Default)]
pub struct NodeScript {
    handlers: HashMap<&'static str, Handler>,
    pub on_connect: OnConnect,
    /// Answers to subscriptions, by method: `None` for no answer. Others are granted.
    subscriptions: HashMap<&'static str, Option<Value>>,
    sockets: Vec<mpsc::UnboundedSender<Message>>,
    /// HTTP requests: method and parameters.
    pub asked: Vec<(String, Value)>,
    /// WebSocket requests: method and parameters.
    pub subscribed: Vec<(String, Value)>,
    pub connections: u32,
}

#[derive(Clone)]
pub struct Node {
    script: Arc<Mutex<NodeScript>>,
    pub urls: EndpointUrls,
}

/// Deadlines that a test can wait for.
pub const SHORT: Deadlines = Deadlines {
    connect: Duration::from_millis(500),
    answer: Duration::from_millis(500),
    silence: Duration::from_millis(500),
    still: Duration::from_millis(1_500),
    reader: Duration::from_millis(500),
    first_byte: Duration::from_millis(500),
    between_bytes: Duration::from_millis(500),
    snapshot: Duration::from_secs(20),
};

/// For tests in which nothing may be late.
pub const LONG: Deadlines = Deadlines {
    connect: Duration::from_secs(60),
    answer: Duration::from_secs(60),
    silence: Duration::from_secs(60),
    still: Duration::from_secs(60),
    reader: Duration::from_secs(60),
    first_byte: Duration::from_secs(60),
    between_bytes: Duration::from_secs(60),
    snapshot: Duration::from_secs(60),
};

impl Node {
    /// A node that grants every subscription and answers with slot 100, genesis hash `one` and no accounts.
    pub async fn start() -> Self {
        let script = Arc::new(Mutex::new(NodeScript::default()));
        let http = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let websocket = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = |scheme: &str, listener: &TcpListener| {
            format!("{scheme}://{}", listener.local_addr().expect("bound")).parse().expect("a URL")
        };
        let urls = EndpointUrls { http: url("http", &http), websocket: Some(url("ws", &websocket)) };
        let router = Router::new().route("/", post(answer)).with_state(Arc::clone(&script));
        tokio::spawn(async move { axum::serve(http, router).await });
        let shared = Arc::clone(&script);
        tokio::spawn(async move {
            while let Ok((stream, _)) = websocket.accept().await {
                tokio::spawn(talk(stream, Arc::clone(&shared)));
            }
        });
        let node = Self { script, urls };
        node.on("getSlot", |_| Reply::Result(json!(100)));
        node.on("getGenesisHash", |_| Reply::Result(json!("one")));
        node.on("getProgramAccounts", |_| Reply::Result(listed(100, &[])));
        node
    }

    pub fn script(&self) -> MutexGuard<'_, NodeScript> {
        self.script.lock().expect("no test panicked holding it")
    }

    /// Answers a method from now on.
    pub fn on(&self, method: &'static str, handler: impl Fn(&Value) -> Reply + Send + Sync + 'static) {
        self.script().handlers.insert(method, Box::new(handler));
    }

    /// Answers a subscription with this error, or not at all.
    pub fn on_subscription(&self, method: &'static str, error: Option<&str>) {
        let error = error.map(|message| json!({"code": -32_601, "message": message}));
        self.script().subscriptions.insert(method, error);
    }

    /// Grants a subscription from now on.
    pub fn grant(&self, method: &str) {
        self.script().subscriptions.remove(method);
    }

    /// Sends a message over every open WebSocket.
    pub fn send(&self, message: &Value) {
        self.send_message(&Message::text(message.to_string()));
    }

    pub fn send_message(&self, message: &Message) {
        self.script().sockets.retain(|socket| socket.send(message.clone()).is_ok());
    }

    /// Closes every open WebSocket without a word.
    pub fn hang_up(&self) {
        self.script().sockets.clear();
    }

    /// How often a method was asked for.
    pub fn asked(&self, method: &str) -> Vec<Value> {
        let script = self.script();
        script.asked.iter().filter(|(asked, _)| asked == method).map(|(_, params)| params.clone()).collect()
    }

    pub fn source(&self, deadlines: Deadlines) -> Endpoints {
        endpoints(&[self], deadlines)
    }

    pub fn name(&self) -> String {
        let http = &self.urls.http;
        format!("{}:{}", http.host_str().expect("a host"), http.port().expect("a port"))
    }
}

pub fn endpoints(nodes: &[&Node], deadlines: Deadlines) -> Endpoints {
    let urls: Vec<_> = nodes.iter().map(|node| node.urls.clone()).collect();
    Endpoints::new(&urls, None, program(), deadlines).expect("endpoints")
}

async fn answer(State(script): State<Arc<Mutex<NodeScript>>>, body: Bytes) -> Response {
    let request: Value = serde_json::from_slice(&body).expect("json");
    let method = request["method"].as_str().expect("a method").to_owned();
    let reply = {
        let mut script = script.lock().expect("not poisoned");
        script.asked.push((method.clone(), request["params"].clone()));
        script.handlers.get(method.as_str()).map(|handler| handler(&request["params"]))
    };
    let id = &request["id"];
    match reply.unwrap_or(Reply::Error(-32_601, "Method not found")) {
        Reply::Result(result) => json!({"jsonrpc": "2.0", "result": result, "id": id}).to_string().into_response(),
        Reply::Error(code, message) => {
            json!({"jsonrpc": "2.0", "error": {"code": code, "message": message}, "id": id}).to_string().into_response()
        }
        Reply::Status(status) => StatusCode::from_u16(status).expect("a status").into_response(),
        Reply::Hang => std::future::pending().await,
        Reply::Parts(parts, pause) => {
            let parts = futures::stream::iter(parts).then(move |part| async move {
                tokio::time::sleep(pause).await;
                Ok::<_, std::io::Error>(part)
            });
            Body::from_stream(parts).into_response()
        }
        Reply::Stream(body) => body.into_response(),
    }
}

async fn talk(stream: TcpStream, script: Arc<Mutex<NodeScript>>) {
    let on_connect = {
        let mut script = script.lock().expect("not poisoned");
        script.connections += 1;
        script.on_connect
    };
    if on_connect == OnConnect::HalfOpen {
        let () = std::future::pending().await;
    }
    let Ok(mut socket) = tokio_tungstenite::accept_async(stream).await else { return };
    if on_connect == OnConnect::Deaf {
        let () = std::future::pending().await;
    }
    let (sender, mut messages) = mpsc::unbounded_channel();
    script.lock().expect("not poisoned").sockets.push(sender);
    loop {
        let reply = tokio::select! {
            message = messages.recv() => match message {
                Some(message) => message,
                None => return,
            },
            message = socket.next() => match message {
                Some(Ok(Message::Text(text))) => match subscription(&text, &script) {
                    Some(reply) => reply,
                    None => continue,
                },
                Some(Ok(_)) => continue,
                _ => return,
            },
        };
        if socket.send(reply).await.is_err() {
            return;
        }
    }
}

fn subscription(text: &str, script: &Mutex<NodeScript>) -> Option<Message> {
    let request: Value = serde_json::from_str(text).expect("json");
    let method = request["method"].as_str().expect("a method");
    let mut script = script.lock().expect("not poisoned");
    script.subscribed.push((method.to_owned(), request["params"].clone()));
    let reply = match script.subscriptions.get(method) {
        None => json!({"jsonrpc": "2.0", "result": 7, "id": request["id"]}),
        Some(Some(error)) => json!({"jsonrpc": "2.0", "error": error, "id": request["id"]}),
        Some(None) => return None,
    };
    Some(Message::text(reply.to_string()))
}

/// A whole snapshot and its slot.
pub async fn collect(mut snapshot: Snapshot) -> Result<(u64, Vec<(Pubkey, Vec<u8>)>), SourceError> {
    let mut all = Vec::new();
    loop {
        match snapshot.recv().await.expect("an end")? {
            SnapshotItem::Page { accounts, .. } => all.extend(accounts),
            SnapshotItem::End { slot } => return Ok((slot, all)),
        }
    }
}

/// An account of the program.
pub fn account(data: &[u8]) -> Value {
    json!({
        "lamports": 1, "data": [BASE64.encode(data), "base64"], "owner": program().to_string(), "executable": false,
        "rentEpoch": u64::MAX, "space": data.len()
    })
}

/// An answer of `getProgramAccounts`.
pub fn listed(slot: u64, accounts: &[(Pubkey, Vec<u8>)]) -> Value {
    json!({"context": {"apiVersion": "4.0.0", "slot": slot}, "value": entries(accounts)})
}

pub fn entries(accounts: &[(Pubkey, Vec<u8>)]) -> Vec<Value> {
    accounts.iter().map(|(address, data)| json!({"pubkey": address.to_string(), "account": account(data)})).collect()
}

pub fn program_notification(slot: u64, address: &Pubkey, account: &Value) -> Value {
    let value = json!({"pubkey": address.to_string(), "account": account});
    json!({
        "jsonrpc": "2.0", "method": "programNotification",
        "params": {"result": {"context": {"slot": slot}, "value": value}, "subscription": 7}
    })
}

pub fn slot_notification(slot: u64, root: u64) -> Value {
    json!({
        "jsonrpc": "2.0", "method": "slotNotification",
        "params": {"result": {"parent": slot - 1, "root": root, "slot": slot}, "subscription": 7}
    })
}

pub fn clock_notification(slot: u64) -> Value {
    json!({
        "jsonrpc": "2.0", "method": "accountNotification",
        "params": {"result": {"context": {"slot": slot}, "value": {"lamports": 1, "data": ["", "base64"]}}, "subscription": 7}
    })
}
