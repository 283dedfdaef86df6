//! The calls of one scanner: those it planned, and smaller ones in place of those whose output cannot be used.

use std::{path::Path, rc::Rc, time::Duration};

use ash_model::tool::{ToolCall, ToolOutput};
use ash_sandbox::{Confinement, ResultsDir};

use super::{Run, Stop};

/// How many calls are made in place of failed ones, at most: enough to find a few files among thousands.
const MAX_FURTHER_CALLS: usize = 100;

impl Run<'_> {
    /// Makes the planned calls, one after the other, and smaller ones in place of those that failed.
    pub(super) fn make(
        &mut self,
        confinement: &Confinement,
        results: &ResultsDir,
        own_results: &Path,
        planned: Vec<ToolCall>,
    ) -> Result<Vec<(ToolCall, ToolOutput)>, Stop> {
        let mut made = Vec::with_capacity(planned.len());
        // Last in, first out. A smaller call has the output of the one it is part of.
        let mut waiting: Vec<(ToolCall, Option<Rc<ToolOutput>>)> =
            planned.into_iter().rev().map(|call| (call, None)).collect();
        let mut further = 0;
        while let Some((call, whole)) = waiting.pop() {
            let output = match (self.call(confinement, results, own_results, &call), whole) {
                (Ok(output), _) => output,
                // Its files stay as they were, not evaluated; what the others gave is kept.
                (Err(_), Some(whole)) if self.time_left() == Some(Duration::ZERO) => {
                    made.push((call, ToolOutput::clone(&whole)));
                    continue;
                }
                (Err(stop), _) => return Err(stop),
            };
            let smaller = self.scanner.smaller(&self.site(own_results), &call, &output);
            if smaller.is_empty() || further + smaller.len() > MAX_FURTHER_CALLS {
                made.push((call, output));
                continue;
            }
            further += smaller.len();
            let output = Rc::new(output);
            waiting.extend(smaller.into_iter().rev().map(|call| (call, Some(output.clone()))));
        }
        Ok(made)
    }
}
