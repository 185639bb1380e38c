//! The program itself: every step as a transaction.

use crate::*;
use agent_marketplace::{instructions as ix, state::*};
use crtx_protocol::{
    call_text::OpeningId,
    terms::{MarketTerms, Terms},
};
use ed25519_dalek::SigningKey;
use proptest_state_machine::StateMachineTest;
use sha2::{Digest, Sha256};

use super::{
    governance::Parameters,
    model::{AGENTS, CALLERS, Holdings, Model, ModelExecution, Totals},
    steps::{Agreed, How, Payee, Payer, Reported, Statement, Step, To, Who},
};

/// A world in LiteSVM and what a scenario created in it.
pub struct Marketplace {
    pub world: World,
    agents: Vec<Agent>,
    /// Hash of the terms with which each agent was listed.
    listed_with: Vec<[u8; 32]>,
    callers: Vec<Actor>,
    /// A second USDC account of each caller.
    elsewhere: Vec<solana_address::Address>,
    executions: Vec<Execution>,
}

impl Marketplace {
    fn start() -> Self {
        let mut world = World::new();
        let second = world.listed();
        let agents = vec![world.agent.clone(), second];
        let callers = vec![world.caller.clone(), world.new_actor()];
        let elsewhere = callers.iter().map(|caller| world.new_token_account(&caller.key(), PURSE)).collect();
        let mut this = Self { world, agents, listed_with: vec![], callers, elsewhere, executions: vec![] };
        this.listed_with = this.agents.iter().map(|agent| this.present_terms(agent)).collect();
        this
    }

    /// Hash of the agent's terms, made from the fields of listing and configuration as any client makes it.
    fn present_terms(&self, agent: &Agent) -> [u8; 32] {
        let Some(listing) = self.world.try_state::<AgentListed>(&agent.address) else { return [0; 32] };
        let parameters = self.world.config().parameters;
        let terms = Terms {
            price: listing.price,
            timeout_seconds: listing.timeout_seconds,
            binding: listing.binding == 1,
            min_cover: listing.min_cover,
            result_key: listing.result_key.to_bytes(),
            metadata_hash: listing.metadata_hash,
            market: MarketTerms {
                fee_bps: parameters.fee_bps,
                max_penalty_multiple: parameters.max_penalty_multiple,
                dispute_window_s: parameters.dispute_window_s,
                settle_grace_s: parameters.settle_grace_s,
            },
        };
        Sha256::digest(terms.bytes()).into()
    }

    /// The actor of a step that is not about a certain agent or execution.
    fn governor(&self, who: Who) -> Actor {
        self.actor(who, &self.agents[0], &self.callers[0])
    }

    fn actor(&self, who: Who, agent: &Agent, caller: &Actor) -> Actor {
        match who {
            Who::Gateway => self.world.gateway.clone(),
            Who::Creator => agent.creator.clone(),
            Who::Caller => caller.clone(),
            Who::Stranger => self.world.stranger.clone(),
            Who::Admin => self.world.admin.clone(),
            Who::Resolver => self.world.resolver.clone(),
            Who::Treasury => self.world.treasury.clone(),
            Who::Insurance => self.world.insurance.clone(),
            Who::Guardian => self.world.guardian.clone(),
        }
    }

    /// Sends `instruction`; its first signer is replaced by `signer`.
    fn send_as(&mut self, before: &[Instruction], instruction: Instruction, signer: &Actor) -> bool {
        let all = [before, &[signed_by(instruction, signer)]].concat();
        self.world.send(&all, &[&signer.keypair]).is_ok()
    }

    fn take(&mut self, step: &Step) -> bool {
        match step {
            Step::Wait(seconds) => {
                self.world.set_time(self.world.now() + seconds);
                true
            }
            Step::Open { agent, payer, max_amount, agreed, min_cover } => {
                self.open(*agent, *payer, *max_amount, *agreed, *min_cover)
            }
            Step::Complete { execution, who, how } => {
                self.with(*execution, |this, execution| this.complete(execution, *who, *how))
            }
            Step::Fail { execution, who, reason, statement, payee } => self.with(*execution, |this, execution| {
                let refund = this.refund(execution, *payee);
                this.fail(execution, *who, *reason, *statement, &refund)
            }),
            Step::Refund { execution, wallet_signs, payee } => self.with(*execution, |this, execution| {
                let refund = this.refund(execution, *payee);
                let wallet = wallet_signs.then(|| execution.caller.key());
                let refund = this.world.instructions().refund_expired_execution(wallet.as_ref(), &refund);
                let signers: &[&Keypair] = if *wallet_signs { &[&execution.caller.keypair] } else { &[] };
                this.world.send(&[refund], signers).is_ok()
            }),
            Step::OpenDispute { execution, who } => self.with(*execution, |this, execution| {
                let dispute = this.world.open_dispute(execution);
                let signer = this.actor(*who, &execution.agent, &execution.caller);
                this.send_as(&[], dispute, &signer)
            }),
            Step::Answer { execution, who } => self.with(*execution, |this, execution| {
                let answer = this.world.answer_dispute(execution);
                let signer = this.actor(*who, &execution.agent, &execution.caller);
                this.send_as(&[], answer, &signer)
            }),
            Step::Resolve { execution, who, decision, slash, insured } => self.with(*execution, |this, execution| {
                let config = this.world.config();
                let payee = if *insured { config.insurance_owner } else { config.treasury_owner };
                let resolve = this.world.resolve_with(execution, World::resolve_args(*decision, *slash));
                let insurance_token = this.world.instructions().usdc_of(&payee);
                let resolve = forged(resolve, &[("insurance_token", insurance_token)]);
                let signer = this.actor(*who, &execution.agent, &execution.caller);
                this.send_as(&[], resolve, &signer)
            }),
            Step::CancelDispute { execution, who } => self.with(*execution, |this, execution| {
                let cancel = this.world.cancel_dispute(execution);
                let signer = this.actor(*who, &execution.agent, &execution.caller);
                this.send_as(&[], cancel, &signer)
            }),
            Step::ExpireDispute { execution } => self.with(*execution, |this, execution| {
                let expire = this.world.expire_dispute(execution);
                this.world.send(&[expire], &[]).is_ok()
            }),
            Step::ApplyRoles => {
                let apply = self.world.apply_roles();
                self.world.send(&[apply], &[]).is_ok()
            }
            Step::ApplyParameters => {
                let apply = self.world.apply_parameters();
                self.world.send(&[apply], &[]).is_ok()
            }
            Step::SetKey { agent, who } => self.set_key(*agent, *who),
            Step::List { agent, again } => self.list(*agent, *again),
            Step::CloseExecution { execution } => self.with(*execution, |this, execution| {
                let close = this.world.close_execution(execution);
                this.world.send(&[close], &[]).is_ok()
            }),
            Step::Dust { agent, escrow, amount } => self.dust(*agent, *escrow, *amount),
            other => self.take_signed(other),
        }
    }

    /// Steps of one signer and one instruction.
    fn take_signed(&mut self, step: &Step) -> bool {
        let caller = self.callers[0].clone();
        let world = &self.world;
        let (instruction, signer) = match step {
            Step::SetStatus { agent, who, active } => {
                let agent = &self.agents[*agent];
                let status = if *active { AgentStatus::Active } else { AgentStatus::Paused };
                (world.set_agent_status(agent, status), self.actor(*who, agent, &caller))
            }
            Step::SetPrice { agent, price } => {
                let edit = ix::UpdateListingArgs { price: Some(*price), ..Default::default() };
                (world.update_listing(&self.agents[*agent], edit), self.agents[*agent].creator.clone())
            }
            Step::Deposit { agent, amount } => {
                (world.deposit_collateral(&self.agents[*agent], *amount), self.agents[*agent].creator.clone())
            }
            Step::Delist { agent, who } => {
                let agent = &self.agents[*agent];
                (world.delist_agent(agent), self.actor(*who, agent, &caller))
            }
            Step::Withdraw { agent } => {
                (world.withdraw_collateral(&self.agents[*agent]), self.agents[*agent].creator.clone())
            }
            Step::CloseAgent { agent } => {
                (world.close_agent(&self.agents[*agent]), self.agents[*agent].creator.clone())
            }
            Step::Grant { per_call_cap, total_cap, daily_cap, seconds, only_second } => {
                let args = ix::GrantSpendingArgs {
                    session_key: world.session.pubkey(),
                    per_call_cap: *per_call_cap,
                    total_cap: *total_cap,
                    daily_cap: *daily_cap,
                    expires_at_unix_s: world.now() + seconds,
                    allowed_agents: if *only_second { vec![self.agents[1].address] } else { vec![] },
                };
                (world.grant_spending(args), caller)
            }
            Step::Revoke => (world.revoke_spending(), caller),
            Step::SetTimeout { agent, seconds } => {
                let edit = ix::UpdateListingArgs { timeout_seconds: Some(*seconds), ..Default::default() };
                (world.update_listing(&self.agents[*agent], edit), self.agents[*agent].creator.clone())
            }
            Step::SetBinding { agent, who, binding } => {
                let edit = ix::UpdateListingArgs { binding: Some(*binding), ..Default::default() };
                let agent = &self.agents[*agent];
                (world.update_listing(agent, edit), self.actor(*who, agent, &caller))
            }
            Step::SetCover { agent, who, min_cover } => {
                let edit = ix::UpdateListingArgs { min_cover: Some(*min_cover), ..Default::default() };
                let agent = &self.agents[*agent];
                (world.update_listing(agent, edit), self.actor(*who, agent, &caller))
            }
            Step::SetMetadata { agent, who, version } => {
                // The first version is the one of `World::list_args`.
                let metadata = ix::MetadataRef { hash: [0x11 + version; 32], uri: format!("https://m/{version}") };
                let edit = ix::UpdateListingArgs { metadata: Some(metadata), ..Default::default() };
                let agent = &self.agents[*agent];
                (world.update_listing(agent, edit), self.actor(*who, agent, &caller))
            }
            Step::Name { agent, name } => {
                let creator = self.agents[*agent].creator.clone();
                (world.upsert_creator_profile(&creator.key(), name), creator)
            }
            governed => self.governed(governed),
        };
        self.send_as(&[], instruction, &signer)
    }

    /// The admin's steps.
    fn governed(&self, step: &Step) -> (Instruction, Actor) {
        let world = &self.world;
        let key = |who: Option<Who>| who.map(|who| self.governor(who).key());
        let present = parameters_of(&world.config().parameters);
        if let Some((next, who)) = present.changed(step) {
            return (world.announce_parameters(Some(market_parameters(&next))), self.governor(who));
        }
        let (instruction, who) = match step {
            Step::SetPaused { who, openings, listings } => (world.set_paused_with(*openings, *listings), who),
            Step::Suspend { agent, who, suspended } => (world.suspend_agent(&self.agents[*agent], *suspended), who),
            Step::SetGuardian { who, guardian } => (world.set_guardian(&key(*guardian).unwrap_or_default()), who),
            Step::WithdrawParameters { who } => (world.announce_parameters(None), who),
            Step::SetGateway { who, gateway } => (world.set_gateway(&self.governor(*gateway).key()), who),
            Step::Verify { who, agent, name } => (world.verify_creator(&self.agents[*agent].creator.key(), *name), who),
            Step::Nominate { who, nominee } => (world.nominate_admin(&key(*nominee).unwrap_or_default()), who),
            Step::AcceptAdmin { who } => (world.accept_admin(&self.governor(*who).key()), who),
            Step::Announce { who, resolver, treasury, insurance } => {
                let (resolver, treasury_owner, insurance_owner) = (key(*resolver), key(*treasury), key(*insurance));
                let args = ix::AnnounceRolesArgs { resolver, treasury_owner, insurance_owner };
                (world.announce_roles_with(args), who)
            }
            Step::RemoveResolver { who } => (world.remove_resolver(), who),
            Step::Initialize => return (world.initialize_config(), world.upgrade_authority.clone()),
            other => unreachable!("{other:?} does not change the configuration"),
        };
        (instruction, self.governor(*who))
    }

    /// Lists the agent, with the next index if it is not listed.
    fn list(&mut self, agent: usize, again: bool) -> bool {
        let present = &self.agents[agent];
        let there = self.world.account(&present.address).is_some();
        let index = if again || there { present.index } else { present.index + 1 };
        let address = self.world.addresses.agent(&present.creator.key(), index);
        let next = Agent { index, address, ..present.clone() };
        let list = self.world.list_agent(&next, self.world.list_args(&next));
        let lists = self.send_as(&[], list, &next.creator);
        if lists {
            self.listed_with[agent] = self.present_terms(&next);
            self.agents[agent] = next;
        }
        lists
    }

    fn set_key(&mut self, agent: usize, who: Who) -> bool {
        let key = SigningKey::from_bytes(self.world.new_key().secret_bytes());
        let edited = &self.agents[agent];
        let signer = self.actor(who, edited, &self.callers[0]);
        let result_key = Some(key.verifying_key().to_bytes().into());
        let edit = ix::UpdateListingArgs { result_key, ..Default::default() };
        let edit = self.world.update_listing(edited, edit);
        let changed = self.send_as(&[], edit, &signer);
        if changed {
            self.agents[agent].result_key = key;
        }
        changed
    }

    fn with(&mut self, execution: usize, act: impl FnOnce(&mut Self, &Execution) -> bool) -> bool {
        match self.executions.get(execution).cloned() {
            Some(execution) => act(self, &execution),
            None => false,
        }
    }

    fn open(&mut self, agent: usize, payer: Payer, max_amount: u64, agreed: Agreed, min_cover: u8) -> bool {
        let mut execution = self.world.new_execution();
        execution.agent = self.agents[agent].clone();
        execution.caller = match payer {
            Payer::Caller(caller) | Payer::CallerElsewhere(caller) => self.callers[caller].clone(),
            Payer::Key => self.callers[0].clone(),
            Payer::Creator(creator) => self.agents[creator].creator.clone(),
        };
        execution.record = self.world.addresses.execution(&execution.caller.key(), &execution.id);
        let terms_hash = match agreed {
            Agreed::Any => None,
            Agreed::Present => Some(self.present_terms(&execution.agent)),
            Agreed::AtListing => Some(self.listed_with[agent]),
        };
        let opening = Opening { max_amount, terms_hash, min_cover, ..self.world.opening(&execution) };
        let (open, signer) = if payer.is_key() {
            (self.world.open_by_key_with(&execution, &opening), self.world.session.insecure_clone())
        } else {
            (self.world.open_with(&execution, &opening), execution.caller.keypair.insecure_clone())
        };
        let open = match payer {
            Payer::CallerElsewhere(caller) => forged(open, &[("caller_token", self.elsewhere[caller])]),
            _ => open,
        };
        let opened = self.world.send(&[open], &[&signer]).is_ok();
        if opened {
            self.executions.push(execution);
        }
        opened
    }

    fn refund(&self, execution: &Execution, payee: Payee) -> Refund {
        let world = &self.world;
        let caller = self.callers.iter().position(|caller| caller.key() == execution.caller.key());
        let refund_token = match (payee.to, caller) {
            (To::Associated, _) => execution.caller.token,
            (To::Elsewhere, Some(caller)) => self.elsewhere[caller],
            (To::Elsewhere | To::Stranger, _) => world.stranger.token,
        };
        let grant = payee.grant.then(|| world.addresses.grant(&self.callers[0].key(), &world.session.pubkey()));
        Refund { grant, refund_token, ..world.refund_of(execution) }
    }

    fn fail(
        &mut self,
        execution: &Execution,
        who: Who,
        reason: Reported,
        statement: Statement,
        refund: &Refund,
    ) -> bool {
        let (world, opening) = (&self.world, self.world.opening_id(execution));
        let key = &execution.agent.result_key;
        let reason = match reason {
            Reported::CreatorFailed => FailureReason::CreatorFailed,
            Reported::InvalidResponse => FailureReason::InvalidResponse,
            Reported::Timeout => FailureReason::Timeout,
            Reported::Interrupted => FailureReason::Interrupted,
        };
        let proof = match statement {
            Statement::None | Statement::Missing => None,
            Statement::Honest => Some(Proof::of_failure(key, &opening)),
            Statement::AnotherKey => Some(Proof::of_failure(&SigningKey::from_bytes(&[0x66; 32]), &opening)),
            Statement::ListingsKey => {
                let listed = self.agents.iter().find(|agent| agent.address == execution.agent.address);
                listed.map(|agent| Proof::of_failure(&agent.result_key, &opening))
            }
            Statement::AnotherCall => {
                let record = world.addresses.execution(&execution.caller.key(), &[0xee; 16]).to_bytes();
                Some(Proof::of_failure(key, &OpeningId { record, ..opening }))
            }
            Statement::AnotherOpening => {
                let opened_at_unix_s = opening.opened_at_unix_s - 1;
                Some(Proof::of_failure(key, &OpeningId { opened_at_unix_s, ..opening }))
            }
            Statement::OfResult => Some(world.proof(execution)),
        };
        let fail = world.instructions().fail_execution(&world.gateway.key(), refund, reason);
        let fail = if statement == Statement::None { fail } else { claiming_a_signature(fail) };
        let before: Vec<Instruction> = proof.iter().map(Proof::instruction).collect();
        let signer = self.actor(who, &execution.agent, &execution.caller);
        self.send_as(&before, fail, &signer)
    }

    fn complete(&mut self, execution: &Execution, who: Who, how: How) -> bool {
        let treasury_token = self.world.instructions().usdc_of(&self.world.config().treasury_owner);
        let mut settlement = Settlement { treasury_token, ..self.world.settlement(execution) };
        if how == How::TooManyTokens {
            settlement.tokens_used = Some(MAX_TOKENS_USED + 1);
        }
        let mut settle = self.world.complete_with(&settlement);
        match how {
            How::CreatorUnpaid => settle = forged(settle, &[("creator_token", self.world.stranger.token)]),
            How::TreasuryUnpaid => settle = forged(settle, &[("treasury_token", execution.agent.creator.token)]),
            How::RentToAnother => settle = forged(settle, &[("rent_payer", self.world.stranger.key())]),
            _ => {}
        }
        let bound = self.world.is_bound(execution);
        let opening = self.world.opening_id(execution);
        let signed_by = |key: &SigningKey, bound: bool, hash: &[u8; 32]| {
            if bound { Proof::bound(key, &opening, hash) } else { Proof::of(key, hash) }
        };
        let attacker = SigningKey::from_bytes(&[0x66; 32]);
        let proof = match how {
            How::WithoutProof => None,
            How::AnotherKey => Some(signed_by(&attacker, bound, &RESULT_HASH)),
            How::ListingsKey => {
                let listed = self.agents.iter().find(|agent| agent.address == execution.agent.address);
                listed.map(|agent| signed_by(&agent.result_key, bound, &RESULT_HASH))
            }
            How::AnotherHash => Some(signed_by(&execution.agent.result_key, bound, &[0xcd; 32])),
            How::OtherShape => Some(signed_by(&execution.agent.result_key, !bound, &RESULT_HASH)),
            How::AnotherCall => {
                let record = self.world.addresses.execution(&execution.caller.key(), &[0xee; 16]).to_bytes();
                let other = OpeningId { record, ..opening };
                Some(Proof::bound(&execution.agent.result_key, &other, &RESULT_HASH))
            }
            How::AnotherOpening => {
                let other = OpeningId { opened_at_unix_s: opening.opened_at_unix_s - 1, ..opening };
                Some(Proof::bound(&execution.agent.result_key, &other, &RESULT_HASH))
            }
            _ => Some(self.world.proof(execution)),
        };
        let before: Vec<Instruction> = proof.iter().map(Proof::instruction).collect();
        let signer = self.actor(who, &execution.agent, &execution.caller);
        self.send_as(&before, settle, &signer)
    }

    fn dust(&mut self, agent: usize, escrow: bool, amount: u64) -> bool {
        let addresses = self.world.addresses;
        let agent = self.agents[agent].address;
        let token = if escrow { addresses.escrow(&agent) } else { addresses.collateral(&agent) };
        let exists = self.world.account(&token).is_some();
        if exists {
            self.world.dust(&token, amount);
        }
        exists
    }

    fn holdings(&self) -> Holdings {
        let world = &self.world;
        let by_agent = |address: &dyn Fn(&Agent) -> solana_address::Address| -> [u64; AGENTS] {
            std::array::from_fn(|index| world.balance(&address(&self.agents[index])))
        };
        Holdings {
            callers: std::array::from_fn(|index| world.balance(&self.callers[index].token)),
            creators: by_agent(&|agent| agent.creator.token),
            escrows: by_agent(&|agent| world.addresses.escrow(&agent.address)),
            vaults: by_agent(&|agent| world.addresses.collateral(&agent.address)),
            elsewhere: std::array::from_fn::<_, CALLERS, _>(|index| world.balance(&self.elsewhere[index])),
            treasury: world.balance(&world.treasury.token),
            insurance: world.balance(&world.insurance.token),
            stranger: world.balance(&world.stranger.token),
        }
    }
}

impl StateMachineTest for Marketplace {
    type SystemUnderTest = Self;
    type Reference = Model;

    fn init_test(_: &Model) -> Self {
        Self::start()
    }

    fn apply(mut state: Self, model: &Model, step: Step) -> Self {
        assert_eq!(state.take(&step), model.succeeds, "{step:?}");
        state
    }

    fn check_invariants(state: &Self, model: &Model) {
        assert_eq!(state.holdings(), model.holdings);
        state.world.assert_invariants();
        for (execution, expected) in state.executions.iter().zip(&model.executions) {
            state.check_execution(execution, expected);
        }
        for index in 0..AGENTS {
            state.check_totals(index, model);
        }
        let grant = state.world.grant();
        let expected = &model.grant;
        assert_eq!((grant.spent, grant.spent_on_day), (expected.spent, expected.spent_on_day));
        assert_eq!((grant.day as i64, grant.daily_cap), (expected.day, expected.daily_cap));
        state.check_config(model);
    }
}

impl Marketplace {
    fn check_config(&self, model: &Model) {
        let (config, expected) = (self.world.config(), &model.config);
        assert_eq!(parameters_of(&config.parameters), expected.parameters);
        let key = |who: Option<Who>| who.map(|who| self.governor(who).key()).unwrap_or_default();
        for (role, who) in [
            (config.admin, Some(expected.admin)),
            (config.resolver, expected.resolver),
            (config.gateway_authority, Some(expected.gateway)),
            (config.treasury_owner, Some(expected.treasury)),
            (config.insurance_owner, Some(expected.insurance)),
            (config.guardian, expected.guardian),
        ] {
            assert_eq!(role, key(who), "{who:?}");
        }
        let paused = (config.openings_paused == 1, config.listings_paused == 1);
        assert_eq!(paused, (expected.openings_paused, expected.listings_paused));
    }

    fn check_execution(&self, execution: &Execution, expected: &ModelExecution) {
        let record: Option<ExecutionRecord> = self.world.try_state(&execution.record);
        assert_eq!(record.and_then(|record| record.status()), expected.status);
        // The rent of the terms is back as soon as the execution ends, and all of it when the record is closed.
        let bytes = match expected.status {
            Some(ExecutionStatus::Open) => Some(ExecutionRecord::OPEN_SPACE),
            Some(_) => Some(ExecutionRecord::SPACE),
            None => None,
        };
        let rent = bytes.map_or(0, |bytes| self.world.svm.minimum_balance_for_rent_exemption(bytes));
        assert_eq!(self.world.lamports(&execution.record), rent);
        let Some(record) = record else { return };
        let settler = expected.settled_by.map(|who| match who {
            Who::Caller => Settler::Caller,
            Who::Creator => Settler::Creator,
            _ => Settler::Gateway,
        });
        assert_eq!(record.settled_by(), settler);
        assert_eq!((record.binding == 1, i64::from(record.execution_time_ms)), (expected.binding, expected.time_ms));
    }

    /// What the listing and the profile count, and what the profile says.
    fn check_totals(&self, index: usize, model: &Model) {
        let (agent, expected) = (&self.agents[index], &model.agents[index]);
        let listing: Option<AgentListed> = self.world.try_state(&agent.address);
        assert_eq!(listing.is_some(), expected.exists);
        if let Some(listing) = listing {
            let totals = Totals {
                completed: listing.completed_executions,
                successful: listing.successful_executions,
                failed: listing.failed_executions,
                unproved: listing.unproved_failures,
                expired: listing.expired_executions,
                disputed: listing.disputed_executions,
                slashed: listing.slashed_total,
                fees: listing.platform_fees_total,
            };
            assert_eq!(totals, expected.totals);
            assert_eq!(listing.total_executions, totals.completed + totals.failed);
            assert_eq!(listing.disputed_amount, expected.claimed);
            let timed = (listing.timed_executions, listing.execution_time_ms_total as i64);
            assert_eq!((timed, listing.suspended == 1), ((expected.timed, expected.time_ms), expected.suspended));
            let slashable = model.slashable(index);
            assert_eq!((listing.slashable_amount, listing.min_cover), (slashable, expected.terms.min_cover));
        }
        let (profile, expected) = (self.world.profile(&agent.creator.key()), &model.profiles[index]);
        let closed = Totals {
            completed: profile.closed.completed_executions,
            successful: profile.closed.successful_executions,
            failed: profile.closed.failed_executions,
            unproved: profile.closed.unproved_failures,
            expired: profile.closed.expired_executions,
            disputed: profile.closed.disputed_executions,
            slashed: profile.closed.slashed_total,
            fees: profile.closed.platform_fees_total,
        };
        assert_eq!((profile.closed.agents, closed), (expected.closed_agents, expected.closed));
        assert_eq!(profile.next_agent_index, model.agents[index].index + 1);
        assert_eq!((profile.display_name(), profile.verified == 1), (Some(expected.name), expected.verified));
    }
}

/// The parameters as the model writes them.
fn parameters_of(parameters: &MarketParameters) -> Parameters {
    let lowest_tier = MarketParameters::DEFAULT.collateral_tiers[0].collateral;
    Parameters {
        fee_bps: parameters.fee_bps,
        window: parameters.dispute_window_s,
        grace: parameters.settle_grace_s,
        tiers_factor: parameters.collateral_tiers[0].collateral / lowest_tier,
        min_price: parameters.min_price,
        penalty_limit: parameters.max_penalty_multiple,
        bond: parameters.dispute_bond,
    }
}

fn market_parameters(parameters: &Parameters) -> MarketParameters {
    let mut collateral_tiers = MarketParameters::DEFAULT.collateral_tiers;
    collateral_tiers.iter_mut().for_each(|tier| tier.collateral *= parameters.tiers_factor);
    MarketParameters {
        min_price: parameters.min_price,
        dispute_window_s: parameters.window,
        settle_grace_s: parameters.grace,
        collateral_tiers,
        fee_bps: parameters.fee_bps,
        max_penalty_multiple: parameters.penalty_limit,
        dispute_bond: parameters.bond,
    }
}
