//! Positions of satellites and ground stations.

pub mod geostationary;
pub mod stations;
