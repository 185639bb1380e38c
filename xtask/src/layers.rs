//! Which crate may depend on which: only on crates below it.

use std::{collections::BTreeMap, fs};

use anyhow::{Context, Result};

use crate::{source_hash::built_from, workspace};

/// The crates of this project, lowest first. Crates of one row do not depend on each other.
const LAYERS: [&[&str]; 9] = [
    &["crtx-child", "crtx-download", "crtx-protocol"],
    &["agent-marketplace"],
    &["crtx-chain", "crtx-content", "crtx-schema", "crtx-store", "crtx-postgres"],
    &["crtx-http"],
    &["crtx-conformance", "crtx-dashboard", "crtx-sdk"],
    &["crtx-api", "crtx-gateway", "crtx-mirror"],
    &["crtx-server", "crtx-localnet"],
    &["crtx-cli"],
    &["crtx-program-tests", "crtx-fuzz", "crtx-e2e", "crtx-faults", "xtask"],
];

/// The network of `crtx up`. Nothing that is deployed contains it.
const EMBEDDED_NETWORK: &str = "surfpool-core ";

fn layer_of(name: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&name))
}

/// Every crate of the workspace with the crates of the workspace that it uses. What only its tests use does not count.
fn dependencies() -> Result<BTreeMap<String, Vec<String>>> {
    let root = workspace::root();
    let mut crates = BTreeMap::new();
    for folder in workspace::members()? {
        let manifest: toml::Table = fs::read_to_string(root.join(folder).join("Cargo.toml"))?.parse()?;
        let name = manifest.get("package").and_then(|package| package.get("name")).and_then(toml::Value::as_str);
        let used = manifest.get("dependencies").and_then(toml::Value::as_table).into_iter().flat_map(toml::Table::keys);
        let own = used.filter(|name| name.starts_with("crtx-") || *name == "agent-marketplace").cloned();
        crates.insert(name.context("a crate has a name")?.to_owned(), own.collect());
    }
    Ok(crates)
}

/// Dependencies that point upwards or sideways, and crates that no layer names.
fn wrong_dependencies() -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    for (name, used) in dependencies()? {
        let Some(layer) = layer_of(&name) else {
            wrong.push(format!("{name} has no layer"));
            continue;
        };
        for dependency in used {
            let tests = layer == LAYERS.len().saturating_sub(1);
            let below = layer_of(&dependency).is_some_and(|other| other < layer || (tests && other == layer));
            if !below {
                wrong.push(format!("{name} depends on {dependency}, which is not below it"));
            }
        }
    }
    Ok(wrong)
}

#[test]
fn crates_depend_only_on_crates_below_them() {
    assert_eq!(wrong_dependencies().unwrap_or_else(|error| vec![error.to_string()]), Vec::<String>::new());
}

#[test]
fn the_services_do_not_contain_the_embedded_network() {
    let lock = fs::read_to_string(workspace::root().join("Cargo.lock")).expect("the lock file");
    let contains = |name: &str| {
        let packages = built_from(name, &lock).map_err(|error| error.to_string())?;
        Ok::<_, String>(packages.iter().any(|package| package.starts_with(EMBEDDED_NETWORK)))
    };
    assert_eq!(contains("crtx-server"), Ok(false));
    assert_eq!(contains("crtx-cli"), Ok(true), "the check would find it");
}
