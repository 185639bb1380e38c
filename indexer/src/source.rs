//! Where accounts come from: a stream of changes, snapshots, and single reads.

use std::time::Duration;

use async_trait::async_trait;
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use crtx_chain::{ChainClient, ChainError, CommitmentConfig};
use futures::{FutureExt, StreamExt};
use solana_account_decoder_client_types::{UiAccountData, UiAccountEncoding};
use solana_pubkey::Pubkey;
use solana_pubsub_client::nonblocking::pubsub_client::PubsubClient;
use solana_rpc_client_api::{
    config::{RpcAccountInfoConfig, RpcProgramAccountsConfig},
    response::{Response, RpcKeyedAccount},
};
use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};

/// A change of one of the program's accounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub address: Pubkey,
    /// The slot in the notification. It can be too old (Surfpool 1.6.1 sends the slot at which the subscription began),
    /// so the account's revision decides the order first.
    pub slot: u64,
    pub data: Vec<u8>,
}

/// What a stream delivers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Change(Change),
    /// Every change up to this slot has been delivered before.
    Reached(u64),
}

/// The program's accounts at one slot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramSnapshot {
    pub slot: u64,
    pub accounts: Vec<(Pubkey, Vec<u8>)>,
}

/// Accounts read together at one slot, in the order asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Read {
    pub slot: u64,
    pub accounts: Vec<Option<OwnedAccount>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedAccount {
    pub owner: Pubkey,
    pub data: Vec<u8>,
}

#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    #[error(transparent)]
    Chain(#[from] ChainError),
    #[error("the WebSocket of the node: {0}")]
    Subscription(String),
    #[error("the stream of changes ended")]
    StreamEnded,
}

/// A node that accepts the connection but does not answer in this time counts as failed.
const SUBSCRIBE_LIMIT: Duration = Duration::from_secs(10);

/// Most addresses that [`AccountSource::read`] takes.
pub const MAX_ACCOUNTS_PER_READ: usize = crtx_chain::rpc::MAX_ACCOUNTS_PER_READ;

/// A source of the program's accounts at `confirmed`.
#[async_trait]
pub trait AccountSource: Send + Sync + 'static {
    /// Changes from now on. They are buffered. The channel closes when a change may have been missed.
    async fn subscribe(&self) -> Result<mpsc::UnboundedReceiver<Event>, SourceError>;

    /// All accounts of the program.
    async fn snapshot(&self) -> Result<ProgramSnapshot, SourceError>;

    /// At most [`MAX_ACCOUNTS_PER_READ`] accounts, of the program or not.
    async fn read(&self, addresses: &[Pubkey]) -> Result<Read, SourceError>;

    /// The confirmed slot.
    async fn slot(&self) -> Result<u64, SourceError>;

    /// Identifies the chain.
    async fn genesis_hash(&self) -> Result<String, SourceError>;
}

/// A node's JSON-RPC and WebSocket.
pub struct RpcSource {
    chain: ChainClient,
    ws_url: String,
    program: Pubkey,
}

impl RpcSource {
    pub fn new(chain: ChainClient, ws_url: &str, program: Pubkey) -> Self {
        Self { chain, ws_url: ws_url.to_owned(), program }
    }

    async fn try_subscribe(&self) -> Result<mpsc::UnboundedReceiver<Event>, SourceError> {
        let client = PubsubClient::new(self.ws_url.as_str())
            .await
            .map_err(|error| SourceError::Subscription(error.to_string()))?;
        let (events, receiver) = mpsc::unbounded_channel();
        let (subscribed, confirmation) = oneshot::channel();
        let program = self.program;
        // Subscriptions borrow the client, so one task holds both. It ends with the connection or with the receiver.
        tokio::spawn(async move {
            tokio::select! {
                () = forward(&client, &program, subscribed, &events) => {}
                () = events.closed() => {}
            }
        });
        match confirmation.await {
            Ok(Ok(())) => Ok(receiver),
            Ok(Err(reason)) => Err(SourceError::Subscription(reason)),
            Err(_) => Err(SourceError::StreamEnded),
        }
    }
}

fn subscription_config() -> RpcProgramAccountsConfig {
    RpcProgramAccountsConfig {
        account_config: RpcAccountInfoConfig {
            encoding: Some(UiAccountEncoding::Base64),
            commitment: Some(CommitmentConfig::confirmed()),
            ..RpcAccountInfoConfig::default()
        },
        ..RpcProgramAccountsConfig::default()
    }
}

/// `None` if the node did not send base64, as requested.
fn change(notification: Response<RpcKeyedAccount>) -> Option<Change> {
    let address = notification.value.pubkey.parse().ok()?;
    let data = match &notification.value.account.data {
        UiAccountData::Binary(text, UiAccountEncoding::Base64) => BASE64.decode(text).ok()?,
        _ => return None,
    };
    Some(Change { address, slot: notification.context.slot, data })
}

/// Subscribes, reports that, and forwards notifications. Ends with the connection, with the receiver, or with a
/// notification that cannot be decoded: the snapshot after the next subscription has that change.
async fn forward(
    client: &PubsubClient,
    program: &Pubkey,
    subscribed: oneshot::Sender<Result<(), String>>,
    events: &mpsc::UnboundedSender<Event>,
) {
    let (mut changes, _unsubscribe) = match client.program_subscribe(program, Some(subscription_config())).await {
        Ok(subscription) => subscription,
        Err(error) => return drop(subscribed.send(Err(error.to_string()))),
    };
    // Not every provider offers slots. Without them the mirror is as complete, but its checkpoint moves less often.
    let (mut slots, _unsubscribe) = match client.slot_subscribe().await {
        Ok(subscription) => subscription,
        Err(error) => {
            tracing::warn!(cause = %error, "the node does not offer slot notifications");
            (futures::stream::pending().boxed(), Box::new(|| futures::future::ready(()).boxed()) as _)
        }
    };
    if subscribed.send(Ok(())).is_err() {
        return;
    }
    loop {
        let sent = tokio::select! {
            notification = changes.next() => notification.and_then(|notification| send_change(events, notification)),
            slot = slots.next() => slot.and_then(|slot| {
                // The root is about 30 slots old, so its changes were confirmed and notified before. Those that wait
                // here are sent first.
                while let Some(notification) = changes.next().now_or_never() {
                    send_change(events, notification?)?;
                }
                events.send(Event::Reached(slot.root)).ok()
            }),
            () = events.closed() => None,
        };
        if sent.is_none() {
            return;
        }
    }
}

fn send_change(events: &mpsc::UnboundedSender<Event>, notification: Response<RpcKeyedAccount>) -> Option<()> {
    let Some(change) = change(notification) else {
        tracing::warn!("the node sent a notification that cannot be decoded");
        return None;
    };
    events.send(Event::Change(change)).ok()
}

#[async_trait]
impl AccountSource for RpcSource {
    async fn subscribe(&self) -> Result<mpsc::UnboundedReceiver<Event>, SourceError> {
        let late = |_| SourceError::Subscription("no answer in time".to_owned());
        timeout(SUBSCRIBE_LIMIT, self.try_subscribe()).await.map_err(late)?
    }

    async fn snapshot(&self) -> Result<ProgramSnapshot, SourceError> {
        let answer = self.chain.program_accounts(&self.program, CommitmentConfig::confirmed()).await?;
        let accounts = answer.value.into_iter().map(|(address, account)| (address, account.data)).collect();
        Ok(ProgramSnapshot { slot: answer.slot, accounts })
    }

    async fn read(&self, addresses: &[Pubkey]) -> Result<Read, SourceError> {
        let answer = self.chain.accounts(addresses).await?;
        let owned = |account: crtx_chain::FetchedAccount| OwnedAccount { owner: account.owner, data: account.data };
        Ok(Read { slot: answer.slot, accounts: answer.value.into_iter().map(|account| account.map(owned)).collect() })
    }

    async fn slot(&self) -> Result<u64, SourceError> {
        Ok(self.chain.slot(CommitmentConfig::confirmed()).await?)
    }

    async fn genesis_hash(&self) -> Result<String, SourceError> {
        Ok(self.chain.genesis_hash().await?)
    }
}
