//! The configuration with which a `crtx-server` joins a local marketplace: `crtx-server --config <file>`.

use std::path::PathBuf;

use anyhow::Context;
use serde::Serialize;
use solana_keypair::Keypair;

use crate::{data_dir::DataDir, keys::write_private};

/// What a `crtx-server` is configured with. The keys are those of `docs/configuration.md`.
#[derive(Debug, Serialize)]
pub struct ServerConfig {
    pub network: &'static str,
    pub database: DatabaseSection,
    pub rpc: RpcSection,
    pub program: ProgramSection,
    pub content: ContentSection,
    pub gateway: GatewaySection,
}

#[derive(Debug, Serialize)]
pub struct DatabaseSection {
    pub url: String,
}

#[derive(Debug, Serialize)]
pub struct RpcSection {
    pub urls: String,
    pub ws_url: String,
}

#[derive(Debug, Serialize)]
pub struct ProgramSection {
    pub id: String,
    pub usdc_mint: String,
}

#[derive(Debug, Serialize)]
pub struct ContentSection {
    pub dir: PathBuf,
}

#[derive(Debug, Serialize)]
pub struct GatewaySection {
    pub keypair_file: PathBuf,
}

/// Writes the file, readable by its owner alone, and returns its path.
pub fn write(
    data_dir: &DataDir,
    database: DatabaseSection,
    rpc: RpcSection,
    program: ProgramSection,
    authority: &Keypair,
) -> anyhow::Result<PathBuf> {
    let keypair_file = data_dir.gateway_keypair();
    write_private(&keypair_file, &serde_json::to_vec(&authority.to_bytes().to_vec())?)
        .context("cannot write the key pair of the gateway authority")?;
    let config = ServerConfig {
        network: "local",
        database,
        rpc,
        program,
        content: ContentSection { dir: data_dir.content() },
        gateway: GatewaySection { keypair_file },
    };
    let text = format!("# Written by `crtx up` at each start.\n{}", toml::to_string(&config)?);
    let path = data_dir.server_config();
    write_private(&path, text.as_bytes()).context("cannot write the configuration of crtx-server")?;
    Ok(path)
}
