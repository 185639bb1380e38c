//! The arguments of `crtx-server`. Every setting that is no secret is a flag.

use std::{ffi::OsString, path::PathBuf};

use clap::{Arg, ArgAction, Command, value_parser};

use crate::config::{Setting, ValueKind, settings};

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Serve,
    /// Rebuild the mirror from the chain and end.
    Rebuild,
    /// Ask the running process whether it is ready.
    Ready,
    /// Print the settings that are in force.
    ConfigCheck,
    /// Print `docs/configuration.md`.
    ConfigDocs,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arguments {
    pub action: Action,
    pub file: Option<PathBuf>,
    /// Flags without their dashes, and what was given for them.
    pub flags: Vec<(String, String)>,
}

/// Reads the arguments; the error prints itself, and is also what `--help` ends with.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Arguments, clap::Error> {
    let matches = command().try_get_matches_from(arguments)?;
    // Global flags are found at the innermost command that was named.
    let (action, innermost) = match matches.subcommand() {
        Some(("config", config)) => match config.subcommand() {
            Some(("docs", docs)) => (Action::ConfigDocs, docs),
            Some((_, check)) => (Action::ConfigCheck, check),
            None => (Action::ConfigCheck, config),
        },
        Some(("rebuild", rebuild)) => (Action::Rebuild, rebuild),
        Some(("ready", ready)) => (Action::Ready, ready),
        _ => (Action::Serve, &matches),
    };
    let names = settings().into_iter().map(|setting| setting.flag());
    let flags = names.filter_map(|name| {
        let values: Vec<&str> = innermost.get_many::<String>(&name)?.map(String::as_str).collect();
        Some((name, values.join(",")))
    });
    let flags = flags.collect();
    Ok(Arguments { action, file: innermost.get_one::<PathBuf>("config-file").cloned(), flags })
}

/// The command line, for parsing and for `--help`.
pub fn command() -> Command {
    let config_file = Arg::new("config-file")
        .long("config")
        .env("CRTX_CONFIG")
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .global(true)
        .help("File of settings [default: crtx.toml, if it exists]");
    let flags = settings().into_iter().map(|setting| flag(&setting));
    Command::new("crtx-server")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Serves the API, mirrors the chain and resumes executions, as the roles of the process say")
        .arg(config_file)
        .args(flags)
        .subcommand(
            Command::new("rebuild")
                .about("Rebuild the mirror from all transactions of the program, closed records included, and end")
                .after_help(
                    "It goes on where an interrupted rebuild was, and may run while services use the database. The RPC \
                     node must keep all transactions.\n\nExample:\n  crtx-server --role indexer rebuild",
                ),
        )
        .subcommand(
            Command::new("ready")
                .about("Ask the process that has these settings for `/readyz`; the exit status is 1 unless it is ready")
                .after_help("For a container's health check, which needs no shell and no other program then."),
        )
        .subcommand(
            Command::new("config")
                .about("Look at the configuration without starting anything")
                .subcommand_required(true)
                .subcommand(
                    Command::new("check").about("Print what is in force and where it was set, or every problem"),
                )
                .subcommand(Command::new("docs").about("Print the documentation of every setting")),
        )
}

fn flag(setting: &Setting) -> Arg {
    let list = matches!(setting.kind, ValueKind::List(_));
    let help = if setting.secret {
        format!("File that holds: {}", setting.documentation)
    } else {
        setting.documentation.clone()
    };
    let value = if setting.secret {
        "FILE".to_owned()
    } else {
        match &setting.kind {
            ValueKind::Integer { .. } => "NUMBER".to_owned(),
            ValueKind::Flag => "true|false".to_owned(),
            ValueKind::Choice(options) => options.join("|"),
            ValueKind::List(_) => "LIST".to_owned(),
            ValueKind::Text => "VALUE".to_owned(),
        }
    };
    Arg::new(setting.flag())
        .long(setting.flag())
        .value_name(value)
        .global(true)
        .action(if list { ArgAction::Append } else { ArgAction::Set })
        .help(help)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Arguments {
        parse(text.split(' ').map(OsString::from)).expect(text)
    }

    #[test]
    fn the_command_line_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn a_role_is_named_once_for_each_flag_or_with_commas() {
        let flags = |text| parsed(text).flags;
        assert_eq!(flags("crtx-server --role api --role worker"), [("role".to_owned(), "api,worker".to_owned())]);
        assert_eq!(flags("crtx-server --role api,worker"), [("role".to_owned(), "api,worker".to_owned())]);
    }

    #[test]
    fn flags_may_stand_before_and_after_config_check() {
        for text in ["crtx-server --listen 1.2.3.4:5 config check", "crtx-server config check --listen 1.2.3.4:5"] {
            let arguments = parsed(text);
            assert_eq!(arguments.action, Action::ConfigCheck);
            assert_eq!(arguments.flags, [("listen".to_owned(), "1.2.3.4:5".to_owned())]);
        }
    }

    #[test]
    fn rebuild_takes_the_settings_of_a_process() {
        let arguments = parsed("crtx-server --role indexer rebuild");
        assert_eq!(arguments.action, Action::Rebuild);
        assert_eq!(arguments.flags, [("role".to_owned(), "indexer".to_owned())]);
    }

    #[test]
    fn secrets_are_flags_only_as_files() {
        assert!(parse(["crtx-server", "--database-url", "postgres://x"].map(OsString::from)).is_err());
        let flags = parsed("crtx-server --database-url-file /run/url").flags;
        assert_eq!(flags, [("database-url-file".to_owned(), "/run/url".to_owned())]);
    }
}
