//! Which of many accounts an event on the chain proves to be closed.

use std::time::{Duration, Instant};

use solana_pubkey::Pubkey;

use super::search::{Proof, Search, closing_of};
use crate::history::History;

const SEARCHES_AT_ONCE: usize = 8;
/// Searches in a row that find nothing: a node that hides accounts has no closings of them.
const MOST_MISSES: usize = 24;
/// How long one search for many closings may take. What it did not reach is searched for the next time.
const BUDGET: Duration = Duration::from_secs(60);

/// Of these accounts, those whose newest closing on the chain is the one that `proves` wants.
pub async fn closed(
    history: &dyn History,
    program: &Pubkey,
    addresses: &[Pubkey],
    proves: impl Fn(&Pubkey, &Proof) -> bool,
) -> Vec<Pubkey> {
    let began = Instant::now();
    let (mut closed, mut misses) = (Vec::new(), 0_usize);
    for chunk in addresses.chunks(SEARCHES_AT_ONCE) {
        let searches = chunk.iter().map(|address| closing_of(history, program, address));
        for (address, found) in chunk.iter().zip(futures::future::join_all(searches).await) {
            match found {
                Ok(Search::Found(proof)) if proves(address, &proof) => {
                    misses = 0;
                    closed.push(*address);
                    continue;
                }
                Ok(_) => {}
                Err(error) => tracing::debug!(%address, %error, "a closing could not be searched for"),
            }
            misses = misses.saturating_add(1);
        }
        if misses >= MOST_MISSES || began.elapsed() > BUDGET {
            break;
        }
    }
    closed
}
