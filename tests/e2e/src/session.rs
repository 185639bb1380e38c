//! A wallet that signs in over HTTP, the credentials that it gets, and the API keys that it makes.
#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "test support")]

use agent_marketplace::instructions::GrantSpendingArgs;
use crtx_protocol::{
    api_key::{ApiKey, KeyNetwork},
    key_proof,
    result_hash::format_signature,
};
use reqwest::Method;
use serde_json::{Value, json};
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;
use solana_signer::Signer;

use crate::{
    chain::Chain,
    market::{Answer, Market},
};

/// How a request says who sends it: headers with their values.
pub type Headers = Vec<(&'static str, String)>;

/// A session, as its owner holds it.
#[derive(Clone, Debug)]
pub struct Session {
    pub id: String,
    /// The token. A browser has it in a cookie that no page reads.
    pub token: String,
    /// Only of a session with a cookie.
    pub csrf_token: Option<String>,
}

/// The text that a wallet is asked to sign.
pub async fn challenge(market: &Market, address: &Pubkey) -> String {
    let body = json!({"address": address.to_string()});
    let answer = market.request(Method::POST, "/v1/sign-in/challenge", None, Some(&body)).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.text("message").to_owned()
}

/// A wallet's signature in the form of the API.
pub fn signature(wallet: &Keypair, bytes: &[u8]) -> String {
    format_signature(wallet.sign_message(bytes).as_array())
}

/// The body of a sign-in. `kind`: `bearer` or `cookie`.
pub fn sign_in_body(message: &str, signature: &str, kind: &str) -> Value {
    json!({"message": message, "signature": signature, "session": kind})
}

/// Signs in, whatever becomes of it.
pub async fn sign_in(market: &Market, wallet: &Keypair, kind: &str) -> Answer {
    let message = challenge(market, &wallet.pubkey()).await;
    let body = sign_in_body(&message, &signature(wallet, message.as_bytes()), kind);
    market.request(Method::POST, "/v1/sign-in", None, Some(&body)).await
}

impl Session {
    pub async fn bearer(market: &Market, wallet: &Keypair) -> Self {
        let answer = sign_in(market, wallet, "bearer").await;
        assert_eq!(answer.status, 200, "{answer:?}");
        Self { id: answer.text("session_id").to_owned(), token: answer.text("token").to_owned(), csrf_token: None }
    }

    pub async fn cookie(market: &Market, wallet: &Keypair) -> Self {
        let answer = sign_in(market, wallet, "cookie").await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let cookie = answer.headers["set-cookie"].to_str().unwrap();
        let token = cookie.split([';', '=']).nth(1).unwrap().to_owned();
        Self { id: answer.text("session_id").to_owned(), token, csrf_token: Some(answer.text("csrf_token").to_owned()) }
    }

    /// What its owner sends with every request.
    pub fn headers(&self) -> Headers {
        match &self.csrf_token {
            None => bearer(&self.token),
            Some(csrf) => vec![("cookie", format!("crtx_session={}", self.token)), ("x-csrf-token", csrf.clone())],
        }
    }

    /// A request with this session.
    pub async fn ask(&self, market: &Market, method: Method, path: &str, body: Option<&Value>) -> Answer {
        ask(market, method, path, &self.headers(), body).await
    }

    /// Makes an API key of the wallet: its grant on chain, and its name at the service. Half a million base units for
    /// all its calls together.
    pub async fn new_key(&self, market: &Market, chain: &Chain, wallet: &Keypair, name: &str) -> ApiKey {
        let key = ApiKey::generate(KeyNetwork::Test).unwrap();
        let session_key = Pubkey::new_from_array(key.session_public_key());
        let args = GrantSpendingArgs {
            session_key,
            per_call_cap: 100_000,
            total_cap: 500_000,
            daily_cap: 0,
            expires_at_unix_s: 4_000_000_000,
            allowed_agents: vec![],
        };
        chain.send(chain.build.grant_spending(&wallet.pubkey(), args), &[wallet]).await;
        let registered =
            self.ask(market, Method::POST, "/v1/keys", Some(&registration(market, wallet, &key, name))).await;
        assert_eq!(registered.status, 201, "{registered:?}");
        key
    }
}

/// The body with which a wallet registers a key.
pub fn registration(market: &Market, wallet: &Keypair, key: &ApiKey, name: &str) -> Value {
    let program = market.info.program_id.parse().unwrap();
    json!({
        "name": name, "session_public_key": Pubkey::new_from_array(key.session_public_key()).to_string(),
        "proof": key_proof::sign(key, &wallet.pubkey(), &program), "last_four": key.last_four(),
    })
}

pub fn bearer(token: &str) -> Headers {
    vec![("authorization", format!("Bearer {token}"))]
}

/// A request with these headers and, where there is one, a JSON body.
pub async fn ask(
    market: &Market,
    method: Method,
    path: &str,
    headers: &[(&'static str, String)],
    body: Option<&Value>,
) -> Answer {
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    market.raw(method, path, None, &headers, body.map(|body| serde_json::to_vec(body).unwrap())).await
}
