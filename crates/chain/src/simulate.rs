//! Simulates a signed transaction before a fee is paid for it.
//!
//! Only a verdict that would be the same on any up-to-date node counts. Any other answer (the node does not answer,
//! lags behind, or does not know the blockhash yet) says nothing about the transaction.

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use serde_json::json;
use solana_commitment_config::CommitmentConfig;
use solana_rpc_client_api::{
    config::RpcSimulateTransactionConfig,
    response::{Response, RpcSimulateTransactionResult},
};
use solana_transaction_error::TransactionError;
use solana_transaction_status_client_types::UiTransactionEncoding;

use crate::{rpc::ChainClient, transaction::SignedTransaction};

/// Error numbers of the framework start here.
const PROGRAM_ERRORS: u32 = 6_000;

/// Outcome of a simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Simulation {
    /// It would succeed in the current state.
    Passes,
    /// It would land, fail and cost its fee.
    Refused(Refused),
    /// The outcome is unknown. This is not a refusal.
    Unknown,
}

/// Why the chain would refuse a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The payer cannot pay the fee or the rent.
    Payer(TransactionError),
    /// An instruction fails.
    Instruction(TransactionError),
}

impl Refused {
    /// Number of the program's error, as in `MarketplaceError`.
    pub fn program_error(&self) -> Option<u32> {
        self.custom()?.checked_sub(PROGRAM_ERRORS)
    }

    /// The token program's "insufficient funds": balance or approval. The system program's error about rent has the
    /// same number, but no caller can cause it.
    pub fn is_short_of_funds(&self) -> bool {
        self.custom() == Some(1)
    }

    fn custom(&self) -> Option<u32> {
        use solana_instruction::error::InstructionError;
        match self {
            Self::Instruction(TransactionError::InstructionError(_, InstructionError::Custom(code))) => Some(*code),
            Self::Instruction(_) | Self::Payer(_) => None,
        }
    }

    pub fn error(&self) -> &TransactionError {
        match self {
            Self::Payer(error) | Self::Instruction(error) => error,
        }
    }
}

impl ChainClient {
    /// Runs `transaction` on a node, at `confirmed`, without effect. The signatures are not sent, because a node must
    /// not be able to send a transaction that is not stored yet. Takes at most the client's time-out.
    pub async fn simulate(&self, transaction: &SignedTransaction) -> Simulation {
        let config = RpcSimulateTransactionConfig {
            sig_verify: false,
            replace_recent_blockhash: false,
            commitment: Some(CommitmentConfig::confirmed()),
            encoding: Some(UiTransactionEncoding::Base64),
            ..RpcSimulateTransactionConfig::default()
        };
        let params = json!([BASE64.encode(transaction.without_signatures()), config]);
        let answer: Result<Response<RpcSimulateTransactionResult>, _> =
            self.request("simulateTransaction", &params).await;
        match answer {
            Ok(answer) => answer.value.err.map_or(Simulation::Passes, |error| verdict(error.into())),
            Err(error) => {
                tracing::debug!(signature = %transaction.signature, %error, "the simulation did not answer");
                Simulation::Unknown
            }
        }
    }
}

fn verdict(error: TransactionError) -> Simulation {
    match error {
        TransactionError::InstructionError(..) => Simulation::Refused(Refused::Instruction(error)),
        TransactionError::AccountNotFound
        | TransactionError::InsufficientFundsForFee
        | TransactionError::InvalidAccountForFee
        | TransactionError::InsufficientFundsForRent { .. } => Simulation::Refused(Refused::Payer(error)),
        // The node is behind or busy, or the transaction has landed already.
        _ => {
            tracing::debug!(%error, "the simulation says nothing about the transaction");
            Simulation::Unknown
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use solana_instruction::{AccountMeta, Instruction, error::InstructionError};
    use solana_keypair::Keypair;
    use solana_pubkey::Pubkey;
    use solana_signer::Signer;

    use super::*;
    use crate::testing::FakeRpc;

    async fn simulate(script: impl FnOnce(&FakeRpc)) -> Simulation {
        let node = FakeRpc::start().await;
        let client = ChainClient::new(node.url(), Duration::from_secs(5));
        let key = Keypair::new_from_array([1; 32]);
        let accounts = vec![AccountMeta::new(key.pubkey(), true)];
        let instruction = Instruction { program_id: Pubkey::new_from_array([5; 32]), accounts, data: vec![] };
        let blockhash = client.recent_blockhash().await.expect("blockhash");
        let transaction = SignedTransaction::sign(&[instruction], &[&key], blockhash).expect("signs");
        script(&node);
        let simulation = client.simulate(&transaction).await;
        assert!(node.script().sent.is_empty(), "a simulation sends nothing");
        simulation
    }

    #[tokio::test]
    async fn a_transaction_that_would_land_passes() {
        assert_eq!(simulate(|_| {}).await, Simulation::Passes);
    }

    #[tokio::test]
    async fn an_instruction_that_would_fail_is_a_refusal_with_the_programs_number() {
        let simulation =
            simulate(|node| node.script().simulation = Some(json!({"InstructionError": [1, {"Custom": 6205}]}))).await;
        let Simulation::Refused(refused) = simulation else { panic!("{simulation:?}") };
        assert_eq!((refused.program_error(), refused.is_short_of_funds()), (Some(205), false));
        let expected = TransactionError::InstructionError(1, InstructionError::Custom(6_205));
        assert_eq!(refused.error(), &expected);
    }

    #[tokio::test]
    async fn too_little_usdc_and_too_little_sol_are_different_refusals() {
        let usdc =
            simulate(|node| node.script().simulation = Some(json!({"InstructionError": [1, {"Custom": 1}]}))).await;
        assert!(matches!(&usdc, Simulation::Refused(refused) if refused.is_short_of_funds()), "{usdc:?}");
        let sol = simulate(|node| node.script().simulation = Some(json!("InsufficientFundsForFee"))).await;
        assert!(matches!(sol, Simulation::Refused(Refused::Payer(_))), "{sol:?}");
    }

    #[tokio::test]
    async fn a_node_that_lags_or_does_not_answer_refuses_nothing() {
        assert_eq!(
            simulate(|node| node.script().simulation = Some(json!("BlockhashNotFound"))).await,
            Simulation::Unknown
        );
        assert_eq!(simulate(|node| node.script().out_of_order = true).await, Simulation::Unknown);
    }
}
