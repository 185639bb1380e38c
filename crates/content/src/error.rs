use std::io;

#[derive(Debug, thiserror::Error)]
pub enum ContentError {
    #[error("the content store is unavailable: {0}")]
    Store(#[from] object_store::Error),
    #[error("the content folder is unavailable: {0}")]
    Folder(#[from] io::Error),
    #[error("the content store has too much to do")]
    Busy,
    #[error("the content is longer than {max_bytes} bytes")]
    TooLarge { max_bytes: usize },
}
