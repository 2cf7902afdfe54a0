//! The language of keys, on which every kind of queue, loss, access and traffic rests: their tables, their units,
//! their order, the files that they name, and errors that name them. `scenario` is the document in this language.

pub mod error;
pub(crate) mod file;
pub(crate) mod order;
pub(crate) mod table;
pub mod units;
