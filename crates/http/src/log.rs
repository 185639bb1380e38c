//! One event of the log is one line, whatever strangers wrote into it.

use std::{
    fmt::Write as _,
    io::{self, Write},
};

use crtx_protocol::plain_text::is_plain;

/// Wraps the writer of a log that gets each event in one call, as `tracing_subscriber` does. Characters that are not plain
/// become `\uXXXX`, as in JSON. The log has no colours, because their escape sequences are control characters too.
#[derive(Debug)]
pub struct OneLine<W>(pub W);

impl<W: Write> Write for OneLine<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let mut line = String::with_capacity(text.len());
        for c in text.strip_suffix('\n').unwrap_or(&text).chars() {
            if is_plain(c) {
                line.push(c);
            } else {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(line, "\\u{unit:04x}");
                }
            }
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
    use tracing_subscriber::{Layer, layer::SubscriberExt};

    use super::*;

    fn logged(json: bool, write: impl FnOnce()) -> String {
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
        let layer = if json { layer.json().boxed() } else { layer.boxed() };
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), write);
        let bytes = shared.0.lock().expect("unpoisoned").clone();
        String::from_utf8(bytes).expect("text")
    }

    #[test]
    fn a_line_of_json_has_every_text_as_it_was() {
        let hostile = "a\nb\u{202e}\u{e0001}\u{1b}\"c";
        let text = logged(true, || tracing::info!(hostile, "{hostile}"));
        let line: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(
            (&line["fields"]["message"], &line["fields"]["hostile"]),
            (&hostile.into(), &hostile.into()),
            "{text}"
        );
        assert!(!text.contains(['\u{202e}', '\u{e0001}', '\u{1b}']) && text.matches('\n').count() == 1, "{text:?}");
    }

    #[test]
    fn a_stranger_writes_no_line_of_its_own_into_the_log() {
        let hostile = "fine\n2026-11-24T00:00:00Z  INFO crtx: paid\r\u{1b}[2K\u{9b}2K\u{85}\u{2028}\u{202e}\u{7}\0end";
        let text = logged(false, || {
            tracing::info!(message = hostile, "refunding");
            tracing::warn!(error = %hostile, debug = ?hostile, "{hostile}");
        });
        assert_eq!(text.matches('\n').count(), 2, "{text:?}");
        assert!(text.ends_with('\n') && text.matches("end").count() == 4, "{text:?}");
        let rest = text.replace('\n', "");
        assert!(!rest.contains(|c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{202e}')), "{text:?}");
    }
}
