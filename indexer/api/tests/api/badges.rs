//! `GET /badge/{agent_id}.svg`: pictures for other sites, whatever an agent is called.

use crate::common::Market;
use axum::{
    body::Body,
    http::{HeaderMap, Request},
};
use crtx_store::{
    mirror,
    testing::fixtures::{addresses, listing, profile, put, show, wallet},
};
use solana_pubkey::Pubkey;
use tower::ServiceExt;

async fn get(market: &Market, path: &str, tag: Option<&str>) -> (u16, HeaderMap, String) {
    market.state.agent_list().refresh().await.unwrap();
    let mut request = Request::get(path);
    if let Some(tag) = tag {
        request = request.header("if-none-match", tag);
    }
    let response = market.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    let (parts, body) = response.into_parts();
    let body = axum::body::to_bytes(body, 100_000).await.unwrap();
    (parts.status.as_u16(), parts.headers, String::from_utf8(body.to_vec()).unwrap())
}

async fn agent_called(market: &Market, index: u32, name: &str) -> Pubkey {
    let mut listing = listing(wallet(1), index);
    (listing.total_executions, listing.completed_executions) = (12_345, 12_344);
    (listing.successful_executions, listing.failed_executions) = (12_344, 1);
    show(market.database.pool(), listing, name, &["data"]).await
}

/// What a reader of the picture sees and what one who cannot see it hears.
fn texts(svg: &str) -> (Vec<&str>, &str) {
    let between = |text: &'_ str, end: &str| text.split(end).next().unwrap().len();
    let mut shown = Vec::new();
    for part in svg.split("<text").skip(1) {
        let text = &part[part.find('>').unwrap() + 1..];
        shown.push(&text[..between(text, "</text>")]);
    }
    let title = &svg[svg.find("<title>").unwrap() + 7..];
    (shown, &title[..between(title, "</title>")])
}

#[tokio::test]
async fn a_badge_shows_name_calls_success_creator_and_slot() {
    let market = Market::open().await;
    let pool = market.database.pool();
    let agent = agent_called(&market, 0, "Text & Stats").await;
    let path = format!("/badge/{agent}.svg");
    put(pool, &wallet(101), 1, &profile(wallet(1), "Ada", true)).await;
    mirror::move_to(pool, 312_345).await.unwrap();
    let (status, headers, svg) = get(&market, &path, None).await;
    assert_eq!(status, 200);
    assert_eq!(svg, include_str!("badge.svg"));
    for (name, value) in [
        ("content-type", "image/svg+xml"),
        ("content-security-policy", "default-src 'none'; style-src 'unsafe-inline'"),
        ("cache-control", "public, max-age=300"),
        ("cross-origin-resource-policy", "cross-origin"),
        ("x-content-type-options", "nosniff"),
        ("x-indexed-slot", "312345"),
    ] {
        assert_eq!(headers[name], value, "{name}");
    }
    let tag = headers["etag"].to_str().unwrap();
    let (status, headers, body) = get(&market, &path, Some(tag)).await;
    assert_eq!((status, body.as_str(), &headers["cache-control"]), (304, "", &"public, max-age=300".parse().unwrap()));
    // The same size and the same parts, with other words.
    let fresh = show(pool, listing(wallet(3), 0), "New", &["data"]).await;
    let (_, _, svg) = get(&market, &format!("/badge/{fresh}.svg"), None).await;
    assert_eq!(texts(&svg).0, ["New", "no calls yet", "creator not verified · slot 312,345"]);
}

#[tokio::test]
async fn an_agent_that_is_not_listed_has_a_badge_that_says_so() {
    let market = Market::open().await;
    for path in [format!("/badge/{}.svg", wallet(50)), "/badge/x.svg".to_owned(), "/badge/%3Cscript%3E.svg".to_owned()]
    {
        let (status, headers, svg) = get(&market, &path, None).await;
        assert_eq!((status, &headers["content-type"]), (404, &"image/svg+xml".parse().unwrap()), "{path}");
        assert_eq!(texts(&svg).0[0], "Not an active agent");
        assert!(!svg.contains("script"));
    }
    let agent = agent_called(&market, 0, "alpha").await;
    assert_eq!(get(&market, &format!("/badge/{agent}"), None).await.0, 404, "a badge is an .svg");
    assert_eq!(get(&market, &format!("/badge/{agent}.svg?x=1"), None).await.0, 400);
}

#[tokio::test]
async fn a_hostile_name_stays_one_line_of_text() {
    let market = Market::open().await;
    let plain = agent_called(&market, 0, "plain").await;
    let (_, _, expected) = get(&market, &format!("/badge/{plain}.svg"), None).await;
    let long = "W".repeat(80);
    let marks = format!("a{}", "\u{301}".repeat(79));
    for (index, (name, shown)) in [
        ("</text><script>1</script>", "&lt;/text&gt;&lt;script&gt;1&lt;/script&gt;"),
        ("]]><!--\"'&amp;", "]]&gt;&lt;!--&quot;&#39;&amp;amp;"),
        ("safe\u{202e}gnp.exe", "safe\u{fffd}gnp.exe"),
        ("a\u{200b}\u{2066}b", "a\u{fffd}\u{fffd}b"),
        ("two\nlines\u{2028}here", "two lines here"),
        (long.as_str(), &format!("{}…", "W".repeat(28))),
        ("漢字漢字漢字漢字漢字漢字漢字漢字", "漢字漢字漢字漢字漢字漢字漢字…"),
        (marks.as_str(), "a\u{301}\u{301}"),
    ]
    .into_iter()
    .enumerate()
    {
        let agent = agent_called(&market, index as u32 + 1, name).await;
        let (status, _, svg) = get(&market, &format!("/badge/{agent}.svg"), None).await;
        let (texts, title) = texts(&svg);
        assert_eq!((status, texts.len(), texts[0]), (200, 3, shown), "{name:?}");
        assert!(title.starts_with(&format!("&#x2068;{shown}&#x2069;: 12,345 calls")), "{title}");
        let marks = |svg: &str| ['<', '>', '"'].map(|mark| svg.matches(mark).count());
        assert_eq!(marks(&svg), marks(&expected), "{name:?}: no other elements and attributes");
        assert!(svg.len() < 2_500, "{name:?}: {} bytes", svg.len());
    }
    assert_eq!(addresses().agent(&wallet(1), 0), plain);
}
