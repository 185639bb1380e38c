//! `agent.toml`: what a creator writes about an agent, read and checked as a whole.

use std::{
    fs,
    path::{Path, PathBuf},
};

use agent_marketplace::state::{MAX_TIMEOUT_S, MIN_TIMEOUT_S};
use anyhow::Context;
use crtx_conformance::Example;
use crtx_protocol::{metadata::Metadata, result_hash::ResultHash, usdc::UsdcBase};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use solana_pubkey::Pubkey;
use solana_signer::Signer;

use crate::keypair_file;

pub const FILE_NAME: &str = "agent.toml";
const DEFAULT_TIMEOUT_S: u32 = 60;
/// Any active agent has this much when nobody has a claim.
const DEFAULT_MIN_COVER: u8 = 1;

#[derive(Debug)]
pub struct Manifest {
    pub folder: PathBuf,
    pub metadata: Metadata,
    /// The metadata document in its RFC 8785 form.
    pub document: Vec<u8>,
    pub price: UsdcBase,
    pub timeout_seconds: u32,
    pub binding: bool,
    /// The free collateral that the creator promises, in prices of a call.
    pub min_cover: u8,
    pub result_key: Pubkey,
    pub result_key_file: PathBuf,
    /// What the creator wants to lock; `None`: what the price demands.
    pub collateral: Option<UsdcBase>,
    pub test: TestCalls,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestCalls {
    pub task: String,
    #[serde(default)]
    pub parameters: Map<String, Value>,
    /// A call that has to fail.
    pub failing: Option<Example>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ManifestFile {
    name: String,
    tagline: String,
    description: String,
    tags: Vec<String>,
    endpoint: String,
    price_usdc: String,
    timeout_seconds: Option<u32>,
    binding: Option<bool>,
    min_cover: Option<u8>,
    result_key: PathBuf,
    collateral_usdc: Option<String>,
    input_schema: Map<String, Value>,
    output_schema: Map<String, Value>,
    test: TestCalls,
}

/// Everything that is wrong with a file, one problem per line.
#[derive(Debug, thiserror::Error)]
#[error("{path} has {} problem{}:\n  - {}", problems.len(), if problems.len() == 1 { "" } else { "s" }, problems.join("\n  - "))]
pub struct ManifestError {
    path: String,
    problems: Vec<String>,
}

impl Manifest {
    /// Reads the file of an agent. `path`: the file or its folder.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let file = if path.is_dir() { path.join(FILE_NAME) } else { path.to_owned() };
        let text = fs::read_to_string(&file)
            .with_context(|| format!("cannot read {}; `crtx agent init` writes an example", file.display()))?;
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let failed = |problems| ManifestError { path: file.display().to_string(), problems };
        let parsed: ManifestFile =
            toml::from_str(&text).map_err(|error| failed(vec![error.to_string().trim_end().to_owned()]))?;
        Self::from_file(folder, parsed).map_err(|problems| failed(problems).into())
    }

    fn from_file(folder: &Path, file: ManifestFile) -> Result<Self, Vec<String>> {
        let mut problems = Vec::new();
        let mut amount = |field: &str, text: &str| {
            UsdcBase::parse(text).unwrap_or_else(|error| {
                problems.push(format!("`{field}`: {error}"));
                UsdcBase(0)
            })
        };
        let price = amount("price_usdc", &file.price_usdc);
        let collateral = file.collateral_usdc.as_deref().map(|text| amount("collateral_usdc", text));
        let timeout_seconds = file.timeout_seconds.unwrap_or(DEFAULT_TIMEOUT_S);
        if !(MIN_TIMEOUT_S..=MAX_TIMEOUT_S).contains(&timeout_seconds) {
            problems.push(format!("`timeout_seconds`: {MIN_TIMEOUT_S} to {MAX_TIMEOUT_S}"));
        }
        let result_key_file = folder.join(&file.result_key);
        let result_key = keypair_file::read(&result_key_file).map_or_else(
            |error| {
                problems.push(format!("`result_key`: {error:#}"));
                Pubkey::default()
            },
            |pair| pair.pubkey(),
        );
        let document = json!({
            "name": file.name,
            "tagline": file.tagline,
            "description": file.description.trim_end(),
            "tags": file.tags,
            "endpoint": file.endpoint,
            "input_schema": file.input_schema,
            "output_schema": file.output_schema,
        });
        let metadata = Metadata::from_value(&document).map_err(|error| problems.push(error.to_string())).ok();
        let bytes = serde_json_canonicalizer::to_vec(&document).map_err(|error| problems.push(error.to_string())).ok();
        let (Some(metadata), Some(document), true) = (metadata, bytes, problems.is_empty()) else {
            return Err(problems);
        };
        Ok(Self {
            folder: folder.to_owned(),
            metadata,
            document,
            price,
            timeout_seconds,
            binding: file.binding.unwrap_or(true),
            min_cover: file.min_cover.unwrap_or(DEFAULT_MIN_COVER),
            result_key,
            result_key_file,
            collateral,
            test: file.test,
        })
    }

    pub fn document_hash(&self) -> ResultHash {
        ResultHash::of(&self.document)
    }
}

#[cfg(test)]
mod tests {
    use solana_keypair::Keypair;

    use super::*;

    /// The example that `crtx agent init` writes, in a folder with a key.
    fn example(change: impl FnOnce(String) -> String) -> (tempfile::TempDir, anyhow::Result<Manifest>) {
        let folder = tempfile::tempdir().expect("a folder");
        let text = include_str!("template/agent.toml").replace("{{NAME}}", "word-count").replace("{{PORT}}", "4021");
        fs::write(folder.path().join(FILE_NAME), change(text)).expect("written");
        let pair = Keypair::new_from_array([7; 32]);
        fs::write(folder.path().join("result-key.json"), format!("{:?}", pair.to_bytes())).expect("written");
        let manifest = Manifest::read(folder.path());
        (folder, manifest)
    }

    #[test]
    fn the_example_is_a_good_manifest() {
        let (_folder, manifest) = example(|text| text);
        let manifest = manifest.expect("good");
        assert_eq!((manifest.price, manifest.timeout_seconds, manifest.binding), (UsdcBase(50_000), 30, true));
        assert_eq!(manifest.result_key, Keypair::new_from_array([7; 32]).pubkey());
        assert_eq!(Metadata::parse(&manifest.document).expect("a good document"), manifest.metadata);
        assert_eq!(manifest.test.failing.expect("named").parameters.get("max_words"), Some(&json!(1)));
    }

    #[test]
    fn every_problem_of_a_manifest_is_named_at_once() {
        let (_folder, manifest) = example(|text| {
            let text = text.replace("\"0.05\"", "\"0.0000001\"").replace("timeout_seconds = 30", "timeout_seconds = 0");
            text.replace("result-key.json", "missing.json").replace("[\"writing\", \"data\"]", "[]")
        });
        let problems = manifest.expect_err("bad").to_string();
        for named in ["4 problems", "`price_usdc`", "`timeout_seconds`", "`result_key`", "`tags`"] {
            assert!(problems.contains(named), "{named}: {problems}");
        }
    }

    #[test]
    fn a_misspelled_field_is_refused_with_its_line() {
        let (_folder, manifest) = example(|text| text.replace("price_usdc", "price"));
        let problem = manifest.expect_err("bad").to_string();
        assert!(problem.contains("unknown field `price`") && problem.contains("line "), "{problem}");
    }

    #[test]
    fn the_same_manifest_has_the_same_document() {
        let hash = |text: fn(String) -> String| example(text).1.expect("good").document_hash();
        assert_eq!(hash(|text| text), hash(|text| text.replace("price_usdc = \"0.05\"", "price_usdc = \"1\"")));
        assert_ne!(hash(|text| text), hash(|text| text.replace("Counts the", "Counts all")));
    }
}
