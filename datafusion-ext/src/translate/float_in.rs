// Licensed under the Apache License, Version 2.0. See LICENSE.

//! IN over floats inside of expressions that DataFusion evaluates.
//!
//! DataFusion's own `InListExpr` compares floats by their bits, which makes even its join filters lose rows
//! with −0.0. So wherever one is left to DataFusion, it is handed ours instead.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StructArray};
use arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::common::Result;
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{Column, InListExpr, Literal};
use trommel_planner::expr::{BoundExpression, ExprKind, Input, evaluate};
use trommel_planner::floats::is_float;

use super::{Expr, translate};

/// An IN over floats as our own function of its non-constant parts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct FloatIn {
    /// What is sought, then the items of the list that aren't constants.
    args: Vec<Expr>,
    /// The whole, over a table of the arguments.
    bound: BoundExpression,
    /// The arguments as a table.
    schema: SchemaRef,
}

impl FloatIn {
    /// The expression over a table with this schema, if it is an IN that compares floats.
    pub(super) fn of(expr: &Expr, table: &SchemaRef) -> Option<Expr> {
        let in_list = expr.downcast_ref::<InListExpr>()?;
        if !has_floats(&in_list.expr().data_type(table).ok()?) {
            return None;
        }
        let (mut args, mut fields, mut children) = (Vec::new(), Vec::new(), Vec::new());
        for child in expr.children() {
            if child.is::<Literal>() && !children.is_empty() {
                children.push(Arc::clone(child));
                continue;
            }
            let column = Column::new("arg", args.len());
            fields.push(child.return_field(table).ok()?.as_ref().clone().with_name("arg"));
            args.push(Arc::clone(child));
            children.push(Arc::new(column) as Expr);
        }
        let schema = Arc::new(Schema::new(fields));
        let over_args = Arc::clone(expr).with_new_children(children).ok()?;
        let bound = translate(&over_args, &schema);
        let known = matches!(bound.kind(), ExprKind::Call(_));
        known.then(|| Arc::new(Self { args, bound, schema }) as Expr)
    }
}

fn has_floats(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => has_floats(values),
        DataType::Struct(fields) => fields.iter().any(|f| has_floats(f.data_type())),
        other => is_float(other),
    }
}

impl fmt::Display for FloatIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} WHERE $ = [", self.bound)?;
        for (i, arg) in self.args.iter().enumerate() {
            write!(f, "{}{arg}", if i == 0 { "" } else { ", " })?;
        }
        f.write_str("]")
    }
}

impl PhysicalExpr for FloatIn {
    fn data_type(&self, _schema: &Schema) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn nullable(&self, _schema: &Schema) -> Result<bool> {
        Ok(self.bound.field().is_nullable())
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let rows = batch.num_rows();
        let args = self
            .args
            .iter()
            .map(|arg| arg.evaluate(batch)?.into_array_of_size(rows))
            .collect::<Result<Vec<_>>>()?;
        let fields = self.schema.fields().clone();
        let root: ArrayRef = Arc::new(StructArray::try_new_with_length(fields, args, None, rows)?);
        evaluate(&self.bound, Input { root: &root, params: &[] })
    }

    fn children(&self) -> Vec<&Expr> {
        self.args.iter().collect()
    }

    fn with_new_children(self: Arc<Self>, args: Vec<Expr>) -> Result<Expr> {
        Ok(Arc::new(Self { args, bound: self.bound.clone(), schema: Arc::clone(&self.schema) }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
