//! A wallet that pays by itself: it opens the execution on chain, and the service gets the task. The chain has one record
//! for an idempotency key, so a repeated call opens nothing.

use std::time::Duration;

use agent_marketplace::state::{AgentListed, Config};
use chrono::Utc;
use crtx_chain::{
    ChainClient, ChainError, Execution, Instructions, Layout, Outcome, SignedTransaction, Simulation,
    instructions::{Opening, Refund},
};
use crtx_protocol::{address::Addresses, cluster::Cluster, execution_id, result_hash::format_signature};
use crtx_schema::Schema;
use ed25519_dalek::SigningKey;
use reqwest::Method;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use solana_instruction::Instruction;
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;
use solana_signer::Signer;
use tokio::{sync::Mutex, time::Instant};
use uuid::Uuid;

use super::{
    client::{Attempts, Call, Client, Known, Payer},
    error::{Error, ErrorCode, Problem, invalid},
    http::{Broken, Reply, Request},
    sign_in::check_sign_in,
    types::AgentDetails,
};
use crate::{UsdcBase, deep_stack::on_a_deep_stack};

/// Their nodes prove by these hashes which network they belong to. Any other one is somebody's own.
const MAINNET: &str = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d";
const DEVNET: &str = "EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG";

pub struct Wallet {
    keypair: Keypair,
    /// Of the session at the service, once it signed in.
    token: Mutex<Option<String>>,
}

#[derive(Deserialize)]
struct Challenge {
    message: String,
}

#[derive(Deserialize)]
struct SignedIn {
    token: String,
}

impl Wallet {
    pub fn new(key: &SigningKey) -> Self {
        Self { keypair: Keypair::new_from_array(key.to_bytes()), token: Mutex::new(None) }
    }

    pub fn address(&self) -> Pubkey {
        self.keypair.pubkey()
    }
}

/// Nothing of the call was paid when it happens.
fn unread(error: ChainError) -> Error {
    Problem::ConnectionFailed(error.to_string()).into()
}

/// An account of the program.
async fn find<T: Layout>(node: &ChainClient, program: &Pubkey, address: &Pubkey) -> Result<Option<T>, Error> {
    let Some(account) = node.account(address).await.map_err(unread)?.value else { return Ok(None) };
    if account.owner != *program {
        return Err(invalid(format!("{address} is not an account of the marketplace")));
    }
    T::decode(&account.data).map(Some).map_err(invalid)
}

/// Whether the call is open, if the chain has a record of it. An error if the record is of another call.
async fn find_call(
    node: &ChainClient,
    program: &Pubkey,
    record: &Pubkey,
    known: &Known,
) -> Result<Option<bool>, Error> {
    let Some(found) = find::<Execution>(node, program, record).await? else { return Ok(None) };
    let is_other = found.terms.is_some_and(|terms| terms.request_hash != known.request_hash);
    if found.agent != known.agent || is_other {
        return Err(invalid("the idempotency key belongs to another call"));
    }
    Ok(Some(found.terms.is_some()))
}

impl Client {
    /// Sends with the token of the session, and once more with a new one if the service does not take it.
    pub(super) async fn send_in_session(
        &self,
        wallet: &Wallet,
        request: &Request<'_>,
        until: Instant,
    ) -> Result<Reply, Broken> {
        let kept = wallet.token.lock().await.clone();
        if let Some(token) = &kept {
            let reply = self.shared.http.send(request, Some(token), until).await?;
            if reply.status != 401 {
                return Ok(reply);
            }
        }
        let token = self.sign_in(wallet, kept.as_ref(), until).await?;
        self.shared.http.send(request, Some(&token), until).await
    }

    /// A new token, unless another request got one meanwhile.
    async fn sign_in(&self, wallet: &Wallet, refused: Option<&String>, until: Instant) -> Result<String, Broken> {
        let mut kept = wallet.token.lock().await;
        if let Some(newer) = kept.as_ref().filter(|kept| Some(*kept) != refused) {
            return Ok(newer.clone());
        }
        let failed = |reason: String| Broken { sent: false, reason: format!("the wallet cannot sign in: {reason}") };
        let node = self.own_node().await.ok_or_else(|| failed("it has no Solana node".to_owned()))?;
        let cluster = match node.genesis_hash().await.map_err(|error| failed(error.to_string()))?.as_str() {
            MAINNET => Cluster::Mainnet,
            DEVNET => Cluster::Devnet,
            _ => Cluster::Localnet,
        };
        let address = wallet.address();
        let challenge: Challenge =
            self.ask("/v1/sign-in/challenge", json!({"address": address.to_string()}), until).await?;
        check_sign_in(&challenge.message, &self.shared.http.base_url, &address, cluster, Utc::now())
            .map_err(|error| failed(error.to_string()))?;
        let signature = format_signature(wallet.keypair.sign_message(challenge.message.as_bytes()).as_array());
        let signed = json!({"message": challenge.message, "signature": signature, "session": "bearer"});
        let SignedIn { token } = self.ask("/v1/sign-in", signed, until).await?;
        *kept = Some(token.clone());
        Ok(token)
    }

    /// Nothing that is paid.
    async fn ask<T: DeserializeOwned>(&self, path: &str, body: Value, until: Instant) -> Result<T, Broken> {
        let body = body.to_string().into_bytes();
        let request = Request { method: Method::POST, path, body: Some(&body), idempotency_key: None };
        let failed = |reason: String| Broken { sent: false, reason: format!("{path}: {reason}") };
        let reply = self.shared.http.send(&request, None, until).await.map_err(|broken| failed(broken.reason))?;
        if !(200..300).contains(&reply.status) {
            return Err(failed(reply.refused().error.to_string()));
        }
        serde_json::from_slice(&reply.body).map_err(|_| failed("the answer is not one of the API".to_owned()))
    }

    /// Pays a call into escrow, unless an earlier attempt did. Returns the execution, and whether it is open.
    pub(super) async fn open(
        &self,
        wallet: &Wallet,
        call: &Call<'_>,
        attempts: &Attempts,
    ) -> Result<(Uuid, bool), Error> {
        let (node, program, caller) = (self.node(attempts).await?, self.options().program_id, wallet.address());
        let addresses = Addresses::new(program);
        let id = execution_id::from_idempotency_key(&caller, &call.known.key);
        let record = addresses.execution(&caller, id.as_bytes());
        if let Some(is_open) = find_call(node, &program, &record, &call.known).await? {
            return Ok((id, is_open));
        }
        // Its record may be closed: then it could be opened and paid once more.
        match self.execution(id, attempts.deadline).await {
            Ok(_) => return Ok((id, false)),
            Err(error) if error.code() == Some(ErrorCode::ExecutionNotFound) => {}
            Err(error) => return Err(error),
        }
        let no_account = |what: &str| invalid(format!("the chain has no {what}"));
        let config = find::<Config>(node, &program, &addresses.config()).await?;
        let config = config.ok_or_else(|| no_account("marketplace of this program"))?;
        let listing = find::<AgentListed>(node, &program, &call.known.agent).await?;
        let listing = listing.ok_or_else(|| no_account("agent at this address"))?;
        if let Some(max) = call.max_price.filter(|max| listing.price > max.0) {
            let price = UsdcBase(listing.price);
            return Err(invalid(format!(
                "the agent's price is {price} USDC, above `max_price` of {max}; nothing was signed"
            )));
        }
        self.check_parameters(call).await?;
        let opening = Opening {
            agent: call.known.agent,
            execution_id: *id.as_bytes(),
            request_hash: call.known.request_hash,
            max_amount: listing.price,
            terms_hash: Some(listing.terms_hash(config.parameters.market_terms())),
            min_cover: listing.min_cover,
        };
        let instructions = Instructions::new(addresses, config.usdc_mint);
        let open = instructions.open_execution(&caller, &caller, &opening);
        let Err(error) = self.sign_and_send(node, wallet, open, attempts.deadline).await else { return Ok((id, true)) };
        // Another process with the same key may have opened it meanwhile, and then the chain refuses this one.
        match find_call(node, &program, &record, &call.known).await {
            Ok(Some(is_open)) => Ok((id, is_open)),
            Ok(None) => Err(error.of_call(None, Some(id))),
            Err(_) => {
                let unknown = Problem::OutcomeUnknown(format!("it may be open already: {error}"));
                Err(Error::from(unknown).of_call(None, Some(id)))
            }
        }
    }

    /// The service refuses parameters that do not match the agent's schema, and the money would wait for the deadline.
    async fn check_parameters(&self, call: &Call<'_>) -> Result<(), Error> {
        let AgentDetails { input_schema, .. } = self.agents().get(&call.known.agent.to_string()).await?;
        let parameters = Value::Object(call.parameters.clone());
        let check = move || {
            let schema = Schema::compile(&input_schema).map_err(|error| error.to_string())?;
            schema.check(&parameters).map_err(|error| error.to_string())
        };
        let checked =
            tokio::task::spawn_blocking(|| on_a_deep_stack(check)).await.map_err(invalid)?.map_err(invalid)?;
        checked.map_err(|error| invalid(format!("the parameters do not match the agent's input_schema: {error}")))
    }

    /// Gets the price of an execution back whose deadline has passed. Only for a client with a wallet.
    pub async fn refund(&self, execution_id: Uuid) -> Result<(), Error> {
        let Payer::Wallet(wallet) = &self.shared.payer else { return Err(invalid("this client has no wallet")) };
        let attempts = self.attempts(None, None);
        let (node, program, caller) = (self.node(&attempts).await?, self.options().program_id, wallet.address());
        let addresses = Addresses::new(program);
        let record = addresses.execution(&caller, execution_id.as_bytes());
        let found = find::<Execution>(node, &program, &record).await?;
        let found = found.ok_or_else(|| invalid("the wallet has no such execution on chain"))?;
        let terms = found.terms.ok_or_else(|| invalid("the execution has ended already"))?;
        if node.unix_time().await.map_err(unread)?.is_none_or(|now| now <= terms.deadline_unix_s) {
            return Err(invalid(format!("the execution can be settled until second {}", terms.deadline_unix_s)));
        }
        let config = find::<Config>(node, &program, &addresses.config()).await?;
        let config = config.ok_or_else(|| invalid("the chain has no marketplace of this program"))?;
        let instructions = Instructions::new(addresses, config.usdc_mint);
        let refund = Refund {
            agent: found.agent,
            record,
            rent_payer: found.rent_payer,
            grant: found.grant(),
            refund_token: instructions.usdc_of(&caller),
        };
        let refund = instructions.refund_expired_execution(None, &refund);
        self.sign_and_send(node, wallet, refund, attempts.deadline).await
    }

    /// Signs nothing that the chain would refuse, and guesses no outcome.
    async fn sign_and_send(
        &self,
        node: &ChainClient,
        wallet: &Wallet,
        instruction: Instruction,
        deadline: Instant,
    ) -> Result<(), Error> {
        let blockhash = node.recent_blockhash().await.map_err(unread)?;
        let transaction = SignedTransaction::sign(&[instruction], &[&wallet.keypair], blockhash).map_err(invalid)?;
        if let Simulation::Refused(refused) = node.simulate(&transaction).await {
            return Err(Problem::ChainRefused(refused.error().to_string()).into());
        }
        let patience = deadline.saturating_duration_since(Instant::now()).max(Duration::from_secs(1));
        Err(match node.send_and_confirm(&transaction, patience).await {
            Outcome::Confirmed { .. } => return Ok(()),
            Outcome::Rejected { error, .. } => Problem::ChainRefused(error).into(),
            Outcome::Expired => Problem::ConnectionFailed("the transaction did not land, and never will".into()).into(),
            Outcome::Unknown => {
                Problem::OutcomeUnknown(format!("transaction {} is not confirmed", transaction.signature)).into()
            }
        })
    }
}
