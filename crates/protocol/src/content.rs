//! Content addresses: CIDv1, raw codec, sha2-256. The CID carries the result hash and nothing else, so
//! either can be computed from the other without trusting anybody.

use cid::Cid;
use multihash::Multihash;

use crate::result_hash::ResultHash;

const RAW: u64 = 0x55;
const SHA2_256: u64 = 0x12;
const IPFS_SCHEME: &str = "ipfs://";

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a CIDv1 with raw codec and sha2-256")]
pub struct CidError;

/// The CID (base32 text) of content whose SHA-256 is `hash`.
pub fn cid_of(hash: &ResultHash) -> String {
    #[expect(clippy::expect_used, reason = "32 bytes always fit the 64 of the multihash type")]
    let digest = Multihash::<64>::wrap(SHA2_256, &hash.0).expect("32 bytes fit");
    Cid::new_v1(RAW, digest).to_string()
}

/// The URL of content under a base such as `https://api.example/ipfs`.
pub fn content_url(base: &str, hash: &ResultHash) -> String {
    format!("{}/{}", base.trim_end_matches('/'), cid_of(hash))
}

/// The address of content that names no server: `ipfs://` and the CID.
pub fn ipfs_uri(hash: &ResultHash) -> String {
    format!("{IPFS_SCHEME}{}", cid_of(hash))
}

/// Reads what [`ipfs_uri`] writes.
pub fn parse_ipfs_uri(uri: &str) -> Result<ResultHash, CidError> {
    parse_cid(uri.strip_prefix(IPFS_SCHEME).ok_or(CidError)?)
}

/// Reads a CID of that one form; every other kind is refused.
pub fn parse_cid(text: &str) -> Result<ResultHash, CidError> {
    // Base36, the longest base in use, needs 62 digits: longer text is refused before it is decoded.
    if text.len() > 128 {
        return Err(CidError);
    }
    let cid: Cid = text.parse().map_err(|_| CidError)?;
    if cid.version() != cid::Version::V1 || cid.codec() != RAW || cid.hash().code() != SHA2_256 {
        return Err(CidError);
    }
    cid.hash().digest().try_into().map(ResultHash).map_err(|_| CidError)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cid_of_a_known_content_is_the_one_other_tools_compute() {
        // Computed independently: base32 of 01 55 12 20 and the SHA-256 of "hello world".
        let cid = "bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e";
        assert_eq!(cid_of(&ResultHash::of(b"hello world")), cid);
        assert_eq!(parse_cid(cid), Ok(ResultHash::of(b"hello world")));
    }

    #[test]
    fn content_has_a_url_below_a_base_and_an_address_without_a_server() {
        let (hash, cid) = (ResultHash::of(b"hello"), cid_of(&ResultHash::of(b"hello")));
        for base in ["https://a.example/ipfs", "https://a.example/ipfs/"] {
            assert_eq!(content_url(base, &hash), format!("https://a.example/ipfs/{cid}"));
        }
        assert_eq!(ipfs_uri(&hash), format!("ipfs://{cid}"));
        assert_eq!(parse_ipfs_uri(&ipfs_uri(&hash)), Ok(hash));
        assert_eq!(parse_ipfs_uri(&cid), Err(CidError));
    }

    #[test]
    fn other_codecs_versions_and_junk_are_refused() {
        for bad in [
            "",
            "x",
            "QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnPbdG",
            "bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi",
            "../../etc/passwd",
        ] {
            assert_eq!(parse_cid(bad), Err(CidError), "{bad}");
        }
    }
}
