//! Grants beyond their limits, in another's name, or revoked.

use super::*;

// grant_spending, revoke_spending

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
    let grant = world.grant_spending(args);
    refused(&mut world, signed_by(grant.clone(), &stranger), &[&stranger.keypair], E::WrongAddress);
    let wrong_spender = forged(grant, &[("spender", world.addresses.spender(&stranger.key()))]);
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
        let revoke = forged(world.revoke_spending(), &[("wallet", who.pubkey())]);
        refused(&mut world, revoke, &[&who], E::NotGrantWallet);
    }
}
