//! Notes for other commands on this machine where the network that has just started is.

use anyhow::Context;
use crtx_localnet::{Marketplace, WalletFiles};

use crate::settings::{Keypairs, LocalRun, find_folder};

/// Replaces the note of an earlier run. Without it the other commands need flags, so a failure is only a warning.
pub fn note(marketplace: &Marketplace, base_url: Option<String>) {
    let written =
        find_folder().map_err(anyhow::Error::from).and_then(|folder| of(marketplace, base_url).write(&folder));
    if let Err(error) = written.context("other commands will not find this network by themselves") {
        eprintln!("crtx: warning: {error:#}");
    }
}

fn of(marketplace: &Marketplace, base_url: Option<String>) -> LocalRun {
    let WalletFiles { demo, creator, admin, resolver } = marketplace.wallets.clone();
    LocalRun {
        base_url,
        rpc_url: marketplace.rpc_url.clone(),
        ws_url: marketplace.ws_url.clone(),
        program_id: marketplace.instructions.addresses.program_id().to_string(),
        usdc_mint: marketplace.instructions.usdc_mint.to_string(),
        data_dir: marketplace.data_dir.clone(),
        api_key: marketplace.keys.demo.api_key.reveal(),
        keypairs: Keypairs { demo, creator, admin, resolver },
    }
}
