//! The network between a service and something that it depends on, as a proxy that breaks it in every way a network or a
//! peer breaks. It works on bytes, so it knows as little of HTTP as a cable does.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::Result;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, WriteHalf, sink, split},
    net::{TcpListener, TcpStream, UnixStream},
    sync::watch,
    task::{JoinHandle, JoinSet},
    time::{sleep, timeout},
};

/// What a slow link adds to each piece.
const LATENCY: Duration = Duration::from_millis(300);
/// A dripping link passes so many bytes of an answer, and then pauses.
const DROP: usize = 4;
const BETWEEN_DROPS: Duration = Duration::from_millis(5);
/// What ends the answer to a WebSocket's handshake.
const END_OF_HEAD: &[u8] = b"\r\n\r\n";
/// The first byte of a text message in one frame.
const TEXT: u8 = 0x81;
/// How long the end of a truncated answer waits for its client, so that no reset overtakes it.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// What is wrong with the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Broken {
    /// Nothing.
    No,
    /// Each piece comes later.
    Latency,
    /// The connection is reset in the middle of a request, or of its answer, in turn.
    Reset,
    /// Connections stay, and nothing passes any more in either direction. Those that met this stay so for ever: what
    /// was between both ends has forgotten them.
    HalfOpen,
    /// An answer ends in its middle, and with it the connection, in good order.
    Truncation,
    /// An answer comes a few bytes at a time.
    Drip,
    /// Each thing comes twice: see [`Wire`].
    Duplication,
}

impl Broken {
    pub const ALL: [Self; 6] =
        [Self::HalfOpen, Self::Latency, Self::Drip, Self::Duplication, Self::Reset, Self::Truncation];
}

/// What is spoken, as far as duplication has to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// Requests are sent to the service a second time, on a connection of their own whose answers nobody reads.
    Http,
    /// Each message of the service comes twice.
    WebSocket,
    /// A session has no duplicates. What leads to them is a commit that is carried out, and whose answer is lost: the
    /// client cannot know, and does its work again.
    Postgres,
}

/// Where a link leads to.
#[derive(Clone, Debug)]
pub enum Target {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

/// The link. It ends with its connections when this is dropped.
pub struct Link {
    address: SocketAddr,
    broken: watch::Sender<Broken>,
    counts: Arc<Counts>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct Counts {
    met: AtomicU64,
    passed: AtomicU64,
}

impl Link {
    pub async fn start(wire: Wire, target: Target) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let (address, broken, counts) =
            (listener.local_addr()?, watch::Sender::new(Broken::No), Arc::<Counts>::default());
        let (changes, counted) = (broken.subscribe(), Arc::clone(&counts));
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let (target, broken, counts) = (target.clone(), changes.clone(), Arc::clone(&counted));
                connections.spawn(async move {
                    // A side that goes away ends the connection: that is no problem of the link.
                    let _ = carry(client, wire, target, broken, &counts).await;
                });
                while connections.try_join_next().is_some() {}
            }
        });
        Ok(Self { address, broken, counts, task })
    }

    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Breaks the link, or mends it.
    pub fn set(&self, broken: Broken) {
        self.broken.send_replace(broken);
    }

    /// How often what is wrong met something.
    pub fn met(&self) -> u64 {
        self.counts.met.load(Ordering::Relaxed)
    }

    /// Pieces of answers that passed unharmed.
    pub fn passed(&self) -> u64 {
        self.counts.passed.load(Ordering::Relaxed)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.task.abort();
    }
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

impl Target {
    async fn connect(&self) -> io::Result<Box<dyn Stream>> {
        Ok(match self {
            Self::Tcp(address) => {
                let stream = TcpStream::connect(address).await?;
                stream.set_nodelay(true)?;
                Box::new(stream)
            }
            Self::Unix(path) => Box::new(UnixStream::connect(path).await?),
        })
    }
}

/// One connection.
struct Carried<'a> {
    wire: Wire,
    target: Target,
    broken: watch::Receiver<Broken>,
    counts: &'a Counts,
    to_service: WriteHalf<Box<dyn Stream>>,
    /// Where the duplicates of requests go.
    second: Option<WriteHalf<Box<dyn Stream>>>,
    frames: Frames,
    /// A commit was sent whose answer is to be lost.
    commits: bool,
}

/// What becomes of a connection after a piece.
enum Next {
    GoesOn,
    Reset,
    Ends,
}

async fn carry(
    mut client: TcpStream,
    wire: Wire,
    target: Target,
    mut broken: watch::Receiver<Broken>,
    counts: &Counts,
) -> io::Result<()> {
    client.set_nodelay(true)?;
    if *broken.borrow_and_update() == Broken::HalfOpen {
        counts.met.fetch_add(1, Ordering::Relaxed);
        return forget(&mut client).await;
    }
    let (mut from_service, to_service) = split(target.connect().await?);
    let (mut request, mut answer) = (vec![0; 64 * 1024], vec![0; 64 * 1024]);
    let (second, frames, commits) = (None, Frames::default(), false);
    let mut carried = Carried { wire, target, broken: broken.clone(), counts, to_service, second, frames, commits };
    loop {
        let next = tokio::select! {
            biased;
            changed = broken.changed() => match changed {
                Ok(()) if *broken.borrow() == Broken::HalfOpen => {
                    counts.met.fetch_add(1, Ordering::Relaxed);
                    return forget(&mut client).await;
                }
                Ok(()) => Next::GoesOn,
                Err(_) => Next::Ends,
            },
            length = client.read(&mut request) => match length? {
                0 => Next::Ends,
                length => carried.ask(&request[..length]).await?,
            },
            length = from_service.read(&mut answer) => match length? {
                0 => Next::Ends,
                length => carried.answer(&mut client, &answer[..length]).await?,
            },
        };
        match next {
            Next::GoesOn => {}
            Next::Reset => return client.set_zero_linger(),
            Next::Ends => {
                client.shutdown().await?;
                let _ = timeout(LAST_WORDS, forget(&mut client)).await;
                return Ok(());
            }
        }
    }
}

/// Says nothing, until the client goes away.
async fn forget(client: &mut TcpStream) -> io::Result<()> {
    tokio::io::copy(client, &mut sink()).await.map(drop)
}

impl Carried<'_> {
    fn now(&self) -> Broken {
        *self.broken.borrow()
    }

    fn meet(&self) -> u64 {
        self.counts.met.fetch_add(1, Ordering::Relaxed)
    }

    async fn ask(&mut self, piece: &[u8]) -> io::Result<Next> {
        match (self.now(), self.wire) {
            (Broken::Latency, _) => {
                self.meet();
                sleep(LATENCY).await;
            }
            (Broken::Reset, _) if self.counts.met.load(Ordering::Relaxed) % 2 == 1 => {
                self.meet();
                self.to_service.write_all(&piece[..piece.len() / 2]).await?;
                return Ok(Next::Reset);
            }
            (Broken::Duplication, Wire::Http) => {
                self.meet();
                if self.second.is_none() {
                    let (mut answers, requests) = split(self.target.connect().await?);
                    tokio::spawn(async move { tokio::io::copy(&mut answers, &mut sink()).await });
                    self.second = Some(requests);
                }
                if let Some(second) = &mut self.second {
                    second.write_all(piece).await?;
                }
            }
            (Broken::Duplication, Wire::Postgres) => self.commits |= piece.windows(6).any(|word| word == b"COMMIT"),
            _ => self.second = None,
        }
        self.to_service.write_all(piece).await?;
        Ok(Next::GoesOn)
    }

    async fn answer(&mut self, client: &mut TcpStream, piece: &[u8]) -> io::Result<Next> {
        let frames = if self.wire == Wire::WebSocket { self.frames.take(piece) } else { vec![piece.to_vec()] };
        let piece = frames.concat();
        if piece.is_empty() {
            return Ok(Next::GoesOn);
        }
        match self.now() {
            Broken::Latency => {
                self.meet();
                sleep(LATENCY).await;
                client.write_all(&piece).await?;
            }
            Broken::Drip => {
                self.meet();
                for (number, drop) in piece.chunks(DROP).enumerate() {
                    if self.now() != Broken::Drip {
                        client.write_all(&piece[number * DROP..]).await?;
                        break;
                    }
                    client.write_all(drop).await?;
                    sleep(BETWEEN_DROPS).await;
                }
            }
            Broken::Reset | Broken::Truncation => {
                let ends = if self.now() == Broken::Reset { Next::Reset } else { Next::Ends };
                self.meet();
                client.write_all(&piece[..piece.len() / 2]).await?;
                return Ok(ends);
            }
            Broken::Duplication if self.commits => {
                self.meet();
                return Ok(Next::Reset);
            }
            Broken::Duplication if self.wire == Wire::WebSocket => {
                for frame in frames {
                    client.write_all(&frame).await?;
                    if frame[0] == TEXT {
                        self.meet();
                        client.write_all(&frame).await?;
                    }
                }
            }
            Broken::No | Broken::Duplication | Broken::HalfOpen => {
                client.write_all(&piece).await?;
                self.counts.passed.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(Next::GoesOn)
    }
}

/// The frames of a WebSocket's service, after the head of its answer. They are passed on whole.
#[derive(Default)]
struct Frames {
    is_open: bool,
    pending: Vec<u8>,
}

impl Frames {
    /// The head or the frames that are whole now.
    fn take(&mut self, piece: &[u8]) -> Vec<Vec<u8>> {
        self.pending.extend_from_slice(piece);
        let mut whole = Vec::new();
        while let Some(length) = self.next().filter(|length| *length <= self.pending.len()) {
            whole.push(self.pending.drain(..length).collect());
            self.is_open = true;
        }
        whole
    }

    /// Length of the next one, once enough of it is there.
    fn next(&self) -> Option<usize> {
        let bytes = &self.pending;
        if !self.is_open {
            let end = bytes.windows(END_OF_HEAD.len()).position(|window| window == END_OF_HEAD)?;
            return Some(end + END_OF_HEAD.len());
        }
        let number = |bytes: &[u8]| bytes.iter().fold(0, |number, byte| number << 8 | usize::from(*byte));
        Some(match bytes.get(1)? & 0x7f {
            126 => 4 + number(bytes.get(2..4)?),
            127 => 10 + number(bytes.get(2..10)?),
            length => 2 + usize::from(length),
        })
    }
}
