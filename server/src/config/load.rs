//! Reads the settings: file, then environment, then flags; what comes later wins. All problems are found in one pass.

use std::{collections::BTreeMap, fmt, fs, io, path::Path};

use serde::Deserialize;
use toml::{Table, Value};

use super::{
    catalogue::{self, Setting, ValueKind},
    model::ServerSettings,
};

/// A file of settings is short; a larger one is something else.
const MAX_FILE_BYTES: u64 = 256 * 1024;

/// The file that is read if it exists and no other is named.
pub const DEFAULT_FILE: &str = "crtx.toml";

/// Settings, and where each of them was set.
#[derive(Clone, Debug)]
pub struct Loaded {
    pub settings: ServerSettings,
    sources: BTreeMap<String, String>,
}

/// Everything that is wrong, setting by setting.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the configuration has {} problem{}:\n  {}", .0.len(), if .0.len() == 1 { "" } else { "s" }, .0.join("\n  "))]
pub struct Problems(pub Vec<String>);

impl Loaded {
    /// A problem with a setting, with the place where it was set.
    pub fn problem(&self, key: &str, text: impl fmt::Display) -> String {
        match self.sources.get(key) {
            Some(source) => format!("{key} ({source}): {text}"),
            None => format!("{key}: {text}"),
        }
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

/// Reads everything, or says everything that is wrong. Without `file`, [`DEFAULT_FILE`] is read if it exists. `flags` are
/// names without their dashes, and what was given for them.
pub fn load(
    file: Option<&Path>,
    environment: &dyn Fn(&str) -> Option<String>,
    flags: &[(String, String)],
) -> Result<Loaded, Problems> {
    let mut reader = ConfigReader { settings: catalogue::settings(), given: BTreeMap::new(), problems: Vec::new() };
    reader.file(file);
    reader.environment(environment);
    reader.flags(flags);
    reader.finish()
}

struct ConfigReader {
    settings: Vec<Setting>,
    /// What was set by key, and where. Of several values the last one.
    given: BTreeMap<String, (String, Value)>,
    problems: Vec<String>,
}

impl ConfigReader {
    fn file(&mut self, named: Option<&Path>) {
        let path = named.unwrap_or(Path::new(DEFAULT_FILE));
        let source = path.display().to_string();
        let text = match read_short(path) {
            Ok(text) => text,
            Err(error) if named.is_none() && error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => return self.problem("config", source, format!("cannot be read: {error}")),
        };
        let table: Table = match text.parse() {
            Ok(table) => table,
            // The message shows the line, in which a secret may stand.
            Err(error) => {
                let line = error.span().map(|span| text.get(..span.start).unwrap_or_default().lines().count());
                let line = line.map_or_else(String::new, |line| format!("line {}: ", line.max(1)));
                return self.problem("config", source, format!("{line}{}", error.message()));
            }
        };
        let folder = path.parent().unwrap_or(Path::new(""));
        for (key, value) in self.leaves(table) {
            if let Some(setting) = self.find(|setting| setting.key == key) {
                self.given.insert(setting.key, (source.clone(), value));
            } else if let Some(setting) = self.find(|setting| setting.file_key().as_deref() == Some(&key)) {
                match value.as_str() {
                    Some(file) => self.secret_file(setting, &source, &folder.join(file)),
                    None => self.problem(&key, source.clone(), "it is not a path".to_owned()),
                }
            } else {
                self.problem(&key, source.clone(), NO_SUCH_SETTING.to_owned());
            }
        }
    }

    fn environment(&mut self, variable: &dyn Fn(&str) -> Option<String>) {
        let set = |name: &str| variable(name).filter(|text| !text.is_empty()).map(|text| (name.to_owned(), text));
        for setting in self.settings.clone() {
            let own = setting.variable();
            let file = set(&format!("{own}_FILE")).filter(|_| setting.secret);
            let other = setting.other_variable().filter(|_| file.is_none());
            match (set(&own).or_else(|| other.and_then(set)), file) {
                (Some((name, _)), Some((file, _))) => {
                    let problem = "it is set as a value and as a file".to_owned();
                    self.problem(&setting.key, format!("environment: {name}, {file}"), problem);
                }
                (Some((name, text)), None) => self.text(setting, format!("environment: {name}"), &text),
                (None, Some((name, path))) => {
                    self.secret_file(setting, &format!("environment: {name}"), Path::new(&path));
                }
                (None, None) => {}
            }
        }
    }

    fn flags(&mut self, flags: &[(String, String)]) {
        for (flag, text) in flags {
            let source = format!("flag: --{flag}");
            match self.find(|setting| setting.flag() == *flag) {
                Some(setting) if setting.secret => self.secret_file(setting, &source, Path::new(text)),
                Some(setting) => self.text(setting, source, text),
                None => self.problem(flag, source, NO_SUCH_SETTING.to_owned()),
            }
        }
    }

    fn find(&self, is_it: impl Fn(&Setting) -> bool) -> Option<Setting> {
        self.settings.iter().find(|setting| is_it(setting)).cloned()
    }

    /// The settings of a file with their whole keys. A list, and a table in the place of a value, is one value.
    fn leaves(&self, table: Table) -> Vec<(String, Value)> {
        let mut leaves = Vec::new();
        for (name, value) in table {
            let section = format!("{name}.");
            match value {
                Value::Table(inside) if self.settings.iter().any(|setting| setting.key.starts_with(&section)) => {
                    leaves.extend(inside.into_iter().map(|(name, value)| (format!("{section}{name}"), value)));
                }
                value => leaves.push((name, value)),
            }
        }
        leaves
    }

    fn text(&mut self, setting: Setting, source: String, text: &str) {
        self.given.insert(setting.key, (source, read(&setting.kind, text)));
    }

    fn secret_file(&mut self, setting: Setting, source: &str, path: &Path) {
        let source = format!("{source}, file {}", path.display());
        match read_short(path) {
            Ok(text) => self.text(setting, source, text.trim()),
            Err(error) => self.problem(&setting.key, source, format!("the file cannot be read: {error}")),
        }
    }

    fn problem(&mut self, key: &str, source: String, text: String) {
        self.problems.push(format!("{key} ({source}): {text}"));
    }

    /// Reads the type. Each value is tried alone, so that an error belongs to it.
    fn finish(mut self) -> Result<Loaded, Problems> {
        let (mut all, mut sources) = (Table::new(), BTreeMap::new());
        for (key, (source, value)) in std::mem::take(&mut self.given) {
            let Some(setting) = self.find(|setting| setting.key == key) else { continue };
            let mut alone = Table::new();
            nest(&mut alone, &key, value.clone());
            match check(&setting, &value, alone) {
                Ok(()) => nest(&mut all, &key, value),
                Err(text) => self.problem(&key, source.clone(), text),
            }
            sources.insert(key, source);
        }
        match ServerSettings::deserialize(all) {
            Ok(settings) if self.problems.is_empty() => return Ok(Loaded { settings, sources }),
            Ok(_) => {}
            Err(error) => self.problems.push(format!("config: {}", error.message())),
        }
        self.problems.sort();
        Err(Problems(self.problems))
    }
}

const NO_SUCH_SETTING: &str = "there is no such setting";

/// Adds a setting to the table that the file would have.
fn nest(table: &mut Table, key: &str, value: Value) {
    let Some((section, name)) = key.split_once('.') else {
        table.insert(key.to_owned(), value);
        return;
    };
    if let Value::Table(inside) = table.entry(section).or_insert_with(|| Value::Table(Table::new())) {
        nest(inside, name, value);
    }
}

/// Whether the value fits the type and the bounds of its setting. The message never shows what a secret holds.
fn check(setting: &Setting, value: &Value, alone: Table) -> Result<(), String> {
    if setting.secret && !value.is_str() {
        return Err("it is not text".to_owned());
    }
    if let (ValueKind::Integer { min, max }, Some(number)) = (&setting.kind, value.as_integer()) {
        if let Some(min) = min.filter(|min| number < *min) {
            return Err(format!("{number} is below {min}"));
        }
        if let Some(max) = max.filter(|max| number > *max) {
            return Err(format!("{number} is above {max}"));
        }
    }
    ServerSettings::deserialize(alone).map(drop).map_err(|error| error.message().to_owned())
}

/// Reads the text of a variable or a flag as the kind of value that its setting has.
fn read(kind: &ValueKind, text: &str) -> Value {
    match kind {
        ValueKind::Integer { .. } => text.trim().parse::<i64>().map_or_else(|_| Value::from(text), Value::from),
        ValueKind::Flag => text.trim().parse::<bool>().map_or_else(|_| Value::from(text), Value::from),
        ValueKind::List(item) => {
            let items = text.split(',').map(str::trim).filter(|part| !part.is_empty());
            Value::from(items.map(|part| read(item, part)).collect::<Vec<_>>())
        }
        ValueKind::Text | ValueKind::Choice(_) => Value::from(text),
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
