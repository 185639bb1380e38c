//! `crtx key revoke`: at the service, where it holds at once, and on chain, where it holds without any service.

use serde_json::json;
use solana_pubkey::Pubkey;

use super::{funds::Funds, registry};
use crate::{
    arguments::{SendArgs, ServiceArgs},
    asker::Asker,
    output::{self, note, say},
    settings::{Role, Settings},
    transaction::{Plan, Sender},
};

#[derive(Clone, Debug, clap::Args)]
pub struct RevokeArgs {
    /// Name or session public key of the key
    pub key: String,
    #[command(flatten)]
    send: SendArgs,
    #[command(flatten)]
    service: ServiceArgs,
}

pub async fn run(arguments: &RevokeArgs, settings: &Settings) -> anyhow::Result<()> {
    let sender = Sender::open(settings, &arguments.send, Role::Wallet).await?;
    let service = Asker::wallet(settings, &arguments.service, &sender.keypair)?;
    let session_key = registry::find(&service, &arguments.key).await?;
    // The service first: it refuses the key at once. The chain follows, and holds even without the service.
    let at_service = registry::revoke(&service, &session_key).await;
    if let Err(error) = &at_service {
        note!("crtx: the service did not take the revocation, the chain will: {error:#}");
    }
    let transaction = on_chain(&sender, &session_key).await?;
    if arguments.send.output.json {
        return output::json(&json!({
            "session_public_key": session_key.to_string(),
            "revoked_at_service": at_service.is_ok(),
            "revoked_on_chain": true,
            "transaction": transaction,
        }));
    }
    say!("the key {session_key} is revoked");
    Ok(())
}

/// Returns the transaction; `None` if the chain has no live grant of the key.
async fn on_chain(sender: &Sender, session_key: &Pubkey) -> anyhow::Result<Option<String>> {
    let wallet = sender.wallet();
    let funds = Funds::read(&sender.market, &wallet).await?;
    if funds.grant_of(session_key).is_none_or(|grant| grant.revoked != 0) {
        return Ok(None);
    }
    let plan = Plan::new(format!("Revoke the API key {session_key} on chain"), vec![])
        .effect("No execution can be opened with the key any more, for ever. Open executions go on.");
    let mut plan = funds.approve(plan, &sender.market, &wallet, funds.approval_without(session_key));
    plan.instructions.push(sender.market.instructions.revoke_spending(&wallet, session_key));
    Ok(Some(sender.send(plan).await?.signature.to_string()))
}
