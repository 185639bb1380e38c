//! Ports of 127.0.0.1 that nobody listens on.

use std::{net::TcpListener, ops::Range};

use anyhow::Context;

/// Ports for services. Systems give outgoing connections higher ones, so that none takes a port between its choice and
/// its use.
const SERVICE_PORTS: Range<u16> = 10_000..30_000;
const ATTEMPTS: usize = 100;

/// `preferred` if it is free, else a random free one.
pub fn free_port(preferred: Option<u16>) -> anyhow::Result<u16> {
    free_ports(preferred, 1)
}

/// The first of `count` successive free ports: `preferred`, else a random one.
fn free_ports(preferred: Option<u16>, count: u16) -> anyhow::Result<u16> {
    let highest = SERVICE_PORTS.end.saturating_sub(count);
    let random = std::iter::repeat_with(|| rand::random_range(SERVICE_PORTS.start..=highest)).take(ATTEMPTS);
    let is_free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
    let are_free = |first: &u16| (0..count).all(|offset| is_free(first.saturating_add(offset)));
    preferred.into_iter().chain(random).find(are_free).context("no free port on 127.0.0.1")
}

/// Successive ports of Agave's `solana-test-validator`: RPC, WebSocket, faucet, gossip, and a range for the rest.
#[derive(Clone, Copy, Debug)]
pub struct ValidatorPorts {
    first: u16,
}

impl ValidatorPorts {
    const COUNT: u16 = 60;
    const FIRST_OF_THE_REST: u16 = 10;

    /// From `preferred` on if these are free, else free ones anywhere.
    pub fn free(preferred: Option<u16>) -> anyhow::Result<Self> {
        Ok(Self { first: free_ports(preferred, Self::COUNT)? })
    }

    pub const fn rpc(self) -> u16 {
        self.first
    }

    /// The validator takes the port behind that of RPC.
    pub const fn websocket(self) -> u16 {
        self.first.saturating_add(1)
    }

    /// As arguments of the validator.
    pub fn arguments(self) -> Vec<String> {
        let port = |offset: u16| self.first.saturating_add(offset).to_string();
        let rest = format!("{}-{}", port(Self::FIRST_OF_THE_REST), port(Self::COUNT.saturating_sub(1)));
        let flags = [
            ("--rpc-port", port(0)),
            ("--faucet-port", port(2)),
            ("--gossip-port", port(3)),
            ("--dynamic-port-range", rest),
        ];
        flags.into_iter().flat_map(|(flag, value)| [flag.to_owned(), value]).collect()
    }
}
