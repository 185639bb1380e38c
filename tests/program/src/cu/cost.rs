//! What an execution and the deployment cost apart from compute units: bytes, base fees and rent. Fees and
//! rent are differences of balances, not computed. As the gateway does it: one key of its own pays fees and
//! rent and settles, the session key signs the opening.

use agent_marketplace::{accounts, instruction};
use anchor_lang::prelude::{Pubkey, pubkey};
use solana_instruction::Instruction;
use solana_keypair::Keypair;
use solana_signer::Signer;
use solana_transaction::Transaction;

use crate::{
    World, assert_ok, elf,
    instructions::{Execution, build},
};

/// One measured cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CostRow {
    pub name: &'static str,
    pub value: u64,
    pub unit: &'static str,
    /// The number an issue or the project's own figures name.
    pub gate: Option<u64>,
}

const COMPUTE_BUDGET_ID: Pubkey = pubkey!("ComputeBudget111111111111111111111111111111");
/// Largest transaction that the network forwards.
const MAX_TRANSACTION_BYTES: u64 = 1_232;
const MAX_ELF_BYTES: u64 = 512 * 1024;
/// Most that the gateway may have to spend on base fees of one execution.
const MAX_BASE_FEE: u64 = 20_000;
/// Bytes of the loader's own accounts beside the ELF: the program, and the header of its data.
const LOADER_PROGRAM_BYTES: usize = 36;
const LOADER_DATA_HEADER_BYTES: usize = 45;

/// Every cost, in the order of the table.
pub fn measure_costs() -> Vec<CostRow> {
    let mut rows = deployment();
    rows.extend(transaction_bytes());
    rows.extend(lamports());
    rows
}

fn deployment() -> Vec<CostRow> {
    let world = World::bare(1);
    let rent = |bytes: usize| world.svm.minimum_balance_for_rent_exemption(bytes);
    let bytes = elf().len();
    let to_deploy = rent(LOADER_PROGRAM_BYTES) + rent(LOADER_DATA_HEADER_BYTES + bytes);
    vec![
        CostRow { name: "elf_bytes", value: bytes as u64, unit: "bytes", gate: Some(MAX_ELF_BYTES) },
        CostRow { name: "rent_to_deploy", value: to_deploy, unit: "lamports", gate: None },
    ]
}

/// Transactions as they are sent, limit and price of compute units included.
fn transaction_bytes() -> Vec<CostRow> {
    let mut world = World::with_seed(1);
    let execution = world.new_execution();
    let (gateway, session) = (world.gateway.keypair.insecure_clone(), world.session.insecure_clone());
    let caller = execution.caller.keypair.insecure_clone();
    let (open, with_grant) = (world.open_execution(&execution), sponsored_opening(&world, &execution));
    let settle = [world.proof(&execution).instruction(), world.complete_execution(&execution)];
    let payer = world.payer.keypair.insecure_clone();
    let row = |name, instructions: &[Instruction], signers: &[&Keypair]| {
        let value = transaction(&world, &with_budget(instructions), signers).1;
        CostRow { name, value, unit: "bytes", gate: Some(MAX_TRANSACTION_BYTES) }
    };
    vec![
        row("open_execution_tx", &[open], &[&payer, &caller]),
        row("open_execution_with_grant_tx", &[with_grant], &[&gateway, &session]),
        row("complete_execution_tx", &settle, &[&gateway]),
    ]
}

/// Base fees of one sponsored execution, and its rent on the way out and back.
fn lamports() -> Vec<CostRow> {
    let mut world = World::with_seed(1);
    let execution = world.new_execution();
    let (gateway, session) = (world.gateway.keypair.insecure_clone(), world.session.insecure_clone());
    let start = world.lamports(&gateway.pubkey());

    let open = sponsored_opening(&world, &execution);
    send(&mut world, &[open], &[&gateway, &session]);
    let opened = world.lamports(&gateway.pubkey());
    let locked = world.lamports(&execution.record);

    let settle = [world.proof(&execution).instruction(), world.complete_execution(&execution)];
    send(&mut world, &settle, &[&gateway]);
    let settled = world.lamports(&gateway.pubkey());

    world.set_time(world.record(&execution).dispute_deadline_unix_s + 1);
    let stranger = world.stranger.keypair.insecure_clone();
    let close = sponsored_close(&world, &execution);
    let before_close = world.lamports(&stranger.pubkey());
    send(&mut world, &[close], &[&stranger]);
    let returned = world.lamports(&gateway.pubkey()) - settled;
    let close_fee = before_close - world.lamports(&stranger.pubkey());

    let row = |name, value, gate| CostRow { name, value, unit: "lamports", gate };
    let (open_fee, settle_fee) = (start - opened - locked, opened - settled);
    vec![
        row("base_fee_open", open_fee, None),
        row("base_fee_complete", settle_fee, None),
        row("base_fee_execution", open_fee + settle_fee, Some(MAX_BASE_FEE)),
        row("base_fee_close", close_fee, None),
        row("rent_locked", locked, None),
        row("rent_returned", returned, None),
        row("rent_kept_after_close", locked - returned, Some(0)),
    ]
}

/// The opening whose fee and rent the gateway pays.
fn sponsored_opening(world: &World, execution: &Execution) -> Instruction {
    let accounts =
        accounts::OpenExecutionWithGrant { payer: world.gateway.key(), ..world.open_with_grant_accounts(execution) };
    build(&accounts, &instruction::OpenExecutionWithGrant { args: world.open_args(execution) })
}

fn sponsored_close(world: &World, execution: &Execution) -> Instruction {
    let accounts =
        accounts::CloseExecution { rent_payer: world.gateway.key(), ..world.close_execution_accounts(execution) };
    build(&accounts, &instruction::CloseExecution {})
}

fn with_budget(instructions: &[Instruction]) -> Vec<Instruction> {
    let budget = |tag: u8, value: &[u8]| Instruction {
        program_id: COMPUTE_BUDGET_ID,
        accounts: vec![],
        data: [&[tag], value].concat(),
    };
    let mut all = vec![budget(2, &40_000u32.to_le_bytes()), budget(3, &1_000u64.to_le_bytes())];
    all.extend_from_slice(instructions);
    all
}

/// A transaction whose fee the first of `signers` pays, and how many bytes it has on the wire.
fn transaction(world: &World, instructions: &[Instruction], signers: &[&Keypair]) -> (Transaction, u64) {
    let payer = signers[0].pubkey();
    let blockhash = world.svm.latest_blockhash();
    let transaction = Transaction::new_signed_with_payer(instructions, Some(&payer), &signers.to_vec(), blockhash);
    // One byte counts the signatures, as long as there are fewer than 128.
    let bytes = 1 + 64 * transaction.signatures.len() + transaction.message_data().len();
    (transaction, bytes as u64)
}

fn send(world: &mut World, instructions: &[Instruction], signers: &[&Keypair]) {
    world.svm.expire_blockhash();
    let (transaction, _) = transaction(world, instructions, signers);
    assert_ok(world.svm.send_transaction(transaction));
}
