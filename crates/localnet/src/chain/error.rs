//! What can go wrong with the files of a chain.

use std::{io, path::Path, path::PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum ChainFileError {
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("{path} is not a chain of this version ({problem}); `crtx up --fresh` starts over")]
    Form { path: PathBuf, problem: String },
    #[error("the chain's database: {0}")]
    Database(String),
    #[error("the chain's database is damaged ({0}); `crtx up --fresh` starts over")]
    Damaged(String),
}

/// Adds the path to an error.
pub fn at(path: &Path) -> impl Fn(io::Error) -> ChainFileError + '_ {
    move |source| ChainFileError::Io { path: path.to_owned(), source }
}
