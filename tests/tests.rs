//! Everything that is seen from outside, in one binary: each test starts the real `brk`.

mod generated;
mod readme;
mod run;
mod tidy;
mod util;
