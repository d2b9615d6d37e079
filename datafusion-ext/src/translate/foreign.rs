// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Subtrees that DataFusion evaluates for us.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, internal_err};
use datafusion::physical_expr::expressions::{Column, DynamicFilterPhysicalExpr, LambdaVariable};
use datafusion::physical_expr_common::physical_expr::is_volatile;
use trommel_planner::expr::functions::GetItem;
use trommel_planner::expr::{BoundExpression, ExprKind, Facts, Foreign, Monotone};

use super::float_in::FloatIn;
use super::{Expr, Translator};

impl Translator {
    /// The whole subtree as one foreign node. Its inputs are the columns it reads, or the fields below
    /// them where it reads no more than those.
    pub(super) fn foreign(&self, expr: &Expr) -> BoundExpression {
        let (renumbered, inputs) = match self.renumber(expr) {
            Ok(done) => done,
            // The expression can't be evaluated over other columns; then it is over none, and says why.
            Err(_) => (Arc::clone(expr), Vec::new()),
        };
        let fields: Vec<FieldRef> = inputs.iter().map(|input| Arc::clone(input.field())).collect();
        let foreign = Arc::new(DataFusionExpr::new(expr, renumbered, fields, &self.table));
        match BoundExpression::try_new(ExprKind::Foreign(Arc::clone(&foreign) as _), inputs) {
            Ok(bound) => bound,
            // Can't be: the fields are those of the inputs. A root that doesn't fit fails when it is read.
            Err(_) => BoundExpression::root(Arc::clone(foreign.field())),
        }
    }

    /// The expression with its columns numbered anew from 0, and what each number stands for.
    fn renumber(&self, expr: &Expr) -> Result<(Expr, Vec<BoundExpression>)> {
        if any(expr, |e| e.is::<LambdaVariable>()) {
            // Variables of lambdas are numbered after the columns, so these must keep their numbers.
            let all = (0..self.table.fields().len()).map(|i| GetItem::of(self.root.clone(), i));
            if let Ok(all) = all.collect() {
                return Ok((Arc::clone(expr), all));
            }
        }
        let mut inputs: Vec<BoundExpression> = Vec::new();
        let renumbered = Arc::clone(expr).transform_down(|node| {
            let Some(path) = self.path(&node) else {
                if let Some(column) = node.downcast_ref::<Column>() {
                    return internal_err!("column {column} of {}", self.table.fields().len());
                }
                return Ok(match FloatIn::of(&node, &self.table) {
                    Some(ours) => Transformed::yes(ours),
                    None => Transformed::no(node),
                });
            };
            let number = inputs.iter().position(|input| *input == path).unwrap_or_else(|| {
                inputs.push(path.clone());
                inputs.len() - 1
            });
            let column = Column::new(path.field().name(), number);
            Ok(Transformed::new(Arc::new(column) as Expr, true, TreeNodeRecursion::Jump))
        })?;
        Ok((renumbered.data, inputs))
    }
}

/// A physical expression over numbered inputs.
pub(super) struct DataFusionExpr {
    /// As it came, for people to read.
    source: Expr,
    /// Over `schema`.
    renumbered: Expr,
    schema: SchemaRef,
    inputs: Vec<FieldRef>,
    field: FieldRef,
    facts: Facts,
    monotone: Option<Monotone>,
}

impl DataFusionExpr {
    pub(super) fn new(source: &Expr, renumbered: Expr, inputs: Vec<FieldRef>, table: &SchemaRef) -> Self {
        let schema = Arc::new(Schema::new(inputs.clone()));
        // An expression that has no type can't be evaluated either; evaluation will say why.
        let (data_type, nullable) = match renumbered.data_type(&schema).or_else(|_| source.data_type(table)) {
            Ok(data_type) => (data_type, renumbered.nullable(&schema).unwrap_or(true)),
            Err(_) => (DataType::Null, true),
        };
        let field = Arc::new(Field::new("foreign", data_type, nullable));
        let mut facts = Facts::UNKNOWN;
        facts.volatile = is_volatile(source) || any(source, |e| e.is::<DynamicFilterPhysicalExpr>());
        Self { source: Arc::clone(source), renumbered, schema, inputs, field, facts, monotone: None }
    }

    /// The same, which is known to go with its only input so.
    pub(super) fn with_monotone(self, monotone: Monotone) -> Self {
        Self { monotone: Some(monotone), ..self }
    }
}

impl Foreign for DataFusionExpr {
    fn inputs(&self) -> &[FieldRef] {
        &self.inputs
    }

    fn field(&self) -> &FieldRef {
        &self.field
    }

    fn evaluate(&self, inputs: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), inputs.to_vec(), &options)?;
        self.renumbered.evaluate(&batch)?.into_array_of_size(rows)
    }

    fn facts(&self) -> Facts {
        self.facts
    }

    fn monotone(&self) -> Option<Monotone> {
        self.monotone
    }

    fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.renumbered.hash(&mut hasher);
        hasher.finish()
    }
}

impl fmt::Debug for DataFusionExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.renumbered)
    }
}

impl fmt::Display for DataFusionExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "«{}»", self.source)
    }
}

/// Whether any node of the tree satisfies `test`.
pub(super) fn any(expr: &Expr, mut test: impl FnMut(&Expr) -> bool) -> bool {
    let mut stack = vec![expr];
    while let Some(node) = stack.pop() {
        if test(node) {
            return true;
        }
        stack.extend(node.children());
    }
    false
}
