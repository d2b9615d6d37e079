// Licensed under the Apache License, Version 2.0. See LICENSE.

//! `trommel demo` as a user runs it.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

/// What `trommel demo` printed, and its exit code.
struct Printed {
    code: Option<i32>,
    out: String,
    err: String,
}

/// Runs `trommel demo` with `temporary` as the place for temporary folders.
fn demo(temporary: &Path, arguments: &[&str]) -> Result<Printed> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trommel"));
    let output = command.arg("demo").args(arguments).env("TMPDIR", temporary).output()?;
    Ok(Printed {
        code: output.status.code(),
        out: String::from_utf8(output.stdout)?,
        err: String::from_utf8(output.stderr)?,
    })
}

#[test]
fn the_engines_agree_and_nothing_is_left_behind() {
    let temporary = tempfile::tempdir().unwrap();
    let printed = demo(temporary.path(), &["--scale", "0.001", "--repeat", "1"]).unwrap();
    let text = printed.out;
    assert_eq!(printed.code, Some(0), "{text}{}", printed.err);
    for query in
        ["TopK, unsorted", "TopK, clustered", "join", "join, collected", "join, partitioned", "key range"]
    {
        assert!(text.contains(&format!("│ {query} ")), "{text}");
    }
    assert!(!text.contains("WRONG ANSWER") && !text.contains("FAILED"), "{text}");
    assert!(text.contains("All engines gave the same answers."), "{text}");
    assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0, "the temporary folder is removed");
}

#[test]
fn keep_says_where_the_data_is() {
    let temporary = tempfile::tempdir().unwrap();
    let text = demo(temporary.path(), &["--scale", "0.001", "--repeat", "1", "--keep"]).unwrap().out;
    let folder = text.lines().find_map(|line| line.strip_prefix("The data is kept in ")).unwrap();
    assert!(Path::new(folder).join("lineitem.parquet").is_file(), "{text}");
}

#[test]
fn a_named_folder_is_used_again_and_never_overwritten() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("data");
    let folder = folder.to_str().unwrap();
    let arguments = ["--scale", "0.001", "--repeat", "1", "--partitions", "1", "--dir", folder];
    assert!(demo(temporary.path(), &arguments).unwrap().out.contains("wrote lineitem"));
    assert!(demo(temporary.path(), &arguments).unwrap().out.contains("found lineitem"));

    let other_scale = demo(temporary.path(), &["--scale", "0.002", "--dir", folder]).unwrap();
    assert_eq!(other_scale.code, Some(1));
    let message = other_scale.err;
    assert!(message.starts_with("error: ") && message.contains("holds orders at scale 0.001"), "{message}");
}

#[test]
fn a_wrong_command_line_is_exit_code_two() {
    let temporary = tempfile::tempdir().unwrap();
    for arguments in [["--scale", "-1"], ["--repeat", "0"], ["--what", "else"]] {
        assert_eq!(demo(temporary.path(), &arguments).unwrap().code, Some(2), "{arguments:?}");
    }
}
