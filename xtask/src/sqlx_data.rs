//! `.sqlx/`: what the checked queries of `crates/store` know about the schema. A freshly migrated database describes each
//! query of the sources, as sqlx's own macros ask it to, so nothing is compiled for it.

use std::{collections::BTreeSet, fs, path::Path};

use anyhow::{Context, Result, ensure};
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use serde::Serialize;
use sha2::{Digest, Sha256};
use sqlx::{Connection, Executor, PgConnection, SqlSafeStr};
use syn::LitStr;
use tempfile::TempDir;

use crate::{
    test_database::TestDatabase,
    workspace::{self, files_below},
};

const FOLDER: &str = ".sqlx";
const SOURCES: &str = "crates/store/src";
/// The macros that read `.sqlx/`, and which of their arguments is the query.
const MACROS: [(&str, usize); 3] = [("query", 0), ("query_scalar", 0), ("query_as", 1)];

/// The content of one file, as sqlx's macros read it.
#[derive(Serialize)]
struct QueryData<'a, D> {
    db_name: &'static str,
    query: &'a str,
    describe: D,
    hash: String,
}

pub fn write() -> Result<()> {
    let generated = generate()?;
    let folder = workspace::root().join(FOLDER);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let files = files_below(generated.path())?;
    for file in &files {
        fs::copy(file, folder.join(file.file_name().unwrap_or_default()))?;
    }
    println!("{FOLDER}: {} queries written", files.len());
    Ok(())
}

pub fn check() -> Result<String> {
    workspace::same_files(FOLDER, generate()?.path(), "cargo xtask sqlx")
}

/// A folder with a file for each query.
fn generate() -> Result<TempDir> {
    let root = workspace::root();
    let mut queries = BTreeSet::new();
    for file in files_below(&root.join(SOURCES))? {
        let tokens: TokenStream = fs::read_to_string(&file)?
            .parse()
            .map_err(|error| anyhow::anyhow!("{} is not Rust: {error}", file.display()))?;
        collect_queries(tokens, &mut queries).with_context(|| file.display().to_string())?;
    }
    let database = TestDatabase::start()?;
    database.migrate(&root.join("migrations")).context("the migrations")?;
    let out = tempfile::tempdir()?;
    database.block_on(describe(database.url(), &queries, out.path()))?;
    Ok(out)
}

async fn describe(url: &str, queries: &BTreeSet<String>, out: &Path) -> Result<()> {
    let mut connection = PgConnection::connect(url).await?;
    for query in queries {
        let describe = (&mut connection)
            .describe(sqlx::AssertSqlSafe(query.as_str()).into_sql_str())
            .await
            .with_context(|| format!("PostgreSQL does not describe {query}"))?;
        let hash = hex::encode(Sha256::digest(query));
        let file = out.join(format!("query-{hash}.json"));
        let data = QueryData { db_name: "PostgreSQL", query, describe, hash };
        fs::write(file, serde_json::to_string_pretty(&data)? + "\n")?;
    }
    Ok(connection.close().await?)
}

/// Adds the texts of the checked queries below these tokens.
fn collect_queries(tokens: TokenStream, queries: &mut BTreeSet<String>) -> Result<()> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for window in tokens.windows(3) {
        let [TokenTree::Ident(name), TokenTree::Punct(mark), TokenTree::Group(arguments)] = window else { continue };
        let known = MACROS.iter().find(|(known, _)| name == known);
        if let (Some((_, at)), '!', Delimiter::Parenthesis) = (known, mark.as_char(), arguments.delimiter()) {
            queries.insert(query_text(arguments.stream(), *at).with_context(|| format!("a call of {name}!"))?);
        }
    }
    for token in tokens {
        if let TokenTree::Group(group) = token {
            collect_queries(group.stream(), queries)?;
        }
    }
    Ok(())
}

/// The argument at this place, which is one string, or several with `+` between them.
fn query_text(arguments: TokenStream, at: usize) -> Result<String> {
    let is_comma = |token: &TokenTree| matches!(token, TokenTree::Punct(mark) if mark.as_char() == ',');
    let arguments: Vec<TokenTree> = arguments.into_iter().collect();
    let argument = arguments.split(is_comma).nth(at).context("has no query")?;
    let mut text = String::new();
    for part in argument.split(|token| matches!(token, TokenTree::Punct(mark) if mark.as_char() == '+')) {
        text += &syn::parse2::<LitStr>(part.iter().cloned().collect())?.value();
    }
    ensure!(!text.is_empty(), "has an empty query");
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queries(source: &str) -> Vec<String> {
        let mut queries = BTreeSet::new();
        collect_queries(source.parse().unwrap(), &mut queries).unwrap();
        queries.into_iter().collect()
    }

    #[test]
    fn queries_are_found_wherever_a_macro_is_called() {
        let source = r##"
            fn a() { b(|| sqlx::query!("SELECT 1", x)); }
            const C: u8 = { query_as!(Row, r#"SELECT "a!""#) };
            macro_rules! d { () => { query_scalar!("SELECT " + "2") } }
        "##;
        assert_eq!(queries(source), ["SELECT \"a!\"", "SELECT 1", "SELECT 2"]);
    }

    #[test]
    fn a_query_that_is_no_string_is_refused() {
        let tokens = "query!(TEXT)".parse().unwrap();
        assert!(collect_queries(tokens, &mut BTreeSet::new()).is_err());
    }
}
