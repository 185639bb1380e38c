//! Evidence and reasons: a text and files that the service stores by content. What comes back is checked before its
//! hash goes on chain.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use crtx_protocol::{
    content::{ipfs_uri, parse_ipfs_uri},
    result_hash::ResultHash,
};
use serde_json::{Value, json};

use crate::{arguments::read_text, asker::Asker, content, output::cell, private_file, usage::UsageError};

const MAX_FILES: usize = 5;
/// Of the document's format.
const VERSION: u32 = 1;

#[derive(Clone, Debug, clap::Args)]
pub struct EvidenceArgs {
    /// What happened and why; `-` reads it from standard input
    #[arg(long, allow_hyphen_values = true)]
    pub text: String,
    /// A file that proves it; up to five, 1 MiB together
    #[arg(long = "file", value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    pub hash: ResultHash,
    pub uri: String,
}

/// What is handed in, and the bytes that the service must store for it (`docs/specification.md`, "Evidence").
#[derive(Debug)]
pub struct EvidenceDocument {
    given: Value,
    stored: Vec<u8>,
}

impl EvidenceArgs {
    /// Reads text and files before anything is asked or sent.
    pub fn read(&self) -> anyhow::Result<EvidenceDocument> {
        if self.files.len() > MAX_FILES {
            return Err(UsageError::new(format!("At most {MAX_FILES} files can be given.")).into());
        }
        let text = read_text(&self.text, private_file::MAX_BYTES)?;
        if text.trim().is_empty() {
            return Err(UsageError::new("The text is empty; say what happened with --text.").into());
        }
        let files = self.files.iter().map(|path| file(path));
        let (given, stored): (Vec<Value>, Vec<Value>) = files.collect::<anyhow::Result<_>>()?;
        let stored = json!({"version": VERSION, "text": text, "files": stored});
        let given = json!({"text": text, "files": given});
        Ok(EvidenceDocument { given, stored: serde_json_canonicalizer::to_vec(&stored)? })
    }
}

/// A file as it is handed in, and as the document names it.
fn file(path: &Path) -> anyhow::Result<(Value, Value)> {
    let bytes = private_file::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let bytes = bytes.with_context(|| format!("there is no file {}", path.display()))?;
    let name = path.file_name().and_then(|name| name.to_str()).context("the name of a file is not text")?;
    let (media_type, hash) = (media_type(path), ResultHash::of(&bytes));
    let given = json!({"name": name, "media_type": media_type, "content": BASE64.encode(&bytes)});
    let (hash, uri) = (hash.to_string(), ipfs_uri(&hash));
    let stored = json!({"name": name, "media_type": media_type, "size": bytes.len(), "hash": hash, "uri": uri});
    Ok((given, stored))
}

fn media_type(path: &Path) -> &'static str {
    let extension = path.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase);
    match extension.as_deref() {
        Some("txt" | "log" | "md") => "text/plain",
        Some("json") => "application/json",
        Some("csv") => "text/csv",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("pdf") => "application/pdf",
        _ => "application/octet-stream",
    }
}

/// Stores the document. What goes on chain is the hash of the document that was given, with all of its files.
pub async fn store(asker: &Asker, document: &EvidenceDocument) -> anyhow::Result<Stored> {
    let answer: Value = asker.post("/v1/evidence", &document.given).await?;
    let (hash, uri) = (cell(&answer, "hash", ""), cell(&answer, "uri", ""));
    let hash: ResultHash = hash.parse().context("the service answered with another hash form")?;
    if parse_ipfs_uri(&uri) != Ok(hash) {
        bail!("the service answered with a hash and a URI that disagree; nothing was sent");
    }
    let bytes = content::read(&asker.api, &hash).await.context("the stored document cannot be read back")?;
    if bytes != document.stored {
        bail!("the service stored another document than the one given; nothing was sent");
    }
    Ok(Stored { hash, uri })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_files_become_one_document() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("shot.PNG");
        std::fs::write(&path, b"bytes").expect("writes");
        let arguments = EvidenceArgs { text: "wrong".to_owned(), files: vec![path] };
        let document = arguments.read().expect("reads");
        let expected = json!({"name": "shot.PNG", "media_type": "image/png", "content": "Ynl0ZXM="});
        assert_eq!(document.given, json!({"text": "wrong", "files": [expected]}));
    }

    #[test]
    fn the_document_that_goes_on_chain_names_text_and_all_files() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("a.txt");
        std::fs::write(&path, b"bytes").expect("writes");
        let document = EvidenceArgs { text: "wrong".to_owned(), files: vec![path] }.read().expect("reads");
        let hash = ResultHash::of(b"bytes");
        let expected = format!(
            r#"{{"files":[{{"hash":"{hash}","media_type":"text/plain","name":"a.txt","size":5,"uri":"{}"}}],"text":"wrong","version":1}}"#,
            ipfs_uri(&hash)
        );
        assert_eq!(String::from_utf8(document.stored).expect("text"), expected);
    }

    #[test]
    fn an_empty_text_and_a_sixth_file_are_wrong_usage() {
        for (text, files) in [(" ", 0), ("x", 6)] {
            let arguments = EvidenceArgs { text: text.to_owned(), files: vec![PathBuf::from("f"); files] };
            assert!(arguments.read().expect_err("refused").is::<UsageError>());
        }
    }
}
