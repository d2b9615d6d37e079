// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Typing statements in, with history, completion and hints.

use std::env;
use std::path::PathBuf;

use anyhow::Result;
use datafusion_cli::DATAFUSION_CLI_VERSION;
use datafusion_cli::helper::CliHelper;
use rustyline::Editor;
use rustyline::error::ReadlineError;
use rustyline::history::DefaultHistory;
use tokio::signal;

use super::script::pieces;
use super::shell::{Next, Shell};
use crate::failure::describe;

/// Reads statements and commands until told to quit. One that fails says so, and the next may be typed.
///
/// # Errors
/// The terminal can't be used.
pub async fn run(shell: &mut Shell) -> Result<()> {
    if !shell.style().quiet {
        println!(
            "Trommel {} on DataFusion {DATAFUSION_CLI_VERSION}. End statements with ; and ask \\? for commands.",
            env!("CARGO_PKG_VERSION")
        );
    }
    let mut editor: Editor<CliHelper, DefaultHistory> = Editor::new()?;
    editor.set_helper(Some(CliHelper::new(&shell.dialect(), true)));
    let history = history_file();
    if let Some(file) = &history {
        // There is none before the first time.
        let _ = editor.load_history(file);
    }
    loop {
        match editor.readline("trommel> ") {
            Ok(text) => {
                editor.add_history_entry(text.trim_end())?;
                if run_interruptibly(shell, &text).await == Next::Quit {
                    break;
                }
                if let Some(helper) = editor.helper_mut() {
                    helper.set_dialect(&shell.dialect());
                }
            }
            Err(ReadlineError::Interrupted) => println!("^C: \\q quits"),
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(error.into()),
        }
    }
    if let Some(file) = &history
        && let Err(error) = editor.save_history(file)
    {
        eprintln!("the history can't be kept in {}: {error}", file.display());
    }
    Ok(())
}

/// Runs what was typed; an interrupt ends it, and not the shell.
async fn run_interruptibly(shell: &mut Shell, text: &str) -> Next {
    for piece in pieces(text) {
        tokio::select! {
            next = shell.run(&piece) => match next {
                Ok(Next::GoOn) => {}
                Ok(Next::Quit) => return Next::Quit,
                Err(error) => {
                    eprintln!("error: {}", describe(&error));
                    break;
                }
            },
            _ = signal::ctrl_c() => {
                println!("^C");
                break;
            }
        }
    }
    Next::GoOn
}

fn history_file() -> Option<PathBuf> {
    env::home_dir().map(|home| home.join(".trommel_history"))
}
