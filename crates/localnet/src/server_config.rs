//! The configuration with which a `crtx-server` joins a local marketplace: `crtx-server --config <file>`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use crtx_chain::Instructions;
use serde_json::json;
use solana_keypair::Keypair;

use crate::{
    data_dir::{CONTENT, GATEWAY_KEYPAIR, SERVER_CONFIG},
    keys::{write_keypair, write_private},
    solana::SolanaNetwork,
};

/// Writes the file, readable by its owner alone, and returns its path. The keys are those of `docs/configuration.md`.
pub fn write(
    folder: &Path,
    database_url: &str,
    network: &SolanaNetwork,
    instructions: &Instructions,
    authority: &Keypair,
) -> anyhow::Result<PathBuf> {
    let keypair_file = folder.join(GATEWAY_KEYPAIR);
    write_keypair(&keypair_file, authority)?;
    let config = json!({
        "network": "local",
        "database": {"url": database_url},
        "rpc": {"urls": network.rpc_url(), "ws_url": network.ws_url()},
        "program": {"id": agent_marketplace::ID.to_string(), "usdc_mint": instructions.usdc_mint.to_string()},
        "content": {"dir": folder.join(CONTENT)},
        "gateway": {"keypair_file": keypair_file},
    });
    let text = format!("# Written by `crtx up` at each start.\n{}", toml::to_string(&config)?);
    let path = folder.join(SERVER_CONFIG);
    write_private(&path, text.as_bytes()).context("cannot write the configuration of crtx-server")?;
    Ok(path)
}
