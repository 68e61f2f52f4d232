//! Everything that is seen from outside, in one binary: each test starts the real `brk`.
#![expect(clippy::print_stdout, reason = "what begins with `proof: ` is the report of tests/proof")]
#![expect(
    clippy::disallowed_methods,
    reason = "tests are outside of the modules that may not read clocks or variables"
)]

mod around;
mod clocks;
mod completions;
mod config;
mod contention;
mod cost;
mod crash;
mod cron;
mod dependencies;
mod examples;
mod faults;
mod formats;
mod fuzz;
mod generated;
mod inherited;
mod init;
mod json;
mod later;
mod lookup;
mod lost;
mod machine;
mod manual;
mod messages;
mod metrics;
mod operator;
mod outage;
mod places;
mod process;
mod profiles;
mod readme;
mod rendered;
mod run;
mod seeds;
mod server;
mod shared_store;
mod signals;
mod slow_exec;
mod state;
mod store_address;
mod store_trouble;
mod storm;
mod supervise;
mod tell;
mod tidy;
mod tools;
mod tty;
mod util;
