//! The places of probes: who is in them, who has died in them, and a new one.
//!
//! A probe that a shared store has admitted has a place here too, beside its lease. The lease is what other hosts see,
//! and ends by itself; the place tells this host of what outlives a killed `brk`.

use std::path::PathBuf;

#[cfg(feature = "redis")]
use super::FileStore;
use super::Files;
#[cfg(feature = "redis")]
use super::remove;
use crate::breaker::time::Timestamp;
use crate::breaker::{Breaker, Probe};
#[cfg(feature = "redis")]
use crate::name::Name;
use crate::store::place::{OccupancyLock, Occupant, OwnerRecord};
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
            LiveProbe::new(probe, self.occupant(&self.probe(probe)).unwrap_or(unseen))
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
            match self.occupant(&path) {
                Ok(Occupant::Nobody(holder)) => lose(breaker, &probe, &holder),
                Ok(Occupant::Survivors(holder, survivors)) if probe.is_overdue(now) => {
                    warnings.extend(self.evict(&path, &holder, &survivors));
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
            Some(probe) => {
                self.sweep();
                let id = Some((breaker.id, probe.serial));
                self.take(self.temporary(), &self.probe(probe), id).map(Some)
            }
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
        let path = self.beside_lease(name, probe);
        let files = self.files(name);
        // Not under the lock, under which what is new is swept.
        let new = files.path(&format!(".place-{}", std::process::id()));
        files.take(new, &path, Some((breaker.id, probe.serial)))
    }

    /// Who is in the place of a probe of a shared store; `None` where that was never admitted here.
    pub fn occupant_beside_lease(&self, name: &Name, breaker: &Breaker, probe: &Probe) -> Option<Occupant> {
        let occupant = self.files(name).occupant(&self.beside_lease(name, probe)).ok()?;
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
        self.files(name).evict(&self.beside_lease(name, probe), holder, survivors)
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

/// A command that was started in this place is noted in its owner record.
pub fn lose(breaker: &mut Breaker, probe: &Probe, holder: &OwnerRecord) {
    match holder.command {
        Some(_) => breaker.mark_launched_probe_lost(probe.place, probe.generation),
        None => breaker.mark_probe_lost(probe.place, probe.generation),
    }
}
