//! Answers the paths that no endpoint has: files of the build, and the page itself for every address that a person opens.

use axum::{
    body::Body,
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header},
    response::{IntoResponse, Response},
    routing::{MethodRouter, any},
};
use crtx_http::{ApiError, ErrorCode, Site, caching::takes};

use crate::{
    files::{self, File},
    headers::{FIXED, PagePolicies},
};

/// Below these no page ever opens: a wrong path there is an error of a program.
const ENDPOINTS: [&str; 8] = ["v1", "badge", "ipfs", "local", "openapi.json", "healthz", "readyz", "metrics"];
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

/// What is shown instead of the page if nothing was built.
const NOT_BUILT: &str = "The dashboard was not built into this program.\n\nRun `npm ci` and `npm run build` in the folder \
                         `app`, then build the program again. The HTTP API works without it: /openapi.json \
                         describes it for programs, docs/api.md in the repository for people.\n";

/// The handler for [`crtx_http::finish_with`]. `site`: where the service is reached. `rpc_url`: the node that the page
/// reads the chain from.
pub fn pages(site: Site, rpc_url: Option<&str>) -> MethodRouter {
    let policies = PagePolicies::new(rpc_url);
    any(move |method: Method, uri: Uri, headers: HeaderMap| {
        let answer = answer(&site, &policies, &method, &uri, &headers);
        async move { answer }
    })
}

fn answer(site: &Site, policies: &PagePolicies, method: &Method, uri: &Uri, headers: &HeaderMap) -> Response {
    if !matches!(*method, Method::GET | Method::HEAD) {
        return nothing_here();
    }
    let policy = policies.at(uri.path());
    if let Some(file) = files::at(uri.path()).filter(|file| file.path != "index.html") {
        return send(file, policy, headers);
    }
    if !is_page(uri.path(), headers) {
        // A part that is missing now can be there after the next deployment.
        let caching = [(header::CACHE_CONTROL, "no-store")];
        return (caching, nothing_here()).into_response();
    }
    if let Some(url) = own_address(site, uri, headers) {
        return (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, url)]).into_response();
    }
    page(files::index(), policy, headers)
}

fn page(index: Option<&'static File>, policy: &HeaderValue, headers: &HeaderMap) -> Response {
    match index {
        Some(index) => send(index, policy, headers),
        None => (StatusCode::OK, FIXED, NOT_BUILT).into_response(),
    }
}

fn nothing_here() -> Response {
    ApiError::new(ErrorCode::NotFound, "there is nothing at this path").into_response()
}

/// Whether a person opens this address in a browser. The root is a page for everybody.
fn is_page(path: &str, headers: &HeaderMap) -> bool {
    let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    if ENDPOINTS.contains(&first) || first == "assets" {
        return false;
    }
    let accepts_html = headers.get_all(header::ACCEPT).iter().any(|value| contains(value, "text/html"));
    let navigates = headers.get(FETCH_MODE).is_none_or(|mode| mode == "navigate");
    path == "/" || (accepts_html && navigates)
}

fn contains(value: &HeaderValue, part: &str) -> bool {
    value.to_str().is_ok_and(|text| text.contains(part))
}

/// Where the page is to be opened instead: a local network that was opened as `localhost` has another origin than the one
/// that sessions and wallets are bound to.
fn own_address(site: &Site, uri: &Uri, headers: &HeaderMap) -> Option<HeaderValue> {
    let host = headers.get(header::HOST)?.to_str().ok()?;
    let (name, port) = host.rsplit_once(':')?;
    let own_port = site.domain().rsplit_once(':').map(|(_, port)| port);
    if name != "localhost" || own_port != Some(port) || site.domain() == host {
        return None;
    }
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    HeaderValue::from_str(&format!("{}{path}", site.origin())).ok()
}

fn send(file: &'static File, policy: &HeaderValue, headers: &HeaderMap) -> Response {
    let caching = if file.never_changes() { "public, max-age=31536000, immutable" } else { "no-cache" };
    let tag = format!("\"{}\"", file.tag);
    let forms = [("br", file.brotli), ("gzip", file.gzip)];
    let compressed =
        forms.into_iter().find_map(|(coding, form)| Some((coding, form?)).filter(|_| takes(headers, coding)));
    let unchanged = headers.get_all(header::IF_NONE_MATCH).iter().any(|sent| contains(sent, &tag));
    let (status, body) = match (unchanged, compressed) {
        (true, _) => (StatusCode::NOT_MODIFIED, Body::empty()),
        (false, Some((_, form))) => (StatusCode::OK, Body::from(form)),
        (false, None) => (StatusCode::OK, Body::from(file.bytes)),
    };
    let mut response = (status, FIXED, body).into_response();
    let answer = response.headers_mut();
    answer.insert(header::CONTENT_SECURITY_POLICY, policy.clone());
    answer.insert(header::CACHE_CONTROL, HeaderValue::from_static(caching));
    answer.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        answer.insert(header::ETAG, tag);
    }
    if !unchanged {
        answer.insert(header::CONTENT_TYPE, HeaderValue::from_static(file.content_type()));
        if let Some((coding, _)) = compressed {
            answer.insert(header::CONTENT_ENCODING, HeaderValue::from_static(coding));
        }
    }
    response
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    /// `/docs` is a page of the dashboard, so what is not built cannot point to it.
    #[tokio::test]
    async fn without_a_build_a_page_says_where_the_api_is_described() {
        let answer = page(None, &HeaderValue::from_static("default-src 'none'"), &HeaderMap::new());
        assert_eq!(answer.status(), StatusCode::OK);
        let text = axum::body::to_bytes(answer.into_body(), 10_000).await.unwrap();
        let text = String::from_utf8(text.to_vec()).unwrap();
        assert!(text.contains("/openapi.json") && text.contains("docs/api.md") && !text.contains("/docs/"), "{text}");
    }
}
