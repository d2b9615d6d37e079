// Licensed under the Apache License, Version 2.0. See LICENSE.

//! *f(constants) → its value*.
//!
//! Requires that f isn't volatile and that evaluating it succeeds: what fails is left to fail, or not, for
//! the rows it is meant for. A slot of a live filter is no constant, and neither is another engine's node.
//! Type: declines when the value is of another type than announced.

use std::sync::Arc;

use arrow::array::{ArrayRef, NullArray};
use datafusion_common::ScalarValue;
use datafusion_expr_common::columnar_value::ColumnarValue;

use super::{Rewrite, RewriteContext, RuleResult};
use crate::expr::{BoundExpression, Input, evaluate};
use crate::optimizer::ExprRewriteRule;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct FoldConstants;

impl ExprRewriteRule for FoldConstants {
    fn name(&self) -> &'static str {
        "fold_constants"
    }

    fn rewrite(&self, node: &BoundExpression, ctx: &RewriteContext<'_>) -> RuleResult {
        if node.facts().volatile || !node.children().iter().all(|c| c.as_literal().is_some()) {
            return Ok(Rewrite::Unchanged);
        }
        let one_row: ArrayRef = Arc::new(NullArray::new(1));
        let value = match evaluate(node, Input { root: &one_row, params: &[] }) {
            Ok(ColumnarValue::Scalar(value)) => value,
            Ok(ColumnarValue::Array(array)) if array.len() == 1 => ScalarValue::try_from_array(&array, 0)?,
            Ok(ColumnarValue::Array(_)) => return Ok(Rewrite::Unchanged),
            Err(error) => {
                ctx.note(|| format!("{node} fails: {error}"));
                return Ok(Rewrite::Unchanged);
            }
        };
        let fits = &value.data_type() == node.field().data_type()
            && (node.field().is_nullable() || !value.is_null());
        Ok(fits.then(|| BoundExpression::literal(value)).into())
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::DataType;
    use rstest::rstest;

    use crate::expr::BoundExpression;
    use crate::expr::functions::CompareOp::Gt;
    use crate::expr::functions::{InSet, Not};
    use crate::optimizer::Position::{self, Value};
    use crate::optimizer::tests::support::*;

    #[rstest]
    #[case::comparison(compare(lit(1), Gt, lit(2)), Value, "fold_constants: false")]
    #[case::cast(cast(lit("12"), DataType::Int32), Value, "fold_constants: 12")]
    #[case::membership(InSet::of(lit(3), set([1, 3]), false).unwrap(), Value, "fold_constants: true")]
    #[case::nan(compare(lit(f64::NAN), Gt, lit(f64::INFINITY)), Value, "fold_constants: true")]
    #[case::fails(cast(lit("twelve"), DataType::Int32), Value, "unchanged")]
    #[case::slot(compare(param(0), Gt, lit(2)), Value, "unchanged")]
    #[case::volatile(BoundExpression::call::<Not>((), vec![volatile()]).unwrap(), Value, "unchanged")]
    fn table(#[case] before: BoundExpression, #[case] position: Position, #[case] after: &str) {
        assert_eq!(optimized(&before, position), after);
    }
}
