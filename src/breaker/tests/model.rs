//! The machine under a model checker: processes that are admitted, end, record and die in every order, clocks that
//! tick, leap and step back, and an operator who may do anything at any time.
//!
//! A state is a breaker, a clock and a few processes. Two states are the same where no run could ever tell them
//! apart: times count from now, generations by their order, levels up to the one that reaches the cap, and totals
//! not at all. That makes the space finite, and it is explored to its end.

use stateright::{Checker, Model, Property};

use super::*;

mod world;

use world::{Act, CAP, COOLDOWN, Flaw, Machine, Process, World};

const PROBES: &str = "never more probes alive than allowed";
const EARLY: &str = "no launch before its time";
const LATE: &str = "a late result changes nothing";
const GENERATION: &str = "the generation grows with every change and never falls";
const LEVEL: &str = "one outage, one level";
const INCONCLUSIVE: &str = "a probe that learned nothing makes the breaker wait again";
const OUTAGE: &str = "one outage is one opening";
const HEALTHY: &str = "a healthy dependency leads to closed";

impl Model for Machine {
    type State = World;
    type Action = Act;

    fn init_states(&self) -> Vec<World> {
        vec![World {
            breaker: Breaker::new(1, self.policy.clone(), Timestamp(100)),
            now: 100,
            processes: vec![Process::Idle; self.processes],
            reset: 0,
            broken: None,
        }]
    }

    fn actions(&self, world: &World, acts: &mut Vec<Act>) {
        if world.broken.is_some() {
            return;
        }
        if world.processes.contains(&Process::Idle) {
            acts.push(Act::Poll);
        }
        for (index, process) in world.processes.iter().enumerate() {
            match process {
                Process::Idle => {}
                Process::Running(permit) => {
                    let verdicts = [Verdict::Success, Verdict::Failure, Verdict::Ignored];
                    acts.extend(verdicts.map(|verdict| Act::Record(index, verdict)));
                    acts.push(Act::Die(index));
                    if matches!(permit.kind, PermitKind::Probe(_)) {
                        acts.push(Act::Orphan(index));
                    }
                }
                Process::Orphaned(_) => acts.push(Act::Die(index)),
            }
        }
        acts.extend([Act::Tick, Act::Leap, Act::Reset, Act::Trip, Act::Release]);
        // A clock that was set back makes every wait longer; there is a limit to it, or there is no end.
        let breaker = &world.breaker;
        let opening = breaker.phase.opening();
        let waits = opening.map(|opening| opening.retry_at);
        let bound = opening.and_then(|opening| opening.runs.as_ref()).map(|part| part.until);
        let ends = breaker.hold.as_ref().and_then(|hold| hold.until);
        let closed_at = breaker.closed_at.filter(|_| breaker.phase == Phase::Closed);
        if waits.into_iter().chain(bound).chain(ends).chain(closed_at).all(|at| at.0 <= world.now + CAP) {
            acts.push(Act::StepBack);
        }
        acts.extend(
            [(HoldAs::Open, None), (HoldAs::Closed, Some(1))].map(|(hold, rest)| Act::Hold(hold, rest)),
        );
    }

    fn next_state(&self, before: &World, act: Act) -> Option<World> {
        let mut world = before.clone();
        let now = Timestamp(world.now);
        let mut broken = None;
        match act {
            Act::Poll => {
                let admission = world.ask(self);
                let Admission::Granted(permit) = admission else {
                    world.breaker.take_events();
                    return Some(world);
                };
                let is_early = match &before.breaker.phase {
                    Phase::Closed => false,
                    Phase::Open(opening) => {
                        let left = opening.runs_left(before.breaker.totals.refused, now);
                        now < opening.retry_at || left > 0
                    }
                    Phase::HalfOpen { opening, .. } => now < opening.retry_at,
                };
                let held = world.breaker.active_hold(now).map(|hold| hold.hold);
                if is_early && held != Some(HoldAs::Closed) || held == Some(HoldAs::Open) {
                    broken = Some(EARLY);
                }
                let idle = world.processes.iter_mut().find(|process| **process == Process::Idle)?;
                *idle = Process::Running(permit);
            }
            Act::Record(index, verdict) => {
                let permit = before.processes[index].permit()?.clone();
                world.record(&permit, verdict, self);
                world.processes[index] = Process::Idle;
                let mut buried = before.clone();
                buried.bury(self.flaw);
                let is_late = permit.generation != before.breaker.generation;
                if is_late && machine(&buried.breaker, Some(&permit)) != machine(&world.breaker, None) {
                    broken = Some(LATE);
                }
                let was_probe = matches!(permit.kind, PermitKind::Probe(_));
                if was_probe
                    && !is_late
                    && verdict == Verdict::Ignored
                    && matches!(world.breaker.phase, Phase::HalfOpen { .. })
                {
                    broken = Some(INCONCLUSIVE);
                }
            }
            Act::Die(index) => world.processes[index] = Process::Idle,
            Act::Orphan(index) => {
                let permit = world.processes[index].permit()?.clone();
                world.processes[index] = Process::Orphaned(permit);
            }
            Act::Tick => world.now += 1,
            Act::Leap => world.now += CAP + 1,
            Act::StepBack => world.now -= 1,
            Act::Reset => {
                world.bury(self.flaw);
                world.breaker.reset(now);
                if self.flaw == Flaw::ResetKeepsTheGeneration {
                    world.breaker.generation = before.breaker.generation;
                }
                world.reset = world.breaker.generation;
            }
            Act::Trip => {
                world.bury(self.flaw);
                world.breaker.trip(TripFor::CooldownOf(&self.policy), None, now, 0.0);
            }
            Act::Hold(hold, rest) => {
                world.bury(self.flaw);
                let until = rest.map(|rest| now.saturating_add(Millis(rest)));
                world.breaker.hold(Hold { hold, until, reason: None }, now);
            }
            Act::Release => {
                world.bury(self.flaw);
                world.breaker.release(now);
            }
        }
        let told = world.breaker.take_events();
        let (old, new) = (&before.breaker, &world.breaker);
        let opened = told.iter().any(|event| {
            matches!(event.kind, EventKind::Opened { .. } | EventKind::Tripped { .. } | EventKind::Reset)
        });
        let is_reset = act == Act::Reset;
        if new.generation < old.generation
            || (is_reset || old.phase != new.phase && !is_probing(old, new))
                && new.generation == old.generation
        {
            broken = Some(GENERATION);
        }
        if new.level != old.level && !opened || new.level > old.level + 1 {
            broken = broken.or(Some(LEVEL));
        }
        if new.totals.opened > old.totals.opened + u64::from(old.phase == Phase::Closed) {
            broken = broken.or(Some(OUTAGE));
        }
        world.broken = broken;
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Machine>> {
        vec![
            Property::always(PROBES, |machine: &Machine, world: &World| {
                let mut places = world.probes_alive();
                let alive = places.len();
                places.sort_unstable();
                places.dedup();
                alive <= machine.policy.probes.get() as usize && places.len() == alive
            }),
            Property::always(EARLY, |_, world: &World| world.broken != Some(EARLY)),
            Property::always(LATE, |_, world: &World| world.broken != Some(LATE)),
            Property::always(GENERATION, |_, world: &World| world.broken != Some(GENERATION)),
            Property::always(LEVEL, |_, world: &World| world.broken != Some(LEVEL)),
            Property::always(INCONCLUSIVE, |_, world: &World| world.broken != Some(INCONCLUSIVE)),
            Property::always(OUTAGE, |_, world: &World| world.broken != Some(OUTAGE)),
            Property::always(HEALTHY, |machine: &Machine, world: &World| {
                // What is in flight succeeds, or everything dies.
                world.heals(machine, |process| match process {
                    Process::Running(_) => Some(Verdict::Success),
                    Process::Idle | Process::Orphaned(_) => None,
                }) && world.heals(machine, |_| None)
            }),
            Property::sometimes("it opens", |_, world: &World| matches!(world.breaker.phase, Phase::Open(_))),
            Property::sometimes("all probes are alive", |machine: &Machine, world: &World| {
                world.probes_alive().len() == machine.policy.probes.get() as usize
            }),
            Property::sometimes("it closes after flapping", |_, world: &World| {
                world.breaker.phase == Phase::Closed && world.breaker.level > 0
            }),
        ]
    }
}

/// Whether both are the same half-opening, with other counts.
fn is_probing(old: &Breaker, new: &Breaker) -> bool {
    matches!((&old.phase, &new.phase), (Phase::HalfOpen { .. }, Phase::HalfOpen { .. }))
}

fn small(change: impl FnOnce(&mut Draft)) -> Policy {
    policy(|draft| {
        draft.cooldown = Some(Millis(COOLDOWN).into());
        draft.max_cooldown = Some(Millis(CAP));
        draft.failures = Some(2);
        draft.window = last(1);
        change(draft);
    })
}

/// Explores everything, or everything up to a depth, and gives the number of states and of steps.
fn explore(policy: Policy, processes: usize, depth: Option<usize>) -> (usize, usize) {
    let mut checker = Machine { policy, processes, flaw: Flaw::None }.checker().threads(2);
    if let Some(depth) = depth {
        checker = checker.target_max_depth(depth);
    }
    let checker = checker.spawn_bfs().join();
    checker.assert_properties();
    assert!(checker.is_done());
    (checker.unique_state_count(), checker.state_count())
}

#[test]
fn nothing_bad_can_be_reached() {
    let two = |draft: &mut Draft| draft.probes = number(2);
    let policies = [
        ("one probe", small(|_| {}), None),
        (
            "a cooldown of a time and a run",
            small(|draft| draft.cooldown = Some(Cooldown { time: Millis(COOLDOWN), runs: 1 })),
            scale(Some(12), None),
        ),
        (
            "a cooldown of two runs",
            small(|draft| draft.cooldown = Some(Cooldown { time: Millis(0), runs: 2 })),
            scale(Some(12), None),
        ),
        (
            "two probes, both must succeed",
            small(|draft| {
                two(draft);
                draft.probe_successes = number(2);
            }),
            scale(Some(12), None),
        ),
        (
            "two probes, two failures",
            small(|draft| {
                two(draft);
                draft.probe_failures = number(2);
            }),
            scale(Some(12), None),
        ),
        (
            "a rate over a window of two",
            small(|draft| {
                draft.failures = None;
                draft.failure_rate = rate(0.5);
                draft.window = last(2);
            }),
            scale(Some(14), None),
        ),
    ];
    for (what, policy, depth) in &policies {
        let (states, steps) = explore(policy.clone(), 2, *depth);
        let how_far = depth.map_or("to the end".to_owned(), |depth| format!("to depth {depth}"));
        println!("proof: model: {what}, 2 processes: {states} states, {steps} steps, {how_far}");
        assert!(states > 5_000, "{what}: only {states} states");
    }
    // With a third process there is one more than places, also where there are two of those.
    for (what, policy, _) in scale(&policies[..0], &policies[..2]) {
        let (states, steps) = explore(policy.clone(), 3, None);
        println!("proof: model: {what}, 3 processes: {states} states, {steps} steps, to the end");
    }
}

#[test]
fn the_model_notices_a_break() {
    let breaks = [
        (Flaw::ForgetsProbes, PROBES),
        (Flaw::IsImpatient, EARLY),
        (Flaw::HearsTheLate, LATE),
        (Flaw::ResetKeepsTheGeneration, GENERATION),
        (Flaw::NeverBuries, HEALTHY),
        (Flaw::DeepensOnLateFailures, LATE),
        (Flaw::OpensTwice, LEVEL),
        (Flaw::CountsNoRefusals, HEALTHY),
        (Flaw::DropsTheRunPart, EARLY),
        (Flaw::StaysHalfOpen, INCONCLUSIVE),
        (Flaw::CountsReopeningsAsOutages, OUTAGE),
    ];
    for (flaw, rule) in breaks {
        let cooldown = Some(Cooldown { time: Millis(COOLDOWN), runs: 1 });
        let machine = Machine { policy: small(|draft| draft.cooldown = cooldown), processes: 2, flaw };
        let checker = machine.checker().threads(2).spawn_bfs().join();
        assert!(
            checker.discovery(rule).is_some(),
            "{flaw:?} was not noticed: {:?}",
            checker.discoveries().keys()
        );
    }
    println!("proof: breaks: model: {0} of {0} noticed", breaks.len());
}
