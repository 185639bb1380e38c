//! The mirror of a chain that lost its last blocks: rows that show more than the chain has go, all others stay.

use solana_pubkey::Pubkey;
use sqlx::PgConnection;

use super::{Batch, MirrorRow, apply};
use crate::StoreError;

impl Batch {
    /// Address and revision of every account that could be read.
    fn revisions(&self) -> (Vec<String>, Vec<i64>) {
        fn of<R: MirrorRow>(row: &R) -> (String, i64) {
            (row.address().to_owned(), row.version().0)
        }
        self.configs
            .values()
            .map(of)
            .chain(self.creators.values().map(of))
            .chain(self.agents.values().map(of))
            .chain(self.executions.values().map(of))
            .chain(self.disputes.values().map(of))
            .chain(self.grants.values().map(of))
            .unzip()
    }
}

/// Makes the mirror what a snapshot of the chain says: rows of the accounts in `lost`, which were never on this
/// chain, go, and rows of a later revision than the snapshot's are replaced. Rows of closed accounts stay.
pub async fn set_back(connection: &mut PgConnection, snapshot: &Batch, lost: &[Pubkey]) -> Result<u64, StoreError> {
    let lost: Vec<String> = lost.iter().map(Pubkey::to_string).collect();
    let (addresses, revisions) = snapshot.revisions();
    let mut removed: u64 = 0;
    macro_rules! remove {
        ($($statement:literal),+ $(,)?) => {
            $(removed = removed.saturating_add(
                sqlx::query!($statement, &lost, &addresses, &revisions)
                    .execute(&mut *connection)
                    .await?
                    .rows_affected(),
            );)+
        };
    }
    remove!(
        "DELETE FROM mirror_config t WHERE address = ANY($1) OR EXISTS (
             SELECT FROM unnest($2::text[], $3::bigint[]) AS s (a, r) WHERE s.a = t.address AND s.r < t.revision)",
        "DELETE FROM mirror_creators t WHERE address = ANY($1) OR EXISTS (
             SELECT FROM unnest($2::text[], $3::bigint[]) AS s (a, r) WHERE s.a = t.address AND s.r < t.revision)",
        "DELETE FROM mirror_agents t WHERE address = ANY($1) OR EXISTS (
             SELECT FROM unnest($2::text[], $3::bigint[]) AS s (a, r) WHERE s.a = t.address AND s.r < t.revision)",
        "DELETE FROM mirror_executions t WHERE address = ANY($1) OR EXISTS (
             SELECT FROM unnest($2::text[], $3::bigint[]) AS s (a, r) WHERE s.a = t.address AND s.r < t.revision)",
        "DELETE FROM mirror_disputes t WHERE address = ANY($1) OR EXISTS (
             SELECT FROM unnest($2::text[], $3::bigint[]) AS s (a, r) WHERE s.a = t.address AND s.r < t.revision)",
        "DELETE FROM mirror_grants t WHERE address = ANY($1) OR EXISTS (
             SELECT FROM unnest($2::text[], $3::bigint[]) AS s (a, r) WHERE s.a = t.address AND s.r < t.revision)",
    );
    apply(connection, snapshot).await?;
    Ok(removed)
}
