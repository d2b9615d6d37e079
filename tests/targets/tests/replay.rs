// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Every target over its seeds and its corpus, each input as it is and damaged.
//!
//! The same damage is done at every run; `TROMMEL_REPLAY_COPIES` sets how much, for each input. All happens in a
//! process of bounded memory, so that what takes too much is noticed.

// What reads inputs for the test may give up as the test may.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use trommel_fuzz_targets::{TARGETS, Target};

/// Damaged copies of each input.
const COPIES: u64 = 10;
/// The most address space that the process may take, in KiB.
const KIBIBYTES: u32 = 2 << 20;
/// Set in the process that is bounded.
const BOUNDED: &str = "TROMMEL_BOUNDED";

#[test]
fn corpora() {
    if env::var_os(BOUNDED).is_some() {
        TARGETS.iter().for_each(replay);
        return;
    }
    let output = Command::new("sh")
        .args(["-c", &format!("ulimit -v {KIBIBYTES} && exec \"$0\" \"$@\"")])
        .arg(env::current_exe().unwrap())
        .args(["corpora", "--exact", "--nocapture"])
        .env(BOUNDED, "1")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    let last: Vec<_> = told.lines().rev().take(10).collect();
    let last: Vec<_> = last.into_iter().rev().collect();
    assert!(output.status.success(), "{}\n{}", output.status, last.join("\n"));
    print!("{}", String::from_utf8_lossy(&output.stdout));
}

fn replay(target: &Target) {
    let copies = env::var("TROMMEL_REPLAY_COPIES").ok().map_or(COPIES, |copies| copies.parse().unwrap());
    let mut inputs: Vec<_> =
        (target.seeds)().into_iter().enumerate().map(|(at, seed)| (format!("seed {at}"), seed)).collect();
    for file in corpus(target) {
        inputs.push((file.file_name().unwrap().to_string_lossy().into_owned(), fs::read(file).unwrap()));
    }
    assert!(!inputs.is_empty());
    for (name, bytes) in &inputs {
        for copy in 0..=copies {
            // What ends the process is the last that it has told.
            eprintln!("{} {name}, copy {copy}", target.name);
            let bytes = if copy == 0 { bytes.clone() } else { damaged(bytes, copy) };
            if let Err(found) = target.run(&bytes) {
                let file = env::temp_dir().join(format!("{}-{copy}", target.name));
                fs::write(&file, bytes).unwrap();
                eprintln!("{}: {found}", file.display());
                std::process::exit(1);
            }
        }
    }
    println!("{}: {} inputs", target.name, inputs.len());
}

/// The files of a target's corpus, in order of their names.
fn corpus(target: &Target) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target.name);
    // A target that nothing was found with has no folder: git keeps none that are empty.
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// A copy with some damage, the same for the same number.
fn damaged(bytes: &[u8], number: u64) -> Vec<u8> {
    // SplitMix64: each step gives as good a number as any.
    let mut state = number ^ bytes.iter().fold(0, |hash: u64, byte| hash.rotate_left(5) ^ u64::from(*byte));
    let mut random = |below: usize| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % below.max(1) as u64) as usize
    };
    let mut copy = bytes.to_vec();
    for _ in 0..=random(3) {
        let (at, byte) = (random(copy.len()), random(256) as u8);
        let Some(old) = copy.get_mut(at) else { break };
        match random(6) {
            0 => *old ^= 1 << (byte % 8),
            1 => *old = byte,
            2 => copy.truncate(at),
            3 => drop(copy.drain(at..(at + 4).min(copy.len()))),
            4 => copy.insert(at, byte),
            _ => copy.splice(at..at + 1, [0xff, 0xff, 0xff, 0xff, 0x07]).for_each(drop),
        }
    }
    copy
}
