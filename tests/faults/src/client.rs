//! A caller's HTTP client: it never fails, it writes down what came back, an answer or none.

use std::{
    net::{IpAddr, Ipv4Addr},
    time::Duration,
};

use anyhow::Result;
use axum::body::Bytes;
use reqwest::{
    Method,
    header::{CONTENT_TYPE, RETRY_AFTER},
};
use serde_json::Value;

/// Cheap to clone.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
}

/// What came back.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    Answer {
        status: u16,
        retry_after: Option<Duration>,
        /// `null` where the body is not JSON.
        body: Value,
    },
    /// Nothing came back, or not all of it; the request may have been carried out.
    None(String),
}

impl Reply {
    pub const fn status(&self) -> Option<u16> {
        match self {
            Self::Answer { status, .. } => Some(*status),
            Self::None(_) => None,
        }
    }

    /// The body's member, where there is a body with it.
    pub fn get(&self, name: &str) -> Option<&Value> {
        match self {
            Self::Answer { body, .. } => body.get(name),
            Self::None(_) => None,
        }
    }
}

/// One `POST /v1/agents/{agent}/execute`.
#[derive(Clone, Copy, Debug)]
pub struct Execute<'a> {
    pub base_url: &'a str,
    pub api_key: &'a str,
    pub agent: &'a str,
    pub body: &'a Value,
    pub idempotency_key: Option<&'a str>,
    /// After this time the client hangs up.
    pub patience: Duration,
}

impl Client {
    pub fn new() -> Result<Self> {
        Self::at(None)
    }

    /// A client with an address of its own: all of 127.0.0.0/8 is on this machine.
    pub fn from_address(address: Ipv4Addr) -> Result<Self> {
        Self::at(Some(address.into()))
    }

    fn at(address: Option<IpAddr>) -> Result<Self> {
        // Connections of killed services must not be met again.
        let http = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).local_address(address).build()?;
        Ok(Self { http })
    }

    pub async fn execute(&self, call: &Execute<'_>) -> Reply {
        let url = format!("{}/v1/agents/{}/execute", call.base_url, call.agent);
        let mut request = self.http.post(url).bearer_auth(call.api_key).json(call.body).timeout(call.patience);
        if let Some(key) = call.idempotency_key {
            request = request.header("idempotency-key", key);
        }
        reply(request).await
    }

    pub async fn get(&self, url: &str, api_key: Option<&str>, patience: Duration) -> Reply {
        let mut request = self.http.request(Method::GET, url).timeout(patience);
        if let Some(key) = api_key {
            request = request.bearer_auth(key);
        }
        reply(request).await
    }

    /// Sends a request, a POST if it has a body, and throws the answer's body away; the status, if an answer came. For
    /// attackers: they share the machine with what they attack, so they must cost little themselves.
    pub async fn discard(
        &self,
        url: &str,
        api_key: Option<&str>,
        body: Option<Bytes>,
        patience: Duration,
    ) -> Option<u16> {
        let request = match body {
            Some(body) => self.http.post(url).header(CONTENT_TYPE, "application/json").body(body),
            None => self.http.get(url),
        };
        discarded(request, api_key, patience).await
    }

    /// Sends content in a PUT request; the status, if an answer came.
    pub async fn put(&self, url: &str, session: Option<&str>, body: Bytes, patience: Duration) -> Option<u16> {
        discarded(self.http.put(url).body(body), session, patience).await
    }

    /// The bytes at a URL; `None` unless the answer is a whole 200.
    pub async fn bytes(&self, url: &str, patience: Duration) -> Option<Vec<u8>> {
        let response = self.http.get(url).timeout(patience).send().await.ok()?;
        if response.status() != 200 {
            return None;
        }
        response.bytes().await.ok().map(|bytes| bytes.to_vec())
    }
}

async fn discarded(request: reqwest::RequestBuilder, bearer: Option<&str>, patience: Duration) -> Option<u16> {
    let request = bearer.into_iter().fold(request.timeout(patience), reqwest::RequestBuilder::bearer_auth);
    let mut response = request.send().await.ok()?;
    while response.chunk().await.ok()?.is_some() {}
    Some(response.status().as_u16())
}

async fn reply(request: reqwest::RequestBuilder) -> Reply {
    let answered = async {
        let response = request.send().await?;
        let status = response.status().as_u16();
        let retry_after = response.headers().get(RETRY_AFTER);
        let retry_after = retry_after.and_then(|value| value.to_str().ok()?.parse().ok()).map(Duration::from_secs);
        let bytes = response.bytes().await?;
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Ok::<_, reqwest::Error>(Reply::Answer { status, retry_after, body })
    };
    match answered.await {
        Ok(reply) => reply,
        Err(error) if error.is_timeout() => Reply::None("the client hung up".to_owned()),
        Err(error) => Reply::None(root_cause(&error)),
    }
}

/// The innermost error, which has the cause.
fn root_cause(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), root_cause)
}
