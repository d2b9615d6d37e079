// Licensed under the Apache License, Version 2.0. See LICENSE.

//! *{a: x, b: y}.a → x*.
//!
//! Requires nothing: a struct just made is never NULL. Type: x may be narrower than the field it was packed
//! into, never wider. Errors: those of the other fields are dropped, since no value of theirs is needed.

use super::{RewriteContext, RuleResult, TypedExprRewriteRule};
use crate::expr::BoundExpression;
use crate::expr::functions::{GetItem, Pack};

/// See the [module](self).
#[derive(Debug)]
pub(super) struct FieldOfPack;

impl TypedExprRewriteRule<GetItem> for FieldOfPack {
    fn name(&self) -> &'static str {
        "field_of_pack"
    }

    fn rewrite(&self, field: &usize, node: &BoundExpression, _: &RewriteContext<'_>) -> RuleResult {
        let packed = node.children().first().filter(|of| of.as_opt::<Pack>().is_some());
        Ok(packed.and_then(|of| of.children().get(*field)).cloned().into())
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{DataType, Field, Fields};
    use rstest::rstest;

    use crate::expr::BoundExpression;
    use crate::expr::functions::{GetItem, Pack};
    use crate::optimizer::Position::{self, Value};
    use crate::optimizer::tests::support::*;

    fn packed(field: usize, nullable: bool) -> BoundExpression {
        let fields = Fields::from(vec![
            Field::new("a", DataType::Int32, nullable),
            Field::new("b", DataType::Boolean, true),
        ]);
        let values = vec![column("i"), fallible(1)];
        GetItem::of(Pack::of(fields, values).unwrap(), field).unwrap()
    }

    #[rstest]
    #[case::first(packed(0, false), Value, "field_of_pack: $.i")]
    #[case::second(packed(1, false), Value, "field_of_pack: CAST($.sn AS Int32) = 1")]
    #[case::packed_as_nullable(packed(0, true), Value, "field_of_pack: $.i")]
    #[case::of_a_column(GetItem::of(column("pn"), 0).unwrap(), Value, "unchanged")]
    fn table(#[case] before: BoundExpression, #[case] position: Position, #[case] after: &str) {
        assert_eq!(optimized(&before, position), after);
    }
}
