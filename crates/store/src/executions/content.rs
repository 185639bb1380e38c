//! Results that the content store does not have yet. Until it has them, the rows serve them.

use solana_pubkey::Pubkey;

use super::leases::Executions;
use crate::{Result, database::run};

impl Executions {
    /// Notes that the result still has to be written to the content store.
    pub async fn content_missing(&self, record: &Pubkey) -> Result<()> {
        let statement = sqlx::query!(
            "INSERT INTO missing_content (record, sha256)
             SELECT record, result_hash FROM executions WHERE record = $1 AND result IS NOT NULL
             ON CONFLICT DO NOTHING",
            record.to_string(),
        );
        run(self.pool(), statement).await
    }

    /// Notes that the content store has the result of the row with this key.
    pub async fn content_stored(&self, key: &str) -> Result<()> {
        run(self.pool(), sqlx::query!("DELETE FROM missing_content WHERE record = $1", key)).await
    }

    /// Results that still have to be written to the content store, by the keys of their rows.
    pub async fn without_content(&self, limit: u32) -> Result<Vec<(String, Vec<u8>)>> {
        let rows = sqlx::query!(
            r#"SELECT record, e.result AS "result!" FROM missing_content JOIN executions e USING (record)
               WHERE e.result IS NOT NULL LIMIT $1"#,
            i64::from(limit),
        );
        Ok(rows.fetch_all(self.pool()).await?.into_iter().map(|row| (row.record, row.result)).collect())
    }

    /// A settled result by its hash, if the content store does not have it yet.
    pub async fn result_by_hash(&self, hash: &[u8; 32]) -> Result<Option<Vec<u8>>> {
        let row = sqlx::query_scalar!(
            r#"SELECT e.result AS "result!" FROM missing_content m JOIN executions e USING (record)
               WHERE m.sha256 = $1 AND e.result_hash = $1 AND e.state = 'completed' AND e.result IS NOT NULL LIMIT 1"#,
            hash.as_slice(),
        );
        Ok(row.fetch_optional(self.pool()).await?)
    }
}
