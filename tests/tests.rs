//! Everything that is seen from outside, in one binary: each test starts the real `brk`.

mod process;
mod signals;
mod supervise;
mod tty;
mod util;
