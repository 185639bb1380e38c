//! A client of one running marketplace: the calls a user makes, and the balances the chain shows.

use std::time::{Duration, Instant};

use agent_marketplace::state::{AgentListed, Config, SpendingGrant};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use crtx_chain::Layout;
use crtx_protocol::{address::Addresses, api_key::ApiKey};
use reqwest::{Method, StatusCode, header::HeaderMap};
use serde_json::{Value, json};
use solana_pubkey::Pubkey;

use crate::Info;

/// A stream of events that is silent for so long has sent what there was.
const STREAM_PAUSE: Duration = Duration::from_millis(300);
/// What a process looks at by itself, every few seconds, it shows within this time.
const SHOWN_WITHIN: Duration = Duration::from_secs(40);
const ASK_EVERY: Duration = Duration::from_millis(200);

/// What the service answered.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Value,
}

impl Answer {
    /// `error.code` of an error body; panics with the whole answer if the body is not of the specified form.
    pub fn error_code(&self) -> &str {
        let error = &self.body["error"];
        assert!(error["message"].is_string(), "an error body has a message: {self:?}");
        assert!(error["execution_id"].is_string() || error["execution_id"].is_null(), "{self:?}");
        assert!(error.as_object().is_some_and(|e| e.contains_key("execution_id")), "{self:?}");
        error["code"].as_str().unwrap_or_else(|| panic!("an error body has a code: {self:?}"))
    }

    pub fn text(&self, field: &str) -> &str {
        self.body[field].as_str().unwrap_or_else(|| panic!("`{field}` is a string: {self:?}"))
    }
}

/// USDC base units that each party of the two demo agents holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Balances {
    pub caller: u64,
    pub creator: u64,
    pub treasury: u64,
}

pub struct Market {
    pub info: Info,
    http: reqwest::Client,
}

impl Market {
    pub fn new(info: Info) -> Self {
        let http = reqwest::Client::builder().timeout(Duration::from_secs(60)).build().expect("a client");
        Self { info, http }
    }

    /// The same market, asked from another address of this machine. Limits by address then count another client.
    #[must_use]
    pub fn from_address(info: Info, address: std::net::Ipv4Addr) -> Self {
        let client = reqwest::Client::builder().timeout(Duration::from_secs(60)).local_address(Some(address.into()));
        Self { info, http: client.build().expect("a client") }
    }

    pub fn agent(&self, name: &str) -> String {
        let agents = &self.info.agents;
        agents.iter().find(|agent| agent.name == name).unwrap_or_else(|| panic!("no agent {name}")).agent_id.clone()
    }

    pub async fn request(&self, method: Method, path: &str, key: Option<&str>, body: Option<&Value>) -> Answer {
        let body = body.map(|body| serde_json::to_vec(body).expect("json"));
        self.raw(method, path, key, &[], body).await
    }

    /// Sends bytes as they are; what comes back is JSON, or `null` where the body is none. Of a stream of events, it is the
    /// text of those that are there already.
    pub async fn raw(
        &self,
        method: Method,
        path: &str,
        key: Option<&str>,
        headers: &[(&str, &str)],
        body: Option<Vec<u8>>,
    ) -> Answer {
        let mut request = self.http.request(method, format!("{}{path}", self.info.base_url));
        if let Some(key) = key {
            request = request.bearer_auth(key);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = body {
            if !headers.iter().any(|(name, _)| *name == "content-type") {
                request = request.header("content-type", "application/json");
            }
            request = request.body(body);
        }
        let mut response = request.send().await.expect("an answer");
        let (status, headers) = (response.status(), response.headers().clone());
        if headers.get("content-type").is_some_and(|value| value == "text/event-stream") {
            let mut text = Vec::new();
            while let Ok(Ok(Some(chunk))) = tokio::time::timeout(STREAM_PAUSE, response.chunk()).await {
                text.extend(chunk);
            }
            return Answer { status, headers, body: Value::String(String::from_utf8(text).expect("text")) };
        }
        let bytes = response.bytes().await.expect("a whole body");
        Answer { status, headers, body: serde_json::from_slice(&bytes).unwrap_or(Value::Null) }
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.request(Method::GET, path, None, None).await
    }

    /// Asks for `path` until the answer is as wanted. The index can be a moment behind the chain, and each process looks
    /// by itself.
    pub async fn until<T>(&self, path: &str, wanted: impl Fn(&Answer) -> Option<T>) -> T {
        let started = Instant::now();
        loop {
            let answer = self.get(path).await;
            if let Some(found) = wanted(&answer) {
                return found;
            }
            assert!(started.elapsed() < SHOWN_WITHIN, "{path} never answers it: {answer:?}");
            tokio::time::sleep(ASK_EVERY).await;
        }
    }

    pub async fn get_as_owner(&self, path: &str) -> Answer {
        self.request(Method::GET, path, Some(&self.info.api_key), None).await
    }

    pub async fn bytes(&self, url: &str) -> Vec<u8> {
        let response = self.http.get(url).send().await.expect("an answer").error_for_status().expect("content");
        response.bytes().await.expect("a whole body").to_vec()
    }

    pub async fn execute(&self, agent: &str, body: &Value) -> Answer {
        let path = format!("/v1/agents/{agent}/execute");
        self.request(Method::POST, &path, Some(&self.info.api_key), Some(body)).await
    }

    /// Pays `text-stats` for a result; returns the execution's id.
    pub async fn paid(&self) -> String {
        let answer = self.execute(&self.agent("text-stats"), &json!({"task": "One. Two."})).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.text("execution_id").to_owned()
    }

    /// Calls `conformance-target` with one behaviour.
    pub async fn behave(&self, behaviour: &str) -> Answer {
        let body = json!({"task": "conform", "parameters": {"behaviour": behaviour}});
        self.execute(&self.agent("conformance-target"), &body).await
    }

    pub async fn rpc(&self, method: &str, params: Value) -> Value {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let response = self.http.post(&self.info.rpc_url).json(&body).send().await.expect("an RPC answer");
        let answer: Value = response.json().await.expect("JSON from the RPC");
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// Base units of USDC in all token accounts of a wallet.
    pub async fn usdc_of(&self, owner: &str) -> u64 {
        let params =
            json!([owner, {"mint": self.info.usdc_mint}, {"encoding": "jsonParsed", "commitment": "confirmed"}]);
        let accounts = self.rpc("getTokenAccountsByOwner", params).await;
        let amounts = accounts["value"].as_array().expect("accounts").iter().map(|account| {
            let amount = &account["account"]["data"]["parsed"]["info"]["tokenAmount"]["amount"];
            amount.as_str().and_then(|text| text.parse::<u64>().ok()).expect("an amount")
        });
        amounts.sum()
    }

    pub async fn creator(&self) -> String {
        let agent = self.get(&format!("/v1/agents/{}", self.agent("text-stats"))).await;
        agent.body["creator"]["pubkey"].as_str().expect("the creator's wallet").to_owned()
    }

    /// The program's configuration, as it is on chain.
    pub async fn config(&self) -> Config {
        self.program_account(&self.addresses().config()).await
    }

    pub async fn treasury_owner(&self) -> String {
        self.config().await.treasury_owner.to_string()
    }

    /// The listing of a demo agent, as it is on chain.
    pub async fn listing(&self, name: &str) -> AgentListed {
        self.program_account(&self.agent(name).parse().expect("an address")).await
    }

    /// The spending grant of the demo wallet's API key, as it is on chain.
    pub async fn grant(&self) -> SpendingGrant {
        let key: ApiKey = self.info.api_key.parse().expect("an API key");
        let wallet = self.info.wallet.parse().expect("an address");
        let session_key = Pubkey::new_from_array(key.session_public_key());
        self.program_account(&self.addresses().grant(&wallet, &session_key)).await
    }

    fn addresses(&self) -> Addresses {
        Addresses::new(self.info.program_id.parse().expect("program id"))
    }

    async fn program_account<A: Layout>(&self, address: &Pubkey) -> A {
        let params = json!([address.to_string(), {"encoding": "base64", "commitment": "confirmed"}]);
        let account = self.rpc("getAccountInfo", params).await;
        let data = account["value"]["data"][0].as_str().expect("account data");
        A::decode(&BASE64.decode(data).expect("base64")).expect("an account of this kind")
    }

    /// Sets the chain's clock ahead.
    pub async fn travel(&self, ahead: Duration) {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
        let target = u64::try_from((now + ahead).as_millis()).expect("fits");
        self.rpc("surfnet_timeTravel", json!([{"absoluteTimestamp": target}])).await;
        // The next block has the new time.
        tokio::time::sleep(Duration::from_secs(1)).await;
    }

    /// What the gateway's key holds, which pays fees and rent.
    pub async fn gateway_lamports(&self) -> u64 {
        let config: Config = self.program_account(&self.addresses().config()).await;
        let params = json!([config.gateway_authority.to_string(), {"commitment": "confirmed"}]);
        self.rpc("getBalance", params).await["value"].as_u64().expect("a balance")
    }

    pub async fn balances(&self) -> Balances {
        Balances {
            caller: self.usdc_of(&self.info.wallet).await,
            creator: self.usdc_of(&self.creator().await).await,
            treasury: self.usdc_of(&self.treasury_owner().await).await,
        }
    }

    /// Runs the `crtx` command as the owner of the demo wallet's API key.
    pub fn crtx(&self, arguments: &[&str]) -> std::process::Output {
        std::process::Command::new(crate::crtx_binary())
            .args(arguments)
            .env(crate::CONFIG_DIR, crate::config_dir(self.info.data_dir()))
            .env("CRTX_URL", &self.info.base_url)
            .env("CRTX_API_KEY", &self.info.api_key)
            .env("CRTX_RPC_URL", &self.info.rpc_url)
            .output()
            .expect("crtx runs")
    }

    /// Runs the `crtx` command with nothing but what `crtx up` noted: no variable, and no home.
    pub fn crtx_as_found(&self, arguments: &[&str]) -> std::process::Output {
        let mut command = crate::crtx_without_settings(&crate::config_dir(self.info.data_dir()));
        command.args(arguments).output().expect("crtx runs")
    }

    /// Price of an agent in base units.
    pub fn price(&self, name: &str) -> u64 {
        let agent = self.info.agents.iter().find(|agent| agent.name == name).expect("a demo agent");
        agent.price_per_call_usdc.0
    }
}
