//! `crtx audit`: compares the index of a service with the chain, as any node shows it. Both are one digest of all accounts
//! of the program at a finalized slot.

mod comparison;

use anyhow::ensure;
use crtx_mirror::proof::node_digest::NodeDigest;
use serde_json::json;

use self::comparison::{Compared, Verdict};
use crate::{
    api::Api,
    arguments::{ChainArgs, OutputArgs, ServiceArgs},
    output::{self, AlreadySaid, hex},
    progress::during,
    settings::Settings,
};

/// Arguments of `crtx audit`.
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
        let digest =
            during("reading every account of the program", comparison::node_digest(&rpc_url, program, 0)).await?;
        print(&digest, arguments.output.json)?;
        return Ok(());
    }
    let api = Api::of(settings, &arguments.service)?;
    let comparing = comparison::compare(&api, &rpc_url, program, std::time::Duration::from_secs(arguments.wait));
    let compared = during("reading every account of the program", comparing).await?;
    show(&compared, api.base_url(), arguments.output.json)?;
    ensure!(compared.verdict == Verdict::Equal, AlreadySaid);
    Ok(())
}

fn print(digest: &NodeDigest, as_json: bool) -> anyhow::Result<()> {
    let (checksum, NodeDigest { from_slot, to_slot, accounts, .. }) = (hex(&digest.checksum), digest);
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
            "equal": compared.verdict == Verdict::Equal,
            "verdict": compared.verdict,
            "slot": compared.slot,
            "node": {"accounts": compared.node.accounts, "checksum": hex(&compared.node.checksum)},
            "service": {"accounts": compared.service.accounts, "checksum": compared.service.checksum},
        }));
    }
    output::line(format_args!("{}", compared.words(base_url)));
    Ok(())
}
