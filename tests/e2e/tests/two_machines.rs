//! Processes that share a database, a chain and a bucket, and no folder.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "tests")]

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use crtx_content::{
    BucketSettings, ContentLocation, ContentStore,
    testing::{Outage, S3Server},
};
use crtx_e2e::{
    Info,
    market::Market,
    server::{Server, until_listed, without_services},
};
use serde_json::json;

const LIMIT: Duration = Duration::from_secs(60);

/// The configuration of `crtx up` with the bucket in place of the folder.
fn with_bucket(info: &Info, bucket: &S3Server, folder: &Path) -> PathBuf {
    let text = fs::read_to_string(&info.server_config).unwrap();
    let dir = text.lines().find(|line| line.starts_with("dir = ")).expect("a folder of content");
    let BucketSettings { name, prefix, endpoint, credentials, .. } = bucket.settings();
    let ((id, secret), endpoint) = (credentials.unwrap(), endpoint.unwrap());
    let settings = format!(
        "s3_bucket = \"{name}\"\ns3_prefix = \"{prefix}\"\ns3_endpoint = \"{endpoint}\"\n\
         s3_access_key_id = \"{id}\"\ns3_secret_access_key = \"{secret}\""
    );
    let path = folder.join("bucket.toml");
    fs::write(&path, text.replace(dir, &settings)).unwrap();
    path
}

/// The content under an address of the API, once it is there.
async fn content(market: &Market, path: &str) -> String {
    let started = Instant::now();
    loop {
        let response = reqwest::get(format!("{}{path}", market.info.base_url)).await.unwrap();
        if response.status() == 200 {
            return response.text().await.unwrap();
        }
        assert!(started.elapsed() < LIMIT, "{path}: {}", response.status());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn machines_without_a_shared_folder_serve_each_others_content_also_after_the_bucket_failed() {
    let bucket = S3Server::start().await;
    let (folder, mut up) = without_services().await.unwrap();
    let info = up.info().clone();
    let store = ContentStore::create(&ContentLocation::Bucket(bucket.bucket())).unwrap();
    for file in
        fs::read_dir(&info.content_dir).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file())
    {
        store.put(fs::read(file).unwrap()).await.unwrap();
    }
    fs::remove_dir_all(&info.content_dir).unwrap();
    let config = with_bucket(&info, &bucket, folder.path());
    let mut one = Server::start_with(&config, folder.path(), "one", "api,indexer").unwrap();
    let mut two = Server::start_with(&config, folder.path(), "two", "api,worker").unwrap();
    for server in [&mut one, &mut two] {
        server.until_readyz_is(200).await.unwrap();
    }
    let (here, there) = (one.market(&info), two.market(&info));
    let agent = here.agent("text-stats");
    until_listed(&there, &agent).await;

    let path_of = |url: &str| format!("/ipfs/{}", url.rsplit('/').next().unwrap());
    let paid = here.execute(&agent, &json!({"task": "One. Two."})).await;
    assert_eq!(paid.status, 200, "{paid:?}");
    assert_eq!(content(&there, &path_of(paid.text("ipfs_url"))).await, paid.text("result"));
    let verified = there.crtx(&["verify", paid.text("execution_id")]);
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));

    // The result waits in the database until the bucket takes it.
    bucket.fail(Outage::Busy(u64::MAX));
    let kept = here.execute(&agent, &json!({"task": "Three. Four."})).await;
    assert_eq!(kept.status, 200, "{kept:?}");
    let record = there.get_as_owner(&format!("/v1/executions/{}", kept.text("execution_id"))).await;
    assert_eq!(record.text("result"), kept.text("result"), "{record:?}");
    bucket.fail(Outage::None);
    one.kill().await.unwrap();
    assert_eq!(content(&there, &path_of(kept.text("ipfs_url"))).await, kept.text("result"));

    assert!(two.stop().await.unwrap().success());
    assert!(!info.content_dir.exists(), "nobody wrote to the folder");
    up.stop().await.unwrap();
}
