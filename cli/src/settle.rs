//! `crtx settle`: puts a signed result on chain as creator or caller. No gateway takes part.

use std::path::PathBuf;

use agent_marketplace::state::{AgentListed, ExecutionStatus};
use anyhow::{Context, bail};
use crtx_chain::{Execution, instructions::Settlement};
use crtx_protocol::{
    call_text::OpeningId,
    result_hash::{CallProof, ResultHash, parse_signature},
    usdc::UsdcBase,
};
use serde::Deserialize;
use serde_json::json;
use solana_pubkey::Pubkey;

use crate::{
    api::Api,
    arguments::{SendArgs, ServiceArgs, read_input},
    content,
    execution_ref::ExecutionRef,
    output::{note, time},
    settings::{Settings, SignerRole},
    transaction::{Plan, Sender},
    usage::UsageError,
};

/// Longer than the longest answer that the gateway takes: the result may have one MiB, twice that with escapes.
const MAX_ANSWER_BYTES: u64 = 16 * 1024 * 1024;
const MS_PER_S: u64 = 1_000;

#[derive(Clone, Debug, clap::Args)]
pub struct SettleArgs {
    /// Execution id, or address of the record
    #[arg(value_name = "EXECUTION")]
    execution: ExecutionRef,
    /// File with the JSON answer of the creator's service; `-` reads it from standard input
    #[arg(long, value_name = "FILE", required_unless_present = "result")]
    answer: Option<PathBuf>,
    /// File with the result alone, instead of --answer
    #[arg(long, value_name = "FILE", conflicts_with = "answer", requires = "signature")]
    result: Option<PathBuf>,
    /// Signature over the hash of the result (`ed25519:…`)
    #[arg(long, value_name = "SIGNATURE", conflicts_with = "answer")]
    signature: Option<String>,
    /// Signature over the call, if the agent is binding (`ed25519:…`)
    #[arg(long, value_name = "SIGNATURE", conflicts_with = "answer")]
    call_signature: Option<String>,
    /// Tokens that the creator used
    #[arg(long, value_name = "N", conflicts_with = "answer")]
    tokens_used: Option<u64>,
    /// How long the execution took in milliseconds [default: since its opening]
    #[arg(long, value_name = "MS")]
    execution_time_ms: Option<u64>,
    /// Do not give the result to the service
    #[arg(long)]
    no_publish: bool,
    #[command(flatten)]
    service: ServiceArgs,
    #[command(flatten)]
    send: SendArgs,
}

/// The members of a creator's answer that a settlement needs. Others are skipped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
struct CreatorAnswer {
    execution_id: Option<String>,
    status: Option<String>,
    result: Option<String>,
    result_hash: Option<String>,
    signature: Option<String>,
    call_signature: Option<String>,
    tokens_used: Option<u64>,
}

/// A result with its proof.
struct Proven {
    result: Vec<u8>,
    hash: ResultHash,
    proof: CallProof,
    tokens_used: Option<u64>,
}

pub async fn run(arguments: SettleArgs, settings: &Settings) -> anyhow::Result<()> {
    let proven = read_answer(&arguments)?.proven()?;
    let sender = Sender::open(settings, &arguments.send, SignerRole::Wallet).await?;
    let (record, execution) = arguments.execution.find(&sender.market, &sender.wallet()).await?;
    let more = json!({
        "record": record.to_string(),
        "result_hash": proven.hash.to_string(),
        "amount_usdc": UsdcBase(execution.amount),
    });
    if is_settled_with(&execution, &proven.hash)? {
        publish(&arguments, settings, &proven).await;
        return sender.nothing_to_do("the execution is settled with this result already", more);
    }
    let agent = sender.market.agent(&execution.agent).await?;
    let plan = plan(&arguments, &sender, &record, &execution, &agent, &proven).await?;
    let sent = sender.send(plan).await?;
    publish(&arguments, settings, &proven).await;
    sender.say(Some(sent), &format!("execution {record} is settled with {}", proven.hash), more)
}

fn read_answer(arguments: &SettleArgs) -> anyhow::Result<CreatorAnswer> {
    if let Some(path) = &arguments.result {
        let result = String::from_utf8(read_input(path, MAX_ANSWER_BYTES)?).context("the result is not UTF-8 text")?;
        return Ok(CreatorAnswer {
            result: Some(result),
            signature: arguments.signature.clone(),
            call_signature: arguments.call_signature.clone(),
            tokens_used: arguments.tokens_used,
            ..CreatorAnswer::default()
        });
    }
    let path = arguments.answer.as_ref().context("no answer")?;
    let answer: CreatorAnswer = serde_json::from_slice(&read_input(path, MAX_ANSWER_BYTES)?)
        .with_context(|| format!("{} is not the answer of a creator's service", path.display()))?;
    if let (Some(named), ExecutionRef::Id(id)) = (&answer.execution_id, arguments.execution)
        && *named != id.to_string()
    {
        return Err(UsageError::new(format!("The answer is for execution {named}, not for {id}.")).into());
    }
    Ok(answer)
}

impl CreatorAnswer {
    /// Checks the forms; the signatures are checked against the record.
    fn proven(self) -> anyhow::Result<Proven> {
        if self.status.as_deref().is_some_and(|status| status != "completed") {
            bail!("the answer reports a failure, so there is nothing to settle");
        }
        let result = self.result.context("the answer has no `result`")?.into_bytes();
        let hash = ResultHash::of(&result);
        if let Some(stated) = &self.result_hash
            && stated.parse() != Ok(hash)
        {
            bail!("`result_hash` of the answer is not the SHA-256 of its `result`, which is {hash}");
        }
        let signature = parse_signature(&self.signature.context("the answer has no `signature`")?)?;
        let call_signature = self.call_signature.as_deref().map(parse_signature).transpose();
        let call_signature = call_signature.context("call_signature")?;
        Ok(Proven { result, hash, proof: CallProof { signature, call_signature }, tokens_used: self.tokens_used })
    }
}

/// Whether this very settlement happened before.
fn is_settled_with(execution: &Execution, hash: &ResultHash) -> anyhow::Result<bool> {
    match execution.status() {
        Some(ExecutionStatus::Open) => Ok(false),
        Some(ExecutionStatus::Completed) if execution.result_hash == hash.0 => Ok(true),
        Some(ExecutionStatus::Failed | ExecutionStatus::Expired) => {
            bail!("the execution was refunded and cannot be settled any more")
        }
        _ => bail!("the execution is settled with another result: {}", ResultHash(execution.result_hash)),
    }
}

async fn plan(
    arguments: &SettleArgs,
    sender: &Sender,
    record: &Pubkey,
    execution: &Execution,
    agent: &AgentListed,
    proven: &Proven,
) -> anyhow::Result<Plan> {
    let (wallet, market) = (sender.wallet(), &sender.market);
    if wallet != agent.creator && wallet != execution.caller {
        bail!(
            "only the creator {} and the caller {} settle this execution; name their key pair with --keypair",
            agent.creator,
            execution.caller
        );
    }
    let terms = execution.terms.context("the record has no terms")?;
    let now = market.now().await?;
    if now > terms.deadline_unix_s {
        bail!("the deadline passed at {}; the execution can only be refunded", time(terms.deadline_unix_s));
    }
    let binding = execution.binding == 1;
    let opening = OpeningId { record: record.to_bytes(), opened_at_unix_s: execution.opened_at_unix_s };
    let bound_to = binding.then_some(opening);
    proven.proof.verify(terms.result_key.as_array(), &proven.hash, bound_to.as_ref()).context("nothing was sent")?;
    let signature = if binding { proven.proof.call_signature } else { Some(proven.proof.signature) };
    let since_opening = u64::try_from(now.saturating_sub(execution.opened_at_unix_s)).unwrap_or(0);
    let settlement = Settlement {
        agent: execution.agent,
        opening,
        rent_payer: execution.rent_payer,
        creator_token: market.instructions.usdc_of(&agent.creator),
        treasury_token: market.instructions.usdc_of(&market.config.treasury_owner),
        result_key: terms.result_key,
        result_hash: proven.hash,
        binding,
        signature: signature.context("no signature for the call")?,
        execution_time_ms: arguments.execution_time_ms.unwrap_or(since_opening.saturating_mul(MS_PER_S)),
        tokens_used: proven.tokens_used,
    };
    let split = execution.split().context("the amount of the record does not split")?;
    let complete = market.instructions.complete_execution(&wallet, &settlement);
    let plan = Plan::new(format!("Settle the execution {record}"), complete.to_vec())
        .effect(format!("The result {} counts as delivered.", proven.hash))
        .effect(if wallet == execution.caller {
            "A call that its caller settles cannot be disputed."
        } else {
            "The caller can dispute the result until the dispute window ends."
        })
        .moves(split.creator, "the escrow of the agent", format!("the creator {}", agent.creator))
        .moves(split.platform, "the escrow of the agent", "the treasury");
    let plan = sender.with_usdc_account(plan, &agent.creator, "the creator's USDC account").await?;
    let treasury = &market.config.treasury_owner;
    sender.with_usdc_account(plan, treasury, "the treasury's USDC account").await
}

/// Gives the result to the service. The settlement is on chain already, so a failure is a warning that says what to do.
async fn publish(arguments: &SettleArgs, settings: &Settings, proven: &Proven) {
    if arguments.no_publish {
        return;
    }
    let published = async { content::publish(&Api::of(settings, &arguments.service)?, &proven.result).await };
    if let Err(error) = crate::progress::during("giving the result to the service", published).await {
        note!(
            "crtx: warning: the result is settled, and the service does not have it yet: {error:#}; run the same \
             command again when the service answers"
        );
    }
}

#[cfg(test)]
mod tests {
    use crtx_protocol::result_hash::format_signature;
    use ed25519_dalek::SigningKey;

    use super::*;

    fn answer() -> CreatorAnswer {
        let hash = ResultHash::of(b"result");
        let proof = CallProof::sign(
            &SigningKey::from_bytes(&[7; 32]),
            &OpeningId { record: [1; 32], opened_at_unix_s: 1 },
            &hash,
        );
        CreatorAnswer {
            execution_id: None,
            status: Some("completed".to_owned()),
            result: Some("result".to_owned()),
            result_hash: Some(hash.to_string()),
            signature: Some(format_signature(&proof.signature)),
            call_signature: proof.call_signature.map(|signature| format_signature(&signature)),
            tokens_used: Some(3),
        }
    }

    #[test]
    fn a_complete_answer_proves_its_result() {
        let proven = answer().proven().expect("proven");
        assert_eq!((proven.hash, proven.tokens_used), (ResultHash::of(b"result"), Some(3)));
        assert!(proven.proof.call_signature.is_some());
    }

    #[test]
    fn an_answer_that_proves_nothing_is_refused_with_the_reason() {
        type Spoil = fn(&mut CreatorAnswer);
        let cases: [(Spoil, &str); 5] = [
            (|answer| answer.status = Some("failed".to_owned()), "failure"),
            (|answer| answer.result = None, "`result`"),
            (|answer| answer.result_hash = Some(ResultHash::of(b"x").to_string()), "result_hash"),
            (|answer| answer.signature = None, "`signature`"),
            (|answer| answer.call_signature = Some("x".to_owned()), "call_signature"),
        ];
        for (spoil, says) in cases {
            let mut spoilt = answer();
            spoil(&mut spoilt);
            let error = format!("{:#}", spoilt.proven().err().expect("refused"));
            assert!(error.contains(says), "{error}");
        }
    }
}
