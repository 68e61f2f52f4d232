//! Everything that is seen from outside, in one binary: each test starts the real `brk`.
#![expect(
    clippy::disallowed_methods,
    reason = "tests stand outside of the rooms that may not read clocks or variables"
)]

mod around;
mod clocks;
mod config;
mod contention;
mod crash;
mod faults;
mod fuzz;
mod generated;
mod outage;
mod process;
mod readme;
mod run;
mod seeds;
mod signals;
mod state;
mod storm;
mod supervise;
mod tidy;
mod tty;
mod util;
