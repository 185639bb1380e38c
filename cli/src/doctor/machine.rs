//! The configuration and the key pair on this machine.

use solana_pubkey::Pubkey;
use solana_signer::Signer;

use super::finding::Finding;
use crate::{
    arguments::KeypairArgs,
    keypair_file,
    output::shell_word,
    private_file,
    settings::{Role, Settings},
};

/// What was found, and the address of the wallet.
pub fn look(settings: &Settings, keypair: &KeypairArgs) -> (Vec<Finding>, Option<Pubkey>) {
    let (wallet, address) = wallet(settings, keypair);
    (vec![configuration(settings), wallet], address)
}

fn configuration(settings: &Settings) -> Finding {
    let name = "config";
    let folder = settings.folder.display();
    // Its files are read by now; a transaction needs to write there.
    match private_file::create_folder(&settings.folder) {
        Err(error) => Finding::wrong(
            name,
            format!("{folder} cannot be made: {error}"),
            "make the folder, or set CRTX_CONFIG_DIR to one that you can write",
        ),
        Ok(()) if private_file::is_open_to_others(&settings.folder).unwrap_or(false) => Finding::note(
            name,
            format!("{folder} (network {}); other users of this machine can look into it", settings.network),
            format!("chmod 700 {}", shell_word(&settings.folder.to_string_lossy())),
        ),
        Ok(()) => Finding::ok(name, format!("{folder} (network {})", settings.network)),
    }
}

fn wallet(settings: &Settings, keypair: &KeypairArgs) -> (Finding, Option<Pubkey>) {
    let name = "wallet";
    let found = match settings.keypair(keypair.keypair.as_deref(), Role::Wallet) {
        Ok(found) => found,
        Err(error) => return (Finding::wrong(name, error.to_string(), "crtx wallet new"), None),
    };
    let path = found.value.display();
    match keypair_file::read(&found.value) {
        Err(error) => {
            let fix = "name another file with --keypair or CRTX_KEYPAIR, or make one with: crtx wallet new";
            (Finding::wrong(name, format!("{error:#}"), fix), None)
        }
        Ok(key) if private_file::is_open_to_others(&found.value).unwrap_or(false) => {
            let detail = format!("other users of this machine can read {path}");
            (
                Finding::wrong(name, detail, format!("chmod 600 {}", shell_word(&found.value.to_string_lossy()))),
                Some(key.pubkey()),
            )
        }
        Ok(key) => (Finding::ok(name, format!("{} ({path}, {})", key.pubkey(), found.source)), Some(key.pubkey())),
    }
}
