//! Content in a bucket of a real S3 server, and while that server fails.
#![expect(clippy::expect_used, reason = "a test")]

use std::time::{Duration, Instant};

use crtx_content::{
    Bucket, BucketSettings, ContentError, ContentLocation, ContentStore,
    testing::{Outage, S3Server},
};
use crtx_protocol::result_hash::ResultHash;

fn store_in(bucket: Bucket) -> ContentStore {
    ContentStore::create(&ContentLocation::Bucket(bucket)).expect("a store")
}

async fn started() -> (S3Server, ContentStore) {
    let server = S3Server::start().await;
    let store = store_in(server.bucket());
    (server, store)
}

#[tokio::test]
async fn content_of_one_process_is_found_by_another_one_under_its_hash() {
    let (server, store) = started().await;
    let hash = store.put("hello").await.expect("put");
    let other = store_in(server.bucket());
    assert_eq!(other.get(&hash).await.expect("get").expect("there"), "hello");
    assert_eq!(other.get(&ResultHash::of(b"other")).await.expect("get"), None);
    assert_eq!(store.put("hello").await.expect("again"), hash);
    let elsewhere = BucketSettings { prefix: "other/".to_owned(), ..server.settings() };
    assert_eq!(store_in(Bucket::new(&elsewhere).expect("settings")).get(&hash).await.expect("get"), None);
}

#[tokio::test]
async fn content_of_every_size_comes_back_and_no_more_than_is_wanted_is_read() {
    let (server, store) = started().await;
    for size in [0, 1, 1 << 20] {
        let content = vec![b'a'; size];
        let hash = store.put(content.clone()).await.expect("put");
        assert_eq!(store.get(&hash).await.expect("get").expect("there"), content);
    }
    let opened = ContentStore::open(&ContentLocation::Bucket(server.bucket()));
    let hash = store.put("hello").await.expect("put");
    assert_eq!(opened.get_up_to(&hash, 5).await.expect("read").expect("there"), "hello");
    let error = opened.get_up_to(&hash, 4).await.expect_err("too long");
    assert!(matches!(error, ContentError::TooLarge { max_bytes: 4 }), "{error}");
}

#[tokio::test]
async fn held_content_is_kept_or_released_and_a_release_never_takes_away_what_is_kept() {
    let (_server, store) = started().await;
    let hash = store.hold("hello").await.expect("held");
    assert_eq!(store.get(&hash).await.expect("get").expect("there"), "hello");
    assert!(!store.is_kept(&hash).await.expect("read"));
    assert!(store.keep(&hash).await.expect("kept"));
    store.release(&hash).await.expect("released");
    assert!(store.is_kept(&hash).await.expect("read"));
    let other = store.hold("other").await.expect("held");
    store.release(&other).await.expect("released");
    assert_eq!(store.get(&other).await.expect("get"), None);
    store.release(&other).await.expect("nothing to release");
    assert!(!store.keep(&other).await.expect("nothing to keep"));
}

#[tokio::test]
async fn wrong_and_short_objects_are_never_served() {
    let (server, store) = started().await;
    let hash = store.put("hello").await.expect("put");
    server.fail(Outage::Wrong);
    assert_eq!(store.get(&hash).await.expect("read"), None);
    assert!(store.is_damaged(&hash).await.expect("read"));
    server.fail(Outage::Short);
    assert!(!matches!(store.get(&hash).await, Ok(Some(_))));
    server.fail(Outage::None);
    assert_eq!(store.get(&hash).await.expect("get").expect("there"), "hello");
}

#[tokio::test]
async fn a_service_that_is_busy_for_a_moment_is_asked_again() {
    let (server, store) = started().await;
    server.fail(Outage::Busy(2));
    let hash = store.put("hello").await.expect("put");
    server.fail(Outage::Busy(2));
    assert_eq!(store.get(&hash).await.expect("get").expect("there"), "hello");
}

#[tokio::test]
async fn an_unavailable_service_is_an_error_and_not_missing_content() {
    let (server, store) = started().await;
    let hash = store.put("hello").await.expect("put");
    server.fail(Outage::Busy(u64::MAX));
    assert!(matches!(store.get(&hash).await, Err(ContentError::Store(_))));
    assert!(matches!(store.put("more").await, Err(ContentError::Store(_))));
    assert!(matches!(store.release(&hash).await, Err(ContentError::Store(_))));
    let settings = BucketSettings { endpoint: Some("http://127.0.0.1:1".to_owned()), ..server.settings() };
    let nowhere = store_in(Bucket::new(&settings).expect("settings"));
    assert!(matches!(nowhere.get(&hash).await, Err(ContentError::Store(_))));
    assert!(!nowhere.try_put("hello").await);
}

#[tokio::test]
async fn a_service_that_does_not_answer_holds_no_call_and_gets_content_again_later() {
    let (server, store) = started().await;
    server.fail(Outage::Slow(Duration::from_secs(3_600)));
    let began = Instant::now();
    assert!(!store.try_put("hello").await);
    assert!(!store.try_put("hello").await, "it is left alone for a while");
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    server.fail(Outage::None);
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(store.try_put("hello").await);
}

#[tokio::test]
async fn a_wrong_key_is_an_error_and_settings_never_show_a_secret() {
    let (server, _) = started().await;
    let credentials = Some(("crtx-tests".to_owned(), "wrong".to_owned()));
    let store = store_in(Bucket::new(&BucketSettings { credentials, ..server.settings() }).expect("settings"));
    assert!(matches!(store.put("hello").await, Err(ContentError::Store(_))));
    assert!(matches!(store.get(&ResultHash::of(b"hello")).await, Err(ContentError::Store(_))));
    assert!(!store.try_put("hello").await);
    let shown = format!("{:?}", server.settings());
    assert!(!shown.contains("secret-of-the-tests"), "{shown}");
}
