//! Random scenarios by honest and hostile actors against the real ELF. A model of the marketplace, written from the
//! specification and not from the program, predicts for every step whether it succeeds and what everybody holds after it.

pub mod governance;
pub mod marketplace;
pub mod model;
pub mod scenarios;
pub mod steps;
