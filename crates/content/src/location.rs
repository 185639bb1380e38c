//! Where a marketplace keeps its content.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    backend::{Backend, ContentError},
    folder::Folder,
};

/// One variant for each kind of store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContentLocation {
    /// A folder of this machine.
    Folder(PathBuf),
}

impl ContentLocation {
    /// A folder of this machine on the disk of the content, if there is one.
    pub fn folder(&self) -> Option<&Path> {
        match self {
            Self::Folder(path) => Some(path),
        }
    }

    /// For reading and writing. Creates what is missing.
    pub(crate) fn create(&self) -> Result<Arc<dyn Backend>, ContentError> {
        match self {
            Self::Folder(path) => Ok(Arc::new(Folder::create(path)?)),
        }
    }

    /// For reading alone. Creates nothing.
    pub(crate) fn open(&self) -> Arc<dyn Backend> {
        match self {
            Self::Folder(path) => Arc::new(Folder::new(path)),
        }
    }
}
