//! Clients below HTTP: silent connections, clients that send or read too slowly, and requests at and over every
//! limit.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::Attack;

/// Pause of a slow client between two bytes.
const DRIP: Duration = Duration::from_millis(200);
/// Pause before a client whose connection was closed opens the next one.
const AGAIN: Duration = Duration::from_secs(1);
const PIPELINED: usize = 64;
const MANY_LEVELS: usize = 100_000;
const MIB: usize = 1024 * 1024;

/// Connects and holds the connection until the service closes it.
pub fn silent(address: &str, clients: usize) -> Attack {
    let address = address.to_owned();
    Attack::of(clients, move |_| {
        let address = address.clone();
        async move {
            if let Ok(mut socket) = TcpStream::connect(&address).await {
                let _ = socket.read(&mut [0; 1]).await;
            }
            tokio::time::sleep(AGAIN).await;
        }
    })
}

/// Sends the head of a request slowly and never completes it.
pub fn slow_heads(address: &str, clients: usize) -> Attack {
    drip(address, clients, "GET /healthz HTTP/1.1\r\nhost: x\r\nx-slow: ".to_owned())
}

/// Announces a body of allowed length and sends it byte by byte.
pub fn slow_bodies(address: &str, clients: usize, agent: &str, api_key: &str) -> Attack {
    drip(address, clients, head(agent, api_key, &format!("content-length: {}", MIB / 2)) + "{")
}

/// How much of its body a client that holds memory sends at once, before it goes on byte by byte.
#[derive(Clone, Copy, Debug)]
pub enum Held {
    /// Nearly all of a body of this announced length.
    Nearly(usize),
    /// So many bytes of a body whose length is not announced.
    Unannounced(usize),
    /// Nothing of a body of this announced length.
    Nothing(usize),
}

/// Sends most of a body at once and the rest byte by byte, without any credential. `target`: method and path. The clients
/// come from as many addresses.
pub fn held_bodies(address: &str, clients: usize, addresses: usize, target: &str, held: Held) -> Attack {
    let (framing, now) = match held {
        Held::Nearly(length) => (format!("content-length: {length}"), length - 1),
        Held::Unannounced(length) => ("transfer-encoding: chunked".to_owned(), length),
        Held::Nothing(length) => (format!("content-length: {length}"), 0),
    };
    let chunk = if matches!(held, Held::Unannounced(_)) { "100000\r\n" } else { "" };
    let start = format!("{target} HTTP/1.1\r\nhost: x\r\n{framing}\r\n\r\n{chunk}").into_bytes();
    let start: std::sync::Arc<[u8]> = [start, vec![b'x'; now]].concat().into();
    let address = address.to_owned();
    Attack::of(clients, move |client| {
        let (address, start) = (address.clone(), std::sync::Arc::clone(&start));
        async move {
            let Ok(mut socket) = connect_from(client % addresses, &address).await else {
                return tokio::time::sleep(AGAIN).await;
            };
            let mut sent = socket.write_all(&start).await;
            while sent.is_ok() {
                tokio::time::sleep(DRIP).await;
                if !matches!(held, Held::Nothing(_)) {
                    sent = socket.write_all(b"x").await;
                } else if socket.read(&mut [0; 64]).await.is_ok() {
                    return;
                }
            }
            // Together they send no more than a fast line carries. Without this they and the proxy take both processors.
            tokio::time::sleep(AGAIN).await;
        }
    })
}

/// All of 127.0.0.0/8 is on this machine.
async fn connect_from(client: usize, address: &str) -> std::io::Result<TcpStream> {
    let own = [127, 0, 1, u8::try_from(client % 200).unwrap_or(0) + 1];
    let socket = tokio::net::TcpSocket::new_v4()?;
    socket.bind(std::net::SocketAddr::from((own, 0)))?;
    let address = address.parse().map_err(std::io::Error::other)?;
    socket.connect(address).await
}

fn drip(address: &str, clients: usize, start: String) -> Attack {
    let address = address.to_owned();
    Attack::of(clients, move |_| {
        let (address, start) = (address.clone(), start.clone());
        async move {
            let Ok(mut socket) = TcpStream::connect(&address).await else {
                return tokio::time::sleep(AGAIN).await;
            };
            let mut sent = socket.write_all(start.as_bytes()).await;
            while sent.is_ok() {
                tokio::time::sleep(DRIP).await;
                sent = socket.write_all(b" ").await;
            }
        }
    })
}

/// Requests long answers repeatedly on one connection and reads none of them.
pub fn slow_readers(address: &str, clients: usize, path: &str) -> Attack {
    // Sends many requests at once: they are expensive to answer and cheap to send.
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").repeat(PIPELINED);
    let address = address.to_owned();
    Attack::of(clients, move |_| {
        let (address, request) = (address.clone(), request.clone());
        async move {
            if let Ok(mut socket) = TcpStream::connect(&address).await {
                while socket.write_all(request.as_bytes()).await.is_ok() {}
            }
            tokio::time::sleep(AGAIN).await;
        }
    })
}

/// Sends requests at and over the limits of heads and bodies, and JSON of 100 000 levels.
pub fn over_limits(address: &str, clients: usize, agent: &str, api_key: &str) -> Attack {
    let length = |length: usize| head(agent, api_key, &format!("content-length: {length}"));
    let whole = |body: &[u8]| [length(body.len()).as_bytes(), body].concat();
    let levels = "[".repeat(MANY_LEVELS);
    let text = |length: usize| format!(r#"{{"task":"{}"}}"#, "a".repeat(length - 11)).into_bytes();
    let requests: Vec<Vec<u8>> = vec![
        // The longest body that is accepted, and one byte more.
        whole(&text(MIB)),
        whole(&text(MIB + 1)),
        // A body with an absurd announced length, and one without end.
        length(10 * 1024 * MIB).into_bytes(),
        [head(agent, api_key, "transfer-encoding: chunked").into_bytes(), b"10000\r\n".to_vec(), vec![b'a'; 65_536]]
            .concat(),
        whole(format!(r#"{{"task":"x","parameters":{levels}"#).as_bytes()),
        whole(format!(r#"{{"task":"x","parameters":{levels}{}}}"#, "]".repeat(MANY_LEVELS)).as_bytes()),
        whole(r#"{"a":"#.repeat(MANY_LEVELS).as_bytes()),
        // Heads: one long header, many headers, a long target.
        format!("GET /healthz HTTP/1.1\r\nhost: x\r\nx-long: {}\r\n\r\n", "a".repeat(MIB)).into_bytes(),
        format!("GET /healthz HTTP/1.1\r\nhost: x\r\n{}\r\n", "x-many: a\r\n".repeat(10_000)).into_bytes(),
        format!("GET /v1/agents?tags={} HTTP/1.1\r\nhost: x\r\n\r\n", "a".repeat(MIB)).into_bytes(),
    ];
    let (address, requests): (String, std::sync::Arc<[_]>) = (address.to_owned(), requests.into());
    Attack::of(clients, move |client| {
        let (address, requests) = (address.clone(), std::sync::Arc::clone(&requests));
        async move {
            let Ok(mut socket) = TcpStream::connect(&address).await else {
                return tokio::time::sleep(AGAIN).await;
            };
            let exchange = async {
                socket.write_all(&requests[client % requests.len()]).await?;
                socket.read(&mut [0; 4096]).await
            };
            let _ = tokio::time::timeout(Duration::from_secs(5), exchange).await;
        }
    })
}

fn head(agent: &str, api_key: &str, more: &str) -> String {
    format!(
        "POST /v1/agents/{agent}/execute HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {api_key}\r\n\
         content-type: application/json\r\n{more}\r\n\r\n"
    )
}
