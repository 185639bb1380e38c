//! Who asks the service: an API key, or a wallet in a session.

use reqwest::{Method, RequestBuilder};
use serde::{Serialize, de::DeserializeOwned};
use solana_keypair::Keypair;
use uuid::Uuid;

use crate::{
    api::{Answer, Api, ApiArgs},
    arguments::{KeypairArgs, ServiceArgs},
    keypair_file,
    session::Session,
    settings::{Role, Settings},
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

    /// The wallet itself.
    pub fn wallet(settings: &Settings, service: &ServiceArgs, keypair: &Keypair) -> anyhow::Result<Self> {
        let api = Api::of(settings, service)?;
        let who = Who::Wallet(Box::new(Session::new(settings, &api, keypair)));
        Ok(Self { api, who })
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
            Who::Wallet(session) => format!("the wallet {}", session.wallet()),
        }
    }
}
