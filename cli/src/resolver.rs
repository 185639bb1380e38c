//! `crtx resolver`: the open disputes, and the decisions about them.

use agent_marketplace::{
    instructions::ResolveDisputeArgs,
    state::{AgentStatus, DisputeDecision},
};
use anyhow::bail;
use crtx_chain::instructions::Disputed;
use crtx_protocol::usdc::UsdcBase;
use serde_json::{Value, json};

use crate::{
    arguments::{ChainReadArgs, usdc},
    asker::Asker,
    case::{Case, outcome_name},
    dispute::StatementArgs,
    evidence::{self, Stored},
    market::Market,
    output::{self, duration, note, table, time},
    settings::{Settings, SignerRole},
    transaction::{Plan, Sender},
};

#[derive(Clone, Debug, clap::Subcommand)]
pub enum ResolverCommand {
    /// List open disputes, the one that is due next first
    #[command(after_help = "Example:\n  crtx resolver queue")]
    Queue(ChainReadArgs),
    /// Decide for the caller, and slash the collateral
    #[command(
        mut_arg("execution", named_by_dispute),
        after_help = "Example:\n  crtx resolver uphold 165cf497-1db5-4f5e-940b-57c2e3534dea --slash 0.05 --text 'It is empty.'"
    )]
    Uphold {
        /// USDC to take from the collateral: up to the amount paid it goes to the caller, the rest to the insurance
        #[arg(long, value_name = "USDC", value_parser = usdc)]
        slash: UsdcBase,
        #[command(flatten)]
        decision: StatementArgs,
    },
    /// Decide for the creator
    #[command(
        mut_arg("execution", named_by_dispute),
        after_help = "Example:\n  crtx resolver reject 165cf497-1db5-4f5e-940b-57c2e3534dea --text 'The result is right.'"
    )]
    Reject {
        /// The caller knew that the claim is false: the creator gets the bond
        #[arg(long)]
        abusive: bool,
        #[command(flatten)]
        decision: StatementArgs,
    },
}

fn named_by_dispute(execution: clap::Arg) -> clap::Arg {
    execution.help("Execution id, or address of the record or of the dispute")
}

pub async fn run(command: ResolverCommand, settings: &Settings) -> anyhow::Result<()> {
    match command {
        ResolverCommand::Queue(arguments) => queue(&arguments, settings).await,
        ResolverCommand::Uphold { slash, decision } => {
            decide(&decision, settings, DisputeDecision::Upheld, slash).await
        }
        ResolverCommand::Reject { abusive, decision } => {
            let rejected = if abusive { DisputeDecision::Abusive } else { DisputeDecision::Rejected };
            decide(&decision, settings, rejected, UsdcBase(0)).await
        }
    }
}

async fn queue(arguments: &ChainReadArgs, settings: &Settings) -> anyhow::Result<()> {
    let market = Market::connect(settings, &arguments.chain).await?;
    let now = market.now().await?;
    let mut cases = Case::of_all(&market, market.disputes().await?).await;
    cases.retain(Case::is_open);
    cases.sort_by_key(Case::respond_by);
    if arguments.output.json {
        let disputes: Vec<Value> = cases.iter().map(Case::as_json).collect();
        return output::json(&json!({"disputes": disputes}));
    }
    if cases.is_empty() {
        note!("No dispute is open.");
        return Ok(());
    }
    let rows = cases.iter().map(|case| {
        let wait = case.upholdable_from().saturating_sub(now);
        vec![
            case.id().to_string(),
            case.due(now),
            if case.dispute.answered_at_unix_s == 0 { "no" } else { "yes" }.to_owned(),
            if wait > 0 { format!("in {}", duration(wait)) } else { "now".to_owned() },
            UsdcBase(case.execution.amount).to_string(),
            UsdcBase(case.highest_slash()).to_string(),
            case.dispute.agent.to_string(),
        ]
    });
    let headings = ["execution", "respond by", "answered", "can be upheld", "paid", "highest slash", "agent"];
    output::page(&table(&headings, rows.collect()));
    Ok(())
}

/// `slash`: 0 unless upheld.
async fn decide(
    arguments: &StatementArgs,
    settings: &Settings,
    decision: DisputeDecision,
    slash: UsdcBase,
) -> anyhow::Result<()> {
    let document = arguments.evidence.read()?;
    let sender = Sender::open(settings, &arguments.send, SignerRole::Resolver).await?;
    let case = Case::find(&sender.market, arguments.execution, &sender.wallet()).await?;
    refuse_what_cannot_be(&sender, &case, decision, slash).await?;
    let asker = Asker::wallet(settings, &arguments.service, sender.keypair()?)?;
    let stored = evidence::store(&asker, &document).await?;
    let plan = plan(&sender, &case, decision, slash, &stored).await?;
    let name = outcome_name(Some(decision.outcome()));
    let more = json!({
        "dispute": case.address.to_string(),
        "execution_id": case.id(),
        "status": name,
        "slash_usdc": slash,
        "resolution_hash": stored.hash.to_string(),
        "resolution_uri": stored.uri,
    });
    sender.finish(plan, &format!("the dispute is {name}; the reasons are {}", stored.uri), more).await
}

/// The program refuses the same. This check comes before the reasons are stored.
async fn refuse_what_cannot_be(
    sender: &Sender,
    case: &Case,
    decision: DisputeDecision,
    slash: UsdcBase,
) -> anyhow::Result<()> {
    let resolver = sender.market.config.resolver;
    if resolver != sender.wallet() {
        bail!("only the resolver {resolver} decides disputes; name its key pair with --keypair");
    }
    if !case.is_open() {
        bail!("the dispute is {} since {}", case.outcome(), time(case.dispute.resolved_at_unix_s));
    }
    if case.dispute.raised_by == sender.wallet() {
        bail!("you raised this dispute yourself, and nobody decides about the own claim");
    }
    if decision != DisputeDecision::Upheld {
        return Ok(());
    }
    let now = sender.market.now().await?;
    let wait = case.upholdable_from().saturating_sub(now);
    if wait > 0 {
        bail!(
            "the creator can still answer until {}; the dispute can be upheld in {}",
            time(case.upholdable_from()),
            duration(wait)
        );
    }
    let highest = UsdcBase(case.highest_slash());
    if slash > highest {
        bail!("the slash of {slash} USDC is above the highest one for this call, which is {highest} USDC");
    }
    Ok(())
}

async fn plan(
    sender: &Sender,
    case: &Case,
    decision: DisputeDecision,
    UsdcBase(slash): UsdcBase,
    stored: &Stored,
) -> anyhow::Result<Plan> {
    let market = &sender.market;
    let (resolution_hash, resolution_uri) = (stored.hash.0, stored.uri.clone());
    let args = ResolveDisputeArgs { decision, slash, resolution_hash, resolution_uri };
    let (caller, creator) = (case.execution.caller, case.agent.creator);
    let disputed = Disputed { agent: case.dispute.agent, record: case.dispute.execution, caller, creator };
    let insurance = market.config.insurance_owner;
    let resolve = market.instructions.resolve_dispute(&sender.wallet(), &disputed, &insurance, args);
    let (verb, bond_to, account) = match decision {
        DisputeDecision::Upheld => ("Uphold", &caller, "the caller's USDC account"),
        DisputeDecision::Rejected => ("Reject", &caller, "the caller's USDC account"),
        DisputeDecision::Abusive => ("Reject as abusive", &creator, "the creator's USDC account"),
    };
    let plan = Plan::new(format!("{verb} the dispute about the execution {}", case.id()), vec![resolve])
        .effect(format!("The decision is final. Its reasons are {}.", stored.uri))
        .moves(case.dispute.bond, "the escrow of the agent (bond)", bond_to.to_string());
    let pays = case.dispute.bond > 0 || slash > 0;
    let plan = if pays { sender.with_usdc_account(plan, bond_to, account).await? } else { plan };
    match decision {
        DisputeDecision::Upheld => upheld(sender, plan, case, slash).await,
        _ => Ok(plan.effect("The execution stays completed; the creator keeps the price and the collateral.")),
    }
}

/// What a slash means for both sides.
async fn upheld(sender: &Sender, plan: Plan, case: &Case, slash: u64) -> anyhow::Result<Plan> {
    let market = &sender.market;
    let compensation = slash.min(case.execution.amount);
    let penalty = slash.saturating_sub(compensation);
    let left = case.agent.collateral.saturating_sub(slash);
    let required = market.config.parameters.required_collateral(case.agent.price, case.agent.min_cover);
    let collateral = format!("the collateral of the agent {}", case.dispute.agent);
    let mut plan = plan
        .effect("The execution counts as overturned, and no longer as successful.")
        .effect(format!("The agent keeps {} USDC of collateral.", UsdcBase(left)))
        .moves(compensation, &collateral, format!("the caller {}", case.execution.caller))
        .moves(penalty, collateral, "the insurance (penalty)");
    if case.agent.status() == Some(AgentStatus::Active) && left < required {
        plan = plan.effect(format!(
            "That is less than the {} USDC that it needs, so it is paused until the creator adds collateral.",
            UsdcBase(required)
        ));
    }
    if penalty > 0 {
        plan = sender.with_usdc_account(plan, &market.config.insurance_owner, "the insurance's USDC account").await?;
    }
    Ok(plan)
}
