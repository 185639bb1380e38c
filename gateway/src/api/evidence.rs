//! `POST /v1/evidence`: a statement with files, stored by content, for a dispute.

use std::collections::BTreeSet;

use axum::{Json, extract::State, http::StatusCode};
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use bytes::Bytes;
use crtx_http::{ApiError, ApiJson, ApiQuery, ErrorBody, SignedIn};
use crtx_protocol::{content::ipfs_uri, plain_text::is_plain, result_hash::ResultHash};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::content::StoredContent;
use crate::gateway::Gateway;

const VERSION: u32 = 1;
const MAX_TEXT_CHARS: usize = 20_000;
const MAX_FILES: usize = 5;
/// All files together, in bytes.
const MAX_FILE_BYTES: usize = 1024 * 1024;
const MAX_NAME_CHARS: usize = 100;
const MAX_MEDIA_TYPE_CHARS: usize = 100;
/// The files in base64, the text with every character escaped, and the rest.
const MAX_BODY_BYTES: usize = 2 * 1024 * 1024;

/// Body of `POST /v1/evidence`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EvidenceBody {
    /// What happened. Not blank, and without control characters except line feed, carriage return and tab.
    #[schema(min_length = 1, max_length = 20_000, format = "visible-lines")]
    text: String,
    /// 1 MiB together.
    #[serde(default)]
    #[schema(max_items = 5)]
    files: Vec<EvidenceFileBody>,
}

/// A file that is handed in.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EvidenceFileBody {
    /// 1 to 100 visible characters or spaces, without slashes. No two files have the same name.
    #[schema(min_length = 1, max_length = 100, format = "visible-file-name")]
    name: String,
    /// Such as `image/png`: lower case, without parameters.
    #[schema(max_length = 100, pattern = "^[a-z0-9][a-z0-9!#$&^_.+-]*/[a-z0-9][a-z0-9!#$&^_.+-]*$")]
    media_type: String,
    /// The bytes in base64, with padding.
    #[schema(
        min_length = 4,
        pattern = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}([A-Za-z0-9+/]{2}|[AEIMQUYcgkosw048]=)|[A-Za-z0-9+/][AQgw]==)$"
    )]
    content: String,
}

/// A file as the evidence document names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct EvidenceFile {
    pub name: String,
    pub media_type: String,
    /// In bytes.
    pub size: usize,
    /// `sha256:` and the hex SHA-256 of the bytes.
    pub hash: String,
    /// `ipfs://` and the CID.
    pub uri: String,
}

/// Stored evidence: hash and URI go into the dispute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct StoredEvidence {
    /// CID of the evidence document.
    pub cid: String,
    /// `sha256:` and the hex SHA-256 of the evidence document.
    pub hash: String,
    /// `ipfs://` and the CID; short enough for the dispute's account.
    pub uri: String,
    /// Of the evidence document, in bytes.
    pub size: usize,
    pub files: Vec<EvidenceFile>,
}

/// Stores a statement and its files for a dispute, an answer to one, or its resolution. The answer names the document to
/// put on chain. What no dispute refers to within a day is dropped.
#[utoipa::path(
    post,
    path = "/v1/evidence",
    operation_id = "create_evidence",
    tag = "disputes",
    security(("session" = []), ("session_cookie" = [])),
    request_body = EvidenceBody,
    responses(
        (status = 201, description = "Stored", body = StoredEvidence),
        (status = 400, description = "`invalid_request`: the field is named", body = ErrorBody),
        (status = 401, description = "`unauthorized`: no session of a wallet that signed in", body = ErrorBody),
        (status = 403, description = "`forbidden`: the session's cookie without its token", body = ErrorBody),
        (status = 408, description = "`request_timeout`: the body did not arrive in time", body = ErrorBody),
        (status = 413, description = "`payload_too_large`: a body of more than 2 MiB, or files of more than 1 MiB", body = ErrorBody),
        (status = 429, description = "`rate_limited`: the wallet has stored too much that nothing refers to", body = ErrorBody,
            headers(("Retry-After" = u64, description = "Seconds"))),
        (status = 503, description = "`unavailable`", body = ErrorBody),
    ),
)]
pub async fn create_evidence(
    State(gateway): State<Gateway>,
    signed_in: SignedIn,
    ApiQuery(()): ApiQuery<()>,
    ApiJson(body): ApiJson<EvidenceBody, MAX_BODY_BYTES>,
) -> Result<(StatusCode, Json<StoredEvidence>), ApiError> {
    let (files, mut contents) = read_files(body.files)?;
    let document = manifest(&body.text, &files)?;
    let hash = ResultHash::of(&document);
    let size = document.len();
    contents.push(document);
    gateway.uploads.allow(&signed_in.wallet)?;
    gateway.uploads.hold(&gateway.engine, &signed_in.wallet, &contents, Some(hash)).await?;
    let StoredContent { cid, hash, uri, size, .. } = StoredContent::new(&hash, size, false);
    Ok((StatusCode::CREATED, Json(StoredEvidence { cid, hash, uri, size, files })))
}

fn manifest(text: &str, files: &[EvidenceFile]) -> Result<Bytes, ApiError> {
    let chars = text.chars().count();
    if text.trim().is_empty() || chars > MAX_TEXT_CHARS {
        return Err(ApiError::invalid("text", format!("must have 1 to {MAX_TEXT_CHARS} characters, not {chars}")));
    }
    if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t' | '\r')) {
        return Err(ApiError::invalid("text", "must not hold control characters"));
    }
    // What the hash on chain is the hash of, in the form of RFC 8785.
    let manifest = serde_json::json!({ "version": VERSION, "text": text, "files": files });
    Ok(serde_json_canonicalizer::to_vec(&manifest).map_err(ApiError::internal)?.into())
}

fn read_files(files: Vec<EvidenceFileBody>) -> Result<(Vec<EvidenceFile>, Vec<Bytes>), ApiError> {
    if files.len() > MAX_FILES {
        return Err(ApiError::invalid("files", format!("must hold at most {MAX_FILES} files, not {}", files.len())));
    }
    let mut names = BTreeSet::new();
    let mut total = 0_usize;
    let mut read = Vec::new();
    for (index, file) in files.into_iter().enumerate() {
        let at = |member: &str| format!("files[{index}].{member}");
        let content = BASE64
            .decode(&file.content)
            .map_err(|error| ApiError::invalid(&at("content"), format!("must be base64 with padding: {error}")))?;
        if content.is_empty() {
            return Err(ApiError::invalid(&at("content"), "must not be empty"));
        }
        total = total.saturating_add(content.len());
        if total > MAX_FILE_BYTES {
            let message = format!("the files have more than {MAX_FILE_BYTES} bytes together");
            return Err(ApiError::new(crtx_http::ErrorCode::PayloadTooLarge, message));
        }
        if !is_file_name(&file.name) {
            let problem = format!("must be 1 to {MAX_NAME_CHARS} visible characters or spaces without slashes");
            return Err(ApiError::invalid(&at("name"), problem));
        }
        if !names.insert(file.name.clone()) {
            return Err(ApiError::invalid(&at("name"), "is the name of another file"));
        }
        if !is_media_type(&file.media_type) {
            return Err(ApiError::invalid(&at("media_type"), "must be a media type such as `image/png`"));
        }
        let hash = ResultHash::of(&content);
        let size = content.len();
        let (name, media_type) = (file.name, file.media_type);
        let named = EvidenceFile { name, media_type, size, hash: hash.to_string(), uri: ipfs_uri(&hash) };
        read.push((named, Bytes::from(content)));
    }
    Ok(read.into_iter().unzip())
}

fn is_file_name(name: &str) -> bool {
    (1..=MAX_NAME_CHARS).contains(&name.chars().count())
        && name.trim() == name
        && !matches!(name, "." | "..")
        && name.chars().all(|c| is_plain(c) && !matches!(c, '/' | '\\'))
}

/// `type/subtype` in the characters of RFC 6838, in lower case.
fn is_media_type(text: &str) -> bool {
    let is_name = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
            && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"!#$&-^_.+".contains(&b))
    };
    text.len() <= MAX_MEDIA_TYPE_CHARS
        && text.split_once('/').is_some_and(|(kind, subtype)| is_name(kind) && is_name(subtype))
}

#[cfg(test)]
mod tests {
    use crtx_http::ErrorCode;

    use super::*;

    fn file(name: &str, media_type: &str, content: &[u8]) -> EvidenceFileBody {
        EvidenceFileBody { name: name.to_owned(), media_type: media_type.to_owned(), content: BASE64.encode(content) }
    }

    fn refused(files: Vec<EvidenceFileBody>) -> ApiError {
        read_files(files).expect_err("refused")
    }

    #[test]
    fn a_file_that_is_not_acceptable_is_named() {
        for (bad, named) in [
            (file("", "image/png", b"x"), "files[1].name"),
            (file(" a", "image/png", b"x"), "files[1].name"),
            (file("..", "image/png", b"x"), "files[1].name"),
            (file("a/b", "image/png", b"x"), "files[1].name"),
            (file("a\\b", "image/png", b"x"), "files[1].name"),
            (file("a\u{202e}gnp.exe", "image/png", b"x"), "files[1].name"),
            (file(&"n".repeat(101), "image/png", b"x"), "files[1].name"),
            (file("first", "image/png", b"x"), "files[1].name"),
            (file("a", "", b"x"), "files[1].media_type"),
            (file("a", "image", b"x"), "files[1].media_type"),
            (file("a", "Image/PNG", b"x"), "files[1].media_type"),
            (file("a", "text/html; charset=utf-8", b"x"), "files[1].media_type"),
            (file("a", &format!("a/{}", "b".repeat(99)), b"x"), "files[1].media_type"),
            (file("a", "image/png", b""), "files[1].content"),
        ] {
            let error = refused(vec![file("first", "text/plain", b"1"), bad]);
            assert_eq!(error.code, ErrorCode::InvalidRequest);
            assert!(error.message.contains(named), "{}", error.message);
        }
        for content in ["eA", "e A==", "-_==", "eA==\n"] {
            let bad = EvidenceFileBody { content: content.to_owned(), ..file("a", "image/png", b"x") };
            assert!(refused(vec![bad]).message.contains("files[0].content"), "{content}");
        }
    }

    #[test]
    fn files_are_few_and_small() {
        let files = |count: usize, bytes: usize| {
            (0..count).map(|n| file(&n.to_string(), "text/plain", &vec![b'x'; bytes])).collect::<Vec<_>>()
        };
        assert_eq!(read_files(files(5, 10)).expect("five").0.len(), 5);
        assert_eq!(refused(files(6, 1)).code, ErrorCode::InvalidRequest);
        assert!(read_files(files(4, MAX_FILE_BYTES / 4)).is_ok());
        assert_eq!(refused(files(4, MAX_FILE_BYTES / 4 + 1)).code, ErrorCode::PayloadTooLarge);
    }

    #[test]
    fn a_text_is_neither_empty_nor_long_nor_control_characters() {
        assert!(manifest("x\n\u{fc}", &[]).is_ok());
        assert!(manifest(&"\u{1f600}".repeat(MAX_TEXT_CHARS), &[]).is_ok());
        for bad in ["", " \n", "a\0b", &"x".repeat(MAX_TEXT_CHARS + 1)] {
            assert!(manifest(bad, &[]).expect_err("refused").message.contains("`text`"));
        }
    }

    #[test]
    fn the_manifest_is_the_canonical_form_of_its_document() {
        let (files, _) = read_files(vec![file("a.txt", "text/plain", b"hello")]).expect("good");
        let document = manifest("see a", &files).expect("good");
        let hash = ResultHash::of(b"hello");
        let expected = format!(
            r#"{{"files":[{{"hash":"{hash}","media_type":"text/plain","name":"a.txt","size":5,"uri":"{}"}}],"text":"see a","version":1}}"#,
            ipfs_uri(&hash)
        );
        assert_eq!(document, expected);
    }
}
