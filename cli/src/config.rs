//! `crtx config`: shows and changes what commands use where no flag says otherwise.

use serde_json::json;

use crate::{
    arguments::{OutputArgs, ReadArgs},
    output::{self, say, table},
    settings::{CONFIG_FILE_NAME, LocalRun, Settings, SignerRole, Source, Sourced},
    usage::UsageError,
};

#[derive(Clone, Debug, clap::Subcommand)]
pub enum ConfigCommand {
    /// Show what commands use on this network, and where each value comes from
    #[command(after_help = "Example:\n  crtx config show --network devnet")]
    Show(ReadArgs),
    /// Set a value in config.toml; an empty value removes it
    #[command(after_help = "Example:\n  crtx config set devnet.rpc_url https://rpc.example")]
    Set(SetArgs),
    /// Print the path of config.toml
    #[command(after_help = "Example:\n  crtx config path")]
    Path(OutputArgs),
}

#[derive(Clone, Debug, clap::Args)]
pub struct SetArgs {
    /// network, or url, rpc_url, program_id or keypair, with or without a network in front (devnet.url)
    key: String,
    /// The value
    #[arg(allow_hyphen_values = true)]
    value: String,
    #[command(flatten)]
    output: OutputArgs,
}

pub fn run(command: ConfigCommand, settings: &Settings) -> anyhow::Result<()> {
    match command {
        ConfigCommand::Show(arguments) => show(&arguments, settings),
        ConfigCommand::Set(arguments) => set(&arguments, settings),
        ConfigCommand::Path(arguments) => path(arguments, settings),
    }
}

fn show(arguments: &ReadArgs, settings: &Settings) -> anyhow::Result<()> {
    let keypair = settings.keypair(arguments.keypair.keypair.as_deref(), SignerRole::Wallet).ok();
    let rows = [
        ("url", settings.url(arguments.service.url.as_ref()).ok().map(text)),
        ("rpc_url", settings.rpc_url_if_any(arguments.chain.rpc_url.as_ref())?.map(text)),
        ("program_id", Some(text(settings.program_id(arguments.chain.program_id)?))),
        ("keypair", keypair.map(|found| (found.value.display().to_string(), found.source))),
    ];
    let used = |run: &LocalRun| settings.local.as_ref().is_some_and(|used| used.data_dir == run.data_dir);
    if arguments.output.json {
        let values = rows.iter().map(|(name, found)| {
            let (value, source) = found.clone().unzip();
            ((*name).to_owned(), json!({"value": value, "source": source}))
        });
        let mut all: serde_json::Map<String, serde_json::Value> = values.collect();
        all.insert("network".to_owned(), json!(settings.network));
        let runs = settings.locals.iter().map(|run| {
            json!({"name": run.name, "data_dir": run.data_dir, "url": run.base_url, "rpc_url": run.rpc_url,
                "started_at": output::json_time(run.started_at), "running": run.is_running(), "used": used(run)})
        });
        all.insert("local_networks".to_owned(), runs.collect());
        all.insert("config_folder".to_owned(), json!(settings.folder));
        return output::json(&all);
    }
    let shown = rows.into_iter().map(|(name, found)| {
        let (value, source) = found.map_or_else(|| ("-".to_owned(), String::new()), |(v, s)| (v, s.to_string()));
        vec![name.to_owned(), value, source]
    });
    say!("network {}", settings.network);
    output::page(&table(&["setting", "value", "from"], shown.collect()));
    if !settings.locals.is_empty() {
        let runs = settings.locals.iter().map(|run| {
            vec![
                run.name.clone().unwrap_or_else(|| "-".to_owned()),
                match (run.is_running(), used(run)) {
                    (true, true) => "runs, used here",
                    (true, false) => "runs",
                    (false, true) => "not running, used here",
                    (false, false) => "not running",
                }
                .to_owned(),
                run.base_url.clone().unwrap_or_else(|| "-".to_owned()),
                output::time(run.started_at),
                run.data_dir.display().to_string(),
            ]
        });
        say!("");
        output::page(&table(&["network", "state", "url", "started", "data directory"], runs.collect()));
    }
    Ok(())
}

/// A value as text, and where it comes from.
fn text(found: Sourced<impl ToString>) -> (String, Source) {
    (found.value.to_string(), found.source)
}

fn set(arguments: &SetArgs, settings: &Settings) -> anyhow::Result<()> {
    let mut file = settings.file.clone();
    let is_path = arguments.key.rsplit('.').next() == Some("keypair") && !arguments.value.is_empty();
    let value = match is_path {
        // The file names the key pair from every folder.
        true => std::path::absolute(&arguments.value)?
            .into_os_string()
            .into_string()
            .map_err(|path| UsageError::new(format!("The path {} is not text.", path.display())))?,
        false => arguments.value.clone(),
    };
    file.set(&arguments.key, &value, settings.network)?;
    file.write(&settings.folder)?;
    if arguments.output.json {
        return output::json(&json!({"key": arguments.key, "value": value}));
    }
    Ok(())
}

fn path(output: OutputArgs, settings: &Settings) -> anyhow::Result<()> {
    let path = settings.folder.join(CONFIG_FILE_NAME);
    if output.json {
        return output::json(&json!({"path": path}));
    }
    say!("{}", path.display());
    Ok(())
}
