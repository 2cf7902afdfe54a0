//! Tests of the controllers through their public interface.

mod curves;
mod laws;
mod oracle;
mod responses;
