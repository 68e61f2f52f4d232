//! The places of probes: who is in them, who has died in them, and a new one.
//!
//! A probe that a shared store has admitted has a place here too, beside its lease. The lease is what other hosts see,
//! and ends by itself; the place tells this host of what outlives a killed `brk`.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

#[cfg(feature = "redis")]
use super::FileStore;
use super::{Files, existing, open, remove};
use crate::breaker::time::Timestamp;
use crate::breaker::{Breaker, Probe};
#[cfg(feature = "redis")]
use crate::name::Name;
use crate::store::place::{self, OccupancyLock, Occupant, OwnerRecord};
use crate::store::{LiveProbe, StoreError};

impl Files<'_> {
    fn probe(&self, probe: &Probe) -> PathBuf {
        self.path(&format!(".probe-{}", probe.place))
    }

    /// The probes that are alive indeed.
    pub fn alive(&self, breaker: &Breaker) -> Vec<LiveProbe> {
        let live = |probe: &Probe| {
            // What cannot be looked at is taken for alive, as an update would.
            let unseen = Occupant::Holder(OwnerRecord::default());
            LiveProbe::new(probe, occupant(&self.probe(probe)).unwrap_or(unseen))
        };
        breaker.probes.iter().filter_map(live).collect()
    }

    /// Loses the probes whose places are free, and ends those that have outlived a dead `brk` and their own deadline.
    /// Gives those that have outlived it and may go on.
    pub fn reap_dead_probes(
        &self,
        breaker: &mut Breaker,
        now: Timestamp,
        warnings: &mut Vec<String>,
    ) -> Vec<LiveProbe> {
        let mut left = Vec::new();
        for probe in breaker.probes.clone() {
            let path = self.probe(&probe);
            match occupant(&path) {
                Ok(Occupant::Nobody(holder)) => lose(breaker, &probe, &holder),
                Ok(Occupant::Survivors(holder, survivors)) if probe.is_overdue(now) => {
                    warnings.extend(evict(&path, &holder, &survivors));
                    lose(breaker, &probe, &holder);
                }
                Ok(occupant) => left.extend(LiveProbe::new(&probe, occupant).filter(LiveProbe::is_orphaned)),
                Err(error) => warnings.push(error.to_string()),
            }
        }
        left
    }

    /// Takes the place of the probe that a step began, if it began one.
    pub fn claim(&self, before: &[Probe], breaker: &Breaker) -> Result<Option<OccupancyLock>, StoreError> {
        match breaker.probes.iter().find(|probe| !before.contains(probe)) {
            Some(probe) => claim(self.probe(probe), breaker, probe).map(Some),
            None => Ok(None),
        }
    }
}

/// Beside leases.
#[cfg(feature = "redis")]
impl FileStore {
    /// Takes the place of a probe that a shared store has admitted here.
    pub fn claim_beside_lease(
        &self,
        name: &Name,
        breaker: &Breaker,
        probe: &Probe,
    ) -> Result<OccupancyLock, StoreError> {
        self.make_dir()?;
        claim(self.beside_lease(name, probe), breaker, probe)
    }

    /// Who is in the place of a probe of a shared store; `None` where that was never admitted here.
    pub fn occupant_beside_lease(&self, name: &Name, breaker: &Breaker, probe: &Probe) -> Option<Occupant> {
        let occupant = occupant(&self.beside_lease(name, probe)).ok()?;
        let (Occupant::Nobody(holder) | Occupant::Holder(holder) | Occupant::Survivors(holder, _)) =
            &occupant;
        (holder.probe == Some((breaker.id, probe.serial))).then_some(occupant)
    }

    /// Ends what is left of a probe of a shared store; gives a warning where that cannot be done.
    pub fn evict_beside_lease(
        &self,
        name: &Name,
        probe: &Probe,
        holder: &OwnerRecord,
        survivors: &[u32],
    ) -> Option<String> {
        evict(&self.beside_lease(name, probe), holder, survivors)
    }

    /// Removes the places of a breaker that a shared store has forgotten. Best effort: they are of no more use.
    pub fn forget_beside_leases(&self, name: &Name) {
        let files = self.files(name);
        for path in files.others().unwrap_or_default() {
            if path.extension().is_some_and(|suffix| suffix.to_string_lossy().starts_with("lease-")) {
                let _ = remove(&path);
            }
        }
    }

    fn beside_lease(&self, name: &Name, probe: &Probe) -> PathBuf {
        self.files(name).path(&format!(".lease-{}", probe.place))
    }
}

fn claim(path: PathBuf, breaker: &Breaker, probe: &Probe) -> Result<OccupancyLock, StoreError> {
    // A file of its own each time: what an operator's reset left locked must not keep the next probe out.
    remove(&path)?;
    let file = open(&path, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL)?;
    let taken = OccupancyLock::take(file, Some((breaker.id, probe.serial)));
    taken.map_err(|source: io::Error| StoreError::io("lock", &path, source))?.ok_or(StoreError::Busy { path })
}

fn evict(path: &Path, holder: &OwnerRecord, survivors: &[u32]) -> Option<String> {
    place::evict(path, holder, survivors);
    (!matches!(occupant(path), Ok(Occupant::Nobody(_)))).then(|| {
        format!(
            "a probe of a killed brk is past its deadline and cannot be ended (processes {survivors:?}); its place is taken over"
        )
    })
}

/// A command that was started in this place is noted in its owner record.
pub fn lose(breaker: &mut Breaker, probe: &Probe, holder: &OwnerRecord) {
    match holder.command {
        Some(_) => breaker.mark_launched_probe_lost(probe.place, probe.generation),
        None => breaker.mark_probe_lost(probe.place, probe.generation),
    }
}

fn occupant(path: &Path) -> Result<Occupant, StoreError> {
    let Some(file) = existing(open(path, OFlags::RDONLY))? else {
        return Ok(Occupant::Nobody(OwnerRecord::default()));
    };
    place::look(&file, path).map_err(|source| StoreError::io("look at", path, source))
}
