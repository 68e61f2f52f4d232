//! The machine under a model checker: processes that are admitted, end, record and die in every order, clocks that
//! tick, leap and step back, and an operator who may do anything at any time.
//!
//! A state is a breaker, a clock and a few processes. Two states are the same where no run could ever tell them
//! apart: times count from now, generations by their order, levels up to the one that reaches the cap, and totals
//! not at all. That makes the space finite, and it is explored to its end.

use std::hash::{Hash, Hasher};

use stateright::{Checker, Model, Property};

use super::*;

const COOLDOWN: u64 = 1;
const CAP: u64 = 2;
/// The first level whose wait is the cap.
const CAP_LEVEL: u32 = 1;

/// What a process is doing.
#[derive(Clone, Debug, PartialEq)]
enum Process {
    Idle,
    /// From its admission until it is recorded: nothing in between is seen by the machine.
    Running(Permit),
    /// `brk` is dead, and something of its command is alive.
    Orphaned(Permit),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Act {
    Ask,
    /// The command ends, and that is recorded.
    Record(usize, Verdict),
    /// `brk` dies, and its command with it.
    Die(usize),
    /// `brk` dies, and its command does not.
    Orphan(usize),
    Tick,
    Leap,
    StepBack,
    Reset,
    Trip,
    Hold(HoldAs, Option<u64>),
    Release,
}

/// A deliberate break, to see that the model notices.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Flaw {
    None,
    ForgetsProbes,
    IsImpatient,
    HearsTheLate,
    ResetKeepsTheGeneration,
    NeverBuries,
    DeepensOnLateFailures,
    OpensTwice,
}

struct Machine {
    policy: Policy,
    processes: usize,
    flaw: Flaw,
}

#[derive(Clone, Debug)]
struct World {
    breaker: Breaker,
    now: u64,
    processes: Vec<Process>,
    /// The generation of the last reset: what was alive before it is the operator's affair.
    reset: u64,
    /// The rule that the last step broke.
    broken: Option<&'static str>,
}

const PROBES: &str = "never more probes alive than allowed";
const EARLY: &str = "no launch before its time";
const LATE: &str = "a late result changes nothing";
const GENERATION: &str = "the generation grows with every change and never falls";
const LEVEL: &str = "one outage, one level";
const HEALTHY: &str = "a healthy dependency leads to closed";

impl Process {
    fn permit(&self) -> Option<&Permit> {
        match self {
            Process::Idle => None,
            Process::Running(permit) | Process::Orphaned(permit) => Some(permit),
        }
    }

    /// The place and the generation of a probe.
    fn probe(&self) -> Option<(u32, u64)> {
        let permit = self.permit()?;
        match permit.kind {
            PermitKind::Probe(place) => Some((place, permit.generation)),
            PermitKind::Normal | PermitKind::Bystander => None,
        }
    }

    fn holds(&self, probe: &Probe) -> bool {
        self.probe() == Some((probe.place, probe.generation))
    }
}

impl World {
    /// What can be told apart.
    fn view(&self) -> impl PartialEq + Hash {
        let breaker = &self.breaker;
        let mut generations: Vec<u64> = breaker.probes.iter().map(|probe| probe.generation).collect();
        generations.extend(self.processes.iter().filter_map(|process| process.probe().map(|(_, of)| of)));
        generations.push(breaker.generation);
        generations.sort_unstable();
        generations.dedup();
        let rank = |generation: u64| generations.binary_search(&generation).unwrap_or(usize::MAX);
        let phase = match &breaker.phase {
            Phase::Closed => (0, 0, 0, 0),
            Phase::Open(opening) => (1, opening.retry_at.0.saturating_sub(self.now), 0, 0),
            Phase::HalfOpen { opening, successes, failures } => {
                (2, opening.retry_at.0.saturating_sub(self.now), *successes, *failures)
            }
        };
        // What is remembered for flapping matters while closed, and is made anew by every closing.
        let age = |at: Timestamp| (self.now as i64 - at.0 as i64).min(CAP as i64 + 1);
        let closed_at = breaker.closed_at.filter(|_| breaker.phase == Phase::Closed);
        let flapping = closed_at.map(age).zip(breaker.cooldown.map(|wait| wait.0));
        let hold = breaker.hold.as_ref().map(|hold| {
            let rest = hold.until.map(|until| until.0.saturating_sub(self.now));
            (hold.hold == HoldAs::Open, rest)
        });
        let probes: Vec<_> =
            breaker.probes.iter().map(|probe| (probe.place, rank(probe.generation))).collect();
        let window: Vec<bool> = breaker.window.calls.iter().map(|call| call.failed).collect();
        // Of a run that is no probe nothing but whether it is late can matter, and of a bystander not even that.
        let mut processes: Vec<_> = self
            .processes
            .iter()
            .map(|process| match (process, process.permit().map(|permit| permit.kind), process.probe()) {
                (_, _, Some((place, generation))) => {
                    let is_orphan = matches!(process, Process::Orphaned(_));
                    (3 + u8::from(is_orphan), place, rank(generation), generation > self.reset)
                }
                (_, Some(PermitKind::Normal), _) => {
                    let is_late = process.permit().is_some_and(|run| run.generation != breaker.generation);
                    (2, 0, 0, is_late)
                }
                (_, Some(_), _) => (1, 0, 0, false),
                (_, None, _) => (0, 0, 0, false),
            })
            .collect();
        processes.sort_unstable();
        let level = breaker.level.min(CAP_LEVEL);
        let current = rank(breaker.generation);
        ((phase, breaker.streak, level, flapping, hold, probes), (window, processes, current, self.broken))
    }

    /// What the store does before every step: places whose holders are gone are given up.
    fn bury(&mut self, flaw: Flaw) {
        if flaw == Flaw::NeverBuries {
            return;
        }
        for probe in self.breaker.probes.clone() {
            if !self.processes.iter().any(|process| process.holds(&probe)) {
                self.breaker.lose(probe.place, probe.generation);
            }
        }
    }

    fn ask(&mut self, machine: &Machine) -> Admission {
        self.bury(machine.flaw);
        if machine.flaw == Flaw::ForgetsProbes {
            self.breaker.probes.clear();
        }
        let now = self.now + u64::from(machine.flaw == Flaw::IsImpatient);
        let visitor = Visitor { mode: Mode::Enforce, pid: 1, lifetime: None, task: Task::Command };
        self.breaker.admit(&machine.policy, &visitor, Timestamp(now))
    }

    fn record(&mut self, permit: &Permit, verdict: Verdict, machine: &Machine) {
        let mut permit = permit.clone();
        self.bury(machine.flaw);
        let is_late = permit.generation != self.breaker.generation;
        if is_late && machine.flaw == Flaw::HearsTheLate {
            permit.generation = self.breaker.generation;
        }
        if is_late && machine.flaw == Flaw::DeepensOnLateFailures && verdict == Verdict::Failure {
            self.breaker.level += 1;
        }
        let report = Report {
            ending: Ending::Exited(u8::from(verdict != Verdict::Success)),
            verdict,
            duration: Millis(0),
            program: String::new(),
            task: Task::Command,
        };
        self.breaker.complete(&permit, report, &machine.policy, Timestamp(self.now), 0.0);
        if machine.flaw == Flaw::OpensTwice && verdict == Verdict::Failure && !is_late {
            self.breaker.level += 1;
        }
    }

    /// Whether a dependency that answers from now on closes the breaker, if what is in flight does as `ends` says.
    fn heals(&self, machine: &Machine, ends: fn(&Process) -> Option<Verdict>) -> bool {
        let mut world = self.clone();
        for index in 0..world.processes.len() {
            let process = world.processes[index].clone();
            if let (Some(permit), Some(verdict)) = (process.permit(), ends(&process)) {
                world.record(permit, verdict, machine);
            }
            world.processes[index] = Process::Idle;
        }
        if world.breaker.hold.is_some() {
            world.breaker.release(Timestamp(world.now));
        }
        // A probe for each success that it takes, and one for each failure that was in flight.
        for _ in 0..machine.policy.probe_successes.get() + 2 {
            if world.breaker.phase == Phase::Closed {
                return true;
            }
            let retry_at = world.breaker.phase.opening().map_or(0, |opening| opening.retry_at.0);
            world.now = world.now.max(retry_at);
            match world.ask(machine) {
                Admission::Granted(permit) => {
                    world.processes[0] = Process::Running(permit.clone());
                    world.record(&permit, Verdict::Success, machine);
                    world.processes[0] = Process::Idle;
                }
                Admission::Refused(_) => return false,
            }
        }
        world.breaker.phase == Phase::Closed
    }

    /// The places of the probes that are alive, but for those from before a reset.
    fn probes_alive(&self) -> Vec<u32> {
        let probes = self.processes.iter().filter_map(Process::probe);
        probes.filter(|(_, generation)| *generation > self.reset).map(|(place, _)| place).collect()
    }
}

impl PartialEq for World {
    fn eq(&self, other: &World) -> bool {
        self.view() == other.view()
    }
}

impl Hash for World {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.view().hash(state);
    }
}

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
            acts.push(Act::Ask);
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
        let waits = breaker.phase.opening().map(|opening| opening.retry_at);
        let ends = breaker.hold.as_ref().and_then(|hold| hold.until);
        let closed_at = breaker.closed_at.filter(|_| breaker.phase == Phase::Closed);
        if waits.into_iter().chain(ends).chain(closed_at).all(|at| at.0 <= world.now + CAP) {
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
            Act::Ask => {
                let admission = world.ask(self);
                let Admission::Granted(permit) = admission else {
                    world.breaker.take_events();
                    return Some(world);
                };
                let is_early = before.breaker.phase.opening().is_some_and(|opening| now < opening.retry_at);
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
                let until = rest.map(|rest| now.after(Millis(rest)));
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
        draft.cooldown = Some(Millis(COOLDOWN));
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
    for (what, policy, depth) in policies {
        let (states, steps) = explore(policy, 2, depth);
        let how_far = depth.map_or("to the end".to_owned(), |depth| format!("to depth {depth}"));
        println!("proof: model: {what}, 2 processes: {states} states, {steps} steps, {how_far}");
        assert!(states > 5_000, "{what}: only {states} states");
    }
    if let Some(processes) = scale(None, Some(3)) {
        let (states, steps) = explore(small(|_| {}), processes, None);
        println!(
            "proof: model: one probe, {processes} processes: {states} states, {steps} steps, to the end"
        );
    }
}

#[test]
fn the_model_notices_a_break() {
    for (flaw, rule) in [
        (Flaw::ForgetsProbes, PROBES),
        (Flaw::IsImpatient, EARLY),
        (Flaw::HearsTheLate, LATE),
        (Flaw::ResetKeepsTheGeneration, GENERATION),
        (Flaw::NeverBuries, HEALTHY),
        (Flaw::DeepensOnLateFailures, LATE),
        (Flaw::OpensTwice, LEVEL),
    ] {
        let machine = Machine { policy: small(|_| {}), processes: 2, flaw };
        let checker = machine.checker().threads(2).spawn_bfs().join();
        assert!(
            checker.discovery(rule).is_some(),
            "{flaw:?} was not noticed: {:?}",
            checker.discoveries().keys()
        );
    }
}
