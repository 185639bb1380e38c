//! Arguments that several commands share.

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use anyhow::Context;
use clap::builder::BoolishValueParser;
use crtx_chain::deployment::ExpectedCode;
use crtx_protocol::usdc::UsdcBase;
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;
use url::Url;

use crate::{
    keypair_file, private_file,
    settings::{Settings, SignerRole},
    usage::http_url,
};

/// Longest life of a key: ten years.
const MAX_LIFETIME_S: i64 = 10 * 365 * 86_400;

#[derive(Clone, Debug, Default, clap::Args)]
pub struct ChainArgs {
    /// Solana RPC node
    #[arg(long, env = "CRTX_RPC_URL", value_name = "URL", value_parser = http_url, help_heading = "Network")]
    pub rpc_url: Option<Url>,
    /// Address of the marketplace program
    #[arg(long, env = "CRTX_PROGRAM_ID", value_name = "ADDRESS", help_heading = "Network")]
    pub program_id: Option<Pubkey>,
}

#[derive(Clone, Debug, Default, clap::Args)]
pub struct ServiceArgs {
    /// Base URL of the marketplace's API
    #[arg(long, env = "CRTX_URL", value_name = "BASE_URL", value_parser = http_url, help_heading = "Network")]
    pub url: Option<Url>,
    /// Send API keys and sign-ins over plain http to another machine, where everybody on the way can read them
    #[arg(long, env = "CRTX_ALLOW_HTTP", value_parser = BoolishValueParser::new(), help_heading = "Network")]
    pub allow_http: bool,
}

#[derive(Clone, Debug, Default, clap::Args)]
pub struct KeypairArgs {
    /// File with the key pair of the wallet, as the Solana CLI writes it
    #[arg(long, env = "CRTX_KEYPAIR", value_name = "FILE")]
    pub keypair: Option<PathBuf>,
}

impl KeypairArgs {
    /// The key pair that is given, else that of the user's own wallet.
    pub fn read(&self, settings: &Settings) -> anyhow::Result<Keypair> {
        keypair_file::read(&settings.keypair(self.keypair.as_deref(), SignerRole::Wallet)?.value)
    }
}

#[derive(Clone, Debug, Default, clap::Args)]
pub struct SendArgs {
    #[command(flatten)]
    pub keypair: KeypairArgs,
    #[command(flatten)]
    pub chain: ChainArgs,
    /// Send without asking
    #[arg(long, short = 'y')]
    pub yes: bool,
    /// Priority fee in millionths of a lamport for each compute unit
    #[arg(long, value_name = "MICRO_LAMPORTS", default_value_t = 0, hide_default_value = true)]
    pub priority_fee: u64,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Which code the program may have.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct CodeArgs {
    /// Hash of the code on chain, as `solana-verify` prints it [default: the code is the committed ELF]
    #[arg(long, env = "CRTX_CODE_HASH", value_name = "SHA256", value_parser = sha256)]
    pub code_hash: Option<String>,
}

impl CodeArgs {
    pub fn expected(&self) -> ExpectedCode {
        self.code_hash.clone().map_or(ExpectedCode::Committed, ExpectedCode::Hash)
    }
}

/// For the roles that a multisig can hold.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct RoleArgs {
    #[command(flatten)]
    pub send: SendArgs,
    /// Send nothing, and print the transaction that this address signs later, such as the vault of a multisig
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["yes", "priority_fee"])]
    pub unsigned_for: Option<Pubkey>,
}

#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct OutputArgs {
    /// Print one JSON value
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Debug, clap::Args)]
pub struct ChainReadArgs {
    #[command(flatten)]
    pub chain: ChainArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Clone, Debug, Default, clap::Args)]
pub struct ReadArgs {
    #[command(flatten)]
    pub keypair: KeypairArgs,
    #[command(flatten)]
    pub chain: ChainArgs,
    #[command(flatten)]
    pub service: ServiceArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// For commands that ask the service as the wallet itself.
#[derive(Clone, Debug, clap::Args)]
pub struct OwnerArgs {
    #[command(flatten)]
    pub keypair: KeypairArgs,
    #[command(flatten)]
    pub service: ServiceArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// The bytes of a file, or of standard input for `-`.
pub fn read_input(path: &Path, most_bytes: u64) -> anyhow::Result<Vec<u8>> {
    let read = match path.as_os_str() == "-" {
        true => private_file::read_bounded(std::io::stdin(), most_bytes),
        false => File::open(path).and_then(|file| private_file::read_bounded(file, most_bytes)),
    };
    read.with_context(|| format!("cannot read {}", path.display()))
}

/// The text that is given, or standard input for `-`.
pub fn read_text(argument: &str, most_bytes: u64) -> anyhow::Result<String> {
    match argument {
        "-" => String::from_utf8(read_input(Path::new("-"), most_bytes)?).context("standard input is not UTF-8 text"),
        text => Ok(text.to_owned()),
    }
}

fn sha256(text: &str) -> Result<String, String> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let is_hash = text.len() == 64 && text.bytes().all(is_digit);
    is_hash.then(|| text.to_owned()).ok_or_else(|| "not 64 lower-case hexadecimal digits".to_owned())
}

/// Reads an amount of USDC such as `0.05`.
pub fn usdc(text: &str) -> Result<UsdcBase, String> {
    UsdcBase::parse(text).map_err(|error| error.to_string())
}

/// The same, but more than 0.
pub fn some_usdc(text: &str) -> Result<UsdcBase, String> {
    usdc(text).and_then(|amount| match amount.0 {
        0 => Err("the amount must be more than 0".to_owned()),
        _ => Ok(amount),
    })
}

/// Reads an amount of SOL such as `0.05`, in lamports.
pub fn lamports(text: &str) -> Result<u64, String> {
    let wrong = || "not an amount of SOL with at most nine decimals, such as 0.05".to_owned();
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || fraction.len() > 9 {
        return Err(wrong());
    }
    format!("{whole}{fraction:0<9}").parse().map_err(|_| wrong())
}

/// Reads a time of days, hours, minutes or seconds such as `30d`, in seconds.
pub fn lifetime(text: &str) -> Result<i64, String> {
    let wrong = || "write a number and d, h, m or s, such as 30d, of at most ten years".to_owned();
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(wrong)?;
    let seconds = match unit {
        "d" => 86_400,
        "h" => 3_600,
        "m" => 60,
        "s" => 1,
        _ => return Err(wrong()),
    };
    let number: i64 = number.parse().map_err(|_| wrong())?;
    let total = number.checked_mul(seconds).filter(|total| (1..=MAX_LIFETIME_S).contains(total));
    total.ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_exact_decimals() {
        assert_eq!(usdc("0.000001"), Ok(UsdcBase(1)));
        assert_eq!(some_usdc("18446744073709.551615"), Ok(UsdcBase(u64::MAX)));
        for bad in ["0", "0.0", "0.0000001", "1e3", "-1", "1,5", "", "nan"] {
            assert!(some_usdc(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sol_is_an_exact_decimal_of_lamports() {
        assert_eq!(
            (lamports("0.05"), lamports("2"), lamports("0.000000001")),
            (Ok(50_000_000), Ok(2_000_000_000), Ok(1))
        );
        assert_eq!(lamports("18446744073.709551615"), Ok(u64::MAX));
        for bad in ["", ".", "1.", ".5", "-1", "1e3", "0.0000000001", "18446744073.709551616", "1,5", "+1"] {
            assert!(lamports(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_life_is_a_number_of_days_hours_minutes_or_seconds() {
        assert_eq!(
            (lifetime("30d"), lifetime("12h"), lifetime("1m"), lifetime("20s")),
            (Ok(2_592_000), Ok(43_200), Ok(60), Ok(20))
        );
        for bad in ["", "d", "0d", "-1d", "30", "0s", "1.5d", "99999d", "9223372036854775807d", "é", "3é"] {
            assert!(lifetime(bad).is_err(), "{bad}");
        }
    }
}
