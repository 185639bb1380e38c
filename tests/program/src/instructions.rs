//! Every instruction as the world's people send it when they do it right, by the builders of the services.

use agent_marketplace::{
    instructions as args,
    state::{AgentStatus, Config, FailureReason},
};
use anchor_lang::prelude::Pubkey;
use crtx_chain::{
    instructions::{Opening, Settlement},
    token,
};
use crtx_protocol::{result_hash::ResultHash, result_text};
use ed25519_dalek::Signer as _;
use solana_instruction::Instruction;
use solana_signer::Signer;

use crate::{
    people::{Agent, COLLATERAL, Execution, PRICE, TIMEOUT_S},
    proof::Proof,
    world::World,
};

/// The result hash that the world's settlements commit to.
pub const RESULT_HASH: [u8; 32] = [0xab; 32];

impl World {
    // Configuration.

    pub fn config_args(&self) -> args::InitializeConfigArgs {
        args::InitializeConfigArgs {
            admin: self.admin.key(),
            resolver: self.resolver.key(),
            gateway_authority: self.gateway.key(),
            treasury_owner: self.treasury.key(),
            fee_bps: crtx_protocol::fee::DEFAULT_FEE_BPS,
            dispute_window_s: Config::DEFAULT_DISPUTE_WINDOW_S,
            settle_grace_s: Config::DEFAULT_SETTLE_GRACE_S,
            collateral_tiers: Config::DEFAULT_COLLATERAL_TIERS,
        }
    }

    pub fn initialize_config(&self) -> Instruction {
        self.instructions().initialize_config(&self.upgrade_authority.key(), self.config_args())
    }

    pub fn update_config(&self, args: args::UpdateConfigArgs) -> Instruction {
        self.instructions().update_config(&self.admin.key(), args)
    }

    pub fn nominate_admin(&self, nominee: &Pubkey) -> Instruction {
        self.instructions().nominate_admin(&self.admin.key(), nominee)
    }

    pub fn accept_admin(&self, nominee: &Pubkey) -> Instruction {
        self.instructions().accept_admin(nominee)
    }

    pub fn announce_roles(&self, resolver: Option<Pubkey>, treasury_owner: Option<Pubkey>) -> Instruction {
        self.instructions().announce_roles(&self.admin.key(), args::AnnounceRolesArgs { resolver, treasury_owner })
    }

    pub fn apply_roles(&self) -> Instruction {
        self.instructions().apply_roles()
    }

    pub fn remove_resolver(&self) -> Instruction {
        self.instructions().remove_resolver(&self.admin.key())
    }

    pub fn set_paused(&self, paused: bool) -> Instruction {
        self.instructions().set_paused(&self.admin.key(), paused)
    }

    pub fn verify_creator(&self, wallet: &Pubkey, verified: bool) -> Instruction {
        self.instructions().verify_creator(&self.admin.key(), wallet, verified)
    }

    // Profiles, listings, collateral.

    pub fn upsert_creator_profile(&self, wallet: &Pubkey, display_name: &str) -> Instruction {
        self.instructions().upsert_creator_profile(wallet, display_name)
    }

    pub fn list_args(&self, agent: &Agent) -> args::ListAgentArgs {
        args::ListAgentArgs {
            index: agent.index,
            result_key: Pubkey::new_from_array(agent.result_key.verifying_key().to_bytes()),
            price: PRICE,
            timeout_seconds: TIMEOUT_S,
            collateral: COLLATERAL,
            metadata_hash: [0x11; 32],
            metadata_uri: "ipfs://bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e".to_owned(),
        }
    }

    pub fn list_agent(&self, agent: &Agent, args: args::ListAgentArgs) -> Instruction {
        self.instructions().list_agent(&agent.creator.key(), args)
    }

    pub fn update_listing(&self, agent: &Agent, args: args::UpdateListingArgs) -> Instruction {
        self.instructions().update_listing(&agent.creator.key(), &agent.address, args)
    }

    pub fn set_agent_status(&self, agent: &Agent, status: AgentStatus) -> Instruction {
        self.instructions().set_agent_status(&agent.creator.key(), &agent.address, status)
    }

    pub fn deposit_collateral(&self, agent: &Agent, amount: u64) -> Instruction {
        self.instructions().deposit_collateral(&agent.creator.key(), &agent.address, amount)
    }

    pub fn delist_agent(&self, agent: &Agent) -> Instruction {
        self.instructions().delist_agent(&agent.creator.key(), &agent.address)
    }

    pub fn withdraw_collateral(&self, agent: &Agent) -> Instruction {
        self.instructions().withdraw_collateral(&agent.creator.key(), &agent.address)
    }

    pub fn close_agent(&self, agent: &Agent) -> Instruction {
        self.instructions().close_agent(&agent.creator.key(), &agent.address)
    }

    // Grants.

    pub fn grant_spending(&self, args: args::GrantSpendingArgs) -> Instruction {
        self.instructions().grant_spending(&self.caller.key(), args)
    }

    /// SPL Token `ApproveChecked` of the caller's USDC account to the caller's spender address.
    pub fn approve_spender(&self, amount: u64) -> Instruction {
        let wallet = self.caller.key();
        token::approve(&self.caller.token, &self.mint, &self.addresses.spender(&wallet), &wallet, amount)
    }

    pub fn revoke_spending(&self) -> Instruction {
        self.instructions().revoke_spending(&self.caller.key(), &self.session.pubkey())
    }

    // Executions.

    pub fn opening(&self, execution: &Execution) -> Opening {
        Opening {
            agent: execution.agent.address,
            execution_id: execution.id,
            request_hash: [0x22; 32],
            max_amount: u64::MAX,
        }
    }

    pub fn open_execution(&self, execution: &Execution) -> Instruction {
        self.open_with(execution, &self.opening(execution))
    }

    pub fn open_with(&self, execution: &Execution, opening: &Opening) -> Instruction {
        self.instructions().open_execution(&execution.caller.key(), &self.payer.key(), opening)
    }

    pub fn open_execution_with_grant(&self, execution: &Execution) -> Instruction {
        self.open_by_key_with(execution, &self.opening(execution))
    }

    pub fn open_by_key_with(&self, execution: &Execution, opening: &Opening) -> Instruction {
        let (wallet, session_key) = (execution.caller.key(), self.session.pubkey());
        self.instructions().open_execution_with_grant(&wallet, &session_key, &self.payer.key(), opening)
    }

    pub fn proof(&self, execution: &Execution) -> Proof {
        Proof::of(&execution.agent.result_key, &RESULT_HASH)
    }

    pub fn settlement(&self, execution: &Execution) -> Settlement {
        let result_key = &execution.agent.result_key;
        Settlement {
            agent: execution.agent.address,
            record: execution.record,
            creator: execution.agent.creator.key(),
            treasury_owner: self.treasury.key(),
            result_key: Pubkey::new_from_array(result_key.verifying_key().to_bytes()),
            result_hash: ResultHash(RESULT_HASH),
            signature: result_key.sign(&result_text::of(&RESULT_HASH)).to_bytes(),
            execution_time_ms: 1_234,
            tokens_used: Some(567),
        }
    }

    /// The gateway's settlement, without the proof in front of it.
    pub fn complete_execution(&self, execution: &Execution) -> Instruction {
        self.complete_with(&self.settlement(execution))
    }

    pub fn complete_with(&self, settlement: &Settlement) -> Instruction {
        let [_, settle] = self.instructions().complete_execution(&self.gateway.key(), settlement);
        settle
    }

    pub fn fail_execution(&self, execution: &Execution, reason: FailureReason) -> Instruction {
        let Execution { record, caller, agent, .. } = execution;
        self.instructions().fail_execution(&self.gateway.key(), &agent.address, record, &caller.token, reason)
    }

    pub fn refund_expired_execution(&self, execution: &Execution) -> Instruction {
        let Execution { record, caller, agent, .. } = execution;
        self.instructions().refund_expired_execution(&agent.address, record, &caller.token)
    }

    // Disputes and the end of a record.

    pub fn dispute_args(&self) -> args::OpenDisputeArgs {
        args::OpenDisputeArgs { evidence_hash: [0x44; 32], evidence_uri: "https://example.com/evidence".to_owned() }
    }

    pub fn open_dispute(&self, execution: &Execution) -> Instruction {
        self.open_dispute_with(execution, self.dispute_args())
    }

    pub fn open_dispute_with(&self, execution: &Execution, args: args::OpenDisputeArgs) -> Instruction {
        let Execution { record, caller, agent, .. } = execution;
        self.instructions().open_dispute(&caller.key(), &self.payer.key(), &agent.address, record, args)
    }

    pub fn resolve_dispute(&self, execution: &Execution, upheld: bool, slash: u64) -> Instruction {
        self.resolve_with(execution, args::ResolveDisputeArgs { upheld, slash, resolution_hash: [0x55; 32] })
    }

    pub fn resolve_with(&self, execution: &Execution, args: args::ResolveDisputeArgs) -> Instruction {
        let Execution { record, caller, agent, .. } = execution;
        let (resolver, treasury) = (self.resolver.key(), self.treasury.key());
        self.instructions().resolve_dispute(&resolver, &agent.address, record, &caller.key(), &treasury, args)
    }

    pub fn expire_dispute(&self, execution: &Execution) -> Instruction {
        self.instructions().expire_dispute(&execution.agent.address, &execution.record)
    }

    pub fn close_execution(&self, execution: &Execution) -> Instruction {
        self.instructions().close_execution(&execution.record, &self.payer.key(), &self.payer.key())
    }
}
