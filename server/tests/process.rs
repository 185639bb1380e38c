//! Signals and the end of a process. Each test starts this very binary again as a process of its own.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "tests"
)]

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, ExitCode, Stdio},
    thread,
    time::{Duration, Instant},
};

use crtx_server::process;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

const MODE: &str = "CRTX_SERVER_TEST_PROCESS";
const READY: &str = "the process is ready";

/// Not a test of its own: what the others start.
#[test]
fn the_process_under_test() {
    let Ok(mode) = std::env::var(MODE) else { return };
    let patience = if mode == "overdue" { Duration::from_secs(1) } else { Duration::from_secs(30) };
    let code = process::run(patience, |stop| async move {
        if mode == "blocked" {
            for _ in 0..32 {
                tokio::spawn(async { thread::sleep(Duration::from_secs(600)) });
                tokio::task::spawn_blocking(|| thread::sleep(Duration::from_secs(600)));
            }
            // A timer would not fire: nobody drives it while every thread is blocked.
            thread::sleep(Duration::from_millis(200));
        }
        println!("{READY}");
        if mode == "overdue" || mode == "patient" {
            thread::sleep(Duration::from_secs(600));
        }
        stop.cancelled().await;
        ExitCode::SUCCESS
    });
    std::process::exit(if code == ExitCode::SUCCESS { 0 } else { 99 });
}

fn start(mode: &str) -> Child {
    let mut child = Command::new(std::env::current_exe().expect("this binary"))
        .args(["--exact", "the_process_under_test", "--nocapture"])
        .env(MODE, mode)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("started");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    assert!(lines.any(|line| line.expect("text").contains(READY)), "the process gets ready");
    child
}

fn send(child: &Child, signal: Signal) {
    kill(Pid::from_raw(i32::try_from(child.id()).expect("a process id")), signal).expect("sent");
}

/// Exit status, if the process ends within ten seconds.
fn end(mut child: Child) -> Option<i32> {
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(10) {
        if let Some(status) = child.try_wait().expect("waited") {
            return status.code();
        }
        thread::sleep(Duration::from_millis(10));
    }
    child.kill().expect("killed");
    None
}

#[test]
fn the_first_signal_asks_for_a_stop() {
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let child = start("orderly");
        send(&child, signal);
        assert_eq!(end(child), Some(0), "{signal}");
    }
}

#[test]
fn threads_that_are_blocked_do_not_hold_up_the_exit() {
    let child = start("blocked");
    send(&child, Signal::SIGTERM);
    assert_eq!(end(child), Some(0));
}

#[test]
fn the_second_signal_ends_the_process_at_once() {
    let child = start("patient");
    send(&child, Signal::SIGTERM);
    thread::sleep(Duration::from_millis(300));
    send(&child, Signal::SIGTERM);
    assert_eq!(end(child), Some(130));
}

#[test]
fn a_stop_that_takes_too_long_is_cut_off() {
    let child = start("overdue");
    send(&child, Signal::SIGTERM);
    assert_eq!(end(child), Some(1));
}
