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
//! `ILIKE` matches any mix of cases: each mix of the first letters gives a range, which reaches from the one
//! that goes on in capital letters to the one that goes on in small ones. The text is cut before characters that
//! match others still: letters outside ASCII, and `k` and `s`, which match the Kelvin sign and the long s.

use arrow::datatypes::DataType;
use datafusion_common::ScalarValue;

/// How many mixes of cases are told apart.
const MOST_CASES: usize = 8;

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

impl Pattern {
    /// Whether matching without regard to case is no other than with.
    pub fn has_no_case(&self) -> bool {
        let (Self::Exactly(text) | Self::StartsWith(text) | Self::Begins(text)) = self;
        !text.contains(char::is_alphabetic)
    }

    /// The texts that a match without regard to case may begin with, as ranges from the least to the greatest, and
    /// whether a range holds one text each and nothing more is asked.
    pub fn any_case(&self) -> (Vec<[String; 2]>, bool) {
        let (Self::Exactly(text) | Self::StartsWith(text) | Self::Begins(text)) = self;
        let matches_more = |c: char| {
            let is_letter = c.is_alphabetic();
            is_letter && !c.is_ascii() || matches!(c.to_ascii_lowercase(), 'k' | 's')
        };
        let judged = text.split(matches_more).next().unwrap_or_default();
        let mut ranges = vec![[String::new(), String::new()]];
        for c in judged.chars() {
            let cases = [c.to_ascii_uppercase(), c.to_ascii_lowercase()];
            if cases[0] != cases[1] && ranges.len() < MOST_CASES {
                let with = |range: &[String; 2], case| range.each_ref().map(|text| format!("{text}{case}"));
                ranges = ranges.iter().flat_map(|range| cases.map(|case| with(range, case))).collect();
            } else {
                ranges
                    .iter_mut()
                    .for_each(|range| range.iter_mut().zip(cases).for_each(|(text, c)| text.push(c)));
            }
        }
        let is_all = judged == text && !matches!(self, Self::Begins(_)) && ranges.iter().all(|[a, b]| a == b);
        (ranges, is_all)
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
    #[case::one_letter("1a%", "1A-1A 1a-1a", true)]
    #[case::two_letters("aB", "AB-AB Ab-Ab aB-aB ab-ab", true)]
    #[case::kelvin("AKc%", "A-A a-a", false)]
    #[case::long_s("sa", "-", false)]
    #[case::not_ascii("až%", "A-A a-a", false)]
    #[case::more_to_match("a_", "A-A a-a", false)]
    fn patterns_in_any_case(#[case] pattern: &str, #[case] expect: &str, #[case] all: bool) {
        let (ranges, is_all) = Pattern::parse(pattern).any_case();
        let ranges: Vec<_> = ranges.iter().map(|range| range.join("-")).collect();
        assert_eq!((ranges.join(" ").as_str(), is_all), (expect, all));
    }

    #[test]
    fn few_mixes_of_cases_are_told_apart() {
        let (ranges, is_all) = Pattern::parse("abcd%").any_case();
        assert_eq!((ranges.len(), is_all), (MOST_CASES, false));
        assert_eq!(ranges[0], ["ABCD", "ABCd"]);
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
