//! What an operator sets: [`load`] reads file, environment and flags, [`resolve`] checks what the roles of the process
//! need and turns it into the configuration of its parts.

mod catalogue;
mod docs;
mod load;
mod model;
mod resolve;
mod secret;
mod values;

pub use catalogue::{Setting, ValueKind, settings};
pub use docs::markdown;
pub use load::{Loaded, Problems, load};
pub use model::ServerSettings;
pub use resolve::{Resolved, resolve};
pub use values::LogFormat;
