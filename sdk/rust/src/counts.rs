//! Counts what happens to calls, as text for Prometheus.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

#[derive(Debug, Default)]
pub struct Counts {
    pub completed: AtomicU64,
    pub failed: AtomicU64,
    pub timed_out: AtomicU64,
    /// Answered with what an earlier request made.
    pub repeated: AtomicU64,
    /// Requests that are no calls, or too many.
    pub refused: AtomicU64,
    milliseconds: AtomicU64,
}

impl Counts {
    pub fn add(counter: &AtomicU64) {
        counter.fetch_add(1, Relaxed);
    }

    pub fn took(&self, time: Duration) {
        self.milliseconds.fetch_add(u64::try_from(time.as_millis()).unwrap_or(u64::MAX), Relaxed);
    }

    pub fn text(&self, running: usize) -> String {
        let outcomes = [
            ("completed", &self.completed),
            ("failed", &self.failed),
            ("timed_out", &self.timed_out),
            ("repeated", &self.repeated),
            ("refused", &self.refused),
        ];
        let calls: String = outcomes
            .map(|(outcome, count)| {
                format!("crtx_seller_calls_total{{outcome=\"{outcome}\"}} {}\n", count.load(Relaxed))
            })
            .concat();
        let seconds = Duration::from_millis(self.milliseconds.load(Relaxed)).as_secs_f64();
        format!(
            "# TYPE crtx_seller_calls_total counter\n{calls}\
             # TYPE crtx_seller_run_seconds_total counter\ncrtx_seller_run_seconds_total {seconds}\n\
             # TYPE crtx_seller_running gauge\ncrtx_seller_running {running}\n"
        )
    }
}
