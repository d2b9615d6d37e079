// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Columns that a scan puts out after the table's: where a row is.
//!
//! Two functions of DataFusion, `file_row_index()` and `input_file_name()`, have no value but what a scan tells. A
//! projection that asks them becomes one over a scan that puts out the answers.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field};
use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::functions::core::file_row_index::FileRowIndexFunc;
use datafusion::functions::core::input_file_name::InputFileNameFunc;
use datafusion::physical_expr::expressions::{CastExpr, Column};
use datafusion::physical_expr::projection::ProjectionExpr;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::ProjectionExec;
use trommel_scan::lower::{self, FILE_NAME, ROW_NUMBER};

use super::{FilteredReadExec, properties};

/// A column of where each row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extra {
    /// The number of a row in the snapshot.
    RowNumber,
    /// The number of a row in its file.
    FileRow,
    /// The path of a row's file.
    FileName,
}

impl Extra {
    /// The column's field.
    pub fn field(self) -> Field {
        match self {
            Self::RowNumber => Field::new(ROW_NUMBER, DataType::UInt64, false),
            Self::FileRow => Field::new("_file_row", DataType::UInt64, true),
            Self::FileName => Field::new(FILE_NAME, DataType::Utf8, true),
        }
    }

    /// The column in a fragment whose first row has this number in the snapshot.
    pub fn in_fragment(self, first_row: u64) -> lower::Extra {
        match self {
            Self::RowNumber => lower::Extra::RowNumber(first_row),
            Self::FileRow => lower::Extra::RowNumber(0),
            Self::FileName => lower::Extra::FileName,
        }
    }

    /// What a call asks for.
    fn asked_by(expr: &dyn PhysicalExpr) -> Option<Self> {
        if ScalarFunctionExpr::try_downcast_func::<FileRowIndexFunc>(expr).is_some() {
            Some(Self::FileRow)
        } else if ScalarFunctionExpr::try_downcast_func::<InputFileNameFunc>(expr).is_some() {
            Some(Self::FileName)
        } else {
            None
        }
    }

    /// What stands for the call where the column is at this place, of the type that the function has.
    fn answer(self, at: usize) -> Arc<dyn PhysicalExpr> {
        let field = self.field();
        let column = Arc::new(Column::new(field.name(), at));
        match self {
            Self::FileRow => {
                let target = Arc::new(field.with_data_type(DataType::Int64));
                Arc::new(CastExpr::new_with_target_field(column, target, None))
            }
            Self::RowNumber | Self::FileName => column,
        }
    }
}

impl FilteredReadExec {
    /// The projection over a scan that puts out what functions in it ask of the scan; `None` if there are none.
    pub(super) fn tell_where_rows_are(
        &self,
        projection: &ProjectionExec,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let columns = self.projection.paths().len();
        let (mut extra, mut asked_any) = (self.extra.clone(), false);
        let mut answer = |expr: Arc<dyn PhysicalExpr>| {
            let Some(asked) = Extra::asked_by(expr.as_ref()) else { return Ok(Transformed::no(expr)) };
            asked_any = true;
            let at = extra.iter().position(|known| *known == asked).unwrap_or(extra.len());
            if at == extra.len() {
                extra.push(asked);
            }
            Ok(Transformed::yes(asked.answer(columns + at)))
        };
        let items = projection.expr().iter().map(|item| {
            let expr = Arc::clone(&item.expr).transform_up(&mut answer).data()?;
            Ok(ProjectionExpr { expr, alias: item.alias.clone() })
        });
        let items = items.collect::<Result<Vec<_>>>()?;
        if !asked_any {
            return Ok(None);
        }
        let properties = properties(&self.projection, &extra, &self.sequence, self.partitions);
        let scan = Self { extra, properties, statistics: Arc::default(), ..self.variant() };
        Ok(Some(Arc::new(ProjectionExec::try_new(items, Arc::new(scan))?)))
    }
}
