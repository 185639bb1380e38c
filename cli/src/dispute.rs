//! `crtx dispute`: the disputes of a wallet, as caller and as creator.

use agent_marketplace::{
    instructions::{AnswerDisputeArgs, OpenDisputeArgs},
    state::{Dispute, ExecutionStatus, Settler},
};
use anyhow::{bail, ensure};
use crtx_chain::Execution;
use crtx_protocol::{result_hash::ResultHash, usdc::UsdcBase};
use serde_json::{Value, json};
use solana_pubkey::Pubkey;
use solana_signer::Signer;
use uuid::Uuid;

use crate::{
    api::Api,
    arguments::{ChainArgs, KeypairArgs, OutputArgs, ReadArgs, SendArgs, ServiceArgs},
    asker::Asker,
    case::Case,
    content,
    evidence::{self, EvidenceArgs},
    execution_ref::ExecutionRef,
    market::Market,
    output::{self, note, pairs, printable, quoted, say, table, time},
    settings::{Settings, SignerRole},
    transaction::{Plan, Sender},
};

#[derive(Clone, Debug, clap::Subcommand)]
pub enum DisputeCommand {
    /// Dispute a paid result of one of your calls
    #[command(
        after_help = "Example:\n  crtx dispute open 165cf497-1db5-4f5e-940b-57c2e3534dea --text 'It is empty.' --file shot.png"
    )]
    Open(StatementArgs),
    /// List the disputes that you raised, and those about your agents
    #[command(after_help = "Example:\n  crtx dispute list")]
    List {
        #[command(flatten)]
        keypair: KeypairArgs,
        #[command(flatten)]
        chain: ChainArgs,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Show one dispute with its evidence
    #[command(after_help = "Example:\n  crtx dispute show 165cf497-1db5-4f5e-940b-57c2e3534dea")]
    Show {
        /// Execution id, or address of the record or of the dispute
        #[arg(value_name = "EXECUTION")]
        execution: ExecutionRef,
        #[command(flatten)]
        read: ReadArgs,
    },
    /// Give up a dispute that you raised
    #[command(after_help = "Example:\n  crtx dispute cancel 165cf497-1db5-4f5e-940b-57c2e3534dea")]
    Cancel {
        /// Execution id, or address of the record or of the dispute
        #[arg(value_name = "EXECUTION")]
        execution: ExecutionRef,
        #[command(flatten)]
        send: SendArgs,
    },
    /// Answer a dispute about your agent
    #[command(after_help = "Example:\n  crtx dispute answer 165cf497-1db5-4f5e-940b-57c2e3534dea --text 'As asked.'")]
    Answer(StatementArgs),
}

pub async fn run(command: DisputeCommand, settings: &Settings) -> anyhow::Result<()> {
    match command {
        DisputeCommand::Open(arguments) => open(&arguments, settings).await,
        DisputeCommand::List { keypair, chain, output } => list(&keypair, &chain, output, settings).await,
        DisputeCommand::Show { execution, read } => show(execution, &read, settings).await,
        DisputeCommand::Cancel { execution, send } => cancel(execution, &send, settings).await,
        DisputeCommand::Answer(arguments) => answer(&arguments, settings).await,
    }
}

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

async fn open(arguments: &StatementArgs, settings: &Settings) -> anyhow::Result<()> {
    let document = arguments.evidence.read()?;
    let sender = Sender::open(settings, &arguments.send, SignerRole::Wallet).await?;
    let (record, execution) = arguments.execution.find(&sender.market, &sender.wallet()).await?;
    check(&sender, &execution).await?;
    let asker = Asker::wallet(settings, &arguments.service, sender.keypair()?)?;
    let stored = evidence::store(&asker, &document).await?;
    let (id, wallet) = (Uuid::from_bytes(execution.execution_id), sender.wallet());
    let args = OpenDisputeArgs { evidence_hash: stored.hash.0, evidence_uri: stored.uri.clone() };
    let open = sender.market.instructions.open_dispute(&wallet, &wallet, &execution.agent, &record, args);
    let plan = Plan::new(format!("Dispute the execution {id}"), vec![open])
        .effect(format!(
            "If the resolver upholds it, you get up to {} USDC back from the creator's collateral.",
            UsdcBase(execution.amount)
        ))
        .effect(format!("The evidence {} is public: its hash stands on chain.", stored.uri))
        .moves(sender.market.config.parameters.dispute_bond, "your wallet", "the escrow of the agent (bond)")
        .effect("The bond comes back when the dispute ends, unless the resolver finds that you knew it to be false.")
        .creates("the dispute, which comes back with the record", Dispute::SPACE);
    let more = json!({
        "dispute": sender.market.addresses().dispute(&record).to_string(),
        "execution_record": record.to_string(),
        "execution_id": id,
        "evidence_hash": stored.hash.to_string(),
        "evidence_uri": stored.uri,
    });
    sender.finish(plan, "the dispute is raised; the resolver means to answer within 72 hours", more).await
}

/// The program refuses the same. This check comes before the evidence is uploaded, and gives the reason.
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

async fn cancel(execution: ExecutionRef, send: &SendArgs, settings: &Settings) -> anyhow::Result<()> {
    let sender = Sender::open(settings, send, SignerRole::Wallet).await?;
    let case = Case::find(&sender.market, execution, &sender.wallet()).await?;
    if case.dispute.raised_by != sender.wallet() {
        bail!("only the caller {} cancels this dispute; name its key pair with --keypair", case.dispute.raised_by);
    }
    let more = json!({"dispute": case.address.to_string(), "execution_id": case.id(), "status": "cancelled"});
    if !case.is_open() {
        return sender.nothing_to_do(&format!("the dispute is {} already", case.outcome()), more);
    }
    let (agent, record) = (case.dispute.agent, case.dispute.execution);
    let cancel = sender.market.instructions.cancel_dispute(&sender.wallet(), &agent, &record);
    let plan = Plan::new(format!("Cancel the dispute about the execution {}", case.id()), vec![cancel])
        .effect("The execution is completed again, and it cannot be disputed a second time.")
        .moves(case.dispute.bond, "the escrow of the agent (bond)", "your wallet");
    let plan = sender.with_usdc_account(plan, &sender.wallet(), "your USDC account").await?;
    sender.finish(plan, "the dispute is cancelled", more).await
}

async fn answer(arguments: &StatementArgs, settings: &Settings) -> anyhow::Result<()> {
    let document = arguments.evidence.read()?;
    let sender = Sender::open(settings, &arguments.send, SignerRole::Wallet).await?;
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
    let asker = Asker::wallet(settings, &arguments.service, sender.keypair()?)?;
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

async fn list(keypair: &KeypairArgs, chain: &ChainArgs, output: OutputArgs, settings: &Settings) -> anyhow::Result<()> {
    let wallet = keypair.read(settings)?.pubkey();
    let market = Market::connect(settings, chain).await?;
    let mut disputes = market.disputes_by(&wallet).await?;
    for (agent, _) in market.agents_of(&wallet).await? {
        disputes.extend(market.disputes_about(&agent).await?);
    }
    disputes.sort_by_key(|(_, dispute)| std::cmp::Reverse(dispute.raised_at_unix_s));
    let cases = Case::of_all(&market, disputes).await;
    if output.json {
        let disputes: Vec<Value> = cases.iter().map(Case::as_json).collect();
        return output::json(&json!({"wallet": wallet.to_string(), "disputes": disputes}));
    }
    if cases.is_empty() {
        note!("There is no dispute that {wallet} raised, and none about its agents.");
        return Ok(());
    }
    let rows = cases.iter().map(|case| {
        let side = if case.dispute.raised_by == wallet { "caller" } else { "creator" };
        vec![
            case.id().to_string(),
            side.to_owned(),
            case.outcome().to_owned(),
            UsdcBase(case.execution.amount).to_string(),
            time(case.dispute.raised_at_unix_s),
            if case.dispute.answered_at_unix_s == 0 { "no" } else { "yes" }.to_owned(),
        ]
    });
    output::page(&table(&["execution", "you are", "status", "amount", "raised", "answered"], rows.collect()));
    Ok(())
}

async fn show(execution: ExecutionRef, read: &ReadArgs, settings: &Settings) -> anyhow::Result<()> {
    let market = Market::connect(settings, &read.chain).await?;
    // Only to find an execution of one's own by its id.
    let wallet = read.keypair.read(settings).map_or(Pubkey::default(), |key| key.pubkey());
    let case = Case::find(&market, execution, &wallet).await?;
    if read.output.json {
        return output::json(&case.as_json());
    }
    output::page(&pairs(&case.rows(market.now().await?)));
    let dispute = &case.dispute;
    print_document("evidence", dispute.evidence_uri(), dispute.evidence_hash, read, settings).await;
    if dispute.answered_at_unix_s != 0 {
        print_document("answer", dispute.answer_uri(), dispute.answer_hash, read, settings).await;
    }
    Ok(())
}

/// The text of a document whose bytes have the hash on chain; else why it cannot be shown.
async fn print_document(what: &str, uri: Option<&str>, hash: [u8; 32], read: &ReadArgs, settings: &Settings) -> () {
    let reading = async {
        let api = Api::of(settings, &read.service)?;
        content::read_uri(&api, uri.unwrap_or_default(), &ResultHash(hash)).await
    };
    match reading.await {
        Ok(bytes) => {
            say!("");
            say!("{what}:");
            output::page(&text_of(&bytes));
        }
        Err(error) => note!("crtx: the {what} cannot be shown: {error:#}"),
    }
}

/// The text of a document and the names of its files; its bytes as text where it has another form.
fn text_of(bytes: &[u8]) -> String {
    let document: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let Some(text) = document.get("text").and_then(Value::as_str) else {
        return quoted(&String::from_utf8_lossy(bytes));
    };
    let files = document.get("files").and_then(Value::as_array).into_iter().flatten();
    let names = files
        .filter_map(|file| file.get("name").and_then(Value::as_str))
        .map(|name| format!("\nfile: {}", printable(name)));
    format!("{}{}", quoted(text), names.collect::<String>())
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn the_text_of_strangers_is_shown_without_control_characters() {
        let document = br#"{"text": "one\ntwo\u001b[2J", "files": [{"name": "a.png"}]}"#;
        assert_eq!(text_of(document), "  | one\n  | two\u{fffd}[2J\nfile: a.png");
        assert_eq!(text_of(b"plain"), "plain");
    }
}
