//! `crtx webhook`: where the wallet wants its events.

use std::{
    io::{IsTerminal, stdin},
    time::Duration,
};

use anyhow::{Context, ensure};
use reqwest::Method;
use serde_json::{Value, json};
use url::Url;
use uuid::Uuid;

use crate::{
    arguments::OwnerArgs,
    asker::Asker,
    output::{self, AlreadySaid, cell, note, pairs, table, text_of},
    settings::Settings,
    usage::{UsageError, http_url},
};

/// How often a replay is looked at.
const WATCH_EVERY: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, clap::Args)]
pub struct WebhookArgs {
    /// The webhook
    webhook_id: Uuid,
    #[command(flatten)]
    owner: OwnerArgs,
}

#[derive(Clone, Debug, clap::Subcommand)]
pub enum WebhookCommand {
    /// Send the events of your wallet to a URL, from now on
    #[command(after_help = "Example:\n  crtx webhook create https://example.com/crtx --types payout,dispute.opened")]
    Create {
        /// Where events are sent: https, on a public address
        #[arg(value_name = "URL", value_parser = http_url)]
        target: Url,
        /// Only these types of events, with commas between them
        #[arg(long, value_delimiter = ',')]
        types: Vec<String>,
        /// Only events about these agents, with commas between them
        #[arg(long, value_delimiter = ',', value_name = "AGENT_ID")]
        agents: Vec<solana_pubkey::Pubkey>,
        #[command(flatten)]
        owner: OwnerArgs,
    },
    /// Show the webhooks of your wallet, and how they do
    #[command(after_help = "Example:\n  crtx webhook list")]
    List(OwnerArgs),
    /// Send a test event, and show what the target answers
    #[command(after_help = "Example:\n  crtx webhook test 165cf497-1db5-4f5e-940b-57c2e3534dea")]
    Test(WebhookArgs),
    /// Show the newest deliveries: each event, and the last attempt to send it
    #[command(after_help = "Example:\n  crtx webhook log 165cf497-1db5-4f5e-940b-57c2e3534dea --limit 100")]
    Log {
        /// The webhook
        webhook_id: Uuid,
        /// How many, 1 to 100
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=100))]
        limit: u64,
        /// Only events with a smaller number
        #[arg(long, value_name = "NUMBER")]
        before: Option<u64>,
        #[command(flatten)]
        owner: OwnerArgs,
    },
    /// Say how many events of the log match, and send them once more
    #[command(after_help = "Examples:\n  \
        crtx webhook replay 165cf497-1db5-4f5e-940b-57c2e3534dea --from 1000 --through 1999\n  \
        crtx webhook replay 165cf497-1db5-4f5e-940b-57c2e3534dea --cancel")]
    Replay(ReplayArgs),
    /// Make a new secret; the old one signs as well for 24 hours
    #[command(after_help = "Example:\n  crtx webhook rotate 165cf497-1db5-4f5e-940b-57c2e3534dea")]
    Rotate(WebhookArgs),
    /// Go on with a webhook that was disabled, from the last event that its target acknowledged
    #[command(after_help = "Example:\n  crtx webhook enable 165cf497-1db5-4f5e-940b-57c2e3534dea")]
    Enable(WebhookArgs),
    /// Delete a webhook and its log
    #[command(after_help = "Example:\n  crtx webhook delete 165cf497-1db5-4f5e-940b-57c2e3534dea")]
    Delete(WebhookArgs),
}

#[derive(Clone, Debug, clap::Args)]
pub struct ReplayArgs {
    /// The webhook
    webhook_id: Uuid,
    /// Number of the first event
    #[arg(long, value_name = "NUMBER", required_unless_present = "cancel")]
    from: Option<u64>,
    /// Number of the last event, at most 99999 more
    #[arg(long, value_name = "NUMBER", required_unless_present = "cancel")]
    through: Option<u64>,
    /// Only these types of events, with commas between them
    #[arg(long, value_delimiter = ',')]
    types: Vec<String>,
    /// End the replay that is under way
    #[arg(long, conflicts_with_all = ["from", "through", "types"])]
    cancel: bool,
    /// Start without asking
    #[arg(long, short = 'y')]
    yes: bool,
    #[command(flatten)]
    owner: OwnerArgs,
}

pub async fn run(command: WebhookCommand, settings: &Settings) -> anyhow::Result<()> {
    let asker = |owner: &OwnerArgs| Asker::wallet(settings, &owner.service, &owner.keypair.read(settings)?);
    match command {
        WebhookCommand::Create { target, types, agents, owner } => {
            let agents: Vec<String> = agents.iter().map(ToString::to_string).collect();
            let body = json!({"url": target.as_str(), "types": types, "agents": agents});
            let created: Value = asker(&owner)?.post("/v1/webhooks", &body).await?;
            shown(&owner, &created, &["webhook_id", "url", "types", "agents", "secret"])?;
            note!("The secret is shown once: give it to the target, which checks the signatures with it.");
        }
        WebhookCommand::List(owner) => list(&owner, &asker(&owner)?).await?,
        WebhookCommand::Test(WebhookArgs { webhook_id, owner }) => {
            let sent: Value = asker(&owner)?.post(&format!("/v1/webhooks/{webhook_id}/test"), &json!({})).await?;
            shown(&owner, &sent, &["acknowledged", "status", "duration_ms", "answer"])?;
            ensure!(sent.get("acknowledged") == Some(&Value::Bool(true)), AlreadySaid);
        }
        WebhookCommand::Log { webhook_id, limit, before, owner } => {
            let before = before.map(|before| format!("&before={before}")).unwrap_or_default();
            let path = format!("/v1/webhooks/{webhook_id}/deliveries?limit={limit}{before}");
            let page: Value = asker(&owner)?.get(&path).await?;
            rows(&owner, &page, "deliveries", &LOG_COLUMNS)?;
        }
        WebhookCommand::Replay(arguments) => replay(&arguments, &asker(&arguments.owner)?).await?,
        WebhookCommand::Rotate(WebhookArgs { webhook_id, owner }) => {
            let path = format!("/v1/webhooks/{webhook_id}/rotate");
            shown(&owner, &asker(&owner)?.post(&path, &json!({})).await?, &["secret", "old_secret_until"])?;
        }
        WebhookCommand::Enable(WebhookArgs { webhook_id, owner }) => {
            let asker = asker(&owner)?;
            let request = asker.api.request(Method::PATCH, &format!("/v1/webhooks/{webhook_id}"));
            let webhook: Value = asker.send(request.json(&json!({"enabled": true}))).await?.json()?;
            shown(&owner, &webhook, &["webhook_id", "url", "waiting"])?;
        }
        WebhookCommand::Delete(WebhookArgs { webhook_id, owner }) => {
            let asker = asker(&owner)?;
            asker.send(asker.api.request(Method::DELETE, &format!("/v1/webhooks/{webhook_id}"))).await?.success()?;
            shown(&owner, &json!({"deleted": webhook_id}), &["deleted"])?;
        }
    }
    Ok(())
}

const COLUMNS: [&str; 6] = ["webhook_id", "url", "waiting", "failing_since", "disabled_reason", "types"];
const LOG_COLUMNS: [&str; 8] =
    ["sequence", "type", "state", "attempts", "attempted_at", "status", "duration_ms", "answer"];

async fn list(owner: &OwnerArgs, asker: &Asker) -> anyhow::Result<()> {
    rows(owner, &asker.get("/v1/webhooks").await?, "webhooks", &COLUMNS)?;
    note!("webhooks of {}", asker.described());
    Ok(())
}

fn shown(owner: &OwnerArgs, answer: &Value, fields: &[&'static str]) -> anyhow::Result<()> {
    if owner.output.json {
        return output::json(answer);
    }
    let rows: Vec<_> = fields.iter().map(|name| (*name, cell(answer, name, "-"))).collect();
    output::page(&pairs(&rows));
    Ok(())
}

fn rows(owner: &OwnerArgs, page: &Value, list: &str, columns: &[&str]) -> anyhow::Result<()> {
    if owner.output.json {
        return output::json(page);
    }
    let items = page.get(list).and_then(Value::as_array).context("the API answered in another form than expected")?;
    let rows = items.iter().map(|item| columns.iter().map(|column| cell(item, column, "-")).collect());
    output::page(&table(columns, rows.collect()));
    Ok(())
}

/// The plan first; then it starts, and is watched until nothing of it waits.
async fn replay(arguments: &ReplayArgs, asker: &Asker) -> anyhow::Result<()> {
    let path = format!("/v1/webhooks/{}/replay", arguments.webhook_id);
    if arguments.cancel {
        asker.send(asker.api.request(Method::DELETE, &path)).await?.success()?;
        return shown(&arguments.owner, &json!({"cancelled": arguments.webhook_id}), &["cancelled"]);
    }
    let ReplayArgs { from, through, types, .. } = arguments;
    let mut body = json!({"from": from, "through": through, "types": types});
    let plan: Value = asker.post(&path, &body).await?;
    note!("{} events match", text_of(plan.get("events").unwrap_or(&Value::Null)));
    if !arguments.yes {
        if !stdin().is_terminal() {
            return Err(
                UsageError::new("There is no terminal to confirm the replay on; pass --yes to start it.").into()
            );
        }
        output::question("Send them once more? [y/N] ")?;
        let mut answer = String::new();
        stdin().read_line(&mut answer)?;
        ensure!(answer.trim().eq_ignore_ascii_case("y"), "not confirmed; nothing is sent");
    }
    if let Value::Object(members) = &mut body {
        members.insert("start".to_owned(), Value::Bool(true));
    }
    let _: Value = asker.post(&path, &body).await?;
    loop {
        let all: Value = asker.get("/v1/webhooks").await?;
        let webhooks = all.get("webhooks").and_then(Value::as_array).into_iter().flatten();
        let id = arguments.webhook_id.to_string();
        let webhook = webhooks.into_iter().find(|webhook| cell(webhook, "webhook_id", "") == id);
        let webhook = webhook.context("the webhook is gone")?;
        let progress = webhook.get("replay").context("the API answered in another form than expected")?;
        let number = |name| progress.get(name).and_then(Value::as_u64).unwrap_or_default();
        if number("taken") >= number("through") && number("waiting") == 0 {
            return shown(&arguments.owner, progress, &["events", "from", "through"]);
        }
        ensure!(
            webhook.get("disabled_at").is_none_or(Value::is_null),
            "the webhook is disabled; the replay goes on when it is enabled"
        );
        note!("event {} of {}; {} wait", number("taken"), number("through"), number("waiting"));
        tokio::time::sleep(WATCH_EVERY).await;
    }
}
