//! Positions against SGP4's own verification set, interpolation, horizons, whole paths, and networks.

mod horizons;
mod networks;
mod paths;
mod positions;
mod requests;
