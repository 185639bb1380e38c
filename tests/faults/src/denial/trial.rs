//! Attacks one after the other, and what a bystander noticed of each.

use std::time::Duration;

use super::{
    Attack, Bystander, Measured,
    bystander::{attack_period, idle_period},
};

/// An attack runs this long before anything is measured or stopped.
pub const WARM_UP: Duration = Duration::from_millis(500);
/// After an attack the service gets this long to be as before.
const RECOVERY: Duration = Duration::from_millis(300);

pub struct Trial<'a> {
    bystander: &'a Bystander,
    idle: Measured,
    pub wrong: Vec<String>,
}

impl<'a> Trial<'a> {
    /// Measures the service without an attack.
    ///
    /// # Panics
    ///
    /// If it refuses something already.
    pub async fn start(bystander: &'a Bystander) -> Self {
        // The first calls of a process are slower.
        bystander.watch(Duration::from_secs(1)).await;
        let idle = bystander.watch(idle_period()).await;
        assert!(idle.refused.is_empty(), "the service works before the attacks: {:?}", idle.refused);
        eprintln!("idle: {} calls, {} looks, {} MiB", idle.paid.len(), idle.health.len(), idle.peak_mib);
        Self { bystander, idle, wrong: Vec::new() }
    }

    /// Measures under an attack, which goes on when this returns.
    pub async fn measure(&mut self, name: &str) {
        tokio::time::sleep(WARM_UP).await;
        let attacked = self.bystander.watch(attack_period()).await;
        self.wrong.extend(self.bystander.compare(name, &self.idle, &attacked));
        // What one attack left behind is not counted against the next one.
        self.idle.peak_mib = attacked.peak_mib;
    }

    pub async fn under(&mut self, name: &str, attack: Attack) {
        self.measure(name).await;
        eprintln!("{name}: the attackers got {}", attack.answers());
        drop(attack);
        tokio::time::sleep(RECOVERY).await;
    }

    /// # Panics
    ///
    /// If an attack was noticed.
    pub fn verdict(self) {
        assert!(self.wrong.is_empty(), "{}", self.wrong.join("\n"));
    }
}
