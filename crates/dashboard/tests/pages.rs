//! What browsers and programs get from the paths that no endpoint has.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "tests"
)]

use std::io::Read;

use axum::{
    Router,
    body::{Body, Bytes},
    http::{HeaderMap, Request, StatusCode},
    routing::get,
};
use crtx_http::Site;
use flate2::read::GzDecoder;
use tower::ServiceExt;

const BROWSER: [(&str, &str); 2] =
    [("accept", "text/html,application/xhtml+xml,*/*;q=0.8"), ("sec-fetch-mode", "navigate")];

struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

impl Answer {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("text"))
    }

    fn is_page(&self) -> bool {
        self.status == 200 && self.header("content-type") == "text/html; charset=utf-8"
    }
}

async fn ask(method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
    let pages = crtx_dashboard::pages(Site::new("http://127.0.0.1:8080"), Some("http://127.0.0.1:8899"));
    let router = crtx_http::finish_with(Router::new().route("/v1/agents", get(|| async { "{}" })), pages);
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let answer = router.oneshot(request.body(Body::empty()).expect("request")).await.expect("infallible");
    let (parts, body) = answer.into_parts();
    let body = axum::body::to_bytes(body, 10_000_000).await.expect("body");
    Answer { status: parts.status, headers: parts.headers, body }
}

/// What the page loads with this attribute: `src` for its script, `href` for its font, which comes first.
async fn loaded(attribute: &str) -> String {
    let page = String::from_utf8(ask("GET", "/", &[]).await.body.to_vec()).expect("text");
    let path = page.split(&format!("{attribute}=\"/assets/")).nth(1).expect("an asset");
    format!("/assets/{}", path.split('"').next().expect("its name"))
}

async fn script() -> String {
    loaded("src").await
}

#[tokio::test]
async fn every_address_that_a_person_opens_is_the_page() {
    for path in ["/", "/agents/abc", "/agents/abc?x=1", "/docs", "/docs/", "/no/such/page", "/v2"] {
        assert!(ask("GET", path, &BROWSER).await.is_page(), "{path}");
    }
    assert!(ask("GET", "/", &[]).await.is_page(), "the root is for everybody");
    let head = ask("HEAD", "/agents/abc", &BROWSER).await;
    assert!(head.is_page() && head.body.is_empty());
}

#[tokio::test]
async fn endpoints_keep_their_answers_and_their_errors() {
    assert_eq!(ask("GET", "/v1/agents", &BROWSER).await.body, "{}");
    for path in [
        "/v1",
        "/v1/none",
        "/v1/agents/x",
        "//v1/none",
        "/ipfs/x",
        "/local/x",
        "/healthz/x",
        "/readyz/x",
        "/metrics",
        "/openapi.json",
        "/assets/none.js",
    ] {
        let answer = ask("GET", path, &BROWSER).await;
        assert_eq!((answer.status.as_u16(), answer.header("content-type")), (404, "application/json"), "{path}");
    }
}

#[tokio::test]
async fn programs_get_the_error_of_an_unknown_path() {
    let program = [("accept", "application/json")];
    let script = [("accept", "text/html"), ("sec-fetch-mode", "cors")];
    for (method, path, headers) in [
        ("GET", "/agents/abc", &[][..]),
        ("GET", "/agents/abc", &program),
        ("GET", "/agents/abc", &script),
        ("POST", "/", &BROWSER),
        ("PUT", "/agents/abc", &BROWSER),
        ("GET", "/sources.sha256", &[]),
        ("GET", "/manifest.json", &[]),
        ("GET", "/../Cargo.toml", &[]),
        ("GET", "/assets/../../index.html", &[]),
    ] {
        let answer = ask(method, path, headers).await;
        assert_eq!(answer.status, 404, "{method} {path}");
        assert!(answer.body.starts_with(b"{\"error\""), "{method} {path}");
    }
}

#[tokio::test]
async fn the_page_may_not_be_framed_or_run_anything_inline() {
    let script = script().await;
    for path in ["/", "/docs", "/docs/", script.as_str(), "/icon.svg", "/first.js"] {
        let answer = ask("GET", path, &BROWSER).await;
        let policy = answer.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{path}: {policy}");
        assert!(policy.contains("frame-ancestors 'none'") && policy.contains("base-uri 'none'"), "{policy}");
        assert!(policy.contains("connect-src 'self' http://127.0.0.1:8899 ws://127.0.0.1:8900;"), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert_eq!(answer.header("referrer-policy"), "no-referrer");
        assert!(answer.header("permissions-policy").contains("camera=()"));
    }
    let page = String::from_utf8(ask("GET", "/", &[]).await.body.to_vec()).expect("text");
    assert!(!page.contains("<style") && !page.contains("style=") && !page.contains("onload="), "{page}");
    assert!(page.split("<script").skip(1).all(|script| script.contains("src=\"/")), "{page}");
}

#[tokio::test]
async fn the_font_comes_from_the_service_with_its_licence() {
    let font = ask("GET", &loaded("href").await, &[]).await;
    assert_eq!(font.header("content-type"), "font/woff2");
    assert!(font.body.starts_with(b"wOF2") && font.body.len() <= 60 * 1024, "{}", font.body.len());
    let licence = ask("GET", "/inter-license.txt", &[]).await;
    assert_eq!(licence.header("content-type"), "text/plain; charset=utf-8");
    assert!(String::from_utf8_lossy(&licence.body).contains("SIL Open Font License"));
}

#[tokio::test]
async fn files_with_a_hash_are_kept_for_good_and_the_page_is_asked_for_again() {
    let script = ask("GET", &script().await, &[]).await;
    assert_eq!(script.header("cache-control"), "public, max-age=31536000, immutable");
    assert_eq!(script.header("content-type"), "text/javascript; charset=utf-8");
    let page = ask("GET", "/", &[]).await;
    assert_eq!(page.header("cache-control"), "no-cache");
    let tag = page.header("etag");
    let again = ask("GET", "/agents/abc", &[BROWSER[0], ("if-none-match", tag)]).await;
    assert_eq!((again.status.as_u16(), again.body.len()), (304, 0));
    assert!(again.header("content-security-policy").contains("'none'"));
    assert!(ask("GET", "/", &[("if-none-match", "\"other\"")]).await.is_page());
}

/// The build in `app/dist`: the one that is embedded, or the one before it.
#[tokio::test]
async fn assets_of_the_version_before_are_served_under_their_names() {
    let dist = concat!(env!("CARGO_MANIFEST_DIR"), "/../../app/dist");
    let is_embedded = ask("GET", "/", &[]).await.body == std::fs::read(format!("{dist}/index.html")).unwrap();
    let folders: &[&str] = if is_embedded { &["assets", "previous"] } else { &["assets"] };
    let mut compared = 0;
    for folder in folders {
        for entry in std::fs::read_dir(format!("{dist}/{folder}")).unwrap() {
            let entry = entry.unwrap();
            // The Brotli form of another file.
            if entry.path().extension().is_some_and(|ending| ending == "br") {
                continue;
            }
            let path = format!("/assets/{}", entry.file_name().to_string_lossy());
            let answer = ask("GET", &path, &[]).await;
            assert_eq!(
                (answer.status.as_u16(), &answer.body[..]),
                (200, &*std::fs::read(entry.path()).unwrap()),
                "{path}"
            );
            assert_eq!(answer.header("cache-control"), "public, max-age=31536000, immutable", "{path}");
            compared += 1;
        }
    }
    assert!(compared > 50, "{compared}");
}

#[tokio::test]
async fn an_asset_that_is_missing_is_an_error_that_nobody_keeps() {
    for path in ["/assets/Page-00000000.js", "/assets/Page-00000000.css", "/assets/"] {
        for headers in [&BROWSER[..], &[]] {
            let answer = ask("GET", path, headers).await;
            assert_eq!((answer.status.as_u16(), answer.header("cache-control")), (404, "no-store"), "{path}");
            assert!(answer.body.starts_with(b"{\"error\""), "{path}");
        }
    }
}

#[tokio::test]
async fn a_compressed_form_has_the_same_bytes_and_is_sent_only_where_it_is_taken() {
    let path = script().await;
    let plain = ask("GET", &path, &[]).await;
    assert_eq!((plain.header("content-encoding"), plain.header("vary")), ("", "accept-encoding"));
    let mut sizes = Vec::new();
    for (accepted, coding) in [
        ("gzip", "gzip"),
        ("br;q=0, GZIP;q=0.5, deflate", "gzip"),
        ("br", "br"),
        ("gzip, deflate, br, zstd", "br"),
        ("*", "br"),
    ] {
        let sent = ask("GET", &path, &[("accept-encoding", accepted)]).await;
        assert_eq!((sent.header("content-encoding"), sent.header("vary")), (coding, "accept-encoding"), "{accepted}");
        assert_eq!(sent.header("content-type"), plain.header("content-type"));
        let mut unpacked = Vec::new();
        match coding {
            "br" => brotli::BrotliDecompress(&mut &sent.body[..], &mut unpacked).expect("brotli"),
            _ => drop(GzDecoder::new(&sent.body[..]).read_to_end(&mut unpacked).expect("gzip")),
        }
        assert_eq!(unpacked, plain.body, "{accepted}");
        sizes.push(sent.body.len());
    }
    assert!(sizes[2] < sizes[0] && sizes[0] < plain.body.len(), "{sizes:?} of {}", plain.body.len());
    for refused in ["gzip;q=0", "br;q=0, gzip;q=0, *", "identity", "zstd"] {
        let sent = ask("GET", &path, &[("accept-encoding", refused)]).await;
        assert_eq!((sent.header("content-encoding"), &sent.body), ("", &plain.body), "{refused}");
    }
    assert_eq!(ask("GET", &format!("{path}.br"), &[]).await.status, 404, "the forms have no address of their own");
}

#[tokio::test]
async fn localhost_leads_to_the_address_of_the_service() {
    let moved = ask("GET", "/agents/abc?x=1", &[BROWSER[0], ("host", "localhost:8080")]).await;
    assert_eq!((moved.status.as_u16(), moved.header("location")), (307, "http://127.0.0.1:8080/agents/abc?x=1"));
    for host in ["127.0.0.1:8080", "localhost:9090", "localhost", "market.example:8080"] {
        assert!(ask("GET", "/", &[("host", host)]).await.is_page(), "{host}");
    }
}
