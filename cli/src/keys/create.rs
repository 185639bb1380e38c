//! `crtx key create`. The secret is on the disk before the wallet grants it anything; an interrupted run continues.

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use agent_marketplace::{
    instructions::grant_spending::GrantSpendingArgs,
    state::{MAX_ALLOWED_AGENTS, SpendingGrant},
};
use anyhow::Context;
use crtx_protocol::{
    api_key::{self, ApiKey, KeyNetwork},
    key_proof,
    usdc::UsdcBase,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use solana_pubkey::Pubkey;

use super::{funds::WalletFunds, registry};
use crate::{
    arguments::{SendArgs, ServiceArgs, lifetime, some_usdc},
    asker::Asker,
    output,
    output::{note, say},
    private_file,
    settings::{Network, Settings, SignerRole},
    transaction::{Plan, Sender},
    usage::UsageError,
};

#[derive(Clone, Debug, clap::Args)]
pub struct CreateArgs {
    /// Name of the key, for your own overview
    pub name: String,
    /// Most that one call may cost, in USDC
    #[arg(long, value_name = "USDC", value_parser = some_usdc)]
    per_call: UsdcBase,
    /// Most that all calls may cost together, in USDC
    #[arg(long, value_name = "USDC", value_parser = some_usdc)]
    total: UsdcBase,
    /// Most that the calls of one UTC day may cost, in USDC; without it the day is not limited
    #[arg(long, value_name = "USDC", value_parser = some_usdc)]
    per_day: Option<UsdcBase>,
    /// How long the key lives: a number and d, h, m or s
    #[arg(long, value_name = "TIME", default_value = "30d", value_parser = lifetime)]
    expires: i64,
    /// An agent that the key may call; repeat it for up to eight. Without it the key may call every agent
    #[arg(long = "agent", value_name = "AGENT_ID")]
    agents: Vec<Pubkey>,
    #[command(flatten)]
    send: SendArgs,
    #[command(flatten)]
    service: ServiceArgs,
}

pub async fn run(arguments: &CreateArgs, settings: &Settings) -> anyhow::Result<()> {
    check(arguments)?;
    let sender = Sender::open(settings, &arguments.send, SignerRole::Wallet).await?;
    let service = Asker::wallet(settings, &arguments.service, sender.keypair()?)?;
    // A local network that starts over is another chain.
    let folder = settings.folder.join("pending-keys").join(private_file::path_part(&sender.market.genesis_hash));
    let network = if settings.network == Network::Mainnet { KeyNetwork::Live } else { KeyNetwork::Test };
    // An earlier run may have been interrupted.
    if !folder.join(file_name(&sender.wallet(), &arguments.name)).exists() {
        check_name_is_free(&service, &arguments.name).await?;
    }
    let pending = PendingKey::load_or_create(&folder, &sender.wallet(), &arguments.name, network)?;
    grant(arguments, &sender, &pending.session_key()).await?;
    // The session key signs that it belongs to this wallet, so that nobody else can register it.
    let registration = json!({
        "name": arguments.name,
        "session_public_key": pending.session_key().to_string(),
        "proof": key_proof::sign(&pending.key, &sender.wallet(), &sender.market.addresses().program_id()),
        "last_four": pending.key.last_four(),
    });
    let registered = service.post("/v1/keys", &registration).await;
    let registered: Value = registered.with_context(|| {
        format!(
            "the key {} is granted on chain but not registered at {}; run the same command again to continue",
            pending.session_key(),
            service.api.base_url
        )
    })?;
    show(arguments, &pending, registered)?;
    pending.forget()
}

fn check(arguments: &CreateArgs) -> Result<(), UsageError> {
    // What the service refuses must not be granted on chain before.
    if !api_key::is_name(&arguments.name) {
        return Err(UsageError::new(format!(
            "The name of a key has 1 to {} visible characters, and no space around them.",
            api_key::MAX_NAME_CHARS
        )));
    }
    if arguments.agents.len() > MAX_ALLOWED_AGENTS {
        return Err(UsageError::new(format!("A key can be limited to at most {MAX_ALLOWED_AGENTS} agents.")));
    }
    if arguments.per_day.is_some_and(|cap| arguments.per_call > cap) {
        return Err(UsageError::new("--per-call is above --per-day, so no call could cost as much."));
    }
    if arguments.per_call > arguments.total {
        return Err(UsageError::new("--per-call is above --total, so no call could cost as much."));
    }
    Ok(())
}

/// A second key of the same name is most likely a mistake. It is checked before anything is made.
async fn check_name_is_free(service: &Asker, name: &str) -> anyhow::Result<()> {
    let known = registry::named(service, name).await.context("nothing was made: the service does not answer")?;
    if !known.is_empty() {
        anyhow::bail!(
            "a key of this wallet has the name {name} already; revoke it, raise it with topup, or choose another name"
        );
    }
    Ok(())
}

/// One transaction: the approval that all keys share, and the grant. Nothing is sent if both are there.
async fn grant(arguments: &CreateArgs, sender: &Sender, session_key: &Pubkey) -> anyhow::Result<()> {
    let market = &sender.market;
    let funds = WalletFunds::read(market, &sender.wallet()).await?;
    let is_granted = funds.grant_of(session_key).is_some_and(|grant| is_as_wanted(arguments, grant));
    if is_granted && funds.needed(None) <= funds.usdc.approved {
        return Ok(());
    }
    let args = GrantSpendingArgs {
        session_key: *session_key,
        per_call_cap: arguments.per_call.0,
        total_cap: arguments.total.0,
        daily_cap: arguments.per_day.map_or(0, |cap| cap.0),
        expires_at_unix_s: funds.now_unix_s.saturating_add(arguments.expires),
        allowed_agents: arguments.agents.clone(),
    };
    let allowed = match arguments.agents.len() {
        0 => "every agent".to_owned(),
        number => format!("{number} agent{}", if number == 1 { "" } else { "s" }),
    };
    let approved = funds.approval_with(session_key, arguments.total);
    let until = output::time(args.expires_at_unix_s);
    let plan = Plan::new(format!("Let the API key {} spend USDC of your wallet", arguments.name), vec![])
        .effect(format!(
            "The key may pay calls of {allowed}: up to {} USDC each, {}{} USDC in all, until {until}.",
            arguments.per_call,
            arguments.per_day.map(|cap| format!("{cap} USDC a day, ")).unwrap_or_default(),
            arguments.total
        ))
        .creates("the spending grant", SpendingGrant::SPACE);
    let mut plan = funds.approve(plan, market, &sender.wallet(), approved);
    plan.instructions.push(market.instructions.grant_spending(&sender.wallet(), args));
    sender.send(plan).await?;
    Ok(())
}

/// The grant of an earlier, interrupted run.
fn is_as_wanted(arguments: &CreateArgs, grant: &SpendingGrant) -> bool {
    let daily_cap = arguments.per_day.map_or(0, |cap| cap.0);
    (grant.per_call_cap, grant.total_cap, grant.daily_cap) == (arguments.per_call.0, arguments.total.0, daily_cap)
        && grant.allowed_agents() == arguments.agents.as_slice()
}

fn show(arguments: &CreateArgs, pending: &PendingKey, registered: Value) -> anyhow::Result<()> {
    let key = pending.key.reveal();
    if arguments.send.output.json {
        return output::json(&json!({"api_key": key, "key": registered}));
    }
    say!("{key}");
    std::io::stdout().flush()?;
    note!("This is the key {}. It is shown once. Keep it like money:", arguments.name);
    note!("  export CRTX_API_KEY={key}");
    Ok(())
}

/// A key that is being made. The secret is stored on the owner's machine before the first transaction, so that an
/// interrupted run continues with the same key, and no granted key is lost.
#[derive(Clone, Debug)]
struct PendingKey {
    key: ApiKey,
    path: PathBuf,
}

impl PendingKey {
    /// Continues with the key of that wallet and name, or makes a new one. `folder`: where the pending keys of one
    /// network are.
    fn load_or_create(folder: &Path, wallet: &Pubkey, name: &str, network: KeyNetwork) -> anyhow::Result<Self> {
        let path = folder.join(file_name(wallet, name));
        let found = private_file::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        if let Some(bytes) = found {
            let key = Self::read(&bytes).with_context(|| format!("{} holds no pending key", path.display()))?;
            return Ok(Self { key, path });
        }
        let key = ApiKey::generate(network).context("the system has no randomness")?;
        let file = json!({"wallet": wallet.to_string(), "name": name, "api_key": key.reveal()});
        private_file::write_new(&path, &serde_json::to_vec_pretty(&file)?)
            .with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self { key, path })
    }

    fn read(bytes: &[u8]) -> anyhow::Result<ApiKey> {
        let file: Value = serde_json::from_slice(bytes)?;
        Ok(file.get("api_key").and_then(Value::as_str).context("it has no api_key")?.parse()?)
    }

    fn session_key(&self) -> Pubkey {
        Pubkey::new_from_array(self.key.session_public_key())
    }

    /// Forgets the key, once its owner has it.
    fn forget(self) -> anyhow::Result<()> {
        private_file::remove(&self.path).with_context(|| format!("cannot remove {}", self.path.display()))
    }
}

/// A name can have characters that a file name cannot have.
fn file_name(wallet: &Pubkey, name: &str) -> String {
    let digest = Sha256::digest([wallet.as_ref(), name.as_bytes()].concat());
    format!("{}.json", hex::encode(digest))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        create: CreateArgs,
    }

    #[test]
    fn a_name_that_the_service_refuses_is_wrong_usage_before_anything_is_made() {
        let check = |name: &str| check(&Line::parse_from(["create", name, "--per-call", "1", "--total", "1"]).create);
        assert_eq!(check("ci/cd ✓"), Ok(()));
        for bad in ["", " ", " ci", "ci ", "a\u{200b}b", "a\nb", &"x".repeat(65)] {
            assert!(check(bad).is_err(), "{bad:?}");
        }
    }

    const WALLET: Pubkey = Pubkey::new_from_array([1; 32]);

    #[test]
    fn an_interrupted_creation_continues_with_the_same_key() {
        let folder = tempfile::tempdir().expect("a folder");
        let load = |name: &str| PendingKey::load_or_create(folder.path(), &WALLET, name, KeyNetwork::Test);
        let first = load("ci/cd ✓").expect("made");
        assert_eq!(load("ci/cd ✓").expect("continued").key, first.key);
        assert_ne!(load("other").expect("made").key, first.key);
        assert!(!private_file::is_open_to_others(&first.path).expect("written"));
        let key = first.key.clone();
        first.forget().expect("removed");
        assert_ne!(load("ci/cd ✓").expect("made").key, key);
    }

    #[test]
    fn a_damaged_file_is_an_error_and_not_a_new_key() {
        let folder = tempfile::tempdir().expect("a folder");
        let load = || PendingKey::load_or_create(folder.path(), &WALLET, "name", KeyNetwork::Test);
        let pending = load().expect("made");
        std::fs::write(&pending.path, "{").expect("written");
        assert!(load().expect_err("damaged").to_string().contains("holds no pending key"));
    }
}
