//! What the model checker looks at: a breaker, a clock, a few processes, and what can be done to them.

use std::hash::{Hash, Hasher};

use super::super::*;

pub const COOLDOWN: u64 = 1;
pub const CAP: u64 = 2;
/// The first level whose wait is the cap.
pub const CAP_LEVEL: u32 = 1;
/// More than the refusals that the waits of a healing take together.
const MAX_RUNS: u32 = 8;

/// What a process is doing.
#[derive(Clone, Debug, PartialEq)]
pub enum Process {
    Idle,
    /// From its admission until it is recorded: nothing in between is seen by the machine.
    Running(Permit),
    /// `brk` is dead, and something of its command is alive.
    Orphaned(Permit),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Act {
    Poll,
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
pub enum Flaw {
    None,
    ForgetsProbes,
    IsImpatient,
    HearsTheLate,
    ResetKeepsTheGeneration,
    NeverBuries,
    DeepensOnLateFailures,
    OpensTwice,
    CountsNoRefusals,
    DropsTheRunPart,
    StaysHalfOpen,
    CountsReopeningsAsOutages,
}

pub struct Machine {
    pub policy: Policy,
    pub processes: usize,
    pub flaw: Flaw,
}

#[derive(Clone, Debug)]
pub struct World {
    pub breaker: Breaker,
    pub now: u64,
    pub processes: Vec<Process>,
    /// The generation of the last reset: what was alive before it is the operator's affair.
    pub reset: u64,
    /// The rule that the last step broke.
    pub broken: Option<&'static str>,
}

impl Process {
    pub fn permit(&self) -> Option<&Permit> {
        match self {
            Process::Idle => None,
            Process::Running(permit) | Process::Orphaned(permit) => Some(permit),
        }
    }

    /// The place and the generation of a probe.
    pub fn probe(&self) -> Option<(u32, u64)> {
        let permit = self.permit()?;
        match permit.kind {
            PermitKind::Probe(place) => Some((place, permit.generation)),
            PermitKind::Normal | PermitKind::Passthrough => None,
        }
    }

    pub fn holds(&self, probe: &Probe) -> bool {
        self.probe() == Some((probe.place, probe.generation))
    }
}

impl World {
    /// What can be told apart.
    pub fn view(&self) -> impl PartialEq + Hash {
        let breaker = &self.breaker;
        let mut generations: Vec<u64> = breaker.probes.iter().map(|probe| probe.generation).collect();
        generations.extend(self.processes.iter().filter_map(|process| process.probe().map(|(_, of)| of)));
        generations.push(breaker.generation);
        generations.sort_unstable();
        generations.dedup();
        let rank = |generation: u64| generations.binary_search(&generation).unwrap_or(usize::MAX);
        let phase = match &breaker.phase {
            Phase::Closed => (0, 0, (0, 0), 0, 0),
            Phase::Open(opening) => (1, self.left(opening.retry_at), self.runs_left(opening), 0, 0),
            // The run part was met, and is made anew by the next opening.
            Phase::HalfOpen { opening, successes, failures } => {
                (2, self.left(opening.retry_at), (0, 0), *successes, *failures)
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

    fn left(&self, at: Timestamp) -> u64 {
        at.0.saturating_sub(self.now)
    }

    /// The refusals still needed, and for how long they matter.
    fn runs_left(&self, opening: &Opening) -> (u32, u64) {
        let left = opening.runs_left(self.breaker.totals.refused, Timestamp(self.now));
        let until = opening.runs.as_ref().filter(|_| left > 0).map_or(0, |part| self.left(part.until));
        (left, until)
    }

    /// What the store does before every step: places whose holders are gone are given up.
    pub fn bury(&mut self, flaw: Flaw) {
        if flaw == Flaw::NeverBuries {
            return;
        }
        for probe in self.breaker.probes.clone() {
            if !self.processes.iter().any(|process| process.holds(&probe)) {
                self.breaker.mark_probe_lost(probe.place, probe.generation);
            }
        }
    }

    pub fn ask(&mut self, machine: &Machine) -> Admission {
        self.bury(machine.flaw);
        if machine.flaw == Flaw::ForgetsProbes {
            self.breaker.probes.clear();
        }
        if let Phase::Open(Opening { runs: Some(part), .. }) = &mut self.breaker.phase {
            match machine.flaw {
                Flaw::CountsNoRefusals => {
                    part.base = self.breaker.totals.refused;
                    part.until = Timestamp(self.now + CAP);
                }
                Flaw::DropsTheRunPart => part.until = Timestamp(self.now),
                _ => {}
            }
        }
        let now = self.now + u64::from(machine.flaw == Flaw::IsImpatient);
        let request = AdmissionRequest {
            mode: Mode::Enforce,
            pid: 1,
            lifetime: None,
            task: Task::Command,
            cooldown: CooldownParts::Both,
            notify: None,
        };
        self.breaker.admit(&machine.policy, &request, Timestamp(now))
    }

    pub fn record(&mut self, permit: &Permit, verdict: Verdict, machine: &Machine) {
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
            told: crate::breaker::event::Told::default(),
            least_wait: crate::breaker::time::Millis::ZERO,
            task: Task::Command,
            notify: None,
        };
        let phase = self.breaker.phase.clone();
        self.breaker.complete(&permit, report, &machine.policy, Timestamp(self.now), 0.0);
        if machine.flaw == Flaw::StaysHalfOpen && verdict == Verdict::Ignored {
            self.breaker.phase = phase;
        }
        if machine.flaw == Flaw::CountsReopeningsAsOutages {
            self.breaker.totals.opened += std::mem::take(&mut self.breaker.totals.reopened);
        }
        if machine.flaw == Flaw::OpensTwice && verdict == Verdict::Failure && !is_late {
            self.breaker.level += 1;
        }
    }

    /// Whether a dependency that answers from now on closes the breaker, if what is in flight does as `ends` says.
    pub fn heals(&self, machine: &Machine, ends: fn(&Process) -> Option<Verdict>) -> bool {
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
        for _ in 0..machine.policy.probe_successes.get() + 2 + MAX_RUNS {
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
                // It is one of the refusals that the cooldown waits for.
                Admission::Refused(Refusal { why: RefusedBy::Open, .. }) => {}
                Admission::Refused(_) => return false,
            }
        }
        world.breaker.phase == Phase::Closed
    }

    /// The places of the probes that are alive, but for those from before a reset.
    pub fn probes_alive(&self) -> Vec<u32> {
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
