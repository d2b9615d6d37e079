// Licensed under the Apache License, Version 2.0. See LICENSE.

//! `x LIKE pattern`, judged by what the pattern says before its first wildcard.
//!
//! | pattern | same as |
//! |---|---|
//! | no wildcard | `x = text` |
//! | `text%` | `x >= text AND x < next`, where next is the least string above all that start with text |
//! | `text…` with any other wildcards | the same AND something that may be anything |
//!
//! Sound because strings are ordered by their bytes, which for UTF-8 is by their characters: a string starts
//! with `text` iff it is at least `text` and below the string whose last character is one greater. When
//! every character of the text is the greatest there is, there is no such string, and nothing is above.
//!
//! `ILIKE` is not judged: letters of both cases lie apart.

use arrow::datatypes::DataType;
use datafusion_common::ScalarValue;

/// What a LIKE pattern says of the start of a string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// The string is this.
    Exactly(String),
    /// The string starts with this, and nothing more is asked.
    StartsWith(String),
    /// The string starts with this, and more is asked.
    Begins(String),
}

impl Pattern {
    /// Reads a pattern. A backslash takes away the meaning of the character after it; at the end it
    /// stands for itself.
    pub fn parse(pattern: &str) -> Self {
        let (mut text, mut chars) = (String::new(), pattern.chars());
        while let Some(c) = chars.next() {
            match c {
                '\\' => text.push(chars.next().unwrap_or('\\')),
                '%' if chars.as_str().chars().all(|c| c == '%') => return Self::StartsWith(text),
                '%' | '_' => return Self::Begins(text),
                c => text.push(c),
            }
        }
        Self::Exactly(text)
    }
}

/// The least string above all strings that start with `text`; `None` when there is none.
pub(crate) fn next_prefix(text: &str) -> Option<String> {
    let mut chars: Vec<char> = text.chars().collect();
    while let Some(last) = chars.pop() {
        // The range skips the surrogates, which aren't characters.
        if let Some(next) = (last..=char::MAX).nth(1) {
            chars.push(next);
            return Some(chars.into_iter().collect());
        }
    }
    None
}

/// A string of a string type.
pub(in crate::pruning) fn string(data_type: &DataType, text: String) -> Option<ScalarValue> {
    match data_type {
        DataType::Utf8 => Some(ScalarValue::Utf8(Some(text))),
        DataType::LargeUtf8 => Some(ScalarValue::LargeUtf8(Some(text))),
        DataType::Utf8View => Some(ScalarValue::Utf8View(Some(text))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::plain("abc", Pattern::Exactly("abc".into()))]
    #[case::empty("", Pattern::Exactly("".into()))]
    #[case::prefix("abc%", Pattern::StartsWith("abc".into()))]
    #[case::all("%", Pattern::StartsWith("".into()))]
    #[case::two_percents("a%%", Pattern::StartsWith("a".into()))]
    #[case::inner("a%c", Pattern::Begins("a".into()))]
    #[case::one_character("ab_", Pattern::Begins("ab".into()))]
    #[case::suffix("%a", Pattern::Begins("".into()))]
    #[case::escaped_percent("a\\%", Pattern::Exactly("a%".into()))]
    #[case::escaped_then_wild("a\\%%", Pattern::StartsWith("a%".into()))]
    #[case::escaped_backslash("a\\\\%", Pattern::StartsWith("a\\".into()))]
    #[case::escaped_letter("a\\b", Pattern::Exactly("ab".into()))]
    #[case::last_backslash("a\\", Pattern::Exactly("a\\".into()))]
    #[case::wide("žluť%", Pattern::StartsWith("žluť".into()))]
    fn patterns(#[case] pattern: &str, #[case] expect: Pattern) {
        assert_eq!(Pattern::parse(pattern), expect);
    }

    #[rstest]
    #[case::ascii("ab", Some("ac"))]
    #[case::empty("", None)]
    #[case::before_surrogates("a\u{d7ff}", Some("a\u{e000}"))]
    #[case::carries("a\u{10ffff}", Some("b"))]
    #[case::greatest("\u{10ffff}\u{10ffff}", None)]
    #[case::longer_encoding("\u{7f}", Some("\u{80}"))]
    fn next_prefixes(#[case] text: &str, #[case] expect: Option<&str>) {
        assert_eq!(next_prefix(text).as_deref(), expect);
    }
}
