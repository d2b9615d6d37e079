// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A cast to another type.

use std::fmt;
use std::sync::Arc;

use arrow::compute::{CastOptions as ArrowCastOptions, can_cast_types};
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion_common::Result;
use datafusion_common::format::DEFAULT_FORMAT_OPTIONS;
use datafusion_common::nested_struct::{requires_nested_struct_cast, validate_data_type_compatibility};
use datafusion_expr_common::columnar_value::ColumnarValue;

use super::{arity, type_error};
use crate::expr::{Args, BindError, BoundExpression, Errors, Facts, FnId, Nulls, Printer, ScalarFnVTable};

/// What to cast to, and how.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CastOptions {
    /// The target type.
    pub to: DataType,
    /// `TRY_CAST`: a value that can't be cast gives NULL instead of an error.
    pub try_cast: bool,
}

/// A cast to another type, as DataFusion does it: structs by field name, dates and times in its formats.
#[derive(Debug)]
pub struct Cast;

impl Cast {
    /// `CAST(arg AS to)`.
    ///
    /// # Errors
    /// When there is no cast between the types.
    pub fn of(arg: BoundExpression, to: DataType) -> Result<BoundExpression, BindError> {
        BoundExpression::call::<Self>(CastOptions { to, try_cast: false }, vec![arg])
    }
}

impl ScalarFnVTable for Cast {
    type Options = CastOptions;

    const ID: FnId = FnId::new("trommel.cast");

    fn return_field(options: &CastOptions, args: &[FieldRef]) -> Result<FieldRef, BindError> {
        arity(Self::ID, args, 1)?;
        let (from, to) = (args[0].data_type(), &options.to);
        let castable = match requires_nested_struct_cast(from, to) {
            true => validate_data_type_compatibility("", from, to).is_ok(),
            false => can_cast_types(from, to),
        };
        if !castable {
            return Err(type_error(Self::ID, args, 0, format!("castable to {to}")));
        }
        let nullable = args[0].is_nullable() || options.try_cast && !total(from, to);
        Ok(Arc::new(Field::new(args[0].name(), to.clone(), nullable)))
    }

    fn facts(options: &CastOptions, args: &[FieldRef]) -> Facts {
        let total = total(args[0].data_type(), &options.to);
        // A try_cast to a time zone or into a nested type can still fail, by an unknown zone say.
        let forgiving = options.try_cast
            && !options.to.is_nested()
            && !matches!(options.to, DataType::Timestamp(_, Some(_)) | DataType::Dictionary(_, _));
        let errors = if total || forgiving { Errors::Never } else { Errors::Possible };
        Facts { errors, ..Facts::infallible(Nulls::Strict { null_only_from_null: total }) }
    }

    fn evaluate(options: &CastOptions, args: &mut dyn Args, _rows: usize) -> Result<ColumnarValue> {
        let how = ArrowCastOptions { safe: options.try_cast, format_options: DEFAULT_FORMAT_OPTIONS };
        args.value(0)?.cast_to(&options.to, Some(&how))
    }

    fn fmt<'a>(options: &CastOptions, args: &'a [BoundExpression], out: &mut Printer<'a>) -> fmt::Result {
        let cast = if options.try_cast { "TRY_CAST" } else { "CAST" };
        write!(out, "{cast}(")?;
        out.argument(&args[0])?;
        write!(out, " AS {})", options.to)
    }
}

/// Whether the cast maps every value to a value.
fn total(from: &DataType, to: &DataType) -> bool {
    use DataType::*;
    if let Dictionary(_, values) = from {
        return total(values, to);
    }
    let integer_width = |t: &DataType| t.primitive_width().filter(|_| t.is_integer());
    match (from, to) {
        _ if from == to => true,
        (Boolean, _) => to.is_integer() || to.is_floating(),
        (Utf8, LargeUtf8 | Utf8View) | (Binary, LargeBinary | BinaryView) | (Date32, Date64) => true,
        (Float16, Float32 | Float64) | (Float32, Float64) => true,
        _ => match (integer_width(from), integer_width(to)) {
            (Some(narrow), Some(wide)) => {
                let (from_signed, to_signed) = (from.is_signed_integer(), to.is_signed_integer());
                narrow < wide && (to_signed || !from_signed)
            }
            (Some(_), None) => matches!(to, Float32 | Float64 | Utf8 | LargeUtf8 | Utf8View),
            _ => false,
        },
    }
}
