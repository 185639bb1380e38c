//! HAProxy with the configuration of a deployment (`deploy/haproxy.cfg`), on one machine.

use std::{
    fmt::Write as _,
    fs,
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result};

const CONFIGURATION: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/haproxy.cfg");
pub const PRIMARY: u16 = 5432;
pub const STANDBY: u16 = 5433;
pub const API: u16 = 8090;

/// It ends when this is dropped.
pub struct HaProxy(Child);

/// What the configuration names.
#[derive(Clone, Copy)]
pub struct Addresses {
    pub databases: [SocketAddr; 2],
    pub apis: [SocketAddr; 2],
}

/// A port of `bind` that leads to another port of 127.0.0.1: what test servers of this process listen on.
#[derive(Clone, Copy)]
pub struct Forward {
    pub from: SocketAddr,
    pub to: u16,
    /// Whether requests get the host that the server expects: the node of a local network refuses others.
    pub as_local_host: bool,
}

impl HaProxy {
    /// `command`: the program on its machine.
    pub fn start(
        mut command: Command,
        bind: Ipv4Addr,
        addresses: Addresses,
        forwards: &[Forward],
        file: &Path,
    ) -> Result<Self> {
        let mut more = "defaults\n\ttimeout connect 1s\n\ttimeout client 1h\n\ttimeout server 1h\n".to_owned();
        for (number, Forward { from, to, as_local_host }) in forwards.iter().enumerate() {
            writeln!(more, "listen forward{number}\n\tbind {from}\n\tserver here 127.0.0.1:{to}")?;
            if *as_local_host {
                writeln!(more, "\tmode http\n\thttp-request set-header host 127.0.0.1:{to}")?;
            }
        }
        fs::write(file, more)?;
        let Addresses { databases: [db_1, db_2], apis: [api_1, api_2] } = addresses;
        let variables = [("DB_1", db_1), ("DB_2", db_2), ("API_1", api_1), ("API_2", api_2)];
        command.args(["-db", "-f", CONFIGURATION, "-f"]).arg(file).env("BIND", bind.to_string());
        command.envs(variables.map(|(name, address)| (name, address.to_string())));
        let log = fs::File::create(file.with_extension("haproxy.log"))?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        Ok(Self(command.spawn().context("Debian's package haproxy")?))
    }
}

impl Drop for HaProxy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
