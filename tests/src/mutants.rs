// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Faults put into the code on purpose, to see the tests notice them.
//!
//! `mutants.txt` lists them; its head tells the form.

use anyhow::{Context, Result, bail, ensure};

/// One fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mutant {
    /// What it is called.
    pub name: String,
    /// The file it changes, from the workspace's root.
    pub file: String,
    /// Arguments of the cargo command that must fail with it.
    pub test: Vec<String>,
    /// The text it replaces, which the file holds once.
    pub from: String,
    /// What takes its place.
    pub to: String,
}

impl Mutant {
    /// The list in `text`.
    ///
    /// # Errors
    /// A line that doesn't fit, with its number.
    pub fn parse_list(text: &str) -> Result<Vec<Self>> {
        let mut lines = text.lines().enumerate();
        let mut mutants = Vec::new();
        while let Some((number, line)) = lines.next() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let name = line.strip_prefix("mutant ");
            let name = name.with_context(|| format!("line {}: no `mutant NAME`", number + 1))?;
            let mutant = Self::parse(name, &mut lines);
            mutants.push(mutant.with_context(|| format!("mutant {name}, line {}", number + 1))?);
        }
        Ok(mutants)
    }

    fn parse<'a>(name: &str, lines: &mut impl Iterator<Item = (usize, &'a str)>) -> Result<Self> {
        let mut lines = lines.map(|(_, line)| line);
        let mut field = |key: &str| {
            let line = lines.next().unwrap_or_default();
            line.strip_prefix(key).map(str::trim).map(str::to_owned).with_context(|| format!("no `{key}`"))
        };
        let file = field("file ")?;
        let test = field("test ")?.split_whitespace().map(str::to_owned).collect();
        field("<<<<")?;
        let mut until = |end: &str| {
            let mut text = Vec::new();
            for line in lines.by_ref() {
                if line == end {
                    return Ok(text.join("\n"));
                }
                text.push(line);
            }
            bail!("no `{end}`")
        };
        Ok(Self { name: name.trim().to_owned(), file, test, from: until("====")?, to: until(">>>>")? })
    }

    /// `source` with the fault in it.
    ///
    /// # Errors
    /// The text to replace isn't there exactly once, or is replaced by itself.
    pub fn apply(&self, source: &str) -> Result<String> {
        let found = source.matches(&self.from).count();
        ensure!(found == 1, "{}: {} holds the text to replace {found} times", self.name, self.file);
        ensure!(self.from != self.to, "{}: nothing changes", self.name);
        Ok(source.replacen(&self.from, &self.to, 1))
    }
}

/// The names of the tests that failed, from what `cargo test` printed.
pub fn failed_tests(output: &str) -> Vec<String> {
    let names = output.lines().map(|line| line.strip_prefix("---- ")?.strip_suffix(" stdout ----"));
    names.flatten().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "# head\n\nmutant drop a null check\nfile src/a.rs\ntest test -p a nulls\n<<<<\nif null {\n    x\n}\n====\n>>>>\n";

    #[test]
    fn a_list_is_read_and_applied() {
        let mutants = Mutant::parse_list(LIST).unwrap();
        assert_eq!(mutants.len(), 1);
        assert_eq!(mutants[0].test, ["test", "-p", "a", "nulls"]);
        assert_eq!(mutants[0].apply("a\nif null {\n    x\n}\nb\n").unwrap(), "a\n\nb\n");
    }

    #[test]
    fn a_mutant_that_no_longer_fits_is_named() {
        let mutant = &Mutant::parse_list(LIST).unwrap()[0];
        let error = mutant.apply("other").unwrap_err().to_string();
        assert_eq!(error, "drop a null check: src/a.rs holds the text to replace 0 times");
    }

    #[test]
    fn a_broken_list_is_named() {
        let error = Mutant::parse_list("mutant a\nfile b\n<<<<\n").unwrap_err();
        assert_eq!(format!("{error:#}"), "mutant a, line 1: no `test `");
    }

    #[test]
    fn failed_tests_are_named() {
        let output =
            "running 2 tests\n.F\nfailures:\n\n---- a::b stdout ----\nleft: 1\n\nfailures:\n    a::b\n";
        assert_eq!(failed_tests(output), ["a::b"]);
    }

    #[test]
    fn the_list_of_this_crate_fits_its_code() {
        for mutant in Mutant::parse_list(include_str!("../mutants.txt")).unwrap() {
            let file = concat!(env!("CARGO_MANIFEST_DIR"), "/..").to_owned() + "/" + &mutant.file;
            mutant.apply(&std::fs::read_to_string(file).unwrap()).unwrap();
        }
    }
}
