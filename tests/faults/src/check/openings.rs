//! What the chain knows of a record from its opening. A record that ended does not hold its request and its grant any
//! more, so they are read from the transaction that opened it.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use agent_marketplace::{instruction::OpenExecutionWithGrant, instructions::OpenExecutionArgs};
use anchor_lang::{AnchorDeserialize, Discriminator};
use anyhow::{Context, Result};
use crtx_chain::{ChainClient, Execution};
use serde::Deserialize;
use serde_json::json;
use solana_pubkey::Pubkey;

/// Where the instruction names the grant and the record.
const GRANT_AT: usize = 3;
const RECORD_AT: usize = 7;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    pub request_hash: [u8; 32],
    pub grant: Pubkey,
}

/// The openings that were seen before.
#[derive(Default)]
pub struct Openings(Mutex<HashMap<Pubkey, Opening>>);

#[derive(Deserialize)]
struct Signature {
    signature: String,
    err: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Landed {
    transaction: Transaction,
}

#[derive(Deserialize)]
struct Transaction {
    message: Message,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    account_keys: Vec<String>,
    instructions: Vec<Instruction>,
}

#[derive(Deserialize)]
struct Instruction {
    accounts: Vec<usize>,
    /// Base58.
    data: String,
}

impl Openings {
    /// The opening of a record.
    pub async fn of(&self, chain: &ChainClient, address: &Pubkey, execution: &Execution) -> Result<Opening> {
        if let Some(terms) = &execution.terms {
            return Ok(Opening { request_hash: terms.request_hash, grant: terms.grant });
        }
        if let Some(known) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(address) {
            return Ok(*known);
        }
        let opening = read(chain, address).await.with_context(|| format!("the opening of {address}"))?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(*address, opening);
        Ok(opening)
    }
}

async fn read(chain: &ChainClient, address: &Pubkey) -> Result<Opening> {
    let about = json!([address.to_string(), {"commitment": "confirmed"}]);
    let about: Vec<Signature> = chain.request("getSignaturesForAddress", &about).await?;
    // Newest first: the opening is the last one.
    for found in about.iter().rev().filter(|found| found.err.is_none()) {
        let config = json!({"encoding": "json", "commitment": "confirmed", "maxSupportedTransactionVersion": 1});
        let landed: Landed = chain.request("getTransaction", &json!([found.signature, config])).await?;
        let message = landed.transaction.message;
        if let Some(opening) = message.instructions.iter().find_map(|one| opening(one, &message.account_keys, address))
        {
            return Ok(opening);
        }
    }
    anyhow::bail!("none of its {} transactions opened it", about.len())
}

/// The opening of the record at `address`, if the instruction is that.
fn opening(instruction: &Instruction, keys: &[String], address: &Pubkey) -> Option<Opening> {
    let key = |at: usize| keys.get(*instruction.accounts.get(at)?)?.parse::<Pubkey>().ok();
    let data = bs58::decode(&instruction.data).into_vec().ok()?;
    let mut body = data.strip_prefix(OpenExecutionWithGrant::DISCRIMINATOR)?;
    let args = OpenExecutionArgs::deserialize(&mut body).ok()?;
    let is_its = key(RECORD_AT)? == *address;
    is_its.then_some(Opening { request_hash: args.request_hash, grant: key(GRANT_AT)? })
}
