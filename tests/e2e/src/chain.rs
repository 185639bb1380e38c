//! The chain of a running local network, and the keys of its roles.
#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "test support")]

use std::{path::Path, time::Duration};

use crtx_chain::{
    ChainClient, CommitmentConfig, Execution, FetchedAccount, Instructions, Layout, Outcome, SignedTransaction,
};
use crtx_protocol::address::Addresses;
use serde_json::Value;
use solana_instruction::Instruction;
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;
use solana_signer::Signer;

use crate::market::Market;

const PATIENCE: Duration = Duration::from_secs(20);

/// The chain of a local network, and the keys that lie in its data directory.
pub struct Chain {
    pub client: ChainClient,
    pub build: Instructions,
    pub admin: Keypair,
    pub resolver: Keypair,
    pub gateway: Keypair,
    pub treasury_owner: Keypair,
    pub insurance_owner: Keypair,
    pub creator: Keypair,
    pub wallet: Keypair,
}

impl Chain {
    pub fn of(market: &Market, data_dir: &Path) -> Self {
        let keys: Value = serde_json::from_slice(&std::fs::read(data_dir.join("keys.json")).unwrap()).unwrap();
        let key = |name: &str| {
            let seed = bs58::decode(keys[name].as_str().unwrap()).into_vec().unwrap();
            Keypair::new_from_array(seed.try_into().unwrap())
        };
        let info = &market.info;
        let addresses = Addresses::new(info.program_id.parse().unwrap());
        Self {
            client: ChainClient::new(&info.rpc_url, PATIENCE),
            build: Instructions::new(addresses, info.usdc_mint.parse().unwrap()),
            admin: key("admin"),
            resolver: key("resolver"),
            gateway: key("gateway_authority"),
            treasury_owner: key("treasury_owner"),
            insurance_owner: key("insurance_owner"),
            creator: key("creator"),
            wallet: key("wallet"),
        }
    }

    /// Sent with the admin as fee payer.
    pub async fn send(&self, instruction: Instruction, signers: &[&Keypair]) {
        let blockhash = self.client.recent_blockhash().await.unwrap();
        let all = [&[&self.admin], signers].concat();
        let transaction = SignedTransaction::sign(&[instruction], &all, blockhash).unwrap();
        let outcome = self.client.send_and_confirm(&transaction, PATIENCE).await;
        assert!(matches!(outcome, Outcome::Confirmed { .. }), "{outcome:?}");
    }

    /// The execution at this address.
    pub async fn execution(&self, record: &Pubkey) -> Execution {
        let account = self.client.account(record).await.unwrap().value;
        Execution::decode(&account.unwrap().data).unwrap()
    }

    pub fn record(&self, execution_id: &str) -> Pubkey {
        let id: [u8; 16] = uuid_bytes(execution_id);
        self.build.addresses.execution(&self.wallet.pubkey(), &id)
    }

    /// Waits until the worker has closed the record.
    pub async fn closed(&self, execution_id: &str) {
        let record = self.record(execution_id);
        for _ in 0..200 {
            if self.client.account(&record).await.unwrap().value.is_none() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        panic!("nobody closed the record of {execution_id}");
    }

    /// All accounts of the program.
    pub async fn accounts(&self) -> Vec<(Pubkey, FetchedAccount)> {
        let program = self.build.addresses.program_id();
        self.client.program_accounts(&program, &[], CommitmentConfig::confirmed()).await.unwrap().value
    }
}

fn uuid_bytes(text: &str) -> [u8; 16] {
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    u128::from_str_radix(&digits, 16).unwrap().to_be_bytes()
}
