//! Who asks the service: an API key, or a wallet in a session.

use std::path::PathBuf;

use anyhow::{Context, bail, ensure};
use chrono::{DateTime, Utc};
use crtx_protocol::{cluster::Cluster, result_hash::format_signature, sign_in::SignInMessage};
use reqwest::{Method, RequestBuilder, StatusCode};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;
use solana_signer::Signer;
use url::Url;
use uuid::Uuid;

use crate::{
    api::{Answer, Api, ApiArgs},
    arguments::{KeypairArgs, ServiceArgs},
    keypair_file,
    output::cell,
    private_file,
    settings::{Network, Role, Settings, authority},
    usage::UsageError,
};

/// Challenges live for five minutes.
const LONGEST_CHALLENGE_S: i64 = 10 * 60;
/// Between the clocks of this machine and of the service.
const MAX_SKEW_S: i64 = 10 * 60;

/// A service, and somebody with the rights of one wallet there.
pub struct Asker {
    pub api: Api,
    who: Who,
}

enum Who {
    Key(String),
    Wallet(Box<Session>),
}

impl Asker {
    /// An API key that is given wins, then a key pair that is given, then the key of the last `crtx up`, then the
    /// configured key pair.
    pub fn of(settings: &Settings, arguments: &ApiArgs, keypair: &KeypairArgs) -> anyhow::Result<Self> {
        let url = settings.url(arguments.service.url.as_ref())?.value;
        let given = keypair.keypair.as_deref();
        if arguments.api_key.is_some() || (given.is_none() && settings.api_key(None, &url).is_ok()) {
            return Self::with_key(settings, arguments);
        }
        let path = settings.keypair(given, Role::Wallet).map_err(|_| {
            UsageError::new(
                "No API key and no key pair. Set CRTX_API_KEY or CRTX_KEYPAIR, or pass --api-key or --keypair.",
            )
        })?;
        Self::wallet(settings, &arguments.service, &keypair_file::read(&path.value)?)
    }

    /// The API key that is given, else that of the last `crtx up`.
    pub fn with_key(settings: &Settings, arguments: &ApiArgs) -> anyhow::Result<Self> {
        let url = settings.url(arguments.service.url.as_ref())?.value;
        let who = Who::Key(settings.api_key(arguments.api_key.as_deref(), &url)?);
        let api = Api::of(settings, &arguments.service)?;
        api.check_secrets()?;
        Ok(Self { api, who })
    }

    /// The wallet itself. Its first request signs in if no token is kept.
    pub fn wallet(settings: &Settings, service: &ServiceArgs, keypair: &Keypair) -> anyhow::Result<Self> {
        let api = Api::of(settings, service)?;
        let name = hex::encode(Sha256::digest(format!("{} {}", api.base_url, keypair.pubkey())));
        let path = settings.folder.join("sessions").join(name);
        let session = Session { keypair: keypair.insecure_clone(), network: settings.network, path };
        Ok(Self { api, who: Who::Wallet(Box::new(session)) })
    }

    pub async fn send(&self, request: RequestBuilder) -> anyhow::Result<Answer> {
        match &self.who {
            Who::Key(key) => self.api.send_as(key, request).await,
            Who::Wallet(session) => session.send(&self.api, request).await,
        }
    }

    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        self.send(self.api.request(Method::GET, path)).await?.json()
    }

    pub async fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> anyhow::Result<T> {
        self.send(self.api.request(Method::POST, path).json(body)).await?.json()
    }

    /// The answer of `GET /v1/executions/{id}`.
    pub async fn execution(&self, id: &Uuid) -> anyhow::Result<Answer> {
        self.send(self.api.request(Method::GET, &format!("/v1/executions/{id}"))).await
    }

    /// Who asks, for messages.
    pub fn described(&self) -> String {
        match &self.who {
            Who::Key(_) => "the wallet of the API key".to_owned(),
            Who::Wallet(session) => format!("the wallet {}", session.keypair.pubkey()),
        }
    }
}

/// A wallet that is signed in: the token of its session is kept in the configuration folder for each service and wallet.
/// If the service refuses the token, a new one replaces it.
struct Session {
    keypair: Keypair,
    network: Network,
    path: PathBuf,
}

impl Session {
    /// Sends with the token that is kept, and once more with a new one if the service does not take it.
    async fn send(&self, api: &Api, request: RequestBuilder) -> anyhow::Result<Answer> {
        if let Some(token) = self.kept_token()? {
            let first = request.try_clone().context("the request cannot be sent twice")?;
            let answer = api.send_as(&token, first).await?;
            if answer.status != StatusCode::UNAUTHORIZED {
                return Ok(answer);
            }
        }
        let token = self.sign_in(api).await.context("cannot sign in")?;
        api.send_as(&token, request).await
    }

    fn kept_token(&self) -> anyhow::Result<Option<String>> {
        let bytes = private_file::read(&self.path).with_context(|| format!("cannot read {}", self.path.display()))?;
        // A damaged file is as good as none.
        let bytes = bytes.filter(|bytes| bytes.iter().all(u8::is_ascii_graphic));
        Ok(bytes.and_then(|bytes| String::from_utf8(bytes).ok()))
    }

    async fn sign_in(&self, api: &Api) -> anyhow::Result<String> {
        api.check_secrets()?;
        let wallet = self.keypair.pubkey();
        let post = |path: &str, body: Value| api.send(api.request(Method::POST, path).json(&body));
        let challenge = post("/v1/sign-in/challenge", json!({"address": wallet.to_string()})).await?;
        let message = cell(&challenge.json()?, "message", "");
        check_message(&message, &api.base_url, &wallet, self.network, Utc::now())?;
        let signature = format_signature(self.keypair.sign_message(message.as_bytes()).as_array());
        let signed = json!({"message": message, "signature": signature, "session": "bearer"});
        let token = cell(&post("/v1/sign-in", signed).await?.json()?, "token", "");
        ensure!(!token.is_empty(), "the service gave no token");
        private_file::write(&self.path, token.as_bytes())
            .with_context(|| format!("cannot write {}", self.path.display()))?;
        Ok(token)
    }
}

/// A service chooses the text that is signed, so only a challenge of the known form is signed, for this wallet at this
/// service on this network, and for a short time: no transaction, no text for another service, nothing that the form has
/// no place for.
fn check_message(
    message: &str,
    base_url: &str,
    wallet: &Pubkey,
    network: Network,
    now: DateTime<Utc>,
) -> anyhow::Result<()> {
    let parsed: Result<SignInMessage, _> = message.parse();
    let Some(message) = parsed.ok().filter(|message| message.address == *wallet) else {
        bail!("{base_url} asks to sign something else than a sign-in of {wallet}; nothing was signed");
    };
    // The address as a whole: scheme, host, port and path. It has no user name, query or fragment.
    let here = Url::parse(base_url)?;
    let same = |text: &str| {
        let url = Url::parse(text).ok();
        url.is_some_and(|url| url.as_str().trim_end_matches('/') == here.as_str().trim_end_matches('/'))
    };
    if message.domain != authority(&here) || !same(&message.uri) {
        bail!("{base_url} asks to sign in at another place ({}, {}); nothing was signed", message.domain, message.uri);
    }
    let cluster = match network {
        Network::Local => Cluster::Localnet,
        Network::Devnet => Cluster::Devnet,
        Network::Mainnet => Cluster::Mainnet,
    };
    if message.cluster != cluster {
        bail!(
            "{base_url} asks to sign in on {}, and this command is for {}; choose with --network; nothing was signed",
            message.cluster.chain_id(),
            cluster.chain_id()
        );
    }
    let time = |text: &str| DateTime::parse_from_rfc3339(text).map(|time| time.timestamp()).ok();
    let (Some(issued), Some(expires)) = (time(&message.issued_at), time(&message.expiration_time)) else {
        bail!("{base_url} asks to sign in at no time; nothing was signed");
    };
    let (life, age) = (expires.saturating_sub(issued), now.timestamp().saturating_sub(issued));
    if !(1..=LONGEST_CHALLENGE_S).contains(&life)
        || age.saturating_abs() > MAX_SKEW_S
        || age > life.saturating_add(MAX_SKEW_S)
    {
        bail!(
            "{base_url} asks to sign in from {} to {}, which is too long or not now; nothing was signed (is the clock of \
             this machine right?)",
            message.issued_at,
            message.expiration_time
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_sign_in_at_this_service_is_signed() {
        let wallet = Pubkey::new_from_array([7; 32]);
        let message = |domain: &str, address: &Pubkey| SignInMessage {
            domain: domain.to_owned(),
            address: *address,
            uri: format!("https://{domain}"),
            cluster: Cluster::Devnet,
            nonce: "abc".to_owned(),
            issued_at: "2026-11-21T10:00:00.000Z".to_owned(),
            expiration_time: "2026-11-21T10:05:00.000Z".to_owned(),
        };
        let now = "2026-11-21T10:00:02Z".parse().expect("a time");
        let check = |text: &str, url: &str| check_message(text, url, &wallet, Network::Devnet, now).is_ok();
        let good = message("api.example", &wallet).to_string();
        assert!(check(&good, "https://api.example"));
        let local = SignInMessage { uri: "http://127.0.0.1:8080".to_owned(), ..message("127.0.0.1:8080", &wallet) };
        assert!(check(&local.to_string(), "http://127.0.0.1:8080"));
        assert!(!check(&local.to_string(), "https://127.0.0.1:8080"), "another scheme");
        assert!(!check(&message("127.0.0.1", &wallet).to_string(), "http://127.0.0.1:8080"), "another port");
        assert!(!check(&message("bank.example", &wallet).to_string(), "https://api.example"), "another service");
        let elsewhere = SignInMessage { uri: "https://bank.example".to_owned(), ..message("api.example", &wallet) };
        assert!(!check(&elsewhere.to_string(), "https://api.example"), "another service");
        let below = SignInMessage { uri: "https://api.example/market".to_owned(), ..message("api.example", &wallet) };
        assert!(check(&below.to_string(), "https://api.example/market/"));
        assert!(!check(&below.to_string(), "https://api.example"), "another path");
        assert!(!check(&good, "https://api.example/market"), "another path");
        for uri in ["https://api.example/?a=b", "https://api.example/#a", "https://u:p@api.example", "api.example", ""]
        {
            let other = SignInMessage { uri: uri.to_owned(), ..message("api.example", &wallet) };
            assert!(!check(&other.to_string(), "https://api.example"), "{uri}");
        }
        for cluster in [Cluster::Mainnet, Cluster::Localnet] {
            let other = SignInMessage { cluster, ..message("api.example", &wallet) };
            assert!(!check(&other.to_string(), "https://api.example"), "another network");
        }
        for (issued_at, expiration_time) in [
            ("2026-11-21T10:00:00Z", "2027-11-21T10:00:00Z"),
            ("2026-11-21T10:00:00Z", "2026-11-21T10:00:00Z"),
            ("2026-11-21T10:05:00Z", "2026-11-21T10:00:00Z"),
            ("2026-11-21T09:00:00Z", "2026-11-21T09:05:00Z"),
            ("2026-11-21T11:00:00Z", "2026-11-21T11:05:00Z"),
            ("now", "2026-11-21T10:05:00Z"),
            ("2026-11-21T10:00:00Z", ""),
        ] {
            let (issued_at, expiration_time) = (issued_at.to_owned(), expiration_time.to_owned());
            let other = SignInMessage { issued_at, expiration_time, ..message("api.example", &wallet) };
            assert!(!check(&other.to_string(), "https://api.example"), "other times: {other}");
        }
        let other = Pubkey::new_from_array([8; 32]);
        assert!(!check(&message("api.example", &other).to_string(), "https://api.example"), "another wallet");
        assert!(!check("\u{1}\u{0}\u{1}", "https://api.example"), "a transaction");
        let more = format!("{good}\nResources:\n- https://bank.example/pay");
        assert!(!check(&more, "https://api.example"), "more than a sign-in");
        assert!(!check(&good.replace("Sign in to", "Pay"), "https://api.example"), "another statement");
    }
}
