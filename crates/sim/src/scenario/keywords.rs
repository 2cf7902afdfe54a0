//! Members of the JSON Schema that are ours.

/// Schema member that says whose names a string may be.
pub(crate) const NAMES_KEYWORD: &str = "x-names";
/// Its value where these are the congestion controllers.
pub(crate) const CONTROLLERS: &str = "controllers";
