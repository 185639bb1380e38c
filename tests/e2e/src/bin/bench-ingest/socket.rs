//! The node's WebSocket: subscriptions to the program's accounts and to slots.

use std::sync::Arc;

use futures::{SinkExt, StreamExt, stream::SplitSink};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::{WebSocketStream, tungstenite::Message};

use super::{
    clock::Slots,
    filters::Filters,
    node_state::Node,
    rpc,
    subscribers::{Mailbox, News, Topic},
};

type Sink = SplitSink<WebSocketStream<TcpStream>, Message>;

pub async fn serve(listener: TcpListener, node: Arc<Node>) {
    while let Ok((stream, _)) = listener.accept().await {
        let node = Arc::clone(&node);
        tokio::spawn(async move {
            let _ = stream.set_nodelay(true);
            let Ok(socket) = tokio_tungstenite::accept_async(stream).await else { return };
            let mut mailbox = node.subscribers.connect();
            // An error is the end of the connection, like its close.
            let _ = talk(socket, &node, &mut mailbox).await;
            node.subscribers.remove(&mailbox);
        });
    }
}

/// Tells every slot.
pub async fn tell_slots(node: Arc<Node>) {
    let mut tick = tokio::time::interval(Slots::length());
    loop {
        tick.tick().await;
        let (slot, root) = (node.slots.confirmed(), node.slots.finalized());
        node.subscribers.tell(News::Slot { slot, root }).await;
    }
}

async fn talk(
    socket: WebSocketStream<TcpStream>,
    node: &Node,
    mailbox: &mut Mailbox,
) -> Result<(), tokio_tungstenite::tungstenite::Error> {
    let (mut sink, mut requests) = socket.split();
    loop {
        tokio::select! {
            request = requests.next() => match request {
                Some(Ok(Message::Text(text))) => {
                    let answer = subscribe(&text, node, mailbox);
                    sink.send(Message::text(answer.to_string())).await?;
                }
                // The library answers pings with the next flush.
                Some(Ok(_)) => sink.flush().await?,
                _ => return Ok(()),
            },
            Some((id, news)) = mailbox.news.recv() => {
                tell(&mut sink, id, &news).await?;
                while let Ok((id, news)) = mailbox.news.try_recv() {
                    tell(&mut sink, id, &news).await?;
                }
                sink.flush().await?;
            }
        }
    }
}

fn subscribe(text: &str, node: &Node, mailbox: &Mailbox) -> Value {
    let request: Value = serde_json::from_str(text).unwrap_or_default();
    let (method, params) = (request["method"].as_str().unwrap_or_default(), &request["params"]);
    node.note(method);
    let topic = match method {
        "programSubscribe" => Topic::Program(Filters::read(&params[1])),
        "slotSubscribe" => Topic::Slots,
        "programUnsubscribe" | "slotUnsubscribe" => {
            return json!({"jsonrpc": "2.0", "id": request["id"], "result": true});
        }
        _ => return rpc::not_found(&request["id"]),
    };
    json!({"jsonrpc": "2.0", "id": request["id"], "result": node.subscribers.add(mailbox, topic)})
}

async fn tell(sink: &mut Sink, id: u64, news: &News) -> Result<(), tokio_tungstenite::tungstenite::Error> {
    let text = match news {
        News::Change { slot, address, data } => {
            let account = rpc::account_text(data);
            format!(
                r#"{{"jsonrpc":"2.0","method":"programNotification","params":{{"result":{{"context":{{"slot":{slot}}},"value":{{"pubkey":"{address}","account":{account}}}}},"subscription":{id}}}}}"#
            )
        }
        News::Slot { slot, root } => {
            let parent = slot - 1;
            format!(
                r#"{{"jsonrpc":"2.0","method":"slotNotification","params":{{"result":{{"parent":{parent},"root":{root},"slot":{slot}}},"subscription":{id}}}}}"#
            )
        }
    };
    sink.feed(Message::text(text)).await
}
