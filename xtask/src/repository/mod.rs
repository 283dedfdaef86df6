//! Rules about the repository as a whole, as tests: what the compiler cannot see across crates.
#![cfg(test)]

mod coverage;
mod dependencies;
mod fences;
mod files;
mod fuzz;
