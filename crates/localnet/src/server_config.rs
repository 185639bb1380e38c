//! The configuration with which a `crtx-server` joins a local marketplace: `crtx-server --config <file>`.

use std::path::PathBuf;

use anyhow::Context;
use crtx_chain::Instructions;
use serde_json::json;
use solana_keypair::Keypair;

use crate::{chain::Chain, data_dir::DataDir, keys::write_private};

/// Writes the file, readable by its owner alone, and returns its path. The keys are those of `docs/configuration.md`.
pub fn write(
    data_dir: &DataDir,
    database_url: &str,
    chain: &Chain,
    instructions: &Instructions,
    authority: &Keypair,
) -> anyhow::Result<PathBuf> {
    let keypair_file = data_dir.gateway_keypair();
    write_private(&keypair_file, &serde_json::to_vec(&authority.to_bytes().to_vec())?)
        .context("cannot write the key pair of the gateway authority")?;
    let config = json!({
        "network": "local",
        "database": {"url": database_url},
        "rpc": {"urls": chain.rpc_url(), "ws_url": chain.ws_url()},
        "program": {"id": agent_marketplace::ID.to_string(), "usdc_mint": instructions.usdc_mint.to_string()},
        "content": {"dir": data_dir.content()},
        "gateway": {"keypair_file": keypair_file},
    });
    let text = format!("# Written by `crtx up` at each start.\n{}", toml::to_string(&config)?);
    let path = data_dir.server_config();
    write_private(&path, text.as_bytes()).context("cannot write the configuration of crtx-server")?;
    Ok(path)
}
