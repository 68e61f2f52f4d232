//! Deciding what of a run is news (`--output on-change`): a change of phase, an ending that was not yet shown since the last
//! success, and now and then a reminder.

use super::notice::{News, Notices, Notify, Shown};
use super::outcome::{Ending, Outcome};
use super::time::Timestamp;
use super::{Breaker, PhaseKind};

/// How many endings are remembered: one more of a program that ends in so many ways is news again.
const MAX_SHOWN: usize = 16;

impl Breaker {
    /// What of an ending is news. `found` is the phase that the run found when it asked to be admitted.
    pub(super) fn news_of_ending(
        &mut self,
        notify: Notify,
        (program, ending, outcome): (&str, Ending, Outcome),
        found: PhaseKind,
        now: Timestamp,
    ) -> News {
        let phase = if self.phase.kind() == found { News::None } else { News::Phase };
        if outcome == Outcome::Success {
            self.notices = None;
            return phase;
        }
        let is_due = self.is_reminder_due(notify, now);
        let notices = self.notices.get_or_insert_default();
        let shown = Shown { program: program.to_owned(), ending };
        let new = if notices.shown.contains(&shown) {
            News::None
        } else {
            let excess = (notices.shown.len() + 1).saturating_sub(MAX_SHOWN);
            notices.shown.drain(..excess);
            notices.shown.push(shown);
            News::New
        };
        let reminder = if is_due { News::Reminder } else { News::None };
        self.notice(phase.max(new).max(reminder), now)
    }

    /// What of a refusal is news: the first one as busy, and reminders.
    pub(super) fn news_of_refusal(&mut self, notify: Notify, is_busy: bool, now: Timestamp) -> News {
        let is_due = self.is_reminder_due(notify, now);
        let notices = self.notices.get_or_insert_default();
        let is_new = is_busy && !notices.busy;
        notices.busy |= is_busy;
        self.notice(
            if is_new {
                News::New
            } else if is_due {
                News::Reminder
            } else {
                News::None
            },
            now,
        )
    }

    fn notice(&mut self, news: News, now: Timestamp) -> News {
        let notices = self.notices.get_or_insert_default();
        match news {
            News::None => {}
            News::Reminder | News::New | News::Phase => notices.at = Some(now),
        }
        if *notices == Notices::default() {
            self.notices = None;
        }
        news
    }

    /// Whether nothing was shown, and nothing has succeeded, for as long as a reminder takes.
    fn is_reminder_due(&self, notify: Notify, now: Timestamp) -> bool {
        let shown = self.notices.as_ref().and_then(|notices| notices.at);
        let first = self.phase.opening().map_or(self.since, |opening| opening.outage_since());
        let last = shown.or(self.last_success).unwrap_or(first);
        notify.remind_every.is_some_and(|every| now.since(last) >= every)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::breaker::event::RefusedBy;
    use crate::breaker::policy::Policy;
    use crate::breaker::time::Millis;
    use crate::breaker::{Mode, Refusal};

    const DAY: Notify = Notify { remind_every: Some(Millis(1_000)) };

    fn breaker() -> Breaker {
        let mut breaker = Breaker::new(1, Policy::default(), Timestamp(0));
        breaker.last_success = Some(Timestamp(0));
        breaker
    }

    fn ends(breaker: &mut Breaker, program: &str, code: u8, now: u64) -> News {
        let outcome = match code {
            0 => Outcome::Success,
            127 => Outcome::Ignored,
            _ => Outcome::Failure,
        };
        let run = (program, Ending::Exited(code), outcome);
        breaker.news_of_ending(DAY, run, PhaseKind::Closed, Timestamp(now))
    }

    #[test]
    fn an_ending_is_news_once_between_two_successes() {
        let mut breaker = breaker();
        for (program, code, now, news) in [
            ("a", 1, 10, News::New),
            ("a", 1, 20, News::None),
            ("a", 2, 30, News::New),
            ("b", 1, 40, News::New),
            ("a", 127, 50, News::New),
            ("a", 127, 60, News::None),
            // A day after the last one that was shown, and a day after that.
            ("a", 1, 1_049, News::None),
            ("a", 1, 1_050, News::Reminder),
            ("a", 1, 2_049, News::None),
            ("a", 2, 2_050, News::Reminder),
            ("a", 0, 2_060, News::None),
            ("a", 1, 2_070, News::New),
        ] {
            assert_eq!(ends(&mut breaker, program, code, now), news, "{program} {code} at {now}");
        }
    }

    #[test]
    fn success_leaves_nothing_behind() {
        let mut breaker = breaker();
        assert_eq!(ends(&mut breaker, "a", 0, 10), News::None);
        assert_eq!(breaker.notices, None);
        ends(&mut breaker, "a", 1, 20);
        assert!(breaker.notices.is_some());
        ends(&mut breaker, "a", 0, 30);
        assert_eq!(breaker.notices, None);
    }

    #[test]
    fn refusals_are_silent_but_for_the_first_as_busy_and_reminders() {
        let mut breaker = breaker();
        for (is_busy, now, news) in [
            (false, 10, News::None),
            (true, 20, News::New),
            (true, 30, News::None),
            (false, 1_019, News::None),
            (false, 1_020, News::Reminder),
            (true, 1_021, News::None),
            (true, 2_020, News::Reminder),
        ] {
            let found = breaker.news_of_refusal(DAY, is_busy, Timestamp(now));
            assert_eq!(found, news, "busy {is_busy} at {now}");
        }
        let never = Notify { remind_every: None };
        assert_eq!(breaker.news_of_refusal(never, false, Timestamp(u64::MAX)), News::None);
    }

    #[test]
    fn a_refusal_that_is_only_observed_is_not_shown_and_uses_up_no_reminder() {
        let mut breaker = breaker();
        let busy = || Refusal::new(RefusedBy::Busy, None);
        breaker.refuse(busy(), Mode::Observe, Some(DAY), Timestamp(2_000));
        assert_eq!(breaker.notices, None);
        breaker.refuse(busy(), Mode::Enforce, Some(DAY), Timestamp(2_000));
        assert!(breaker.notices.is_some());
    }

    #[test]
    fn a_change_of_phase_is_always_news() {
        let mut breaker = breaker();
        let run = ("a", Ending::Exited(0), Outcome::Success);
        let news = breaker.news_of_ending(DAY, run, PhaseKind::Open, Timestamp(5));
        assert_eq!(news, News::Phase);
    }

    #[test]
    fn what_is_remembered_has_a_bound() {
        let mut breaker = breaker();
        for code in 1..=100 {
            assert_eq!(ends(&mut breaker, "a", code, 10), News::New);
        }
        assert_eq!(breaker.notices.as_ref().map(|notices| notices.shown.len()), Some(MAX_SHOWN));
    }
}
