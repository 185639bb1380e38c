//! The folder that holds the configuration, the tokens of sessions, and the journal of transactions.

use std::{env, path::PathBuf};

use crate::usage::UsageError;

/// `$CRTX_CONFIG_DIR`, else `crtx` in the user's configuration folder.
pub fn find() -> Result<PathBuf, UsageError> {
    let named = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(folder) = named("CRTX_CONFIG_DIR") {
        return Ok(folder);
    }
    // The convention takes relative paths as errors.
    let base = named("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
    let base = base.or_else(|| env::home_dir().map(|home| home.join(".config")));
    base.map(|base| base.join("crtx"))
        .ok_or_else(|| UsageError::new("There is no home folder for the configuration. Set CRTX_CONFIG_DIR."))
}
