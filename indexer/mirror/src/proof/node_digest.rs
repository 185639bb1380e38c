//! The digest of what a node shows, computed while its snapshot arrives.

use crtx_protocol::mirror_digest::{MirrorDigest, data_hash};

use crate::{
    snapshots::next_item,
    source::{Snapshot, SnapshotItem, SourceError, has_kind},
};

/// All accounts of the program, as one node shows them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeDigest {
    /// The lowest and the highest slot at which the node read. If they differ, an account may have changed between.
    pub from_slot: u64,
    pub to_slot: u64,
    pub accounts: u64,
    pub checksum: [u8; 32],
}

/// Reads a snapshot to its end. It holds one page at a time.
pub async fn of_snapshot(node: &str, mut snapshot: Snapshot) -> Result<NodeDigest, SourceError> {
    let (mut digest, mut accounts, mut slots) = (MirrorDigest::identity(), 0_u64, None::<(u64, u64)>);
    loop {
        match next_item(node, &mut snapshot).await? {
            SnapshotItem::Page { slot, accounts: page } => {
                slots = Some(slots.map_or((slot, slot), |(from, to)| (from.min(slot), to.max(slot))));
                for (address, data) in page.iter().filter(|(_, data)| has_kind(data)) {
                    digest.add(address, &data_hash(data));
                    accounts = accounts.saturating_add(1);
                }
            }
            SnapshotItem::End { slot } => {
                let (from_slot, to_slot) = slots.unwrap_or((slot, slot));
                return Ok(NodeDigest { from_slot, to_slot, accounts, checksum: digest.checksum() });
            }
        }
    }
}
