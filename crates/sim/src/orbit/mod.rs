//! Where satellites and ground stations are.

pub mod geostationary;
pub mod stations;
