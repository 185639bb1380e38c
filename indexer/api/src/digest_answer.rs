//! A digest in answers.

use crtx_store::mirror;
use serde::Serialize;
use utoipa::ToSchema;

/// The digest of all accounts of the program at one finalized slot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct DigestAnswer {
    /// A finalized slot.
    pub slot: u64,
    /// Accounts of the program at that slot.
    pub accounts: u64,
    /// The checksum of their lattice hash, 64 hexadecimal digits.
    #[schema(pattern = "^[0-9a-f]{64}$")]
    pub checksum: String,
}

impl From<mirror::DigestRow> for DigestAnswer {
    fn from(row: mirror::DigestRow) -> Self {
        let checksum = row.checksum.iter().map(|byte| format!("{byte:02x}")).collect();
        Self { slot: row.slot, accounts: row.accounts, checksum }
    }
}
