// Licensed under the Apache License, Version 2.0. See LICENSE.

//! *CAST(x AS its own type) → x; CAST(CAST(x AS T) AS U) → CAST(x AS U)* when the inner cast is exact.
//!
//! Requires of two casts that both are between integers, or between strings, or between dates: there, what
//! the outer one makes of a value, errors included, depends on the value alone and not on its type.

use super::unwrap_cast::is_exact;
use super::{Rewrite, RewriteContext, RuleResult, TypedExprRewriteRule};
use crate::expr::BoundExpression;
use crate::expr::functions::{Cast, CastOptions};
use arrow::datatypes::DataType;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Casts;

impl TypedExprRewriteRule<Cast> for Casts {
    fn name(&self) -> &'static str {
        "casts"
    }

    fn rewrite(&self, options: &CastOptions, node: &BoundExpression, _: &RewriteContext<'_>) -> RuleResult {
        let argument = &node.children()[0];
        if argument.field().data_type() == &options.to {
            return Ok(Rewrite::Rewritten(argument.clone()));
        }
        let Some(inner) = argument.as_opt::<Cast>() else { return Ok(Rewrite::Unchanged) };
        let value = &argument.children()[0];
        let from = value.field().data_type();
        if !is_exact(from, &inner.to) || !alike(from, &inner.to) || !alike(from, &options.to) {
            return Ok(Rewrite::Unchanged);
        }
        if from == &options.to {
            return Ok(Rewrite::Rewritten(value.clone()));
        }
        Ok(Rewrite::Rewritten(BoundExpression::call::<Cast>(options.clone(), vec![value.clone()])?))
    }
}

fn alike(a: &DataType, b: &DataType) -> bool {
    use DataType::{Date32, Date64};
    a.is_integer() && b.is_integer()
        || a.is_string() && b.is_string()
        || matches!((a, b), (Date32 | Date64, Date32 | Date64))
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::DataType::{Float32, Float64, Int16, Int32, Int64, LargeUtf8, Utf8, Utf8View};
    use rstest::rstest;

    use crate::expr::BoundExpression;
    use crate::expr::functions::{Cast, CastOptions};
    use crate::optimizer::Position::{self, Value};
    use crate::optimizer::tests::support::*;

    #[rstest]
    #[case::same_type(cast(column("in"), Int32), Value, "casts: $.in")]
    #[case::same_type_tried(
        BoundExpression::call::<Cast>(CastOptions { to: Int32, try_cast: true }, vec![column("in")]).unwrap(),
        Value, "casts: $.in")]
    #[case::there_and_back(cast(cast(column("in"), Int64), Int32), Value, "casts: $.in")]
    #[case::wider_and_narrower(cast(cast(column("in"), Int64), Int16), Value, "casts: CAST($.in AS Int16)")]
    #[case::strings(cast(cast(column("sn"), Utf8View), LargeUtf8), Value, "casts: CAST($.sn AS LargeUtf8)")]
    #[case::narrowing_can_fail(cast(cast(column("ln"), Int32), Int64), Value, "unchanged")]
    #[case::through_a_float(cast(cast(column("in"), Float64), Int32), Value, "unchanged")]
    #[case::float_payloads(cast(cast(cast(column("in"), Float32), Float64), Float32), Value, "unchanged")]
    #[case::through_text(cast(cast(column("in"), Utf8), Int32), Value, "unchanged")]
    fn table(#[case] before: BoundExpression, #[case] position: Position, #[case] after: &str) {
        assert_eq!(optimized(&before, position), after);
    }
}
