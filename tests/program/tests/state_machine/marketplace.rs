//! The program itself: every step as a transaction.

use agent_marketplace::{instructions as ix, state::*};
use crtx_program_tests::*;
use ed25519_dalek::SigningKey;
use proptest_state_machine::StateMachineTest;

use crate::{
    model::{AGENTS, Holdings, Model},
    steps::{How, Step, Who},
};

/// A world in LiteSVM and what a scenario created in it.
pub struct Marketplace {
    world: World,
    agents: Vec<Agent>,
    callers: Vec<Actor>,
    executions: Vec<Execution>,
}

impl Marketplace {
    fn start() -> Self {
        let mut world = World::new();
        let second = world.listed();
        let agents = vec![world.agent.clone(), second];
        let callers = vec![world.caller.clone(), world.new_actor()];
        Self { world, agents, callers, executions: vec![] }
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
            Step::Open { agent, caller, key, max_amount } => self.open(*agent, *caller, *key, *max_amount),
            Step::Complete { execution, who, how } => {
                self.with(*execution, |this, execution| this.complete(execution, *who, *how))
            }
            Step::Fail { execution, who } => self.with(*execution, |this, execution| {
                let fail = this.world.fail_execution(execution, FailureReason::InvalidResponse);
                let signer = this.actor(*who, &execution.agent, &execution.caller);
                this.send_as(&[], fail, &signer)
            }),
            Step::Refund { execution, to_stranger } => self.with(*execution, |this, execution| {
                let mut refund = this.world.refund_expired_execution(execution);
                if *to_stranger {
                    refund = forged(refund, &[("refund_token", this.world.stranger.token)]);
                }
                this.world.send(&[refund], &[]).is_ok()
            }),
            Step::OpenDispute { execution, who } => self.with(*execution, |this, execution| {
                let dispute = this.world.open_dispute(execution);
                let signer = this.actor(*who, &execution.agent, &execution.caller);
                this.send_as(&[], dispute, &signer)
            }),
            Step::Resolve { execution, who, upheld, slash } => self.with(*execution, |this, execution| {
                let treasury_token = this.world.instructions().usdc_of(&this.world.config().treasury_owner);
                let resolve = this.world.resolve_dispute(execution, *upheld, *slash);
                let resolve = forged(resolve, &[("treasury_token", treasury_token)]);
                let signer = this.actor(*who, &execution.agent, &execution.caller);
                this.send_as(&[], resolve, &signer)
            }),
            Step::ExpireDispute { execution } => self.with(*execution, |this, execution| {
                let expire = this.world.expire_dispute(execution);
                this.world.send(&[expire], &[]).is_ok()
            }),
            Step::ApplyRoles => {
                let apply = self.world.apply_roles();
                self.world.send(&[apply], &[]).is_ok()
            }
            Step::SetKey { agent, who } => self.set_key(*agent, *who),
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
            Step::Grant { per_call_cap, total_cap, seconds, only_second } => {
                let args = ix::GrantSpendingArgs {
                    session_key: world.session.pubkey(),
                    per_call_cap: *per_call_cap,
                    total_cap: *total_cap,
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
            Step::List { agent } => {
                let agent = &self.agents[*agent];
                (world.list_agent(agent, world.list_args(agent)), agent.creator.clone())
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
        let none = ix::UpdateConfigArgs::default();
        let (instruction, who) = match step {
            Step::SetPaused { who, paused } => (world.set_paused(*paused), who),
            Step::SetFee { who, bps } => {
                (world.update_config(ix::UpdateConfigArgs { fee_bps: Some(*bps), ..none }), who)
            }
            Step::SetWindow { who, seconds } => {
                (world.update_config(ix::UpdateConfigArgs { dispute_window_s: Some(*seconds), ..none }), who)
            }
            Step::SetGrace { who, seconds } => {
                (world.update_config(ix::UpdateConfigArgs { settle_grace_s: Some(*seconds), ..none }), who)
            }
            Step::SetTiers { who, factor } => {
                let mut tiers = Config::DEFAULT_COLLATERAL_TIERS;
                tiers.iter_mut().for_each(|tier| tier.collateral *= factor);
                (world.update_config(ix::UpdateConfigArgs { collateral_tiers: Some(tiers), ..none }), who)
            }
            Step::SetGateway { who, gateway } => {
                let args = ix::UpdateConfigArgs { gateway_authority: key(Some(*gateway)), ..none };
                (world.update_config(args), who)
            }
            Step::Verify { who, agent, verified } => {
                (world.verify_creator(&self.agents[*agent].creator.key(), *verified), who)
            }
            Step::Nominate { who, nominee } => (world.nominate_admin(&key(*nominee).unwrap_or_default()), who),
            Step::AcceptAdmin { who } => (world.accept_admin(&self.governor(*who).key()), who),
            Step::Announce { who, resolver, treasury } => (world.announce_roles(key(*resolver), key(*treasury)), who),
            Step::RemoveResolver { who } => (world.remove_resolver(), who),
            Step::Initialize => return (world.initialize_config(), world.upgrade_authority.clone()),
            other => unreachable!("{other:?} does not change the configuration"),
        };
        (instruction, self.governor(*who))
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

    fn open(&mut self, agent: usize, caller: usize, key: bool, max_amount: u64) -> bool {
        let mut execution = self.world.new_execution();
        execution.agent = self.agents[agent].clone();
        execution.caller = self.callers[if key { 0 } else { caller }].clone();
        execution.record = self.world.addresses.execution(&execution.caller.key(), &execution.id);
        let opening = Opening { max_amount, ..self.world.opening(&execution) };
        let (open, signer) = if key {
            (self.world.open_by_key_with(&execution, &opening), self.world.session.insecure_clone())
        } else {
            (self.world.open_with(&execution, &opening), execution.caller.keypair.insecure_clone())
        };
        let opened = self.world.send(&[open], &[&signer]).is_ok();
        if opened {
            self.executions.push(execution);
        }
        opened
    }

    fn complete(&mut self, execution: &Execution, who: Who, how: How) -> bool {
        let treasury_owner = self.world.config().treasury_owner;
        let settlement = Settlement { treasury_owner, ..self.world.settlement(execution) };
        let mut settle = self.world.complete_with(&settlement);
        match how {
            How::CreatorUnpaid => settle = forged(settle, &[("creator_token", self.world.stranger.token)]),
            How::TreasuryUnpaid => settle = forged(settle, &[("treasury_token", execution.agent.creator.token)]),
            _ => {}
        }
        let attacker = SigningKey::from_bytes(&[0x66; 32]);
        let proof = match how {
            How::WithoutProof => None,
            How::AnotherKey => Some(Proof::of(&attacker, &RESULT_HASH)),
            How::ListingsKey => {
                let listed = self.agents.iter().find(|agent| agent.address == execution.agent.address);
                listed.map(|agent| Proof::of(&agent.result_key, &RESULT_HASH))
            }
            How::AnotherHash => Some(Proof::of(&execution.agent.result_key, &[0xcd; 32])),
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
            treasury: world.balance(&world.treasury.token),
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
            let record: Option<ExecutionRecord> = state.world.try_state(&execution.record);
            assert_eq!(record.and_then(|record| record.status()), expected.status);
        }
    }
}
