//! Limits the work for the names in one document. Some checks (suggestions, definitions in the document itself) scan
//! everything; without a limit, n names would cost n times n steps.

use crate::repo::tree::HaltCheck;
use std::cell::Cell;

/// Minimum step budget of a document.
const BASE_STEPS: u64 = 4 << 20;
/// Additional steps per mention.
const STEPS_PER_NAME: u64 = 16 << 10;

/// Remaining steps for the current document. A step is about one byte read or one name compared.
pub(super) struct StepBudget<'a> {
    left: Cell<u64>,
    #[cfg(test)]
    spent: Cell<u64>,
    halt: HaltCheck<'a>,
}

impl<'a> StepBudget<'a> {
    pub(super) fn new(halt: HaltCheck<'a>) -> Self {
        Self {
            left: Cell::new(BASE_STEPS),
            #[cfg(test)]
            spent: Cell::new(0),
            halt,
        }
    }

    /// Resets the budget for a document with this many mentions.
    pub(super) fn start(&self, names: usize) {
        self.left.set(BASE_STEPS + STEPS_PER_NAME.saturating_mul(names as u64));
    }

    /// Spends steps; `false` if too few are left or the work was stopped. Then nothing more is certain.
    pub(super) fn spend(&self, steps: usize) -> bool {
        let steps = steps as u64;
        if self.left.get() < steps || self.is_over() {
            return false;
        }
        self.left.set(self.left.get() - steps);
        #[cfg(test)]
        self.spent.set(self.spent.get() + steps);
        true
    }

    /// Whether the work was stopped.
    pub(super) fn is_over(&self) -> bool {
        (self.halt)()
    }

    /// Steps taken for all documents.
    #[cfg(test)]
    pub(super) fn spent(&self) -> u64 {
        self.spent.get()
    }
}
