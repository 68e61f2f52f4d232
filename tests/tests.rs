//! Everything that is seen from outside, in one binary: each test starts the real `brk`.

mod contention;
mod crash;
mod outage;
mod run;
mod seeds;
mod state;
mod tidy;
mod util;
