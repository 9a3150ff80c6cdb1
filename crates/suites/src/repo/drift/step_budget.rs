//! How much work the names of one document may cause. Some questions (what a name may have meant, whether the document
//! itself defines it) look at everything there is; without a bound, n names would cost n times n steps.

use crate::repo::tree::HaltCheck;
use std::cell::Cell;

/// Steps that a document may take, however little it names.
const BASE_STEPS: u64 = 4 << 20;
/// Steps that it may take for each thing that it names.
const STEPS_PER_NAME: u64 = 16 << 10;

/// The steps that are left for the document at hand. A step is about a byte that is read, or a name that is compared.
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

    /// Starts over for a document that names so many things.
    pub(super) fn start(&self, names: usize) {
        self.left.set(BASE_STEPS + STEPS_PER_NAME.saturating_mul(names as u64));
    }

    /// Takes so many steps; `false` where fewer are left, or the work was stopped. Then nothing more is certain.
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
