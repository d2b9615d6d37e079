// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Scalar functions as vtables with options.

use std::any::{Any, TypeId};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::FieldRef;
use datafusion_common::Result;
use datafusion_expr_common::columnar_value::ColumnarValue;

use super::{BindError, BoundExpression, Facts, Printer};

/// A function's stable name, for example `trommel.compare`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FnId(&'static str);

impl FnId {
    /// The id with this name.
    pub const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// The name.
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for FnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// A scalar function: what it is called, what it returns, what is known of it, and how to evaluate it.
///
/// A type that implements this holds no state; what tells two uses of a function apart are its options.
pub trait ScalarFnVTable: Sized + Send + Sync + 'static {
    /// What a use of the function fixes besides its arguments: an operator, a target type.
    type Options: Clone + Eq + Hash + fmt::Debug + Send + Sync;

    /// The function's stable name.
    const ID: FnId;

    /// The field of the result.
    ///
    /// # Errors
    /// When there are too few or too many arguments, or one has a type the function doesn't take.
    fn return_field(options: &Self::Options, args: &[FieldRef]) -> Result<FieldRef, BindError>;

    /// What is known of the function for arguments of these types, which `return_field` has accepted.
    fn facts(options: &Self::Options, args: &[FieldRef]) -> Facts;

    /// The value for each of `rows` rows.
    ///
    /// # Errors
    /// When the value of some row can't be computed.
    fn evaluate(options: &Self::Options, args: &mut dyn Args, rows: usize) -> Result<ColumnarValue>;

    /// Writes a call with these arguments as one would in SQL.
    ///
    /// # Errors
    /// When formatting an option fails.
    fn fmt<'a>(options: &Self::Options, args: &'a [BoundExpression], out: &mut Printer<'a>) -> fmt::Result;
}

/// The arguments of a call, each evaluated only when asked for.
pub trait Args {
    /// How many there are.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The field of an argument.
    fn field(&self, argument: usize) -> &FieldRef;

    /// Whether evaluating an argument can fail for some row.
    fn can_fail(&self, argument: usize) -> bool;

    /// An argument's value for every row.
    ///
    /// # Errors
    /// When the value of some row can't be computed.
    fn value(&mut self, argument: usize) -> Result<ColumnarValue>;

    /// An argument's value for the rows set in `rows` and NULL for the others, which it never sees.
    ///
    /// # Errors
    /// When the value of some row that is set can't be computed.
    fn value_where(&mut self, argument: usize, rows: &BooleanBuffer) -> Result<ArrayRef>;
}

/// A function with its options, the vtable erased.
#[derive(Clone)]
pub struct FnRef {
    function: Arc<dyn DynFn>,
    /// The hash of the vtable and the options, which may be as large as a set.
    fingerprint: u64,
}

impl FnRef {
    /// The function `V` with these options.
    pub fn new<V: ScalarFnVTable>(options: V::Options) -> Self {
        let mut hasher = DefaultHasher::new();
        TypeId::of::<V>().hash(&mut hasher);
        options.hash(&mut hasher);
        Self { fingerprint: hasher.finish(), function: Arc::new(Bound::<V>(options)) }
    }

    /// The function's stable name.
    pub fn id(&self) -> FnId {
        self.function.id()
    }

    /// The options, when this is a use of `V`.
    pub fn as_opt<V: ScalarFnVTable>(&self) -> Option<&V::Options> {
        self.function.as_any().downcast_ref::<Bound<V>>().map(|b| &b.0)
    }

    /// See [`ScalarFnVTable::return_field`].
    ///
    /// # Errors
    /// As the vtable's.
    pub fn return_field(&self, args: &[FieldRef]) -> Result<FieldRef, BindError> {
        self.function.return_field(args)
    }

    /// See [`ScalarFnVTable::facts`].
    pub fn facts(&self, args: &[FieldRef]) -> Facts {
        self.function.facts(args)
    }

    /// See [`ScalarFnVTable::evaluate`].
    ///
    /// # Errors
    /// As the vtable's.
    pub fn evaluate(&self, args: &mut dyn Args, rows: usize) -> Result<ColumnarValue> {
        self.function.evaluate(args, rows)
    }

    /// See [`ScalarFnVTable::fmt`].
    pub(super) fn fmt_call<'a>(&self, args: &'a [BoundExpression], out: &mut Printer<'a>) -> fmt::Result {
        self.function.fmt_call(args, out)
    }
}

impl PartialEq for FnRef {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.function, &other.function)
            || self.fingerprint == other.fingerprint && self.function.same(other.function.as_any())
    }
}

impl Eq for FnRef {}

impl Hash for FnRef {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.fingerprint);
    }
}

impl fmt::Debug for FnRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({:?})", self.id(), self.function.options())
    }
}

/// [`ScalarFnVTable`] with its options, as a trait object.
trait DynFn: Send + Sync {
    fn id(&self) -> FnId;
    fn as_any(&self) -> &dyn Any;
    fn options(&self) -> &dyn fmt::Debug;
    fn same(&self, other: &dyn Any) -> bool;
    fn return_field(&self, args: &[FieldRef]) -> Result<FieldRef, BindError>;
    fn facts(&self, args: &[FieldRef]) -> Facts;
    fn evaluate(&self, args: &mut dyn Args, rows: usize) -> Result<ColumnarValue>;
    fn fmt_call<'a>(&self, args: &'a [BoundExpression], out: &mut Printer<'a>) -> fmt::Result;
}

struct Bound<V: ScalarFnVTable>(V::Options);

impl<V: ScalarFnVTable> DynFn for Bound<V> {
    fn id(&self) -> FnId {
        V::ID
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn options(&self) -> &dyn fmt::Debug {
        &self.0
    }

    fn same(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<Self>().is_some_and(|o| o.0 == self.0)
    }

    fn return_field(&self, args: &[FieldRef]) -> Result<FieldRef, BindError> {
        V::return_field(&self.0, args)
    }

    fn facts(&self, args: &[FieldRef]) -> Facts {
        V::facts(&self.0, args)
    }

    fn evaluate(&self, args: &mut dyn Args, rows: usize) -> Result<ColumnarValue> {
        V::evaluate(&self.0, args, rows)
    }

    fn fmt_call<'a>(&self, args: &'a [BoundExpression], out: &mut Printer<'a>) -> fmt::Result {
        V::fmt(&self.0, args, out)
    }
}
