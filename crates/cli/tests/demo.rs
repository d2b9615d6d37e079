// Licensed under the Apache License, Version 2.0. See LICENSE.

//! `trommel demo` as a user runs it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Whether Trommel's tables can be opened. Until then its cells say "failed", and so does the exit code.
const TROMMEL_WORKS: bool = false;

/// Runs `trommel demo` with `temporary` as the place for temporary folders.
fn demo(temporary: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_trommel"))
        .arg("demo")
        .args(arguments)
        .env("TMPDIR", temporary)
        .output()
        .unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn the_engines_agree_and_nothing_is_left_behind() {
    let temporary = tempfile::tempdir().unwrap();
    let output = demo(temporary.path(), &["--scale", "0.001", "--repeat", "1"]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(if TROMMEL_WORKS { 0 } else { 1 }), "{text}{}", stderr(&output));
    for query in ["TopK, unsorted", "TopK, clustered", "join", "join, partitioned", "key range"] {
        assert!(text.contains(&format!("│ {query} ")), "{text}");
    }
    assert!(!text.contains("WRONG ANSWER") && !text.contains("FAILED: stock"), "{text}");
    assert_eq!(text.contains("FAILED: Trommel"), !TROMMEL_WORKS, "{text}");
    assert_eq!(text.contains("All engines gave the same answers."), TROMMEL_WORKS, "{text}");
    assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0, "the temporary folder is removed");
}

#[test]
fn keep_says_where_the_data_is() {
    let temporary = tempfile::tempdir().unwrap();
    let output = demo(temporary.path(), &["--scale", "0.001", "--repeat", "1", "--keep"]);
    let text = stdout(&output);
    let folder = text.lines().find_map(|line| line.strip_prefix("The data is kept in ")).unwrap();
    assert!(Path::new(folder).join("lineitem.parquet").is_file(), "{text}");
}

#[test]
fn a_named_folder_is_used_again_and_never_overwritten() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("data");
    let folder = folder.to_str().unwrap();
    let arguments = ["--scale", "0.001", "--repeat", "1", "--partitions", "1", "--dir", folder];
    assert!(stdout(&demo(temporary.path(), &arguments)).contains("wrote lineitem"));
    assert!(stdout(&demo(temporary.path(), &arguments)).contains("found lineitem"));

    let other_scale = demo(temporary.path(), &["--scale", "0.002", "--dir", folder]);
    assert_eq!(other_scale.status.code(), Some(1));
    let message = stderr(&other_scale);
    assert!(message.starts_with("error: ") && message.contains("holds orders at scale 0.001"), "{message}");
}

#[test]
fn a_wrong_command_line_is_exit_code_two() {
    let temporary = tempfile::tempdir().unwrap();
    for arguments in [["--scale", "-1"], ["--repeat", "0"], ["--what", "else"]] {
        assert_eq!(demo(temporary.path(), &arguments).status.code(), Some(2), "{arguments:?}");
    }
}
