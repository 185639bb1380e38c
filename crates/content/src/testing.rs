//! A bucket on this machine, by an S3 server that others wrote, and its failures.
#![expect(clippy::expect_used, reason = "a test server that does not start ends the test")]

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{Method, StatusCode},
    response::{IntoResponse, Response},
};
use parking_lot::Mutex;
use s3s::{
    auth::SimpleAuth,
    service::{S3Service, S3ServiceBuilder},
};
use s3s_fs::FileSystem;
use tokio::{net::TcpListener, task::JoinHandle};
use tower::Service;

use crate::bucket::{Bucket, BucketSettings};

const BUCKET: &str = "content";
const ACCESS_KEY_ID: &str = "crtx-tests";
const SECRET_ACCESS_KEY: &str = "secret-of-the-tests";

/// What the server does in place of its work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outage {
    #[default]
    None,
    /// The next so many requests are answered with 503.
    Busy(u64),
    /// Answers come after this time.
    Slow(Duration),
    /// Other bytes of the same length come in place of an object.
    Wrong,
    /// An object ends in the middle.
    Short,
}

/// An S3 server with an empty bucket. It checks signatures and checksums. It ends when this is dropped.
#[derive(Debug)]
pub struct S3Server {
    address: SocketAddr,
    failure: Arc<Mutex<Outage>>,
    _folder: tempfile::TempDir,
    task: JoinHandle<()>,
}

impl S3Server {
    /// # Panics
    ///
    /// Panics if the server does not start.
    pub async fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join(BUCKET)).expect("a bucket");
        let mut service = S3ServiceBuilder::new(FileSystem::new(folder.path()).expect("a file system"));
        service.set_auth(SimpleAuth::from_single(ACCESS_KEY_ID, SECRET_ACCESS_KEY));
        let failure = Arc::default();
        let router = Router::new().fallback(answer).with_state((service.build(), Arc::clone(&failure)));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let task = tokio::spawn(async move { axum::serve(listener, router).await.expect("it serves") });
        Self { address, failure, _folder: folder, task }
    }

    pub fn fail(&self, failure: Outage) {
        *self.failure.lock() = failure;
    }

    /// Its bucket.
    pub fn settings(&self) -> BucketSettings {
        BucketSettings {
            name: BUCKET.to_owned(),
            prefix: "results/".to_owned(),
            endpoint: Some(format!("http://{}", self.address)),
            region: None,
            credentials: Some((ACCESS_KEY_ID.to_owned(), SECRET_ACCESS_KEY.to_owned())),
        }
    }

    pub fn bucket(&self) -> Bucket {
        Bucket::new(&self.settings()).expect("valid settings")
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(State((mut service, failure)): State<(S3Service, Arc<Mutex<Outage>>)>, request: Request) -> Response {
    let failure = {
        let mut now = failure.lock();
        let this = *now;
        if let Outage::Busy(times) = &mut *now {
            *times = times.saturating_sub(1);
        }
        this
    };
    match failure {
        Outage::Busy(1..) => return StatusCode::SERVICE_UNAVAILABLE.into_response(),
        Outage::Slow(time) => tokio::time::sleep(time).await,
        _ => {}
    }
    let is_read = request.method() == Method::GET;
    let Ok(answer) = Service::call(&mut service, request).await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let (parts, body) = answer.map(Body::new).into_parts();
    if !is_read || parts.status != StatusCode::OK {
        return Response::from_parts(parts, body);
    }
    let object = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let body = match failure {
        Outage::Wrong => Body::from(vec![b'x'; object.len()]),
        // A body of unknown length does not replace the length that the server said.
        Outage::Short => {
            let half = object.slice(..object.len() / 2);
            Body::from_stream(futures::stream::once(async move { Ok::<_, std::io::Error>(half) }))
        }
        _ => Body::from(object),
    };
    Response::from_parts(parts, body)
}
