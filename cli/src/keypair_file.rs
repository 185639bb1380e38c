//! Key pairs in the file format of the Solana command line: a JSON array of 64 numbers.

use std::{io, path::Path};

use anyhow::{Context, anyhow, bail};
use solana_keypair::Keypair;

use crate::{
    output::{note, shell_word},
    private_file,
};

/// Reads a key pair. Warns if other users of the machine can read it too.
pub fn read(path: &Path) -> anyhow::Result<Keypair> {
    let bytes = private_file::read(path).with_context(|| format!("cannot read the key pair {}", path.display()))?;
    let bytes = bytes.with_context(|| {
        format!("there is no key pair {}; make one with: crtx wallet new --out {0}", path.display())
    })?;
    let keypair = parse(&bytes).map_err(|what| anyhow!("{} holds no key pair: {what}", path.display()))?;
    if private_file::is_open_to_others(path).unwrap_or(false) {
        note!(
            "crtx: warning: other users of this machine can read {}; run: chmod 600 {}",
            path.display(),
            shell_word(&path.to_string_lossy())
        );
    }
    Ok(keypair)
}

fn parse(bytes: &[u8]) -> Result<Keypair, &'static str> {
    let numbers: Vec<u8> = serde_json::from_slice(bytes).map_err(|_| "not a JSON array of 64 numbers from 0 to 255")?;
    let not_a_pair = "not 64 numbers whose second half is the public key of the first half";
    Keypair::try_from(numbers.as_slice()).map_err(|_| not_a_pair)
}

/// Makes a key pair and writes it to a file that must not exist yet.
pub fn create(path: &Path) -> anyhow::Result<Keypair> {
    let keypair = Keypair::new();
    match private_file::write_new(path, &serde_json::to_vec(&keypair.to_bytes().to_vec())?) {
        Ok(()) => Ok(keypair),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            bail!("{} exists and is not replaced; name another file with --out", path.display())
        }
        Err(error) => Err(error).with_context(|| format!("cannot write {}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use solana_signer::Signer;

    use super::*;

    #[test]
    fn a_new_key_pair_is_private_read_back_and_never_overwritten() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("id.json");
        let made = create(&path).expect("makes");
        assert!(!private_file::is_open_to_others(&path).expect("file"));
        assert_eq!(read(&path).expect("reads").pubkey(), made.pubkey());
        let error = create(&path).expect_err("refused").to_string();
        assert!(error.contains("exists"), "{error}");
        assert_eq!(read(&path).expect("reads").pubkey(), made.pubkey());
    }

    #[test]
    fn what_is_not_a_key_pair_is_refused_with_the_reason() {
        let mut swapped = Keypair::new_from_array([1; 32]).to_bytes().to_vec();
        swapped[63] ^= 1;
        let swapped = serde_json::to_vec(&swapped).expect("json");
        for (bytes, says) in [
            (b"nonsense".as_slice(), "JSON array"),
            (b"[1,2,3]", "64 numbers"),
            (b"[256]", "JSON array"),
            (swapped.as_slice(), "second half"),
        ] {
            let error = parse(bytes).expect_err("refused");
            assert!(error.contains(says), "{error}");
        }
        let missing = read(Path::new("/nowhere/id.json")).expect_err("refused").to_string();
        assert!(missing.contains("crtx wallet new"), "{missing}");
    }
}
