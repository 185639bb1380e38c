//! What the program costs: compute units per instruction, the size of the ELF and the rent to deploy it,
//! fees, rent and bytes of a paid call.
//!
//! Compute units are those of whole transactions with nothing else in them, except a settlement's Ed25519
//! instruction. They are medians over many worlds with different keys, because a new address costs 1 500
//! units for every bump that is tried.

use agent_marketplace::{instructions as ix, state::*};
use crtx_chain::{Budget, RecentBlockhash, SignedTransaction, instructions::Opening};
use litesvm::types::TransactionResult;
use solana_instruction::Instruction;
use solana_keypair::Keypair;
use solana_signer::Signer;
use solana_transaction::Transaction;

use crate::{
    expect::assert_ok,
    forge::forged,
    packing::{MOST_UNITS, OPENINGS, SETTLEMENTS},
    people::{Execution, START_UNIX_S, USDC},
    world::{World, elf},
};

/// Worlds measured.
pub const SAMPLES: u64 = 20;
/// Largest transaction that the network carries.
const MAX_TRANSACTION_BYTES: u64 = 1_232;
/// Largest ELF that this project allows itself.
const MAX_ELF_BYTES: u64 = 600_000;

/// Compute units of one instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CuRow {
    pub name: &'static str,
    pub median: u64,
    pub min: u64,
    pub max: u64,
    /// The most it may cost.
    pub gate: Option<u64>,
}

/// Something else that is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CostRow {
    pub name: &'static str,
    pub value: u64,
    pub unit: &'static str,
    pub gate: Option<u64>,
}

/// Median, least and most compute units of every instruction.
pub fn measure_compute_units() -> Vec<CuRow> {
    let mut samples: Vec<(&'static str, Vec<u64>)> = Vec::new();
    for seed in 1..=SAMPLES {
        for (name, units) in measure_world(seed) {
            match samples.iter_mut().find(|(known, _)| *known == name) {
                Some((_, all)) => all.push(units),
                None => samples.push((name, vec![units])),
            }
        }
    }
    samples.into_iter().map(|(name, units)| row(name, units)).collect()
}

fn row(name: &'static str, mut units: Vec<u64>) -> CuRow {
    units.sort_unstable();
    let middle = units.len() / 2;
    // The upper of the two middle values, so that rounding does not satisfy a gate.
    CuRow { name, median: units[middle], min: units[0], max: units[units.len() - 1], gate: gate(name) }
}

fn gate(name: &str) -> Option<u64> {
    match name {
        "open_execution" | "complete_execution" | "complete_execution_bound" => Some(9_500),
        "open_execution_with_grant" | "open_execution_with_grant_on_terms" => Some(12_500),
        "refund_expired_execution" => Some(6_500),
        "complete_execution_in_shared_transaction" => Some(8_000),
        _ => None,
    }
}

/// Compute units, one instruction after the other.
struct Meter {
    world: World,
    rows: Vec<(&'static str, u64)>,
}

impl Meter {
    fn note(&mut self, name: &'static str, result: TransactionResult) {
        self.rows.push((name, assert_ok(result).compute_units_consumed));
    }

    fn send(&mut self, name: &'static str, instruction: Instruction, signer: &Keypair) {
        let result = self.world.send(&[instruction], &[signer]);
        self.note(name, result);
    }

    fn executions(&mut self) {
        let execution = self.world.new_execution();
        let opened = self.world.open(&execution);
        self.note("open_execution", opened);
        let by_key = self.world.new_execution();
        let opened = self.world.open_with_grant(&by_key);
        self.note("open_execution_with_grant", opened);
        let completed = self.world.complete(&execution);
        self.note("complete_execution", completed);
        let failed = self.world.fail(&by_key);
        self.note("fail_execution", failed);
        let agent = self.world.agent.clone();
        self.world.bind(&agent, true);
        let bound = self.world.opened();
        let completed = self.world.complete(&bound);
        self.note("complete_execution_bound", completed);
        self.world.bind(&agent, false);
        // With a grant, which gets back what it had spent.
        let execution = self.world.new_execution();
        assert_ok(self.world.open_with_grant(&execution));
        self.world.expire(&execution);
        let refunded = self.world.refund(&execution);
        self.note("refund_expired_execution", refunded);
        self.shared_settlement();
        self.refunds_elsewhere();
    }

    /// One of ten that share a transaction, each with its own proof.
    fn shared_settlement(&mut self) {
        let agent = self.world.agent.clone();
        self.world.bind(&agent, true);
        let executions: Vec<_> = (0..SETTLEMENTS).map(|_| self.world.opened()).collect();
        let instructions: Vec<_> = executions.iter().flat_map(|one| settlement(&self.world, one)).collect();
        let gateway = self.world.gateway.keypair.insecure_clone();
        let settled = self.world.must(&instructions, &[&gateway]).compute_units_consumed;
        self.rows.push(("complete_execution_in_shared_transaction", settled.div_ceil(SETTLEMENTS as u64)));
        self.world.bind(&agent, false);
    }

    /// Refunds to another account than the one that paid: the wallet's associated one, whose address is derived; any that the
    /// wallet names with its signature; any of the wallet when the refund is overdue.
    fn refunds_elsewhere(&mut self) {
        let caller = self.world.caller.clone();
        let other = self.world.new_token_account(&caller.key(), USDC);
        let to_other = [("refund_token", other)];

        let paid_elsewhere = self.world.new_execution();
        let open = forged(self.world.open_execution(&paid_elsewhere), &[("caller_token", other)]);
        self.world.must(&[open], &[&caller.keypair]);
        self.world.expire(&paid_elsewhere);
        let refunded = self.world.refund(&paid_elsewhere);
        self.note("refund_expired_execution_to_associated_account", refunded);

        let signed = self.world.opened();
        self.world.expire(&signed);
        let refund = forged(self.world.refund_signed_by_wallet(&signed), &to_other);
        self.send("refund_expired_execution_signed_by_wallet", refund, &caller.keypair);

        let [overdue, reported] = [self.world.opened(), self.world.opened()];
        let end = self.world.terms(&overdue).deadline_unix_s + i64::from(self.world.record(&overdue).dispute_window_s);
        self.world.set_time(end + 1);
        let refund = forged(self.world.refund_expired_execution(&overdue), &to_other);
        let refunded = self.world.send(&[refund], &[]);
        self.note("refund_expired_execution_overdue", refunded);
        let gateway = self.world.gateway.keypair.insecure_clone();
        let fail = forged(self.world.fail_execution(&reported, FailureReason::Timeout), &to_other);
        self.send("fail_execution_overdue", fail, &gateway);
    }

    fn disputes(&mut self) {
        let undecided = self.world.disputed();
        self.world.set_time(self.world.now() + Dispute::LIMIT_S + 1);
        let expire = self.world.expire_dispute(&undecided);
        let expired = self.world.send(&[expire], &[]);
        self.note("expire_dispute", expired);
        let cancelled = self.world.disputed();
        let cancel = self.world.cancel_dispute(&cancelled);
        self.send("cancel_dispute", cancel, &cancelled.caller.keypair);
        let resolver = self.world.resolver.keypair.insecure_clone();
        let unfounded = self.world.disputed();
        let reject = self.world.resolve_dispute(&unfounded, false, 0);
        self.send("resolve_dispute_rejected", reject, &resolver);
        let undisputed = self.world.completed();
        self.world.set_time(self.world.dispute_deadline(&undisputed) + 1);
        let close = self.world.close_execution(&undisputed);
        let closed = self.world.send(&[close], &[]);
        self.note("close_execution_without_dispute", closed);
        // A slash pauses the agent, so this is last.
        let execution = self.world.completed();
        let dispute = self.world.open_dispute(&execution);
        self.send("open_dispute", dispute, &execution.caller.keypair);
        let answer = self.world.answer_dispute(&execution);
        self.send("answer_dispute", answer, &execution.agent.creator.keypair);
        let resolve = self.world.resolve_dispute(&execution, true, USDC);
        self.send("resolve_dispute", resolve, &resolver);
        self.world.set_time(self.world.dispute_deadline(&execution) + 1);
        let close = self.world.close_execution(&execution);
        let closed = self.world.send(&[close], &[]);
        self.note("close_execution", closed);
    }

    fn listing(&mut self) {
        let agent = self.world.new_agent();
        let creator = agent.creator.keypair.insecure_clone();
        let name = self.world.upsert_creator_profile(&creator.pubkey(), "Ada Lovelace");
        self.send("upsert_creator_profile", name, &creator);
        let list = self.world.list_agent(&agent, self.world.list_args(&agent));
        self.send("list_agent", list, &creator);
        let edit = ix::UpdateListingArgs { price: Some(40_000), timeout_seconds: Some(9), ..Default::default() };
        let edit = self.world.update_listing(&agent, edit);
        self.send("update_listing", edit, &creator);
        let admin = self.world.admin.keypair.insecure_clone();
        let suspend = self.world.suspend_agent(&agent, true);
        self.send("suspend_agent", suspend, &admin);
        let pause = self.world.set_agent_status(&agent, AgentStatus::Paused);
        self.send("set_agent_status", pause, &creator);
        let deposit = self.world.deposit_collateral(&agent, USDC);
        self.send("deposit_collateral", deposit, &creator);
        let delist = self.world.delist_agent(&agent);
        self.send("delist_agent", delist, &creator);
        let withdraw = self.world.withdraw_collateral(&agent);
        self.send("withdraw_collateral", withdraw, &creator);
        self.world.set_time(self.world.now() + 1);
        let close = self.world.close_agent(&agent);
        self.send("close_agent", close, &creator);
        let verify = self.world.verify_creator(&creator.pubkey(), Some("Ada Lovelace"));
        self.send("verify_creator", verify, &admin);
    }

    fn grants(&mut self) {
        let (caller, session_key) = (self.world.caller.keypair.insecure_clone(), self.world.new_key().pubkey());
        let grant = self.world.grant_spending(ix::GrantSpendingArgs {
            session_key,
            per_call_cap: USDC,
            total_cap: USDC,
            daily_cap: USDC,
            expires_at_unix_s: START_UNIX_S * 2,
            allowed_agents: vec![],
        });
        self.send("grant_spending", grant, &caller);
        let revoke = self.world.revoke_spending();
        self.send("revoke_spending", revoke, &caller);
    }

    fn governance(&mut self) {
        let (admin, nominee) =
            (self.world.admin.keypair.insecure_clone(), self.world.stranger.keypair.insecure_clone());
        let [gateway, resolver, treasury] = std::array::from_fn(|_| self.world.new_key().pubkey());
        let update = self.world.set_gateway(&gateway);
        self.send("update_config", update, &admin);
        let pause = self.world.set_paused(true);
        self.send("set_paused", pause, &admin);
        let announce = self.world.announce_roles(Some(resolver), Some(treasury));
        self.send("announce_roles", announce, &admin);
        let remove = self.world.remove_resolver();
        self.send("remove_resolver", remove, &admin);
        self.world.set_time(self.world.config().roles_apply_from_unix_s);
        let apply = self.world.apply_roles();
        let applied = self.world.send(&[apply], &[]);
        self.note("apply_roles", applied);
        let parameters = MarketParameters { fee_bps: 99, ..MarketParameters::DEFAULT };
        let announce = self.world.announce_parameters(Some(parameters));
        self.send("announce_parameters", announce, &admin);
        self.world.set_time(self.world.config().parameters_apply_from_unix_s);
        let apply = self.world.apply_parameters();
        let applied = self.world.send(&[apply], &[]);
        self.note("apply_parameters", applied);
        let nominate = self.world.nominate_admin(&nominee.pubkey());
        self.send("nominate_admin", nominate, &admin);
        let accept = self.world.accept_admin(&nominee.pubkey());
        self.send("accept_admin", accept, &nominee);
    }
}

fn measure_world(seed: u64) -> Vec<(&'static str, u64)> {
    let mut meter = Meter { world: World::with_seed(seed), rows: Vec::new() };
    meter.executions();
    meter.disputes();
    meter.listing();
    meter.grants();
    meter.governance();
    let mut signed = World::with_seed(seed);
    // The second, at the same address as the one of `open_execution_with_grant`.
    let [_, by_key] = std::array::from_fn(|_| signed.new_execution());
    let terms_hash = Some(signed.terms_hash(&by_key.agent));
    let open = signed.open_by_key_with(&by_key, &Opening { terms_hash, ..signed.opening(&by_key) });
    let opened = signed.send(&[open], &[&signed.session.insecure_clone()]);
    meter.note("open_execution_with_grant_on_terms", opened);
    let failed = signed.fail_signed(&by_key);
    meter.note("fail_execution_signed", failed);
    let mut bare = World::bare(seed);
    let initialize = bare.initialize_config();
    let initialized = bare.send(&[initialize], &[&bare.upgrade_authority.keypair.insecure_clone()]);
    meter.note("initialize_config", initialized);
    meter.rows
}

/// ELF, rent, fees and bytes. The fees and the rent of a call are differences of the fee payer's balance,
/// with one key as fee payer and gateway, as the gateway does it.
pub fn measure_costs() -> Vec<CostRow> {
    let mut world = World::with_seed(1);
    world.payer = world.gateway.clone();
    let payer = world.payer.key();
    let start = world.lamports(&payer);
    let execution = world.new_execution();
    let open = world.open_execution_with_grant(&execution);
    let open_bytes = transaction_bytes(&world, std::slice::from_ref(&open), &world.session.insecure_clone());
    assert_ok(world.send(&[open], &[&world.session.insecure_clone()]));
    let locked = world.lamports(&execution.record);
    let settle = settlement(&world, &execution);
    let settle_bytes = transaction_bytes(&world, &settle, &world.gateway.keypair.insecure_clone());
    assert_ok(world.send(&settle, &[&world.gateway.keypair.insecure_clone()]));
    let through_window = world.lamports(&execution.record);
    let fees = start - world.lamports(&payer) - through_window;
    world.set_time(world.dispute_deadline(&execution) + 1);
    let close = world.close_execution(&execution);
    let close_fee = world.must(&[close], &[]).fee;
    let not_returned = start - fees - close_fee - world.lamports(&payer);

    let elf_bytes = elf().len() as u64;
    // The loader's program account, and the ELF's account with the loader's header.
    let deploy = world.svm.minimum_balance_for_rent_exemption(36)
        + world.svm.minimum_balance_for_rent_exemption(45 + elf().len());
    let cost = |name, value, unit, gate| CostRow { name, value, unit, gate };
    vec![
        cost("elf_size", elf_bytes, "bytes", Some(MAX_ELF_BYTES)),
        cost("deploy_rent", deploy, "lamports", None),
        cost("open_transaction", open_bytes, "bytes", Some(MAX_TRANSACTION_BYTES)),
        cost("complete_transaction", settle_bytes, "bytes", Some(MAX_TRANSACTION_BYTES)),
        cost("execution_base_fee", fees, "lamports", Some(20_000)),
        cost("execution_base_fee_of_4_at_once", fee_of_each_at_once(4), "lamports", Some(10_000)),
        cost("execution_base_fee_of_20_at_once", fee_of_each_at_once(OPENINGS), "lamports", Some(6_000)),
        cost("execution_rent_locked", locked, "lamports", None),
        cost("execution_rent_locked_through_window", through_window, "lamports", None),
        cost("execution_rent_not_returned", not_returned, "lamports", Some(0)),
    ]
}

/// The completion, with its proof directly before it.
fn settlement(world: &World, execution: &Execution) -> [Instruction; 2] {
    [world.proof(execution).instruction(), world.complete_execution(execution)]
}

/// Network fee of each of `count` calls that share transactions, with everything that a transaction of version 1 carries.
fn fee_of_each_at_once(count: usize) -> u64 {
    let mut world = World::with_seed(2);
    world.payer = world.gateway.clone();
    let agent = world.agent.clone();
    world.bind(&agent, true);
    let (gateway, session) = (world.gateway.keypair.insecure_clone(), world.session.insecure_clone());
    let executions: Vec<_> = (0..count).map(|_| world.new_execution()).collect();
    let mut fee = 0;
    for together in executions.chunks(OPENINGS) {
        let openings: Vec<_> = together.iter().map(|one| world.open_execution_with_grant(one)).collect();
        fee += fee_together(&mut world, &openings, &[&gateway, &session]);
    }
    for together in executions.chunks(SETTLEMENTS) {
        let settlements: Vec<_> = together.iter().flat_map(|one| settlement(&world, one)).collect();
        fee += fee_together(&mut world, &settlements, &[&gateway]);
    }
    fee.div_ceil(count as u64)
}

/// Sends one transaction that is short enough for the network.
fn fee_together(world: &mut World, instructions: &[Instruction], signers: &[&Keypair]) -> u64 {
    let blockhash = RecentBlockhash { hash: world.svm.latest_blockhash(), last_valid_block_height: 1 };
    let budget = Budget { units: MOST_UNITS, unit_price: 0 };
    SignedTransaction::sign_version_1(instructions, budget, signers, blockhash).expect("fits a transaction");
    world.must(instructions, signers).fee
}

/// Bytes of a transaction on the wire.
fn transaction_bytes(world: &World, instructions: &[Instruction], signer: &Keypair) -> u64 {
    let payer = &world.payer.keypair;
    let mut signers = vec![payer];
    if signer.pubkey() != payer.pubkey() {
        signers.push(signer);
    }
    let blockhash = world.svm.latest_blockhash();
    let transaction = Transaction::new_signed_with_payer(instructions, Some(&payer.pubkey()), &signers, blockhash);
    // One byte of count (fewer than 128 signatures), 64 bytes each, and the message.
    (1 + 64 * transaction.signatures.len() + transaction.message_data().len()) as u64
}
