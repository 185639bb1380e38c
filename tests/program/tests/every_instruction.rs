//! What holds for every instruction of the IDL: it requires each signature, each writable account and the
//! right kind of each account of the program.
#![expect(clippy::expect_used, reason = "a test: a panic is a failure")]

use std::collections::{BTreeMap, BTreeSet};

use agent_marketplace::{instructions as ix, state::*};
use anchor_lang::{Discriminator, prelude::Pubkey};
use crtx_program_tests::*;
use solana_instruction::error::InstructionError;
use solana_transaction::Transaction;
use solana_transaction_error::TransactionError;
use spl_token_interface::instruction::{self as library, TokenInstruction};

/// Anchor's numbers.
const NOT_SIGNER: u32 = 3_010;
const NOT_WRITABLE: u32 = 2_000;
const WRONG_OWNER: u32 = 3_007;
const WRONG_DISCRIMINATOR: u32 = 3_002;

/// One correct instruction, and the instructions before it.
struct Case {
    before: Vec<Instruction>,
    instruction: Instruction,
}

/// A world in which all of them could be sent, and all of them.
fn cases() -> (World, Vec<Case>) {
    let mut world = World::new();
    let (agent, caller) = (world.agent.clone(), world.caller.key());
    let upsert = world.upsert_creator_profile(&agent.creator.key(), "Ada");
    world.must(std::slice::from_ref(&upsert), &[&agent.creator.keypair]);
    let (open, completed, disputed) = (world.opened(), world.completed(), world.disputed());
    let (next, by_key) = (world.new_execution(), world.new_execution());
    assert_ok(world.open_with_grant(&by_key));
    let unlisted = Agent { address: world.addresses.agent(&agent.creator.key(), 1), index: 1, ..agent.clone() };
    let closable = world.listed();
    let leave = [world.delist_agent(&closable), world.withdraw_collateral(&closable)];
    world.must(&leave, &[&closable.creator.keypair]);
    let paused = world.listed();
    let pause = world.set_agent_status(&paused, AgentStatus::Paused);
    world.must(&[pause], &[&paused.creator.keypair]);
    world.expire(&by_key);
    let grant = ix::GrantSpendingArgs {
        session_key: world.session.pubkey(),
        per_call_cap: USDC,
        total_cap: USDC,
        daily_cap: USDC,
        expires_at_unix_s: i64::MAX,
        allowed_agents: vec![],
    };
    let plain = [
        world.initialize_config(),
        world.set_gateway(&caller),
        world.announce_parameters(None),
        world.apply_parameters(),
        world.nominate_admin(&caller),
        world.accept_admin(&caller),
        world.announce_roles(Some(caller), None),
        world.apply_roles(),
        world.remove_resolver(),
        world.set_paused(true),
        world.suspend_agent(&agent, true),
        world.verify_creator(&agent.creator.key(), Some("Ada")),
        upsert,
        world.list_agent(&unlisted, world.list_args(&unlisted)),
        world.update_listing(&agent, ix::UpdateListingArgs { price: Some(1_000), ..Default::default() }),
        world.set_agent_status(&paused, AgentStatus::Active),
        world.deposit_collateral(&agent, 1),
        world.delist_agent(&agent),
        world.withdraw_collateral(&agent),
        world.close_agent(&closable),
        world.grant_spending(grant),
        world.revoke_spending(),
        world.open_execution(&next),
        world.open_execution_with_grant(&next),
        world.fail_execution(&by_key, FailureReason::Timeout),
        world.refund_signed_by_wallet(&by_key),
        world.open_dispute(&completed),
        world.answer_dispute(&disputed),
        world.resolve_dispute(&disputed, true, 1),
        world.cancel_dispute(&disputed),
        world.expire_dispute(&disputed),
        world.close_execution(&completed),
    ];
    let mut cases: Vec<Case> = plain.into_iter().map(|instruction| Case { before: vec![], instruction }).collect();
    let proof = world.failure_proof(&open).instruction();
    cases.push(Case { before: vec![proof], instruction: world.fail_signed_execution(&open) });
    let proof = world.proof(&open).instruction();
    cases.push(Case { before: vec![proof], instruction: world.complete_execution(&open) });
    (world, cases)
}

/// The keys that an instruction of a case requires.
fn signers_of(world: &World, case: &Case, instruction: &Instruction) -> Vec<Keypair> {
    let everybody =
        [&world.upgrade_authority, &world.admin, &world.resolver, &world.gateway, &world.caller, &world.agent.creator];
    let mut keys: Vec<Keypair> = everybody.map(|actor| actor.keypair.insecure_clone()).into();
    keys.push(world.session.insecure_clone());
    keys.extend(case.instruction.accounts.iter().filter_map(|meta| world.key_of(&meta.pubkey)));
    keys.retain(|key| instruction.accounts.iter().any(|meta| meta.is_signer && meta.pubkey == key.pubkey()));
    keys
}

/// Sends a changed case with every signature that it still requires.
#[track_caller]
fn assert_refused(world: &mut World, case: &Case, changed: Instruction, number: u32, what: &str) {
    let signers = signers_of(world, case, &changed);
    let signers: Vec<&Keypair> = signers.iter().collect();
    let index = u8::try_from(case.before.len()).expect("few instructions");
    let mut all = case.before.clone();
    all.push(changed);
    let failed = world.send(&all, &signers).expect_err(what);
    let expected = TransactionError::InstructionError(index, InstructionError::Custom(number));
    assert_eq!(failed.err, expected, "{what}\n{}", failed.meta.logs.join("\n"));
}

/// Calls `check` with every account of every instruction.
fn for_every_account(mut check: impl FnMut(&mut World, &Case, usize, &str)) {
    let (mut world, cases) = cases();
    let mut seen = BTreeSet::new();
    for case in &cases {
        let name = &idl::of(&case.instruction).name;
        for index in 0..case.instruction.accounts.len() {
            check(&mut world, case, index, &format!("{name}, account {index}"));
        }
        seen.insert(name);
    }
    assert_eq!(seen.len(), idl::instructions().len(), "not every instruction of the IDL was tried");
}

/// The same call, made by the token program's own library.
fn by_the_library(data: &[u8], accounts: &[Pubkey]) -> Instruction {
    let account = |at: usize| accounts.get(at).expect("an account");
    let built = match TokenInstruction::unpack(data).expect("an instruction of the token program") {
        TokenInstruction::TransferChecked { amount, decimals } => library::transfer_checked(
            &spl_token_interface::ID,
            account(0),
            account(1),
            account(2),
            account(3),
            &[],
            amount,
            decimals,
        ),
        TokenInstruction::InitializeAccount3 { owner } => {
            library::initialize_account3(&spl_token_interface::ID, account(0), account(1), &owner)
        }
        TokenInstruction::CloseAccount => {
            library::close_account(&spl_token_interface::ID, account(0), account(1), account(2), &[])
        }
        other => panic!("the program does not call {other:?}"),
    };
    built.expect("an instruction")
}

#[test]
fn each_call_of_the_token_program_is_byte_for_byte_that_of_its_library() {
    let (world, cases) = cases();
    let mut calls = BTreeMap::new();
    for case in &cases {
        let mut keys = signers_of(&world, case, &case.instruction);
        keys.retain(|key| key.pubkey() != world.payer.key());
        keys.insert(0, world.payer.keypair.insecure_clone());
        let all = [case.before.as_slice(), std::slice::from_ref(&case.instruction)].concat();
        let blockhash = world.svm.latest_blockhash();
        let transaction =
            Transaction::new_signed_with_payer(&all, Some(&world.payer.key()), &Vec::from_iter(&keys), blockhash);
        let names = transaction.message.account_keys.clone();
        // Those that need another world are covered by those like them.
        let Ok(simulated) = world.svm.simulate_transaction(transaction) else { continue };
        for called in simulated.meta.inner_instructions.iter().flatten().map(|inner| &inner.instruction) {
            let name = |index: &u8| *names.get(usize::from(*index)).expect("an account");
            if name(&called.program_id_index) != spl_token_interface::ID {
                continue;
            }
            let accounts: Vec<Pubkey> = called.accounts.iter().map(name).collect();
            let theirs = by_the_library(&called.data, &accounts);
            assert_eq!(called.data, theirs.data);
            assert_eq!(accounts, theirs.accounts.iter().map(|meta| meta.pubkey).collect::<Vec<_>>());
            let kind = *called.data.first().expect("a kind");
            calls.entry(kind).or_insert_with(BTreeSet::new).insert(idl::of(&case.instruction).name.clone());
        }
    }
    let of = |kind: u8| calls.get(&kind).map_or(0, BTreeSet::len);
    assert!(of(12) >= 8 && of(18) >= 1 && of(9) >= 1 && calls.len() == 3, "{calls:?}");
}

#[test]
fn every_signature_is_required() {
    let mut tried = 0u32;
    for_every_account(|world, case, index, what| {
        let mut changed = case.instruction.clone();
        let meta = changed.accounts.get_mut(index).expect("an account");
        // The fee payer signs the transaction in any case.
        if !meta.is_signer || meta.pubkey == world.payer.key() {
            return;
        }
        meta.is_signer = false;
        assert_refused(world, case, changed, NOT_SIGNER, what);
        tried = tried.saturating_add(1);
    });
    assert!(tried >= 25, "only {tried} signatures were left out");
}

#[test]
fn every_writable_account_must_be_given_as_writable() {
    let mut tried = 0u32;
    for_every_account(|world, case, index, what| {
        let mut changed = case.instruction.clone();
        let key = changed.accounts.get(index).expect("an account").pubkey;
        // The fee payer is always writable; an account that is named twice is writable if one of them is.
        let twice = changed.accounts.iter().filter(|meta| meta.pubkey == key).count() > 1;
        if twice || key == world.payer.key() || !changed.accounts.get(index).expect("an account").is_writable {
            return;
        }
        changed.accounts.get_mut(index).expect("an account").is_writable = false;
        assert_refused(world, case, changed, NOT_WRITABLE, what);
        tried = tried.saturating_add(1);
    });
    assert!(tried >= 60, "only {tried} accounts were made read-only");
}

#[test]
fn the_programs_accounts_must_be_its_own_and_of_the_right_kind() {
    let mut tried = 0u32;
    for_every_account(|world, case, index, what| {
        let key = case.instruction.accounts.get(index).expect("an account").pubkey;
        let Some(genuine) = world.account(&key).filter(|account| account.owner == PROGRAM_ID) else { return };
        // A copy that another program owns, and a genuine account of another kind.
        let copy = world.new_key().pubkey();
        world.put_account(copy, solana_account::Account { owner: world.stranger.key(), ..genuine });
        let config = world.addresses.config();
        let other = if key == config { world.agent.address } else { config };
        for (replacement, number) in [(copy, WRONG_OWNER), (other, WRONG_DISCRIMINATOR)] {
            let mut changed = case.instruction.clone();
            changed.accounts.get_mut(index).expect("an account").pubkey = replacement;
            if let Some(number) = expected(what, number) {
                assert_refused(world, case, changed, number, what);
                tried = tried.saturating_add(1);
            }
        }
    });
    assert!(tried >= 75, "only {tried} accounts were exchanged");
}

/// The place of the layout version in an account of the program.
fn version_at(account: &solana_account::Account) -> usize {
    let known = [
        (Config::DISCRIMINATOR, std::mem::offset_of!(Config, version)),
        (CreatorProfile::DISCRIMINATOR, std::mem::offset_of!(CreatorProfile, version)),
        (AgentListed::DISCRIMINATOR, std::mem::offset_of!(AgentListed, version)),
        (ExecutionRecord::DISCRIMINATOR, std::mem::offset_of!(ExecutionRecord, version)),
        (Dispute::DISCRIMINATOR, std::mem::offset_of!(Dispute, version)),
        (SpendingGrant::DISCRIMINATOR, std::mem::offset_of!(SpendingGrant, version)),
    ];
    let found = known.iter().find(|(discriminator, _)| account.data.starts_with(discriminator));
    found.expect("a kind of account").1.checked_add(8).expect("small")
}

#[test]
fn an_account_of_another_version_is_refused_by_every_instruction() {
    let mut tried = 0u32;
    for_every_account(|world, case, index, what| {
        let key = case.instruction.accounts.get(index).expect("an account").pubkey;
        let Some(genuine) = world.account(&key).filter(|account| account.owner == PROGRAM_ID) else { return };
        let at = version_at(&genuine);
        for version in [0, 2, u8::MAX] {
            world.tamper(&key, |account| *account.data.get_mut(at).expect("a version") = version);
            // A second configuration is refused without a look at the first.
            let exists = what == "initialize_config, account 1";
            let error = if exists { MarketplaceError::AlreadyExists } else { MarketplaceError::WrongVersion };
            assert_refused(world, case, case.instruction.clone(), error.into(), what);
            tried = tried.saturating_add(1);
        }
        world.put_account(key, genuine);
    });
    assert!(tried >= 75, "only {tried} versions were tried");
}

/// Accounts that are created or found at their canonical address are refused by address.
fn expected(what: &str, number: u32) -> Option<u32> {
    let by_address = [
        "initialize_config, account 1",
        "upsert_creator_profile, account 1",
        "grant_spending, account 1",
        "list_agent, account 2",
        "close_agent, account 2",
    ];
    if by_address.contains(&what) {
        return Some(MarketplaceError::WrongAddress.into());
    }
    Some(number)
}
