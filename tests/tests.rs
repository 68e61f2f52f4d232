//! Everything that is seen from outside, in one binary: each test starts the real `brk`.
#![expect(
    clippy::disallowed_methods,
    reason = "tests stand outside of the rooms that may not read clocks or variables"
)]

mod around;
mod config;
mod contention;
mod crash;
mod faults;
mod generated;
mod outage;
mod process;
mod readme;
mod run;
mod seeds;
mod signals;
mod state;
mod supervise;
mod tidy;
mod tty;
mod util;
