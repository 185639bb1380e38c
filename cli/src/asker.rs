//! Who asks for a wallet's executions: an API key, or the wallet itself in a session.

use anyhow::anyhow;
use reqwest::Method;
use serde_json::Value;
use solana_keypair::Keypair;
use solana_signer::Signer;
use uuid::Uuid;

use crate::{
    api::{Answer, Api, ApiArgs, Auth, Body},
    arguments::KeypairArgs,
    keypair_file,
    session::SignedIn,
    settings::{Role, Settings},
};

/// Somebody who may read the executions of one wallet.
pub struct Asker<'a> {
    settings: &'a Settings,
    api: Api,
    who: Who,
}

enum Who {
    Key(String),
    Wallet(Box<Keypair>),
}

impl<'a> Asker<'a> {
    /// An API key that is given wins, then a key pair that is given, then the key of the last `crtx up`, then the
    /// configured key pair.
    pub fn of(settings: &'a Settings, api: &ApiArgs, keypair: &KeypairArgs) -> anyhow::Result<Self> {
        let url = settings.url(api.service.url.as_ref())?.value;
        let given = keypair.keypair.as_deref();
        let key = match (&api.api_key, given) {
            (None, Some(_)) => None,
            (key, _) => Some(settings.api_key(key.as_deref(), &url)),
        };
        let who = match key {
            Some(Ok(key)) => Who::Key(key),
            Some(Err(error)) if api.api_key.is_some() => return Err(error),
            Some(Err(_)) | None => {
                let path = settings.keypair(given, Role::Wallet).map_err(|_| no_credentials())?.value;
                Who::Wallet(Box::new(keypair_file::read(&path)?))
            }
        };
        Ok(Self { settings, api: Api::of(settings, &api.service)?, who })
    }

    /// The wallet itself.
    pub fn wallet(settings: &'a Settings, api: Api, keypair: &Keypair) -> Self {
        Self { settings, api, who: Who::Wallet(Box::new(keypair.insecure_clone())) }
    }

    pub fn api(&self) -> &Api {
        &self.api
    }

    pub async fn send(&self, method: Method, path: &str, body: Body<'_>) -> anyhow::Result<Answer> {
        match &self.who {
            Who::Key(key) => self.api.send(method, path, Auth::Bearer(key), body).await,
            Who::Wallet(keypair) => SignedIn::new(self.settings, &self.api, keypair).send(method, path, body).await,
        }
    }

    /// The bytes of `GET /v1/executions/{id}`.
    pub async fn execution(&self, id: &Uuid) -> anyhow::Result<Vec<u8>> {
        let answer = self.send(Method::GET, &format!("/v1/executions/{id}"), Body::Nothing).await?;
        answer.success()?;
        Ok(answer.body)
    }

    /// The same, as JSON.
    pub async fn execution_json(&self, id: &Uuid) -> anyhow::Result<Value> {
        Ok(serde_json::from_slice(&self.execution(id).await?)?)
    }

    /// Who asks, for messages.
    pub fn described(&self) -> String {
        match &self.who {
            Who::Key(_) => "the wallet of the API key".to_owned(),
            Who::Wallet(keypair) => format!("the wallet {}", keypair.pubkey()),
        }
    }
}

fn no_credentials() -> anyhow::Error {
    anyhow!(crate::usage::UsageError::new(
        "No API key and no key pair. Set CRTX_API_KEY or CRTX_KEYPAIR, or pass --api-key or --keypair."
    ))
}
