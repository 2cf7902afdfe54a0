//! Positions against SGP4's own verification set, interpolation, horizons, and whole paths.

mod horizons;
mod paths;
mod positions;
mod requests;
