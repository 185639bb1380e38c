//! Stored results against their hashes. PostgreSQL hashes them, so that they need not travel.

use sqlx::PgExecutor;

use crate::error::StoreError;

/// Results that were compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResultPage {
    /// Record of the last one; `None` if there are no more.
    pub last: Option<String>,
    pub compared: u64,
    /// Record, and what is wrong.
    pub wrong: Vec<(String, String)>,
    /// SHA-256 of every result that is paid for, for a look into the content store.
    pub paid: Vec<Vec<u8>>,
}

/// Results of records after `after`, in the order of the records.
pub async fn results(executor: impl PgExecutor<'_>, after: &str, limit: u32) -> Result<ResultPage, StoreError> {
    let rows = sqlx::query!(
        r#"SELECT e.record, e.result_hash,
                  e.result IS NOT NULL AND sha256(e.result) IS DISTINCT FROM e.result_hash AS "altered!",
                  e.state = 'completed' AND NOT e.settled_elsewhere AND is_settled(m.status)
                      AND m.result_hash IS DISTINCT FROM e.result_hash AS "other?",
                  e.state = 'completed' AS "completed!"
           FROM executions e LEFT JOIN mirror_executions m ON m.address = e.record
           WHERE e.result_hash IS NOT NULL AND e.record > $1
           ORDER BY e.record LIMIT $2"#,
        after,
        i64::from(limit),
    )
    .fetch_all(executor)
    .await?;
    let mut page = ResultPage { last: rows.last().map(|row| row.record.clone()), ..ResultPage::default() };
    page.compared = u64::try_from(rows.len()).unwrap_or(u64::MAX);
    for row in rows {
        let hash = row.result_hash.unwrap_or_default();
        if row.altered {
            let text =
                format!("the stored result does not have the SHA-256 {} that it was signed with", hex::encode(&hash));
            page.wrong.push((row.record, text));
        } else if row.other == Some(true) {
            let text = "the stored result has another hash than the record on the chain".to_owned();
            page.wrong.push((row.record, text));
        } else if row.completed {
            page.paid.push(hash);
        }
    }
    Ok(page)
}
