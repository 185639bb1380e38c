//! Notes for other commands on this machine where the network that has just started is.

use std::path::Path;

use anyhow::{Context, bail};
use crtx_localnet::{Marketplace, WalletFiles};

use crate::output::note;
use crate::settings::{Keypairs, LocalRun, find_folder};

/// A name of another network that runs cannot be taken.
pub fn check_name(name: &str, data_dir: &Path) -> anyhow::Result<()> {
    let all = LocalRun::all(&find_folder()?)?;
    let same = all.iter().filter(|run| run.name.as_deref() == Some(name));
    for other in same.filter(|run| !is_of(run, data_dir)) {
        if other.is_running() {
            bail!("the name {name} belongs to a network that runs, {other}; choose another with --name");
        }
    }
    Ok(())
}

fn is_of(run: &LocalRun, data_dir: &Path) -> bool {
    std::fs::canonicalize(data_dir).is_ok_and(|path| path == run.data_dir)
}

/// Replaces the note of an earlier run, whose name stays without a new one. Without it the other commands need flags,
/// so a failure is only a warning.
pub fn remember(marketplace: &Marketplace, base_url: Option<String>, name: Option<&str>) {
    let written = find_folder().map_err(anyhow::Error::from).and_then(|folder| {
        let mut run = of(marketplace, base_url);
        let earlier = LocalRun::all(&folder)?.into_iter().find(|earlier| earlier.data_dir == run.data_dir);
        run.name = name.map(str::to_owned).or_else(|| earlier?.name);
        run.write(&folder)
    });
    if let Err(error) = written.context("other commands will not find this network by themselves") {
        note!("crtx: warning: {error:#}");
    }
}

fn of(marketplace: &Marketplace, base_url: Option<String>) -> LocalRun {
    let WalletFiles { demo, creator, admin, resolver } = marketplace.wallets.clone();
    LocalRun {
        name: None,
        started_at: chrono::Utc::now().timestamp(),
        base_url,
        rpc_url: marketplace.rpc_url.clone(),
        ws_url: marketplace.ws_url.clone(),
        program_id: marketplace.instructions.addresses.program_id().to_string(),
        usdc_mint: marketplace.instructions.usdc_mint.to_string(),
        data_dir: std::fs::canonicalize(&marketplace.data_dir).unwrap_or_else(|_| marketplace.data_dir.clone()),
        api_key: marketplace.keys.demo.api_key.reveal(),
        keypairs: Keypairs { demo, creator, admin, resolver },
    }
}
