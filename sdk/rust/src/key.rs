//! The key that signs results, in the file format of the Solana command line: a JSON array of 64 numbers.

use std::{env, fs, io, path::Path};

use ed25519_dalek::SigningKey;

/// Reads the file of a key pair.
pub fn from_file(path: impl AsRef<Path>) -> io::Result<SigningKey> {
    parse(&fs::read(path)?)
}

/// Reads the content of such a file from an environment variable.
pub fn from_env(name: &str) -> io::Result<SigningKey> {
    parse(env::var(name).map_err(|error| io::Error::other(format!("{name}: {error}")))?.as_bytes())
}

/// Reads the content of such a file. An error shows nothing of it.
pub fn parse(bytes: &[u8]) -> io::Result<SigningKey> {
    let numbers = serde_json::from_slice::<Vec<u8>>(bytes).ok().and_then(|numbers| numbers.try_into().ok());
    let pair = numbers.and_then(|pair: [u8; 64]| SigningKey::from_keypair_bytes(&pair).ok());
    pair.ok_or_else(|| io::Error::other("a key pair is 64 numbers, the second half of which is the public key"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_pair_of_the_solana_command_line_is_read_and_nothing_else() {
        let key = SigningKey::from_bytes(&[7; 32]);
        let mut pair = key.to_keypair_bytes().to_vec();
        let text = |pair: &[u8]| serde_json::to_vec(pair).expect("JSON");
        assert_eq!(parse(&text(&pair)).expect("a key"), key);
        assert!(parse(&text(&pair[..63])).is_err() && parse(b"[256]").is_err() && parse(b"").is_err());
        pair[63] ^= 1;
        assert!(parse(&text(&pair)).is_err(), "another public key");
    }
}
