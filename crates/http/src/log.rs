//! One event of the log is one line, whatever strangers wrote into it.

use std::io::{self, Write};

use crtx_protocol::plain_text::is_plain;

/// Wraps the writer of a log that gets each event in one call, as `tracing_subscriber` does. Characters that are not plain
/// become `\u{…}`. The log has no colours, because their escape sequences are control characters too.
#[derive(Debug)]
pub struct OneLine<W>(pub W);

impl<W: Write> Write for OneLine<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let mut line = String::with_capacity(text.len());
        for c in text.strip_suffix('\n').unwrap_or(&text).chars() {
            if is_plain(c) { line.push(c) } else { line.extend(c.escape_unicode()) }
        }
        line.push('\n');
        self.0.write_all(line.as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    fn logged(write: impl FnOnce()) -> String {
        use std::sync::{Arc, Mutex};
        #[derive(Clone, Default)]
        struct Shared(Arc<Mutex<Vec<u8>>>);
        impl Write for Shared {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.lock().expect("unpoisoned").write(bytes)
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let shared = Shared::default();
        let writer = shared.clone();
        let layer = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(move || OneLine(writer.clone()));
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), write);
        let bytes = shared.0.lock().expect("unpoisoned").clone();
        String::from_utf8(bytes).expect("text")
    }

    #[test]
    fn a_stranger_writes_no_line_of_its_own_into_the_log() {
        let hostile = "fine\n2026-11-24T00:00:00Z  INFO crtx: paid\r\u{1b}[2K\u{9b}2K\u{85}\u{2028}\u{202e}\u{7}\0end";
        let text = logged(|| {
            tracing::info!(message = hostile, "refunding");
            tracing::warn!(error = %hostile, debug = ?hostile, "{hostile}");
        });
        assert_eq!(text.matches('\n').count(), 2, "{text:?}");
        assert!(text.ends_with('\n') && text.matches("end").count() == 4, "{text:?}");
        let rest = text.replace('\n', "");
        assert!(!rest.contains(|c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{202e}')), "{text:?}");
    }
}
