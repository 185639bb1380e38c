//! Collateral from deposit to withdrawal, disputes from claim to slash, and how accounts end.

use agent_marketplace::{
    event::{AgentClosed, ExecutionClosed},
    instruction, instructions as ix,
    state::*,
};
use crtx_program_tests::{instructions::*, *};

use MarketplaceError as E;

#[track_caller]
fn refused(world: &mut World, instruction: Instruction, signers: &[&Keypair], error: E) {
    let balances = world.token_balances();
    assert_error_at(world.send(&[instruction], signers), 0, error);
    assert_eq!(world.token_balances(), balances);
}

fn delisted() -> (World, Agent) {
    let mut world = World::new();
    let agent = world.agent.clone();
    let delist = world.delist_agent(&agent);
    world.must(&[delist], &[&agent.creator.keypair]);
    (world, agent)
}

// Collateral.

#[test]
fn a_price_in_a_higher_tier_needs_the_deposit_first() {
    let mut world = World::new();
    let agent = world.agent.clone();
    let raise = world.update_listing(&agent, ix::UpdateListingArgs { price: Some(100_001), ..Default::default() });
    refused(&mut world, raise.clone(), &[&agent.creator.keypair], E::CollateralTooLow);
    let deposit = world.deposit_collateral(&agent, 40 * USDC);
    world.must(&[deposit, raise], &[&agent.creator.keypair]);
    assert_eq!(world.listing(&agent).collateral, 50 * USDC);
    assert_eq!(world.balance(&world.addresses.collateral(&agent.address)), 50 * USDC);
    assert_eq!(world.balance(&agent.creator.token), PURSE - 50 * USDC);
}

#[test]
fn a_deposit_is_the_creators_own_and_goes_to_the_agents_own_vault() {
    let mut world = World::new();
    let agent = world.agent.clone();
    let other = world.new_agent();
    world.list(&other, world.list_args(&other));
    let other_vault = world.addresses.collateral(&other.address);
    let escrow = world.addresses.escrow(&agent.address);
    let other_mint = world.new_key().pubkey();
    world.put_mint(other_mint, 0);
    let frozen = world.new_token_account(&agent.creator.key(), PURSE);
    world.freeze(&frozen);
    let stranger = world.stranger.clone();
    type Accounts = agent_marketplace::accounts::DepositCollateral;
    let cases: Cases<Accounts> = vec![
        (Box::new(move |a| a.collateral_vault = other_vault), E::WrongCollateralVault),
        (Box::new(move |a| a.collateral_vault = escrow), E::WrongCollateralVault),
        (Box::new(move |a| a.usdc_mint = other_mint), E::WrongMint),
        (Box::new(move |a| a.creator_token = stranger.token), E::TokenOwnerMismatch),
        (Box::new(move |a| a.creator_token = frozen), E::TokenAccountUnusable),
        (Box::new(|a| a.creator_token = a.agent), E::NotTokenAccount),
        (Box::new(|a| a.token_program = PROGRAM_ID), E::WrongTokenProgram),
    ];
    let args = ix::DepositCollateralArgs { amount: 1 };
    for (change, error) in cases {
        let mut accounts = world.deposit_accounts(&agent);
        change(&mut accounts);
        let deposit = build(&accounts, &instruction::DepositCollateral { args: args.clone() });
        refused(&mut world, deposit, &[&agent.creator.keypair], error);
    }
    let nothing = world.deposit_collateral(&agent, 0);
    refused(&mut world, nothing, &[&agent.creator.keypair], E::AmountZero);
    let stranger = world.stranger.clone();
    let mut accounts = world.deposit_accounts(&agent);
    (accounts.creator, accounts.creator_token) = (stranger.key(), stranger.token);
    let deposit = build(&accounts, &instruction::DepositCollateral { args });
    refused(&mut world, deposit, &[&stranger.keypair], E::NotCreator);
}

#[test]
fn a_delisted_agent_is_off_the_market_for_good() {
    let (mut world, agent) = delisted();
    let creator = agent.creator.keypair.insecure_clone();
    assert_eq!(world.listing(&agent).status(), Some(AgentStatus::Delisted));
    for instruction in [
        world.delist_agent(&agent),
        world.set_agent_status(&agent, AgentStatus::Active),
        world.update_listing(&agent, ix::UpdateListingArgs { price: Some(1), ..Default::default() }),
        world.deposit_collateral(&agent, 1),
    ] {
        refused(&mut world, instruction, &[&creator], E::AgentDelisted);
    }
    let execution = world.new_execution();
    assert_error_at(world.open(&execution), 0, E::AgentNotActive);
}

#[test]
fn only_the_creator_delists_withdraws_and_closes() {
    let (mut world, agent) = delisted();
    let stranger = world.stranger.clone();
    let mut withdraw = world.withdraw_accounts(&agent);
    (withdraw.creator, withdraw.creator_token) = (stranger.key(), stranger.token);
    let withdraw = build(&withdraw, &instruction::WithdrawCollateral {});
    refused(&mut world, withdraw, &[&stranger.keypair], E::NotCreator);
    let mut close = world.close_agent_accounts(&agent);
    (close.creator, close.creator_token) = (stranger.key(), stranger.token);
    let close = build(&close, &instruction::CloseAgent {});
    refused(&mut world, close, &[&stranger.keypair], E::NotCreator);
    let mut delist = world.delist_agent(&agent);
    delist.accounts[0].pubkey = stranger.key();
    refused(&mut world, delist, &[&stranger.keypair], E::NotCreator);
}

#[test]
fn collateral_leaves_only_when_nobody_can_claim_it() {
    let mut world = World::new();
    let agent = world.agent.clone();
    let creator = agent.creator.keypair.insecure_clone();
    let withdraw = world.withdraw_collateral(&agent);
    refused(&mut world, withdraw.clone(), &[&creator], E::AgentNotDelisted);
    let close = world.close_agent(&agent);
    refused(&mut world, close.clone(), &[&creator], E::AgentNotDelisted);

    let (disputed, open) = (world.completed(), world.opened());
    let delist = world.delist_agent(&agent);
    world.must(&[delist], &[&creator]);
    refused(&mut world, withdraw.clone(), &[&creator], E::ExecutionsOpen);
    refused(&mut world, close.clone(), &[&creator], E::ExecutionsOpen);

    assert_ok(world.complete(&open));
    let dispute = world.open_dispute(&disputed);
    world.must(&[dispute], &[&disputed.caller.keypair]);
    let window_end = world.listing(&agent).last_dispute_deadline_unix_s;
    world.set_time(window_end + 1_000);
    refused(&mut world, withdraw.clone(), &[&creator], E::DisputesOpen);
    refused(&mut world, close.clone(), &[&creator], E::DisputesOpen);

    assert_ok(world.resolve(&disputed, true, 3 * USDC));
    for (time, error) in [(window_end - 1, E::DisputeWindowRunning), (window_end, E::DisputeWindowRunning)] {
        world.set_time(time);
        refused(&mut world, withdraw.clone(), &[&creator], error);
        refused(&mut world, close.clone(), &[&creator], error);
    }
    world.set_time(window_end + 1);
    refused(&mut world, close.clone(), &[&creator], E::CollateralRemains);
    let before = world.balance(&agent.creator.token);
    world.must(std::slice::from_ref(&withdraw), &[&creator]);
    assert_eq!(world.balance(&agent.creator.token), before + 7 * USDC, "minus the slash");
    refused(&mut world, withdraw, &[&creator], E::NoCollateral);
    world.must(&[close], &[&creator]);
}

#[test]
fn a_withdrawal_goes_to_the_creators_account_and_comes_from_the_agents_vault() {
    let (mut world, agent) = delisted();
    let other = world.new_agent();
    world.list(&other, world.list_args(&other));
    let (other_vault, escrow) = (world.addresses.collateral(&other.address), world.addresses.escrow(&agent.address));
    let other_mint = world.new_key().pubkey();
    world.put_mint(other_mint, 0);
    let other_mint_token = world.new_token_account_of(&other_mint, &agent.creator.key(), 0);
    let frozen = world.new_token_account(&agent.creator.key(), 0);
    world.freeze(&frozen);
    let stranger_token = world.stranger.token;
    let creator = agent.creator.keypair.insecure_clone();
    type Accounts = agent_marketplace::accounts::WithdrawCollateral;
    let cases: Cases<Accounts> = vec![
        (Box::new(move |a| a.collateral_vault = other_vault), E::WrongCollateralVault),
        (Box::new(move |a| a.collateral_vault = escrow), E::WrongCollateralVault),
        (Box::new(move |a| a.usdc_mint = other_mint), E::WrongMint),
        (Box::new(move |a| a.creator_token = other_mint_token), E::TokenMintMismatch),
        (Box::new(move |a| a.creator_token = stranger_token), E::TokenOwnerMismatch),
        (Box::new(move |a| a.creator_token = frozen), E::TokenAccountUnusable),
        (Box::new(|a| a.token_program = PROGRAM_ID), E::WrongTokenProgram),
    ];
    for (change, error) in cases {
        let mut accounts = world.withdraw_accounts(&agent);
        change(&mut accounts);
        let withdraw = build(&accounts, &instruction::WithdrawCollateral {});
        refused(&mut world, withdraw, &[&creator], error);
    }
}

#[test]
fn closing_an_agent_returns_all_rent_and_sweeps_dust_to_the_creator() {
    let (mut world, agent) = delisted();
    let creator = agent.creator.clone();
    let (escrow, vault) = (world.addresses.escrow(&agent.address), world.addresses.collateral(&agent.address));
    world.dust(&escrow, 11);
    world.dust(&vault, 22);
    let rent: u64 = [agent.address, escrow, vault].iter().map(|address| world.lamports(address)).sum();
    let (lamports, listing) = (world.lamports(&creator.key()), world.account(&agent.address).expect("listed"));
    let withdraw = world.withdraw_collateral(&agent);
    world.must(&[withdraw], &[&creator.keypair]);
    let close = world.close_agent(&agent);
    let meta = world.must(&[close], &[&creator.keypair]);
    assert_eq!(world.lamports(&creator.key()), lamports + rent);
    assert_eq!(world.balance(&creator.token), PURSE + 33);
    for address in [agent.address, escrow, vault] {
        assert!(world.account(&address).is_none());
    }
    let event: AgentClosed = emitted(&meta);
    assert_eq!((event.agent, event.agent_data.len()), (agent.address, listing.data.len()));
}

#[test]
fn an_agent_closes_with_its_own_accounts_alone() {
    let (mut world, agent) = delisted();
    let creator = agent.creator.keypair.insecure_clone();
    let withdraw = world.withdraw_collateral(&agent);
    world.must(&[withdraw], &[&creator]);
    let other = world.new_agent();
    world.list(&other, world.list_args(&other));
    let (other_escrow, other_vault) =
        (world.addresses.escrow(&other.address), world.addresses.collateral(&other.address));
    let other_mint = world.new_key().pubkey();
    world.put_mint(other_mint, 0);
    let stranger_token = world.stranger.token;
    type Accounts = agent_marketplace::accounts::CloseAgent;
    let cases: Cases<Accounts> = vec![
        (Box::new(move |a| a.escrow = other_escrow), E::WrongEscrow),
        (Box::new(|a| a.escrow = a.collateral_vault), E::WrongEscrow),
        (Box::new(move |a| a.collateral_vault = other_vault), E::WrongCollateralVault),
        (Box::new(move |a| a.usdc_mint = other_mint), E::WrongMint),
        (Box::new(move |a| a.creator_token = stranger_token), E::TokenOwnerMismatch),
        (Box::new(|a| a.token_program = PROGRAM_ID), E::WrongTokenProgram),
    ];
    for (change, error) in cases {
        let mut accounts = world.close_agent_accounts(&agent);
        change(&mut accounts);
        let close = build(&accounts, &instruction::CloseAgent {});
        refused(&mut world, close, &[&creator], error);
    }
}

#[test]
fn an_agent_listed_again_continues_above_its_earlier_revisions() {
    let (mut world, agent) = delisted();
    let last = world.listing(&agent).revision;
    let withdraw = world.withdraw_collateral(&agent);
    let close = world.close_agent(&agent);
    world.must(&[withdraw, close], &[&agent.creator.keypair]);
    world.set_time(START_UNIX_S + 1);
    world.list(&agent, world.list_args(&agent));
    assert!(world.listing(&agent).revision > last);
}

// Disputes.

#[test]
fn a_caller_disputes_with_evidence() {
    let mut world = World::new();
    let execution = world.disputed();
    assert_eq!(world.status(&execution), ExecutionStatus::Disputed);
    let dispute = world.dispute(&execution);
    assert_eq!(dispute.outcome(), Some(DisputeOutcome::Open));
    assert_eq!((dispute.execution, dispute.agent), (execution.record, world.agent.address));
    assert_eq!((dispute.raised_by, dispute.rent_payer), (world.caller.key(), world.payer.key()));
    assert_eq!((dispute.evidence_hash, dispute.evidence_uri()), ([0x44; 32], Some("https://example.com/evidence")));
    let listing = world.listing(&world.agent);
    assert_eq!((listing.open_disputes, listing.disputed_executions), (1, 1));
}

#[test]
fn disputes_that_make_no_sense_are_refused() {
    let mut world = World::new();
    let execution = world.completed();
    let caller = execution.caller.keypair.insecure_clone();
    let stranger = world.stranger.clone();
    let mut accounts = world.dispute_accounts(&execution);
    accounts.caller = stranger.key();
    let by_stranger = build(&accounts, &instruction::OpenDispute { args: dispute_args() });
    refused(&mut world, by_stranger, &[&stranger.keypair], E::NotCaller);

    let uri = |uri: &str| ix::OpenDisputeArgs { evidence_uri: uri.to_owned(), ..dispute_args() };
    for (args, error) in [
        (ix::OpenDisputeArgs { evidence_hash: [0; 32], ..dispute_args() }, E::EvidenceMissing),
        (uri(&"x".repeat(129)), E::EvidenceUriInvalid),
        (uri("a b"), E::EvidenceUriInvalid),
    ] {
        let dispute = build(&world.dispute_accounts(&execution), &instruction::OpenDispute { args });
        refused(&mut world, dispute, &[&caller], error);
    }
    let other = world.new_agent();
    world.list(&other, world.list_args(&other));
    let elsewhere = world.addresses.dispute(&other.address);
    type Accounts = agent_marketplace::accounts::OpenDispute;
    let cases: Cases<Accounts> = vec![
        (Box::new(move |a| a.agent = other.address), E::WrongAgent),
        (Box::new(move |a| a.dispute = elsewhere), E::WrongAddress),
        (Box::new(|a| a.system_program = PROGRAM_ID), E::WrongSystemProgram),
    ];
    for (change, error) in cases {
        let mut accounts = world.dispute_accounts(&execution);
        change(&mut accounts);
        let dispute = build(&accounts, &instruction::OpenDispute { args: dispute_args() });
        refused(&mut world, dispute, &[&caller], error);
    }
    // An empty URI is fine: the hash is what counts.
    let dispute = build(&world.dispute_accounts(&execution), &instruction::OpenDispute { args: uri("") });
    world.must(&[dispute], &[&caller]);
}

#[test]
fn only_a_completed_execution_is_disputed_and_only_once() {
    let mut world = World::new();
    let caller = world.caller.keypair.insecure_clone();
    let open = world.opened();
    let failed = world.opened();
    assert_ok(world.fail(&failed));
    let (disputed, rejected, upheld) = (world.disputed(), world.disputed(), world.disputed());
    assert_ok(world.resolve(&rejected, false, 0));
    assert_ok(world.resolve(&upheld, true, 0));
    for execution in [open, failed, disputed, rejected, upheld] {
        let dispute = world.open_dispute(&execution);
        refused(&mut world, dispute, &[&caller], E::NotDisputable);
    }
}

#[test]
fn a_dispute_is_raised_until_the_last_second_of_the_window() {
    for (offset, raised) in [(-1, true), (0, true), (1, false)] {
        let mut world = World::new();
        let execution = world.completed();
        world.set_time(world.record(&execution).dispute_deadline_unix_s + offset);
        let dispute = world.open_dispute(&execution);
        let caller = execution.caller.keypair.insecure_clone();
        if raised {
            world.must(&[dispute], &[&caller]);
        } else {
            refused(&mut world, dispute, &[&caller], E::DisputeWindowOver);
        }
    }
}

#[test]
fn a_prefunded_dispute_address_does_not_block_the_dispute() {
    let mut world = World::new();
    let execution = world.completed();
    let address = world.addresses.dispute(&execution.record);
    world.svm.airdrop(&address, 5_000_000).expect("an airdrop");
    let dispute = world.open_dispute(&execution);
    world.must(&[dispute], &[&execution.caller.keypair]);
    assert_eq!(world.outcome(&execution), DisputeOutcome::Open);
}

#[test]
fn a_rejected_dispute_leaves_the_execution_completed_and_moves_nothing() {
    let mut world = World::new();
    let execution = world.disputed();
    let balances = world.token_balances();
    assert_ok(world.resolve(&execution, false, 0));
    assert_eq!(world.token_balances(), balances);
    assert_eq!(world.status(&execution), ExecutionStatus::Completed);
    assert_eq!(world.outcome(&execution), DisputeOutcome::Rejected);
    let listing = world.listing(&world.agent);
    assert_eq!((listing.open_disputes, listing.disputed_executions, listing.successful_executions), (0, 1, 1));
}

#[test]
fn an_upheld_dispute_compensates_the_caller_first_and_the_treasury_after() {
    for (slash, compensation) in [(PRICE - 1, PRICE - 1), (PRICE, PRICE), (PRICE + 7, PRICE), (COLLATERAL, PRICE)] {
        let mut world = World::new();
        let execution = world.disputed();
        let (caller, treasury) = (world.balance(&world.caller.token), world.balance(&world.treasury.token));
        assert_ok(world.resolve(&execution, true, slash));
        assert_eq!(world.balance(&world.caller.token), caller + compensation);
        assert_eq!(world.balance(&world.treasury.token), treasury + slash - compensation);
        assert_eq!(world.status(&execution), ExecutionStatus::Overturned);
        let dispute = world.dispute(&execution);
        assert_eq!((dispute.slash_amount, dispute.compensation), (slash, compensation));
        assert_eq!(dispute.outcome(), Some(DisputeOutcome::Upheld));
        let listing = world.listing(&world.agent);
        assert_eq!((listing.collateral, listing.slashed_total), (COLLATERAL - slash, slash));
        assert_eq!((listing.successful_executions, listing.completed_executions), (0, 1));
        assert_eq!(listing.status(), Some(AgentStatus::Paused), "below its tier");
    }
}

#[test]
fn an_agent_that_keeps_its_tier_stays_active() {
    let mut world = World::new();
    let agent = world.agent.clone();
    let deposit = world.deposit_collateral(&agent, PRICE);
    world.must(&[deposit], &[&agent.creator.keypair]);
    let execution = world.disputed();
    assert_ok(world.resolve(&execution, true, PRICE));
    assert_eq!(world.listing(&agent).status(), Some(AgentStatus::Active));
}

#[test]
fn a_slashed_agent_comes_back_after_topping_up() {
    let mut world = World::new();
    let agent = world.agent.clone();
    let execution = world.disputed();
    assert_ok(world.resolve(&execution, true, 1));
    let activate = world.set_agent_status(&agent, AgentStatus::Active);
    refused(&mut world, activate.clone(), &[&agent.creator.keypair], E::CollateralTooLow);
    let deposit = world.deposit_collateral(&agent, 1);
    world.must(&[deposit, activate], &[&agent.creator.keypair]);
    assert_eq!(world.listing(&agent).status(), Some(AgentStatus::Active));
}

#[test]
fn a_slash_on_a_delisted_agent_leaves_it_delisted() {
    let mut world = World::new();
    let agent = world.agent.clone();
    let execution = world.disputed();
    let delist = world.delist_agent(&agent);
    world.must(&[delist], &[&agent.creator.keypair]);
    assert_ok(world.resolve(&execution, true, COLLATERAL));
    let listing = world.listing(&agent);
    assert_eq!((listing.status(), listing.collateral), (Some(AgentStatus::Delisted), 0));
}

#[test]
fn decisions_that_make_no_sense_are_refused() {
    let mut world = World::new();
    let execution = world.disputed();
    let resolver = world.resolver.keypair.insecure_clone();
    let above = world.resolve_dispute(&execution, true, COLLATERAL + 1);
    refused(&mut world, above, &[&resolver], E::SlashAboveCollateral);
    let without_cause = world.resolve_dispute(&execution, false, 1);
    refused(&mut world, without_cause, &[&resolver], E::SlashWithoutCause);
    let args = ix::ResolveDisputeArgs { upheld: true, slash: 1, resolution_hash: [0; 32] };
    let unreasoned = build(&world.resolve_accounts(&execution), &instruction::ResolveDispute { args });
    refused(&mut world, unreasoned, &[&resolver], E::ResolutionMissing);
    for who in [world.stranger.clone(), world.admin.clone(), world.caller.clone(), world.agent.creator.clone()] {
        let mut accounts = world.resolve_accounts(&execution);
        accounts.resolver = who.key();
        let args = ix::ResolveDisputeArgs { upheld: true, slash: 1, resolution_hash: [1; 32] };
        let resolve = build(&accounts, &instruction::ResolveDispute { args });
        refused(&mut world, resolve, &[&who.keypair], E::NotResolver);
    }
    assert_ok(world.resolve(&execution, true, 1));
    let again = world.resolve_dispute(&execution, true, 1);
    refused(&mut world, again, &[&resolver], E::DisputeNotOpen);
}

#[test]
fn a_decision_with_wrong_accounts_is_refused() {
    let mut world = World::new();
    let execution = world.disputed();
    let second = world.disputed();
    let other = world.new_agent();
    world.list(&other, world.list_args(&other));
    let other_mint = world.new_key().pubkey();
    world.put_mint(other_mint, 0);
    let (other_vault, escrow) =
        (world.addresses.collateral(&other.address), world.addresses.escrow(&world.agent.address));
    let second_dispute = world.addresses.dispute(&second.record);
    let (stranger_token, caller) = (world.stranger.token, world.caller.key());
    let frozen = world.new_token_account(&caller, 0);
    world.freeze(&frozen);
    let treasury = world.treasury.key();
    let frozen_treasury = world.new_token_account(&treasury, 0);
    world.freeze(&frozen_treasury);
    type Accounts = agent_marketplace::accounts::ResolveDispute;
    let cases: Cases<Accounts> = vec![
        (Box::new(move |a| a.dispute = second_dispute), E::WrongDispute),
        (Box::new(move |a| a.agent = other.address), E::WrongAgent),
        (Box::new(move |a| a.collateral_vault = other_vault), E::WrongCollateralVault),
        (Box::new(move |a| a.collateral_vault = escrow), E::WrongCollateralVault),
        (Box::new(move |a| a.usdc_mint = other_mint), E::WrongMint),
        (Box::new(move |a| a.caller_token = stranger_token), E::TokenOwnerMismatch),
        (Box::new(move |a| a.caller_token = frozen), E::TokenAccountUnusable),
        (Box::new(move |a| a.treasury_token = stranger_token), E::TokenOwnerMismatch),
        (Box::new(move |a| a.treasury_token = frozen_treasury), E::TokenAccountUnusable),
        (Box::new(|a| a.token_program = PROGRAM_ID), E::WrongTokenProgram),
    ];
    let resolver = world.resolver.keypair.insecure_clone();
    for (change, error) in cases {
        let mut accounts = world.resolve_accounts(&execution);
        change(&mut accounts);
        let args = ix::ResolveDisputeArgs { upheld: true, slash: PRICE + 1, resolution_hash: [1; 32] };
        let resolve = build(&accounts, &instruction::ResolveDispute { args });
        refused(&mut world, resolve, &[&resolver], error);
    }
}

#[test]
fn nobody_holds_up_a_decision_with_an_account_that_gets_nothing() {
    let mut world = World::new();
    let (rejected, upheld) = (world.disputed(), world.disputed());
    let (caller, treasury) = (world.caller.token, world.treasury.token);
    world.freeze(&caller);
    world.freeze(&treasury);
    assert_ok(world.resolve(&rejected, false, 0));
    assert_ok(world.resolve(&upheld, true, 0));
}

// The end of a record.

#[test]
fn a_record_closes_when_nothing_can_happen_to_it_any_more() {
    let mut world = World::new();
    let (completed, failed) = (world.completed(), world.opened());
    assert_ok(world.fail(&failed));
    let open = world.opened();
    let disputed = world.disputed();
    let end = START_UNIX_S + Config::DEFAULT_DISPUTE_WINDOW_S;
    for execution in [&completed, &failed] {
        let close = world.close_execution(execution);
        for time in [START_UNIX_S, end - 1, end] {
            world.set_time(time);
            refused(&mut world, close.clone(), &[], E::RecordStillNeeded);
        }
        world.set_time(end + 1);
        world.must(&[close], &[]);
        assert!(world.account(&execution.record).is_none());
    }
    for execution in [&open, &disputed] {
        let close = world.close_execution(execution);
        refused(&mut world, close, &[], E::RecordStillNeeded);
    }
}

#[test]
fn closing_returns_the_rent_to_who_paid_it_and_emits_everything() {
    let mut world = World::new();
    let execution = world.disputed();
    assert_ok(world.resolve(&execution, true, 5));
    let dispute = world.addresses.dispute(&execution.record);
    let accounts = [execution.record, dispute].map(|address| world.account(&address).expect("there"));
    world.set_time(world.record(&execution).dispute_deadline_unix_s + 1);
    let before = world.lamports(&world.payer.key());
    let close = world.close_execution(&execution);
    let meta = world.must(&[close], &[]);
    let rent: u64 = accounts.iter().map(|account| account.lamports).sum();
    assert_eq!(world.lamports(&world.payer.key()), before + rent - meta.fee);
    let event: ExecutionClosed = emitted(&meta);
    assert_eq!(event.record, execution.record);
    assert_eq!(event.record_data, accounts[0].data);
    assert_eq!(event.dispute_data.as_ref(), Some(&accounts[1].data));
    assert!(world.account(&dispute).is_none());
}

#[test]
fn rent_goes_to_nobody_else() {
    let mut world = World::new();
    let execution = world.disputed();
    assert_ok(world.resolve(&execution, false, 0));
    world.set_time(world.record(&execution).dispute_deadline_unix_s + 1);
    let stranger = world.stranger.key();
    let elsewhere = world.addresses.dispute(&stranger);
    type Accounts = agent_marketplace::accounts::CloseExecution;
    let cases: Cases<Accounts> = vec![
        (Box::new(move |a| a.rent_payer = stranger), E::WrongRentPayer),
        (Box::new(move |a| a.dispute_rent_payer = stranger), E::WrongRentPayer),
        (Box::new(move |a| a.dispute = elsewhere), E::WrongAddress),
    ];
    for (change, error) in cases {
        let mut accounts = world.close_execution_accounts(&execution);
        change(&mut accounts);
        let close = build(&accounts, &instruction::CloseExecution {});
        refused(&mut world, close, &[], error);
    }
}

#[test]
fn a_whole_call_costs_no_rent_in_the_end() {
    let mut world = World::new();
    let payer = world.payer.key();
    let before = world.lamports(&payer);
    let execution = world.new_execution();
    let open = world.open_execution_with_grant(&execution);
    let mut fees = world.must(&[open], &[&world.session.insecure_clone()]).fee;
    let locked = world.lamports(&execution.record);
    assert_eq!(world.lamports(&payer), before - fees - locked);
    fees += assert_ok(world.complete(&execution)).fee;
    assert!(fees <= 25_000, "base fees of {fees} lamports");
    world.set_time(world.record(&execution).dispute_deadline_unix_s + 1);
    let close = world.close_execution(&execution);
    fees += world.must(&[close], &[]).fee;
    assert_eq!(world.lamports(&payer), before - fees);
}
