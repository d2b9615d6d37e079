// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Functions of which pruning can tell something: those that go with the order of their argument, and matches of
//! which it is known how they begin.
//!
//! | expression | becomes |
//! |---|---|
//! | `-x`, `abs(x)`, `floor(x)`, `ceil(x)` of a number | a foreign node over x |
//! | `date_trunc`, `date_bin`, the year or the epoch, of a day or a time without zone | a foreign node over x |
//! | `x ~ '^text…'` | `x LIKE 'text%' AND` the match |
//! | `starts_with(x, text)` | `x LIKE 'text%'` |
//!
//! Zoned timestamps are left out: a local clock goes back.

use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::ScalarValue;
use datafusion::functions::datetime::date_bin::DateBinFunc;
use datafusion::functions::datetime::date_part::DatePartFunc;
use datafusion::functions::datetime::date_trunc::DateTruncFunc;
use datafusion::functions::math::abs::AbsFunc;
use datafusion::functions::math::ceil::CeilFunc;
use datafusion::functions::math::floor::FloorFunc;
use datafusion::functions::string::starts_with::StartsWithFunc;
use datafusion::logical_expr::{Operator, ScalarUDFImpl};
use datafusion::physical_expr::ScalarFunctionExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, Literal, NegativeExpr};
use trommel_planner::expr::functions::{And, Like, LikeOptions, Not};
use trommel_planner::expr::{BoundExpression, ExprKind, Monotone};

use super::foreign::DataFusionExpr;
use super::{Expr, Translator};

impl Translator {
    /// A monotone function as a foreign node over its translated argument; `None` when that is constant, or foreign
    /// too: the whole is better left as one node then.
    pub(super) fn monotone(&self, expr: &Expr) -> Option<BoundExpression> {
        let (argument, monotone) = monotone(expr, |arg| arg.data_type(&self.table).ok())?;
        let children = expr.children();
        let input = self.translate(children.get(argument)?);
        let is_opaque = matches!(input.kind(), ExprKind::Foreign(foreign) if foreign.monotone().is_none());
        if is_opaque || !input.any(BoundExpression::is_root) {
            return None;
        }
        let field: FieldRef = Arc::new(input.field().as_ref().clone().with_name("x"));
        let mut arguments: Vec<Expr> = children.into_iter().map(Arc::clone).collect();
        arguments[argument] = Arc::new(Column::new("x", 0));
        let renumbered = Arc::clone(expr).with_new_children(arguments).ok()?;
        let foreign = DataFusionExpr::new(expr, renumbered, vec![field], &self.table).with_monotone(monotone);
        BoundExpression::try_new(ExprKind::Foreign(Arc::new(foreign)), vec![input]).ok()
    }

    /// A match that begins with a text.
    pub(super) fn begins(&self, expr: &Expr) -> Option<BoundExpression> {
        let like = |value: &Expr, text: &str, pattern: &ScalarValue| {
            let pattern =
                ScalarValue::from(format!("{}%", escaped(text))).cast_to(&pattern.data_type()).ok()?;
            let options = LikeOptions { negated: false, case_insensitive: false };
            Like::of(options, self.translate(value), BoundExpression::literal(pattern)).ok()
        };
        if let Some(function) = ScalarFunctionExpr::try_downcast_func::<StartsWithFunc>(expr.as_ref()) {
            let [value, text] = function.args() else { return None };
            let text = text.downcast_ref::<Literal>()?.value();
            return like(value, text.try_as_str()??, text);
        }
        let binary = expr.downcast_ref::<BinaryExpr>()?;
        let negated = match binary.op() {
            Operator::RegexMatch => false,
            Operator::RegexNotMatch => true,
            _ => return None,
        };
        let pattern = binary.right().downcast_ref::<Literal>()?.value();
        let begins = like(binary.left(), &literal_prefix(pattern.try_as_str()??)?, pattern)?;
        let matches =
            BinaryExpr::new(Arc::clone(binary.left()), Operator::RegexMatch, Arc::clone(binary.right()));
        let both = And::of([begins, self.foreign(&(Arc::new(matches) as Expr))]).ok()?;
        if negated { Not::of(both).ok() } else { Some(both) }
    }
}

/// The argument that a function goes with, and how; all others are constants.
fn monotone(expr: &Expr, data_type: impl Fn(&Expr) -> Option<DataType>) -> Option<(usize, Monotone)> {
    let of_number = |arg: &Expr| data_type(arg).is_some_and(|t| t.is_signed_integer() || t.is_floating());
    if let Some(negative) = expr.downcast_ref::<NegativeExpr>() {
        return of_number(negative.arg()).then_some((0, Monotone::Decreasing));
    }
    let function = expr.downcast_ref::<ScalarFunctionExpr>()?;
    let function_is = |is: bool, argument: usize, monotone: Monotone| {
        let constant = |(i, arg): (usize, &Expr)| i == argument || arg.is::<Literal>();
        (is && function.args().iter().enumerate().all(constant)).then_some((argument, monotone))
    };
    let of_time = |argument: usize| {
        let data_type = function.args().get(argument).and_then(&data_type);
        matches!(data_type, Some(DataType::Date32 | DataType::Timestamp(_, None)))
    };
    if is_a::<FloorFunc>(expr) || is_a::<CeilFunc>(expr) {
        function_is(function.args().first().is_some_and(of_number), 0, Monotone::Increasing)
    } else if is_a::<AbsFunc>(expr) {
        function_is(function.args().first().is_some_and(of_number), 0, Monotone::AwayFromZero)
    } else if is_a::<DateTruncFunc>(expr) || is_a::<DateBinFunc>(expr) {
        function_is(of_time(1), 1, Monotone::Increasing)
    } else if is_a::<DatePartFunc>(expr) {
        let part = function.args().first()?.downcast_ref::<Literal>()?.value().try_as_str()??.to_lowercase();
        let goes_with_time = matches!(part.as_str(), "year" | "isoyear" | "epoch");
        function_is(goes_with_time && of_time(1), 1, Monotone::Increasing)
    } else {
        None
    }
}

fn is_a<F: ScalarUDFImpl + 'static>(expr: &Expr) -> bool {
    ScalarFunctionExpr::try_downcast_func::<F>(expr.as_ref()).is_some()
}

/// The text with which every match of a regular expression begins; `None` when there is none to tell.
fn literal_prefix(pattern: &str) -> Option<String> {
    let mut chars = pattern.strip_prefix('^')?.chars();
    // An alternative may begin otherwise.
    if pattern.contains('|') {
        return None;
    }
    let mut text = String::new();
    loop {
        let rest = chars.as_str();
        match chars.next() {
            Some('\\') if chars.as_str().starts_with(|c: char| c.is_ascii_punctuation()) => {
                text.extend(chars.next())
            }
            Some(c) if c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '/' | ':' | ',' | '@' | '=') => {
                text.push(c)
            }
            _ => {
                // The last character may be left out.
                if rest.starts_with(['*', '?', '{']) {
                    text.pop();
                }
                return Some(text).filter(|text| !text.is_empty());
            }
        }
    }
}

fn escaped(text: &str) -> String {
    let escape = |c: char| matches!(c, '%' | '_' | '\\').then_some('\\').into_iter().chain([c]);
    text.chars().flat_map(escape).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::whole("^abc$", Some("abc"))]
    #[case::then_a_class("^ab[0-9]+", Some("ab"))]
    #[case::repeated("^abc+", Some("abc"))]
    #[case::optional("^abc?d", Some("ab"))]
    #[case::any_number("^abc*", Some("ab"))]
    #[case::counted("^abc{0,2}", Some("ab"))]
    #[case::one_optional("^a?b", None)]
    #[case::escaped("^a\\.b\\d", Some("a.b"))]
    #[case::escaped_and_optional("^a\\.?b", Some("a"))]
    #[case::class_first("^\\d", None)]
    #[case::alternative("^ab|cd", None)]
    #[case::not_anchored("ab", None)]
    #[case::flags("(?i)^ab", None)]
    #[case::empty("^", None)]
    fn prefixes(#[case] pattern: &str, #[case] expect: Option<&str>) {
        assert_eq!(literal_prefix(pattern).as_deref(), expect);
    }

    #[test]
    fn wildcards_in_texts_are_escaped() {
        assert_eq!(escaped("50%_\\"), "50\\%\\_\\\\");
    }
}
