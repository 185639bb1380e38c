//! `crtx listen`: prints the events of a wallet as they come, and forwards them as a webhook would.

use std::time::Duration;

use anyhow::{Context, bail};
use chrono::Utc;
use crtx_protocol::webhook::{WebhookSecret, signed_content};
use reqwest::{Client, Method, header::CONTENT_TYPE, redirect::Policy};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use url::Url;

use crate::{
    api::ApiArgs,
    arguments::KeypairArgs,
    asker::Asker,
    output::{cell, json_text, note, say},
    settings::Settings,
    usage::{UsageError, http_url},
    waiting::until_answered,
};

/// Seconds that the service waits for an event before it answers without one.
const WAIT_S: u64 = 10;
/// Before an event is forwarded once more.
const AGAIN_AFTER: Duration = Duration::from_secs(5);
/// As the service waits.
const PATIENCE: Duration = Duration::from_secs(15);

#[derive(Clone, Debug, clap::Args)]
pub struct ListenArgs {
    /// Only these types of events, with commas between them
    #[arg(long, value_delimiter = ',')]
    types: Vec<String>,
    /// Begin after the event with this number [default: the newest]
    #[arg(long, value_name = "NUMBER")]
    after: Option<u64>,
    /// Send each event to this URL as a webhook does, until it is acknowledged
    #[arg(long, value_name = "URL", value_parser = http_url)]
    forward: Option<Url>,
    /// Secret that signs what is forwarded [default: a new one, which is printed]
    #[arg(long, env = "CRTX_WEBHOOK_SECRET", value_name = "SECRET", requires = "forward", hide_env_values = true)]
    secret: Option<String>,
    /// End when there is no further event, and with an error if one cannot be forwarded
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    keypair: KeypairArgs,
    #[command(flatten)]
    api: ApiArgs,
}

#[derive(Deserialize)]
struct Page {
    /// As they are: the bytes that are signed.
    events: Vec<Box<RawValue>>,
    next_after: u64,
    newest: u64,
}

pub async fn run(arguments: ListenArgs, settings: &Settings) -> anyhow::Result<()> {
    let asker = Asker::of(settings, &arguments.api, &arguments.keypair)?;
    let forward = arguments.forward.clone().map(|url| Forward::new(url, arguments.secret.as_deref())).transpose()?;
    let types = arguments.types.join(",");
    let page = async |after: u64, limit: u64, wait_s: u64| -> anyhow::Result<Page> {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.append_pair("after", &after.to_string()).append_pair("limit", &limit.to_string());
        query.append_pair("wait", &wait_s.to_string());
        if !types.is_empty() {
            query.append_pair("types", &types);
        }
        let path = format!("/v1/events?{}", query.finish());
        until_answered("reading events", || asker.send(asker.api.request(Method::GET, &path))).await?.json()
    };
    let mut after = match arguments.after {
        Some(after) => after,
        None => page(0, 1, 0).await?.newest,
    };
    note!("events of {} after number {after}", asker.described());
    loop {
        let found = page(after, 100, if arguments.once { 0 } else { WAIT_S }).await?;
        for event in &found.events {
            let shown: Value = serde_json::from_str(event.get())?;
            say!("{}", json_text(&shown)?);
            if let Some(forward) = &forward {
                forward.until_acknowledged(&shown, event.get(), arguments.once).await?;
            }
        }
        after = found.next_after;
        if arguments.once && after >= found.newest {
            return Ok(());
        }
    }
}

struct Forward {
    client: Client,
    url: Url,
    secret: WebhookSecret,
}

impl Forward {
    fn new(url: Url, secret: Option<&str>) -> anyhow::Result<Self> {
        let secret = match secret {
            Some(text) => text.parse().map_err(|error| UsageError::new(format!("--secret: {error}")))?,
            None => {
                let secret = WebhookSecret::generate()?;
                note!("The secret of what is forwarded: {}", secret.reveal());
                secret
            }
        };
        let client = Client::builder().timeout(PATIENCE).redirect(Policy::none()).build()?;
        Ok(Self { client, url, secret })
    }

    async fn until_acknowledged(&self, event: &Value, body: &str, once: bool) -> anyhow::Result<()> {
        let id = cell(event, "id", "");
        loop {
            let now = Utc::now().timestamp();
            let request = self
                .client
                .post(self.url.clone())
                .header(CONTENT_TYPE, "application/json")
                .header("webhook-id", &id)
                .header("webhook-timestamp", now)
                .header("webhook-signature", self.secret.sign(&signed_content(&id, now, body.as_bytes())))
                .body(body.to_owned());
            let problem = match request.send().await.context("no answer") {
                Ok(response) if response.status().is_success() => return Ok(()),
                Ok(response) => format!("{} answered {}", self.url, response.status()),
                Err(error) => format!("{error:#}"),
            };
            if once {
                bail!("the event {id} was not acknowledged: {problem}");
            }
            note!("{problem}; the event {id} is sent again in {} s", AGAIN_AFTER.as_secs());
            tokio::time::sleep(AGAIN_AFTER).await;
        }
    }
}
