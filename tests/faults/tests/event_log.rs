//! The short form of `cargo xtask chaos --events`.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::Path;

use crtx_faults::event_campaign::{Options, run};

#[tokio::test(flavor = "multi_thread")]
async fn every_receiver_has_every_event_once_and_in_order_whatever_is_killed() {
    let logs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/event-log");
    let report = run(&Options { events: 10_000, kills: 20, seed: 20_261_128 }, &logs).await.unwrap();
    println!("{report:?}");
    assert!(report.databases > 0 && report.workers > 0 && report.kills == 20, "{report:?}");
}
