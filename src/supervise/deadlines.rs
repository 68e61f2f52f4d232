//! The timers of a run, and waiting for the next of them or a signal.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use tokio::io::unix::AsyncFd;
use tokio::time::Instant;

use super::escalate::Event;

/// Far enough for a wait that has no end; what is further away overflows inside timers.
const FAR: Duration = Duration::from_secs(365 * 86_400);

/// Absent ones never come.
#[derive(Default)]
pub struct Deadlines {
    pub time: Option<Instant>,
    pub grace: Option<Instant>,
    pub patience: Option<Instant>,
    pub look: Option<Instant>,
}

impl Deadlines {
    pub fn next(&self) -> Option<Instant> {
        [self.time, self.grace, self.patience, self.look].into_iter().flatten().min()
    }

    /// Those that have come, each once, in the order that they stand for.
    pub fn take_expired(&mut self, now: Instant) -> Vec<Event> {
        let all = [
            (&mut self.time, Event::TimeIsUp),
            (&mut self.grace, Event::GraceIsOver),
            (&mut self.patience, Event::PatienceIsOver),
            (&mut self.look, Event::OrphanEnded),
        ];
        let has_come = |deadline: &mut Instant| *deadline <= now;
        all.into_iter().filter_map(|(deadline, event)| deadline.take_if(has_come).map(|_| event)).collect()
    }

    pub fn shift(&mut self, time: Duration) {
        for deadline in [&mut self.time, &mut self.grace, &mut self.patience] {
            *deadline = deadline.and_then(|deadline| deadline.checked_add(time));
        }
    }
}

/// Comes back when a signal came or the deadline has passed, or a year has.
pub async fn wait(pipe: &AsyncFd<BorrowedFd<'static>>, deadline: Option<Instant>) {
    let now = Instant::now();
    let far = now + FAR;
    let deadline = deadline.map_or(far, |deadline| deadline.min(far));
    if let Ok(Ok(mut guard)) = tokio::time::timeout_at(deadline, pipe.readable()).await {
        guard.clear_ready();
    }
}
