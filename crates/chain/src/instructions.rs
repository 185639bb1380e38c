//! Every instruction of the program from plain arguments. Services, tests and tools build the accounts of an
//! instruction only here: each address that follows from others is derived, so no caller can confuse them.

use agent_marketplace::{
    accounts, ed25519_gate, instruction,
    instructions::{
        AnnounceParametersArgs, AnnounceRolesArgs, AnswerDisputeArgs, CompleteExecutionArgs, DepositCollateralArgs,
        FailExecutionArgs, GrantSpendingArgs, InitializeConfigArgs, ListAgentArgs, NominateAdminArgs, OpenDisputeArgs,
        OpenExecutionArgs, ResolveDisputeArgs, SetAgentStatusArgs, SetPausedArgs, SuspendAgentArgs, UpdateConfigArgs,
        UpdateListingArgs, UpsertCreatorProfileArgs, VerifyCreatorArgs,
    },
    state::{AgentStatus, DisputeDecision, FailureReason, MarketParameters},
};
use anchor_lang::{InstructionData, ToAccountMetas};
use crtx_protocol::{
    address::Addresses,
    call_text::{self, OpeningId},
    failure_text,
    result_hash::ResultHash,
};
use solana_compute_budget_interface::ComputeBudgetInstruction;
use solana_instruction::Instruction;
use solana_pubkey::Pubkey;
use solana_sdk_ids::{bpf_loader_upgradeable, system_program, sysvar};

use crate::token::{TOKEN_PROGRAM_ID, associated_token_address};

/// Builds instructions for one deployment and its USDC mint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instructions {
    pub addresses: Addresses,
    pub usdc_mint: Pubkey,
}

/// What an opening is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    pub agent: Pubkey,
    pub execution_id: [u8; 16],
    pub request_hash: [u8; 32],
    /// Most that may be taken, in base units: a guard against a price change on the way.
    pub max_amount: u64,
    /// Hash of the terms that the caller agrees to: a guard against every change of them on the way. `None` accepts any
    /// terms up to `max_amount`.
    pub terms_hash: Option<[u8; 32]>,
    /// The free collateral that the caller asks for, in prices of one call; 0 asks for none.
    pub min_cover: u8,
}

/// A creator's signed result, ready to be settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settlement {
    pub agent: Pubkey,
    pub opening: OpeningId,
    /// Who paid the record's rent.
    pub rent_payer: Pubkey,
    /// Any USDC account of the creator that can receive money.
    pub creator_token: Pubkey,
    /// Any USDC account of the treasury's owner that can receive money.
    pub treasury_token: Pubkey,
    pub result_key: Pubkey,
    pub result_hash: ResultHash,
    /// The record's `binding`: what `signature` is over.
    pub binding: bool,
    /// Over the text of the result hash, or over the text of the call if it is binding.
    pub signature: [u8; 64],
    pub execution_time_ms: u64,
    pub tokens_used: Option<u64>,
}

/// An open execution that is refunded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refund {
    pub agent: Pubkey,
    pub record: Pubkey,
    /// Who paid the record's rent.
    pub rent_payer: Pubkey,
    /// The grant that the execution was opened with.
    pub grant: Option<Pubkey>,
    /// The wallet's associated token account, or the one that paid.
    pub refund_token: Pubkey,
}

/// A creator's statement that its service failed in one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignedFailure {
    pub opening: OpeningId,
    pub result_key: Pubkey,
    pub signature: [u8; 64],
}

/// A disputed execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disputed {
    pub agent: Pubkey,
    pub record: Pubkey,
    pub caller: Pubkey,
    pub creator: Pubkey,
}

impl Settlement {
    /// The message that the result key signed.
    pub fn signed_message(&self) -> Vec<u8> {
        if self.binding {
            call_text::of(&self.opening, &self.result_hash.0).to_vec()
        } else {
            self.result_hash.signed_text().to_vec()
        }
    }
}

impl Instructions {
    pub const fn new(addresses: Addresses, usdc_mint: Pubkey) -> Self {
        Self { addresses, usdc_mint }
    }

    /// The wallet's USDC account.
    pub fn usdc_of(&self, wallet: &Pubkey) -> Pubkey {
        associated_token_address(wallet, &self.usdc_mint)
    }

    fn build(&self, accounts: impl ToAccountMetas, data: impl InstructionData) -> Instruction {
        Instruction {
            program_id: self.addresses.program_id(),
            accounts: accounts.to_account_metas(None),
            data: data.data(),
        }
    }

    /// Once per deployment, signed by the program's upgrade authority.
    pub fn initialize_config(&self, authority: &Pubkey, args: InitializeConfigArgs) -> Instruction {
        let program = self.addresses.program_id();
        let accounts = accounts::InitializeConfig {
            authority: *authority,
            config: self.addresses.config(),
            usdc_mint: self.usdc_mint,
            program,
            program_data: program_data_address(&program),
            system_program: system_program::ID,
        };
        self.build(accounts, instruction::InitializeConfig { args })
    }

    pub fn update_config(&self, admin: &Pubkey, args: UpdateConfigArgs) -> Instruction {
        let accounts = accounts::UpdateConfig { admin: *admin, config: self.addresses.config() };
        self.build(accounts, instruction::UpdateConfig { args })
    }

    /// `None` withdraws an announcement.
    pub fn announce_parameters(&self, admin: &Pubkey, parameters: Option<MarketParameters>) -> Instruction {
        let accounts = accounts::AnnounceParameters { admin: *admin, config: self.addresses.config() };
        self.build(accounts, instruction::AnnounceParameters { args: AnnounceParametersArgs { parameters } })
    }

    /// Anybody may send it, when the delay after the announcement is over.
    pub fn apply_parameters(&self) -> Instruction {
        self.build(accounts::ApplyParameters { config: self.addresses.config() }, instruction::ApplyParameters {})
    }

    /// The zero address withdraws a nomination.
    pub fn nominate_admin(&self, admin: &Pubkey, nominee: &Pubkey) -> Instruction {
        let accounts = accounts::NominateAdmin { admin: *admin, config: self.addresses.config() };
        self.build(accounts, instruction::NominateAdmin { args: NominateAdminArgs { nominee: *nominee } })
    }

    pub fn accept_admin(&self, nominee: &Pubkey) -> Instruction {
        let accounts = accounts::AcceptAdmin { nominee: *nominee, config: self.addresses.config() };
        self.build(accounts, instruction::AcceptAdmin {})
    }

    /// Naming nobody withdraws an announcement.
    pub fn announce_roles(&self, admin: &Pubkey, args: AnnounceRolesArgs) -> Instruction {
        let accounts = accounts::AnnounceRoles { admin: *admin, config: self.addresses.config() };
        self.build(accounts, instruction::AnnounceRoles { args })
    }

    /// Anybody may send it, when the delay after the announcement is over.
    pub fn apply_roles(&self) -> Instruction {
        self.build(accounts::ApplyRoles { config: self.addresses.config() }, instruction::ApplyRoles {})
    }

    pub fn remove_resolver(&self, admin: &Pubkey) -> Instruction {
        let accounts = accounts::RemoveResolver { admin: *admin, config: self.addresses.config() };
        self.build(accounts, instruction::RemoveResolver {})
    }

    /// By the admin, or by the guardian to stop.
    pub fn set_paused(&self, authority: &Pubkey, args: SetPausedArgs) -> Instruction {
        let accounts = accounts::SetPaused { authority: *authority, config: self.addresses.config() };
        self.build(accounts, instruction::SetPaused { args })
    }

    /// By the admin, or by the guardian to suspend.
    pub fn suspend_agent(&self, authority: &Pubkey, agent: &Pubkey, suspended: bool) -> Instruction {
        let config = self.addresses.config();
        let accounts = accounts::SuspendAgent { authority: *authority, config, agent: *agent };
        self.build(accounts, instruction::SuspendAgent { args: SuspendAgentArgs { suspended } })
    }

    /// The badge is for the display name that was verified; `None` removes it.
    pub fn verify_creator(&self, admin: &Pubkey, creator: &Pubkey, verified_name: Option<&str>) -> Instruction {
        let accounts = accounts::VerifyCreator {
            admin: *admin,
            config: self.addresses.config(),
            profile: self.addresses.creator_profile(creator),
        };
        let args = VerifyCreatorArgs { verified_name: verified_name.map(str::to_owned) };
        self.build(accounts, instruction::VerifyCreator { args })
    }

    pub fn upsert_creator_profile(&self, wallet: &Pubkey, display_name: &str) -> Instruction {
        let accounts = accounts::UpsertCreatorProfile {
            wallet: *wallet,
            profile: self.addresses.creator_profile(wallet),
            system_program: system_program::ID,
        };
        let args = UpsertCreatorProfileArgs { display_name: display_name.to_owned() };
        self.build(accounts, instruction::UpsertCreatorProfile { args })
    }

    /// Locks the collateral out of the creator's USDC account.
    pub fn list_agent(&self, creator: &Pubkey, args: ListAgentArgs) -> Instruction {
        let agent = self.addresses.agent(creator, args.index);
        let program = self.addresses.program_id();
        let accounts = accounts::ListAgent {
            creator: *creator,
            config: self.addresses.config(),
            profile: self.addresses.creator_profile(creator),
            agent,
            escrow: self.addresses.escrow(&agent),
            collateral_vault: self.addresses.collateral(&agent),
            creator_token: self.usdc_of(creator),
            usdc_mint: self.usdc_mint,
            token_program: TOKEN_PROGRAM_ID,
            system_program: system_program::ID,
            event_authority: event_authority_address(&program),
            program,
        };
        self.build(accounts, instruction::ListAgent { args })
    }

    pub fn set_agent_status(&self, creator: &Pubkey, agent: &Pubkey, status: AgentStatus) -> Instruction {
        let accounts = accounts::SetAgentStatus { creator: *creator, config: self.addresses.config(), agent: *agent };
        self.build(accounts, instruction::SetAgentStatus { args: SetAgentStatusArgs { status } })
    }

    pub fn update_listing(&self, creator: &Pubkey, agent: &Pubkey, args: UpdateListingArgs) -> Instruction {
        let accounts = accounts::UpdateListing { creator: *creator, config: self.addresses.config(), agent: *agent };
        self.build(accounts, instruction::UpdateListing { args })
    }

    /// Adds collateral out of the creator's USDC account.
    pub fn deposit_collateral(&self, creator: &Pubkey, agent: &Pubkey, amount: u64) -> Instruction {
        let accounts = accounts::DepositCollateral {
            creator: *creator,
            config: self.addresses.config(),
            agent: *agent,
            collateral_vault: self.addresses.collateral(agent),
            creator_token: self.usdc_of(creator),
            usdc_mint: self.usdc_mint,
            token_program: TOKEN_PROGRAM_ID,
        };
        self.build(accounts, instruction::DepositCollateral { args: DepositCollateralArgs { amount } })
    }

    pub fn delist_agent(&self, creator: &Pubkey, agent: &Pubkey) -> Instruction {
        let accounts = accounts::DelistAgent { creator: *creator, agent: *agent };
        self.build(accounts, instruction::DelistAgent {})
    }

    /// Pays the collateral to the creator's USDC account.
    pub fn withdraw_collateral(&self, creator: &Pubkey, agent: &Pubkey) -> Instruction {
        let creator_token = self.usdc_of(creator);
        let accounts = accounts::WithdrawCollateral {
            creator: *creator,
            config: self.addresses.config(),
            agent: *agent,
            collateral_vault: self.addresses.collateral(agent),
            creator_token,
            usdc_mint: self.usdc_mint,
            token_program: TOKEN_PROGRAM_ID,
        };
        self.build(accounts, instruction::WithdrawCollateral {})
    }

    /// What strangers sent to the agent's token accounts goes to the creator's USDC account.
    pub fn close_agent(&self, creator: &Pubkey, agent: &Pubkey) -> Instruction {
        let program = self.addresses.program_id();
        let accounts = accounts::CloseAgent {
            creator: *creator,
            config: self.addresses.config(),
            profile: self.addresses.creator_profile(creator),
            agent: *agent,
            escrow: self.addresses.escrow(agent),
            collateral_vault: self.addresses.collateral(agent),
            creator_token: self.usdc_of(creator),
            usdc_mint: self.usdc_mint,
            token_program: TOKEN_PROGRAM_ID,
            event_authority: event_authority_address(&program),
            program,
        };
        self.build(accounts, instruction::CloseAgent {})
    }

    /// Sets what the session key may spend. The wallet also has to [`crate::token::approve`] its spender address.
    pub fn grant_spending(&self, wallet: &Pubkey, args: GrantSpendingArgs) -> Instruction {
        let accounts = accounts::GrantSpending {
            wallet: *wallet,
            grant: self.addresses.grant(wallet, &args.session_key),
            spender: self.addresses.spender(wallet),
            system_program: system_program::ID,
        };
        self.build(accounts, instruction::GrantSpending { args })
    }

    pub fn revoke_spending(&self, wallet: &Pubkey, session_key: &Pubkey) -> Instruction {
        let accounts = accounts::RevokeSpending { wallet: *wallet, grant: self.addresses.grant(wallet, session_key) };
        self.build(accounts, instruction::RevokeSpending {})
    }

    /// The wallet path: `caller` signs and pays out of its USDC account, `payer` pays the rent.
    pub fn open_execution(&self, caller: &Pubkey, payer: &Pubkey, opening: &Opening) -> Instruction {
        let accounts = accounts::OpenExecution {
            caller: *caller,
            payer: *payer,
            config: self.addresses.config(),
            agent: opening.agent,
            record: self.addresses.execution(caller, &opening.execution_id),
            caller_token: self.usdc_of(caller),
            escrow: self.addresses.escrow(&opening.agent),
            usdc_mint: self.usdc_mint,
            token_program: TOKEN_PROGRAM_ID,
            system_program: system_program::ID,
        };
        self.build(accounts, instruction::OpenExecution { args: opening.args() })
    }

    /// The API-key path: the session key signs, the wallet's USDC account pays, `payer` pays the rent.
    pub fn open_execution_with_grant(
        &self,
        wallet: &Pubkey,
        session_key: &Pubkey,
        payer: &Pubkey,
        opening: &Opening,
    ) -> Instruction {
        let accounts = accounts::OpenExecutionWithGrant {
            session_key: *session_key,
            payer: *payer,
            wallet: *wallet,
            grant: self.addresses.grant(wallet, session_key),
            spender: self.addresses.spender(wallet),
            config: self.addresses.config(),
            agent: opening.agent,
            record: self.addresses.execution(wallet, &opening.execution_id),
            wallet_token: self.usdc_of(wallet),
            escrow: self.addresses.escrow(&opening.agent),
            usdc_mint: self.usdc_mint,
            token_program: TOKEN_PROGRAM_ID,
            system_program: system_program::ID,
        };
        self.build(accounts, instruction::OpenExecutionWithGrant { args: opening.args() })
    }

    /// The proof and the settlement it proves, in the order in which they must stand next to each other.
    pub fn complete_execution(&self, authority: &Pubkey, settlement: &Settlement) -> [Instruction; 2] {
        let accounts = accounts::CompleteExecution {
            authority: *authority,
            config: self.addresses.config(),
            agent: settlement.agent,
            record: Pubkey::new_from_array(settlement.opening.record),
            rent_payer: settlement.rent_payer,
            escrow: self.addresses.escrow(&settlement.agent),
            creator_token: settlement.creator_token,
            treasury_token: settlement.treasury_token,
            usdc_mint: self.usdc_mint,
            instructions_sysvar: sysvar::instructions::ID,
            token_program: TOKEN_PROGRAM_ID,
        };
        let args = CompleteExecutionArgs {
            result_hash: settlement.result_hash.0,
            execution_time_ms: settlement.execution_time_ms,
            tokens_used: settlement.tokens_used,
        };
        let proof = ed25519_instruction(&settlement.result_key, &settlement.signed_message(), &settlement.signature);
        [proof, self.build(accounts, instruction::CompleteExecution { args })]
    }

    /// Full refund. Only the gateway may report [`FailureReason::Interrupted`].
    pub fn fail_execution(&self, authority: &Pubkey, refund: &Refund, reason: FailureReason) -> Instruction {
        self.failure(authority, refund, FailExecutionArgs { reason, signed: false })
    }

    /// The proof that the agent itself says that it failed, and the refund that counts it.
    pub fn fail_signed_execution(
        &self,
        authority: &Pubkey,
        refund: &Refund,
        failure: &SignedFailure,
    ) -> [Instruction; 2] {
        let args = FailExecutionArgs { reason: FailureReason::CreatorFailed, signed: true };
        let message = failure_text::of(&failure.opening);
        let proof = ed25519_instruction(&failure.result_key, &message, &failure.signature);
        [proof, self.failure(authority, refund, args)]
    }

    fn failure(&self, authority: &Pubkey, refund: &Refund, args: FailExecutionArgs) -> Instruction {
        let accounts = accounts::FailExecution {
            authority: *authority,
            config: self.addresses.config(),
            agent: refund.agent,
            record: refund.record,
            rent_payer: refund.rent_payer,
            escrow: self.addresses.escrow(&refund.agent),
            refund_token: refund.refund_token,
            grant: refund.grant,
            instructions_sysvar: args.signed.then_some(sysvar::instructions::ID),
            usdc_mint: self.usdc_mint,
            token_program: TOKEN_PROGRAM_ID,
        };
        self.build(accounts, instruction::FailExecution { args })
    }

    /// Anybody may send it, after the deadline. If the wallet signs it, `refund_token` may be any of its USDC accounts.
    pub fn refund_expired_execution(&self, wallet: Option<&Pubkey>, refund: &Refund) -> Instruction {
        let accounts = accounts::RefundExpiredExecution {
            agent: refund.agent,
            record: refund.record,
            rent_payer: refund.rent_payer,
            escrow: self.addresses.escrow(&refund.agent),
            refund_token: refund.refund_token,
            grant: refund.grant,
            wallet: wallet.copied(),
            config: self.addresses.config(),
            usdc_mint: self.usdc_mint,
            token_program: TOKEN_PROGRAM_ID,
        };
        self.build(accounts, instruction::RefundExpiredExecution {})
    }

    /// `payer` pays the dispute's rent and gets it back when the record is closed.
    pub fn open_dispute(
        &self,
        caller: &Pubkey,
        payer: &Pubkey,
        agent: &Pubkey,
        record: &Pubkey,
        args: OpenDisputeArgs,
    ) -> Instruction {
        let accounts = accounts::OpenDispute {
            caller: *caller,
            payer: *payer,
            config: self.addresses.config(),
            agent: *agent,
            record: *record,
            dispute: self.addresses.dispute(record),
            caller_token: self.usdc_of(caller),
            escrow: self.addresses.escrow(agent),
            usdc_mint: self.usdc_mint,
            token_program: TOKEN_PROGRAM_ID,
            system_program: system_program::ID,
        };
        self.build(accounts, instruction::OpenDispute { args })
    }

    pub fn answer_dispute(
        &self,
        creator: &Pubkey,
        agent: &Pubkey,
        record: &Pubkey,
        args: AnswerDisputeArgs,
    ) -> Instruction {
        let dispute = self.addresses.dispute(record);
        let accounts = accounts::AnswerDispute { creator: *creator, agent: *agent, record: *record, dispute };
        self.build(accounts, instruction::AnswerDispute { args })
    }

    /// The bond goes to the caller, or to the creator if the resolver finds the dispute abusive.
    pub fn resolve_dispute(
        &self,
        resolver: &Pubkey,
        disputed: &Disputed,
        insurance_owner: &Pubkey,
        args: ResolveDisputeArgs,
    ) -> Instruction {
        let Disputed { agent, record, caller, creator } = disputed;
        let abusive = args.decision == DisputeDecision::Abusive;
        let accounts = accounts::ResolveDispute {
            resolver: *resolver,
            config: self.addresses.config(),
            agent: *agent,
            record: *record,
            dispute: self.addresses.dispute(record),
            collateral_vault: self.addresses.collateral(agent),
            escrow: self.addresses.escrow(agent),
            bond_token: self.usdc_of(if abusive { creator } else { caller }),
            caller_token: self.usdc_of(caller),
            insurance_token: self.usdc_of(insurance_owner),
            usdc_mint: self.usdc_mint,
            token_program: TOKEN_PROGRAM_ID,
        };
        self.build(accounts, instruction::ResolveDispute { args })
    }

    /// The caller gives the dispute up.
    pub fn cancel_dispute(&self, caller: &Pubkey, agent: &Pubkey, record: &Pubkey) -> Instruction {
        let accounts = accounts::CancelDispute {
            caller: *caller,
            config: self.addresses.config(),
            agent: *agent,
            record: *record,
            dispute: self.addresses.dispute(record),
            escrow: self.addresses.escrow(agent),
            caller_token: self.usdc_of(caller),
            usdc_mint: self.usdc_mint,
            token_program: TOKEN_PROGRAM_ID,
        };
        self.build(accounts, instruction::CancelDispute {})
    }

    /// Anybody may send it, when the resolver's time is over. `caller_token`: a USDC account of the caller, who gets the
    /// bond back.
    pub fn expire_dispute(&self, agent: &Pubkey, record: &Pubkey, caller_token: &Pubkey) -> Instruction {
        let accounts = accounts::ExpireDispute {
            config: self.addresses.config(),
            agent: *agent,
            record: *record,
            dispute: self.addresses.dispute(record),
            escrow: self.addresses.escrow(agent),
            collateral_vault: self.addresses.collateral(agent),
            caller_token: *caller_token,
            usdc_mint: self.usdc_mint,
            token_program: TOKEN_PROGRAM_ID,
        };
        self.build(accounts, instruction::ExpireDispute {})
    }

    /// Anybody may send it, when nothing can happen to the record any more. `dispute_rent_payer` is who
    /// paid the dispute's rent; without a dispute it can be any account.
    pub fn close_execution(&self, record: &Pubkey, rent_payer: &Pubkey, dispute_rent_payer: &Pubkey) -> Instruction {
        let accounts = accounts::CloseExecution {
            record: *record,
            rent_payer: *rent_payer,
            dispute: self.addresses.dispute(record),
            dispute_rent_payer: *dispute_rent_payer,
            event_authority: event_authority_address(&self.addresses.program_id()),
            program: self.addresses.program_id(),
        };
        self.build(accounts, instruction::CloseExecution {})
    }
}

impl Opening {
    fn args(&self) -> OpenExecutionArgs {
        OpenExecutionArgs {
            execution_id: self.execution_id,
            request_hash: self.request_hash,
            max_amount: self.max_amount,
            terms_hash: self.terms_hash,
            min_cover: self.min_cover,
        }
    }
}

/// Signs the program's events.
pub fn event_authority_address(program: &Pubkey) -> Pubkey {
    Pubkey::find_program_address(&[b"__event_authority"], program).0
}

/// Where the upgradeable loader stores a program's bytes and its upgrade authority.
pub fn program_data_address(program: &Pubkey) -> Pubkey {
    Pubkey::find_program_address(&[program.as_ref()], &bpf_loader_upgradeable::ID).0
}

/// Limit of compute units of the transaction. It goes first, because nothing may come between the proof and
/// the settlement.
pub fn compute_unit_limit(units: u32) -> Instruction {
    ComputeBudgetInstruction::set_compute_unit_limit(units)
}

/// Priority fee per compute unit, in millionths of a lamport.
pub fn compute_unit_price(micro_lamports: u64) -> Instruction {
    ComputeBudgetInstruction::set_compute_unit_price(micro_lamports)
}

/// The one shape of Ed25519 instruction that the program accepts: one signature, everything in the
/// instruction itself, no accounts.
fn ed25519_instruction(key: &Pubkey, message: &[u8], signature: &[u8; 64]) -> Instruction {
    // Both messages are shorter than 256 bytes.
    let size = u8::try_from(message.len()).unwrap_or(u8::MAX);
    let data = [ed25519_gate::header(size).as_slice(), key.as_ref(), signature, message].concat();
    Instruction { program_id: ed25519_gate::ED25519_PROGRAM_ID, accounts: Vec::new(), data }
}

#[cfg(test)]
mod tests {
    use solana_hash::Hash;
    use solana_keypair::Keypair;
    use solana_signer::Signer;

    use super::*;
    use crate::transaction::{MAX_TRANSACTION_BYTES, RecentBlockhash, SignedTransaction};

    fn instructions() -> Instructions {
        Instructions::new(Addresses::new(agent_marketplace::ID), Pubkey::new_from_array([6; 32]))
    }

    fn size(instructions: &[Instruction], signers: &[&Keypair]) -> usize {
        let blockhash = RecentBlockhash { hash: Hash::new_from_array([9; 32]), last_valid_block_height: 1 };
        SignedTransaction::sign(instructions, signers, blockhash).expect("signs").bytes.len()
    }

    fn settlement() -> Settlement {
        Settlement {
            agent: Pubkey::new_unique(),
            opening: OpeningId { record: Pubkey::new_unique().to_bytes(), opened_at_unix_s: 0x0102 },
            rent_payer: Pubkey::new_unique(),
            creator_token: Pubkey::new_unique(),
            treasury_token: Pubkey::new_unique(),
            result_key: Pubkey::new_unique(),
            result_hash: ResultHash::of(b"result"),
            binding: true,
            signature: [7; 64],
            execution_time_ms: 5,
            tokens_used: Some(9),
        }
    }

    #[test]
    fn both_transactions_of_a_paid_call_fit_a_packet_with_fees_set() {
        let (gateway, session, wallet) = (Keypair::new(), Keypair::new(), Pubkey::new_unique());
        let opening = Opening {
            agent: Pubkey::new_unique(),
            execution_id: [1; 16],
            request_hash: [2; 32],
            max_amount: u64::MAX,
            terms_hash: Some([3; 32]),
            min_cover: 1,
        };
        let open = instructions().open_execution_with_grant(&wallet, &session.pubkey(), &gateway.pubkey(), &opening);
        let open = size(&[compute_unit_limit(1), compute_unit_price(1), open], &[&gateway, &session]);
        let [proof, complete] = instructions().complete_execution(&gateway.pubkey(), &settlement());
        let complete = size(&[compute_unit_limit(1), compute_unit_price(1), proof, complete], &[&gateway]);
        assert!(open <= MAX_TRANSACTION_BYTES && complete <= MAX_TRANSACTION_BYTES, "{open} {complete}");
    }

    #[test]
    fn the_proof_stands_directly_before_the_settlement_and_has_the_one_accepted_shape() {
        for (binding, length) in [(false, 71), (true, 126)] {
            let settlement = Settlement { binding, ..settlement() };
            let [proof, complete] = instructions().complete_execution(&Pubkey::new_unique(), &settlement);
            assert_eq!(complete.program_id, agent_marketplace::ID);
            assert_eq!(proof.program_id, solana_sdk_ids::ed25519_program::ID);
            assert!(proof.accounts.is_empty());
            assert_eq!(proof.data.len(), 112 + usize::from(length));
            let this = 0xff;
            assert_eq!(proof.data[..16], [1, 0, 48, 0, this, this, 16, 0, this, this, 112, 0, length, 0, this, this]);
            assert_eq!(&proof.data[16..48], settlement.result_key.as_ref());
            assert_eq!(&proof.data[48..112], &settlement.signature);
            assert_eq!(proof.data[112..], settlement.signed_message());
            let text = settlement.result_hash.signed_text();
            let bound =
                [b"crtx-call-v2:".as_slice(), &settlement.opening.record, b":\x02\x01\0\0\0\0\0\0:", &text].concat();
            assert_eq!(settlement.signed_message(), if binding { bound } else { text.to_vec() });
        }
    }

    #[test]
    fn only_those_sign_who_have_to() {
        let (payer, session) = (Pubkey::new_unique(), Pubkey::new_unique());
        let opening = Opening {
            agent: Pubkey::new_unique(),
            execution_id: [1; 16],
            request_hash: [2; 32],
            max_amount: 1,
            terms_hash: None,
            min_cover: 0,
        };
        let open = instructions().open_execution_with_grant(&Pubkey::new_unique(), &session, &payer, &opening);
        let signers: Vec<Pubkey> = open.accounts.iter().filter(|a| a.is_signer).map(|a| a.pubkey).collect();
        assert_eq!(signers, [session, payer]);
    }
}
