//! Which processes belong to the command: the command, what it started, and what that started, however far it has gone
//! from its group and its session.
//!
//! Linux: `brk` adopts orphans, so that all of them stay below it, and the table of processes says which is whose child.
//! A process that was below this one before the command started does not belong to the command, and neither does what
//! that process has started. If an orphan's parent was never seen, the table does not say whose it was. It counts as
//! foreign if it is in a group that existed before the command, and the command is not in that group: a process is in a
//! group because it was born there, or on purpose.
//!
//! Other systems: children of children, as long as they have their parents, and the command's group.
//!
//! Not here: when to signal them, and with what (`escalate`).

#[cfg(target_os = "linux")]
pub use linux::{Tree, is_stopped, name};
#[cfg(not(target_os = "linux"))]
pub use other::{Tree, is_stopped, name};

use super::unix::Pid;

/// A process that belongs to the command and is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    pub pid: Pid,
    pub group: Pid,
    parent: Pid,
    /// With the number, this is one process for ever.
    start: u64,
}

impl Member {
    /// Whether this is the same process, wherever it has gone since.
    #[cfg(target_os = "linux")]
    fn is(&self, other: &Member) -> bool {
        (self.pid, self.start) == (other.pid, other.start)
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::cell::RefCell;
    use std::collections::HashMap;
    use std::io;
    use std::os::fd::AsFd;

    use super::Member;
    use crate::supervise::plan::Group;
    use crate::supervise::unix::{self, Pid};

    /// One line of the table of processes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Entry {
        member: Member,
        state: u8,
        threads: u64,
    }

    #[derive(Debug, Default)]
    pub struct Tree {
        brk: Pid,
        command: Pid,
        /// What was below `brk` before the command was, and what has been seen to come from it.
        foreign: RefCell<Vec<Member>>,
        /// The groups of those where the command is in none of them.
        foreign_groups: Vec<Pid>,
    }

    impl Tree {
        /// To be asked before the command starts, in a group of its own or in that of `brk`.
        pub fn new(group: Group) -> Tree {
            let mut tree = Tree { brk: unix::process_id(), ..Tree::default() };
            if unix::has_children() {
                let before = tree.members();
                tree.foreign_groups = before.iter().map(|member| member.group).collect();
                if group == Group::Shared {
                    let shared = unix::group_of(tree.brk);
                    tree.foreign_groups.retain(|group| *group != shared);
                }
                tree.foreign = before.into();
            }
            tree
        }

        pub fn has_command(&mut self, command: Pid) {
            self.command = command;
        }

        /// All that is alive now. On the way, orphans that have ended are reaped; the command is not.
        pub fn members(&self) -> Vec<Member> {
            let table = table();
            let command_start = table.get(&self.command).map_or(0, |entry| entry.member.start);
            self.learn(&table);
            let foreign = self.foreign.borrow();
            let belongs = |entry: &Entry| {
                entry.member.start >= command_start && !foreign.iter().any(|other| other.is(&entry.member))
            };
            let mut members = Vec::new();
            let mut parents = vec![self.brk];
            while let Some(parent) = parents.pop() {
                let children = table.values().filter(|entry| entry.member.parent == parent && belongs(entry));
                for child in children {
                    let pid = child.member.pid;
                    if child.is_alive() {
                        members.push(child.member);
                    } else if parent == self.brk && pid != self.command {
                        unix::reap(pid);
                    }
                    parents.push(pid);
                }
            }
            members
        }

        /// Notes what is now below those who are not the command's: it may lose its parents before the next look.
        fn learn(&self, table: &HashMap<Pid, Entry>) {
            let mut foreign = self.foreign.borrow_mut();
            if foreign.is_empty() {
                return;
            }
            let is_orphan = |member: &Member| member.parent == self.brk && member.pid != self.command;
            let members = || table.values().map(|entry| entry.member);
            let orphans =
                members().filter(|member| is_orphan(member) && self.foreign_groups.contains(&member.group));
            let known = members().filter(|member| foreign.iter().any(|other| other.is(member)));
            let mut all: Vec<Member> = known.chain(orphans).collect();
            let mut next = 0;
            while let Some(parent) = all.get(next).copied() {
                let new: Vec<Member> = members()
                    .filter(|member| member.parent == parent.pid && !all.iter().any(|one| one.is(member)))
                    .collect();
                all.extend(new);
                next += 1;
            }
            *foreign = all;
        }

        pub fn send(&self, member: &Member, signal: i32) -> io::Result<()> {
            if member.parent == self.brk {
                // Dead or alive, the number is its own until we reap it.
                return unix::send(member.pid, signal);
            }
            let pid = rustix::process::Pid::from_raw(member.pid).ok_or(io::ErrorKind::NotFound)?;
            let pidfd = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty());
            if entry(member.pid).is_none_or(|now| now.member.start != member.start) {
                return Err(io::ErrorKind::NotFound.into());
            }
            match pidfd {
                Ok(pidfd) => unix::send_through(pidfd.as_fd(), signal),
                // Before Linux 5.3 the look above has to do.
                Err(rustix::io::Errno::NOSYS) => unix::send(member.pid, signal),
                Err(error) => Err(error.into()),
            }
        }
    }

    /// Whether a process is stopped at this moment.
    pub fn is_stopped(pid: Pid) -> bool {
        entry(pid).is_some_and(|entry| entry.state == b'T')
    }

    /// The name of a process, also of one that has ended and was not reaped yet.
    pub fn name(pid: Pid) -> Option<String> {
        let name = std::fs::read(format!("/proc/{pid}/comm")).ok()?;
        Some(String::from_utf8_lossy(name.trim_ascii_end()).into_owned())
    }

    /// All processes by number. Empty where /proc is not there, or shows the processes of another namespace, whose
    /// numbers mean others here.
    fn table() -> HashMap<Pid, Entry> {
        let own = std::fs::read_link("/proc/self").ok();
        if own.is_none_or(|own| own.as_os_str() != unix::process_id().to_string().as_str()) {
            return HashMap::new();
        }
        let Ok(directory) = std::fs::read_dir("/proc") else { return HashMap::new() };
        let pids = directory.flatten().filter_map(|file| file.file_name().to_str()?.parse().ok());
        pids.filter_map(|pid| Some((pid, entry(pid)?))).collect()
    }

    fn entry(pid: Pid) -> Option<Entry> {
        Entry::parse(&std::fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    impl Entry {
        /// Reads proc_pid_stat(5). The name of the program stands in parentheses and may hold anything, those too.
        fn parse(line: &[u8]) -> Option<Entry> {
            let pid = std::str::from_utf8(line.split(|byte| *byte == b' ').next()?).ok()?.parse().ok()?;
            let after_name = &line[line.iter().rposition(|byte| *byte == b')')? + 1..];
            // Field 3 of the manual is the first here.
            let fields: Vec<&str> = std::str::from_utf8(after_name).ok()?.split_ascii_whitespace().collect();
            let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
            let id = |field: usize| Pid::try_from(number(field)?).ok();
            let member = Member { pid, parent: id(4)?, group: id(5)?, start: number(22)? };
            Some(Entry { member, state: *fields.first()?.as_bytes().first()?, threads: number(20)? })
        }

        /// A process whose first thread has ended looks dead, while others of its threads run.
        fn is_alive(&self) -> bool {
            !matches!(self.state, b'Z' | b'X' | b'x') || self.threads > 1
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_line_of_the_table() {
            let line = b"42 (a) R 1 (b\xff) S 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 1 2";
            let entry = Entry::parse(line).expect("an entry");
            assert_eq!(entry.member, Member { pid: 42, parent: 7, group: 8, start: 12345 });
            assert!(entry.is_alive());
            assert_eq!(Entry::parse(b""), None);
            assert_eq!(Entry::parse(b"42 (a) S 7"), None);
        }

        #[test]
        fn the_dead_and_the_leaders_of_living_threads() {
            let entry = |state, threads| Entry { state, threads, ..own() };
            assert!(own().is_alive());
            assert!(!entry(b'Z', 1).is_alive());
            assert!(entry(b'Z', 2).is_alive());
            assert!(entry(b'T', 1).is_alive());
        }

        fn own() -> Entry {
            entry(unix::process_id()).expect("this process")
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use std::io;

    use super::Member;
    use crate::supervise::plan::Group;
    use crate::supervise::unix::{self, Pid};

    #[derive(Debug, Default)]
    pub struct Tree {
        command: Pid,
    }

    impl Tree {
        /// To be asked before the command starts.
        pub fn new(_: Group) -> Tree {
            Tree { command: 0 }
        }

        pub fn has_command(&mut self, command: Pid) {
            self.command = command;
        }

        /// The command while it is alive, its group, and what those have started.
        pub fn members(&self) -> Vec<Member> {
            let mut pids = vec![self.command];
            pids.extend(unix::group_members(self.command));
            let mut next = 0;
            while let Some(parent) = pids.get(next).copied() {
                let new: Vec<Pid> =
                    unix::children(parent).into_iter().filter(|child| !pids.contains(child)).collect();
                pids.extend(new);
                next += 1;
            }
            pids.sort_unstable();
            pids.dedup();
            let dead = unix::ended_child().map(|dead| dead.pid);
            let alive = pids.into_iter().filter(|pid| Some(*pid) != dead && unix::group_of(*pid) != 0);
            alive.map(|pid| Member { pid, group: unix::group_of(pid), parent: 0, start: 0 }).collect()
        }

        pub fn send(&self, member: &Member, signal: i32) -> io::Result<()> {
            unix::send(member.pid, signal)
        }
    }

    /// The name of a process: not known here.
    pub fn name(_pid: Pid) -> Option<String> {
        None
    }

    /// Whether a process is stopped at this moment: not known here, and one CONT too many does no harm.
    pub fn is_stopped(_: Pid) -> bool {
        true
    }
}
