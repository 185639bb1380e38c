//! Machines as network namespaces of this one: each has an address on one bridge, and can be cut off without a word to
//! the others, as by a power cut.

use std::{net::Ipv4Addr, process::Command};

use anyhow::{Context, Result, ensure};

const BRIDGE: &str = "crtx-net";
/// This process, the chain and the clients.
pub const HERE: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);

/// The bridge. It and its machines are gone when this is dropped.
pub struct Network(());

/// One machine.
#[derive(Clone, Debug)]
pub struct Machine {
    pub name: &'static str,
    pub address: Ipv4Addr,
}

fn ip(arguments: &str) -> Result<()> {
    let output = Command::new("ip").args(arguments.split(' ')).output().context("iproute2")?;
    ensure!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(())
}

impl Network {
    /// Needs the rights of root.
    pub fn make(machines: &[Machine]) -> Result<Self> {
        remove(machines);
        let network = Self(());
        ip(&format!("link add {BRIDGE} type bridge"))?;
        ip(&format!("addr add {HERE}/24 dev {BRIDGE}"))?;
        ip(&format!("link set {BRIDGE} up"))?;
        for Machine { name, address } in machines {
            ip(&format!("netns add {name}"))?;
            ip(&format!("link add {name} type veth peer name eth0 netns {name}"))?;
            ip(&format!("link set {name} master {BRIDGE} up"))?;
            ip(&format!("-n {name} addr add {address}/24 dev eth0"))?;
            ip(&format!("-n {name} link set eth0 up"))?;
            ip(&format!("-n {name} link set lo up"))?;
        }
        Ok(network)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        let named = Command::new("ip").args(["-o", "link", "show", "master", BRIDGE]).output();
        let named = named.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        for name in named.lines().filter_map(|line| line.split([' ', '@']).nth(1)) {
            let _ = ip(&format!("netns del {name}"));
        }
        let _ = ip(&format!("link del {BRIDGE}"));
    }
}

/// What an interrupted run left.
fn remove(machines: &[Machine]) {
    for Machine { name, .. } in machines {
        let _ = ip(&format!("netns del {name}"));
        let _ = ip(&format!("link del {name}"));
    }
    let _ = ip(&format!("link del {BRIDGE}"));
}

impl Machine {
    pub const fn new(name: &'static str, last: u8) -> Self {
        Self { name, address: Ipv4Addr::new(10, 77, 0, last) }
    }

    /// Nothing comes or goes any more, and nobody is told.
    pub fn cut(&self) -> Result<()> {
        ip(&format!("link set {} down", self.name))
    }

    pub fn mend(&self) -> Result<()> {
        ip(&format!("link set {} up", self.name))
    }

    /// A command on this machine; it has the process id of its program.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", self.name, program]);
        command
    }
}
