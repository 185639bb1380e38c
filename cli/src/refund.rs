//! `crtx refund`: gives the escrow of an execution back to its caller when the deadline has passed. Anybody may do it.

use agent_marketplace::state::ExecutionStatus;
use anyhow::{Context, bail};
use crtx_chain::{Execution, instructions::Refund};
use crtx_protocol::usdc::UsdcBase;
use serde_json::json;
use solana_pubkey::Pubkey;

use crate::{
    arguments::SendArgs,
    execution_ref::ExecutionRef,
    output::{duration, time},
    settings::{Settings, SignerRole},
    transaction::{Plan, Sender},
};

pub async fn run(execution: ExecutionRef, send: &SendArgs, settings: &Settings) -> anyhow::Result<()> {
    let sender = Sender::open(settings, send, SignerRole::Wallet).await?;
    let (record, execution) = execution.find(&sender.market, &sender.wallet()).await?;
    let amount = UsdcBase(execution.amount);
    let more = json!({
        "record": record.to_string(),
        "caller": execution.caller.to_string(),
        "refunded_usdc": amount,
    });
    // A paid execution cannot be refunded.
    let is_refunded = match execution.status() {
        Some(ExecutionStatus::Open) => false,
        Some(ExecutionStatus::Failed | ExecutionStatus::Expired) => true,
        _ => bail!("the execution is paid; raise a dispute with `crtx dispute open` if its result is wrong"),
    };
    if is_refunded {
        return sender.nothing_to_do(&format!("{amount} USDC went back to {} before", execution.caller), more);
    }
    let plan = plan(&sender, &record, &execution).await?;
    sender.finish(plan, &format!("{amount} USDC are back with {}", execution.caller), more).await
}

async fn plan(sender: &Sender, record: &Pubkey, execution: &Execution) -> anyhow::Result<Plan> {
    let market = &sender.market;
    let deadline = execution.terms.context("the record has no terms")?.deadline_unix_s;
    let now = market.now().await?;
    if now <= deadline {
        let left = duration(deadline.saturating_sub(now).saturating_add(1));
        bail!("the execution can be settled until {}; it can be refunded in {left}", time(deadline));
    }
    let caller = execution.caller;
    let refund_token = market.instructions.usdc_of(&caller);
    let refund = Refund {
        agent: execution.agent,
        record: *record,
        rent_payer: execution.rent_payer,
        grant: execution.grant(),
        refund_token,
    };
    let refund = market.instructions.refund_expired_execution(None, &refund);
    let plan = Plan::new(format!("Refund the execution {record}"), vec![refund])
        .effect("Its deadline has passed, so the whole price returns to the caller.")
        .moves(execution.amount, "the escrow of the agent", format!("the caller {caller}"));
    sender.with_usdc_account(plan, &caller, "the caller's USDC account").await
}
