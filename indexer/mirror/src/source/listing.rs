//! Reads an answer that lists accounts while it arrives. It holds one entry at a time.

use std::{
    cell::Cell,
    fmt,
    io::{self, Read},
};

use crtx_chain::{
    FetchedAccount,
    wire::{Context, JsonRpcError, WireKeyedAccount},
};
use serde::{
    Deserialize,
    de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use solana_pubkey::Pubkey;

use super::{accounts::MAX_ENTRY_BYTES, error::SourceError};

/// Longest pagination key that is sent back to a node.
const MAX_KEY_CHARS: usize = 1_024;

/// What an answer said next to its accounts.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct AnswerHead {
    /// The slot at which the node read.
    pub slot: Option<u64>,
    /// Asks for the next page.
    pub next_page: Option<String>,
    /// Number of entries.
    pub entries: u64,
    /// The answer has a list, even if it is empty.
    pub complete: bool,
    pub refusal: Option<JsonRpcError>,
}

/// Takes each account, with the slot of the answer if that came first. An error stops the reading.
type Taker<'a> = &'a mut dyn FnMut(Option<u64>, Pubkey, FetchedAccount) -> Result<(), SourceError>;

/// Reads a JSON-RPC answer of `node`. Forms: `result.value[]`, `result.value.accounts[]`, `result.accounts[]`,
/// `result[]`. A reader of its bytes that fails because of the node has a [`SourceError`] in its error.
pub(super) fn read(node: &str, bytes: impl Read, taker: Taker) -> Result<AnswerHead, SourceError> {
    let since_entry = Cell::new(0);
    let reader = Metered { node, bytes, since_entry: &since_entry };
    let mut walk = ListingVisitor { head: AnswerHead::default(), taker, stopped: None, since_entry: &since_entry };
    let mut json = serde_json::Deserializer::from_reader(io::BufReader::with_capacity(32 * 1024, reader));
    let read = Member { walk: &mut walk, is_holder: false }.deserialize(&mut json).and_then(|()| json.end());
    let ListingVisitor { head, stopped, .. } = walk;
    let broken = |error: serde_json::Error| {
        let reason = error.to_string();
        io::Error::from(error).downcast().unwrap_or_else(|_| SourceError::incomplete(node, reason))
    };
    stopped.map_or_else(|| read.map(|()| head).map_err(broken), Err)
}

/// Counts the bytes since the last entry and refuses more than an entry can have.
struct Metered<'a, R> {
    node: &'a str,
    bytes: R,
    since_entry: &'a Cell<usize>,
}

impl<R: Read> Read for Metered<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.since_entry.get() > MAX_ENTRY_BYTES {
            let (node, what) = (self.node.to_owned(), "an entry of a list");
            return Err(io::Error::other(SourceError::TooLarge { node, what, limit: MAX_ENTRY_BYTES }));
        }
        let read = self.bytes.read(buffer)?;
        self.since_entry.set(self.since_entry.get().saturating_add(read));
        Ok(read)
    }
}

struct ListingVisitor<'a> {
    head: AnswerHead,
    taker: Taker<'a>,
    stopped: Option<SourceError>,
    since_entry: &'a Cell<usize>,
}

/// Reads one member into the walk.
struct Member<'w, 'a> {
    walk: &'w mut ListingVisitor<'a>,
    /// `result`, `value` or `accounts`: a list, or an object around one. Otherwise the answer itself.
    is_holder: bool,
}

impl<'de> DeserializeSeed<'de> for Member<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Member<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("an answer that lists accounts")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut members: M) -> Result<(), M::Error> {
        let walk = self.walk;
        while let Some(key) = members.next_key::<Key>()? {
            match (self.is_holder, key) {
                (false, Key::Error) => walk.head.refusal = members.next_value()?,
                (false, Key::Result) | (true, Key::Value | Key::Accounts) => {
                    members.next_value_seed(Member { walk, is_holder: true })?;
                }
                (true, Key::Context) => walk.head.slot = members.next_value::<Option<Context>>()?.map(|at| at.slot),
                (true, Key::NextPage) => walk.head.next_page = members.next_value()?,
                _ => {
                    members.next_value::<IgnoredAny>()?;
                }
            }
        }
        let too_long = walk.head.next_page.as_ref().is_some_and(|key| key.len() > MAX_KEY_CHARS);
        if too_long { Err(M::Error::custom("the pagination key is too long")) } else { Ok(()) }
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut entries: S) -> Result<(), S::Error> {
        if !self.is_holder {
            return Err(S::Error::custom("a list in the wrong place"));
        }
        let walk = self.walk;
        while let Some(WireKeyedAccount { pubkey, account }) = entries.next_element()? {
            walk.since_entry.set(0);
            walk.head.entries = walk.head.entries.saturating_add(1);
            if let Err(stopped) = (walk.taker)(walk.head.slot, pubkey, account) {
                walk.stopped = Some(stopped);
                return Err(S::Error::custom("stopped"));
            }
        }
        walk.head.complete = true;
        Ok(())
    }

    /// `"result": null` beside an error.
    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }
}

/// The names of members, without memory for unknown ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(field_identifier, rename_all = "camelCase")]
enum Key {
    Result,
    Error,
    Context,
    Value,
    Accounts,
    #[serde(rename = "paginationKey")]
    NextPage,
    #[serde(other)]
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(number: u8) -> String {
        let address = Pubkey::new_from_array([number; 32]);
        format!(
            r#"{{"pubkey":"{address}","account":{{"data":["AQI=","base64"],"executable":false,"lamports":5,"owner":"{address}","rentEpoch":18446744073709551615,"space":2}}}}"#
        )
    }

    /// What was read, and how many accounts were taken. More than `room` are refused.
    fn read_bytes(bytes: impl Read, room: usize) -> (Result<AnswerHead, SourceError>, usize) {
        let mut taken = 0_usize;
        let read = read("node", bytes, &mut |_, _, _| {
            taken = taken.saturating_add(1);
            if taken > room { Err(SourceError::StreamEnded) } else { Ok(()) }
        });
        (read, taken)
    }

    fn read_text(text: &str, room: usize) -> (Result<AnswerHead, SourceError>, usize) {
        read_bytes(text.as_bytes(), room)
    }

    #[test]
    fn every_form_of_a_list_is_read() {
        let (one, two) = (entry(1), entry(2));
        for (text, slot, next) in [
            (
                format!(
                    r#"{{"jsonrpc":"2.0","result":{{"context":{{"apiVersion":"4","slot":9}},"value":[{one},{two}]}},"id":1}}"#
                ),
                Some(9),
                None,
            ),
            (
                format!(
                    r#"{{"result":{{"context":{{"slot":9}},"value":{{"accounts":[{one},{two}],"paginationKey":"k"}}}}}}"#
                ),
                Some(9),
                Some("k"),
            ),
            (
                format!(
                    r#"{{"result":{{"value":{{"paginationKey":null,"accounts":[{one},{two}]}},"context":{{"slot":9}}}}}}"#
                ),
                Some(9),
                None,
            ),
            (
                format!(
                    r#"{{"id":[{{"x":[1]}}],"result":{{"accounts":[{one},{two}],"paginationKey":"k","totalResults":2}}}}"#
                ),
                None,
                Some("k"),
            ),
            (format!(r#"{{"result":[{one},{two}],"error":null}}"#), None, None),
        ] {
            let (read, taken) = read_text(&text, 10);
            let head = read.expect("read");
            assert_eq!((head.slot, head.next_page.as_deref(), head.entries), (slot, next, 2), "{text}");
            assert!(head.complete && head.refusal.is_none());
            assert_eq!(taken, 2);
        }
    }

    #[test]
    fn an_answer_that_ends_early_is_not_complete_wherever_it_ends() {
        let text = format!(r#"{{"result":{{"context":{{"slot":9}},"value":[{},{}]}}}}"#, entry(1), entry(2));
        for end in 0..text.len() {
            assert!(
                matches!(read_text(&text[..end], 10).0, Err(SourceError::SnapshotIncomplete { .. })),
                "{}",
                &text[..end]
            );
        }
        assert!(read_text(&text, 10).0.is_ok());
    }

    #[test]
    fn an_error_is_read_and_a_missing_list_is_noticed() {
        let (read, _) = read_text(r#"{"error":{"code":-32601,"message":"Method not found"},"id":1,"result":null}"#, 10);
        assert_eq!(read.expect("read").refusal.expect("an error").code, -32_601);
        let (read, _) = read_text(r#"{"result":{"context":{"slot":9}}}"#, 10);
        assert!(!read.expect("read").complete);
        assert!(matches!(read_text("[]", 10).0, Err(SourceError::SnapshotIncomplete { .. })));
    }

    #[test]
    fn the_reading_ends_when_the_accounts_are_no_longer_taken() {
        let text = format!(r#"{{"result":[{},{},{}]}}"#, entry(1), entry(2), entry(3));
        let (read, taken) = read_text(&text, 1);
        assert!(matches!(read, Err(SourceError::StreamEnded)));
        assert_eq!(taken, 2);
    }

    #[test]
    fn an_entry_without_end_is_given_up() {
        struct Endless(u64);
        impl Read for Endless {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                buffer.fill(b'a');
                self.0 += 1;
                Ok(buffer.len())
            }
        }
        let mut endless = Endless(0);
        let start: &[u8] = br#"{"result":[{"pubkey":""#;
        let (read, _) = read_bytes(start.chain(&mut endless), 1);
        assert!(matches!(read, Err(SourceError::TooLarge { .. })));
        assert!(endless.0 < 1_000);
    }
}
