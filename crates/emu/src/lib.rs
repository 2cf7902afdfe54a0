//! A simulated link against the wall clock, under real programs.
