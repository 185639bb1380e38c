//! `crtx audit`: compares the index of a service with the chain, as any node shows it. Both are one digest of all accounts
//! of the program at a finalized slot.

use std::time::Duration;

use anyhow::{Context, bail, ensure};
use crtx_mirror::{
    proof::{self, node_digest::NodeDigest},
    source::{AccountSource, At, Deadlines, EndpointUrls, Endpoints},
};
use reqwest::{Method, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::json;
use solana_pubkey::Pubkey;
use tokio::time::{Instant, sleep};
use url::Url;

use crate::{
    api::Api,
    arguments::{ChainArgs, OutputArgs, ServiceArgs},
    output::{self, AlreadySaid},
    progress::during,
    settings::Settings,
};

#[derive(Clone, Debug, clap::Args)]
pub struct AuditArgs {
    /// Print the digest of the node and compare it with nothing
    #[arg(long)]
    print: bool,
    /// Seconds to wait until the service has reached the slot of the node
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=600))]
    wait: u64,
    #[command(flatten)]
    chain: ChainArgs,
    #[command(flatten)]
    service: ServiceArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Succeeds only if the service shows the same accounts as the node.
pub async fn run(arguments: AuditArgs, settings: &Settings) -> anyhow::Result<()> {
    let rpc_url = settings.rpc_url(arguments.chain.rpc_url.as_ref())?.value;
    let program = settings.program_id(arguments.chain.program_id)?.value;
    if arguments.print {
        let digest = during("reading every account of the program", node_digest(&rpc_url, program)).await?;
        return print(&digest, arguments.output.json);
    }
    let api = Api::of(settings, &arguments.service)?;
    let comparing = compare(&api, &rpc_url, program, Duration::from_secs(arguments.wait));
    let compared = during("reading every account of the program", comparing).await?;
    show(&compared, &api.base_url, arguments.output.json)?;
    ensure!(compared.verdict == DigestVerdict::Equal, AlreadySaid);
    Ok(())
}

fn print(digest: &NodeDigest, as_json: bool) -> anyhow::Result<()> {
    let (checksum, NodeDigest { from_slot, to_slot, accounts, .. }) = (hex::encode(digest.checksum), digest);
    if as_json {
        return output::json(&json!({
            "slot": to_slot, "from_slot": from_slot, "accounts": accounts, "checksum": checksum,
        }));
    }
    let slot = if from_slot == to_slot { to_slot.to_string() } else { format!("{from_slot} to {to_slot}") };
    let rows = [("finalized slot", slot), ("accounts", accounts.to_string()), ("digest", checksum)];
    output::page(&output::pairs(&rows));
    Ok(())
}

fn show(compared: &Compared, base_url: &str, as_json: bool) -> anyhow::Result<()> {
    if as_json {
        return output::json(&json!({
            "equal": compared.verdict == DigestVerdict::Equal,
            "verdict": compared.verdict,
            "slot": compared.node.to_slot,
            "node": {"accounts": compared.node.accounts, "checksum": hex::encode(compared.node.checksum)},
            "service": {"accounts": compared.service.accounts, "checksum": compared.service.checksum},
        }));
    }
    output::line(format_args!("{}", compared.words(base_url)));
    Ok(())
}

/// Pause between two questions to the service.
const ASK_EVERY: Duration = Duration::from_secs(1);
/// How often the command reads a node that reads in parts, if accounts change between the parts.
const SNAPSHOTS: u32 = 5;

/// A digest as `GET /v1/digest/{slot}` answers it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ServiceDigest {
    pub slot: u64,
    pub accounts: u64,
    pub checksum: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DigestVerdict {
    Equal,
    Different,
    /// Accounts changed while the node read them in parts.
    Moving,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compared {
    pub verdict: DigestVerdict,
    pub node: NodeDigest,
    pub service: ServiceDigest,
}

impl Compared {
    pub fn words(&self, base_url: &str) -> String {
        let (slot, ours, theirs) = (self.node.to_slot, self.node.accounts, self.service.accounts);
        match self.verdict {
            DigestVerdict::Equal => format!(
                "{base_url} shows the chain as the node does: at finalized slot {slot} both have {ours} accounts and the \
                 digest {}.",
                self.service.checksum
            ),
            DigestVerdict::Different => {
                let count = match theirs.cmp(&ours) {
                    std::cmp::Ordering::Equal => format!("Both have {ours} accounts, so at least one has other bytes."),
                    std::cmp::Ordering::Less => format!("The service misses at least {}.", ours.saturating_sub(theirs)),
                    std::cmp::Ordering::Greater => {
                        format!("The service has at least {} that do not exist.", theirs.saturating_sub(ours))
                    }
                };
                format!(
                    "{base_url} does not show the chain as the node does. At finalized slot {slot} the node has {ours} \
                     accounts and the digest {}, the service {theirs} accounts and the digest {}. {count}",
                    hex::encode(self.node.checksum),
                    self.service.checksum
                )
            }
            DigestVerdict::Moving => format!(
                "The node read its accounts in parts, from slot {} to slot {slot}, and they changed meanwhile. Nothing is \
                 proved; try again or ask another node.",
                self.node.from_slot
            ),
        }
    }
}

/// Asks both, and again if accounts changed between the parts of the node's answer, or if the service has not proved the
/// slot of the node and is past it.
async fn compare(api: &Api, rpc_url: &Url, program: Pubkey, wait: Duration) -> anyhow::Result<Compared> {
    let until = Instant::now().checked_add(wait).context("the time to wait is too long")?;
    let mut tries: u32 = 1;
    loop {
        let node = node_digest(rpc_url, program).await?;
        let from = service_digest(api, node.from_slot, until).await?;
        let to = match &from {
            Ok(_) if node.from_slot != node.to_slot => service_digest(api, node.to_slot, until).await?,
            from => from.clone(),
        };
        let (from, to) = match (from, to) {
            (Ok(from), Ok(to)) => (from, to),
            (Err(text), _) | (_, Err(text)) => {
                if Instant::now() >= until {
                    bail!("the service states no digest of a slot that the node shows: {text}");
                }
                sleep(ASK_EVERY).await;
                continue;
            }
        };
        let compared = judge(node, from, to);
        if compared.verdict != DigestVerdict::Moving || tries >= SNAPSHOTS {
            return Ok(compared);
        }
        tries = tries.saturating_add(1);
    }
}

/// Reads every account. It holds one page at a time.
async fn node_digest(rpc_url: &Url, program: Pubkey) -> anyhow::Result<NodeDigest> {
    let urls = EndpointUrls { http: rpc_url.clone(), websocket: None };
    let node = Endpoints::new(&[urls], None, program, Deadlines::default())?;
    let reading = async {
        let snapshot = node.snapshot(At::Finalized, 0).await?;
        proof::node_digest::of_snapshot(&node.name(), snapshot).await
    };
    reading.await.context("the accounts of the program cannot be read from the node")
}

/// A node that reads in parts shows neither slot exactly if an account changed between the two.
fn judge(node: NodeDigest, from: ServiceDigest, to: ServiceDigest) -> Compared {
    let ours = hex::encode(node.checksum);
    let equal = ours == from.checksum || ours == to.checksum;
    let verdict = match (equal, from.checksum == to.checksum) {
        (true, _) => DigestVerdict::Equal,
        (false, true) => DigestVerdict::Different,
        (false, false) => DigestVerdict::Moving,
    };
    Compared { verdict, node, service: to }
}

/// The digest of the service at that slot. Waits until it has proved the slot, or a later one: then it says why it has
/// none of this one.
async fn service_digest(api: &Api, slot: u64, until: Instant) -> anyhow::Result<Result<ServiceDigest, String>> {
    let path = format!("/v1/digest/{slot}");
    loop {
        // What the service has proved is asked for first: a slot before it stays without a digest.
        let newest = newest_digest(api).await?;
        let answer = api.send(api.request(Method::GET, &path)).await?;
        if answer.status != StatusCode::NOT_FOUND {
            return answer.json().map(Ok);
        }
        if newest.is_some_and(|newest| newest >= slot) {
            return Ok(Err(answer.error_text()));
        }
        if Instant::now() >= until {
            bail!("the service does not answer with its digest at slot {slot}: {}", answer.error_text());
        }
        sleep(ASK_EVERY).await;
    }
}

/// The newest slot with a digest, if the status tells it.
async fn newest_digest(api: &Api) -> anyhow::Result<Option<u64>> {
    let answer = api.send(api.request(Method::GET, "/v1/status")).await?;
    let status: serde_json::Value = if answer.status.is_success() { answer.json()? } else { return Ok(None) };
    Ok(status.pointer("/digest/slot").and_then(serde_json::Value::as_u64))
}

#[cfg(test)]
mod tests {

    use super::*;

    fn node(from_slot: u64, to_slot: u64, first: u8) -> NodeDigest {
        let mut checksum = [0; 32];
        checksum[0] = first;
        NodeDigest { from_slot, to_slot, accounts: 5, checksum }
    }

    fn service(slot: u64, accounts: u64, first: u8) -> ServiceDigest {
        ServiceDigest { slot, accounts, checksum: hex::encode(node(0, 0, first).checksum) }
    }

    #[test]
    fn equal_digests_are_equal_and_others_say_who_has_more() {
        let equal = judge(node(7, 7, 1), service(7, 5, 1), service(7, 5, 1));
        assert_eq!(equal.verdict, DigestVerdict::Equal);
        assert!(equal.words("http://a").contains("at finalized slot 7 both have 5 accounts"));
        for (accounts, says) in [(5, "at least one has other bytes"), (3, "misses at least 2"), (6, "has at least 1")] {
            let other = judge(node(7, 7, 1), service(7, accounts, 2), service(7, accounts, 2));
            assert_eq!(other.verdict, DigestVerdict::Different);
            assert!(other.words("http://a").contains(says), "{}", other.words("http://a"));
        }
    }

    #[test]
    fn parts_that_were_read_at_different_slots_prove_nothing_if_accounts_changed_between() {
        assert_eq!(judge(node(7, 9, 1), service(7, 5, 2), service(9, 5, 3)).verdict, DigestVerdict::Moving);
        assert_eq!(judge(node(7, 9, 1), service(7, 5, 2), service(9, 5, 2)).verdict, DigestVerdict::Different);
        assert_eq!(judge(node(7, 9, 1), service(7, 5, 1), service(9, 5, 3)).verdict, DigestVerdict::Equal);
        assert_eq!(judge(node(7, 9, 1), service(7, 5, 1), service(9, 5, 1)).verdict, DigestVerdict::Equal);
    }
}
