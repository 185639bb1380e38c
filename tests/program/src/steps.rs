//! The common steps of a test: a configured world, and each step of a call by its usual actor.

use agent_marketplace::{
    instructions as args,
    state::{Config, ExecutionStatus, FailureReason, MarketParameters},
};
use ed25519_dalek::SigningKey;
use litesvm::types::TransactionResult;
use solana_instruction::Instruction;
use solana_signer::Signer;

use crate::{
    expect::assert_ok,
    forge::signed_by,
    people::{Agent, Execution, START_UNIX_S, USDC},
    world::World,
};

impl World {
    /// A configured deployment with one active agent, a funded caller and a grant for its API key.
    pub fn new() -> Self {
        Self::with_seed(0)
    }

    pub fn with_seed(seed: u64) -> Self {
        let mut world = Self::bare(seed);
        let initialize = world.initialize_config();
        world.must(&[initialize], &[&world.upgrade_authority.keypair.insecure_clone()]);
        let agent = world.agent.clone();
        world.list(&agent, world.list_args(&agent));
        let approve = world.approve_spender(u64::MAX);
        let grant = world.grant_spending(args::GrantSpendingArgs {
            session_key: world.session.pubkey(),
            per_call_cap: USDC,
            total_cap: 100 * USDC,
            daily_cap: 0,
            expires_at_unix_s: START_UNIX_S + 30 * 24 * 3_600,
            allowed_agents: vec![],
        });
        world.must(&[approve, grant], &[&world.caller.keypair.insecure_clone()]);
        world
    }

    /// An agent of a creator of its own, not listed yet.
    pub fn new_agent(&mut self) -> Agent {
        let creator = self.new_actor();
        let result_key = SigningKey::from_bytes(self.new_key().secret_bytes());
        Agent { address: self.addresses.agent(&creator.key(), 0), creator, index: 0, result_key }
    }

    #[track_caller]
    pub fn list(&mut self, agent: &Agent, args: args::ListAgentArgs) {
        let list = self.list_agent(agent, args);
        self.must(&[list], &[&agent.creator.keypair]);
    }

    /// A second agent, listed as the first one.
    #[track_caller]
    pub fn listed(&mut self) -> Agent {
        let agent = self.new_agent();
        self.list(&agent, self.list_args(&agent));
        agent
    }

    /// An execution of the world's caller and agent, not opened yet.
    pub fn new_execution(&mut self) -> Execution {
        let id = self.new_execution_id();
        let caller = self.caller.clone();
        Execution { id, record: self.addresses.execution(&caller.key(), &id), caller, agent: self.agent.clone() }
    }

    /// Opens an execution, signed by its caller.
    pub fn open(&mut self, execution: &Execution) -> TransactionResult {
        let open = self.open_execution(execution);
        self.send(&[open], &[&execution.caller.keypair])
    }

    /// Opens an execution with the API key alone.
    pub fn open_with_grant(&mut self, execution: &Execution) -> TransactionResult {
        let open = self.open_execution_with_grant(execution);
        self.send(&[open], &[&self.session.insecure_clone()])
    }

    /// A freshly opened execution of the world's caller and agent.
    #[track_caller]
    pub fn opened(&mut self) -> Execution {
        let execution = self.new_execution();
        assert_ok(self.open(&execution));
        execution
    }

    /// The gateway settles, with any instructions in front of the settlement.
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
        assert_ok(self.complete(&execution));
        execution
    }

    /// The gateway reports a failure, which it cannot prove.
    pub fn fail(&mut self, execution: &Execution) -> TransactionResult {
        let fail = self.fail_execution(execution, FailureReason::CreatorFailed);
        self.send(&[fail], &[&self.gateway.keypair.insecure_clone()])
    }

    /// The creator reports a failure, which counts.
    pub fn fail_by_creator(&mut self, execution: &Execution) -> TransactionResult {
        let creator = execution.agent.creator.clone();
        let fail = signed_by(self.fail_execution(execution, FailureReason::CreatorFailed), &creator);
        self.send(&[fail], &[&creator.keypair])
    }

    /// The gateway reports a failure, with any instructions in front of the report.
    pub fn fail_signed_after(&mut self, before: &[Instruction], execution: &Execution) -> TransactionResult {
        let mut instructions = before.to_vec();
        instructions.push(self.fail_signed_execution(execution));
        self.send(&instructions, &[&self.gateway.keypair.insecure_clone()])
    }

    /// The gateway reports a failure that the result key signed.
    pub fn fail_signed(&mut self, execution: &Execution) -> TransactionResult {
        let proof = self.failure_proof(execution).instruction();
        self.fail_signed_after(&[proof], execution)
    }

    /// Anybody asks for the refund.
    pub fn refund(&mut self, execution: &Execution) -> TransactionResult {
        let refund = self.refund_expired_execution(execution);
        self.send(&[refund], &[])
    }

    /// Moves time past the execution's deadline.
    pub fn expire(&mut self, execution: &Execution) {
        self.set_time(self.terms(execution).deadline_unix_s + 1);
    }

    /// A completed execution that its caller disputes.
    #[track_caller]
    pub fn disputed(&mut self) -> Execution {
        let execution = self.completed();
        let dispute = self.open_dispute(&execution);
        self.must(&[dispute], &[&execution.caller.keypair]);
        assert_eq!(self.status(&execution), ExecutionStatus::Disputed);
        execution
    }

    /// A disputed execution whose creator answered, so that the resolver may decide at once.
    #[track_caller]
    pub fn answered(&mut self) -> Execution {
        let execution = self.disputed();
        self.answer(&execution);
        execution
    }

    /// The creator answers the dispute.
    #[track_caller]
    pub fn answer(&mut self, execution: &Execution) {
        let answer = self.answer_dispute(execution);
        self.must(&[answer], &[&execution.agent.creator.keypair]);
    }

    /// The creator answers, and the resolver upholds the dispute.
    #[track_caller]
    pub fn uphold(&mut self, execution: &Execution, slash: u64) -> TransactionResult {
        self.answer(execution);
        self.resolve(execution, true, slash)
    }

    /// The resolver decides.
    pub fn resolve(&mut self, execution: &Execution, upheld: bool, slash: u64) -> TransactionResult {
        let resolve = self.resolve_dispute(execution, upheld, slash);
        self.send(&[resolve], &[&self.resolver.keypair.insecure_clone()])
    }
}

impl World {
    /// Hash of the agent's terms as they are now.
    #[track_caller]
    pub fn terms_hash(&self, agent: &Agent) -> [u8; 32] {
        self.listing(agent).terms_hash(self.config().parameters.market_terms())
    }

    /// The admin stops new openings of one listing, or resumes them.
    #[track_caller]
    pub fn suspend(&mut self, agent: &Agent, suspended: bool) {
        let suspend = self.suspend_agent(agent, suspended);
        self.must(&[suspend], &[&self.admin.keypair.insecure_clone()]);
    }

    /// The admin announces changed parameters. Moves time to the second in which they can be applied.
    #[track_caller]
    pub fn announced_parameters(&mut self, change: impl FnOnce(&mut MarketParameters)) {
        let mut parameters = self.config().parameters;
        change(&mut parameters);
        let announce = self.announce_parameters(Some(parameters));
        self.must(&[announce], &[&self.admin.keypair.insecure_clone()]);
        self.set_time(self.now() + Config::PARAMETERS_DELAY_S);
    }

    /// Announced parameters take effect.
    #[track_caller]
    pub fn applied_parameters(&mut self) {
        let apply = self.apply_parameters();
        self.must(&[apply], &[]);
    }

    /// The admin changes parameters, which takes seven days.
    #[track_caller]
    pub fn changed_parameters(&mut self, change: impl FnOnce(&mut MarketParameters)) {
        self.announced_parameters(change);
        self.applied_parameters();
    }

    /// The agent's creator changes whether results are signed for the call.
    #[track_caller]
    pub fn bind(&mut self, agent: &Agent, binding: bool) {
        let edit = args::UpdateListingArgs { binding: Some(binding), ..Default::default() };
        let edit = self.update_listing(agent, edit);
        self.must(&[edit], &[&agent.creator.keypair]);
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}
