//! `crtx agent publish`: validates, tests, uploads the document and lists the agent in one transaction; later it shows
//! what changed and updates the listing. An interrupted run can be repeated: it continues with the same listing.

use std::{path::PathBuf, time::Duration};

use agent_marketplace::{
    instructions::{
        list_agent::ListAgentArgs,
        update_listing::{MetadataRef, UpdateListingArgs},
    },
    state::{AgentListed, AgentStatus, CreatorProfile},
};
use anyhow::{Context, bail, ensure};
use crtx_chain::token::TOKEN_ACCOUNT_LEN;
use crtx_protocol::{content::ipfs_uri, usdc::UsdcBase};
use serde::Deserialize;
use serde_json::{Value, json};
use solana_pubkey::Pubkey;

use super::{
    lock::{self, Lock, LockedListing},
    manifest::Manifest,
    test,
};
use crate::{
    arguments::{SendArgs, ServiceArgs},
    asker::Asker,
    output::{self, cell, note, say},
    progress::during,
    settings::{Settings, SignerRole},
    transaction::{Plan, Sender},
};

/// How long the service may take until it shows the agent. The listing is live on chain before.
const SHOWN_WITHIN: Duration = Duration::from_secs(60);
const ASK_EVERY: Duration = Duration::from_millis(300);

#[derive(Clone, Debug, clap::Args)]
pub struct PublishArgs {
    /// The agent's folder or its agent.toml
    #[arg(value_name = "PATH", default_value = ".")]
    pub path: PathBuf,
    /// Publish even if the test of the service fails, or without a test if it cannot be reached from here
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    send: SendArgs,
    #[command(flatten)]
    service: ServiceArgs,
}

/// The agent, what a run did (`listed`, `updated` or `unchanged`), and the transaction that did it.
type Published = (Pubkey, &'static str, Option<String>);

pub async fn run(arguments: &PublishArgs, settings: &Settings) -> anyhow::Result<()> {
    let manifest = Manifest::read(&arguments.path)?;
    let sender = Sender::open(settings, &arguments.send, SignerRole::Wallet).await?;
    let service = Asker::wallet(settings, &arguments.service, sender.keypair()?)?;
    let publishing = Publishing { arguments, settings, manifest: &manifest, sender: &sender, service: &service };
    let (agent, outcome, transaction) = publishing.run().await?;
    let shown = publishing.wait_until_shown(&agent).await;
    if arguments.send.output.json {
        return output::json(&json!({
            "agent_id": agent.to_string(),
            "outcome": outcome,
            "transaction": transaction,
            "price_per_call_usdc": manifest.price,
            "shown": shown,
        }));
    }
    say!("{agent}");
    note!("The agent {} is {outcome}.", manifest.metadata.name);
    match shown {
        true => note!("Call it: crtx execute {agent} --task 'One two three.'"),
        false => {
            note!("The service does not show it yet. See whether it does: {}/v1/agents/{agent}", service.api.base_url)
        }
    }
    Ok(())
}

struct Publishing<'a> {
    arguments: &'a PublishArgs,
    settings: &'a Settings,
    manifest: &'a Manifest,
    sender: &'a Sender,
    service: &'a Asker,
}

impl Publishing<'_> {
    async fn run(&self) -> anyhow::Result<Published> {
        let lock = lock::read(&self.manifest.folder)?;
        let creator = self.sender.wallet().to_string();
        let listed = lock.get(self.settings.network.into()).filter(|listed| listed.creator == creator);
        if let Some(listed) = listed.cloned()
            && let Some((agent, listing)) = self.own_listing(&listed).await?
        {
            return self.update(lock, listed, agent, &listing).await;
        }
        self.list(lock).await
    }

    /// The listing that the lock names, if it is this folder's. A listing that was never confirmed is this folder's
    /// only if it has the same result key and document: another folder may have taken the index.
    async fn own_listing(&self, listed: &LockedListing) -> anyhow::Result<Option<(Pubkey, AgentListed)>> {
        let agent = self.sender.market.addresses().agent(&self.sender.wallet(), listed.index);
        let Some(listing) = self.sender.market.find::<AgentListed>(&agent).await? else { return Ok(None) };
        let is_own = listed.confirmed
            || (listing.result_key == self.manifest.result_key
                && listing.metadata_hash == self.manifest.document_hash().0);
        if is_own && listing.status() == Some(AgentStatus::Delisted) {
            note!("crtx: the agent {agent} is delisted for ever; a new one is listed");
            return Ok(None);
        }
        Ok(is_own.then_some((agent, listing)))
    }

    /// A failed test stops the run, unless it is forced.
    async fn test(&self) -> anyhow::Result<()> {
        let report = match test::report(self.manifest, self.settings.network).await {
            Ok(report) => report,
            Err(error) if self.arguments.force => {
                note!("crtx: published without a test: {error:#}");
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        if report.passed {
            return Ok(());
        }
        output::notes(&test::page(&report));
        ensure!(
            self.arguments.force,
            "the service does not pass the test, and nothing was published; correct it, or publish anyway with --force"
        );
        Ok(())
    }

    /// Uploads the document. The service checks it now as it does later, before it shows the agent.
    async fn upload(&self) -> anyhow::Result<()> {
        let document: Value = serde_json::from_slice(&self.manifest.document)?;
        let stored: Value = self.service.post("/v1/metadata", &document).await.context("the document was not taken")?;
        let (stored, expected) = (cell(&stored, "hash", ""), self.manifest.document_hash().to_string());
        ensure!(stored == expected, "the service stored the document as {stored} and not as {expected}");
        Ok(())
    }

    async fn list(&self, mut lock: Lock) -> anyhow::Result<Published> {
        self.test().await?;
        self.upload().await?;
        let (manifest, sender) = (self.manifest, self.sender);
        let creator = sender.wallet();
        let profile: Option<CreatorProfile> = sender.market.profile(&creator).await?;
        let index = profile.as_ref().map_or(0, |profile| profile.next_agent_index);
        let agent = sender.market.addresses().agent(&creator, index);
        let listed =
            |confirmed| LockedListing { agent_id: agent.to_string(), creator: creator.to_string(), index, confirmed };
        let network = self.settings.network.into();
        lock::note(&mut lock, &manifest.folder, network, listed(false))?;
        let sent = sender.send(self.listing_plan(index, profile.is_none())?).await?;
        lock::note(&mut lock, &manifest.folder, network, listed(true))?;
        Ok((agent, "listed", Some(sent.signature.to_string())))
    }

    fn listing_plan(&self, index: u32, is_first: bool) -> anyhow::Result<Plan> {
        let (manifest, sender) = (self.manifest, self.sender);
        let required =
            UsdcBase(sender.market.config.parameters.required_collateral(manifest.price.0, manifest.min_cover));
        let collateral = manifest.collateral.unwrap_or(required);
        if collateral < required {
            bail!(
                "`collateral_usdc` is {collateral}, and a price of {} USDC with a cover of {} calls needs {required} USDC",
                manifest.price,
                manifest.min_cover
            );
        }
        let hash = manifest.document_hash();
        let args = ListAgentArgs {
            index,
            result_key: manifest.result_key,
            price: manifest.price.0,
            timeout_seconds: manifest.timeout_seconds,
            binding: manifest.binding,
            min_cover: manifest.min_cover,
            collateral: collateral.0,
            metadata_hash: hash.0,
            metadata_uri: ipfs_uri(&hash),
        };
        let list = sender.market.instructions.list_agent(&sender.wallet(), args);
        let mut plan = Plan::new(format!("List the agent {}", manifest.metadata.name), vec![list])
            .effect(format!("The agent is live at once and costs {} USDC a call.", manifest.price))
            .effect(
                "The collateral comes back after you delist the agent. An upheld dispute can take part of it or all of it.",
            )
            .moves(collateral.0, "your wallet", "the collateral of the agent")
            .creates("the listing", AgentListed::SPACE)
            .creates("its escrow", TOKEN_ACCOUNT_LEN)
            .creates("its collateral account", TOKEN_ACCOUNT_LEN);
        if is_first {
            plan = plan.creates("your creator profile", CreatorProfile::SPACE);
        }
        Ok(plan)
    }

    async fn update(
        &self,
        mut lock: Lock,
        listed: LockedListing,
        agent: Pubkey,
        listing: &AgentListed,
    ) -> anyhow::Result<Published> {
        if !listed.confirmed {
            let confirmed = LockedListing { confirmed: true, ..listed };
            lock::note(&mut lock, &self.manifest.folder, self.settings.network.into(), confirmed)?;
        }
        let (change, sentences) = difference(listing, self.manifest);
        if sentences.is_empty() {
            return Ok((agent, "unchanged", None));
        }
        self.test().await?;
        if change.metadata.is_some() {
            self.upload().await?;
        }
        let sent = self.sender.send(self.update_plan(agent, listing, change, sentences)).await?;
        Ok((agent, "updated", Some(sent.signature.to_string())))
    }

    /// A higher price or promise needs its collateral first: one transaction does both.
    fn update_plan(
        &self,
        agent: Pubkey,
        listing: &AgentListed,
        change: UpdateListingArgs,
        sentences: Vec<String>,
    ) -> Plan {
        let (creator, market) = (self.sender.wallet(), &self.sender.market);
        let title = format!("Update the listing of {} ({agent})", self.manifest.metadata.name);
        let mut plan = Plan::new(title, vec![]).effects(sentences);
        let required = market.config.parameters.required_collateral(self.manifest.price.0, self.manifest.min_cover);
        let wanted = self.manifest.collateral.map_or(required, |wanted| wanted.0.max(required));
        let missing = wanted.saturating_sub(listing.free_collateral());
        let rises = change.price.is_some_and(|price| price > listing.price)
            || change.min_cover.is_some_and(|cover| cover > listing.min_cover);
        if rises && missing > 0 {
            plan = plan.moves(missing, "your wallet", "the collateral of the agent");
            plan.instructions.push(market.instructions.deposit_collateral(&creator, &agent, missing));
        }
        plan.instructions.push(market.instructions.update_listing(&creator, &agent, change));
        plan.effect("Open executions keep the terms that they were opened with.")
    }

    /// Waits until the service shows the listing as it is on chain. Nothing depends on it.
    async fn wait_until_shown(&self, agent: &Pubkey) -> bool {
        #[derive(Deserialize)]
        struct Shown {
            name: String,
            price_per_call_usdc: UsdcBase,
        }
        let (path, manifest) = (format!("/v1/agents/{agent}"), self.manifest);
        let is_current =
            |shown: Shown| shown.name == manifest.metadata.name && shown.price_per_call_usdc == manifest.price;
        let asking = async {
            while !self.service.api.get(&path).await.is_ok_and(is_current) {
                tokio::time::sleep(ASK_EVERY).await;
            }
        };
        let asking = tokio::time::timeout(SHOWN_WITHIN, asking);
        during("waiting until the service shows the agent", asking).await.is_ok()
    }
}

/// What an update of the listing changes: the arguments, and one sentence for each difference.
fn difference(listing: &AgentListed, manifest: &Manifest) -> (UpdateListingArgs, Vec<String>) {
    let mut sentences = Vec::new();
    let mut note = |changed: bool, sentence: String| {
        sentences.extend(changed.then_some(sentence));
        changed
    };
    let price = note(
        listing.price != manifest.price.0,
        format!("The price changes from {} to {} USDC.", UsdcBase(listing.price), manifest.price),
    );
    let timeout = note(
        listing.timeout_seconds != manifest.timeout_seconds,
        format!("The time-out changes from {} to {} s.", listing.timeout_seconds, manifest.timeout_seconds),
    );
    let result_key = note(
        listing.result_key != manifest.result_key,
        format!("The result key changes from {} to {}.", listing.result_key, manifest.result_key),
    );
    let binding = note(
        (listing.binding != 0) != manifest.binding,
        format!("Results are {}signed for the call.", if manifest.binding { "" } else { "no longer " }),
    );
    let min_cover = note(
        listing.min_cover != manifest.min_cover,
        format!("The promised cover changes from {} to {} calls.", listing.min_cover, manifest.min_cover),
    );
    let hash = manifest.document_hash();
    let document = note(
        listing.metadata_hash != hash.0,
        "The metadata document (texts, tags, endpoint, schemas) changes. The agent is hidden until the service has \
         checked the new document, which takes some seconds."
            .to_owned(),
    );
    let args = UpdateListingArgs {
        price: price.then_some(manifest.price.0),
        timeout_seconds: timeout.then_some(manifest.timeout_seconds),
        result_key: result_key.then_some(manifest.result_key),
        binding: binding.then_some(manifest.binding),
        min_cover: min_cover.then_some(manifest.min_cover),
        metadata: document.then(|| MetadataRef { hash: hash.0, uri: ipfs_uri(&hash) }),
    };
    (args, sentences)
}
