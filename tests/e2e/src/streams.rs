//! A client of event streams that checks what it reads: that no number is missing, and that each event names the one before.
#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "test support")]

use std::net::Ipv4Addr;

use crtx_protocol::result_hash::ResultHash;
use crtx_store::{
    PgExecutor, PgPool,
    sessions::SessionKind,
    testing::probes::{open_session, queue_event},
};
use reqwest::{Client, Response, header};
use serde_json::{Value, json};
use solana_pubkey::Pubkey;

/// One event of a stream.
#[derive(Clone, Debug)]
pub struct SentEvent {
    pub sequence: u64,
    pub event_type: String,
    pub data: Value,
}

impl SentEvent {
    /// `None`: a comment, or the beginning of the stream.
    fn read(block: &str) -> Option<Self> {
        let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
        let data = serde_json::from_str(field("data: ")?).unwrap();
        Some(Self { sequence: field("id: ")?.parse().unwrap(), event_type: field("event: ")?.to_owned(), data })
    }

    /// The whole events of a text, also with chunk sizes between them.
    pub fn all_of(text: &str) -> Vec<Self> {
        let whole = text.rsplit_once("\n\n").map_or("", |(whole, _)| whole);
        whole.split("\n\n").filter_map(Self::read).collect()
    }
}

/// Everything that a receiver has got, which it can prove to be whole.
#[derive(Debug, Default)]
pub struct Received(pub Vec<SentEvent>);

impl Received {
    pub fn last(&self) -> u64 {
        self.0.last().map_or(0, |event| event.sequence)
    }

    pub fn add(&mut self, event: SentEvent) {
        let previous = self.0.last().map_or(Value::Null, |last| last.data["id"].clone());
        assert_eq!((event.sequence, &event.data["previous"]), (self.last() + 1, &previous), "{event:?}");
        self.0.push(event);
    }
}

/// An open stream.
pub struct OpenStream {
    response: Response,
    text: String,
}

impl OpenStream {
    /// Opens a stream after the event with this number. An error if it is refused.
    pub async fn open(http: &Client, url: String, token: &str, after: u64) -> reqwest::Result<Self> {
        let request = http.get(url).bearer_auth(token).header("last-event-id", after);
        let response = request.send().await?.error_for_status()?;
        assert_eq!(response.headers()[header::CONTENT_TYPE], "text/event-stream");
        Ok(Self { response, text: String::new() })
    }

    /// The next event. `None`: the stream has ended or broken off.
    pub async fn next(&mut self) -> Option<SentEvent> {
        loop {
            while let Some((block, rest)) = self.text.split_once("\n\n") {
                let event = SentEvent::read(block);
                self.text = rest.to_owned();
                if event.is_some() {
                    return event;
                }
            }
            let chunk = self.response.chunk().await.ok()??;
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }
}

/// A client at this address of the machine.
pub fn client_at(address: Ipv4Addr) -> Client {
    Client::builder().local_address(Some(address.into())).no_proxy().build().unwrap()
}

/// The token of a new session of `wallet`.
pub async fn session_of(pool: &PgPool, wallet: Pubkey) -> String {
    let secret: [u8; 32] = rand::random();
    open_session(pool, wallet, ResultHash::of(&secret).0, SessionKind::Bearer).await;
    format!("crtx_session_{}", bs58::encode(secret).into_string())
}

/// Something happens to a wallet. `text`: what the event says.
pub async fn happen(db: impl PgExecutor<'_>, wallet: &Pubkey, text: &str) {
    queue_event(db, wallet, "webhook.disabled", &json!({"reason": text})).await;
}
