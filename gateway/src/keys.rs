//! The gateway's key pair, or two while one replaces the other. The program knows one gateway, and its change on chain
//! holds at once, so each process has both and signs with the one that the chain names.

use std::{
    ops::Deref,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use solana_keypair::Keypair;
use solana_pubkey::Pubkey;
use solana_signer::Signer;

/// Stands for the key pair that signs now. Cheap to clone: clones change together.
#[derive(Clone)]
pub struct GatewayKeys(Arc<Pair>);

struct Pair {
    first: Arc<Keypair>,
    other: Option<Arc<Keypair>>,
    uses_other: AtomicBool,
}

impl GatewayKeys {
    pub fn new(first: Arc<Keypair>, other: Option<Arc<Keypair>>) -> Self {
        Self(Arc::new(Pair { first, other, uses_other: AtomicBool::new(false) }))
    }

    /// Both, the first one first.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Keypair> {
        [Some(&self.0.first), self.0.other.as_ref()].into_iter().flatten().map(|keypair| &**keypair)
    }

    /// Signs from now on with the key pair of the gateway that the chain names, if it is one of these. Whether it is.
    pub(crate) fn follow(&self, authority: &Pubkey) -> bool {
        let Some(index) = self.all().position(|keypair| keypair.pubkey() == *authority) else { return false };
        if self.0.uses_other.swap(index > 0, Ordering::Relaxed) != (index > 0) {
            tracing::info!(%authority, "the program's configuration names the gateway's other key pair, which signs now");
        }
        true
    }
}

impl Deref for GatewayKeys {
    type Target = Keypair;

    fn deref(&self) -> &Keypair {
        match &self.0.other {
            Some(other) if self.0.uses_other.load(Ordering::Relaxed) => other,
            _ => &self.0.first,
        }
    }
}
