//! When a screen that goes on changing is looked at.

use std::time::Duration;

use ptyard_core::Moment;

/// Quiet after output that ends a frame: 20 ms. Programs draw a frame in a few writes, a millisecond or two apart; a frame
/// that is half drawn shows a state that never was.
pub const PAUSE: Duration = Duration::from_millis(20);

/// The longest that output which never rests puts a look off: 80 ms. A spinner must not hide that it spins.
pub const LONGEST: Duration = Duration::from_millis(80);

/// The least from one look to the next: 40 ms. So a program costs at most twenty-five looks a second, however often it draws.
pub const LEAST: Duration = Duration::from_millis(40);

/// How output ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame {
    /// More of the frame may follow.
    Open,
    /// With the end of a synchronized update (mode 2026), and so of a frame.
    Whole,
}

/// Says when to look: once a frame has come to rest or is whole, and in a flood every now and then.
///
/// Nothing is due while nothing was printed.
#[derive(Debug, Clone, Default)]
pub struct Frames {
    unseen: Option<Unseen>,
    looked: Option<Moment>,
    /// When an update that was going on at the last look is shown unfinished.
    held_until: Option<Moment>,
}

/// Output that was not looked at.
#[derive(Debug, Clone, Copy)]
struct Unseen {
    first: Moment,
    last: Moment,
    frame: Frame,
}

impl Frames {
    /// Something was printed, or the size changed.
    pub fn changed(&mut self, frame: Frame, now: Moment) {
        let first = self.unseen.map_or(now, |unseen| unseen.first);
        self.unseen = Some(Unseen { first, last: now, frame });
    }

    /// The screen was looked at; a synchronized update that is not ended yet is shown at `held_until` all the same.
    pub fn looked(&mut self, held_until: Option<Moment>, now: Moment) {
        *self = Self { unseen: None, looked: Some(now), held_until };
    }

    /// Whether something changed since the last look: what was seen then may not stand any more.
    #[must_use]
    pub fn has_changed(&self) -> bool {
        self.unseen.is_some()
    }

    /// When to look.
    #[must_use]
    pub fn due(&self) -> Option<Moment> {
        let printed = self.unseen.map(|unseen| match unseen.frame {
            Frame::Whole => unseen.last,
            Frame::Open => (unseen.last + PAUSE).min(unseen.first + LONGEST),
        });
        let earliest = self.looked.map(|looked| looked + LEAST);
        let at = [printed, self.held_until].into_iter().flatten().min()?;
        Some(earliest.map_or(at, |earliest| at.max(earliest)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Moment {
        Moment::EPOCH + Duration::from_millis(ms)
    }

    #[test]
    fn nothing_is_due_while_nothing_changes() {
        let mut frames = Frames::default();
        assert_eq!(frames.due(), None);
        frames.changed(Frame::Open, at(1_000));
        frames.looked(None, at(1_020));
        assert_eq!(frames.due(), None);
    }

    #[test]
    fn a_frame_is_looked_at_when_it_rests_and_a_flood_in_between() {
        let mut frames = Frames::default();
        frames.changed(Frame::Open, at(1_000));
        assert_eq!(frames.due(), Some(at(1_020)));
        for ms in (1_010..1_070).step_by(10) {
            frames.changed(Frame::Open, at(ms));
        }
        assert_eq!(frames.due(), Some(at(1_080)));
    }

    #[test]
    fn a_whole_frame_does_not_wait_but_for_the_look_before() {
        let mut frames = Frames::default();
        frames.changed(Frame::Whole, at(1_000));
        assert_eq!(frames.due(), Some(at(1_000)));
        frames.looked(None, at(1_000));
        frames.changed(Frame::Whole, at(1_010));
        assert_eq!(frames.due(), Some(at(1_040)));
        // More of another frame came behind it.
        frames.changed(Frame::Open, at(1_040));
        assert_eq!(frames.due(), Some(at(1_060)));
    }

    #[test]
    fn an_update_that_is_not_ended_is_looked_at_when_it_is_shown() {
        let mut frames = Frames::default();
        frames.changed(Frame::Open, at(1_000));
        frames.looked(Some(at(1_150)), at(1_020));
        assert_eq!(frames.due(), Some(at(1_150)));
        frames.looked(None, at(1_150));
        assert_eq!(frames.due(), None);
    }
}
