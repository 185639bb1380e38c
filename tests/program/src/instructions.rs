//! Every instruction as the world's people send it when they do it right, by the builders of the services.

use agent_marketplace::{
    instructions as args,
    state::{AgentStatus, DisputeDecision, ExecutionRecord, FailureReason, MarketParameters},
};
use anchor_lang::prelude::Pubkey;
use crtx_chain::{
    instructions::{Disputed, Opening, Refund, Settlement, SignedFailure},
    token,
};
use crtx_protocol::{call_text::OpeningId, failure_text, result_hash::ResultHash};
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
            insurance_owner: self.insurance.key(),
            guardian: self.guardian.key(),
            parameters: MarketParameters::DEFAULT,
        }
    }

    pub fn initialize_config(&self) -> Instruction {
        self.instructions().initialize_config(&self.upgrade_authority.key(), self.config_args())
    }

    pub fn update_config(&self, args: args::UpdateConfigArgs) -> Instruction {
        self.instructions().update_config(&self.admin.key(), args)
    }

    pub fn set_gateway(&self, gateway_authority: &Pubkey) -> Instruction {
        self.update_config(args::UpdateConfigArgs { gateway_authority: Some(*gateway_authority), guardian: None })
    }

    /// The zero address removes the guardian.
    pub fn set_guardian(&self, guardian: &Pubkey) -> Instruction {
        self.update_config(args::UpdateConfigArgs { gateway_authority: None, guardian: Some(*guardian) })
    }

    pub fn announce_parameters(&self, parameters: Option<MarketParameters>) -> Instruction {
        self.instructions().announce_parameters(&self.admin.key(), parameters)
    }

    pub fn apply_parameters(&self) -> Instruction {
        self.instructions().apply_parameters()
    }

    pub fn nominate_admin(&self, nominee: &Pubkey) -> Instruction {
        self.instructions().nominate_admin(&self.admin.key(), nominee)
    }

    pub fn accept_admin(&self, nominee: &Pubkey) -> Instruction {
        self.instructions().accept_admin(nominee)
    }

    pub fn announce_roles(&self, resolver: Option<Pubkey>, treasury_owner: Option<Pubkey>) -> Instruction {
        self.announce_roles_with(args::AnnounceRolesArgs { resolver, treasury_owner, insurance_owner: None })
    }

    pub fn announce_roles_with(&self, args: args::AnnounceRolesArgs) -> Instruction {
        self.instructions().announce_roles(&self.admin.key(), args)
    }

    pub fn apply_roles(&self) -> Instruction {
        self.instructions().apply_roles()
    }

    pub fn remove_resolver(&self) -> Instruction {
        self.instructions().remove_resolver(&self.admin.key())
    }

    /// New openings and new listings, by the admin.
    pub fn set_paused(&self, paused: bool) -> Instruction {
        self.set_paused_with(Some(paused), Some(paused))
    }

    pub fn set_paused_with(&self, openings: Option<bool>, listings: Option<bool>) -> Instruction {
        self.instructions().set_paused(&self.admin.key(), args::SetPausedArgs { openings, listings })
    }

    pub fn suspend_agent(&self, agent: &Agent, suspended: bool) -> Instruction {
        self.instructions().suspend_agent(&self.admin.key(), &agent.address, suspended)
    }

    pub fn verify_creator(&self, wallet: &Pubkey, verified_name: Option<&str>) -> Instruction {
        self.instructions().verify_creator(&self.admin.key(), wallet, verified_name)
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
            binding: false,
            min_cover: 0,
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
            terms_hash: None,
            min_cover: 0,
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

    /// Whether the execution's results are signed for the call.
    pub fn is_bound(&self, execution: &Execution) -> bool {
        self.try_state::<ExecutionRecord>(&execution.record).is_some_and(|record| record.binding == 1)
    }

    /// The opening of the execution; of one that is not open, the one that would be made now.
    pub fn opening_id(&self, execution: &Execution) -> OpeningId {
        let opened = self.try_state::<ExecutionRecord>(&execution.record).map(|record| record.opened_at_unix_s);
        OpeningId { record: execution.record.to_bytes(), opened_at_unix_s: opened.unwrap_or_else(|| self.now()) }
    }

    /// The canonical proof, in the shape that the execution asks for.
    pub fn proof(&self, execution: &Execution) -> Proof {
        let result_key = &execution.agent.result_key;
        if self.is_bound(execution) {
            Proof::bound(result_key, &self.opening_id(execution), &RESULT_HASH)
        } else {
            Proof::of(result_key, &RESULT_HASH)
        }
    }

    pub fn settlement(&self, execution: &Execution) -> Settlement {
        let result_key = &execution.agent.result_key;
        let settlement = Settlement {
            agent: execution.agent.address,
            opening: self.opening_id(execution),
            rent_payer: self.payer.key(),
            creator_token: execution.agent.creator.token,
            treasury_token: self.treasury.token,
            result_key: Pubkey::new_from_array(result_key.verifying_key().to_bytes()),
            result_hash: ResultHash(RESULT_HASH),
            binding: self.is_bound(execution),
            signature: [0; 64],
            execution_time_ms: 1_234,
            tokens_used: Some(567),
        };
        let signature = result_key.sign(&settlement.signed_message()).to_bytes();
        Settlement { signature, ..settlement }
    }

    /// A refund to the wallet's associated token account.
    pub fn refund_of(&self, execution: &Execution) -> Refund {
        let grant = self.try_terms(execution).map(|terms| terms.grant).filter(|grant| *grant != Pubkey::default());
        Refund {
            agent: execution.agent.address,
            record: execution.record,
            rent_payer: self.payer.key(),
            grant,
            refund_token: execution.caller.token,
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
        self.instructions().fail_execution(&self.gateway.key(), &self.refund_of(execution), reason)
    }

    /// The proof that the agent itself says that it failed.
    pub fn failure_proof(&self, execution: &Execution) -> Proof {
        Proof::of_failure(&execution.agent.result_key, &self.opening_id(execution))
    }

    /// The gateway's report of a failure that the result key signed, without the proof in front of it.
    pub fn fail_signed_execution(&self, execution: &Execution) -> Instruction {
        let result_key = &execution.agent.result_key;
        let opening = self.opening_id(execution);
        let failure = SignedFailure {
            opening,
            result_key: Pubkey::new_from_array(result_key.verifying_key().to_bytes()),
            signature: result_key.sign(&failure_text::of(&opening)).to_bytes(),
        };
        let [_, fail] =
            self.instructions().fail_signed_execution(&self.gateway.key(), &self.refund_of(execution), &failure);
        fail
    }

    pub fn refund_expired_execution(&self, execution: &Execution) -> Instruction {
        self.instructions().refund_expired_execution(None, &self.refund_of(execution))
    }

    /// The refund that the execution's wallet signs.
    pub fn refund_signed_by_wallet(&self, execution: &Execution) -> Instruction {
        let wallet = execution.caller.key();
        self.instructions().refund_expired_execution(Some(&wallet), &self.refund_of(execution))
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

    pub fn answer_args(&self) -> args::AnswerDisputeArgs {
        args::AnswerDisputeArgs { answer_hash: [0x66; 32], answer_uri: "https://example.com/answer".to_owned() }
    }

    pub fn answer_dispute(&self, execution: &Execution) -> Instruction {
        self.answer_dispute_with(execution, self.answer_args())
    }

    pub fn answer_dispute_with(&self, execution: &Execution, args: args::AnswerDisputeArgs) -> Instruction {
        let Execution { record, agent, .. } = execution;
        self.instructions().answer_dispute(&agent.creator.key(), &agent.address, record, args)
    }

    pub fn resolve_dispute(&self, execution: &Execution, upheld: bool, slash: u64) -> Instruction {
        let decision = if upheld { DisputeDecision::Upheld } else { DisputeDecision::Rejected };
        self.resolve_with(execution, Self::resolve_args(decision, slash))
    }

    pub fn resolve_args(decision: DisputeDecision, slash: u64) -> args::ResolveDisputeArgs {
        let resolution_uri = "https://example.com/reasons".to_owned();
        args::ResolveDisputeArgs { decision, slash, resolution_hash: [0x55; 32], resolution_uri }
    }

    pub fn resolve_with(&self, execution: &Execution, args: args::ResolveDisputeArgs) -> Instruction {
        let (resolver, insurance) = (self.resolver.key(), self.insurance.key());
        let disputed = Disputed {
            agent: execution.agent.address,
            record: execution.record,
            caller: execution.caller.key(),
            creator: execution.agent.creator.key(),
        };
        self.instructions().resolve_dispute(&resolver, &disputed, &insurance, args)
    }

    pub fn cancel_dispute(&self, execution: &Execution) -> Instruction {
        let Execution { record, caller, agent, .. } = execution;
        self.instructions().cancel_dispute(&caller.key(), &agent.address, record)
    }

    pub fn expire_dispute(&self, execution: &Execution) -> Instruction {
        self.instructions().expire_dispute(&execution.agent.address, &execution.record, &execution.caller.token)
    }

    pub fn close_execution(&self, execution: &Execution) -> Instruction {
        self.instructions().close_execution(&execution.record, &self.payer.key(), &self.payer.key())
    }
}
