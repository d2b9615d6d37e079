// Licensed under the Apache License, Version 2.0. See LICENSE.

//! *x IS NULL → FALSE* when x is never NULL; *f(x, y) IS NULL → x IS NULL OR y IS NULL* when f can't fail and
//! is NULL exactly when an argument is; and the negations.
//!
//! That f is strict isn't enough: a field of a struct and TRY_CAST are NULL for values too. Errors: when x
//! is never NULL its value isn't needed.

use super::connective::constant;
use super::{Rewrite, RewriteContext, RuleResult, TypedExprRewriteRule};
use crate::expr::functions::{And, IsNull, Or};
use crate::expr::{BoundExpression, Errors, ExprKind, Nulls};

/// See the [module](self).
#[derive(Debug)]
pub(super) struct KnownNull;

impl TypedExprRewriteRule<IsNull> for KnownNull {
    fn name(&self) -> &'static str {
        "known_null"
    }

    fn rewrite(&self, negated: &bool, node: &BoundExpression, _: &RewriteContext<'_>) -> RuleResult {
        let argument = &node.children()[0];
        if !argument.field().is_nullable() {
            return Ok(Rewrite::Rewritten(constant(*negated)));
        }
        let facts = argument.facts();
        let exact = Nulls::Strict { null_only_from_null: true };
        if !matches!(argument.kind(), ExprKind::Call(_))
            || facts.nulls != exact
            || facts.errors != Errors::Never
        {
            return Ok(Rewrite::Unchanged);
        }
        let nullable = argument.children().iter().filter(|arg| arg.field().is_nullable());
        let tests: Vec<_> =
            nullable.map(|arg| IsNull::of(arg.clone(), *negated)).collect::<Result<_, _>>()?;
        if tests.is_empty() {
            return Ok(Rewrite::Unchanged);
        }
        Ok(Rewrite::Rewritten(if *negated { And::of(tests)? } else { Or::of(tests)? }))
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::DataType;
    use rstest::rstest;

    use crate::expr::BoundExpression;
    use crate::expr::functions::CompareOp::{Eq, IsDistinctFrom, Lt};
    use crate::expr::functions::{Cast, CastOptions, GetItem};
    use crate::optimizer::Position::{self, Value};
    use crate::optimizer::tests::support::*;

    #[rstest]
    #[case::never_null(is_null(column("i")), Value, "known_null: false")]
    #[case::never_null_negated(is_not_null(column("i")), Value, "known_null: true")]
    #[case::distinct(is_null(is("in", IsDistinctFrom, 5)), Value, "known_null: false")]
    #[case::comparison(is_null(is("in", Lt, 5)), Value, "known_null: $.in IS NULL")]
    #[case::two_operands(
        is_not_null(compare(column("in"), Eq, column("i"))),
        Value,
        "known_null: $.in IS NOT NULL"
    )]
    #[case::both_nullable(
        is_null(compare(column("sn"), Eq, column("sn2n"))),
        Value,
        "known_null: ($.sn IS NULL OR $.sn2n IS NULL)"
    )]
    #[case::exact_cast(is_null(cast(column("in"), DataType::Int64)), Value, "known_null: $.in IS NULL")]
    #[case::through_a_fallible_operand(
        is_null(fallible(1)),
        Value,
        "known_null: CAST($.sn AS Int32) IS NULL"
    )]
    #[case::field_of_a_struct(is_null(GetItem::of(column("pn"), 0).unwrap()), Value, "unchanged")]
    #[case::try_cast(is_null(BoundExpression::call::<Cast>(
        CastOptions { to: DataType::Int32, try_cast: true }, vec![column("s")]).unwrap()), Value, "unchanged")]
    #[case::cast_that_can_fail(is_null(cast_to_int("sn")), Value, "unchanged")]
    #[case::conjunction(is_null(and([column("bn"), column("b")])), Value, "unchanged")]
    fn table(#[case] before: BoundExpression, #[case] position: Position, #[case] after: &str) {
        assert_eq!(optimized(&before, position), after);
    }
}
