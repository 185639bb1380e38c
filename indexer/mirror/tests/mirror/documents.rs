//! Metadata documents against a scripted HTTP server and a real PostgreSQL: who is slow or broken delays nobody else.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use agent_marketplace::state::AgentListed;
use axum::{
    Router,
    body::Body,
    extract::State,
    http::{StatusCode, Uri},
    response::{IntoResponse, Response},
};
use crtx_content::ContentSources;
use crtx_http::outbound::OutboundPolicy;
use crtx_mirror::documents::Fetcher;
use crtx_protocol::{content::cid_of, result_hash::ResultHash};
use crtx_store::{
    reads::{self, ListingState},
    testing::{TestDatabase, fixtures::*},
};
use solana_pubkey::Pubkey;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// What a path answers.
#[derive(Clone)]
enum NodeScript {
    Bytes(Vec<u8>),
    /// A byte now and then, without end.
    Drip,
    Silence,
}

/// Listens on every address of this machine: `127.0.0.1`, `127.0.0.2` and so on are different hosts.
#[derive(Clone, Default)]
struct Web {
    port: u16,
    scripts: Arc<Mutex<HashMap<String, NodeScript>>>,
    asked: Arc<Mutex<HashMap<String, u32>>>,
}

impl Web {
    async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("0.0.0.0:0").await.expect("a free port");
        let web = Self { port: listener.local_addr().expect("bound").port(), ..Self::default() };
        let router = Router::new().fallback(answer).with_state(web.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        web
    }

    /// A URI on the host with that number.
    fn uri(&self, host: u8, path: &str, script: NodeScript) -> String {
        self.scripts.lock().expect("lock").insert(format!("/{path}"), script);
        format!("http://127.0.0.{host}:{}/{path}", self.port)
    }

    fn asked(&self, path: &str) -> u32 {
        self.asked.lock().expect("lock").get(&format!("/{path}")).copied().unwrap_or(0)
    }

    fn asked_in_all(&self) -> u32 {
        self.asked.lock().expect("lock").values().sum()
    }
}

async fn answer(State(web): State<Web>, uri: Uri) -> Response {
    *web.asked.lock().expect("lock").entry(uri.path().to_owned()).or_default() += 1;
    let script = web.scripts.lock().expect("lock").get(uri.path()).cloned();
    match script {
        Some(NodeScript::Bytes(bytes)) => bytes.into_response(),
        Some(NodeScript::Drip) => {
            let drops = futures::stream::unfold((), |()| async {
                tokio::time::sleep(Duration::from_millis(100)).await;
                Some((Ok::<_, std::io::Error>("x"), ()))
            });
            Body::from_stream(drops).into_response()
        }
        Some(NodeScript::Silence) => std::future::pending().await,
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

fn creator(number: u16) -> Pubkey {
    let mut bytes = [7; 32];
    bytes[..2].copy_from_slice(&number.to_be_bytes());
    Pubkey::new_from_array(bytes)
}

/// Puts a listing that names `document` at `uri`. Returns its address.
async fn put_listing(database: &TestDatabase, creator: Pubkey, index: u32, uri: &str, document: &[u8]) -> Pubkey {
    let mut listing = listing(creator, index);
    listing.metadata_hash = ResultHash::of(document).0;
    set_uri(&mut listing, uri);
    put_changed(database, 1, listing).await
}

async fn put_changed(database: &TestDatabase, revision: u64, mut listing: AgentListed) -> Pubkey {
    listing.revision = revision;
    let address = addresses().agent(&listing.creator, listing.index);
    put(database.pool(), &address, revision, &listing).await;
    address
}

async fn state(database: &TestDatabase, agent: &Pubkey) -> ListingState {
    reads::listing(database.pool(), agent).await.expect("read").expect("a listing")
}

fn fetcher(database: &TestDatabase, base_url: Option<String>) -> Arc<Fetcher> {
    let sources = ContentSources { store: None, base_url };
    Fetcher::new(database.pool().clone(), OutboundPolicy::LOCAL, sources).expect("a client")
}

/// Listings of `slow` are there first and their fetches have begun; then an honest one comes. Returns how many slow
/// documents were given up before the honest one was shown.
async fn given_up_before_an_honest_one(web: &Web, slow: Vec<(Pubkey, u32, String)>, honest_host: u8) -> usize {
    let database = TestDatabase::create().await;
    let mut agents = Vec::new();
    for (creator, index, uri) in slow {
        agents.push(put_listing(&database, creator, index, &uri, b"never").await);
    }
    let (changed, shutdown) = (Arc::new(Notify::new()), CancellationToken::new());
    let running = {
        let (fetcher, changed, shutdown) = (fetcher(&database, None), Arc::clone(&changed), shutdown.clone());
        tokio::spawn(async move { fetcher.follow(&changed, &shutdown).await })
    };
    let before = web.asked_in_all();
    while web.asked_in_all() < before + 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let honest = document("honest", &["data"]);
    let uri = web.uri(honest_host, "honest", NodeScript::Bytes(honest.clone()));
    let agent = put_listing(&database, creator(u16::MAX), 0, &uri, &honest).await;
    changed.notify_one();
    while !state(&database, &agent).await.usable {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    shutdown.cancel();
    running.await.expect("no panic");
    let mut given_up = 0;
    for agent in agents {
        given_up += usize::from(state(&database, &agent).await.error.is_some());
    }
    given_up
}

#[tokio::test]
async fn documents_that_are_written_do_not_wait_for_the_look_at_what_is_due() {
    let (web, database) = (Web::start().await, TestDatabase::create().await);
    let document = document("one of many", &["data"]);
    for number in 0..40 {
        let uri = web.uri(2 + u8::try_from(number % 20).unwrap(), "same", NodeScript::Bytes(document.clone()));
        put_listing(&database, creator(number), 0, &uri, &document).await;
    }
    // Who looks needs the connection that a half-written document holds.
    let pool = crtx_store::testing::connect(&database.url(), 1).await.expect("a connection");
    let sources = ContentSources { store: None, base_url: None };
    let fetcher = Fetcher::new(pool, OutboundPolicy::LOCAL, sources).expect("a client");
    assert_eq!(fetcher.round().await.expect("no look waits in vain"), 40);
}

#[tokio::test]
async fn two_hundred_dripping_documents_do_not_delay_an_honest_listing() {
    let web = Web::start().await;
    let of_one_host: Vec<_> =
        (0..200).map(|n| (creator(n), 0, web.uri(2, &format!("a{n}"), NodeScript::Drip))).collect();
    let of_one_creator: Vec<_> =
        (0..200).map(|n| (creator(0), u32::from(n), web.uri(3 + n, &format!("b{n}"), NodeScript::Drip))).collect();
    let of_one_creator_and_host: Vec<_> =
        (0..200).map(|n| (creator(0), n, web.uri(2, &format!("c{n}"), NodeScript::Silence))).collect();
    // The last one has the honest document on the same host.
    for (slow, honest_host) in [(of_one_host, 1), (of_one_creator, 1), (of_one_creator_and_host, 2)] {
        let given_up = given_up_before_an_honest_one(&web, slow, honest_host).await;
        assert!(given_up <= 4, "{given_up} fetches ended first");
    }
}

#[tokio::test]
async fn missing_content_by_hash_delays_only_its_creator() {
    let web = Web::start().await;
    let database = TestDatabase::create().await;
    let honest = document("by hash", &["data"]);
    let cid = |bytes: &[u8]| cid_of(&ResultHash::of(bytes));
    for n in 0..100u32 {
        let missing = cid(&n.to_be_bytes());
        web.uri(1, &format!("ipfs/{missing}"), NodeScript::Silence);
        put_listing(&database, creator(1), n, &format!("ipfs://{missing}"), &n.to_be_bytes()).await;
    }
    web.uri(1, &format!("ipfs/{}", cid(&honest)), NodeScript::Bytes(honest.clone()));
    let agent = put_listing(&database, creator(2), 0, &format!("ipfs://{}", cid(&honest)), &honest).await;
    let fetcher = fetcher(&database, Some(format!("http://127.0.0.1:{}/ipfs/", web.port)));
    let (changed, shutdown) = (Notify::new(), CancellationToken::new());
    tokio::select! {
        () = fetcher.follow(&changed, &shutdown) => {}
        () = async {
            while !state(&database, &agent).await.usable {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        } => {}
    }
    let others = web.asked_in_all() - web.asked(&format!("ipfs/{}", cid(&honest)));
    assert!(others <= 4, "{others} others were asked first");
}

#[tokio::test]
async fn dead_links_of_a_creator_are_tried_less_and_less_and_a_correction_at_once() {
    let web = Web::start().await;
    let database = TestDatabase::create().await;
    let good = document("good", &["data"]);
    let dead = format!("http://127.0.0.1:{}/dead", web.port);
    let mut agents = Vec::new();
    for index in 0..30 {
        agents.push(put_listing(&database, creator(1), index, &dead, &good).await);
    }
    let fetcher = fetcher(&database, None);
    assert_eq!(fetcher.round().await.expect("done"), 0);
    let failed = state(&database, &agents[0]).await;
    assert_eq!((failed.error_code.as_deref(), failed.attempts), (Some("document_unavailable"), 1));
    let message = failed.error.expect("failed");
    assert!(message.contains("404"), "{message}");
    assert!(failed.next_attempt_at > failed.last_attempt_at && failed.last_attempt_at.is_some());

    let uri = web.uri(1, "fixed", NodeScript::Bytes(good.clone()));
    let mut corrected = listing(creator(1), 0);
    corrected.metadata_hash = ResultHash::of(&good).0;
    set_uri(&mut corrected, &uri);
    put_changed(&database, 2, corrected).await;
    let between = state(&database, &agents[0]).await;
    assert_eq!((between.error, between.attempts), (None, 0), "what another URI did says nothing");
    fetcher.round().await.expect("done");
    assert!(state(&database, &agents[0]).await.usable);
}

#[tokio::test]
async fn each_failure_has_its_code_and_a_short_reason() {
    let web = Web::start().await;
    let hostile = br#"{"a\u001b[31m":1}"#.to_vec();
    let large = vec![b' '; 300 * 1024];
    let cases = [
        (web.uri(1, "other", NodeScript::Bytes(b"other".to_vec())), b"promised".to_vec(), "document_mismatch"),
        (web.uri(1, "form", NodeScript::Bytes(hostile.clone())), hostile, "document_invalid"),
        (web.uri(1, "large", NodeScript::Bytes(large.clone())), large, "document_invalid"),
        (web.uri(1, "drip", NodeScript::Drip), b"never".to_vec(), "document_unavailable"),
        ("http://127.0.0.1:1/".to_owned(), b"refused".to_vec(), "document_unavailable"),
        ("gopher://a.example/".to_owned(), b"scheme".to_vec(), "document_unavailable"),
        (format!("ipfs://{}", cid_of(&ResultHash::of(b"x"))), b"x".to_vec(), "document_unavailable"),
    ];
    let database = TestDatabase::create().await;
    let mut agents = Vec::new();
    for (index, (uri, document, code)) in cases.into_iter().enumerate() {
        let index = u16::try_from(index).expect("few");
        agents.push((put_listing(&database, creator(index), 0, &uri, &document).await, uri, code));
    }
    assert_eq!(fetcher(&database, None).round().await.expect("done"), 0);
    for (agent, uri, code) in agents {
        let failed = state(&database, &agent).await;
        let message = failed.error.expect("failed");
        assert_eq!(failed.error_code.as_deref(), Some(code), "{uri}: {message}");
        assert!(message.chars().count() <= 301 && !message.chars().any(char::is_control), "{uri}: {message:?}");
    }
}

#[tokio::test]
async fn two_processes_share_the_work_and_ask_for_nothing_twice() {
    let web = Web::start().await;
    let database = TestDatabase::create().await;
    for n in 0..60u16 {
        let bytes = document(&format!("n{n}"), &["data"]);
        let uri = web.uri(1, &n.to_string(), NodeScript::Bytes(bytes.clone()));
        put_listing(&database, creator(n), 0, &uri, &bytes).await;
    }
    let (one, two) = (fetcher(&database, None), fetcher(&database, None));
    let (first, second) = tokio::join!(one.round(), two.round());
    let mut stored = first.expect("done") + second.expect("done");
    // A round ends when its process has nothing left; the other may hold documents then.
    stored += one.round().await.expect("done");
    assert_eq!(stored, 60);
    assert!((0..60).all(|n| web.asked(&n.to_string()) == 1), "{:?}", web.asked.lock().expect("lock"));
}
