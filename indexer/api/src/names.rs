//! Values of parameters and members that are one of a few words, as the description lists them.
#![allow(dead_code, reason = "they describe; handlers use the types of the store")]

use serde::Serialize;
use utoipa::ToSchema;

#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ListingStatusName {
    Active,
    Paused,
}

/// A listing that is not closed.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OwnListingStatusName {
    Active,
    Paused,
    Delisted,
}

#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionStatusName {
    Pending,
    Running,
    Completed,
    Failed,
    Disputed,
}

#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DisputeStatusName {
    Open,
    Upheld,
    Rejected,
    Expired,
}

/// A wallet's side of a dispute.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DisputeRoleName {
    Caller,
    Creator,
    Resolver,
}

/// A wallet's side of an execution.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(default = "caller")]
pub enum ExecutionRoleName {
    Caller,
    Creator,
}
