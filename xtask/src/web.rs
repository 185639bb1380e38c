//! The TypeScript side in `app/`: the generated clients and the built dashboard compared with what their sources give
//! today, types, lint, tests, size.

use std::{process::Command, thread};

use anyhow::{Result, anyhow};

use crate::{npm::Package, tally::Tally, workspace};

pub const BUILD: &str = "app/dist";

fn app() -> Result<Package> {
    let app = Package::at("app");
    app.install()?;
    Ok(app)
}

/// Compares what a script of `app/` generates now with what is committed.
pub fn check_script(script: &str, committed_at: &str, command: &str) -> Result<String> {
    let app = app()?;
    let folder = tempfile::tempdir()?;
    let fresh = folder.path().join("fresh");
    let mut generate = Command::new("node");
    workspace::run(generate.current_dir(app.folder()).arg(format!("scripts/{script}")).arg(&fresh))?;
    workspace::same_files(committed_at, &fresh, &format!("cd app && {command}"))
}

/// Fails unless the committed build of the dashboard is the one that its sources give.
pub fn check_build() -> Result<String> {
    let app = app()?;
    let folder = tempfile::tempdir()?;
    let fresh = folder.path().join("dist");
    let target = fresh.to_string_lossy();
    workspace::run(&mut app.npm(&["run", "build", "--silent", "--", "--logLevel=error", "--outDir", &target]))?;
    workspace::same_files(BUILD, &fresh, "cd app && npm run build")
}

/// Types, rules of the sources, format, tests, and size of what a browser loads first. The size is that of the committed
/// build: the suite `generated` sees that it is the build of the sources.
pub fn test() -> Result<Tally> {
    let app = app()?;
    thread::scope(|scope| {
        // It takes as long as all others, and uses one core.
        let lint = scope.spawn(|| app.check(&["lint"]));
        let others = [app.check(&["typecheck"])?, app.check(&["format:check"])?, app.test(&[])?, app.check(&["size"])?];
        let lint = lint.join().map_err(|_| anyhow!("a thread panicked"))??;
        Ok(others.into_iter().chain([lint]).sum())
    })
}
