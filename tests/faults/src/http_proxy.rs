//! A proxy in front of a service, as an operator puts one there: it sends each request on as it comes, slow ones too, and
//! adds the address of its client to `X-Forwarded-For`. Each connection carries one request.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use anyhow::{Context, Result};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional},
    net::{TcpListener, TcpSocket, TcpStream},
    task::{JoinHandle, JoinSet},
};

/// Longer heads are not passed on.
const MAX_HEAD: usize = 256 * 1024;
/// What ends a head.
const END: &[u8] = b"\r\n\r\n";

/// The proxy. It ends with its connections when this is dropped.
pub struct HttpProxy {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl HttpProxy {
    /// Where its requests come from, and so the proxy that the service behind it has to trust. No client of a test has
    /// this address.
    pub const ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 99);

    /// Starts in front of the service at `upstream`.
    pub async fn start(upstream: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, from)) = listener.accept().await {
                connections.spawn(async move { pass_on(client, from.ip(), upstream).await });
                while connections.try_join_next().is_some() {}
            }
        });
        Ok(Self { address, task })
    }

    /// Host and port.
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for HttpProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn pass_on(mut client: TcpStream, from: IpAddr, upstream: SocketAddr) -> Result<()> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(END.len()).position(|window| window == END) {
            break end;
        }
        let is_open = client.read_buf(&mut bytes).await? > 0;
        anyhow::ensure!(is_open && bytes.len() <= MAX_HEAD, "the head is not whole");
    };
    let (head, rest) = (&bytes[..end], &bytes[end + END.len()..]);
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::from((HttpProxy::ADDRESS, 0)))?;
    let mut service = socket.connect(upstream).await?;
    service.write_all(&one_request(head, from).context("the head is not text")?).await?;
    service.write_all(rest).await?;
    copy_bidirectional(&mut client, &mut service).await?;
    Ok(())
}

/// The head with the client's address, for a connection that ends with the answer.
fn one_request(head: &[u8], from: IpAddr) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(head).ok()?;
    let is_kept = |line: &&str| !line.to_ascii_lowercase().starts_with("connection:");
    let lines: Vec<_> = text.split("\r\n").filter(is_kept).collect();
    Some(format!("{}\r\nX-Forwarded-For: {from}\r\nConnection: close\r\n\r\n", lines.join("\r\n")).into_bytes())
}
