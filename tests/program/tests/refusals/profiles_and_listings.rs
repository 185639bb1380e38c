//! Profiles and listings beyond their limits, in another's name, with wrong accounts.

use super::*;

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

/// A tower of marks on one letter covers the lines above and below it.
#[test]
fn a_name_with_three_marks_in_a_row_is_refused() {
    let mut world = World::new();
    let creator = world.agent.creator.clone();
    for name in ["e\u{301}\u{302}\u{301}", "Ada\u{308}\u{308}\u{308}", "ก็็็", "\u{301}Ada"] {
        let upsert = world.upsert_creator_profile(&creator.key(), name);
        refused(&mut world, upsert, &[&creator.keypair], E::DisplayNameInvalid);
    }
    for name in ["e\u{301}\u{302}a\u{301}\u{302}", "Vie\u{323}\u{302}t", "हिन्दी", "עִבְרִית"] {
        let upsert = world.upsert_creator_profile(&creator.key(), name);
        world.must(&[upsert], &[&creator.keypair]);
        assert_eq!(world.profile(&creator.key()).display_name(), Some(name));
    }
}

/// `Аda` with a Cyrillic letter looks like the name of somebody else. A name may be so, and gets no badge.
#[test]
fn a_name_of_two_scripts_gets_no_badge() {
    let mut world = World::new();
    let (creator, admin) = (world.agent.creator.clone(), world.admin.keypair.insecure_clone());
    for name in ["\u{410}da", "Ρaypal", "Ada Жанна", "Tαu", "\u{13aa}da", "Ad\u{561}", "Ada 明日香"] {
        let upsert = world.upsert_creator_profile(&creator.key(), name);
        world.must(&[upsert], &[&creator.keypair]);
        let verify = world.verify_creator(&creator.key(), Some(name));
        refused(&mut world, verify, &[&admin], E::DisplayNameMixesScripts);
        assert_eq!(world.profile(&creator.key()).verified, 0);
    }
    for name in ["Ada Lovelace 7", "Ångström", "Жанна", "明日香 です", "αβγ", "★ 12"] {
        let upsert = world.upsert_creator_profile(&creator.key(), name);
        let verify = world.verify_creator(&creator.key(), Some(name));
        world.must(&[upsert, verify], &[&creator.keypair, &admin]);
        assert_eq!(world.profile(&creator.key()).verified, 1);
    }
}

#[test]
fn a_profile_belongs_to_the_wallet_that_signs() {
    let mut world = World::new();
    let (creator, stranger) = (world.agent.creator.clone(), world.stranger.clone());
    let upsert = world.upsert_creator_profile(&creator.key(), "Ada");
    world.must(std::slice::from_ref(&upsert), &[&creator.keypair]);
    // Signed by a stranger, for the creator's profile.
    refused(&mut world, signed_by(upsert.clone(), &stranger), &[&stranger.keypair], E::WrongAddress);
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
        (ix::ListAgentArgs { price: 0, ..good.clone() }, E::PriceOutOfRange),
        (ix::ListAgentArgs { price: 9_999, ..good.clone() }, E::PriceOutOfRange),
        (ix::ListAgentArgs { price: MAX_PRICE + 1, collateral: u64::MAX, ..good.clone() }, E::PriceOutOfRange),
        (ix::ListAgentArgs { timeout_seconds: 901, ..good.clone() }, E::TimeoutOutOfRange),
        (ix::ListAgentArgs { result_key: Default::default(), ..good.clone() }, E::ResultKeyMissing),
        (ix::ListAgentArgs { metadata_uri: String::new(), ..good.clone() }, E::MetadataUriInvalid),
        (ix::ListAgentArgs { metadata_uri: "a b".to_owned(), ..good.clone() }, E::MetadataUriInvalid),
        (ix::ListAgentArgs { metadata_uri: "x".repeat(129), ..good.clone() }, E::MetadataUriInvalid),
        (ix::ListAgentArgs { collateral: COLLATERAL - 1, ..good.clone() }, E::CollateralTooLow),
        (ix::ListAgentArgs { price: 100_001, ..good.clone() }, E::CollateralTooLow),
        (ix::ListAgentArgs { price: MAX_PRICE, collateral: MAX_PRICE - 1, ..good.clone() }, E::CollateralTooLow),
    ] {
        let list = world.list_agent(&agent, args);
        refused(&mut world, list, &[&agent.creator.keypair], error);
    }
}

#[test]
fn each_price_tier_takes_its_collateral() {
    for (price, tier) in [
        (10_000, 10),
        (100_000, 10),
        (100_001, 50),
        (1_000_000, 50),
        (1_000_001, 200),
        (10_000_000, 200),
        (10_000_001, 1_000),
        (1_000_000_000, 1_000),
        // Never less than one call costs.
        (2_000_000_000, 2_000),
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
    let list = world.list_agent(&agent, args);
    let cases = [
        ("profile", world.addresses.creator_profile(&world.stranger.key()), E::WrongAddress),
        ("agent", account_of(&list, "collateral_vault"), E::WrongAddress),
        ("escrow", other_address, E::WrongAddress),
        ("collateral_vault", account_of(&list, "escrow"), E::WrongAddress),
        ("usdc_mint", other_mint, E::WrongMint),
        ("creator_token", other_mint_token, E::TokenMintMismatch),
        ("creator_token", stranger_token, E::TokenOwnerMismatch),
        ("creator_token", frozen, E::TokenAccountUnusable),
        ("creator_token", not_token, E::NotTokenAccount),
        ("token_program", account_of(&list, "system_program"), E::WrongTokenProgram),
        ("system_program", account_of(&list, "token_program"), E::WrongSystemProgram),
    ];
    refused_with(&mut world, &list, &[&agent.creator.keypair], &cases);
}

#[test]
fn the_same_index_is_listed_once() {
    let mut world = World::new();
    let agent = world.agent.clone();
    let again = world.list_agent(&agent, world.list_args(&agent));
    refused(&mut world, again, &[&agent.creator.keypair], E::AlreadyExists);
}

#[test]
fn an_index_below_a_used_one_is_refused() {
    let mut world = World::new();
    let at = |world: &World, index| {
        let creator = world.agent.creator.clone();
        Agent { address: world.addresses.agent(&creator.key(), index), index, ..world.agent.clone() }
    };
    let seventh = at(&world, 7);
    world.list(&seventh, world.list_args(&seventh));
    assert_eq!(world.profile(&seventh.creator.key()).next_agent_index, 8);
    for index in [1, 6] {
        let skipped = at(&world, index);
        let list = world.list_agent(&skipped, world.list_args(&skipped));
        refused(&mut world, list, &[&skipped.creator.keypair], E::IndexUsed);
    }
    // The highest index has none behind it, so it cannot be used.
    let last = at(&world, u32::MAX);
    let list = world.list_agent(&last, world.list_args(&last));
    refused(&mut world, list, &[&last.creator.keypair], E::OutOfRange);
    let eighth = at(&world, 8);
    world.list(&eighth, world.list_args(&eighth));
}

#[test]
fn an_agent_cannot_be_listed_in_anothers_name() {
    let mut world = World::new();
    let agent = world.new_agent();
    let list = world.list_agent(&agent, world.list_args(&agent));
    let result = world.send(&[unsigned(list.clone(), &agent.creator.key())], &[]);
    assert_custom_at(result, 0, ANCHOR_NOT_SIGNER);
    let stranger = world.stranger.clone();
    let stolen = forged(list, &[("creator", stranger.key()), ("creator_token", stranger.token)]);
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
    assert!(world.try_state::<AgentListed>(&agent.address).is_none());
}

// set_agent_status, update_listing

#[test]
fn status_changes_that_change_nothing_or_are_not_allowed_are_refused() {
    let mut world = World::new();
    let agent = world.agent.clone();
    let creator = agent.creator.keypair.insecure_clone();
    let set = world.set_agent_status(&agent, AgentStatus::Active);
    refused(&mut world, set, &[&creator], E::NothingToChange);
    let set = world.set_agent_status(&agent, AgentStatus::Delisted);
    refused(&mut world, set, &[&creator], E::StatusNotSettable);
    let stranger = world.stranger.clone();
    let set = signed_by(world.set_agent_status(&agent, AgentStatus::Paused), &stranger);
    refused(&mut world, set, &[&stranger.keypair], E::NotCreator);
    world.tamper_state::<AgentListed>(&agent.address, |listing| listing.status = AgentStatus::Delisted as u8);
    let set = world.set_agent_status(&agent, AgentStatus::Paused);
    refused(&mut world, set, &[&creator], E::AgentDelisted);
}

#[test]
fn an_agent_below_its_tier_cannot_be_reactivated() {
    let mut world = World::new();
    let agent = world.agent.clone();
    world.tamper_state::<AgentListed>(&agent.address, |listing| {
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
        (ix::UpdateListingArgs { price: Some(9_999), ..none.clone() }, E::PriceOutOfRange),
        (ix::UpdateListingArgs { price: Some(MAX_PRICE + 1), ..none.clone() }, E::PriceOutOfRange),
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
    let edit = ix::UpdateListingArgs { price: Some(10_000), ..none };
    let update = signed_by(world.update_listing(&agent, edit.clone()), &stranger);
    refused(&mut world, update, &[&stranger.keypair], E::NotCreator);
    world.tamper_state::<AgentListed>(&agent.address, |listing| listing.status = AgentStatus::Delisted as u8);
    let update = world.update_listing(&agent, edit);
    refused(&mut world, update, &[&agent.creator.keypair], E::AgentDelisted);
}

// Texts in arguments.

/// The framework reserves memory for the length that a text claims. The program has little, and would end without an
/// error.
#[test]
fn a_text_that_claims_more_bytes_than_it_has_is_refused_before_memory_is_reserved() {
    const DID_NOT_DESERIALIZE: u32 = 102;
    let mut world = World::new();
    let (agent, disputed, completed) = (world.agent.clone(), world.disputed(), world.completed());
    let unlisted = world.new_agent();
    let metadata = ix::MetadataRef { hash: [1; 32], uri: "u".to_owned() };
    let evidence = ix::OpenDisputeArgs { evidence_uri: "u".to_owned(), ..world.dispute_args() };
    let answer = ix::AnswerDisputeArgs { answer_uri: "u".to_owned(), ..world.answer_args() };
    let list = ix::ListAgentArgs { metadata_uri: "u".to_owned(), ..world.list_args(&unlisted) };
    let creator = agent.creator.keypair.insecure_clone();
    // In each of them a text of one byte is the last argument.
    let cases = [
        (world.upsert_creator_profile(&creator.pubkey(), "u"), &creator),
        (world.verify_creator(&creator.pubkey(), Some("u")), &world.admin.keypair.insecure_clone()),
        (world.list_agent(&unlisted, list), &unlisted.creator.keypair),
        (
            world.update_listing(&agent, ix::UpdateListingArgs { metadata: Some(metadata), ..Default::default() }),
            &creator,
        ),
        (world.open_dispute_with(&completed, evidence), &completed.caller.keypair),
        (world.answer_dispute_with(&disputed, answer), &creator),
    ];
    for (instruction, signer) in cases {
        for claimed in [2, 1_025, 1_048_576, u32::MAX] {
            let mut claiming = instruction.clone();
            let at = claiming.data.len() - 5;
            claiming.data[at..at + 4].copy_from_slice(&claimed.to_le_bytes());
            assert_custom_at(world.send(&[claiming], &[signer]), 0, DID_NOT_DESERIALIZE);
        }
    }
}
