//! What `crtx up` shows while it starts: a bar on a terminal, plain lines elsewhere. Always on standard
//! error, because standard output is for the result.

use std::time::Duration;

use crtx_localnet::StartProgress;
use indicatif::{ProgressDrawTarget, ProgressStyle};

use crate::output::{note, printable};

pub struct ProgressBar {
    bar: indicatif::ProgressBar,
}

impl ProgressBar {
    pub fn new(steps: u64) -> Self {
        let bar = indicatif::ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{spinner} [{bar:24}] {wide_msg}") {
            bar.set_style(style.progress_chars("=> "));
        }
        if !bar.is_hidden() {
            bar.enable_steady_tick(Duration::from_millis(100));
        }
        Self { bar }
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl StartProgress for ProgressBar {
    fn step(&self, text: &str) {
        self.bar.inc(1);
        self.say(text);
    }

    fn say(&self, text: &str) {
        if self.bar.is_hidden() {
            note!("{text}");
        } else {
            self.bar.set_message(printable(text));
        }
    }

    fn note(&self, text: &str) {
        self.bar.suspend(|| note!("{text}"));
    }
}
