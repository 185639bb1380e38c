//! Which answers of the read API caches may keep: what everybody gets.

use axum::{extract::Request, middleware::Next, response::Response};
use crtx_http::caching::{Asked, Policy};

/// Paths whose answers depend on nothing but the path and its parameters. The rest is for one client, or about now.
const PUBLIC: [&str; 3] = ["/v1/agents", "/v1/history", "/v1/network"];

pub async fn with_caching(request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let is_below =
        |public: &str| path.strip_prefix(public).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let policy = if PUBLIC.iter().any(|public| is_below(public)) {
        Policy::of_public(request.headers())
    } else {
        Policy::Private
    };
    let asked = Asked::of(request.method(), request.headers(), policy);
    asked.complete(next.run(request).await).await
}
