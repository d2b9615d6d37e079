// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A text as statements, which end with `;`, and shell commands, which are lines that begin with `\`.
//!
//! A statement is only cut out here, never understood: quotes and comments are what may hide its end.

/// A statement or a shell command of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece<'a> {
    /// The line it begins at, counted from 1.
    pub line: usize,
    /// The statement without its `;`, or the command without its `\`.
    pub text: &'a str,
    /// Whether it is a shell command.
    pub is_command: bool,
}

/// The statements and commands of a script, in order; empty ones and a first line `#!…` are left out.
pub fn pieces(script: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut at = match script.starts_with("#!") {
        true => line_end(script, 0),
        false => 0,
    };
    loop {
        at = after_blanks(script, at);
        if at == script.len() {
            return pieces;
        }
        let is_command = script[at..].starts_with('\\');
        let end = if is_command { line_end(script, at) } else { statement_end(script, at) };
        let text = script[at + usize::from(is_command)..end].trim_end();
        if !text.is_empty() {
            let line = 1 + script[..at].matches('\n').count();
            pieces.push(Piece { line, text, is_command });
        }
        // The end is a line's end or a semicolon, if not the script's.
        at = (end + 1).min(script.len());
    }
}

fn line_end(script: &str, at: usize) -> usize {
    script[at..].find('\n').map_or(script.len(), |length| at + length)
}

/// The place after white space and comments.
fn after_blanks(script: &str, mut at: usize) -> usize {
    loop {
        let rest = &script[at..];
        let begin = script.len() - rest.trim_start().len();
        let next = after_comment(script, begin).unwrap_or(begin);
        if next == at {
            return at;
        }
        at = next;
    }
}

/// The place after the comment that begins here, if one does.
fn after_comment(script: &str, at: usize) -> Option<usize> {
    let rest = &script[at..];
    if rest.starts_with("--") {
        return Some(line_end(script, at));
    }
    rest.strip_prefix("/*")?;
    let (mut depth, mut next) = (0, at);
    while next < script.len() {
        let rest = &script[next..];
        let step = match rest.get(..2) {
            Some("/*") => {
                depth += 1;
                2
            }
            Some("*/") => {
                depth -= 1;
                2
            }
            _ => rest.chars().next().map_or(1, char::len_utf8),
        };
        next += step;
        if depth == 0 {
            return Some(next);
        }
    }
    Some(script.len())
}

/// The place of the `;` that ends the statement, or the script's end.
fn statement_end(script: &str, mut at: usize) -> usize {
    while let Some(char) = script[at..].chars().next() {
        at = match char {
            ';' => return at,
            // A doubled quote closes one text and opens the next.
            '\'' | '"' | '`' => {
                let inside = at + 1;
                script[inside..].find(char).map_or(script.len(), |length| inside + length + 1)
            }
            _ => after_comment(script, at).unwrap_or(at + char.len_utf8()),
        };
    }
    at
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::nothing(" \n ", &[])]
    #[case::only_comments("-- a;\n/* b; */ ;;", &[])]
    #[case::one_without_end("SELECT 1", &[(1, "SELECT 1")])]
    #[case::two_on_a_line("SELECT 1; SELECT 2;", &[(1, "SELECT 1"), (1, "SELECT 2")])]
    #[case::over_lines("\nSELECT\n1;\n\nSELECT 2", &[(2, "SELECT\n1"), (5, "SELECT 2")])]
    #[case::quotes("SELECT ';', \";\", 'it''s;';", &[(1, "SELECT ';', \";\", 'it''s;'")])]
    #[case::comments("SELECT 1 -- ;'\n, 2 /* ; /* ; */ ; */;", &[(1, "SELECT 1 -- ;'\n, 2 /* ; /* ; */ ; */")])]
    #[case::open_quote("SELECT ';", &[(1, "SELECT ';")])]
    #[case::open_comment("SELECT 1 /* ;", &[(1, "SELECT 1 /* ;")])]
    #[case::beyond_ascii("SELECT 'é; ü' /* ö; */; SELECT 'ß'", &[(1, "SELECT 'é; ü' /* ö; */"), (1, "SELECT 'ß'")])]
    #[case::shebang("#!/usr/bin/env trommel\nSELECT 1", &[(2, "SELECT 1")])]
    #[case::minus_and_slash("SELECT 1 - 2 / 3; SELECT -1", &[(1, "SELECT 1 - 2 / 3"), (1, "SELECT -1")])]
    fn statements(#[case] script: &str, #[case] expected: &[(usize, &str)]) {
        let found: Vec<_> = pieces(script).iter().map(|piece| (piece.line, piece.text)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn commands_are_lines() {
        let found = pieces("\\pset format csv\nSELECT 1\n+ 2;\n  \\d t\nSELECT '\n\\q';");
        let found: Vec<_> = found.iter().map(|piece| (piece.is_command, piece.text)).collect();
        assert_eq!(
            found,
            [(true, "pset format csv"), (false, "SELECT 1\n+ 2"), (true, "d t"), (false, "SELECT '\n\\q'")]
        );
    }
}
