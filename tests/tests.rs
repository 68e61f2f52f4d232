//! Everything that is seen from outside, in one binary: each test starts the real `brk`.

mod generated;
mod machine;
mod readme;
mod run;
mod server;
mod shared_store;
mod store_address;
mod store_trouble;
mod tidy;
mod util;
