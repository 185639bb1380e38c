//! Builders: for each instruction the accounts as they should be, to be changed by tests, and for the
//! common steps of a story one call that must succeed.

use agent_marketplace::{
    accounts, ed25519_gate::INSTRUCTIONS_SYSVAR_ID, instruction, instructions as args, state::*,
    token::TOKEN_PROGRAM_ID,
};
use anchor_lang::{InstructionData, ToAccountMetas, prelude::Pubkey, solana_program::system_program};
use litesvm::types::TransactionResult;
use solana_instruction::{AccountMeta, Instruction};
use solana_signer::Signer;

use crate::{Actor, Agent, COLLATERAL, PRICE, PROGRAM_ID, Proof, TIMEOUT_S, World, program_data};

/// One opened execution of the world's caller.
#[derive(Clone, Debug)]
pub struct Execution {
    pub id: [u8; 16],
    pub record: Pubkey,
    pub caller: Actor,
    pub agent: Agent,
}

/// An instruction of the program.
pub fn build(accounts: &impl ToAccountMetas, data: &impl InstructionData) -> Instruction {
    Instruction { program_id: PROGRAM_ID, accounts: accounts.to_account_metas(None), data: data.data() }
}

/// Where `emit_cpi` signs.
pub fn event_authority() -> Pubkey {
    Pubkey::find_program_address(&[b"__event_authority"], &PROGRAM_ID).0
}

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

    pub fn initialize_config_accounts(&self) -> accounts::InitializeConfig {
        accounts::InitializeConfig {
            authority: self.upgrade_authority.key(),
            config: self.addresses.config(),
            usdc_mint: self.mint,
            program: PROGRAM_ID,
            program_data: program_data(),
            system_program: system_program::ID,
        }
    }

    pub fn initialize_config(&self) -> Instruction {
        build(&self.initialize_config_accounts(), &instruction::InitializeConfig { args: self.config_args() })
    }

    // Listings.

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

    pub fn list_accounts(&self, agent: &Agent) -> accounts::ListAgent {
        accounts::ListAgent {
            creator: agent.creator.key(),
            config: self.addresses.config(),
            agent: agent.address,
            escrow: self.addresses.escrow(&agent.address),
            collateral_vault: self.addresses.collateral(&agent.address),
            creator_token: agent.creator.token,
            usdc_mint: self.mint,
            token_program: TOKEN_PROGRAM_ID,
            system_program: system_program::ID,
            event_authority: event_authority(),
            program: PROGRAM_ID,
        }
    }

    pub fn list_agent(&self, agent: &Agent, args: args::ListAgentArgs) -> Instruction {
        build(&self.list_accounts(agent), &instruction::ListAgent { args })
    }

    #[track_caller]
    pub fn list(&mut self, agent: &Agent, args: args::ListAgentArgs) {
        let list = self.list_agent(agent, args);
        self.must(&[list], &[&agent.creator.keypair]);
    }

    /// An agent of a creator of its own, not listed yet.
    pub fn new_agent(&mut self) -> Agent {
        let creator = self.new_actor();
        let result_key = ed25519_dalek::SigningKey::from_bytes(self.new_key().secret_bytes());
        Agent { address: self.addresses.agent(&creator.key(), 0), creator, index: 0, result_key }
    }

    pub fn set_agent_status(&self, agent: &Agent, status: AgentStatus) -> Instruction {
        let accounts = accounts::SetAgentStatus {
            creator: agent.creator.key(),
            config: self.addresses.config(),
            agent: agent.address,
        };
        build(&accounts, &instruction::SetAgentStatus { args: args::SetAgentStatusArgs { status } })
    }

    pub fn update_listing(&self, agent: &Agent, args: args::UpdateListingArgs) -> Instruction {
        let accounts = accounts::UpdateListing {
            creator: agent.creator.key(),
            config: self.addresses.config(),
            agent: agent.address,
        };
        build(&accounts, &instruction::UpdateListing { args })
    }

    pub fn upsert_creator_profile(&self, wallet: &Pubkey, display_name: &str) -> Instruction {
        let accounts = accounts::UpsertCreatorProfile {
            wallet: *wallet,
            profile: self.addresses.creator_profile(wallet),
            system_program: system_program::ID,
        };
        let args = args::UpsertCreatorProfileArgs { display_name: display_name.to_owned() };
        build(&accounts, &instruction::UpsertCreatorProfile { args })
    }

    // Grants.

    pub fn grant_spending_accounts(&self, session_key: &Pubkey) -> accounts::GrantSpending {
        let wallet = self.caller.key();
        accounts::GrantSpending {
            wallet,
            grant: self.addresses.grant(&wallet, session_key),
            spender: self.addresses.spender(&wallet),
            system_program: system_program::ID,
        }
    }

    pub fn grant_spending(&self, args: args::GrantSpendingArgs) -> Instruction {
        build(&self.grant_spending_accounts(&args.session_key), &instruction::GrantSpending { args })
    }

    /// The caller approves its spender at the token program and signs the grant.
    #[track_caller]
    pub fn grant_to_session(&mut self, args: args::GrantSpendingArgs) {
        let approve = self.approve_spender(u64::MAX);
        let grant = self.grant_spending(args);
        self.must(&[approve, grant], &[&self.caller.keypair.insecure_clone()]);
    }

    /// SPL Token `Approve` of the caller's USDC account to the caller's spender address.
    pub fn approve_spender(&self, amount: u64) -> Instruction {
        let wallet = self.caller.key();
        let mut data = vec![4];
        data.extend_from_slice(&amount.to_le_bytes());
        Instruction {
            program_id: TOKEN_PROGRAM_ID,
            accounts: vec![
                AccountMeta::new(self.caller.token, false),
                AccountMeta::new_readonly(self.addresses.spender(&wallet), false),
                AccountMeta::new_readonly(wallet, true),
            ],
            data,
        }
    }

    pub fn revoke_spending(&self) -> Instruction {
        let wallet = self.caller.key();
        let grant = self.addresses.grant(&wallet, &self.session.pubkey());
        build(&accounts::RevokeSpending { wallet, grant }, &instruction::RevokeSpending {})
    }

    // Executions.

    /// An execution of the world's caller and agent, not opened yet.
    pub fn new_execution(&mut self) -> Execution {
        let id = self.new_execution_id();
        let caller = self.caller.clone();
        Execution { id, record: self.addresses.execution(&caller.key(), &id), caller, agent: self.agent.clone() }
    }

    pub fn open_args(&self, execution: &Execution) -> args::OpenExecutionArgs {
        args::OpenExecutionArgs { execution_id: execution.id, request_hash: [0x22; 32], max_amount: u64::MAX }
    }

    pub fn open_accounts(&self, execution: &Execution) -> accounts::OpenExecution {
        accounts::OpenExecution {
            caller: execution.caller.key(),
            payer: self.payer.key(),
            config: self.addresses.config(),
            agent: execution.agent.address,
            record: execution.record,
            caller_token: execution.caller.token,
            escrow: self.addresses.escrow(&execution.agent.address),
            usdc_mint: self.mint,
            token_program: TOKEN_PROGRAM_ID,
            system_program: system_program::ID,
        }
    }

    pub fn open_execution(&self, execution: &Execution) -> Instruction {
        build(&self.open_accounts(execution), &instruction::OpenExecution { args: self.open_args(execution) })
    }

    /// Opens an execution, signed by its caller.
    pub fn open(&mut self, execution: &Execution) -> TransactionResult {
        let open = self.open_execution(execution);
        self.send(&[open], &[&execution.caller.keypair])
    }

    /// A freshly opened execution of the world's caller and agent.
    #[track_caller]
    pub fn opened(&mut self) -> Execution {
        let execution = self.new_execution();
        crate::assert_ok(self.open(&execution));
        execution
    }

    pub fn open_with_grant_accounts(&self, execution: &Execution) -> accounts::OpenExecutionWithGrant {
        let wallet = execution.caller.key();
        accounts::OpenExecutionWithGrant {
            session_key: self.session.pubkey(),
            payer: self.payer.key(),
            wallet,
            grant: self.addresses.grant(&wallet, &self.session.pubkey()),
            spender: self.addresses.spender(&wallet),
            config: self.addresses.config(),
            agent: execution.agent.address,
            record: execution.record,
            wallet_token: execution.caller.token,
            escrow: self.addresses.escrow(&execution.agent.address),
            usdc_mint: self.mint,
            token_program: TOKEN_PROGRAM_ID,
            system_program: system_program::ID,
        }
    }

    pub fn open_execution_with_grant(&self, execution: &Execution) -> Instruction {
        let args = self.open_args(execution);
        build(&self.open_with_grant_accounts(execution), &instruction::OpenExecutionWithGrant { args })
    }

    /// Opens an execution with the API key alone.
    pub fn open_with_grant(&mut self, execution: &Execution) -> TransactionResult {
        let open = self.open_execution_with_grant(execution);
        self.send(&[open], &[&self.session.insecure_clone()])
    }

    pub fn complete_accounts(&self, execution: &Execution) -> accounts::CompleteExecution {
        accounts::CompleteExecution {
            authority: self.gateway.key(),
            config: self.addresses.config(),
            agent: execution.agent.address,
            record: execution.record,
            escrow: self.addresses.escrow(&execution.agent.address),
            creator_token: execution.agent.creator.token,
            treasury_token: self.treasury.token,
            usdc_mint: self.mint,
            instructions_sysvar: INSTRUCTIONS_SYSVAR_ID,
            token_program: TOKEN_PROGRAM_ID,
        }
    }

    pub fn complete_execution(&self, execution: &Execution) -> Instruction {
        build(&self.complete_accounts(execution), &instruction::CompleteExecution { args: complete_args() })
    }

    pub fn proof(&self, execution: &Execution) -> Proof {
        Proof::of(&execution.agent.result_key, &RESULT_HASH)
    }

    /// The gateway settles, with any instruction in front of the settlement.
    pub fn complete_after(&mut self, before: &[Instruction], execution: &Execution) -> TransactionResult {
        let mut instructions = before.to_vec();
        instructions.push(self.complete_execution(execution));
        self.send(&instructions, &[&self.gateway.keypair.insecure_clone()])
    }

    /// The gateway settles with a canonical proof.
    pub fn complete(&mut self, execution: &Execution) -> TransactionResult {
        let proof = self.proof(execution).instruction();
        self.complete_after(&[proof], execution)
    }

    #[track_caller]
    pub fn completed(&mut self) -> Execution {
        let execution = self.opened();
        crate::assert_ok(self.complete(&execution));
        execution
    }

    pub fn fail_accounts(&self, execution: &Execution) -> accounts::FailExecution {
        accounts::FailExecution {
            authority: self.gateway.key(),
            config: self.addresses.config(),
            agent: execution.agent.address,
            record: execution.record,
            escrow: self.addresses.escrow(&execution.agent.address),
            refund_token: execution.caller.token,
            usdc_mint: self.mint,
            token_program: TOKEN_PROGRAM_ID,
        }
    }

    pub fn fail_execution(&self, execution: &Execution, reason: FailureReason) -> Instruction {
        let args = args::FailExecutionArgs { reason };
        build(&self.fail_accounts(execution), &instruction::FailExecution { args })
    }

    /// The gateway reports a failure.
    pub fn fail(&mut self, execution: &Execution) -> TransactionResult {
        let fail = self.fail_execution(execution, FailureReason::CreatorFailed);
        self.send(&[fail], &[&self.gateway.keypair.insecure_clone()])
    }

    pub fn refund_accounts(&self, execution: &Execution) -> accounts::RefundExpiredExecution {
        accounts::RefundExpiredExecution {
            agent: execution.agent.address,
            record: execution.record,
            escrow: self.addresses.escrow(&execution.agent.address),
            refund_token: execution.caller.token,
            config: self.addresses.config(),
            usdc_mint: self.mint,
            token_program: TOKEN_PROGRAM_ID,
        }
    }

    pub fn refund_expired_execution(&self, execution: &Execution) -> Instruction {
        build(&self.refund_accounts(execution), &instruction::RefundExpiredExecution {})
    }

    /// Anybody asks for the refund.
    pub fn refund(&mut self, execution: &Execution) -> TransactionResult {
        let refund = self.refund_expired_execution(execution);
        self.send(&[refund], &[])
    }

    /// Moves time past the execution's deadline.
    pub fn expire(&mut self, execution: &Execution) {
        self.set_time(self.record(execution).deadline_unix_s + 1);
    }

    // Governance.

    pub fn update_config(&self, args: args::UpdateConfigArgs) -> Instruction {
        let accounts = accounts::UpdateConfig { admin: self.admin.key(), config: self.addresses.config() };
        build(&accounts, &instruction::UpdateConfig { args })
    }

    pub fn nominate_admin(&self, nominee: &Pubkey) -> Instruction {
        let accounts = accounts::NominateAdmin { admin: self.admin.key(), config: self.addresses.config() };
        build(&accounts, &instruction::NominateAdmin { args: args::NominateAdminArgs { nominee: *nominee } })
    }

    pub fn accept_admin(&self, nominee: &Pubkey) -> Instruction {
        let accounts = accounts::AcceptAdmin { nominee: *nominee, config: self.addresses.config() };
        build(&accounts, &instruction::AcceptAdmin {})
    }

    pub fn announce_roles(&self, resolver: Option<Pubkey>, treasury_owner: Option<Pubkey>) -> Instruction {
        let accounts = accounts::AnnounceRoles { admin: self.admin.key(), config: self.addresses.config() };
        let args = args::AnnounceRolesArgs { resolver, treasury_owner };
        build(&accounts, &instruction::AnnounceRoles { args })
    }

    pub fn apply_roles(&self) -> Instruction {
        build(&accounts::ApplyRoles { config: self.addresses.config() }, &instruction::ApplyRoles {})
    }

    pub fn remove_resolver(&self) -> Instruction {
        let accounts = accounts::RemoveResolver { admin: self.admin.key(), config: self.addresses.config() };
        build(&accounts, &instruction::RemoveResolver {})
    }

    pub fn set_paused(&self, paused: bool) -> Instruction {
        let accounts = accounts::SetPaused { admin: self.admin.key(), config: self.addresses.config() };
        build(&accounts, &instruction::SetPaused { args: args::SetPausedArgs { paused } })
    }

    pub fn verify_creator(&self, wallet: &Pubkey, verified: bool) -> Instruction {
        let accounts = accounts::VerifyCreator {
            admin: self.admin.key(),
            config: self.addresses.config(),
            profile: self.addresses.creator_profile(wallet),
        };
        build(&accounts, &instruction::VerifyCreator { args: args::VerifyCreatorArgs { verified } })
    }

    // Collateral and the end of a listing.

    pub fn deposit_accounts(&self, agent: &Agent) -> accounts::DepositCollateral {
        accounts::DepositCollateral {
            creator: agent.creator.key(),
            config: self.addresses.config(),
            agent: agent.address,
            collateral_vault: self.addresses.collateral(&agent.address),
            creator_token: agent.creator.token,
            usdc_mint: self.mint,
            token_program: TOKEN_PROGRAM_ID,
        }
    }

    pub fn deposit_collateral(&self, agent: &Agent, amount: u64) -> Instruction {
        let args = args::DepositCollateralArgs { amount };
        build(&self.deposit_accounts(agent), &instruction::DepositCollateral { args })
    }

    pub fn delist_agent(&self, agent: &Agent) -> Instruction {
        let accounts = accounts::DelistAgent { creator: agent.creator.key(), agent: agent.address };
        build(&accounts, &instruction::DelistAgent {})
    }

    pub fn withdraw_accounts(&self, agent: &Agent) -> accounts::WithdrawCollateral {
        accounts::WithdrawCollateral {
            creator: agent.creator.key(),
            config: self.addresses.config(),
            agent: agent.address,
            collateral_vault: self.addresses.collateral(&agent.address),
            creator_token: agent.creator.token,
            usdc_mint: self.mint,
            token_program: TOKEN_PROGRAM_ID,
        }
    }

    pub fn withdraw_collateral(&self, agent: &Agent) -> Instruction {
        build(&self.withdraw_accounts(agent), &instruction::WithdrawCollateral {})
    }

    pub fn close_agent_accounts(&self, agent: &Agent) -> accounts::CloseAgent {
        accounts::CloseAgent {
            creator: agent.creator.key(),
            config: self.addresses.config(),
            agent: agent.address,
            escrow: self.addresses.escrow(&agent.address),
            collateral_vault: self.addresses.collateral(&agent.address),
            creator_token: agent.creator.token,
            usdc_mint: self.mint,
            token_program: TOKEN_PROGRAM_ID,
            event_authority: event_authority(),
            program: PROGRAM_ID,
        }
    }

    pub fn close_agent(&self, agent: &Agent) -> Instruction {
        build(&self.close_agent_accounts(agent), &instruction::CloseAgent {})
    }

    // Disputes and the end of a record.

    pub fn dispute_accounts(&self, execution: &Execution) -> accounts::OpenDispute {
        accounts::OpenDispute {
            caller: execution.caller.key(),
            payer: self.payer.key(),
            agent: execution.agent.address,
            record: execution.record,
            dispute: self.addresses.dispute(&execution.record),
            system_program: system_program::ID,
        }
    }

    pub fn open_dispute(&self, execution: &Execution) -> Instruction {
        build(&self.dispute_accounts(execution), &instruction::OpenDispute { args: dispute_args() })
    }

    /// A completed execution that its caller disputes.
    #[track_caller]
    pub fn disputed(&mut self) -> Execution {
        let execution = self.completed();
        let dispute = self.open_dispute(&execution);
        self.must(&[dispute], &[&execution.caller.keypair]);
        execution
    }

    pub fn resolve_accounts(&self, execution: &Execution) -> accounts::ResolveDispute {
        accounts::ResolveDispute {
            resolver: self.resolver.key(),
            config: self.addresses.config(),
            agent: execution.agent.address,
            record: execution.record,
            dispute: self.addresses.dispute(&execution.record),
            collateral_vault: self.addresses.collateral(&execution.agent.address),
            caller_token: execution.caller.token,
            treasury_token: self.treasury.token,
            usdc_mint: self.mint,
            token_program: TOKEN_PROGRAM_ID,
        }
    }

    pub fn resolve_dispute(&self, execution: &Execution, upheld: bool, slash: u64) -> Instruction {
        let args = args::ResolveDisputeArgs { upheld, slash, resolution_hash: [0x55; 32] };
        build(&self.resolve_accounts(execution), &instruction::ResolveDispute { args })
    }

    /// The resolver decides.
    pub fn resolve(&mut self, execution: &Execution, upheld: bool, slash: u64) -> TransactionResult {
        let resolve = self.resolve_dispute(execution, upheld, slash);
        self.send(&[resolve], &[&self.resolver.keypair.insecure_clone()])
    }

    pub fn expire_dispute_accounts(&self, execution: &Execution) -> accounts::ExpireDispute {
        accounts::ExpireDispute {
            agent: execution.agent.address,
            record: execution.record,
            dispute: self.addresses.dispute(&execution.record),
        }
    }

    pub fn expire_dispute(&self, execution: &Execution) -> Instruction {
        build(&self.expire_dispute_accounts(execution), &instruction::ExpireDispute {})
    }

    pub fn close_execution_accounts(&self, execution: &Execution) -> accounts::CloseExecution {
        accounts::CloseExecution {
            record: execution.record,
            rent_payer: self.payer.key(),
            dispute: self.addresses.dispute(&execution.record),
            dispute_rent_payer: self.payer.key(),
            event_authority: event_authority(),
            program: PROGRAM_ID,
        }
    }

    pub fn close_execution(&self, execution: &Execution) -> Instruction {
        build(&self.close_execution_accounts(execution), &instruction::CloseExecution {})
    }
}

/// The result hash that the world's settlements commit to.
pub const RESULT_HASH: [u8; 32] = [0xab; 32];

pub fn complete_args() -> args::CompleteExecutionArgs {
    args::CompleteExecutionArgs { result_hash: RESULT_HASH, execution_time_ms: 1_234, tokens_used: Some(567) }
}

pub fn dispute_args() -> args::OpenDisputeArgs {
    args::OpenDisputeArgs { evidence_hash: [0x44; 32], evidence_uri: "https://example.com/evidence".to_owned() }
}
