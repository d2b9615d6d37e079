// Licensed under the Apache License, Version 2.0. See LICENSE.

//! DataFusion's physical expressions as bound expressions.
//!
//! Translation is total: a node of a kind we know becomes our own function over its translated children;
//! any other node, and any that doesn't bind, becomes one [`Foreign`](trommel_planner::expr::Foreign) node
//! for its whole subtree, which DataFusion evaluates in one call.
//!
//! The result means what the source means, errors included, with three differences. Two are deliberate: sets
//! of floats are compared in SQL order (DataFusion's IN compares bits, its `=` doesn't), and a field of a
//! NULL struct is NULL (DataFusion's `get_field` shows what lies beneath). The third only drops errors:
//! AND and OR guard their later arguments for every row, not only where DataFusion thinks it pays.

mod float_in;
mod foreign;
mod monotone;
mod optimize;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use optimize::{expression_optimizer, expression_rules, optimize_filter};

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StructArray};
use arrow::datatypes::{DataType, Field, Fields, SchemaRef};
use datafusion::common::ScalarValue;
use datafusion::common::format::DEFAULT_FORMAT_OPTIONS;
use datafusion::functions::core::getfield::GetFieldFunc;
use datafusion::functions::core::r#struct::StructFunc;
use datafusion::logical_expr::{ColumnarValue, Operator};
use datafusion::physical_expr::expressions::{
    BinaryExpr, CaseExpr, CastExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr, Literal,
    NegativeExpr, NotExpr, TryCastExpr,
};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_expr_common::physical_expr::is_volatile;
use trommel_planner::expr::BoundExpression;
use trommel_planner::expr::functions::{
    And, Arithmetic, ArithmeticOp, Case, Cast, CastOptions, Compare, CompareOp, GetItem, InSet, IsNull, Like,
    LikeOptions, Not, Or, Pack, ValueSet,
};

/// The root of expressions over a table: the struct of its columns, never NULL.
pub fn table_root(table: &SchemaRef) -> BoundExpression {
    let data_type = DataType::Struct(table.fields().clone());
    BoundExpression::root(Arc::new(Field::new("table", data_type, false)))
}

/// The bound expression that means what `expr` means over a table with this schema; its root is
/// [`table_root`].
///
/// Filters that change must have been snapshotted: one that still is inside is treated as volatile.
pub fn translate(expr: &Arc<dyn PhysicalExpr>, table: &SchemaRef) -> BoundExpression {
    Translator::new(Arc::clone(table)).translate(expr)
}

type Expr = Arc<dyn PhysicalExpr>;

/// Translates expressions over one table, which then have one root.
#[derive(Debug, Clone)]
pub struct Translator {
    table: SchemaRef,
    root: BoundExpression,
}

impl Translator {
    /// Of expressions over a table with this schema.
    pub fn new(table: SchemaRef) -> Self {
        Self { root: table_root(&table), table }
    }

    /// The table's schema.
    pub fn table(&self) -> &SchemaRef {
        &self.table
    }

    /// See [`translate`].
    pub fn translate(&self, expr: &Arc<dyn PhysicalExpr>) -> BoundExpression {
        self.known(expr).unwrap_or_else(|| self.foreign(expr))
    }

    /// The expression as one of our own functions, if it is of a kind we know and binds.
    fn known(&self, expr: &Expr) -> Option<BoundExpression> {
        if let Some(literal) = expr.downcast_ref::<Literal>() {
            return Some(BoundExpression::literal(literal.value().clone()));
        }
        if let Some(predicate) = expr.downcast_ref::<BinaryExpr>().and_then(|b| self.predicate(expr, b)) {
            return Some(predicate);
        }
        if let Some(not) = expr.downcast_ref::<NotExpr>() {
            return Not::of(self.translate(not.arg())).ok();
        }
        if let Some(is_null) = expr.downcast_ref::<IsNullExpr>() {
            return IsNull::of(self.translate(is_null.arg()), false).ok();
        }
        if let Some(is_not_null) = expr.downcast_ref::<IsNotNullExpr>() {
            return IsNull::of(self.translate(is_not_null.arg()), true).ok();
        }
        if let Some(in_list) = expr.downcast_ref::<InListExpr>() {
            return self.in_list(in_list);
        }
        if let Some(like) = expr.downcast_ref::<LikeExpr>() {
            let options = LikeOptions { negated: like.negated(), case_insensitive: like.case_insensitive() };
            return Like::of(options, self.translate(like.expr()), self.translate(like.pattern())).ok();
        }
        let typed = self
            .path(expr)
            .or_else(|| self.arithmetic(expr))
            .or_else(|| self.cast(expr))
            .or_else(|| self.case(expr))
            .or_else(|| self.monotone(expr))
            .or_else(|| self.begins(expr))?;
        // Of these, DataFusion derives the type by rules of its own.
        let data_type = expr.data_type(&self.table).ok()?;
        (typed.field().data_type() == &data_type).then_some(typed)
    }

    /// A column, or a field below one: what can be read by itself.
    fn path(&self, expr: &Expr) -> Option<BoundExpression> {
        if let Some(column) = expr.downcast_ref::<Column>() {
            return GetItem::of(self.root.clone(), column.index()).ok();
        }
        let get_field = ScalarFunctionExpr::try_downcast_func::<GetFieldFunc>(expr.as_ref())?;
        let (base, names) = get_field.args().split_first()?;
        names.iter().try_fold(self.path(base)?, |of, name| {
            let name = name.downcast_ref::<Literal>()?.value().try_as_str()??;
            let DataType::Struct(fields) = of.field().data_type() else { return None };
            let field = fields.iter().position(|f| f.name() == name)?;
            GetItem::of(of, field).ok()
        })
    }

    /// A connective or a comparison.
    fn predicate(&self, expr: &Expr, binary: &BinaryExpr) -> Option<BoundExpression> {
        let op = match binary.op() {
            Operator::And => return And::of(self.chain(expr, Operator::And)).ok(),
            Operator::Or => return Or::of(self.chain(expr, Operator::Or)).ok(),
            Operator::Eq => CompareOp::Eq,
            Operator::NotEq => CompareOp::NotEq,
            Operator::Lt => CompareOp::Lt,
            Operator::LtEq => CompareOp::LtEq,
            Operator::Gt => CompareOp::Gt,
            Operator::GtEq => CompareOp::GtEq,
            Operator::IsDistinctFrom => CompareOp::IsDistinctFrom,
            Operator::IsNotDistinctFrom => CompareOp::IsNotDistinctFrom,
            _ => return None,
        };
        Compare::of(op, self.translate(binary.left()), self.translate(binary.right())).ok()
    }

    /// Arithmetic that wraps, as DataFusion's does unless it was told to fail on overflow.
    fn arithmetic(&self, expr: &Expr) -> Option<BoundExpression> {
        let binary = expr.downcast_ref::<BinaryExpr>()?;
        let op = match binary.op() {
            Operator::Plus => ArithmeticOp::Add,
            Operator::Minus => ArithmeticOp::Sub,
            Operator::Multiply => ArithmeticOp::Mul,
            _ => return None,
        };
        // What it was told shows only in comparison with one that wasn't told anything.
        let operand = || Arc::new(Literal::new(ScalarValue::Null)) as Expr;
        let own = Arc::clone(expr).with_new_children(vec![operand(), operand()]).ok()?;
        let wrapping = BinaryExpr::new(operand(), *binary.op(), operand());
        if own.downcast_ref::<BinaryExpr>() != Some(&wrapping) {
            return None;
        }
        Arithmetic::of(op, self.translate(binary.left()), self.translate(binary.right())).ok()
    }

    /// The terms of a chain of ANDs or ORs, in order, without recursion: it may be long.
    fn chain(&self, expr: &Expr, op: Operator) -> Vec<BoundExpression> {
        let (mut terms, mut stack) = (Vec::new(), vec![expr]);
        while let Some(expr) = stack.pop() {
            match expr.downcast_ref::<BinaryExpr>() {
                Some(binary) if *binary.op() == op => stack.extend([binary.right(), binary.left()]),
                _ => terms.push(self.translate(expr)),
            }
        }
        terms
    }

    fn in_list(&self, in_list: &InListExpr) -> Option<BoundExpression> {
        if in_list.is_empty() {
            // FALSE or NULL for NULL, depending on how the list came to be.
            return None;
        }
        let needle = self.needle(in_list.expr());
        let items = in_list.list().iter().map(|item| self.constant(item)).collect::<Option<Vec<_>>>();
        match items {
            Some(items) => {
                let values = constants(items, needle.field().data_type())?;
                InSet::of(needle, Arc::new(ValueSet::try_new(&values).ok()?), in_list.negated()).ok()
            }
            // The needle is repeated, so it must not change between repetitions.
            None if is_volatile(in_list.expr()) => None,
            None => {
                let equals = in_list
                    .list()
                    .iter()
                    .map(|item| Compare::of(CompareOp::Eq, needle.clone(), self.translate(item)).ok());
                let any = Or::of(equals.collect::<Option<Vec<_>>>()?).ok()?;
                if in_list.negated() { Not::of(any).ok() } else { Some(any) }
            }
        }
    }

    /// The value of an item of a list, if it is the same for every row.
    fn constant(&self, item: &Expr) -> Option<ScalarValue> {
        if let Some(literal) = item.downcast_ref::<Literal>() {
            return Some(literal.value().clone());
        }
        let made_of_constants = |e: &Expr| {
            e.is::<Literal>() || e.is::<CastExpr>() || e.is::<NegativeExpr>() || e.is::<ScalarFunctionExpr>()
        };
        if is_volatile(item) || foreign::any(item, |e| !made_of_constants(e)) {
            return None;
        }
        match item.evaluate(&RecordBatch::new_empty(Arc::clone(&self.table))).ok()? {
            ColumnarValue::Scalar(value) => Some(value),
            ColumnarValue::Array(_) => None,
        }
    }

    /// What is sought in a list: a tuple of values becomes a [`Pack`], so that each is known by itself.
    fn needle(&self, expr: &Expr) -> BoundExpression {
        let pack = || {
            let tuple = ScalarFunctionExpr::try_downcast_func::<StructFunc>(expr.as_ref())?;
            let DataType::Struct(fields) = tuple.return_type() else { return None };
            Pack::of(fields.clone(), tuple.args().iter().map(|arg| self.translate(arg)).collect()).ok()
        };
        pack().unwrap_or_else(|| self.translate(expr))
    }

    fn cast(&self, expr: &Expr) -> Option<BoundExpression> {
        let (arg, options) = if let Some(cast) = expr.downcast_ref::<CastExpr>() {
            if cast.target_metadata().is_some_and(|m| !m.is_empty())
                || cast.cast_options().format_options != DEFAULT_FORMAT_OPTIONS
            {
                return None;
            }
            let try_cast = cast.cast_options().safe;
            (cast.expr(), CastOptions { to: cast.cast_type().clone(), try_cast })
        } else {
            let cast = expr.downcast_ref::<TryCastExpr>()?;
            if cast.target_metadata().is_some_and(|m| !m.is_empty()) {
                return None;
            }
            (cast.expr(), CastOptions { to: cast.cast_type().clone(), try_cast: true })
        };
        BoundExpression::call::<Cast>(options, vec![self.translate(arg)]).ok()
    }

    fn case(&self, expr: &Expr) -> Option<BoundExpression> {
        let case = expr.downcast_ref::<CaseExpr>()?;
        let data_type = expr.data_type(&self.table).ok()?;
        let operand = case.expr().map(|operand| self.translate(operand));
        let when_type = operand.as_ref().map_or(DataType::Boolean, |o| o.field().data_type().clone());
        let arms = case
            .when_then_expr()
            .iter()
            .map(|(when, then)| Some((self.of_type(when, &when_type)?, self.of_type(then, &data_type)?)))
            .collect::<Option<Vec<_>>>()?;
        let otherwise = match case.else_expr() {
            Some(otherwise) => Some(self.of_type(otherwise, &data_type)?),
            None => None,
        };
        Case::of(operand, arms, otherwise).ok()
    }

    /// The translation, where an untyped NULL takes this type.
    fn of_type(&self, expr: &Expr, data_type: &DataType) -> Option<BoundExpression> {
        match expr.downcast_ref::<Literal>().map(Literal::value) {
            Some(ScalarValue::Null) => {
                Some(BoundExpression::literal(ScalarValue::try_new_null(data_type).ok()?))
            }
            _ => Some(self.translate(expr)),
        }
    }
}

/// The constants of a list as an array of the type of what is sought (dictionaries aside); `None` when
/// they aren't of that type.
fn constants(values: Vec<ScalarValue>, needle: &DataType) -> Option<ArrayRef> {
    let data_type = match needle {
        DataType::Dictionary(_, values) => values.as_ref(),
        other => other,
    };
    let null = ScalarValue::try_new_null(data_type).ok()?;
    let values = values.into_iter().map(|value| match value {
        ScalarValue::Dictionary(_, value) => *value,
        ScalarValue::Null => null.clone(),
        value => value,
    });
    let values = ScalarValue::iter_to_array(values).ok()?;
    match (values.data_type(), data_type) {
        (own, needle) if own == needle => Some(values),
        // Tuples differ in the names and nullability of their fields only.
        (DataType::Struct(own), DataType::Struct(needle)) if same_types(own, needle) => {
            let nullable: Fields = needle.iter().map(|f| f.as_ref().clone().with_nullable(true)).collect();
            let tuples = values.as_struct();
            let nulls = tuples.nulls().cloned();
            Some(Arc::new(StructArray::try_new(nullable, tuples.columns().to_vec(), nulls).ok()?))
        }
        _ => None,
    }
}

fn same_types(a: &Fields, b: &Fields) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.data_type() == b.data_type())
}
