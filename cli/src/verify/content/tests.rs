use std::sync::{Arc, Mutex};

use crtx_protocol::{content::cid_of, result_hash::ResultHash};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use crate::{arguments::ServiceArgs, settings::Settings};

/// A server that answers everything with a redirect or with `result`, and notes what it is asked for.
async fn server(redirects: bool) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let asked = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&asked);
    tokio::spawn(async move {
        loop {
            let (mut client, _) = listener.accept().await.expect("a connection");
            let mut bytes = [0; 4_096];
            let count = client.read(&mut bytes).await.unwrap_or(0);
            let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
            notes.lock().expect("lock").push(text.lines().next().unwrap_or_default().to_owned());
            let head = if redirects { "307 Temporary Redirect\r\nlocation: /elsewhere" } else { "200 OK" };
            let answer = format!("HTTP/1.1 {head}\r\nconnection: close\r\ncontent-length: 6\r\n\r\nresult");
            let _ = client.write_all(answer.as_bytes()).await;
        }
    });
    (url, asked)
}

fn claims(ipfs_url: &str) -> Claims {
    let record = serde_json::json!({
        "execution_id": "806e1eba-133b-4100-9a5e-ddbe7c578906", "status": "completed", "ipfs_url": ipfs_url,
        "on_chain_record": "https://e.example/address/BJu51f7FUVrLYHU1rHsBKtCGWToEFoKUhz3brbxX8A86",
    });
    Claims::parse(record.to_string().as_bytes()).expect("a record")
}

fn api(url: &str) -> Api {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = Settings::bare(folder.path().to_owned());
    let url = Some(url.parse().expect("a URL"));
    Api::of(&settings, &ServiceArgs { url, allow_http: false }).expect("a client")
}

#[tokio::test]
async fn only_the_service_is_asked_for_content_and_no_address_that_a_record_chooses() {
    let (service, asked) = server(false).await;
    let (victim, attacked) = server(false).await;
    let api = api(&service);
    let path = format!("/ipfs/{}", cid_of(&ResultHash::of(b"result")));
    let port = victim.rsplit(':').next().expect("a port");
    for url in [
        format!("{victim}{path}"),
        format!("http://localhost:{port}{path}"),
        format!("https://127.0.0.1:{port}{path}"),
        format!("http://10.0.0.1{path}"),
        format!("http://169.254.169.254/latest{path}"),
        format!("{service}{path}"),
        format!("{service}/v1/sign-in{path}"),
    ] {
        asked.lock().expect("lock").clear();
        let found = find_content(&claims(&url), ContentSource::Url, Some(&api)).await.expect("content");
        assert_eq!((found.bytes.as_slice(), found.source), (&b"result"[..], format!("{service}{path}")), "{url}");
        assert_eq!(*asked.lock().expect("lock"), [format!("GET {path} HTTP/1.1")], "{url}");
        let without = find_content(&claims(&url), ContentSource::Url, None).await;
        assert!(without.expect_err("nobody to ask").to_string().contains("is not asked"), "{url}");
    }
    // An address that names no content is not asked at all.
    for url in [format!("{service}/v1/keys"), format!("{victim}/"), "ftp://a.example/x".to_owned()] {
        asked.lock().expect("lock").clear();
        assert!(find_content(&claims(&url), ContentSource::Url, Some(&api)).await.is_err(), "{url}");
        assert!(asked.lock().expect("lock").is_empty(), "{url}");
    }
    assert!(attacked.lock().expect("lock").is_empty(), "nothing else was asked");
}

#[tokio::test]
async fn no_redirect_is_followed_for_content() {
    let (service, asked) = server(true).await;
    let url = format!("{service}/ipfs/{}", cid_of(&ResultHash::of(b"result")));
    assert!(find_content(&claims(&url), ContentSource::Url, Some(&api(&service))).await.is_err());
    assert_eq!(asked.lock().expect("lock").len(), 1);
}
