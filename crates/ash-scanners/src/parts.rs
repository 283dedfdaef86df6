//! Calls that name many files, and one file among them that ends the tool's run: the call is made again with each half of the files, and
//! with half of those, until the file stands alone. Which file is to blame is never read from what the tool says, for a scanned file can
//! put its own words there.

use std::ffi::OsString;

use ash_model::tool::{ToolCall, ToolOutput};

use crate::InterpretError;

/// The mark in front of the files.
const FILES: &str = "--";

/// The call in two, each with half of its files. Nothing when it names one only.
pub(crate) fn halves(call: &ToolCall) -> Vec<ToolCall> {
    let files = files(call);
    if files.len() < 2 {
        return vec![];
    }
    let options = &call.args[..call.args.len() - files.len()];
    let (first, second) = files.split_at(files.len() / 2);
    let part = |(number, files): (usize, &[OsString])| ToolCall {
        args: [options, files].concat(),
        // They are there already.
        inputs: vec![],
        log: format!("{}.{number}", call.log),
        ..call.clone()
    };
    [first, second].into_iter().enumerate().map(part).collect()
}

/// What stands behind the mark. No file is called like the mark: each is given with its directory.
fn files(call: &ToolCall) -> &[OsString] {
    let mark = call.args.iter().rposition(|argument| argument == FILES);
    mark.map_or(&[], |mark| &call.args[mark + 1..])
}

/// What was read of each call, and the files of those that failed, each with the reason.
pub(crate) struct Parts<T> {
    pub(crate) read: Vec<T>,
    pub(crate) failed: Vec<(OsString, String)>,
}

impl<T> Parts<T> {
    /// Reads every call.
    ///
    /// # Errors
    /// When there is none that can be read: the files are not to blame then.
    pub(crate) fn of(
        calls: &[(ToolCall, ToolOutput)],
        read: impl Fn(&ToolCall, &ToolOutput) -> Result<T, InterpretError>,
    ) -> Result<Self, InterpretError> {
        let mut parts = Self { read: vec![], failed: vec![] };
        let mut first = None;
        for (call, output) in calls {
            match read(call, output) {
                Ok(read) => parts.read.push(read),
                Err(error) => {
                    let file = |file: &OsString| (file.clone(), error.0.clone());
                    parts.failed.extend(files(call).iter().map(file));
                    first.get_or_insert(error);
                }
            }
        }
        match first {
            Some(error) if parts.read.is_empty() => Err(error),
            _ => Ok(parts),
        }
    }
}

#[cfg(test)]
mod tests {
    use ash_model::tool::{Exit, Program};

    use super::*;
    use crate::{call::own, outcome, scanners::tests::output};

    fn call(files: &[&str]) -> ToolCall {
        let mut call = ToolCall::new(Program::Tool("x"), "x-0").args(["--a", "--"]);
        call.inputs = vec![(own("input"), vec![])];
        call.args(files.iter().copied())
    }

    #[test]
    fn each_file_is_in_one_half_until_it_stands_alone() {
        let mut waiting = vec![call(&["./a", "./b", "./c", "./d", "./e"])];
        let mut alone = vec![];
        let mut logs = vec![];
        while let Some(call) = waiting.pop() {
            assert_eq!(call.args[..2], ["--a", "--"]);
            let parts = halves(&call);
            if parts.is_empty() {
                alone.extend(call.args[2..].to_vec());
            }
            assert!(parts.iter().all(|part| part.inputs.is_empty()));
            logs.push(call.log);
            waiting.extend(parts);
        }
        alone.sort();
        assert_eq!(alone, ["./a", "./b", "./c", "./d", "./e"]);
        let all = logs.len();
        logs.sort();
        logs.dedup();
        assert_eq!((logs.len(), all), (9, 9), "each has a log of its own");
        assert!(halves(&ToolCall::new(Program::Tool("x"), "x").args(["a", "b"])).is_empty());
    }

    #[test]
    fn the_files_of_a_failed_call_are_given_with_the_reason_unless_all_failed() {
        let good = (call(&["./a"]), output(Exit::Code(0), b"", b"", &[]));
        let bad = (call(&["./b", "./c"]), output(Exit::Code(1), b"", b"boom\n", &[]));
        let of = |calls: &[(ToolCall, ToolOutput)]| Parts::of(calls, outcome::accepted);
        let parts = of(&[bad.clone(), good.clone()]).unwrap();
        let why = "x-0 exited with code 1: boom".to_owned();
        assert_eq!(parts.read, [0]);
        assert_eq!(parts.failed, [("./b".into(), why.clone()), ("./c".into(), why.clone())]);
        assert_eq!(of(&[good]).unwrap().failed, []);
        assert_eq!(of(&[bad.clone(), bad]).map(|_| ()), Err(InterpretError(why)));
    }
}
