//! A private PostgreSQL for tests: started for the run, gone after it.

use std::path::Path;

use anyhow::{Context, Result};
use crtx_postgres::PostgresCluster;
use sqlx::{Connection, PgConnection, migrate::Migrator};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// A server on which tests may create databases.
pub struct TestDatabase {
    url: String,
    runtime: Runtime,
    /// `None` once it is stopped.
    cluster: Option<PostgresCluster>,
    folder: TempDir,
}

impl TestDatabase {
    pub fn start() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let runtime = Runtime::new()?;
        let cluster = runtime
            .block_on(PostgresCluster::start(folder.path(), &|text| eprintln!("{text}")))
            .context("no PostgreSQL for the tests")?;
        Ok(Self { url: cluster.url(), runtime, cluster: Some(cluster), folder })
    }

    /// Applies the migrations of `folder`. Not by the services' own program: that one compiles only once
    /// `.sqlx/` knows its queries.
    pub fn migrate(&self, folder: &Path) -> Result<()> {
        self.runtime.block_on(async {
            let mut connection = PgConnection::connect(&self.url).await?;
            Migrator::new(folder).await?.run(&mut connection).await?;
            Ok(connection.close().await?)
        })
    }

    /// Runs a future that talks to the server.
    pub fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let Some(cluster) = self.cluster.take() else { return };
        let stopped = self.runtime.block_on(cluster.stop()).and_then(|_| crtx_postgres::remove(self.folder.path()));
        if let Err(error) = stopped {
            eprintln!("the tests' PostgreSQL was not cleared away: {error:#}");
        }
    }
}
