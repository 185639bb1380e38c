//! Who may configure a deployment, with what, and how often.

use super::*;

// initialize_config

#[test]
fn only_the_upgrade_authority_configures() {
    let mut world = World::bare(0);
    let initialize = forged(world.initialize_config(), &[("authority", world.admin.key())]);
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
    let initialize = world.initialize_config();
    let genuine = world.account(&account_of(&initialize, "program_data")).expect("deployed");
    world.put_account(fake, solana_account::Account { owner: PROGRAM_ID, executable: false, ..genuine.clone() });
    let cases = [
        ("program_data", fake, E::WrongProgramData),
        ("program", agent_marketplace::token::TOKEN_PROGRAM_ID, E::WrongProgramData),
        ("program_data", PROGRAM_ID, E::WrongProgramData),
    ];
    refused_with(&mut world, &initialize, &[&authority], &cases);
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
    let elsewhere = world.addresses.creator_profile(&world.admin.key());
    let initialize = forged(world.initialize_config(), &[("config", elsewhere)]);
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
        let initialize = forged(world.initialize_config(), &[("usdc_mint", mint)]);
        refused(&mut world, initialize, &[&authority], E::MintUnsuitable);
    }
}

#[test]
fn configurations_without_a_role_or_an_independent_insurance_are_refused() {
    let mut world = World::bare(0);
    let authority = world.upgrade_authority.keypair.insecure_clone();
    let good = world.config_args();
    let (resolver, treasury) = (good.resolver, good.treasury_owner);
    for (args, error) in [
        (ix::InitializeConfigArgs { admin: Default::default(), ..good.clone() }, E::RoleMissing),
        (ix::InitializeConfigArgs { resolver: Default::default(), ..good.clone() }, E::RoleMissing),
        (ix::InitializeConfigArgs { gateway_authority: Default::default(), ..good.clone() }, E::RoleMissing),
        (ix::InitializeConfigArgs { treasury_owner: Default::default(), ..good.clone() }, E::RoleMissing),
        (ix::InitializeConfigArgs { insurance_owner: Default::default(), ..good.clone() }, E::RoleMissing),
        (ix::InitializeConfigArgs { insurance_owner: resolver, ..good.clone() }, E::InsuranceNotIndependent),
        (ix::InitializeConfigArgs { insurance_owner: treasury, ..good.clone() }, E::InsuranceNotIndependent),
    ] {
        let initialize = world.instructions().initialize_config(&authority.pubkey(), args);
        refused(&mut world, initialize, &[&authority], error);
    }
}
