//! Who is told about changes and slots. A subscriber that reads slowly slows the node down; nothing is dropped.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, Ordering},
};

use solana_pubkey::Pubkey;
use tokio::sync::mpsc;

use super::filters::Filters;

/// Messages that wait for one subscriber.
const WAITING: usize = 4_096;

/// What is told.
pub enum News {
    Change { slot: u64, address: Pubkey, data: Vec<u8> },
    Slot { slot: u64, root: u64 },
}

/// What somebody subscribed to.
pub enum Topic {
    Program(Filters),
    Slots,
}

pub struct Subscriber {
    pub id: u64,
    pub topic: Topic,
    connection: u64,
    news: mpsc::Sender<(u64, Arc<News>)>,
}

/// One connection's end.
pub struct Mailbox {
    connection: u64,
    sender: mpsc::Sender<(u64, Arc<News>)>,
    /// The id of the subscription, and the news.
    pub news: mpsc::Receiver<(u64, Arc<News>)>,
}

#[derive(Default)]
pub struct Subscribers {
    list: Mutex<Vec<Arc<Subscriber>>>,
    next: AtomicU64,
}

impl Subscribers {
    pub fn connect(&self) -> Mailbox {
        let (sender, news) = mpsc::channel(WAITING);
        Mailbox { connection: self.next.fetch_add(1, Ordering::Relaxed), sender, news }
    }

    /// Returns the id of the subscription.
    pub fn add(&self, mailbox: &Mailbox, topic: Topic) -> u64 {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let subscriber = Subscriber { id, topic, connection: mailbox.connection, news: mailbox.sender.clone() };
        self.list.lock().expect("nobody panicked").push(Arc::new(subscriber));
        id
    }

    pub fn remove(&self, mailbox: &Mailbox) {
        self.list.lock().expect("nobody panicked").retain(|known| known.connection != mailbox.connection);
    }

    pub fn len(&self) -> usize {
        self.list.lock().expect("nobody panicked").len()
    }

    /// Waits while a subscriber's messages wait.
    pub async fn tell(&self, news: News) {
        let news = Arc::new(news);
        let subscribers = self.list.lock().expect("nobody panicked").clone();
        for subscriber in subscribers {
            let wanted = match (&subscriber.topic, news.as_ref()) {
                (Topic::Program(filters), News::Change { data, .. }) => filters.pick(data),
                (Topic::Slots, News::Slot { .. }) => true,
                _ => false,
            };
            if wanted {
                // Who has left gets nothing.
                drop(subscriber.news.send((subscriber.id, Arc::clone(&news))).await);
            }
        }
    }
}
