//! The server under every HTTP service of this project: HTTP/1.1 over TCP, with a limit on everything that
//! a client can be slow at, send too much of, or have too many of.

mod bodies;
mod body;
mod connection;
mod connections;
mod gate;
mod head;
mod limits;
mod proxies;
mod refusal;

use std::{future::Future, io, net::SocketAddr, sync::Arc, time::Duration};

use axum::Router;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use bodies::BodyOwner;
pub use connection::Stopping;
pub use limits::ServeLimits;
pub(crate) use proxies::X_FORWARDED_FOR;
pub use proxies::{AddressRange, NotAnAddressRange, TrustedProxies};

use bodies::Bodies;
use connection::Server;
use connections::ConnectionRegistry;

use crate::allowance::Allowances;

/// What an accept that failed waits before the next: the process may be out of files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Between the 503 for requests that a stop does not wait for, and the end of their connections.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Serves until `shutdown` ends, then lets requests under way end within [`ServeLimits::drain`]. When this
/// returns, no connection is left. `proxies` name the clients of their requests.
pub async fn serve(
    proxies: TrustedProxies,
    listener: TcpListener,
    router: Router,
    limits: ServeLimits,
    shutdown: impl Future<Output = ()> + Send,
) -> io::Result<()> {
    let limits = limits.within_open_files();
    let server = Server {
        router,
        limits,
        proxies,
        connections: ConnectionRegistry::new(limits),
        bodies: Bodies::new(&limits),
        refusals: Arc::new(Allowances::new(limits.refusals)),
        drain: CancellationToken::new(),
        cut: CancellationToken::new(),
    };
    let tasks = TaskTracker::new();
    tokio::select! {
        () = accept_all(&listener, &server, &tasks) => {}
        () = shutdown => {}
    }
    drop(listener);
    stop(&server, &tasks).await;
    Ok(())
}

async fn accept_all(listener: &TcpListener, server: &Server, tasks: &TaskTracker) {
    loop {
        match listener.accept().await {
            Ok((socket, address)) => admit(server, tasks, socket, address),
            Err(error) if is_of_one_connection(&error) => {}
            Err(error) => {
                // Most likely EMFILE: the next accept would fail at once as well.
                let made_room = server.connections.make_room();
                tracing::warn!(%error, made_room, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

fn admit(server: &Server, tasks: &TaskTracker, socket: TcpStream, address: SocketAddr) {
    // Without a place the socket is closed here.
    if let Some(place) = server.connections.admit(address.ip(), server.proxies.contains(address.ip())) {
        tasks.spawn(connection::run(server.clone(), socket, address, place));
    }
}

fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

async fn stop(server: &Server, tasks: &TaskTracker) {
    tasks.close();
    server.drain.cancel();
    if ends_within(tasks, server.limits.drain).await {
        return;
    }
    tracing::warn!(connections = tasks.len(), "stopping with requests under way");
    server.cut.cancel();
    if ends_within(tasks, LAST_WORDS).await {
        return;
    }
    server.connections.kill.cancel();
    // A connection ends at its next await; one whose handler blocks its thread is not waited for.
    ends_within(tasks, LAST_WORDS).await;
}

async fn ends_within(tasks: &TaskTracker, limit: Duration) -> bool {
    tokio::time::timeout(limit, tasks.wait()).await.is_ok()
}
