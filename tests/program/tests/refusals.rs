//! What each instruction of the paid call refuses: wrong signers, accounts, mints, owners, states, times
//! and amounts, each with an error of its own, and with nothing moved.

use agent_marketplace::{instruction, instructions as ix, state::*};
use crtx_program_tests::{instructions::*, *};
use solana_address::Address;
use solana_instruction::error::InstructionError;

use MarketplaceError as E;

/// Anchor's numbers for accounts that are not what they should be.
const ANCHOR_NOT_SIGNER: u32 = 3_010;
const ANCHOR_WRONG_OWNER: u32 = 3_007;
const ANCHOR_WRONG_DISCRIMINATOR: u32 = 3_002;
/// SPL Token's number.
const TOKEN_INSUFFICIENT_FUNDS: u32 = 1;

/// A single instruction is refused and no USDC moved.
/// A settlement with a canonical proof is refused and no USDC moved.
#[track_caller]
fn settle_refused(
    world: &mut World,
    execution: &Execution,
    error: E,
    change: impl FnOnce(&mut agent_marketplace::accounts::CompleteExecution),
) {
    let mut accounts = world.complete_accounts(execution);
    change(&mut accounts);
    let settle = build(&accounts, &instruction::CompleteExecution { args: complete_args() });
    let balances = world.token_balances();
    let proof = world.proof(execution).instruction();
    let signers = everybody(world);
    let signers: Vec<&Keypair> = signers.iter().filter(|key| key.pubkey() == accounts.authority).collect();
    assert_error_at(world.send(&[proof, settle], &signers), 1, error);
    assert_eq!(world.token_balances(), balances);
    assert_eq!(world.status(execution), ExecutionStatus::Open);
}

fn everybody(world: &World) -> Vec<Keypair> {
    [&world.gateway, &world.agent.creator, &world.caller, &world.stranger, &world.admin]
        .map(|actor| actor.keypair.insecure_clone())
        .into()
}

/// Instruction without a signature that it needs.
fn unsigned(mut instruction: Instruction, signer: &Address) -> Instruction {
    for meta in instruction.accounts.iter_mut().filter(|meta| meta.pubkey == *signer) {
        meta.is_signer = false;
    }
    instruction
}

// initialize_config

#[test]
fn only_the_upgrade_authority_configures() {
    let mut world = World::bare(0);
    let mut accounts = world.initialize_config_accounts();
    accounts.authority = world.admin.key();
    let args = world.config_args();
    let initialize = build(&accounts, &instruction::InitializeConfig { args });
    let admin = world.admin.keypair.insecure_clone();
    refused(&mut world, initialize, &[&admin], E::NotUpgradeAuthority);
}

#[test]
fn a_program_without_upgrade_authority_cannot_be_configured() {
    let mut world = World::bare(0);
    let authority = world.upgrade_authority.keypair.insecure_clone();
    world.set_upgrade_authority(None);
    let initialize = world.initialize_config();
    refused(&mut world, initialize, &[&authority], E::NotUpgradeAuthority);
}

#[test]
fn the_upgrade_authority_is_read_from_this_programs_own_accounts() {
    let mut world = World::bare(0);
    let authority = world.upgrade_authority.keypair.insecure_clone();
    // A forged program-data account that names the attacker.
    let fake = world.new_key().pubkey();
    let genuine = world.account(&program_data()).expect("deployed");
    world.put_account(fake, solana_account::Account { owner: PROGRAM_ID, executable: false, ..genuine.clone() });
    let args = world.config_args();
    type Accounts = agent_marketplace::accounts::InitializeConfig;
    let cases: Cases<Accounts> = vec![
        (Box::new(|accounts| accounts.program_data = fake), E::WrongProgramData),
        (Box::new(|accounts| accounts.program = agent_marketplace::token::TOKEN_PROGRAM_ID), E::WrongProgramData),
        (Box::new(|accounts| accounts.program_data = PROGRAM_ID), E::WrongProgramData),
    ];
    for (change, error) in cases {
        let mut accounts = world.initialize_config_accounts();
        change(&mut accounts);
        let initialize = build(&accounts, &instruction::InitializeConfig { args: args.clone() });
        refused(&mut world, initialize, &[&authority], error);
    }
}

#[test]
fn the_configuration_is_made_once() {
    let mut world = World::new();
    let authority = world.upgrade_authority.keypair.insecure_clone();
    let again = world.initialize_config();
    refused(&mut world, again, &[&authority], E::AlreadyExists);
}

#[test]
fn the_configuration_stands_at_its_own_address() {
    let mut world = World::bare(0);
    let authority = world.upgrade_authority.keypair.insecure_clone();
    let mut accounts = world.initialize_config_accounts();
    accounts.config = world.addresses.creator_profile(&world.admin.key());
    let args = world.config_args();
    let initialize = build(&accounts, &instruction::InitializeConfig { args });
    refused(&mut world, initialize, &[&authority], E::WrongAddress);
}

#[test]
fn a_mint_of_another_kind_is_refused() {
    let mut world = World::bare(0);
    let authority = world.upgrade_authority.keypair.insecure_clone();
    let token_2022 = anchor_lang::prelude::pubkey!("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb");
    let changes: [fn(&mut solana_account::Account, Address); 4] = [
        |mint, _| mint.data[44] = 9,
        |mint, _| mint.data[45] = 0,
        |mint, _| mint.data.truncate(81),
        |mint, other| mint.owner = other,
    ];
    for change in changes {
        let mint = world.new_key().pubkey();
        world.put_mint(mint, 0);
        world.tamper(&mint, |account| change(account, token_2022));
        let mut accounts = world.initialize_config_accounts();
        accounts.usdc_mint = mint;
        let args = world.config_args();
        let initialize = build(&accounts, &instruction::InitializeConfig { args });
        refused(&mut world, initialize, &[&authority], E::MintUnsuitable);
    }
}

#[test]
fn configurations_beyond_the_limits_are_refused() {
    let mut world = World::bare(0);
    let authority = world.upgrade_authority.keypair.insecure_clone();
    let good = world.config_args();
    let mut falling = good.collateral_tiers;
    falling[3].collateral = 1;
    let mut unordered = good.collateral_tiers;
    unordered[1].max_price = unordered[0].max_price;
    for (args, error) in [
        (ix::InitializeConfigArgs { fee_bps: 1_001, ..good.clone() }, E::FeeTooHigh),
        (ix::InitializeConfigArgs { dispute_window_s: 0, ..good.clone() }, E::DurationOutOfRange),
        (ix::InitializeConfigArgs { dispute_window_s: -1, ..good.clone() }, E::DurationOutOfRange),
        (ix::InitializeConfigArgs { dispute_window_s: 14 * 86_400 + 1, ..good.clone() }, E::DurationOutOfRange),
        (ix::InitializeConfigArgs { settle_grace_s: -1, ..good.clone() }, E::DurationOutOfRange),
        (ix::InitializeConfigArgs { settle_grace_s: 86_401, ..good.clone() }, E::DurationOutOfRange),
        (ix::InitializeConfigArgs { collateral_tiers: falling, ..good.clone() }, E::TiersNotAscending),
        (ix::InitializeConfigArgs { collateral_tiers: unordered, ..good.clone() }, E::TiersNotAscending),
        (ix::InitializeConfigArgs { admin: Default::default(), ..good.clone() }, E::RoleMissing),
        (ix::InitializeConfigArgs { resolver: Default::default(), ..good.clone() }, E::RoleMissing),
        (ix::InitializeConfigArgs { gateway_authority: Default::default(), ..good.clone() }, E::RoleMissing),
        (ix::InitializeConfigArgs { treasury_owner: Default::default(), ..good.clone() }, E::RoleMissing),
    ] {
        let initialize = build(&world.initialize_config_accounts(), &instruction::InitializeConfig { args });
        refused(&mut world, initialize, &[&authority], error);
    }
}

// upsert_creator_profile

#[test]
fn display_names_that_cannot_be_shown_are_refused() {
    let mut world = World::new();
    let creator = world.agent.creator.clone();
    for name in ["", " Ada", "Ada ", "a\u{7}b", "a\nb", &"x".repeat(33), &"ü".repeat(17)] {
        let upsert = world.upsert_creator_profile(&creator.key(), name);
        refused(&mut world, upsert, &[&creator.keypair], E::DisplayNameInvalid);
    }
    for name in ["A", &"x".repeat(32), &"ü".repeat(16)] {
        let upsert = world.upsert_creator_profile(&creator.key(), name);
        world.must(&[upsert], &[&creator.keypair]);
    }
}

#[test]
fn a_profile_belongs_to_the_wallet_that_signs() {
    let mut world = World::new();
    let (creator, stranger) = (world.agent.creator.clone(), world.stranger.clone());
    let upsert = world.upsert_creator_profile(&creator.key(), "Ada");
    world.must(std::slice::from_ref(&upsert), &[&creator.keypair]);
    // Signed by a stranger, for the creator's profile.
    let mut stolen = upsert.clone();
    stolen.accounts[0].pubkey = stranger.key();
    refused(&mut world, stolen, &[&stranger.keypair], E::WrongAddress);
    let result = world.send(&[unsigned(upsert, &creator.key())], &[]);
    assert_custom_at(result, 0, ANCHOR_NOT_SIGNER);
}

// list_agent

#[test]
fn listings_beyond_the_limits_are_refused() {
    let mut world = World::new();
    let agent = world.new_agent();
    let good = world.list_args(&agent);
    for (args, error) in [
        (ix::ListAgentArgs { price: 0, ..good.clone() }, E::PriceZero),
        (ix::ListAgentArgs { timeout_seconds: 901, ..good.clone() }, E::TimeoutOutOfRange),
        (ix::ListAgentArgs { result_key: Default::default(), ..good.clone() }, E::ResultKeyMissing),
        (ix::ListAgentArgs { metadata_uri: String::new(), ..good.clone() }, E::MetadataUriInvalid),
        (ix::ListAgentArgs { metadata_uri: "a b".to_owned(), ..good.clone() }, E::MetadataUriInvalid),
        (ix::ListAgentArgs { metadata_uri: "x".repeat(129), ..good.clone() }, E::MetadataUriInvalid),
        (ix::ListAgentArgs { collateral: COLLATERAL - 1, ..good.clone() }, E::CollateralTooLow),
        (ix::ListAgentArgs { price: 100_001, ..good.clone() }, E::CollateralTooLow),
        (ix::ListAgentArgs { price: u64::MAX, collateral: 999 * USDC, ..good.clone() }, E::CollateralTooLow),
    ] {
        let list = world.list_agent(&agent, args);
        refused(&mut world, list, &[&agent.creator.keypair], error);
    }
}

#[test]
fn each_price_tier_takes_its_collateral() {
    for (price, tier) in [
        (1, 10),
        (100_000, 10),
        (100_001, 50),
        (1_000_000, 50),
        (1_000_001, 200),
        (10_000_000, 200),
        (10_000_001, 1_000),
        (u64::MAX, 1_000),
    ] {
        let mut world = World::new();
        let agent = world.new_agent();
        let args = ix::ListAgentArgs { price, collateral: tier * USDC - 1, ..world.list_args(&agent) };
        let list = world.list_agent(&agent, args.clone());
        refused(&mut world, list, &[&agent.creator.keypair], E::CollateralTooLow);
        world.list(&agent, ix::ListAgentArgs { collateral: tier * USDC, ..args });
    }
}

#[test]
fn a_listing_with_wrong_accounts_is_refused() {
    let mut world = World::new();
    let agent = world.new_agent();
    let args = world.list_args(&agent);
    let other_mint = world.new_key().pubkey();
    world.put_mint(other_mint, 0);
    let other_mint_token = world.new_token_account_of(&other_mint, &agent.creator.key(), PURSE);
    let frozen = world.new_token_account(&agent.creator.key(), PURSE);
    world.freeze(&frozen);
    let stranger_token = world.stranger.token;
    let not_token = world.payer.key();
    let other_address = world.addresses.escrow(&world.agent.address);
    type Accounts = agent_marketplace::accounts::ListAgent;
    let cases: Cases<Accounts> = vec![
        (Box::new(|a| a.agent = a.collateral_vault), E::WrongAddress),
        (Box::new(|a| a.escrow = other_address), E::WrongAddress),
        (Box::new(|a| a.collateral_vault = a.escrow), E::WrongAddress),
        (Box::new(|a| a.usdc_mint = other_mint), E::WrongMint),
        (Box::new(move |a| a.creator_token = other_mint_token), E::TokenMintMismatch),
        (Box::new(move |a| a.creator_token = stranger_token), E::TokenOwnerMismatch),
        (Box::new(move |a| a.creator_token = frozen), E::TokenAccountUnusable),
        (Box::new(move |a| a.creator_token = not_token), E::NotTokenAccount),
        (Box::new(|a| a.token_program = a.system_program), E::WrongTokenProgram),
        (Box::new(|a| a.system_program = a.token_program), E::WrongSystemProgram),
    ];
    for (change, error) in cases {
        let mut accounts = world.list_accounts(&agent);
        change(&mut accounts);
        let list = build(&accounts, &instruction::ListAgent { args: args.clone() });
        refused(&mut world, list, &[&agent.creator.keypair], error);
    }
}

#[test]
fn the_same_index_is_listed_once() {
    let mut world = World::new();
    let agent = world.agent.clone();
    let again = world.list_agent(&agent, world.list_args(&agent));
    refused(&mut world, again, &[&agent.creator.keypair], E::AlreadyExists);
}

#[test]
fn an_agent_cannot_be_listed_in_anothers_name() {
    let mut world = World::new();
    let agent = world.new_agent();
    let list = world.list_agent(&agent, world.list_args(&agent));
    let result = world.send(&[unsigned(list.clone(), &agent.creator.key())], &[]);
    assert_custom_at(result, 0, ANCHOR_NOT_SIGNER);
    let mut stolen = list;
    stolen.accounts[0].pubkey = world.stranger.key();
    let stranger = world.stranger.clone();
    stolen.accounts[5].pubkey = stranger.token;
    refused(&mut world, stolen, &[&stranger.keypair], E::WrongAddress);
}

#[test]
fn collateral_that_is_not_there_cannot_be_locked() {
    let mut world = World::new();
    let agent = world.new_agent();
    let args = ix::ListAgentArgs { collateral: PURSE + 1, ..world.list_args(&agent) };
    let list = world.list_agent(&agent, args);
    let result = world.send(&[list], &[&agent.creator.keypair]);
    assert_custom_at(result, 0, TOKEN_INSUFFICIENT_FUNDS);
    assert!(world.try_state::<AgentListing>(&agent.address).is_none());
}

// set_agent_status, update_listing

#[test]
fn status_changes_that_make_no_sense_are_refused() {
    let mut world = World::new();
    let agent = world.agent.clone();
    let creator = agent.creator.keypair.insecure_clone();
    let set = world.set_agent_status(&agent, AgentStatus::Active);
    refused(&mut world, set, &[&creator], E::NothingToChange);
    let set = world.set_agent_status(&agent, AgentStatus::Delisted);
    refused(&mut world, set, &[&creator], E::StatusNotSettable);
    let stranger = world.stranger.clone();
    let mut set = world.set_agent_status(&agent, AgentStatus::Paused);
    set.accounts[0].pubkey = stranger.key();
    refused(&mut world, set, &[&stranger.keypair], E::NotCreator);
    world.tamper_state::<AgentListing>(&agent.address, |listing| listing.status = AgentStatus::Delisted as u8);
    let set = world.set_agent_status(&agent, AgentStatus::Paused);
    refused(&mut world, set, &[&creator], E::AgentDelisted);
}

#[test]
fn an_agent_below_its_tier_cannot_be_reactivated() {
    let mut world = World::new();
    let agent = world.agent.clone();
    world.tamper_state::<AgentListing>(&agent.address, |listing| {
        listing.status = AgentStatus::Paused as u8;
        listing.collateral = COLLATERAL - 1;
    });
    let set = world.set_agent_status(&agent, AgentStatus::Active);
    refused(&mut world, set, &[&agent.creator.keypair], E::CollateralTooLow);
}

#[test]
fn edits_beyond_the_limits_are_refused() {
    let mut world = World::new();
    let agent = world.agent.clone();
    let none = ix::UpdateListingArgs::default();
    let metadata = |uri: &str| Some(ix::MetadataRef { hash: [1; 32], uri: uri.to_owned() });
    for (args, error) in [
        (none.clone(), E::NothingToChange),
        (ix::UpdateListingArgs { price: Some(0), ..none.clone() }, E::PriceZero),
        (ix::UpdateListingArgs { price: Some(100_001), ..none.clone() }, E::CollateralTooLow),
        (ix::UpdateListingArgs { timeout_seconds: Some(0), ..none.clone() }, E::TimeoutOutOfRange),
        (ix::UpdateListingArgs { timeout_seconds: Some(901), ..none.clone() }, E::TimeoutOutOfRange),
        (ix::UpdateListingArgs { result_key: Some(Default::default()), ..none.clone() }, E::ResultKeyMissing),
        (ix::UpdateListingArgs { metadata: metadata(""), ..none.clone() }, E::MetadataUriInvalid),
        (ix::UpdateListingArgs { metadata: metadata("ü"), ..none.clone() }, E::MetadataUriInvalid),
    ] {
        let update = world.update_listing(&agent, args);
        refused(&mut world, update, &[&agent.creator.keypair], error);
    }
    let stranger = world.stranger.clone();
    let edit = ix::UpdateListingArgs { price: Some(1), ..none };
    let mut update = world.update_listing(&agent, edit.clone());
    update.accounts[0].pubkey = stranger.key();
    refused(&mut world, update, &[&stranger.keypair], E::NotCreator);
    world.tamper_state::<AgentListing>(&agent.address, |listing| listing.status = AgentStatus::Delisted as u8);
    let update = world.update_listing(&agent, edit);
    refused(&mut world, update, &[&agent.creator.keypair], E::AgentDelisted);
}

// grant_spending, revoke_spending

fn grant_args(world: &World) -> ix::GrantSpendingArgs {
    ix::GrantSpendingArgs {
        session_key: world.session.pubkey(),
        per_call_cap: USDC,
        total_cap: 10 * USDC,
        expires_at_unix_s: START_UNIX_S + 1,
        allowed_agents: vec![],
    }
}

#[test]
fn grants_beyond_the_limits_are_refused() {
    let mut world = World::new();
    let caller = world.caller.clone();
    let good = grant_args(&world);
    for (args, error) in [
        (ix::GrantSpendingArgs { per_call_cap: 0, ..good.clone() }, E::GrantCapZero),
        (ix::GrantSpendingArgs { total_cap: 0, ..good.clone() }, E::GrantCapZero),
        (ix::GrantSpendingArgs { expires_at_unix_s: START_UNIX_S, ..good.clone() }, E::GrantExpiryPast),
        (ix::GrantSpendingArgs { allowed_agents: vec![PROGRAM_ID; 9], ..good.clone() }, E::TooManyAllowedAgents),
        (ix::GrantSpendingArgs { session_key: Default::default(), ..good.clone() }, E::SessionKeyInvalid),
        (ix::GrantSpendingArgs { session_key: caller.key(), ..good.clone() }, E::SessionKeyInvalid),
    ] {
        let grant = world.grant_spending(args);
        refused(&mut world, grant, &[&caller.keypair], error);
    }
    let eight = world.grant_spending(ix::GrantSpendingArgs { allowed_agents: vec![PROGRAM_ID; 8], ..good });
    world.must(&[eight], &[&caller.keypair]);
}

#[test]
fn a_grant_stands_at_its_wallets_own_addresses() {
    let mut world = World::new();
    let (caller, stranger) = (world.caller.clone(), world.stranger.clone());
    let args = grant_args(&world);
    // A stranger signs for the caller's grant.
    let mut stolen = world.grant_spending(args.clone());
    stolen.accounts[0].pubkey = stranger.key();
    refused(&mut world, stolen, &[&stranger.keypair], E::WrongAddress);
    let mut accounts = world.grant_spending_accounts(&args.session_key);
    accounts.spender = world.addresses.spender(&stranger.key());
    let wrong_spender = build(&accounts, &instruction::GrantSpending { args });
    refused(&mut world, wrong_spender, &[&caller.keypair], E::WrongAddress);
}

#[test]
fn a_revoked_grant_stays_revoked() {
    let mut world = World::new();
    let caller = world.caller.keypair.insecure_clone();
    let revoke = world.revoke_spending();
    world.must(std::slice::from_ref(&revoke), &[&caller]);
    refused(&mut world, revoke, &[&caller], E::GrantRevoked);
    let renew = world.grant_spending(grant_args(&world));
    refused(&mut world, renew, &[&caller], E::GrantRevoked);
    let execution = world.new_execution();
    let open = world.open_execution_with_grant(&execution);
    let session = world.session.insecure_clone();
    refused(&mut world, open, &[&session], E::GrantRevoked);
}

#[test]
fn only_the_wallet_revokes() {
    let mut world = World::new();
    for who in [world.stranger.keypair.insecure_clone(), world.session.insecure_clone()] {
        let mut revoke = world.revoke_spending();
        revoke.accounts[0].pubkey = who.pubkey();
        refused(&mut world, revoke, &[&who], E::NotGrantWallet);
    }
}

// open_execution

#[test]
fn an_agent_that_is_not_active_takes_no_calls() {
    let mut world = World::new();
    let execution = world.new_execution();
    for status in [AgentStatus::Paused, AgentStatus::Delisted] {
        let agent = world.agent.address;
        world.tamper_state::<AgentListing>(&agent, |listing| listing.status = status as u8);
        let caller = world.caller.keypair.insecure_clone();
        let open = world.open_execution(&execution);
        refused(&mut world, open, &[&caller], E::AgentNotActive);
        let session = world.session.insecure_clone();
        let open = world.open_execution_with_grant(&execution);
        refused(&mut world, open, &[&session], E::AgentNotActive);
    }
}

#[test]
fn pause_stops_new_listings_and_openings_and_nothing_else() {
    let mut world = World::new();
    let (settled, failed, expired) = (world.opened(), world.opened(), world.opened());
    let config = world.addresses.config();
    world.tamper_state::<Config>(&config, |config| config.paused = 1);
    let agent = world.new_agent();
    let list = world.list_agent(&agent, world.list_args(&agent));
    refused(&mut world, list, &[&agent.creator.keypair], E::Paused);
    let execution = world.new_execution();
    let (open, caller) = (world.open_execution(&execution), world.caller.keypair.insecure_clone());
    refused(&mut world, open, &[&caller], E::Paused);
    let (open, session) = (world.open_execution_with_grant(&execution), world.session.insecure_clone());
    refused(&mut world, open, &[&session], E::Paused);
    assert_ok(world.complete(&settled));
    assert_ok(world.fail(&failed));
    world.expire(&expired);
    assert_ok(world.refund(&expired));
}

#[test]
fn a_price_above_the_callers_maximum_is_refused() {
    let mut world = World::new();
    let execution = world.new_execution();
    let caller = world.caller.keypair.insecure_clone();
    for (max_amount, refused_with) in [(PRICE - 1, Some(E::PriceAboveMaximum)), (PRICE, None)] {
        let args = ix::OpenExecutionArgs { max_amount, ..world.open_args(&execution) };
        let open = build(&world.open_accounts(&execution), &instruction::OpenExecution { args });
        match refused_with {
            Some(error) => refused(&mut world, open, &[&caller], error),
            None => drop(world.must(&[open], &[&caller])),
        }
    }
}

#[test]
fn the_same_call_opens_once() {
    let mut world = World::new();
    let execution = world.opened();
    let caller = world.caller.keypair.insecure_clone();
    let again = world.open_execution(&execution);
    refused(&mut world, again.clone(), &[&caller], E::AlreadyExists);
    let session = world.session.insecure_clone();
    let by_key = world.open_execution_with_grant(&execution);
    refused(&mut world, by_key, &[&session], E::AlreadyExists);
    assert_ok(world.complete(&execution));
    refused(&mut world, again, &[&caller], E::AlreadyExists);
}

#[test]
fn two_callers_use_the_same_execution_id_without_meeting() {
    let mut world = World::new();
    let first = world.opened();
    let caller = world.stranger.clone();
    let record = world.addresses.execution(&caller.key(), &first.id);
    let second = Execution { caller, record, ..first.clone() };
    assert_ok(world.open(&second));
    assert_ok(world.complete(&first));
    assert_eq!(world.status(&second), ExecutionStatus::Open);
}

#[test]
fn an_opening_with_wrong_accounts_is_refused() {
    let mut world = World::new();
    let execution = world.new_execution();
    let other_mint = world.new_key().pubkey();
    world.put_mint(other_mint, 0);
    let other_mint_token = world.new_token_account_of(&other_mint, &world.caller.key(), PURSE);
    let frozen = world.new_token_account(&world.caller.key(), PURSE);
    world.freeze(&frozen);
    let agent = world.agent.address;
    let agent_owned = world.new_token_account(&agent, 0);
    let (stranger_token, not_token) = (world.stranger.token, world.payer.key());
    let vault = world.addresses.collateral(&world.agent.address);
    let elsewhere = world.addresses.execution(&world.stranger.key(), &execution.id);
    type Accounts = agent_marketplace::accounts::OpenExecution;
    let cases: Cases<Accounts> = vec![
        (Box::new(move |a| a.record = elsewhere), E::WrongAddress),
        (Box::new(move |a| a.escrow = agent_owned), E::WrongEscrow),
        (Box::new(move |a| a.escrow = vault), E::WrongEscrow),
        (Box::new(|a| a.escrow = a.caller_token), E::WrongEscrow),
        (Box::new(move |a| a.usdc_mint = other_mint), E::WrongMint),
        (Box::new(move |a| a.caller_token = other_mint_token), E::TokenMintMismatch),
        (Box::new(move |a| a.caller_token = stranger_token), E::TokenOwnerMismatch),
        (Box::new(move |a| a.caller_token = frozen), E::TokenAccountUnusable),
        (Box::new(move |a| a.caller_token = not_token), E::NotTokenAccount),
        (Box::new(|a| a.token_program = a.system_program), E::WrongTokenProgram),
        (Box::new(|a| a.system_program = a.token_program), E::WrongSystemProgram),
    ];
    let caller = world.caller.keypair.insecure_clone();
    for (change, error) in cases {
        let mut accounts = world.open_accounts(&execution);
        change(&mut accounts);
        let open = build(&accounts, &instruction::OpenExecution { args: world.open_args(&execution) });
        refused(&mut world, open, &[&caller], error);
    }
}

#[test]
fn accounts_of_another_kind_are_not_read() {
    let mut world = World::new();
    let execution = world.opened();
    let fake = world.new_key().pubkey();
    let genuine = world.account(&world.addresses.config()).expect("configured");
    world.put_account(fake, solana_account::Account { owner: world.stranger.key(), ..genuine });
    let mut accounts = world.refund_accounts(&execution);
    accounts.config = fake;
    let refund = build(&accounts, &instruction::RefundExpiredExecution {});
    assert_custom_at(world.send(&[refund], &[]), 0, ANCHOR_WRONG_OWNER);
    let mut accounts = world.refund_accounts(&execution);
    accounts.record = execution.agent.address;
    let refund = build(&accounts, &instruction::RefundExpiredExecution {});
    assert_custom_at(world.send(&[refund], &[]), 0, ANCHOR_WRONG_DISCRIMINATOR);
}

#[test]
fn a_wallet_that_holds_too_little_opens_nothing() {
    let mut world = World::new();
    let execution = world.new_execution();
    let token = world.caller.token;
    world.tamper(&token, |account| account.data[64..72].copy_from_slice(&(PRICE - 1).to_le_bytes()));
    assert_custom_at(world.open(&execution), 0, TOKEN_INSUFFICIENT_FUNDS);
    assert_custom_at(world.open_with_grant(&execution), 0, TOKEN_INSUFFICIENT_FUNDS);
    assert!(world.account(&execution.record).is_none());
}

#[test]
fn nobody_opens_in_anothers_name() {
    let mut world = World::new();
    let execution = world.new_execution();
    let open = world.open_execution(&execution);
    let result = world.send(&[unsigned(open, &execution.caller.key())], &[]);
    assert_custom_at(result, 0, ANCHOR_NOT_SIGNER);
}

#[test]
fn a_delegate_does_not_open_on_its_principals_account() {
    // The stranger holds an SPL approval for the caller's account; that is not the caller's consent here.
    let mut world = World::new();
    let (stranger, caller) = (world.stranger.clone(), world.caller.clone());
    let mut approve = world.approve_spender(u64::MAX);
    approve.accounts[1].pubkey = stranger.key();
    world.must(&[approve], &[&caller.keypair]);
    let mut execution = world.new_execution();
    execution.caller = Actor { token: caller.token, ..stranger.clone() };
    execution.record = world.addresses.execution(&stranger.key(), &execution.id);
    let open = world.open_execution(&execution);
    refused(&mut world, open, &[&stranger.keypair], E::TokenOwnerMismatch);
}

// open_execution_with_grant

#[test]
fn the_caps_of_a_grant_hold_to_the_base_unit() {
    let mut world = World::new();
    let caller = world.caller.keypair.insecure_clone();
    let session = world.session.insecure_clone();
    let tight =
        |per_call_cap, total_cap| ix::GrantSpendingArgs { per_call_cap, total_cap, ..grant_args(&World::bare(0)) };
    let grant = world.grant_spending(tight(PRICE - 1, USDC));
    world.must(&[grant], &[&caller]);
    let execution = world.new_execution();
    let open = world.open_execution_with_grant(&execution);
    refused(&mut world, open.clone(), &[&session], E::PerCallCapExceeded);

    let grant = world.grant_spending(tight(PRICE, 2 * PRICE - 1));
    world.must(&[grant], &[&caller]);
    world.must(&[open], &[&session]);
    let second = world.new_execution();
    let open = world.open_execution_with_grant(&second);
    refused(&mut world, open.clone(), &[&session], E::TotalCapExceeded);
    // A refund does not give the cap back.
    assert_ok(world.fail(&execution));
    refused(&mut world, open.clone(), &[&session], E::TotalCapExceeded);

    let grant = world.grant_spending(tight(PRICE, 2 * PRICE));
    world.must(&[grant], &[&caller]);
    world.must(&[open], &[&session]);
    assert_eq!(world.grant().spent, 2 * PRICE);
}

#[test]
fn spending_that_overflows_is_over_the_cap() {
    let mut world = World::new();
    let address = world.addresses.grant(&world.caller.key(), &world.session.pubkey());
    world.tamper_state::<SpendingGrant>(&address, |grant| (grant.spent, grant.total_cap) = (u64::MAX, u64::MAX));
    let execution = world.new_execution();
    let (open, session) = (world.open_execution_with_grant(&execution), world.session.insecure_clone());
    refused(&mut world, open, &[&session], E::TotalCapExceeded);
}

#[test]
fn a_grant_opens_until_its_last_second_and_not_after() {
    for (offset, opens) in [(-1, true), (0, true), (1, false)] {
        let mut world = World::new();
        world.set_time(world.grant().expires_at_unix_s + offset);
        let execution = world.new_execution();
        let (open, session) = (world.open_execution_with_grant(&execution), world.session.insecure_clone());
        if opens {
            world.must(&[open], &[&session]);
        } else {
            refused(&mut world, open, &[&session], E::GrantExpired);
        }
    }
}

#[test]
fn a_grant_limited_to_agents_opens_no_others() {
    let mut world = World::new();
    let caller = world.caller.keypair.insecure_clone();
    let session = world.session.insecure_clone();
    let other = world.new_agent();
    world.list(&other, world.list_args(&other));
    let limited = ix::GrantSpendingArgs { allowed_agents: vec![PROGRAM_ID, other.address], ..grant_args(&world) };
    let grant = world.grant_spending(limited);
    world.must(&[grant], &[&caller]);
    let mut execution = world.new_execution();
    let open = world.open_execution_with_grant(&execution);
    refused(&mut world, open, &[&session], E::AgentNotAllowed);
    execution.agent = other;
    assert_ok(world.open_with_grant(&execution));
}

#[test]
fn only_the_session_key_uses_its_grant() {
    let mut world = World::new();
    let execution = world.new_execution();
    for who in [world.stranger.keypair.insecure_clone(), world.payer.keypair.insecure_clone()] {
        let mut accounts = world.open_with_grant_accounts(&execution);
        accounts.session_key = who.pubkey();
        let args = world.open_args(&execution);
        let open = build(&accounts, &instruction::OpenExecutionWithGrant { args });
        refused(&mut world, open, &[&who], E::NotSessionKey);
    }
    let open = world.open_execution_with_grant(&execution);
    let result = world.send(&[unsigned(open, &world.session.pubkey())], &[]);
    assert_custom_at(result, 0, ANCHOR_NOT_SIGNER);
}

#[test]
fn a_grant_spends_its_own_wallets_money_alone() {
    let mut world = World::new();
    let execution = world.new_execution();
    let session = world.session.insecure_clone();
    let stranger = world.stranger.clone();
    let args = world.open_args(&execution);
    let mut accounts = world.open_with_grant_accounts(&execution);
    accounts.wallet = stranger.key();
    let open = build(&accounts, &instruction::OpenExecutionWithGrant { args: args.clone() });
    refused(&mut world, open, &[&session], E::WrongGrantWallet);
    let mut accounts = world.open_with_grant_accounts(&execution);
    accounts.wallet_token = stranger.token;
    let open = build(&accounts, &instruction::OpenExecutionWithGrant { args: args.clone() });
    refused(&mut world, open, &[&session], E::TokenOwnerMismatch);
    // Another spender address cannot be signed for.
    let mut accounts = world.open_with_grant_accounts(&execution);
    accounts.spender = world.addresses.spender(&stranger.key());
    let open = build(&accounts, &instruction::OpenExecutionWithGrant { args });
    assert_refused_at(world.send(&[open], &[&session]), 0, InstructionError::PrivilegeEscalation);
}

#[test]
fn a_grant_without_the_wallets_approval_spends_nothing() {
    let mut world = World::new();
    let execution = world.new_execution();
    let token = world.caller.token;
    world.tamper(&token, |account| account.data[72..108].fill(0));
    const TOKEN_OWNER_DOES_NOT_MATCH: u32 = 4;
    assert_custom_at(world.open_with_grant(&execution), 0, TOKEN_OWNER_DOES_NOT_MATCH);
    let approve = world.approve_spender(PRICE - 1);
    world.must(&[approve], &[&world.caller.keypair.insecure_clone()]);
    assert_custom_at(world.open_with_grant(&execution), 0, TOKEN_INSUFFICIENT_FUNDS);
}

// complete_execution: everything but the proof itself

#[test]
fn a_stranger_does_not_settle() {
    let mut world = World::new();
    let execution = world.opened();
    for who in [world.stranger.key(), world.admin.key()] {
        settle_refused(&mut world, &execution, E::NotSettler, |accounts| accounts.authority = who);
    }
    let settle = unsigned(world.complete_execution(&execution), &world.gateway.key());
    let proof = world.proof(&execution).instruction();
    assert_custom_at(world.send(&[proof, settle], &[]), 1, ANCHOR_NOT_SIGNER);
}

#[test]
fn the_money_goes_to_the_recorded_wallets_alone() {
    let mut world = World::new();
    let execution = world.opened();
    let other_mint = world.new_key().pubkey();
    world.put_mint(other_mint, 0);
    let (creator, treasury) = (world.agent.creator.key(), world.treasury.key());
    let stranger_token = world.stranger.token;
    let (creator_other, treasury_other) =
        (world.new_token_account_of(&other_mint, &creator, 0), world.new_token_account_of(&other_mint, &treasury, 0));
    let (creator_frozen, treasury_frozen) =
        (world.new_token_account(&creator, 0), world.new_token_account(&treasury, 0));
    world.freeze(&creator_frozen);
    world.freeze(&treasury_frozen);
    let not_token = world.payer.key();
    for (error, creator_token, treasury_token) in [
        (E::TokenOwnerMismatch, stranger_token, treasury_frozen),
        (E::TokenMintMismatch, creator_other, treasury_other),
        (E::TokenAccountUnusable, creator_frozen, treasury_frozen),
        (E::NotTokenAccount, not_token, not_token),
    ] {
        settle_refused(&mut world, &execution, error, |accounts| accounts.creator_token = creator_token);
        let treasury_token = if error == E::TokenOwnerMismatch { stranger_token } else { treasury_token };
        settle_refused(&mut world, &execution, error, |accounts| accounts.treasury_token = treasury_token);
    }
    // The two payees' accounts exchanged.
    settle_refused(&mut world, &execution, E::TokenOwnerMismatch, |accounts| {
        core::mem::swap(&mut accounts.creator_token, &mut accounts.treasury_token);
    });
    // A closed account.
    let closed = world.new_key().pubkey();
    settle_refused(&mut world, &execution, E::NotTokenAccount, |accounts| accounts.creator_token = closed);
}

#[test]
fn a_settlement_with_wrong_accounts_is_refused() {
    let mut world = World::new();
    let execution = world.opened();
    let other_mint = world.new_key().pubkey();
    world.put_mint(other_mint, 0);
    let other = world.new_agent();
    world.list(&other, world.list_args(&other));
    let (vault, other_escrow) =
        (world.addresses.collateral(&world.agent.address), world.addresses.escrow(&other.address));
    settle_refused(&mut world, &execution, E::WrongMint, |accounts| accounts.usdc_mint = other_mint);
    settle_refused(&mut world, &execution, E::WrongEscrow, |accounts| accounts.escrow = vault);
    settle_refused(&mut world, &execution, E::WrongEscrow, |accounts| accounts.escrow = other_escrow);
    settle_refused(&mut world, &execution, E::WrongAgent, |accounts| {
        (accounts.agent, accounts.escrow) = (other.address, other_escrow);
    });
    settle_refused(&mut world, &execution, E::WrongTokenProgram, |accounts| accounts.token_program = PROGRAM_ID);
}

#[test]
fn a_time_longer_than_the_execution_had_is_refused() {
    let mut world = World::new();
    let execution = world.opened();
    let had_ms = (u64::from(TIMEOUT_S) + 120 + 1) * 1_000;
    let gateway = world.gateway.keypair.insecure_clone();
    let proof = world.proof(&execution).instruction();
    for (execution_time_ms, settles) in [(u64::MAX, false), (had_ms + 1, false), (had_ms, true)] {
        let args = ix::CompleteExecutionArgs { execution_time_ms, ..complete_args() };
        let settle = build(&world.complete_accounts(&execution), &instruction::CompleteExecution { args });
        let result = world.send(&[proof.clone(), settle], &[&gateway]);
        if settles {
            assert_ok(result);
        } else {
            assert_error_at(result, 1, E::ExecutionTimeImplausible);
        }
    }
}

// fail_execution

#[test]
fn only_creator_and_gateway_report_a_failure() {
    let mut world = World::new();
    let execution = world.opened();
    for who in [world.caller.clone(), world.stranger.clone(), world.admin.clone()] {
        let mut accounts = world.fail_accounts(&execution);
        accounts.authority = who.key();
        let args = ix::FailExecutionArgs { reason: FailureReason::CreatorFailed };
        let fail = build(&accounts, &instruction::FailExecution { args });
        refused(&mut world, fail, &[&who.keypair], E::NotFailureReporter);
    }
    let fail = unsigned(world.fail_execution(&execution, FailureReason::Timeout), &world.gateway.key());
    assert_custom_at(world.send(&[fail], &[]), 0, ANCHOR_NOT_SIGNER);
}

#[test]
fn nobody_reports_an_expiry_before_its_time() {
    let mut world = World::new();
    let execution = world.opened();
    let gateway = world.gateway.keypair.insecure_clone();
    let fail = world.fail_execution(&execution, FailureReason::Expired);
    refused(&mut world, fail, &[&gateway], E::FailureReasonReserved);
}

#[test]
fn a_refund_goes_to_the_recorded_wallet_alone() {
    let mut world = World::new();
    let execution = world.opened();
    world.expire(&execution);
    let other_mint = world.new_key().pubkey();
    world.put_mint(other_mint, 0);
    let caller = world.caller.key();
    let gateway = world.gateway.keypair.insecure_clone();
    let frozen = world.new_token_account(&caller, 0);
    world.freeze(&frozen);
    let uninitialized = world.new_token_account(&caller, 0);
    world.tamper(&uninitialized, |account| account.data[108] = 0);
    let short = world.new_token_account(&caller, 0);
    world.tamper(&short, |account| account.data.truncate(164));
    let cases = [
        (world.stranger.token, E::TokenOwnerMismatch),
        (world.agent.creator.token, E::TokenOwnerMismatch),
        (world.new_token_account_of(&other_mint, &caller, 0), E::TokenMintMismatch),
        (frozen, E::TokenAccountUnusable),
        (uninitialized, E::TokenAccountUnusable),
        (short, E::NotTokenAccount),
        (world.caller.key(), E::NotTokenAccount),
    ];
    for (token, error) in cases {
        let mut accounts = world.fail_accounts(&execution);
        accounts.refund_token = token;
        let args = ix::FailExecutionArgs { reason: FailureReason::Timeout };
        let fail = build(&accounts, &instruction::FailExecution { args });
        refused(&mut world, fail, &[&gateway], error);
        let mut accounts = world.refund_accounts(&execution);
        accounts.refund_token = token;
        let refund = build(&accounts, &instruction::RefundExpiredExecution {});
        refused(&mut world, refund, &[], error);
    }
}

#[test]
fn a_refund_with_wrong_accounts_is_refused() {
    let mut world = World::new();
    let execution = world.opened();
    world.expire(&execution);
    let other_mint = world.new_key().pubkey();
    world.put_mint(other_mint, 0);
    let other = world.new_agent();
    world.list(&other, world.list_args(&other));
    let other_escrow = world.addresses.escrow(&other.address);
    let vault = world.addresses.collateral(&world.agent.address);
    type Accounts = agent_marketplace::accounts::RefundExpiredExecution;
    let cases: Cases<Accounts> = vec![
        (Box::new(move |a| a.usdc_mint = other_mint), E::WrongMint),
        (Box::new(move |a| a.escrow = vault), E::WrongEscrow),
        (Box::new(move |a| a.escrow = other_escrow), E::WrongEscrow),
        (Box::new(move |a| (a.agent, a.escrow) = (other.address, other_escrow)), E::WrongAgent),
        (Box::new(|a| a.token_program = PROGRAM_ID), E::WrongTokenProgram),
    ];
    for (change, error) in cases {
        let mut accounts = world.refund_accounts(&execution);
        change(&mut accounts);
        let refund = build(&accounts, &instruction::RefundExpiredExecution {});
        refused(&mut world, refund, &[], error);
    }
}

// refund_expired_execution

#[test]
fn a_refund_waits_until_the_deadline_has_passed() {
    for (offset, refunds) in [(-1, false), (0, false), (1, true)] {
        let mut world = World::new();
        let execution = world.opened();
        world.set_time(world.record(&execution).deadline_unix_s + offset);
        let refund = world.refund_expired_execution(&execution);
        if refunds {
            world.must(&[refund], &[]);
        } else {
            refused(&mut world, refund, &[], E::DeadlineNotPassed);
        }
    }
}

#[test]
fn a_record_leaves_open_exactly_once() {
    type Finish = fn(&mut World, &Execution) -> litesvm::types::TransactionResult;
    let finishes: [(Finish, bool); 3] = [(World::complete, false), (World::fail, false), (World::refund, true)];
    for (first, late) in finishes {
        let mut world = World::new();
        let execution = world.opened();
        let deadline = world.record(&execution).deadline_unix_s;
        if late {
            world.set_time(deadline + 1);
        }
        assert_ok(first(&mut world, &execution));
        let record = world.record(&execution);
        let balances = world.token_balances();
        for (index, (second, late)) in finishes.into_iter().enumerate() {
            world.set_time(if late { deadline + 1 } else { deadline });
            let at = u8::from(index == 0);
            assert_error_at(second(&mut world, &execution), at, E::ExecutionNotOpen);
        }
        assert_eq!(bytemuck::bytes_of(&world.record(&execution)), bytemuck::bytes_of(&record));
        assert_eq!(world.token_balances(), balances);
    }
}

// arithmetic

#[test]
fn counters_at_their_end_refuse_instead_of_wrapping() {
    let mut world = World::new();
    let execution = world.opened();
    let agent = world.agent.address;
    let changes: [fn(&mut AgentListing); 4] = [
        |listing| listing.open_amount = u64::MAX,
        |listing| listing.open_executions = u32::MAX,
        |listing| listing.revision = u64::MAX,
        |listing| listing.status = AgentStatus::Active as u8,
    ];
    let caller = world.caller.keypair.insecure_clone();
    let genuine = world.account(&agent).expect("listed");
    for (index, change) in changes.into_iter().enumerate() {
        world.put_account(agent, genuine.clone());
        world.tamper_state::<AgentListing>(&agent, change);
        let next = world.new_execution();
        let open = world.open_execution(&next);
        if index < 3 {
            refused(&mut world, open, &[&caller], E::OutOfRange);
        } else {
            world.must(&[open], &[&caller]);
        }
    }
    // An escrow that owes less than the record says: the program does not settle by guesswork.
    world.tamper_state::<AgentListing>(&agent, |listing| listing.open_amount = 0);
    assert_error_at(world.complete(&execution), 1, E::OutOfRange);
}
