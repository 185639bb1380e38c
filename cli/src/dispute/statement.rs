//! `crtx dispute open`, the caller's complaint about a paid result, and `crtx dispute answer`, the creator's side.

use agent_marketplace::{
    instructions::{AnswerDisputeArgs, OpenDisputeArgs},
    state::{Dispute, ExecutionStatus, Settler},
};
use anyhow::{bail, ensure};
use crtx_chain::Execution;
use crtx_protocol::usdc::UsdcBase;
use serde_json::json;
use solana_pubkey::Pubkey;
use uuid::Uuid;

use crate::{
    arguments::{SendArgs, ServiceArgs},
    asker::Asker,
    case::Case,
    evidence::{self, EvidenceArgs, Stored},
    execution_ref::ExecutionRef,
    output::time,
    settings::{Role, Settings},
    transaction::{Plan, Sender},
};

/// What a party says about an execution.
#[derive(Clone, Debug, clap::Args)]
pub struct StatementArgs {
    /// Execution id, or address of its record
    #[arg(value_name = "EXECUTION")]
    pub execution: ExecutionRef,
    #[command(flatten)]
    pub evidence: EvidenceArgs,
    #[command(flatten)]
    pub service: ServiceArgs,
    #[command(flatten)]
    pub send: SendArgs,
}

pub async fn open(arguments: &StatementArgs, settings: &Settings) -> anyhow::Result<()> {
    let document = arguments.evidence.read()?;
    let sender = Sender::open(settings, &arguments.send, Role::Wallet).await?;
    let (record, execution) = arguments.execution.find(&sender.market, &sender.wallet()).await?;
    check(&sender, &execution).await?;
    let asker = Asker::wallet(settings, &arguments.service, &sender.keypair)?;
    let stored = evidence::store(&asker, &document).await?;
    let plan = plan(&sender, &record, &execution, &stored);
    let more = json!({
        "dispute": sender.market.addresses().dispute(&record).to_string(),
        "execution_record": record.to_string(),
        "execution_id": Uuid::from_bytes(execution.execution_id),
        "evidence_hash": stored.hash.to_string(),
        "evidence_uri": stored.uri,
    });
    sender.finish(plan, "the dispute is raised; the resolver means to answer within 72 hours", more).await
}

/// The program refuses the same things. Here a refusal has its reason, and comes before the evidence is uploaded.
async fn check(sender: &Sender, execution: &Execution) -> anyhow::Result<()> {
    ensure!(
        execution.caller == sender.wallet(),
        "only the caller {} can dispute this execution; name its key pair with --keypair",
        execution.caller
    );
    match execution.status() {
        Some(ExecutionStatus::Completed) => {}
        Some(ExecutionStatus::Disputed) => bail!("the execution is disputed already"),
        Some(ExecutionStatus::Open) => bail!("the execution is still open; it is refunded if no good result comes"),
        _ => bail!("the execution was refunded, or a dispute was upheld; there is nothing to dispute"),
    }
    ensure!(execution.dispute_count == 0, "the execution was disputed before, and it can have one dispute");
    ensure!(execution.settled_by != Settler::Caller as u8, "a caller who settled an execution cannot dispute it");
    let until = execution.finished_at_unix_s.saturating_add(i64::from(execution.dispute_window_s));
    ensure!(sender.market.now().await? <= until, "the dispute window ended at {}", time(until));
    Ok(())
}

fn plan(sender: &Sender, record: &Pubkey, execution: &Execution, stored: &Stored) -> Plan {
    let wallet = sender.wallet();
    let args = OpenDisputeArgs { evidence_hash: stored.hash.0, evidence_uri: stored.uri.clone() };
    let open = sender.market.instructions.open_dispute(&wallet, &wallet, &execution.agent, record, args);
    let id = Uuid::from_bytes(execution.execution_id);
    Plan::new(format!("Dispute the execution {id}"), vec![open])
        .effect(format!(
            "If the resolver upholds it, you get up to {} USDC back from the creator's collateral.",
            UsdcBase(execution.amount)
        ))
        .effect(format!("The evidence {} is public: its hash stands on chain.", stored.uri))
        .creates("the dispute, which comes back with the record", Dispute::SPACE)
}

pub async fn answer(arguments: &StatementArgs, settings: &Settings) -> anyhow::Result<()> {
    let document = arguments.evidence.read()?;
    let sender = Sender::open(settings, &arguments.send, Role::Wallet).await?;
    let case = Case::find(&sender.market, arguments.execution, &sender.wallet()).await?;
    if case.agent.creator != sender.wallet() {
        bail!("only the creator {} answers this dispute; name its key pair with --keypair", case.agent.creator);
    }
    if !case.is_open() {
        bail!("the dispute is {}, so it cannot be answered any more", case.outcome());
    }
    if case.dispute.answered_at_unix_s != 0 {
        bail!("the dispute was answered at {}, and it has one answer", time(case.dispute.answered_at_unix_s));
    }
    let asker = Asker::wallet(settings, &arguments.service, &sender.keypair)?;
    let stored = evidence::store(&asker, &document).await?;
    let args = AnswerDisputeArgs { answer_hash: stored.hash.0, answer_uri: stored.uri.clone() };
    let (agent, record) = (case.dispute.agent, case.dispute.execution);
    let instruction = sender.market.instructions.answer_dispute(&sender.wallet(), &agent, &record, args);
    let plan = Plan::new(format!("Answer the dispute about the execution {}", case.id()), vec![instruction])
        .effect(format!("The answer {} stands on chain and cannot be changed.", stored.uri))
        .effect("The resolver can decide from now on, before the 24 hours for an answer are over.");
    let more = json!({
        "dispute": case.address.to_string(),
        "answer_hash": stored.hash.to_string(),
        "answer_uri": stored.uri,
    });
    sender.finish(plan, "the dispute is answered", more).await
}
