//! What is shown while something takes long: a spinner on a terminal, nothing elsewhere. Always on standard error.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output::printable;

const TICK: Duration = Duration::from_millis(100);

/// Shows `text` until the future ends.
pub async fn during<T>(text: impl Into<String>, work: impl Future<Output = T>) -> T {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    bar.set_style(ProgressStyle::default_spinner());
    bar.set_message(printable(&text.into()));
    if !bar.is_hidden() {
        bar.enable_steady_tick(TICK);
    }
    let result = work.await;
    bar.finish_and_clear();
    result
}
