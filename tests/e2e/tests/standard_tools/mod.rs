//! The tools that everybody has, with nothing but the published IDL: `anchor-client` lists, opens, settles and refunds, and
//! `anchor-lang` reads the accounts. Each instruction is, byte for byte, the one that this project builds.
#![allow(unexpected_cfgs, reason = "the macro's code asks for settings of programs")]

use std::sync::Arc;

use ::agent_marketplace::instructions as ours;
use anchor_client::{
    Client, Cluster, CommitmentConfig, Program,
    anchor_lang::{self, AccountDeserialize},
};
use crtx_chain::{
    Instructions,
    instructions::{Opening, Refund, Settlement},
    token::TOKEN_PROGRAM_ID,
};
use crtx_e2e::Info;
use crtx_protocol::{
    address::Addresses,
    call_text::OpeningId,
    result_hash::{CallProof, ResultHash},
};
use ed25519_dalek::SigningKey;
use solana_instruction::Instruction;
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;
use solana_signer::Signer;

use self::agent_marketplace::{
    accounts::{AgentListed, Config, ExecutionRecord},
    client::{accounts, args},
    types,
};

anchor_lang::declare_program!(agent_marketplace);

/// The IDL says of accounts alone that their bytes are those in memory. These two are parts of accounts, and of arguments and
/// events as well, which are borsh.
mod parts {
    #![allow(unsafe_code, reason = "plain numbers in the order of the IDL, without padding: the IDL names `repr(C)`")]

    use super::types::{ClosedAgents, CollateralTier, MarketParameters};

    unsafe impl bytemuck::Zeroable for ClosedAgents {}
    unsafe impl bytemuck::Pod for ClosedAgents {}
    unsafe impl bytemuck::Zeroable for CollateralTier {}
    unsafe impl bytemuck::Pod for CollateralTier {}
    unsafe impl bytemuck::Zeroable for MarketParameters {}
    unsafe impl bytemuck::Pod for MarketParameters {}
}

const PRICE: u64 = 10_000;
const INSTRUCTIONS_SYSVAR: Pubkey = Pubkey::from_str_const("Sysvar1nstructions1111111111111111111111111");
/// A record without the terms that follow it while it is open.
const RECORD_BYTES: usize = 208;

/// A creator and a caller with SOL and USDC.
pub struct Tools {
    creator: Program<Arc<Keypair>>,
    caller: Program<Arc<Keypair>>,
    result_key: SigningKey,
    build: Instructions,
    agent: Pubkey,
}

impl Tools {
    pub fn new(info: &Info, creator: Keypair, caller: Keypair) -> Self {
        let program_id = info.program_id.parse().unwrap();
        let program = |payer: Arc<Keypair>| {
            let cluster = Cluster::Custom(info.rpc_url.clone(), info.ws_url.clone());
            Client::new_with_options(cluster, payer, CommitmentConfig::confirmed()).program(program_id).unwrap()
        };
        let build = Instructions::new(Addresses::new(program_id), info.usdc_mint.parse().unwrap());
        Self {
            agent: build.addresses.agent(&creator.pubkey(), 0),
            creator: program(Arc::new(creator)),
            caller: program(Arc::new(caller)),
            result_key: SigningKey::from_bytes(&[9; 32]),
            build,
        }
    }

    fn result_key(&self) -> Pubkey {
        Pubkey::new_from_array(self.result_key.verifying_key().to_bytes())
    }

    /// A profile and an agent, which is read back.
    pub fn list(&self) {
        let (creator, addresses) = (self.creator.payer(), &self.build.addresses);
        let config: Config = self.creator.account(addresses.config()).unwrap();
        assert_eq!((config.usdc_mint, config.openings_paused), (self.build.usdc_mint, 0));
        let tiers = config.parameters.collateral_tiers;
        let collateral = tiers.iter().find(|tier| tier.max_price >= PRICE).expect("a tier").collateral;
        let profile = self.creator.request().accounts(accounts::UpsertCreatorProfile {
            wallet: creator,
            profile: addresses.creator_profile(&creator),
            system_program: Pubkey::default(),
        });
        let name = types::UpsertCreatorProfileArgs { display_name: "anchor".to_owned() };
        let profile = profile.args(args::UpsertCreatorProfile { args: name });
        assert_eq!(profile.instructions(), [self.build.upsert_creator_profile(&creator, "anchor")]);
        profile.send().unwrap();

        let event_authority = Pubkey::find_program_address(&[b"__event_authority"], &self.creator.id()).0;
        let list = self.creator.request().accounts(accounts::ListAgent {
            creator,
            config: addresses.config(),
            profile: addresses.creator_profile(&creator),
            agent: self.agent,
            escrow: addresses.escrow(&self.agent),
            collateral_vault: addresses.collateral(&self.agent),
            creator_token: self.build.usdc_of(&creator),
            usdc_mint: self.build.usdc_mint,
            token_program: TOKEN_PROGRAM_ID,
            system_program: Pubkey::default(),
            event_authority,
            program: self.creator.id(),
        });
        let (metadata_hash, metadata_uri) = ([5; 32], "ipfs://nothing".to_owned());
        let list = list.args(args::ListAgent {
            args: types::ListAgentArgs {
                index: 0,
                result_key: self.result_key(),
                price: PRICE,
                timeout_seconds: 5,
                binding: true,
                min_cover: 0,
                collateral,
                metadata_hash,
                metadata_uri: metadata_uri.clone(),
            },
        });
        let built = ours::ListAgentArgs {
            index: 0,
            result_key: self.result_key(),
            price: PRICE,
            timeout_seconds: 5,
            binding: true,
            min_cover: 0,
            collateral,
            metadata_hash,
            metadata_uri,
        };
        assert_eq!(list.instructions(), [self.build.list_agent(&creator, built)]);
        list.send().unwrap();
        let listed: AgentListed = self.creator.account(self.agent).unwrap();
        assert_eq!((listed.creator, listed.result_key, listed.price), (creator, self.result_key(), PRICE));
        assert_eq!((listed.collateral, listed.open_executions, listed.binding), (collateral, 0, 1));
    }

    /// Opens an execution. Returns its record.
    pub fn open(&self, number: u8) -> Pubkey {
        let (caller, addresses) = (self.caller.payer(), &self.build.addresses);
        let record = addresses.execution(&caller, &[number; 16]);
        let open = self.caller.request().accounts(accounts::OpenExecution {
            caller,
            payer: caller,
            config: addresses.config(),
            agent: self.agent,
            record,
            caller_token: self.build.usdc_of(&caller),
            escrow: addresses.escrow(&self.agent),
            usdc_mint: self.build.usdc_mint,
            token_program: TOKEN_PROGRAM_ID,
            system_program: Pubkey::default(),
        });
        let (execution_id, request_hash, max_amount) = ([number; 16], [3; 32], PRICE);
        let asked = types::OpenExecutionArgs { execution_id, request_hash, max_amount, terms_hash: None, min_cover: 0 };
        let open = open.args(args::OpenExecution { args: asked });
        let built =
            Opening { agent: self.agent, execution_id, request_hash, max_amount, terms_hash: None, min_cover: 0 };
        assert_eq!(open.instructions(), [self.build.open_execution(&caller, &caller, &built)]);
        open.send().unwrap();
        let opened = self.record(&record);
        assert_eq!((opened.agent, opened.caller, opened.amount, opened.status), (self.agent, caller, PRICE, 1));
        record
    }

    fn record(&self, address: &Pubkey) -> ExecutionRecord {
        let data = self.caller.rpc().get_account_data(address).unwrap();
        ExecutionRecord::try_deserialize(&mut &data[..RECORD_BYTES]).unwrap()
    }

    /// The creator settles with a signed result, without any service.
    pub fn settle(&self, record: Pubkey) {
        let (creator, addresses) = (self.creator.payer(), &self.build.addresses);
        let config: Config = self.creator.account(addresses.config()).unwrap();
        let opened = self.record(&record);
        let opening = OpeningId { record: record.to_bytes(), opened_at_unix_s: opened.opened_at_unix_s };
        let hash = ResultHash::of(b"a result");
        let settlement = Settlement {
            agent: self.agent,
            opening,
            rent_payer: opened.rent_payer,
            creator_token: self.build.usdc_of(&creator),
            treasury_token: self.build.usdc_of(&config.treasury_owner),
            result_key: self.result_key(),
            result_hash: hash,
            binding: true,
            signature: CallProof::sign(&self.result_key, &opening, &hash).call_signature.unwrap(),
            execution_time_ms: 7,
            tokens_used: Some(8),
        };
        let [proof, built]: [Instruction; 2] = self.build.complete_execution(&creator, &settlement);
        let settle = self.creator.request().instruction(proof.clone()).accounts(accounts::CompleteExecution {
            authority: creator,
            config: addresses.config(),
            agent: self.agent,
            record,
            rent_payer: opened.rent_payer,
            escrow: addresses.escrow(&self.agent),
            creator_token: settlement.creator_token,
            treasury_token: settlement.treasury_token,
            usdc_mint: self.build.usdc_mint,
            instructions_sysvar: INSTRUCTIONS_SYSVAR,
            token_program: TOKEN_PROGRAM_ID,
        });
        let done = types::CompleteExecutionArgs { result_hash: hash.0, execution_time_ms: 7, tokens_used: Some(8) };
        let settle = settle.args(args::CompleteExecution { args: done });
        assert_eq!(settle.instructions(), [proof, built]);
        settle.send().unwrap();
        let settled: ExecutionRecord = self.caller.account(record).unwrap();
        assert_eq!((settled.status, settled.result_hash, settled.tokens_used), (2, hash.0, 8));
    }

    /// The deadline has passed, and anybody gives the price back.
    pub fn refund(&self, record: Pubkey) {
        let (caller, addresses) = (self.caller.payer(), &self.build.addresses);
        let rent_payer = self.record(&record).rent_payer;
        let refund_token = self.build.usdc_of(&caller);
        let refund = self.creator.request().accounts(accounts::RefundExpiredExecution {
            agent: self.agent,
            record,
            rent_payer,
            escrow: addresses.escrow(&self.agent),
            refund_token,
            grant: None,
            wallet: None,
            config: addresses.config(),
            usdc_mint: self.build.usdc_mint,
            token_program: TOKEN_PROGRAM_ID,
        });
        let refund = refund.args(args::RefundExpiredExecution {});
        let built = Refund { agent: self.agent, record, rent_payer, grant: None, refund_token };
        assert_eq!(refund.instructions(), [self.build.refund_expired_execution(None, &built)]);
        refund.send().unwrap();
        let refunded: ExecutionRecord = self.caller.account(record).unwrap();
        assert_eq!((refunded.status, refunded.result_hash), (4, [0; 32]));
    }
}
