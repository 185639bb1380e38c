//! What `crtx up` tells while it starts: a bar on a terminal, plain lines elsewhere. Always on standard
//! error, which leaves standard output to the result.

use std::{borrow::Cow, time::Duration};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Cheap to clone; clones share the bar.
#[derive(Clone)]
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    pub fn new(steps: u64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{spinner} [{bar:24}] {wide_msg}") {
            bar.set_style(style.progress_chars("=> "));
        }
        if !bar.is_hidden() {
            bar.enable_steady_tick(Duration::from_millis(100));
        }
        Self { bar }
    }

    /// A step has begun.
    pub fn step(&self, text: impl Into<Cow<'static, str>>) {
        self.bar.inc(1);
        self.say(text);
    }

    /// Something worth knowing within a step.
    pub fn say(&self, text: impl Into<Cow<'static, str>>) {
        let text = text.into();
        if self.bar.is_hidden() {
            eprintln!("{text}");
        } else {
            self.bar.set_message(text);
        }
    }

    /// Something that has to stay on the screen.
    pub fn note(&self, text: &str) {
        self.bar.suspend(|| eprintln!("{text}"));
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
