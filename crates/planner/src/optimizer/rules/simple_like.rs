// Licensed under the Apache License, Version 2.0. See LICENSE.

//! *x LIKE 'abc' → x = 'abc'; x LIKE '%' → x IS NOT NULL* in a filter, TRUE where x is never NULL;
//! *x LIKE 'a\_b%' → x >= 'a_b' AND x < 'a_c'*. NOT LIKE the same, negated.
//!
//! Other prefixes are left as they are: the kernel tests them as such, while an escape makes it build a
//! regular expression. Requires for a range, which reads x twice, that x is a column. Never for ILIKE.

use datafusion_common::ScalarValue;

use super::connective::constant;
use super::{Rewrite, RewriteContext, RuleResult, TypedExprRewriteRule};
use crate::expr::functions::{And, Compare, CompareOp, GetItem, IsNull, Like, LikeOptions, Or};
use crate::expr::{BindError, BoundExpression};
use crate::pruning::{Pattern, next_prefix};

/// See the [module](self).
#[derive(Debug)]
pub(super) struct SimpleLike;

impl TypedExprRewriteRule<Like> for SimpleLike {
    fn name(&self) -> &'static str {
        "simple_like"
    }

    fn rewrite(&self, options: &LikeOptions, node: &BoundExpression, ctx: &RewriteContext<'_>) -> RuleResult {
        let [value, pattern] = node.children() else { return Ok(Rewrite::Unchanged) };
        let literal = pattern.as_literal();
        let Some(text) = literal.and_then(|l| l.try_as_str().flatten()).filter(|_| !options.case_insensitive)
        else {
            return Ok(Rewrite::Unchanged);
        };
        let like = |text: String| literal.and_then(|l| string_like(l, text));
        let parsed = Pattern::parse(text);
        match parsed {
            Pattern::Exactly(text) => {
                let op = if options.negated { CompareOp::NotEq } else { CompareOp::Eq };
                let equality = like(text).map(|text| compare(value, op, text)).transpose()?;
                Ok(equality.into())
            }
            Pattern::StartsWith(prefix) if prefix.is_empty() => {
                Ok(match (node.field().is_nullable(), ctx.is_filter(), options.negated) {
                    (false, _, negated) => Rewrite::Rewritten(constant(!negated)),
                    (true, true, true) => Rewrite::Rewritten(constant(false)),
                    (true, true, false) => Rewrite::Rewritten(IsNull::of(value.clone(), true)?),
                    (true, false, _) => Rewrite::Unchanged,
                })
            }
            Pattern::StartsWith(prefix) if text.contains('\\') && is_column(value) => {
                let next = next_prefix(&prefix).and_then(like);
                let (Some(first), Some(next)) = (like(prefix), next) else { return Ok(Rewrite::Unchanged) };
                Ok(Rewrite::Rewritten(match options.negated {
                    false => And::of([
                        compare(value, CompareOp::GtEq, first)?,
                        compare(value, CompareOp::Lt, next)?,
                    ])?,
                    true => Or::of([
                        compare(value, CompareOp::Lt, first)?,
                        compare(value, CompareOp::GtEq, next)?,
                    ])?,
                }))
            }
            _ => Ok(Rewrite::Unchanged),
        }
    }
}

fn compare(value: &BoundExpression, op: CompareOp, text: ScalarValue) -> Result<BoundExpression, BindError> {
    Compare::of(op, value.clone(), BoundExpression::literal(text))
}

/// A string of the same type as another.
fn string_like(other: &ScalarValue, text: String) -> Option<ScalarValue> {
    match other {
        ScalarValue::Utf8(_) => Some(ScalarValue::Utf8(Some(text))),
        ScalarValue::LargeUtf8(_) => Some(ScalarValue::LargeUtf8(Some(text))),
        ScalarValue::Utf8View(_) => Some(ScalarValue::Utf8View(Some(text))),
        _ => None,
    }
}

/// Whether reading the expression again costs nothing.
fn is_column(mut expression: &BoundExpression) -> bool {
    while expression.as_opt::<GetItem>().is_some() {
        expression = &expression.children()[0];
    }
    expression.is_root()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use crate::expr::BoundExpression;
    use crate::optimizer::Position::{self, Filter, Value};
    use crate::optimizer::tests::support::*;

    #[rstest]
    #[case::no_wildcard(like("sn", "abc"), Value, "simple_like: $.sn = 'abc'")]
    #[case::negated(not(like("sn", "abc")), Value, "simple_like, negation: $.sn <> 'abc'")]
    #[case::escaped(like("sn", r"50\%"), Value, "simple_like: $.sn = '50%'")]
    #[case::last_backslash(like("sn", r"a\"), Value, r"simple_like: $.sn = 'a\'")]
    #[case::anything(like("sn", "%%"), Filter, "simple_like: $.sn IS NOT NULL")]
    #[case::anything_never_null(like("s", "%"), Value, "simple_like: true")]
    #[case::nothing(not_like("sn", "%"), Filter, "simple_like: false")]
    #[case::escaped_prefix(like("sn", r"a\_b%"), Value, "simple_like: ($.sn >= 'a_b' AND $.sn < 'a_c')")]
    #[case::escaped_prefix_negated(not_like("sn", r"\%%"), Value, "simple_like: ($.sn < '%' OR $.sn >= '&')")]
    #[case::anything_as_a_value(like("sn", "%"), Value, "unchanged")]
    #[case::prefix(like("sn", "abc%"), Filter, "unchanged")]
    #[case::one_character(like("sn", "a_c"), Filter, "unchanged")]
    #[case::case_insensitive(ilike("sn", "abc"), Filter, "unchanged")]
    fn table(#[case] before: BoundExpression, #[case] position: Position, #[case] after: &str) {
        assert_eq!(optimized(&before, position), after);
    }
}
