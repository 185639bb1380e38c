//! What is said over a node's WebSocket: subscriptions, their answers, and notifications.

use std::borrow::Cow;

use crtx_chain::{
    AtSlot, FetchedAccount,
    wire::{Context, JsonRpcError, WireKeyedAccount},
};
use crtx_protocol::text::shortened;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{json, value::RawValue};
use solana_pubkey::Pubkey;

use super::error::MAX_REASON_CHARS;

/// The account of the chain's clock, which changes in every slot.
const CLOCK: &str = "SysvarC1ock11111111111111111111111111111111";

/// What a stream subscribes to. The number is the id of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subscription {
    Program = 1,
    Slots = 2,
    Clock = 3,
}

impl Subscription {
    pub(super) const ALL: [Self; 3] = [Self::Program, Self::Slots, Self::Clock];

    /// The JSON-RPC request.
    pub(super) fn request(self, program: &Pubkey) -> String {
        let config = json!({"encoding": "base64", "commitment": "confirmed"});
        let (method, params) = match self {
            Self::Program => ("programSubscribe", json!([program.to_string(), config])),
            Self::Slots => ("slotSubscribe", json!([])),
            Self::Clock => ("accountSubscribe", json!([CLOCK, config])),
        };
        json!({"jsonrpc": "2.0", "id": self as u64, "method": method, "params": params}).to_string()
    }

    fn of_id(id: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|subscription| *subscription as u64 == id)
    }
}

/// A message of the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Received {
    /// A subscription is granted, or refused with a reason.
    Answered(Subscription, Result<(), String>),
    Account {
        slot: u64,
        address: Pubkey,
        account: FetchedAccount,
    },
    Slot(u64),
    Clock(u64),
    /// Nothing that a stream needs.
    Other,
}

#[derive(Deserialize)]
struct Head<'a> {
    id: Option<u64>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    params: Option<&'a RawValue>,
    result: Option<IgnoredAny>,
    error: Option<JsonRpcError>,
}

#[derive(Deserialize)]
struct Params<T> {
    result: T,
}

/// Reads a message. `None`: it cannot be read, so what it said is lost.
pub(super) fn read(text: &str) -> Option<Received> {
    let head: Head = serde_json::from_str(text).ok()?;
    if let Some(method) = head.method {
        return notification(&method, head.params.map_or("", RawValue::get));
    }
    let Some(subscription) = head.id.and_then(Subscription::of_id) else { return Some(Received::Other) };
    Some(match (head.error, head.result) {
        (Some(refusal), _) => Received::Answered(subscription, Err(shortened(&refusal.message, MAX_REASON_CHARS))),
        (None, Some(_)) => Received::Answered(subscription, Ok(())),
        (None, None) => Received::Other,
    })
}

fn notification(method: &str, params: &str) -> Option<Received> {
    match method {
        "programNotification" => {
            let AtSlot { slot, value } = result_of::<AtSlot<WireKeyedAccount>>(params)?;
            Some(Received::Account { slot, address: value.pubkey, account: value.account })
        }
        "slotNotification" => Some(Received::Slot(result_of::<Context>(params)?.slot)),
        "accountNotification" => {
            let AtSlot { slot, .. } = result_of::<AtSlot<IgnoredAny>>(params)?;
            Some(Received::Clock(slot))
        }
        _ => Some(Received::Other),
    }
}

fn result_of<'a, T: Deserialize<'a>>(params: &'a str) -> Option<T> {
    serde_json::from_str::<Params<T>>(params).ok().map(|params| params.result)
}
