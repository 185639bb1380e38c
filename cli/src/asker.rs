//! Who asks the service: an API key, or a wallet in a session.

use std::path::PathBuf;

use anyhow::{Context, ensure};
use chrono::Utc;
use crtx_protocol::{cluster::Cluster, result_hash::format_signature};
use crtx_sdk::check_sign_in;
use reqwest::{Method, RequestBuilder, StatusCode};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use solana_keypair::Keypair;
use solana_signer::Signer;
use uuid::Uuid;

use crate::{
    api::{Api, ApiAnswer, ApiArgs},
    arguments::{KeypairArgs, ServiceArgs},
    keypair_file,
    output::cell,
    private_file,
    settings::{Network, Settings, SignerRole},
    usage::UsageError,
};

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
        let path = settings.keypair(given, SignerRole::Wallet).map_err(|_| {
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

    pub async fn send(&self, request: RequestBuilder) -> anyhow::Result<ApiAnswer> {
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
    pub async fn execution(&self, id: &Uuid) -> anyhow::Result<ApiAnswer> {
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
    async fn send(&self, api: &Api, request: RequestBuilder) -> anyhow::Result<ApiAnswer> {
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
        let cluster = match self.network {
            Network::Local => Cluster::Localnet,
            Network::Devnet => Cluster::Devnet,
            Network::Mainnet => Cluster::Mainnet,
        };
        check_sign_in(&message, &api.base_url, &wallet, cluster, Utc::now())?;
        let signature = format_signature(self.keypair.sign_message(message.as_bytes()).as_array());
        let signed = json!({"message": message, "signature": signature, "session": "bearer"});
        let token = cell(&post("/v1/sign-in", signed).await?.json()?, "token", "");
        ensure!(!token.is_empty(), "the service gave no token");
        private_file::write(&self.path, token.as_bytes())
            .with_context(|| format!("cannot write {}", self.path.display()))?;
        Ok(token)
    }
}
