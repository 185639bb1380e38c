//! What the documents say about the repository, checked: links, paths, names in code, commands, figures.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};

use crate::{
    command_lines::{self, Asked, asked},
    figures, markdown,
    markdown::Document,
    specification, workspace,
};

/// Paths that documents name and the repository does not contain, and why.
const FOREIGN_PATHS: [(&str, &str); 5] = [
    ("agent-ports.json", "`crtx agent init` writes it into the configuration folder"),
    ("crtx.toml", "the file of settings, which an operator writes"),
    ("crtx-server.toml", "`crtx up` writes it into its data directory"),
    ("local.json", "`crtx up` writes it into the configuration folder"),
    ("wallet.json", "`crtx wallet new` writes it into the configuration folder"),
];

/// Names in code that documents give and no source contains, and why.
const FOREIGN_NAMES: [(&str, &str); 14] = [
    ("axum::serve", "an item of a library"),
    ("transaction_depth", "an item of a library"),
    ("Clock::unix_timestamp", "an item of Solana's"),
    ("transfer_checked", "an instruction of the token program"),
    ("ProgM6JCCvbYkfKqJYHePx4xxSUSqJp7rh8Lyv7nk7S", "the address of Solana's Program Metadata program"),
    ("verifycLy8mB96wd9wqq3WDXQwM4oU6r42Th37Db9fC", "the address of the program of verified builds"),
    ("TimeLockNotReleased", "an error of Squads"),
    ("signatureSubscribe", "a method of Solana's RPC interface"),
    ("getTransactionsForAddress", "a method of an RPC provider"),
    ("auto_explain", "a module of PostgreSQL"),
    ("wal_sync_method", "a setting of PostgreSQL"),
    ("CRTX_USDC_MINT", "the former name of a variable"),
    ("_usdc", "the end of names"),
    ("--enable-rpc-transaction-history", "a flag of Solana's validator"),
];

/// The generated list of settings. It contains names of variables and flags that no source spells out.
const SETTINGS: &str = "docs/configuration.md";

/// Code that looks like a command and is none, and why.
const NO_COMMANDS: [(&str, &str); 1] = [("crtx session key v1", "a label of the key derivation")];

/// Endings of files that are paths even without a folder before them.
const ENDINGS: [&str; 13] = ["rs", "sql", "toml", "md", "ts", "tsx", "json", "mjs", "sh", "yml", "so", "c", "bc"];

/// Endings of sources, in which the names of the documents are looked up.
const SOURCES: [&str; 11] =
    [".rs", ".sql", ".py", ".mjs", ".ts", ".tsx", ".c", ".sh", ".toml", "tests/vectors/stored.json", SETTINGS];

/// Everything that the checks compare documents with.
#[derive(Clone)]
struct Repository {
    /// Every file, from the root.
    files: BTreeSet<String>,
    folders: BTreeSet<String>,
    /// Every word of every source.
    words: BTreeSet<String>,
    documents: BTreeMap<String, Document>,
    texts: BTreeMap<String, String>,
}

impl Repository {
    fn read() -> Result<Self> {
        let files = workspace::files()?;
        let mut repository = Self {
            folders: files.iter().flat_map(|file| folders_of(file)).collect(),
            files,
            words: BTreeSet::new(),
            documents: BTreeMap::new(),
            texts: BTreeMap::new(),
        };
        let has_words = |file: &str| {
            let is_source = SOURCES.iter().any(|ending| file.ends_with(ending)) && file != "xtask/src/documents.rs";
            is_source || file.starts_with(figures::FOLDER)
        };
        for (file, text) in workspace::texts(|file| has_words(file) || file.ends_with(".md"))? {
            if has_words(&file) {
                let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
                repository.words.extend(words.map(str::to_owned));
            }
            if file.ends_with(".md") {
                repository.documents.insert(file.clone(), markdown::read(&text));
                repository.texts.insert(file, text);
            }
        }
        Ok(repository)
    }

    /// Whether a path from the root leads to a file or a folder.
    fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        self.files.contains(path) || self.folders.contains(path)
    }

    /// Complaints about each item that `wrong` complains about.
    fn each<'a>(
        &'a self,
        items: impl Fn(&'a Document) -> &'a [(usize, String)],
        wrong: impl Fn(&str, &str) -> Option<String>,
    ) -> Vec<String> {
        let mut complaints = Vec::new();
        for (document, read) in &self.documents {
            for (line, item) in items(read) {
                complaints.extend(wrong(document, item).map(|what| format!("{document}:{line}: {what}")));
            }
        }
        complaints
    }

    fn wrong_links(&self) -> Vec<String> {
        self.each(|document| &document.links, |document, link| self.wrong_link(document, link))
    }

    fn wrong_link(&self, document: &str, link: &str) -> Option<String> {
        if link.contains("://") || link.starts_with("mailto:") {
            return None;
        }
        let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
        let target = if path.is_empty() { document.to_owned() } else { next_to(document, path) };
        if !self.has(&target) {
            return Some(format!("the link `{link}` leads to no file"));
        }
        let known =
            |anchor: &str| self.documents.get(&target).is_none_or(|read| read.anchors.iter().any(|a| a == anchor));
        (!anchor.is_none_or(known)).then(|| format!("the link `{link}` leads to no heading"))
    }

    fn wrong_paths(&self) -> Vec<String> {
        self.each(|document| &document.code, |document, code| self.wrong_path(document, code))
    }

    fn wrong_path(&self, document: &str, code: &str) -> Option<String> {
        let path = code.trim_end_matches('/');
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '-' | '_');
        if !path.chars().all(plain) || path.starts_with('/') || FOREIGN_PATHS.iter().any(|(known, _)| *known == path) {
            return None;
        }
        let has_ending =
            path.rsplit_once('.').is_some_and(|(name, ending)| !name.is_empty() && ENDINGS.contains(&ending));
        let top = path.split_once('/').map(|(top, _)| top);
        if !has_ending && !top.is_some_and(|top| self.folders.contains(top)) {
            return None;
        }
        let anywhere = format!("/{path}");
        let from_root = top.is_some_and(|top| self.folders.contains(top));
        let by_its_end = !from_root && self.files.iter().any(|file| file.ends_with(&anywhere));
        let found = self.has(path) || self.has(&next_to(document, path)) || by_its_end;
        (!found).then(|| format!("there is no `{path}`"))
    }

    /// Names such as `Type::function`, `function_name`, `TypeName` and `--flag` of which a part occurs in no source.
    fn wrong_names(&self) -> Vec<String> {
        self.each(|document| &document.code, |_, code| self.wrong_name(code))
    }

    fn wrong_name(&self, code: &str) -> Option<String> {
        if FOREIGN_NAMES.iter().any(|(known, _)| *known == code) {
            return None;
        }
        if let Some(flag) = code.strip_prefix("--") {
            let flag = flag.split([' ', '=']).next().unwrap_or_default();
            let setting = self.texts.get(SETTINGS).is_some_and(|text| text.contains(&format!("`--{flag}`")));
            let known = setting || self.words.contains(&flag.replace('-', "_"));
            return (!known).then(|| format!("`{code}`: no command has this flag"));
        }
        let name = code.trim_end_matches("()");
        let of_code = |c: char| c.is_alphanumeric() || matches!(c, ':' | '_');
        let hump = |pair: (char, char)| pair.0.is_lowercase() && pair.1.is_uppercase();
        let is_name = name.contains("::") || name.contains('_') || name.chars().zip(name.chars().skip(1)).any(hump);
        if !is_name || !name.chars().all(of_code) {
            return None;
        }
        let files = |word: &str| self.files.iter().any(|file| file.ends_with(&format!("/{word}.rs")));
        let unknown = name.split("::").find(|word| !self.words.contains(*word) && !files(word));
        unknown.map(|word| format!("`{name}`: no source contains `{word}`"))
    }

    /// Every command line of the documents, in blocks and in sentences.
    fn commands(&self) -> Vec<(String, String)> {
        const PROGRAMS: [&str; 4] = ["cargo ", "crtx ", "crtx-server ", "npm "];
        let is_command = |code: &str| {
            let is_none = NO_COMMANDS.iter().any(|(known, _)| *known == code);
            !is_none && PROGRAMS.iter().any(|program| code.starts_with(program))
        };
        let mut commands = Vec::new();
        for (document, read) in &self.documents {
            let inline = read.code.iter().filter(|(_, code)| is_command(code));
            for (line, command) in read.shell.iter().chain(inline) {
                commands.push((format!("{document}:{line}"), command.clone()));
            }
        }
        commands
    }

    /// Figures that a document repeats as "20000 lamports (`execution_base_fee`)", and that were measured otherwise.
    fn wrong_figures(&self) -> Result<Vec<String>> {
        let figures = figures::by_name()?;
        let mut wrong = Vec::new();
        for (document, text) in &self.texts {
            // A line may end between a figure and its name.
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            for (name, (value, unit)) in &figures {
                let cited = format!(" (`{name}`)");
                for (at, _) in text.match_indices(&cited) {
                    let before = text.get(..at).unwrap_or_default();
                    let measured = format!("{value} {unit}");
                    let says_it = before.ends_with(measured.trim_end());
                    let says_a_number = before.rsplit(' ').take(2).any(|word| word.parse::<f64>().is_ok());
                    if says_a_number && !says_it {
                        wrong.push(format!("{document}: `{name}` is {measured}"));
                    }
                }
            }
        }
        Ok(wrong)
    }
}

/// Every folder that a file lies in.
fn folders_of(file: &str) -> Vec<String> {
    file.match_indices('/').filter_map(|(at, _)| file.get(..at)).map(str::to_owned).collect()
}

/// The path that `path` means in a document.
fn next_to(document: &str, path: &str) -> String {
    let mut parts: Vec<&str> = document.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Every command line of `cargo xtask` in the documents: place and arguments.
#[cfg(test)]
pub fn xtask_command_lines() -> Result<Vec<(String, Vec<String>)>> {
    let commands = Repository::read()?.commands();
    let of_xtask = |(place, command): (String, String)| match asked(&command) {
        Asked::Xtask(arguments) => Some((place, arguments)),
        _ => None,
    };
    Ok(commands.into_iter().filter_map(of_xtask).collect())
}

/// Everything that is wrong in the documents, as far as it is known without the programs of this repository.
fn wrong_documents(repository: &Repository) -> Result<Vec<String>> {
    let mut wrong = [repository.wrong_links(), repository.wrong_paths(), repository.wrong_names()].concat();
    wrong.extend(repository.wrong_figures()?);
    wrong.extend(figures::differing_tables(&repository.texts)?);
    wrong.extend(specification::missing()?);
    for (place, command) in repository.commands() {
        wrong.extend(
            command_lines::wrong(&command, |path| repository.has(path))?.map(|what| format!("{place}: {what}")),
        );
    }
    Ok(wrong)
}

/// Checks all documents. The command lines of `crtx` and `crtx-server` go to these programs with `--help` at the end:
/// a program then reads the whole line and does nothing.
pub fn check() -> Result<String> {
    workspace::build_binaries()?;
    let repository = Repository::read()?;
    let mut wrong = wrong_documents(&repository)?;
    let mut seen = BTreeSet::new();
    for (place, command) in repository.commands() {
        let Asked::Program(program, arguments) = asked(&command) else { continue };
        if !seen.insert(command.clone()) {
            continue;
        }
        let mut process = Command::new(workspace::binary(program));
        process.args(&arguments).arg("--help").stdin(Stdio::null());
        let output = process.output().with_context(|| format!("cannot start {program}"))?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or_default().to_owned();
            wrong.push(format!("{place}: `{command}`: {why}"));
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    let documents = repository.documents.len();
    let commands = seen.len();
    Ok(format!("{documents} documents: links, paths, names, figures and {commands} command lines are right"))
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;

    fn repository() -> Repository {
        static READ: LazyLock<Repository> = LazyLock::new(|| Repository::read().expect("the repository is read"));
        READ.clone()
    }

    const NONE: Vec<String> = Vec::new();

    #[test]
    fn every_link_leads_to_a_file_and_a_heading() {
        assert_eq!(repository().wrong_links(), NONE);
    }

    #[test]
    fn every_path_in_code_exists() {
        assert_eq!(repository().wrong_paths(), NONE);
    }

    #[test]
    fn every_name_in_code_exists() {
        assert_eq!(repository().wrong_names(), NONE);
    }

    #[test]
    fn commands_and_figures_are_those_of_the_repository() {
        assert_eq!(wrong_documents(&repository()).expect("the documents are checked"), NONE);
    }

    #[test]
    fn exemptions_are_still_needed() {
        let repository = repository();
        let code: BTreeSet<&str> =
            repository.documents.values().flat_map(|read| &read.code).map(|(_, code)| code.as_str()).collect();
        for (name, _) in FOREIGN_PATHS.iter().chain(&FOREIGN_NAMES).chain(&NO_COMMANDS) {
            assert!(
                code.iter().any(|code| code.trim_end_matches(['/', '(', ')']) == *name),
                "no document names `{name}`"
            );
            assert!(!repository.has(name), "the repository has `{name}`");
        }
    }

    #[test]
    fn the_checks_find_what_is_wrong() {
        let mut repository = repository();
        let no_name = ["no_such", "function"].join("_");
        let text = format!("[a](gone.md) `docs/gone.md` `gone.rs` `documents::{no_name}` `cargo build -p gone`\n");
        repository.documents = BTreeMap::from([("new.md".to_owned(), markdown::read(&text))]);
        assert_eq!(repository.wrong_links(), ["new.md:1: the link `gone.md` leads to no file"]);
        assert_eq!(
            repository.wrong_paths(),
            ["new.md:1: there is no `docs/gone.md`", "new.md:1: there is no `gone.rs`"]
        );
        assert_eq!(repository.wrong_names().len(), 1);
        let commands = repository.commands();
        assert_eq!(commands.len(), 1);
        let wrong = command_lines::wrong(&commands[0].1, |path| repository.has(path));
        assert!(wrong.expect("the manifests are read").is_some());
    }

    #[test]
    fn a_link_without_heading_is_found() {
        let mut repository = repository();
        repository.files.insert("new.md".to_owned());
        repository.documents.insert("new.md".to_owned(), markdown::read("# Here\n[a](#here) [b](#there)\n"));
        let wrong: Vec<_> = repository.wrong_links().into_iter().filter(|wrong| wrong.starts_with("new.md")).collect();
        assert_eq!(wrong, ["new.md:2: the link `#there` leads to no heading"]);
    }

    #[test]
    fn another_figure_than_the_measured_one_is_found() {
        let mut repository = repository();
        let (name, (value, unit)) = figures::by_name().expect("figures").pop_first().expect("a figure");
        let cite = |value: f64| format!("It takes {value} {unit} (`{name}`) and (`{name}`) of them.");
        repository.texts = BTreeMap::from([("a.md".to_owned(), cite(value)), ("b.md".to_owned(), cite(value / 3.0))]);
        let wrong = repository.wrong_figures().expect("compared");
        assert_eq!(wrong.len(), 1, "{wrong:?}");
        assert!(wrong[0].starts_with("b.md"), "{wrong:?}");
    }

    #[test]
    fn paths_are_relative_to_their_document() {
        assert_eq!(next_to("docs/adr/README.md", "../api.md"), "docs/api.md");
        assert_eq!(next_to("README.md", "docs/"), "docs");
    }
}
