//! A call that the wallet pays itself: it opens the execution on chain and hands the task to the service. An
//! interrupted run continues with the same idempotency key: the chain has one record for it.

use agent_marketplace::state::ExecutionRecord;
use anyhow::{Context, ensure};
use crtx_chain::{Execution, instructions::Opening};
use crtx_http::offload::{Offload, OffloadConfig};
use crtx_protocol::{execution_id, request_hash, usdc::UsdcBase};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use solana_pubkey::Pubkey;
use uuid::Uuid;

use super::{CallArgs, ExecuteArgs, show_opened};
use crate::{
    api::{Api, ApiAnswer},
    asker::Asker,
    output::{self, note},
    settings::{Settings, SignerRole},
    transaction::{Plan, Sender},
    waiting,
};

/// Returns the answer of the service; none with `--open-only`.
pub async fn run(
    arguments: &ExecuteArgs,
    call: &CallArgs,
    settings: &Settings,
) -> anyhow::Result<Option<(Asker, ApiAnswer)>> {
    let sender = Sender::open(settings, &arguments.send, SignerRole::Wallet).await?;
    let asker = Asker::wallet(settings, &arguments.api.service, sender.keypair()?)?;
    let id = execution_id::from_idempotency_key(&sender.wallet(), &call.idempotency_key);
    let record = sender.market.addresses().execution(&sender.wallet(), id.as_bytes());
    let hash = request_hash::of(&call.task, &call.parameters).context("the parameters cannot be hashed")?;
    match sender.market.find::<Execution>(&record).await? {
        Some(found) => check_is_this_call(&found, call, &hash)?,
        None if is_known(&asker, &id).await? => {
            note!("crtx: the execution of this idempotency key has ended and its record is closed; nothing is paid");
        }
        None => open(&asker.api, &sender, call, &id, hash).await?,
    }
    if arguments.open_only {
        show_opened(arguments, &opened(&sender, call, &id, &record).await?)?;
        return Ok(None);
    }
    let (path, body) = (format!("/v1/executions/{id}/dispatch"), call.body());
    let ask = || asker.send(asker.api.request(Method::POST, &path).json(&body));
    let go_on = || {
        format!(
            "execution {id} is paid into escrow; run the same command again with --idempotency-key {}, or get the money \
             back after the deadline: crtx refund {record}",
            call.idempotency_key
        )
    };
    let answer = waiting::until_answered("waiting for the agent", ask).await.with_context(go_on)?;
    if !answer.status.is_success() && sender.market.execution(&record).await.is_ok_and(|found| found.terms.is_some()) {
        note!("crtx: {}", go_on());
    }
    Ok(Some((asker, answer)))
}

/// Whether the service knows an execution of the wallet with this id. If its record is closed, the chain would let the
/// wallet open and pay it once more.
async fn is_known(asker: &Asker, id: &Uuid) -> anyhow::Result<bool> {
    let answer = asker.execution(id).await.context("nothing was charged")?;
    if answer.status == StatusCode::NOT_FOUND {
        return Ok(false);
    }
    answer.success().context("nothing was charged")?;
    Ok(true)
}

/// An earlier run opened a record with this key.
fn check_is_this_call(found: &Execution, call: &CallArgs, hash: &[u8; 32]) -> anyhow::Result<()> {
    ensure!(found.agent == call.agent, "the idempotency key was used for a call of the agent {}", found.agent);
    if let Some(terms) = &found.terms {
        ensure!(terms.request_hash == *hash, "the idempotency key was used for another task or other parameters");
    }
    note!("crtx: the execution was opened by an earlier run; it goes on");
    Ok(())
}

/// Parameters are checked before the call is paid; the program checks the rest.
async fn open(api: &Api, sender: &Sender, call: &CallArgs, id: &Uuid, hash: [u8; 32]) -> anyhow::Result<()> {
    let (market, wallet) = (&sender.market, sender.wallet());
    let listing = market.agent(&call.agent).await?;
    check_parameters(api, call).await?;
    let opening = Opening {
        agent: call.agent,
        execution_id: *id.as_bytes(),
        request_hash: hash,
        max_amount: listing.price,
        terms_hash: Some(listing.terms_hash(market.config.parameters.market_terms())),
        min_cover: listing.min_cover,
    };
    let seconds = i64::from(listing.timeout_seconds).saturating_add(market.config.parameters.settle_grace_s);
    let instruction = market.instructions.open_execution(&wallet, &wallet, &opening);
    let plan = Plan::new(format!("Pay for a call of the agent {}", call.agent), vec![instruction])
        .effect(format!(
            "The price goes to the creator if the agent delivers a signed result within {}; otherwise it comes back.",
            output::duration(seconds)
        ))
        .moves(listing.price, "your wallet", "the escrow of the agent")
        .creates("the execution record, which comes back when it is closed", ExecutionRecord::OPEN_SPACE);
    sender.send(plan).await?;
    Ok(())
}

/// The service refuses parameters that do not match the agent's schema, and the money would wait for the deadline.
async fn check_parameters(api: &Api, call: &CallArgs) -> anyhow::Result<()> {
    let path = format!("/v1/agents/{}", call.agent);
    let agent: Value = api.get(&path).await.context("nothing was charged")?;
    let schema = agent.get("input_schema").context("the service shows no input_schema of the agent")?.clone();
    let parameters = Value::Object(call.parameters.clone());
    // A schema of a stranger needs more stack than this thread has.
    let check = move || -> anyhow::Result<()> {
        let schema = crtx_schema::Schema::compile(&schema).context("the agent's input_schema is not accepted")?;
        schema.check(&parameters).context("the parameters do not match the agent's input_schema; nothing was charged")
    };
    let place = OffloadConfig { threads: 1, places: 1, stack_bytes: crtx_schema::limits::STACK_BYTES };
    let checked = Offload::start("schema", place)?.run(check).await;
    checked.context("the parameters could not be checked; nothing was charged")?
}

/// What a creator needs to answer without the service.
async fn opened(sender: &Sender, call: &CallArgs, id: &Uuid, record: &Pubkey) -> anyhow::Result<Value> {
    let execution = sender.market.execution(record).await?;
    let terms = execution.terms.context("the execution has ended already")?;
    Ok(json!({
        "execution_id": id,
        "execution_record": record.to_string(),
        "agent_id": call.agent.to_string(),
        "amount_usdc": UsdcBase(execution.amount),
        "deadline": output::json_time(terms.deadline_unix_s),
        "idempotency_key": call.idempotency_key,
        "request": {
            "execution_id": id,
            "task": call.task,
            "parameters": call.parameters,
            "user_pubkey": sender.wallet().to_string(),
            "timeout_seconds": terms.timeout_seconds,
            "execution_record": record.to_string(),
            "opened_at_unix_s": execution.opened_at_unix_s,
        },
    }))
}
