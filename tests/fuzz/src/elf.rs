//! The committed ELF in LiteSVM. Input: 16 bytes for each step of a scenario. The first four choose a step of the state
//! machine, which ends as the model predicts. The others change a copy of the step's transaction, which is sent first:
//! whatever it does must keep the invariants and be explained; then it is undone.

use agent_marketplace::{ed25519_gate::INSTRUCTIONS_SYSVAR_ID, token::TOKEN_PROGRAM_ID};
use anchor_lang::prelude::Pubkey;
use crtx_program_tests::{
    Instruction, Keypair, PROGRAM_ID, Signer, World, idl,
    state_machine::{marketplace::Marketplace, model::Model, steps::Step},
};
use proptest::{
    strategy::{Strategy as _, ValueTree as _},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest as _};

use crate::explained::{Books, assert_money_is_explained, assert_steps_were_allowed};

const STEP: usize = 16;
/// Longer inputs are cut.
const MAX_STEPS: usize = 64;
/// Values at which arithmetic goes wrong.
const EXTREMES: [u64; 8] = [0, 1, 10_000, 50_000, u32::MAX as u64, i64::MAX as u64, u64::MAX - 1, u64::MAX];

pub fn run(data: &[u8]) {
    let mut model = Model::start();
    let mut market = Marketplace::init_test(&model);
    for chunk in data.chunks_exact(STEP).take(MAX_STEPS) {
        let (seed, changes) = chunk.split_at(4);
        let step = chosen(&model, seed);
        let changes = changes.to_vec();
        market.world.on_send = Some(Box::new(move |world, instructions, signers| {
            attack(world, instructions, signers, &changes);
        }));
        let before = Books::of(&market.world);
        model = <Model as ReferenceStateMachine>::apply(model, &step);
        market = Marketplace::apply(market, &model, step.clone());
        Marketplace::check_invariants(&market, &model);
        // Dust is no transaction.
        if !matches!(step, Step::Dust { .. }) {
            assert_money_is_explained(&before, &Books::of(&market.world));
        }
    }
}

/// The step that these bytes stand for in this state.
fn chosen(model: &Model, bytes: &[u8]) -> Step {
    let mut seed = [0; 32];
    seed[..bytes.len()].copy_from_slice(bytes);
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    Model::transitions(model).new_tree(&mut runner).expect("a step").current()
}

/// Sends a changed transaction, checks what it did, and puts everything back.
fn attack(world: &mut World, instructions: &[Instruction], signers: &[&Keypair], changes: &[u8]) {
    let mut changed = instructions.to_vec();
    for change in changes.chunks_exact(3) {
        let [kind, a, b] = *change else { continue };
        apply(world, &mut changed, kind, usize::from(a), usize::from(b));
    }
    if changed.is_empty() || changed == instructions {
        return;
    }
    // Who attacks has the keys of the honest signers, and one more.
    let stranger = world.stranger.keypair.insecure_clone();
    let payer = world.payer.key();
    let keys: Vec<&Keypair> = signers.iter().copied().chain([&stranger]).collect();
    let metas = || changed.iter().flat_map(|instruction| &instruction.accounts);
    let keys: Vec<&Keypair> =
        keys.into_iter().filter(|key| metas().any(|meta| meta.is_signer && meta.pubkey == key.pubkey())).collect();
    let held: Vec<Pubkey> = keys.iter().map(|key| key.pubkey()).chain([payer]).collect();
    for meta in changed.iter_mut().flat_map(|instruction| &mut instruction.accounts) {
        meta.is_signer &= held.contains(&meta.pubkey);
    }
    let mut touched: Vec<Pubkey> = changed.iter().flat_map(|i| i.accounts.iter().map(|meta| meta.pubkey)).collect();
    touched.push(payer);
    let (saved, before): (Vec<_>, _) =
        (touched.iter().map(|address| (*address, world.svm.get_account(address))).collect(), Books::of(world));
    if world.send(&changed, &keys).is_err() {
        return;
    }
    let after = Books::of(world);
    assert_money_is_explained(&before, &after);
    assert_steps_were_allowed(&before, &after, &changed, &held);
    for (address, account) in saved {
        world.put_account(address, account.unwrap_or_default());
    }
}

/// Changes one thing about a transaction.
fn apply(world: &World, instructions: &mut Vec<Instruction>, kind: u8, a: usize, b: usize) {
    let Some(last) = instructions.len().checked_sub(1) else { return };
    // Mostly the program's own instruction, which is the last one.
    let at = if kind & 0x80 == 0 { last } else { a % instructions.len() };
    let Instruction { accounts, data, .. } = &mut instructions[at];
    let (account, byte) = (a % accounts.len().max(1), a % data.len().max(1));
    match kind & 0x0f {
        4 if !accounts.is_empty() => {
            let pool = addresses(world);
            accounts[account].pubkey = pool[b % pool.len()];
        }
        5 if !accounts.is_empty() => {
            let other = b % accounts.len();
            accounts.swap(account, other);
        }
        6 if !accounts.is_empty() => drop(accounts.remove(account)),
        7 if !accounts.is_empty() => {
            let again = accounts[account].clone();
            accounts.insert(b % (accounts.len() + 1), again);
        }
        8 if !accounts.is_empty() => accounts[account].is_writable ^= true,
        9 if !accounts.is_empty() => accounts[account].is_signer ^= true,
        10 if !data.is_empty() => data[byte] = b as u8,
        11 => data.truncate(byte),
        12 if data.len() >= 8 => {
            data[..8].copy_from_slice(&idl::instructions()[b % idl::instructions().len()].discriminator)
        }
        13 => {
            let value = EXTREMES[b % EXTREMES.len()].to_le_bytes();
            let from = byte.max(8);
            data.resize(data.len().max(from + 8), 0);
            data[from..from + 8].copy_from_slice(&value);
        }
        14 => drop(instructions.remove(at)),
        15 => {
            let again = instructions[at].clone();
            instructions.insert(b % (last + 2), again);
        }
        // The transaction stays as it is.
        _ => {}
    }
}

/// What an attacker can name: everything of the program, every token account, and who holds them.
fn addresses(world: &World) -> Vec<Pubkey> {
    let mut all = vec![Pubkey::default(), PROGRAM_ID, TOKEN_PROGRAM_ID, INSTRUCTIONS_SYSVAR_ID, world.mint];
    let people = [&world.admin, &world.resolver, &world.gateway, &world.payer, &world.stranger, &world.caller];
    all.extend(people.map(|actor| actor.key()));
    all.extend(world.token_balances().into_iter().map(|(address, _)| address));
    let mut of_program: Vec<_> = world.svm.get_program_accounts(&PROGRAM_ID).into_iter().map(|(at, _)| at).collect();
    of_program.sort_unstable();
    all.extend(of_program);
    all
}
