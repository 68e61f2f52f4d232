//! Clocks by injected readings, through the store and its files: one breaker that is open for an hour, and machines
//! whose clocks step, sleep and boot in any order.

use std::cell::Cell;

use proptest::prelude::*;

use super::*;
use crate::breaker::policy::Policy;
use crate::breaker::time::{Millis, Reading};
use crate::breaker::{Admission, AdmissionRequest, CooldownParts, Mode, Task, TripFor};

const HOUR: u64 = 3_600_000;

const START: Reading = Reading { wall: 1_700_000_000_000, boot: 1, up: 5_000_000 };

thread_local! {
    static NOW: Cell<Reading> = const { Cell::new(START) };
}

/// What can happen to the clocks of a machine between two looks.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// Time goes by, awake or asleep: both clocks go on.
    Pass(u64),
    /// The wall clock is set, by milliseconds.
    Set(i64),
    /// The machine is booted again, which takes so long; its wall clock is off by so much afterwards.
    Boot(u64, i64),
}

fn act() -> impl Strategy<Value = Act> {
    let minutes = (-90_i64..90).prop_map(|minutes| minutes * 60_000);
    let years = (-60_i64..60).prop_map(|years| years * 31_536_000_000);
    let step = prop_oneof![minutes, years];
    prop_oneof![
        (0_u64..1_800_000).prop_map(Act::Pass),
        step.clone().prop_map(Act::Set),
        (1_u64..600_000, step).prop_map(|(wait, step)| Act::Boot(wait, step)),
    ]
}

impl Act {
    fn done(self) {
        let now = NOW.get();
        NOW.set(match self {
            Act::Pass(wait) => Reading { wall: now.wall + wait, up: now.up + wait, ..now },
            Act::Set(step) => Reading { wall: now.wall.saturating_add_signed(step), ..now },
            Act::Boot(wait, step) => {
                Reading { wall: (now.wall + wait).saturating_add_signed(step), boot: now.boot + 1, up: wait }
            }
        });
    }

    /// The time that really goes by.
    fn lasts(self) -> u64 {
        match self {
            Act::Pass(wait) | Act::Boot(wait, _) => wait,
            Act::Set(_) => 0,
        }
    }
}

fn store(dir: &Path) -> FileStore {
    NOW.set(START);
    let platform =
        Platform { clocks: || NOW.get(), random: || 7, thread: |_| Err(io::ErrorKind::Other.into()) };
    let store = FileStore::new(dir.to_owned(), platform);
    let trip = |breaker: &mut Breaker, now: Timestamp| {
        breaker.trip(TripFor::Exactly(Millis(HOUR)), None, now, 0.0);
    };
    update(&store, trip);
    store
}

fn name() -> Name {
    "n".parse().expect("a name")
}

fn update(store: &FileStore, mut step: impl FnMut(&mut Breaker, Timestamp)) -> Updated {
    let policy = Policy::default();
    store.update(&name(), &policy, &mut step).expect("a store that works").1
}

/// Milliseconds until the next run may probe, as a reader sees it.
fn rest(store: &FileStore) -> u64 {
    let snapshot = store.read(&name()).expect("read").expect("a breaker");
    let opening = snapshot.breaker.phase.opening().expect("an open breaker");
    opening.retry_at.since(snapshot.clock.time()).0
}

/// Whether a run is let in. One that is leaves no trace here; a refusal is written, and moves the breaker's clock on.
fn is_admitted(store: &FileStore) -> bool {
    let mut admitted = false;
    update(store, |breaker, now| {
        let request = AdmissionRequest {
            mode: Mode::Enforce,
            pid: 1,
            lifetime: None,
            task: Task::Command,
            cooldown: CooldownParts::Both,
            notify: None,
        };
        let before = breaker.clone();
        admitted = matches!(breaker.admit(&Policy::default(), &request, now), Admission::Granted(_));
        if admitted {
            *breaker = before;
        }
    });
    admitted
}

#[test]
fn clocks_by_example() {
    let (minute, year) = (60_000_i64, 31_536_000_000_i64);
    // What happens, and the minutes that are left then.
    let cases: &[(&[Act], u64)] = &[
        (&[Act::Set(minute)], 60),
        (&[Act::Set(-minute)], 60),
        (&[Act::Set(10 * year)], 60),
        (&[Act::Set(-10 * year)], 60),
        (&[Act::Pass(HOUR / 2)], 30),
        (&[Act::Pass(HOUR / 2), Act::Set(-10 * year), Act::Pass(HOUR / 4)], 15),
        (&[Act::Pass(HOUR)], 0),
        (&[Act::Boot(HOUR / 2, 0)], 30),
        (&[Act::Boot(HOUR / 4, 30 * minute)], 15),
        (&[Act::Boot(HOUR / 4, 10 * year)], 0),
        // Set back while nothing was watching: at least the time of this boot has gone by.
        (&[Act::Boot(HOUR / 4, -10 * year)], 45),
        (&[Act::Boot(HOUR / 4, -60 * minute)], 45),
        (&[Act::Boot(HOUR / 4, -10 * year), Act::Pass(HOUR / 4)], 30),
    ];
    for (acts, minutes) in cases {
        let dir = tempfile::tempdir().expect("a directory");
        let store = store(dir.path());
        acts.iter().for_each(|act| act.done());
        assert_eq!(rest(&store), minutes * 60_000, "{acts:?}");
        assert_eq!(is_admitted(&store), *minutes == 0, "{acts:?}");
    }
}

proptest! {
    #[test]
    fn within_a_boot_the_gate_opens_when_an_hour_has_passed_and_not_before(
        acts in proptest::collection::vec(act(), 1..12)
    ) {
        let dir = tempfile::tempdir().expect("a directory");
        let store = store(dir.path());
        let mut passed = 0;
        for act in acts.into_iter().filter(|act| !matches!(act, Act::Boot(..))) {
            act.done();
            passed += act.lasts();
            prop_assert_eq!(rest(&store), HOUR.saturating_sub(passed), "{:?}", act);
            prop_assert_eq!(is_admitted(&store), passed >= HOUR, "{:?}", act);
        }
    }

    #[test]
    fn whatever_clocks_do_a_wait_never_grows_and_ends(
        acts in proptest::collection::vec(act(), 1..12)
    ) {
        let dir = tempfile::tempdir().expect("a directory");
        let store = store(dir.path());
        let mut before = HOUR;
        for act in acts {
            act.done();
            let now = rest(&store);
            prop_assert!(now <= before, "{:?}: {} ms to wait, {} before", act, now, before);
            prop_assert_eq!(is_admitted(&store), now == 0, "{:?}", act);
            before = now;
            if now == 0 {
                break;
            }
        }
        Act::Pass(before).done();
        prop_assert!(is_admitted(&store));
    }
}
