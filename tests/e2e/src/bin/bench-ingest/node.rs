//! The scripted node, a process of its own: JSON-RPC, WebSocket, and orders of the benchmark.

use std::sync::Arc;

use anyhow::Result;
use axum::{Router, routing};
use serde_json::json;
use tokio::{io::AsyncReadExt, net::TcpListener};

use super::{node_state::Node, orders, rpc, socket};

/// Serves until standard input closes. The first line on standard output says where.
pub async fn run(accounts: u32) -> Result<()> {
    let node = Arc::new(Node::new(accounts));
    let http = TcpListener::bind("127.0.0.1:0").await?;
    let sockets = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", json!({"http": http.local_addr()?.to_string(), "ws": sockets.local_addr()?.to_string()}));
    let router = Router::new()
        .route("/", routing::post(rpc::answer))
        .route("/orders/state", routing::get(orders::state))
        .route("/orders/change/{number}", routing::post(orders::change))
        .route("/orders/emit", routing::post(orders::emit))
        .with_state(Arc::clone(&node));
    tokio::spawn(socket::serve(sockets, Arc::clone(&node)));
    tokio::spawn(socket::tell_slots(node));
    let (mut leash, mut nothing) = (tokio::io::stdin(), [0; 1]);
    tokio::select! {
        served = axum::serve(http, router).into_future() => Ok(served?),
        _ = leash.read(&mut nothing) => Ok(()),
    }
}
