//! Reads the settings: file, then environment, then flags; what comes later wins. All problems are found in one pass.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs, io,
    path::{Path, PathBuf},
};

use figment::{
    Error, Figment, Metadata, Profile, Provider,
    error::Kind as ErrorKind,
    util::nest,
    value::{Dict, Map, Value},
};

use super::{
    catalogue::{self, Kind, Setting},
    model::Settings,
};

/// A file of settings is short; a larger one is something else.
const MAX_FILE_BYTES: u64 = 256 * 1024;

/// The file that is read if it exists and no other is named.
pub const DEFAULT_FILE: &str = "crtx.toml";

/// Where settings come from.
pub struct Sources<'a> {
    /// `None`: [`DEFAULT_FILE`], if it exists.
    pub file: Option<PathBuf>,
    pub environment: &'a dyn Fn(&str) -> Option<String>,
    /// Flags without their dashes, and what was given for them.
    pub flags: Vec<(String, String)>,
}

/// Settings, and where each of them was set.
#[derive(Clone, Debug)]
pub struct Loaded {
    pub settings: Settings,
    sources: BTreeMap<String, String>,
}

/// Something that is wrong with one setting.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    pub key: String,
    /// Where the bad value was set; `None` if it was not set.
    pub source: Option<String>,
    pub text: String,
}

/// Everything that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Some(source) => write!(f, "{} ({source}): {}", self.key, self.text),
            None => write!(f, "{}: {}", self.key, self.text),
        }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.0.len();
        write!(f, "the configuration has {count} {}:", if count == 1 { "problem" } else { "problems" })?;
        self.0.iter().try_for_each(|problem| write!(f, "\n  {problem}"))
    }
}

impl std::error::Error for Problems {}

impl Loaded {
    /// A problem with a setting, with the place where it was set.
    pub fn problem(&self, key: &str, text: impl fmt::Display) -> Problem {
        Problem { key: key.to_owned(), source: self.sources.get(key).cloned(), text: text.to_string() }
    }

    /// Every setting with the value that is in force and where it comes from. Secrets are hidden.
    pub fn in_force(&self) -> Vec<(String, String, String)> {
        let values = serde_json::to_value(&self.settings).unwrap_or_default();
        let row = |setting: Setting| {
            let pointer = format!("/{}", setting.key.replace('.', "/"));
            let value = values.pointer(&pointer).filter(|value| !value.is_null());
            let value = value.map_or_else(|| "(not set)".to_owned(), shown);
            let source = self.sources.get(&setting.key).cloned().unwrap_or_else(|| "default".to_owned());
            (setting.key, value, source)
        };
        catalogue::settings().into_iter().map(row).collect()
    }
}

/// A value as it is written in the environment.
pub(super) fn shown(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

/// Reads everything, or says everything that is wrong.
pub fn load(sources: &Sources<'_>) -> Result<Loaded, Problems> {
    let mut reading = Reading { settings: catalogue::settings(), given: Vec::new(), problems: Vec::new() };
    reading.file(sources.file.as_deref());
    reading.environment(sources.environment);
    reading.flags(&sources.flags);
    reading.finish()
}

/// One value that somebody set.
#[derive(Clone)]
struct Given {
    key: String,
    source: String,
    value: Value,
}

impl Provider for Given {
    fn metadata(&self) -> Metadata {
        Metadata::named(self.source.clone())
    }

    fn data(&self) -> Result<Map<Profile, Dict>, Error> {
        let nested = nest(&self.key, self.value.clone()).into_dict().unwrap_or_default();
        Ok(Profile::Default.collect(nested))
    }
}

struct Reading {
    settings: Vec<Setting>,
    given: Vec<Given>,
    problems: Vec<Problem>,
}

impl Reading {
    fn file(&mut self, named: Option<&Path>) {
        let path = named.unwrap_or(Path::new(DEFAULT_FILE));
        let source = path.display().to_string();
        let text = match read_short(path) {
            Ok(text) => text,
            Err(error) if named.is_none() && error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => return self.problem("config", Some(source), format!("cannot be read: {error}")),
        };
        let table: toml::Table = match text.parse() {
            Ok(table) => table,
            // The message shows the line, in which a secret may stand.
            Err(error) => {
                let line = error.span().map(|span| text.get(..span.start).unwrap_or_default().lines().count());
                let line = line.map_or_else(String::new, |line| format!("line {}: ", line.max(1)));
                return self.problem("config", Some(source), format!("{line}{}", error.message()));
            }
        };
        let mut leaves = Vec::new();
        flatten(&self.settings, &table, "", &mut leaves);
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        for (key, value) in leaves {
            let value = Value::serialize(value).unwrap_or_else(|_| Value::from(""));
            if self.settings.iter().any(|setting| setting.key == key) {
                self.given(&key, &source, value);
            } else if let Some(setting) = self.secret_of(&key) {
                match value.as_str() {
                    Some(file) => self.secret_file(&setting, &source, &folder.join(file)),
                    None => self.problem(&key, Some(source.clone()), "it is not a path".to_owned()),
                }
            } else {
                self.problem(&key, Some(source.clone()), "there is no such setting".to_owned());
            }
        }
    }

    fn environment(&mut self, variable: &dyn Fn(&str) -> Option<String>) {
        let set = |name: &str| variable(name).filter(|text| !text.is_empty());
        for setting in self.settings.clone() {
            let own = setting.variable();
            let file = setting.file_key().map(|_| format!("{own}_FILE"));
            let file = file.and_then(|name| set(&name).map(|path| (name, path)));
            let other = setting.other_variable().filter(|_| file.is_none());
            let names = std::iter::once(own.as_str()).chain(other);
            let found = names.into_iter().find_map(|name| set(name).map(|text| (name.to_owned(), text)));
            match (found, file) {
                (Some((name, _)), Some((file, _))) => {
                    self.problem(&setting.key, Some(format!("environment: {name}, {file}")), GIVEN_TWICE.to_owned());
                }
                (Some((name, text)), None) => {
                    self.given(&setting.key, &format!("environment: {name}"), read(&setting.kind, &text));
                }
                (None, Some((name, path))) => {
                    self.secret_file(&setting, &format!("environment: {name}"), Path::new(&path));
                }
                (None, None) => {}
            }
        }
    }

    fn flags(&mut self, flags: &[(String, String)]) {
        for (flag, text) in flags {
            let source = format!("flag: --{flag}");
            let own = self.settings.iter().find(|setting| setting.flag() == *flag && !setting.secret).cloned();
            let file_of = || self.settings.iter().find(|s| s.secret && format!("{}-file", s.flag()) == *flag).cloned();
            match (own, file_of()) {
                (Some(setting), _) => self.given(&setting.key, &source, read(&setting.kind, text)),
                (None, Some(setting)) => self.secret_file(&setting, &source, Path::new(text)),
                (None, None) => self.problem(flag, Some(source), "there is no such setting".to_owned()),
            }
        }
    }

    /// The secret that `key` names a file for.
    fn secret_of(&self, key: &str) -> Option<Setting> {
        self.settings.iter().find(|setting| setting.file_key().as_deref() == Some(key)).cloned()
    }

    fn secret_file(&mut self, setting: &Setting, source: &str, path: &Path) {
        let source = format!("{source}, file {}", path.display());
        match read_short(path) {
            Ok(text) => self.given(&setting.key, &source, Value::from(text.trim().to_owned())),
            Err(error) => self.problem(&setting.key, Some(source), format!("the file cannot be read: {error}")),
        }
    }

    fn given(&mut self, key: &str, source: &str, value: Value) {
        self.given.push(Given { key: key.to_owned(), source: source.to_owned(), value });
    }

    fn problem(&mut self, key: &str, source: Option<String>, text: String) {
        self.problems.push(Problem { key: key.to_owned(), source, text });
    }

    /// Reads the type. A value that does not fit is noted and replaced by its default, until everything fits.
    fn finish(mut self) -> Result<Loaded, Problems> {
        let mut figment = Figment::new();
        for given in &self.given {
            figment = figment.merge(given.clone());
        }
        let sources: BTreeMap<String, String> = self.settings.iter().filter_map(|s| source_of(&figment, s)).collect();
        self.check_bounds(&figment, &sources);
        let settings = loop {
            let error = match figment.extract::<Settings>() {
                Ok(settings) => break settings,
                Err(error) => error,
            };
            let setting = error.path.join(".");
            let Some(setting) = self.settings.iter().find(|known| is_at(&setting, &known.key)).cloned() else {
                // No value of a known setting: nothing could be replaced.
                self.problem(&setting, None, error.kind.to_string());
                return Err(self.into_problems());
            };
            self.problem(&setting.key, sources.get(&setting.key).cloned(), describe(&setting, &error.kind));
            let default = Value::serialize(&setting.default).unwrap_or_else(|_| Value::from(""));
            figment = figment.merge(Given { key: setting.key, source: "default".to_owned(), value: default });
        };
        if self.problems.is_empty() { Ok(Loaded { settings, sources }) } else { Err(self.into_problems()) }
    }

    fn check_bounds(&mut self, figment: &Figment, sources: &BTreeMap<String, String>) {
        for setting in self.settings.clone() {
            let Kind::Integer { min, max } = setting.kind else { continue };
            let Some(number) = figment.find_value(&setting.key).ok().and_then(|value| value.to_i128()) else {
                continue;
            };
            let source = sources.get(&setting.key).cloned();
            if min.is_some_and(|min| number < i128::from(min)) {
                self.problem(&setting.key, source, format!("{number} is below {}", min.unwrap_or_default()));
            } else if max.is_some_and(|max| number > i128::from(max)) {
                self.problem(&setting.key, source, format!("{number} is above {}", max.unwrap_or_default()));
            }
        }
    }

    /// One problem of each setting, in the order of the keys.
    fn into_problems(self) -> Problems {
        let mut seen = BTreeSet::new();
        let mut problems = self.problems;
        problems.retain(|problem| seen.insert((problem.key.clone(), problem.source.clone())));
        problems.sort();
        Problems(problems)
    }
}

const GIVEN_TWICE: &str = "it is set as a value and as a file";

/// Whether an error at `path` is an error of the setting `key`: elements of lists have longer paths.
fn is_at(path: &str, key: &str) -> bool {
    path.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The message never shows what a secret holds.
fn describe(setting: &Setting, kind: &ErrorKind) -> String {
    match kind {
        ErrorKind::Message(message) => message.clone(),
        _ if setting.secret => "it is not text".to_owned(),
        ErrorKind::InvalidType(found, expected) | ErrorKind::InvalidValue(found, expected) => {
            format!("found {found}, expected {expected}")
        }
        other => other.to_string(),
    }
}

fn source_of(figment: &Figment, setting: &Setting) -> Option<(String, String)> {
    let metadata = figment.find_metadata(&setting.key)?;
    Some((setting.key.clone(), metadata.name.to_string()))
}

/// Reads the text of a variable or a flag as the kind of value that its setting has.
fn read(kind: &Kind, text: &str) -> Value {
    match kind {
        Kind::Integer { .. } => match text.trim().parse::<i64>() {
            Ok(number) => Value::from(number),
            Err(_) => text.trim().parse::<u64>().map_or_else(|_| Value::from(text), Value::from),
        },
        Kind::Flag => text.trim().parse::<bool>().map_or_else(|_| Value::from(text), Value::from),
        Kind::List(item) => {
            let items = text.split(',').map(str::trim).filter(|part| !part.is_empty());
            Value::from(items.map(|part| read(item, part)).collect::<Vec<_>>())
        }
        Kind::Text | Kind::Choice(_) => Value::from(text.to_owned()),
    }
}

/// The settings of a table with their whole keys. A list, and a table in the place of a value, is one value.
fn flatten<'a>(
    settings: &[Setting],
    table: &'a toml::Table,
    prefix: &str,
    leaves: &mut Vec<(String, &'a toml::Value)>,
) {
    for (name, value) in table {
        let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        let inside = format!("{key}.");
        match value {
            toml::Value::Table(table) if settings.iter().any(|setting| setting.key.starts_with(&inside)) => {
                flatten(settings, table, &key, leaves);
            }
            value => leaves.push((key, value)),
        }
    }
}

fn read_short(path: &Path) -> io::Result<String> {
    use io::Read;
    let mut text = String::new();
    fs::File::open(path)?.take(MAX_FILE_BYTES).read_to_string(&mut text)?;
    if text.len() as u64 >= MAX_FILE_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it is longer than {MAX_FILE_BYTES} bytes")));
    }
    Ok(text)
}
