//! A local network: PostgreSQL, a Solana network with the program (embedded, or Agave's validator), the set-up of a
//! marketplace on it, and a demo creator. [`LocalNetwork`] starts and stops them; the marketplace's services are not
//! part of it.
#![forbid(unsafe_code)]

mod align;
mod chain;
mod data_dir;
mod demo;
pub mod demo_wallets;
mod keys;
mod network;
mod progress;
mod server_config;
mod setup;
mod solana;
mod validator;

pub use keys::{CallerWallet, Keys};
pub use network::{LocalNetwork, Marketplace, NetworkOptions};
pub use progress::StartProgress;
pub use setup::ListedAgent;
