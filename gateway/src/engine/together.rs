//! Opens, settles and refunds executions together, in one transaction, so that they share the network's fee for it.
//!
//! While few calls are under way, what comes first goes alone and waits for nothing ([`super::windows`]). Only a transaction
//! that passes a simulation is stored and sent, so that an instruction that the chain would refuse takes no other one along;
//! if it does not pass, each goes alone. A transaction is stored for all of its executions or for none, and sent once; each
//! execution follows its outcome by itself, as if the transaction were its own.

use std::time::Duration;

use crtx_chain::{
    Budget, RecentBlockhash, SignError, SignedTransaction, Simulation, VERSION_1_FEATURE, simulate::Refused,
};
use crtx_http::Caller;
use crtx_protocol::transaction::Outcome;
use crtx_store::executions::{Call, Delivered, ExecutionsError, Lease, TransactionKind};
use futures::future::join_all;
use moka::sync::Cache;
use solana_instruction::Instruction;
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;
use solana_signer::Signer;
use solana_transaction_error::TransactionError;
use tokio::{sync::oneshot, time::timeout};
use tracing::Instrument;

use super::{
    Engine,
    dispatch::SIGNING_PATIENCE,
    ended::EngineError,
    opening::OPEN_UNITS,
    refund::refund_to,
    transactions::{SETTLE_UNITS, span_of, stored},
    windows::Windows,
    work::Work,
};
use crate::admission::gate::Holder;

/// Compute units that a transaction may ask for, with room for the random part of a budget.
const MOST_UNITS: u32 = 1_390_000;
/// A transaction runs at most 64 instructions; an opening is one and calls two.
const MOST_OPENINGS: usize = 21;
/// So many settlements of one agent, with their proofs, are as long as a transaction of version 1 may be.
const MOST_SETTLEMENTS: usize = 10;
/// So many refunds run within the units that a transaction may ask for.
const MOST_REFUNDS: usize = 23;
/// How long a node may take to say that a transaction would succeed.
const SIMULATION_PATIENCE: Duration = Duration::from_millis(500);
/// How long an agent whose settlement, or a wallet whose refund the chain refused is served alone.
const ALONE_FOR: Duration = Duration::from_secs(600);
const MOST_ALONE: u64 = 10_000;
/// How long the answer counts whether the network has transactions of version 1.
const ASK_AGAIN_AFTER: Duration = Duration::from_secs(600);

pub(crate) struct Together {
    /// Openings of one wallet's key at one agent: nobody else's settings can make them fail.
    openings: Windows<[Pubkey; 3], Stored>,
    settlements: Windows<(), Settling>,
    refunds: Windows<(), Stored>,
    alone: Cache<Pubkey, ()>,
    has_version_1: Cache<(), bool>,
}

/// An execution that waits for others.
struct Waiting<T, Answer> {
    lease: Lease,
    /// The agent or wallet that is served alone for a while if the chain refuses this.
    party: Option<Pubkey>,
    /// What it offers for a compute unit.
    unit_price: u64,
    /// Built once: their addresses cost more than everything else in a group.
    instructions: Vec<Instruction>,
    what: T,
    answer: oneshot::Sender<Answer>,
}

/// One whose state is stored already: only its transaction is missing.
type Stored = Waiting<(), Option<Shared>>;
/// One whose result is not stored yet.
type Settling = Waiting<Delivered, Joined>;

/// A stored transaction that is sent once for several executions, and what will be its outcome.
pub(super) type Shared = (SignedTransaction, oneshot::Receiver<Outcome>);

/// What became of a result that was to be settled with others.
pub(super) enum Joined {
    /// Nothing is stored.
    Alone,
    /// The result is stored, and has to be settled alone.
    Stored,
    /// The result and its settlement are stored.
    Together(Shared),
}

impl Together {
    pub fn new(window: Duration) -> Self {
        Self {
            openings: Windows::new(window, MOST_OPENINGS),
            settlements: Windows::new(window, MOST_SETTLEMENTS),
            refunds: Windows::new(window, MOST_REFUNDS),
            alone: Cache::builder().max_capacity(MOST_ALONE).time_to_live(ALONE_FOR).build(),
            has_version_1: Cache::builder().time_to_live(ASK_AGAIN_AFTER).build(),
        }
    }

    /// The chain refused a settlement of this agent, or a refund of this wallet.
    pub fn serve_alone(&self, party: Pubkey) {
        self.alone.insert(party, ());
    }
}

/// Openings of one key at one agent gather.
fn kind_of(call: &Call, caller: &Caller) -> [Pubkey; 3] {
    [caller.wallet, caller.session_key, call.agent]
}

/// Openings of one key.
impl Engine {
    /// Whether it is clear before the simulation that the opening goes alone: no other call of its wallet is under way.
    /// Others that follow gather behind it.
    pub(super) fn opens_alone(&self, call: &Call, caller: &Caller) -> bool {
        let calls = self.gate.calls(&Holder::Wallet(caller.wallet));
        calls == 1 && self.together.openings.goes_first(kind_of(call, caller), calls)
    }

    /// `None`: the opening goes alone.
    pub(super) async fn open_with_others(&self, work: &Work, caller: &Caller, opening: Instruction) -> Option<Shared> {
        let (lease, agent) = (work.lease, work.call.agent);
        let kind = kind_of(&work.call, caller);
        let calls = || self.gate.calls(&Holder::Wallet(caller.wallet));
        let unit_price = self.unit_price(&agent, None);
        let waiting =
            |answer| Waiting { lease, party: None, unit_price, instructions: vec![opening], what: (), answer };
        let open = async |all| {
            let session = Keypair::new_from_array(caller.key.session_signing_key().to_bytes());
            let (signers, patience) = ([&*self.config.keypair, &session], self.config.limits.open_patience);
            self.share(all, TransactionKind::Open, OPEN_UNITS, &signers, patience).await;
        };
        self.together.openings.join(kind, calls, waiting, open).await?.ok().flatten()
    }
}

/// Refunds.
impl Engine {
    /// `None`: the refund goes alone.
    pub(super) async fn refund_with_others(&self, work: &Work) -> Result<Option<Shared>, EngineError> {
        let (lease, record) = (work.lease, work.record()?);
        if self.together.alone.contains_key(&record.caller) {
            return Ok(None);
        }
        let paid_from = record.terms.ok_or(EngineError::Missing("the terms of an open record"))?.paid_from;
        let refund = refund_to(paid_from, &lease.record, record);
        let instructions = self.report(record, &refund, work.failure()?)?;
        let (party, unit_price) = (Some(record.caller), self.unit_price(&record.agent, None));
        let waiting = |answer| Waiting { lease, party, unit_price, instructions, what: (), answer };
        let calls = || self.gate.calls(&Holder::Process);
        let send = async |mut all: Vec<Stored>| {
            // Refunds of one wallet share more accounts.
            all.sort_by_key(|one| one.party);
            let (signers, patience) = ([&*self.config.keypair], self.config.limits.refund_patience);
            self.share(all, TransactionKind::Fail, SETTLE_UNITS, &signers, patience).await;
        };
        Ok(self.together.refunds.join((), calls, waiting, send).await.and_then(Result::ok).flatten())
    }
}

/// Settlements.
impl Engine {
    /// Stores a result and settles it with others, if there are any.
    pub(super) async fn settle_with_others(&self, work: &Work) -> Result<Joined, EngineError> {
        if self.together.alone.contains_key(&work.call.agent) {
            return Ok(Joined::Alone);
        }
        // Without the terms of an open record there is nothing to settle.
        let Ok(settlement) = self.settlement_of(work) else { return Ok(Joined::Alone) };
        let (lease, party, delivered) = (work.lease, Some(work.call.agent), work.delivered()?);
        let unit_price = self.settlement_price(work)?;
        let calls = || self.gate.calls(&Holder::Process);
        let waiting = |answer| {
            let instructions = self.instructions.complete_execution(&self.config.keypair.pubkey(), &settlement).into();
            Waiting { lease, party, unit_price, instructions, what: delivered.clone(), answer }
        };
        let settle = async |all| self.settle_together(all).await;
        match self.together.settlements.join((), calls, waiting, settle).await {
            None => Ok(Joined::Alone),
            // The sender is dropped if nothing was stored for this lease.
            Some(joined) => joined.map_err(|_| ExecutionsError::LeaseLost.into()),
        }
    }

    async fn settle_together(&self, mut waiting: Vec<Settling>) {
        let Some(basis) = self.basis().await else { return answer_all(waiting, || Joined::Alone) };
        // Settlements of one agent share more accounts.
        waiting.sort_by_key(|one| one.party);
        let signers = [&*self.config.keypair];
        let groups = groups(waiting, |group| self.sign_together(group, SETTLE_UNITS, &signers, basis).ok());
        join_all(groups.into_iter().map(async |(group, transaction)| match transaction {
            Some(transaction) => self.settle_group(group, transaction, basis).await,
            None => answer_all(group, || Joined::Alone),
        }))
        .await;
    }

    async fn settle_group(&self, group: Vec<Settling>, transaction: SignedTransaction, basis: Basis) {
        let results: Vec<_> = group.iter().map(|one| (one.lease, &one.what)).collect();
        let stored = match self.executions.results_stored(&results, None).await {
            Ok(stored) => stored,
            Err(error) => {
                tracing::warn!(%error, "results could not be stored together");
                return answer_all(group, || Joined::Alone);
            }
        };
        let (group, lost): (Vec<_>, Vec<_>) =
            group.into_iter().partition(|one| stored.contains(&one.lease.record.to_string()));
        // The transaction settles those as well whose lease is lost, and whose outcome another worker decides.
        if lost.is_empty()
            && self.passes(&group, &transaction, basis).await
            && self.store_together(&group, TransactionKind::Complete, &transaction).await
        {
            let patience = self.config.limits.settle_patience;
            self.send_together(group, transaction, patience, Joined::Together);
        } else {
            answer_all(group, || Joined::Stored);
        }
    }
}

/// What a transaction for several executions is signed with.
#[derive(Clone, Copy)]
struct Basis {
    blockhash: RecentBlockhash,
    has_version_1: bool,
}

/// One transaction for several executions.
impl Engine {
    /// Sends these together, in as few transactions as fit. One that gets no answer goes alone. `units`: of each.
    async fn share(
        &self,
        waiting: Vec<Stored>,
        kind: TransactionKind,
        units: u32,
        signers: &[&Keypair],
        patience: Duration,
    ) {
        let Some(basis) = self.basis().await else { return };
        let groups = groups(waiting, |group| self.sign_together(group, units, signers, basis).ok());
        join_all(groups.into_iter().map(async |(group, transaction)| {
            if let Some(transaction) = transaction
                && self.passes(&group, &transaction, basis).await
                && self.store_together(&group, kind, &transaction).await
            {
                self.send_together(group, transaction, patience, Some);
            }
        }))
        .await;
    }

    async fn basis(&self) -> Option<Basis> {
        let blockhash = timeout(SIGNING_PATIENCE, self.chain.recent_blockhash()).await.ok()?.ok()?;
        Some(Basis { blockhash, has_version_1: self.has_version_1().await })
    }

    /// Whether the network takes transactions of version 1. Without an answer: no.
    async fn has_version_1(&self) -> bool {
        if let Some(known) = self.together.has_version_1.get(&()) {
            return known;
        }
        let Ok(Ok([feature])) = timeout(SIMULATION_PATIENCE, self.read([VERSION_1_FEATURE])).await else {
            return false;
        };
        // The first byte says whether the slot of the activation follows.
        let is_active = feature.is_some_and(|account| account.data.first() == Some(&1));
        self.together.has_version_1.insert((), is_active);
        is_active
    }

    /// `units`: of each execution.
    fn sign_together<T, A>(
        &self,
        group: &[Waiting<T, A>],
        units: u32,
        signers: &[&Keypair],
        Basis { blockhash, has_version_1 }: Basis,
    ) -> Result<SignedTransaction, SignError> {
        let instructions: Vec<_> = group.iter().flat_map(|one| one.instructions.clone()).collect();
        let units = units.saturating_mul(u32::try_from(group.len()).unwrap_or(u32::MAX)).min(MOST_UNITS);
        if has_version_1 {
            let budget = Budget { units, unit_price: offered(group) };
            SignedTransaction::sign_version_1(&instructions, budget, signers, blockhash)
        } else {
            SignedTransaction::sign(&[Self::budget(units, offered(group)), instructions].concat(), signers, blockhash)
        }
    }

    /// `false`: they have to go alone. Notes whose instruction the chain would refuse.
    async fn passes<T, A>(&self, group: &[Waiting<T, A>], transaction: &SignedTransaction, basis: Basis) -> bool {
        match timeout(SIMULATION_PATIENCE, self.chain.simulate(transaction)).await {
            Ok(Simulation::Passes) => true,
            Ok(Simulation::Refused(refused)) => {
                tracing::info!(error = %refused.error(), "they are sent alone");
                let before = if basis.has_version_1 { 0 } else { Self::budget(0, offered(group)).len() };
                let counts = group.iter().map(|one| one.instructions.len());
                if let Some(party) = refused_one(&refused, before, counts).and_then(|at| group.get(at)?.party) {
                    self.together.serve_alone(party);
                }
                false
            }
            Ok(Simulation::Unknown) | Err(_) => false,
        }
    }

    /// For all of them or none.
    async fn store_together<T, A>(
        &self,
        group: &[Waiting<T, A>],
        kind: TransactionKind,
        transaction: &SignedTransaction,
    ) -> bool {
        let leases: Vec<_> = group.iter().map(|one| one.lease).collect();
        let is_stored = self.executions.signed_together(&leases, kind, &stored(transaction)).await;
        is_stored.unwrap_or_else(|error| {
            tracing::warn!(%error, "a transaction for several executions could not be stored");
            false
        })
    }

    /// Sends a stored transaction once, and tells each execution its outcome.
    fn send_together<T, A>(
        &self,
        group: Vec<Waiting<T, A>>,
        transaction: SignedTransaction,
        patience: Duration,
        answer: impl Fn(Shared) -> A,
    ) {
        let tell = |one: Waiting<T, A>| {
            let (sender, outcome) = oneshot::channel();
            one.answer.send(answer((transaction.clone(), outcome))).is_ok().then_some(sender)
        };
        let outcomes: Vec<_> = group.into_iter().filter_map(tell).collect();
        let (chain, figures) = (self.chain.clone(), self.figures.clone());
        self.tasks.spawn(async move {
            let outcome = chain.send_and_confirm(&transaction, patience).await;
            figures.transaction(&outcome);
            outcomes.into_iter().for_each(|sender| drop(sender.send(outcome.clone())));
        });
    }

    /// Waits for the outcome of a transaction that is sent once for several executions.
    pub(super) async fn outcome_of_shared(
        &self,
        work: &mut Work,
        transaction: &SignedTransaction,
        outcome: oneshot::Receiver<Outcome>,
    ) -> Result<Outcome, EngineError> {
        let outcome = work.hold.unless_lost(outcome);
        let outcome = work.spent.on_chain(outcome).instrument(span_of(transaction)).await?.unwrap_or(Outcome::Unknown);
        if !matches!(outcome, Outcome::Confirmed { .. }) {
            self.note(work, &transaction.signature.to_string(), &outcome).await?;
        }
        Ok(outcome)
    }
}

/// As few groups as fit into a transaction each, in order, and their transactions. One alone has none.
fn groups<T, S>(mut all: Vec<T>, sign: impl Fn(&[T]) -> Option<S>) -> Vec<(Vec<T>, Option<S>)> {
    let sign = |group: &[T]| if group.len() > 1 { sign(group).map(Some) } else { Some(None) };
    for parts in 1..=all.len() {
        let size = all.len().div_ceil(parts);
        if let Some(signed) = all.chunks(size).map(sign).collect::<Option<Vec<_>>>() {
            return signed.into_iter().map(|one| (all.drain(..size.min(all.len())).collect(), one)).collect();
        }
    }
    Vec::new()
}

/// What a group offers for a compute unit: the most that one of it offers.
fn offered<T, A>(group: &[Waiting<T, A>]) -> u64 {
    group.iter().map(|one| one.unit_price).max().unwrap_or(0)
}

fn answer_all<T, A>(group: Vec<Waiting<T, A>>, answer: impl Fn() -> A) {
    // Who does not wait any more has lost its lease.
    group.into_iter().for_each(|one| drop(one.answer.send(answer())));
}

/// Which one the chain would refuse. They have `counts` instructions each, behind `before` other ones.
fn refused_one(refused: &Refused, before: usize, counts: impl Iterator<Item = usize>) -> Option<usize> {
    let TransactionError::InstructionError(index, _) = refused.error() else { return None };
    let index = usize::from(*index).checked_sub(before)?;
    let mut ends = counts.scan(0_usize, |end, count| {
        *end = end.saturating_add(count);
        Some(*end)
    });
    ends.position(|end| index < end)
}

#[cfg(test)]
mod tests {
    use agent_marketplace::state::FailureReason;
    use crtx_chain::{
        Instructions,
        instructions::{Opening, Refund, Settlement},
    };
    use crtx_protocol::{address::Addresses, call_text::OpeningId, result_hash::ResultHash};

    use super::*;

    #[test]
    fn groups_are_as_few_as_fit_and_keep_the_order_and_each_is_signed_once_it_fits() {
        let made = |count: u32, most: usize| {
            let signed = std::cell::Cell::new(0);
            let sign = |group: &[u32]| {
                signed.set(signed.get() + 1);
                (group.len() <= most).then(|| group.to_vec())
            };
            (groups((0..count).collect(), sign), signed.get())
        };
        let group = |group: &[u32]| (group.to_vec(), (group.len() > 1).then(|| group.to_vec()));
        assert_eq!(made(0, 3), (vec![], 0));
        assert_eq!(made(1, 3), (vec![group(&[0])], 0));
        assert_eq!(made(3, 3), (vec![group(&[0, 1, 2])], 1));
        assert_eq!(made(7, 3), (vec![group(&[0, 1, 2]), group(&[3, 4, 5]), group(&[6])], 4));
        assert_eq!(made(2, 0), (vec![group(&[0]), group(&[1])], 1), "what fits with no other one goes alone");
    }

    /// Whether instructions like these for so many executions fit into a transaction of version 1, with a priority fee.
    fn fit(count: usize, signers: &[&Keypair], build: impl Fn(Pubkey) -> Vec<Instruction>) -> bool {
        let instructions: Vec<_> = (0..count).flat_map(|_| build(Pubkey::new_unique())).collect();
        let blockhash = RecentBlockhash { hash: solana_hash::Hash::default(), last_valid_block_height: 1 };
        let budget = Budget { units: MOST_UNITS, unit_price: 1 };
        SignedTransaction::sign_version_1(&instructions, budget, signers, blockhash).is_ok()
    }

    #[test]
    fn what_gathers_for_one_agent_fits_into_a_transaction() {
        let [gateway, session] = [1, 2].map(|number| Keypair::new_from_array([number; 32]));
        let build = Instructions::new(Addresses::new(agent_marketplace::ID), Pubkey::new_unique());
        let [agent, wallet, creator, treasury, result_key] = std::array::from_fn(|_| Pubkey::new_unique());
        let open = |id: Pubkey| {
            let opening = Opening {
                agent,
                execution_id: std::array::from_fn(|at| id.as_array()[at]),
                request_hash: [1; 32],
                max_amount: 1,
                terms_hash: Some([2; 32]),
                min_cover: 1,
            };
            vec![build.open_execution_with_grant(&wallet, &session.pubkey(), &gateway.pubkey(), &opening)]
        };
        let settle = |record: Pubkey| {
            let settlement = Settlement {
                agent,
                opening: OpeningId { record: record.to_bytes(), opened_at_unix_s: 1 },
                rent_payer: gateway.pubkey(),
                creator_token: creator,
                treasury_token: treasury,
                result_key,
                result_hash: ResultHash::of(b"result"),
                binding: true,
                signature: [3; 64],
                execution_time_ms: 1,
                tokens_used: Some(1),
            };
            build.complete_execution(&gateway.pubkey(), &settlement).to_vec()
        };
        let refund = |record: Pubkey| {
            let refund =
                Refund { agent, record, rent_payer: gateway.pubkey(), grant: Some(wallet), refund_token: creator };
            vec![build.fail_execution(&gateway.pubkey(), &refund, FailureReason::Timeout)]
        };
        assert!(fit(MOST_OPENINGS, &[&gateway, &session], open));
        assert!(fit(MOST_REFUNDS, &[&gateway], refund));
        assert!(fit(MOST_SETTLEMENTS, &[&gateway], settle) && !fit(MOST_SETTLEMENTS + 1, &[&gateway], settle));
    }

    #[test]
    fn a_refusal_names_the_one_whose_instruction_failed() {
        let refused = |index| {
            let error = solana_instruction::error::InstructionError::Custom(1);
            Refused::Instruction(TransactionError::InstructionError(index, error))
        };
        let counts = || [2, 1, 2].into_iter();
        assert_eq!([0, 1, 2, 3, 4].map(|index| refused_one(&refused(index), 0, counts())), [0, 0, 1, 2, 2].map(Some));
        assert_eq!([0, 1, 3].map(|index| refused_one(&refused(index), 1, counts())), [None, Some(0), Some(1)]);
        assert_eq!(refused_one(&refused(5), 0, counts()), None);
        assert_eq!(refused_one(&Refused::Payer(TransactionError::InsufficientFundsForFee), 0, counts()), None);
    }
}
