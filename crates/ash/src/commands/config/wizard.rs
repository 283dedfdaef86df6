//! `ash config wizard`.

use std::{
    io::{BufRead, IsTerminal, Write},
    process::ExitCode,
};

use ash_config::edit::{self, Question};

use super::{
    diff,
    file::{active, explained, load, open, reporters, scanners, shown},
    init,
    update::updated,
};
use crate::{
    args::config::WizardArgs,
    commands::shared::{absolute, current_dir},
    environment::Environment,
    error::CommandError,
    ui,
};

/// Times a question is asked before the wizard gives up.
const ATTEMPTS: usize = 5;

/// Asks, and writes the answers.
pub(super) fn wizard(
    args: &WizardArgs,
    environment: &Environment,
) -> Result<ExitCode, CommandError> {
    if !std::io::stdin().is_terminal() {
        return Err(CommandError::failed(
            "`ash config wizard` asks questions, and nobody is at a terminal",
        )
        .hint("use `ash config init`, then `ash config update --set KEY=VALUE`"));
    }
    let styled = ui::stderr_is_terminal() && !environment.no_color();
    let path = match active(args.config.as_ref(), environment)? {
        Some(path) => path,
        None => current_dir()?.join(".ash").join(".ash.yaml"),
    };
    let path = absolute(&path)?;
    let is_new = path.symlink_metadata().is_err();
    let loaded = if is_new { None } else { Some(load(Some(&path), &[], environment)?) };
    let now = match loaded {
        Some(loaded) => {
            loaded.map_err(|errors| CommandError::config(errors.render(styled)))?.settings.resolved
        }
        None => serde_json::Map::new(),
    };
    let scanners = scanners();
    let scanners: Vec<&str> = scanners.iter().map(String::as_str).collect();
    ui::error("An empty answer keeps what stands in brackets.");
    let questions = edit::questions(&now, &scanners, &reporters());
    let sets = ask(&questions, &mut std::io::stdin().lock(), &mut std::io::stderr().lock())?;
    if is_new {
        let text = updated(&path, &init::text(environment)?, &sets, environment)?;
        init::make(&path)?.create(&text, false).map_err(explained)?;
    } else {
        let file = open(&path, false)?;
        let original = file.read().map_err(explained)?;
        let text = updated(&path, &original.text, &sets, environment)?;
        if text == original.text {
            ui::error("nothing to change");
            return Ok(ExitCode::SUCCESS);
        }
        ui::out(&diff::lines(&original.text, &text));
        file.replace(&original, &text).map_err(explained)?;
    }
    ui::error(&format!("wrote `{}`", shown(&path)));
    Ok(ExitCode::SUCCESS)
}

/// Asks every question until its answer can be understood; what the answers set.
fn ask(
    questions: &[Question],
    input: &mut dyn BufRead,
    output: &mut dyn Write,
) -> Result<Vec<String>, CommandError> {
    let mut sets = Vec::new();
    for question in questions {
        let mut understood = false;
        for _ in 0..ATTEMPTS {
            let _ = write!(output, "{}", question.prompt());
            let _ = output.flush();
            let mut typed = String::new();
            let read = input.read_line(&mut typed).map_err(CommandError::failed)?;
            if read == 0 {
                return Err(CommandError::failed("the answers ended early; nothing was written"));
            }
            match question.answer(&typed) {
                Ok(set) => {
                    sets.extend(set);
                    understood = true;
                    break;
                }
                Err(expected) => {
                    let _ = writeln!(output, "answer with {expected}");
                }
            }
        }
        if !understood {
            return Err(CommandError::failed("no answer was understood; nothing was written"));
        }
    }
    Ok(sets)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(typed: &str) -> Result<Vec<String>, String> {
        let questions = edit::questions(&serde_json::Map::new(), &["bandit"], &[]);
        let mut shown = Vec::new();
        ask(&questions, &mut typed.as_bytes(), &mut shown)
            .map_err(|error| error.message().to_owned())
    }

    #[test]
    fn answers_become_settings() {
        assert_eq!(
            answers("high\nauto\n\nn\n").unwrap(),
            [
                "global_settings.severity_threshold=HIGH",
                "sandbox.mode=auto",
                "scanners.bandit.enabled=false",
            ]
        );
        assert_eq!(answers("\n\n\n\n").unwrap(), [""; 0]);
    }

    #[test]
    fn a_question_is_asked_again_until_its_answer_is_understood() {
        assert_eq!(
            answers("info\nHIGH\n\n\n\n").unwrap(),
            ["global_settings.severity_threshold=HIGH"]
        );
        assert!(answers("x\nx\nx\nx\nx\n").is_err());
        assert!(answers("high\n").is_err());
    }
}
