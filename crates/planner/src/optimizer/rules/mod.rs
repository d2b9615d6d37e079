// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The built-in rules, one concept a file, each with its table of tests.
//!
//! | rule | at | does |
//! |---|---|---|
//! | [`Flatten`] | AND, OR | a nest of one connective becomes one node |
//! | [`BooleanConstants`] | AND, OR | constants that decide, or say nothing |
//! | [`Duplicates`] | AND, OR | the same term twice; a term and its negation |
//! | [`Absorb`] | AND, OR | `a AND (a OR b)` |
//! | [`NullTests`] | AND | `x IS [NOT] NULL` beside a test that no NULL passes |
//! | [`IntersectTests`] | AND | what all tests of one operand say together: ranges, sets |
//! | [`UniteTests`] | OR | what any of the tests of one operand says: `=` and IN, ranges |
//! | [`Negation`] | NOT | moves into its argument |
//! | [`Flip`] | comparison | the constant goes right |
//! | [`MoveAddend`] | comparison, IN | `x + 1` against constants |
//! | [`UnwrapCast`] | comparison, IN | a cast column against constants |
//! | [`Distinct`] | comparison | IS [NOT] DISTINCT FROM where NULL is no matter |
//! | [`CompareBoolean`] | comparison | `b = TRUE` |
//! | [`CompareSame`] | comparison | `x = x` |
//! | [`SmallSets`] | IN | of no value, or one |
//! | [`KnownNull`] | IS [NOT] NULL | by the argument's type and facts |
//! | [`SimpleLike`] | LIKE | patterns that ask for less |
//! | [`Casts`] | cast | to the same type; of an exact cast |
//! | [`CaseConstants`] | CASE | constant conditions; results that agree |
//! | [`CaseBoolean`] | CASE | that is AND, a condition, or its operand |
//! | [`FieldOfPack`] | get_item | of a struct just made |
//! | [`FoldConstants`] | any | over constants only |
//! | [`NullArgument`] | any | NULL in, NULL out |
//!
//! There is no BETWEEN: a range is the conjunction of its bounds, which is what pruning judges and the
//! kernels compare; [`IntersectTests`] does what a fused BETWEEN is for.

mod absorb;
mod boolean_constants;
mod case_boolean;
mod case_constants;
mod casts;
mod compare_boolean;
mod compare_same;
mod connective;
mod distinct;
mod duplicates;
mod field_of_pack;
mod flatten;
mod flip;
mod fold_constants;
mod integers;
mod intersect_tests;
mod known_null;
mod move_addend;
mod negation;
mod null_argument;
mod null_tests;
mod operand_test;
mod simple_like;
mod small_sets;
mod unite_tests;
mod unwrap_cast;

use absorb::Absorb;
use boolean_constants::BooleanConstants;
use case_boolean::CaseBoolean;
use case_constants::CaseConstants;
use casts::Casts;
use compare_boolean::CompareBoolean;
use compare_same::CompareSame;
use distinct::Distinct;
use duplicates::Duplicates;
use field_of_pack::FieldOfPack;
use flatten::Flatten;
use flip::Flip;
use fold_constants::FoldConstants;
use intersect_tests::IntersectTests;
use known_null::KnownNull;
use move_addend::MoveAddend;
use negation::Negation;
use null_argument::NullArgument;
use null_tests::NullTests;
use simple_like::SimpleLike;
use small_sets::SmallSets;
use unite_tests::UniteTests;
use unwrap_cast::UnwrapCast;

use super::{
    ExpressionOptimizerSession, Rewrite, RewriteContext, RuleError, RuleResult, TypedExprRewriteRule,
};
use crate::expr::functions::{And, Case, Cast, Compare, GetItem, InSet, IsNull, Like, Not, Or};

/// A registration of one rule.
pub(super) type Install = for<'a> fn(&'a ExpressionOptimizerSession) -> &'a ExpressionOptimizerSession;

/// The built-in rules, in the order they are tried.
pub(super) const BUILT_IN: &[Install] = &[
    |s| s.register::<And>(Flatten),
    |s| s.register::<And>(BooleanConstants),
    |s| s.register::<And>(Duplicates),
    |s| s.register::<And>(Absorb),
    |s| s.register::<And>(NullTests),
    |s| s.register::<And>(IntersectTests),
    |s| s.register::<Or>(Flatten),
    |s| s.register::<Or>(BooleanConstants),
    |s| s.register::<Or>(Duplicates),
    |s| s.register::<Or>(Absorb),
    |s| s.register::<Or>(UniteTests),
    |s| s.register::<Not>(Negation),
    |s| s.register::<Compare>(Flip),
    |s| s.register::<Compare>(MoveAddend),
    |s| s.register::<Compare>(UnwrapCast),
    |s| s.register::<Compare>(Distinct),
    |s| s.register::<Compare>(CompareBoolean),
    |s| s.register::<Compare>(CompareSame),
    |s| s.register::<InSet>(SmallSets),
    |s| s.register::<InSet>(MoveAddend),
    |s| s.register::<InSet>(UnwrapCast),
    |s| s.register::<IsNull>(KnownNull),
    |s| s.register::<Like>(SimpleLike),
    |s| s.register::<Cast>(Casts),
    |s| s.register::<Case>(CaseConstants),
    |s| s.register::<Case>(CaseBoolean),
    |s| s.register::<GetItem>(FieldOfPack),
    |s| s.register_fallback(FoldConstants),
    |s| s.register_fallback(NullArgument),
];
