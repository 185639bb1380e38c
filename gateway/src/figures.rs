//! What the gateway of this process counts, for its operator.

use std::time::Duration;

use crtx_protocol::transaction::Outcome;
use prometheus_client::{
    metrics::{counter::Counter, family::Family, histogram::Histogram},
    registry::Registry,
};

/// Upper bounds in seconds. The longest wait is a creator's time-out.
const SECONDS: [f64; 12] = [0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0];

const DELIVERY_OUTCOMES: [&str; 2] = ["acknowledged", "failed"];

type Labels<const N: usize> = [(&'static str, String); N];

/// Cheap to clone: clones count together.
#[derive(Clone)]
pub struct CallFigures {
    calls: Family<Labels<2>, Counter>,
    waits: Family<Labels<1>, Histogram, fn() -> Histogram>,
    transactions: Family<Labels<1>, Counter>,
    deliveries: Family<Labels<1>, Counter>,
}

impl Default for CallFigures {
    fn default() -> Self {
        let waits = Family::new_with_constructor((|| Histogram::new(SECONDS)) as fn() -> Histogram);
        let figures =
            Self { calls: Family::default(), waits, transactions: Family::default(), deliveries: Family::default() };
        // Served from the beginning.
        for outcome in DELIVERY_OUTCOMES {
            figures.deliveries.get_or_create_owned(&[("outcome", outcome.to_owned())]);
        }
        figures
    }
}

impl CallFigures {
    pub fn register(&self, registry: &mut Registry) {
        registry.register("calls", "Work on calls that ended, by outcome and error code", self.calls.clone());
        registry.register("call_wait_seconds", "What a call waited for chain and creator", self.waits.clone());
        registry.register("transactions", "Transactions that were sent, by outcome", self.transactions.clone());
        registry.register("webhook_deliveries", "Events sent to webhooks, by outcome", self.deliveries.clone());
    }

    /// `code`: of the error; empty if there was none.
    pub(crate) fn call(&self, outcome: &str, code: &str) {
        self.calls.get_or_create(&[("outcome", outcome.to_owned()), ("code", code.to_owned())]).inc();
    }

    pub(crate) fn waited(&self, chain: Duration, creator: Duration) {
        for (part, time) in [("chain", chain), ("creator", creator)] {
            self.waits.get_or_create(&[("part", part.to_owned())]).observe(time.as_secs_f64());
        }
    }

    pub(crate) fn transaction(&self, outcome: &Outcome) {
        let outcome = match outcome {
            Outcome::Confirmed { .. } => "confirmed",
            Outcome::Rejected { .. } => "rejected",
            Outcome::Expired => "expired",
            Outcome::Unknown => "unknown",
        };
        self.transactions.get_or_create(&[("outcome", outcome.to_owned())]).inc();
    }

    pub(crate) fn delivery(&self, is_acknowledged: bool) {
        let [acknowledged, failed] = DELIVERY_OUTCOMES;
        let outcome = if is_acknowledged { acknowledged } else { failed };
        self.deliveries.get_or_create(&[("outcome", outcome.to_owned())]).inc();
    }
}
