//! Brings the database that `DATABASE_URL` names up to the schema of this build. Run it before the
//! services of a new version start; running it twice does no harm.

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    let Ok(url) = std::env::var("DATABASE_URL") else {
        eprintln!("crtx-migrate: DATABASE_URL must name the database to migrate");
        return ExitCode::from(2);
    };
    match migrate(&url).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("crtx-migrate: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn migrate(url: &str) -> Result<(), crtx_store::StoreError> {
    crtx_store::migrate(&crtx_store::connect(url, 1).await?).await
}
