//! The short form of `cargo xtask chaos --events`.
#![allow(clippy::unwrap_used, reason = "tests")]

use crtx_faults::event_campaign::{Options, run};

#[tokio::test(flavor = "multi_thread")]
async fn every_receiver_has_every_event_once_and_in_order_whatever_is_killed() {
    let program = crtx_e2e::crtx_binary().with_file_name("crtx-event-chaos");
    let report = run(&Options { events: 10_000, kills: 20, seed: 20_261_128, program }).await.unwrap();
    println!("{report:?}");
    assert!(report.databases > 0 && report.kills == 20, "{report:?}");
}
