//! How far the start of a local network is.

/// Shows the progress of a start.
pub trait StartProgress: Send + Sync {
    /// A step begins.
    fn step(&self, text: &str);

    /// A message about the current step.
    fn say(&self, text: &str);

    /// A message that stays on the screen.
    fn note(&self, text: &str);
}
