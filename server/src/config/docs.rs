//! `docs/configuration.md`, written from the list of settings.

use std::fmt::Write;

use super::{
    catalogue::{Setting, ValueKind, settings},
    load::{DEFAULT_FILE, shown},
};

/// The document.
pub fn markdown() -> String {
    let mut text = format!(
        "# Configuration of `crtx-server`\n\n\
         Written by `crtx-server config docs`; do not edit.\n\n\
         Settings come from a file in TOML, from environment variables and from flags; what comes later in this list \
         wins. The\nfile is the one that `--config` or `CRTX_CONFIG` names, else `{DEFAULT_FILE}` in the working \
         directory if it exists. Lists have\ncommas between their items in variables and flags. `crtx-server config \
         check` shows what is in force and where it was\nset, or every problem at once.\n\n\
         A secret is never printed and has no flag. Each secret `x` can also be set as `x_file` (variable \
         `CRTX_X_FILE`, flag\n`--x-file`): the path of a file that holds it, relative to the folder of the \
         configuration file where it is set there.\n"
    );
    let mut table = None;
    for setting in settings() {
        let (section, name) = setting.key.rsplit_once('.').unwrap_or(("", &setting.key));
        if table.as_deref() != Some(section) {
            let heading = if section.is_empty() { "General".to_owned() } else { format!("`[{section}]`") };
            let _ = write!(text, "\n## {heading}\n\n| Key | Variable, flag | Value | Default | What it sets |\n");
            text.push_str("|---|---|---|---|---|\n");
            table = Some(section.to_owned());
        }
        let _ = writeln!(
            text,
            "| `{name}` | {} | {} | {} | {} |",
            names(&setting),
            value(&setting),
            default(&setting),
            setting.documentation.replace('|', "\\|")
        );
    }
    text
}

fn names(setting: &Setting) -> String {
    let mut names = vec![format!("`{}`", setting.variable())];
    names.extend(setting.other_variable().map(|name| format!("`{name}`")));
    names.push(format!("`--{}`", setting.flag()));
    names.join(", ")
}

fn value(setting: &Setting) -> String {
    let kind = kind(&setting.kind);
    if setting.secret { format!("{kind}, secret") } else { kind }
}

fn kind(kind: &ValueKind) -> String {
    match kind {
        ValueKind::Text => "text".to_owned(),
        ValueKind::Integer { min, max } => match (min, max) {
            (Some(min), Some(max)) => format!("{min} to {max}"),
            (Some(min), None) => format!("number from {min}"),
            (None, Some(max)) => format!("number up to {max}"),
            (None, None) => "number".to_owned(),
        },
        ValueKind::Flag => "`true`, `false`".to_owned(),
        ValueKind::Choice(options) => options.iter().map(|option| format!("`{option}`")).collect::<Vec<_>>().join(", "),
        ValueKind::List(item) => format!("list of: {}", self::kind(item)),
    }
}

fn default(setting: &Setting) -> String {
    match shown(&setting.default) {
        text if setting.default.is_null() || text.is_empty() => "–".to_owned(),
        text => format!("`{text}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_names_every_setting() {
        let text = markdown();
        for setting in settings() {
            assert!(text.contains(&setting.variable()), "{}", setting.key);
        }
        assert!(
            text.contains(
                "| `connections` | `CRTX_DATABASE_CONNECTIONS`, `--database-connections` | 8 to 1000 | `32` |"
            )
        );
    }
}
