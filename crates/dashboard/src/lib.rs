//! The dashboard of `app/`: its built files, embedded, and how browsers get them. [`pages`] answers every path that no
//! endpoint has ([`crtx_http::finish_with`]).
#![forbid(unsafe_code)]

mod files;
mod headers;
mod pages;

pub use pages::pages;
