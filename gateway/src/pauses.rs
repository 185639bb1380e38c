//! Which work the chain refused, and when it is tried again. The pause after each refusal grows, so that an account
//! that cannot be served costs ever less.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use crtx_protocol::transaction::Outcome;
use solana_pubkey::Pubkey;

use crate::engine::backoff;

/// Addresses that are remembered. Further ones are tried again without a pause.
const MOST_REMEMBERED: usize = 10_000;
const FIRST_PAUSE: Duration = Duration::from_secs(60);
const LONGEST_PAUSE: Duration = Duration::from_secs(6 * 3_600);

/// Refusals by address.
#[derive(Debug, Default)]
pub(crate) struct Pauses {
    refused: HashMap<Pubkey, Refused>,
}

#[derive(Debug)]
struct Refused {
    times: u32,
    not_before: Instant,
}

impl Pauses {
    /// Whether work on this address may be tried now.
    pub fn allow(&self, address: &Pubkey) -> bool {
        self.refused.get(address).is_none_or(|refused| refused.not_before <= Instant::now())
    }

    /// How often the chain refused work on this address since it last succeeded.
    pub fn refusals(&self, address: &Pubkey) -> u32 {
        self.refused.get(address).map_or(0, |refused| refused.times)
    }

    /// Notes the outcome of one transaction for the addresses that it worked on. `work` says in a log line what the
    /// chain refused. An unknown outcome changes nothing: the next round reads the chain.
    pub fn note(&mut self, addresses: &[Pubkey], outcome: &Outcome, work: &str) {
        match outcome {
            Outcome::Confirmed { .. } => {
                for address in addresses {
                    self.refused.remove(address);
                }
            }
            Outcome::Rejected { error, .. } => {
                tracing::warn!(?addresses, %error, "the chain refused to {work}");
                addresses.iter().for_each(|address| self.refuse(*address));
            }
            Outcome::Expired | Outcome::Unknown => {}
        }
    }

    /// Forgets the addresses that need no work any more.
    pub fn retain(&mut self, needs_work: impl Fn(&Pubkey) -> bool) {
        self.refused.retain(|address, _| needs_work(address));
    }

    fn refuse(&mut self, address: Pubkey) {
        if self.refused.len() >= MOST_REMEMBERED && !self.refused.contains_key(&address) {
            // What is due again is tried again in any case.
            let now = Instant::now();
            self.refused.retain(|_, refused| refused.not_before > now);
            if self.refused.len() >= MOST_REMEMBERED {
                return;
            }
        }
        let times = self.refusals(&address);
        let pause = backoff(times, FIRST_PAUSE, LONGEST_PAUSE);
        let not_before = Instant::now().checked_add(pause).unwrap_or_else(Instant::now);
        self.refused.insert(address, Refused { times: times.saturating_add(1), not_before });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_address_waits_until_it_is_done_and_others_do_not() {
        let (refused, other) = (Pubkey::new_unique(), Pubkey::new_unique());
        let refusal = Outcome::Rejected { slot: 1, error: "no".to_owned() };
        let mut pauses = Pauses::default();
        pauses.note(&[refused], &refusal, "work");
        pauses.note(&[refused], &refusal, "work");
        pauses.note(&[refused, other], &Outcome::Unknown, "work");
        assert!(!pauses.allow(&refused) && pauses.allow(&other));
        assert_eq!((pauses.refusals(&refused), pauses.refusals(&other)), (2, 0));
        pauses.note(&[refused], &Outcome::Confirmed { slot: 2 }, "work");
        assert!(pauses.allow(&refused));
    }

    #[test]
    fn memory_for_refusals_is_limited() {
        let mut pauses = Pauses::default();
        for _ in 0..MOST_REMEMBERED + 100 {
            pauses.refuse(Pubkey::new_unique());
        }
        assert_eq!(pauses.refused.len(), MOST_REMEMBERED);
    }
}
