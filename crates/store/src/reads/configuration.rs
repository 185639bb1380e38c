//! The marketplace's configuration, as the mirror has it.

use sqlx::{PgExecutor, types::Json};

use crate::{error::StoreError, mirror::ConfigRow};

/// The configuration. `None` before the mirror has it.
pub async fn configuration(executor: impl PgExecutor<'_>) -> Result<Option<ConfigRow>, StoreError> {
    let row = sqlx::query_scalar!(
        r#"SELECT to_jsonb(c) AS "row!: Json<ConfigRow>" FROM mirror_config c
           WHERE closed_at_slot IS NULL ORDER BY slot DESC LIMIT 1"#
    );
    Ok(row.fetch_optional(executor).await?.map(|Json(row)| row))
}
