//! Limits how many calls this process works on. Beyond the limit there is a short queue, and then an immediate 503,
//! so that accepted calls stay fast.
//!
//! A wallet or an agent may have at most [`SHARE`] times as many calls as there are free permits. One wallet therefore
//! takes at most four fifths of the permits, several take a little more, and a permit stays free for the next one,
//! however long the other calls take.

use std::{collections::HashMap, time::Duration};

use crtx_http::{ApiError, ErrorCode};
use solana_pubkey::Pubkey;

use super::permits::{Permit, Permits};
use crate::config::Limits;

const SHARE: u32 = 4;
/// How long a call waits in the queue before 503.
const PATIENCE: Duration = Duration::from_millis(100);
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Who has calls under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Holder {
    Process,
    /// The process: calls that wait for a permit.
    Queue,
    Wallet(Pubkey),
    Agent(Pubkey),
}

/// The permit of one call. Dropping it frees the permit.
pub(crate) type CallPermit = Permit<Holder>;

pub(crate) struct Gate {
    calls: u32,
    queue: u32,
    patience: Duration,
    permits: Permits<Holder>,
}

impl Gate {
    pub fn new(limits: &Limits) -> Self {
        Self {
            calls: limits.calls_at_once,
            queue: limits.calls_queued,
            patience: PATIENCE,
            permits: Permits::default(),
        }
    }

    /// Waits for a permit for a call of `wallet` to `agent`. Returns 503 `unavailable` if none is free in time.
    pub async fn enter(&self, wallet: &Pubkey, agent: &Pubkey) -> Result<CallPermit, ApiError> {
        let holders = vec![Holder::Process, Holder::Wallet(*wallet), Holder::Agent(*agent)];
        let most = |holder: &Holder, held: &HashMap<Holder, u32>| self.most(*holder, held);
        if let Ok(permit) = self.permits.take(holders.clone(), most) {
            return Ok(permit);
        }
        let _waiting = self.permits.take(vec![Holder::Queue], most).map_err(full)?;
        self.permits.wait(self.patience, holders, most).await.map_err(full)
    }

    /// The calls that it has under way.
    pub fn calls(&self, holder: &Holder) -> u32 {
        self.permits.count(holder)
    }

    fn most(&self, holder: Holder, held: &HashMap<Holder, u32>) -> u32 {
        match holder {
            Holder::Process => self.calls,
            Holder::Queue => self.queue,
            Holder::Wallet(_) | Holder::Agent(_) => {
                let calls = held.get(&Holder::Process).copied().unwrap_or_default();
                self.calls.saturating_sub(calls).saturating_mul(SHARE)
            }
        }
    }
}

fn full(_: Holder) -> ApiError {
    let message = "the service works on as many calls as it can; nothing was charged, try again";
    ApiError::new(ErrorCode::Unavailable, message).with_retry_after(RETRY_AFTER)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    const AGENT: Pubkey = Pubkey::new_from_array([200; 32]);

    fn gate(calls: u32, queue: u32) -> Gate {
        Gate { calls, queue, patience: Duration::from_millis(50), permits: Permits::default() }
    }

    fn who(number: u8) -> Pubkey {
        Pubkey::new_from_array([number; 32])
    }

    #[tokio::test]
    async fn one_wallet_or_agent_never_takes_the_last_place() {
        let gate = gate(100, 0);
        let mut permits = Vec::new();
        while let Ok(permit) = gate.enter(&who(1), &who(101)).await {
            permits.push(permit);
        }
        assert_eq!(permits.len(), 80);
        while let Ok(permit) = gate.enter(&who(2), &who(102)).await {
            permits.push(permit);
        }
        assert!(gate.enter(&who(3), &who(101)).await.is_err(), "the agent has its share");
        assert!(gate.enter(&who(1), &who(103)).await.is_err(), "the wallet has its share");
        assert!(gate.enter(&who(3), &who(103)).await.is_ok(), "another wallet and agent get a permit");
    }

    #[tokio::test]
    async fn beyond_places_and_queue_the_answer_is_503_at_once_with_retry_after() {
        let gate = Arc::new(gate(1, 1));
        let permit = gate.enter(&who(1), &AGENT).await.expect("a permit");
        let second = tokio::spawn({
            let gate = Arc::clone(&gate);
            async move { gate.enter(&who(2), &who(2)).await.map(drop) }
        });
        while gate.calls(&Holder::Queue) == 0 {
            tokio::task::yield_now().await;
        }
        let refused = gate.enter(&who(3), &AGENT).await.map(drop).expect_err("full");
        assert_eq!((refused.code, refused.retry_after), (ErrorCode::Unavailable, Some(RETRY_AFTER)));
        drop(permit);
        assert_eq!(second.await.expect("joined"), Ok(()), "the waiting call gets the permit that becomes free");
    }

    #[tokio::test]
    async fn no_call_waits_longer_than_the_queues_patience_and_its_place_in_the_queue_is_freed() {
        let gate = gate(1, 8);
        let permit = gate.enter(&who(1), &AGENT).await.expect("a permit");
        assert!(gate.enter(&who(2), &AGENT).await.is_err());
        drop(permit);
        for holder in [Holder::Process, Holder::Queue, Holder::Wallet(who(1)), Holder::Agent(AGENT)] {
            assert_eq!(gate.calls(&holder), 0, "{holder:?}");
        }
    }
}
