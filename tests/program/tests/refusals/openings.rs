//! Openings that nobody agreed to: beyond price, caps, time or money, with wrong accounts.

use super::*;

// open_execution

#[test]
fn an_agent_that_is_not_active_takes_no_calls() {
    let mut world = World::new();
    let execution = world.new_execution();
    for status in [AgentStatus::Paused, AgentStatus::Delisted] {
        let agent = world.agent.address;
        world.tamper_state::<AgentListed>(&agent, |listing| listing.status = status as u8);
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
    world.tamper_state::<Config>(&config, |config| (config.openings_paused, config.listings_paused) = (1, 1));
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
        let open = world.open_with(&execution, &Opening { max_amount, ..world.opening(&execution) });
        match refused_with {
            Some(error) => refused(&mut world, open, &[&caller], error),
            None => drop(world.must(&[open], &[&caller])),
        }
    }
}

#[test]
fn a_price_below_the_minimum_is_refused_until_it_is_raised() {
    let mut world = World::new();
    let agent = world.agent.clone();
    world.changed_parameters(|parameters| parameters.min_price = PRICE + 1);
    let (caller, session) = (world.caller.keypair.insecure_clone(), world.session.insecure_clone());
    let execution = world.new_execution();
    let by_key = world.open_execution_with_grant(&execution);
    let open = world.open_execution(&execution);
    refused(&mut world, open.clone(), &[&caller], E::PriceOutOfRange);
    refused(&mut world, by_key, &[&session], E::PriceOutOfRange);
    let raise = world.update_listing(&agent, ix::UpdateListingArgs { price: Some(PRICE + 1), ..Default::default() });
    world.must(&[raise], &[&agent.creator.keypair]);
    world.must(&[open], &[&caller]);
}

#[test]
fn other_terms_than_the_agreed_ones_are_refused() {
    let mut world = World::new();
    let execution = world.new_execution();
    let (caller, session) = (world.caller.keypair.insecure_clone(), world.session.insecure_clone());
    let agreed = world.terms_hash(&world.agent);
    let mut other = agreed;
    other[31] ^= 1;
    for terms_hash in [other, [0; 32]] {
        let opening = Opening { terms_hash: Some(terms_hash), ..world.opening(&execution) };
        let (open, by_key) = (world.open_with(&execution, &opening), world.open_by_key_with(&execution, &opening));
        refused(&mut world, open, &[&caller], E::TermsChanged);
        refused(&mut world, by_key, &[&session], E::TermsChanged);
    }
    let open = world.open_with(&execution, &Opening { terms_hash: Some(agreed), ..world.opening(&execution) });
    world.must(&[open], &[&caller]);
}

#[test]
fn an_opening_is_refused_below_the_cover_that_the_caller_asks_for() {
    let mut world = World::new();
    let (caller, session) = (world.caller.keypair.insecure_clone(), world.session.insecure_clone());
    // The free collateral covers 200 calls, with one claim 199.
    let disputed = world.disputed();
    let execution = world.new_execution();
    let opening = Opening { min_cover: 200, ..world.opening(&execution) };
    let (open, by_key) = (world.open_with(&execution, &opening), world.open_by_key_with(&execution, &opening));
    refused(&mut world, open, &[&caller], E::CoverTooLow);
    refused(&mut world, by_key.clone(), &[&session], E::CoverTooLow);
    let second = world.new_execution();
    let open = world.open_with(&second, &Opening { min_cover: 199, ..world.opening(&second) });
    world.must(&[open], &[&caller]);
    // Openings claim nothing: those of strangers do not move the cover.
    assert_ok(world.resolve(&disputed, false, 0));
    world.must(&[by_key], &[&session]);
}

#[test]
fn a_creator_is_no_caller_of_the_own_agent() {
    let mut world = World::new();
    let creator = world.agent.creator.clone();
    let mut execution = world.new_execution();
    execution.caller = creator.clone();
    execution.record = world.addresses.execution(&creator.key(), &execution.id);
    let open = world.open_execution(&execution);
    refused(&mut world, open, &[&creator.keypair], E::CallerIsCreator);
    // Neither with a session key.
    let session_key = world.session.pubkey();
    let args = ix::GrantSpendingArgs { session_key, ..grant_args(&world) };
    let grant = world.instructions().grant_spending(&creator.key(), args);
    world.must(&[grant], &[&creator.keypair]);
    let by_key = world.open_execution_with_grant(&execution);
    let session = world.session.insecure_clone();
    refused(&mut world, by_key, &[&session], E::CallerIsCreator);
    // Another agent's calls are open to a creator.
    execution.agent = world.listed();
    assert_ok(world.open(&execution));
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
    let open = world.open_execution(&execution);
    let cases = [
        ("record", elsewhere, E::WrongAddress),
        ("escrow", agent_owned, E::WrongEscrow),
        ("escrow", vault, E::WrongEscrow),
        ("escrow", world.caller.token, E::WrongEscrow),
        ("usdc_mint", other_mint, E::WrongMint),
        ("caller_token", other_mint_token, E::TokenMintMismatch),
        ("caller_token", stranger_token, E::TokenOwnerMismatch),
        ("caller_token", frozen, E::TokenAccountUnusable),
        ("caller_token", not_token, E::NotTokenAccount),
        ("token_program", account_of(&open, "system_program"), E::WrongTokenProgram),
        ("system_program", account_of(&open, "token_program"), E::WrongSystemProgram),
    ];
    let caller = world.caller.keypair.insecure_clone();
    refused_with(&mut world, &open, &[&caller], &cases);
}

#[test]
fn accounts_of_another_kind_are_not_read() {
    let mut world = World::new();
    let execution = world.opened();
    let fake = world.new_key().pubkey();
    let genuine = world.account(&world.addresses.config()).expect("configured");
    world.put_account(fake, solana_account::Account { owner: world.stranger.key(), ..genuine });
    let refund = world.refund_expired_execution(&execution);
    let other = execution.agent.address;
    for (account, address, number) in
        [("config", fake, ANCHOR_WRONG_OWNER), ("record", other, ANCHOR_WRONG_DISCRIMINATOR)]
    {
        assert_custom_at(world.send(&[forged(refund.clone(), &[(account, address)])], &[]), 0, number);
    }
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
    // An SPL approval of the caller's account does not let the stranger open executions with it.
    let mut world = World::new();
    let (stranger, caller) = (world.stranger.clone(), world.caller.clone());
    let approve = crtx_chain::token::approve(&caller.token, &world.mint, &stranger.key(), &caller.key(), u64::MAX);
    world.must(&[approve], &[&caller.keypair]);
    let mut execution = world.new_execution();
    execution.caller = stranger.clone();
    execution.record = world.addresses.execution(&stranger.key(), &execution.id);
    let open = forged(world.open_execution(&execution), &[("caller_token", caller.token)]);
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
    // A refund gives the cap back.
    assert_ok(world.fail(&execution));
    assert_eq!(world.grant().spent, 0);
    world.must(&[open], &[&session]);
    let third = world.new_execution();
    let open = world.open_execution_with_grant(&third);
    refused(&mut world, open.clone(), &[&session], E::TotalCapExceeded);

    let grant = world.grant_spending(tight(PRICE, 2 * PRICE));
    world.must(&[grant], &[&caller]);
    world.must(&[open], &[&session]);
    assert_eq!((world.grant().spent, world.grant().executions), (2 * PRICE, 3));
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
    let other = world.listed();
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
        let open = forged(world.open_execution_with_grant(&execution), &[("session_key", who.pubkey())]);
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
    let open = world.open_execution_with_grant(&execution);
    let cases =
        [("wallet", stranger.key(), E::WrongGrantWallet), ("wallet_token", stranger.token, E::TokenOwnerMismatch)];
    refused_with(&mut world, &open, &[&session], &cases);
    // The program cannot sign for another spender address.
    let open = forged(open, &[("spender", world.addresses.spender(&stranger.key()))]);
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
