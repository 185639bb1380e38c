//! `crtx dispute answer`: the creator's side of a dispute.

use agent_marketplace::instructions::AnswerDisputeArgs;
use anyhow::bail;
use serde_json::json;

use super::statement::StatementArgs;
use crate::{
    api::Api,
    case::Case,
    done, evidence,
    output::time,
    session::SignedIn,
    settings::{Role, Settings},
    transaction::{Plan, Sender},
};

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
    let api = Api::of(settings, &arguments.service)?;
    let stored = evidence::store(&SignedIn::new(settings, &api, &sender.keypair), &document).await?;
    let args = AnswerDisputeArgs { answer_hash: stored.hash.0, answer_uri: stored.uri.clone() };
    let (agent, record) = (case.dispute.agent, case.dispute.execution);
    let instruction = sender.market.instructions.answer_dispute(&sender.wallet(), &agent, &record, args);
    let plan = Plan::new(format!("Answer the dispute about the execution {}", case.id()), vec![instruction])
        .effect(format!("The answer {} stands on chain and cannot be changed.", stored.uri))
        .effect("The resolver can decide from now on, before the 24 hours for an answer are over.");
    let sent = sender.send(plan).await?;
    let more = json!({
        "dispute": case.address.to_string(),
        "answer_hash": stored.hash.to_string(),
        "answer_uri": stored.uri,
    });
    done::say(arguments.output, &sent, "the dispute is answered", more)
}
