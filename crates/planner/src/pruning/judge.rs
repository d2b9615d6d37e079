// Licensed under the Apache License, Version 2.0. See LICENSE.

//! One judgement: a predicate over the zones of one level, over some rows.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use datafusion_common::{Result, ScalarValue, exec_datafusion_err};

use super::arithmetic::{Given, arithmetic};
use super::candidates::{Candidates, still_held};
use super::domain::Domain;
use super::extent::Extent;
use super::grid::Grid;
use super::leaf::{Leaf, may_compare};
use super::operand::{Column, Operand, Term};
use super::probe::Probe;
use super::{Level, Truth, ZoneSource};
use crate::expr::functions::CompareOp;
use crate::rows::{FragmentRows, RowRanges};

/// What a judgement is made from, and what it has loaded so far.
///
/// Each operand is loaded once, and columns with the same borders share them, so that what is found of
/// such columns combines zone by zone.
pub(super) struct Judge<'a> {
    source: &'a dyn ZoneSource,
    level: Level,
    rows: &'a RowRanges<FragmentRows>,
    params: &'a [ScalarValue],
    operands: &'a [Operand],
    domains: Vec<OnceCell<Option<Domain>>>,
    grids: RefCell<Vec<Rc<Grid>>>,
    candidates: Option<&'a dyn Candidates>,
    errors: Cell<usize>,
}

impl<'a> Judge<'a> {
    /// A judgement of `rows` at a level.
    pub fn new(
        source: &'a dyn ZoneSource,
        level: Level,
        rows: &'a RowRanges<FragmentRows>,
        params: &'a [ScalarValue],
        operands: &'a [Operand],
    ) -> Self {
        let domains = operands.iter().map(|_| OnceCell::new()).collect();
        let (grids, errors) = (RefCell::default(), Cell::new(0));
        Self { source, level, rows, params, operands, domains, grids, candidates: None, errors }
    }

    /// The same judgement, by what knows of zones which values they hold.
    pub fn with_candidates(self, candidates: &'a dyn Candidates) -> Self {
        Self { candidates: Some(candidates), ..self }
    }

    /// The judged rows.
    pub fn rows(&self) -> &RowRanges<FragmentRows> {
        self.rows
    }

    /// The values of the parameter slots.
    pub fn params(&self) -> &[ScalarValue] {
        self.params
    }

    /// How often something couldn't be judged because of an error.
    pub fn errors(&self) -> usize {
        self.errors.get()
    }

    /// The value; an error is counted.
    pub fn ok<T>(&self, result: Result<T>) -> Option<T> {
        if result.is_err() {
            self.errors.set(self.errors.get() + 1);
        }
        result.ok()
    }

    /// The rows of `live` for which a test of an operand may give one of `set`.
    pub fn leaf(&self, operand: usize, leaf: &Leaf, set: Truth, live: &Extent) -> Extent {
        let Some(domain) = self.domain(operand) else { return live.clone() };
        let found = live.find(&domain.grid, self.rows, |live| {
            let held = |values: &_, live: &[u64]| match (self.candidates, self.operands.get(operand)) {
                (Some(candidates), Some(Operand::Column(column))) => {
                    still_held(candidates, &column.path, domain, values, live)
                }
                _ => Ok(live.to_vec()),
            };
            leaf.with_params(self.params, |test| domain.may(test, set, live, held))
        });
        self.ok(found).unwrap_or_else(|| live.clone())
    }

    /// The rows of `live` for which a comparison of two operands may give one of `set`.
    pub fn pair(&self, op: CompareOp, operands: [usize; 2], set: Truth, live: &Extent) -> Extent {
        let Some([x, y]) = self.aligned(operands) else { return live.clone() };
        let found =
            live.find(&x.grid, self.rows, |live| may_compare(op, [x.as_ref(), y.as_ref()], set, live));
        self.ok(found).unwrap_or_else(|| live.clone())
    }

    /// The rows of `live` for which a predicate that is asked itself may be one of `set`.
    pub fn probe(&self, probe: &Probe, set: Truth, live: &Extent) -> Extent {
        let domains: Option<Vec<_>> = probe.columns().iter().map(|column| self.domain(*column)).collect();
        let Some((domains, grid)) = domains.and_then(|all| Some((all.clone(), &all.first()?.grid))) else {
            return live.clone();
        };
        if !domains.iter().all(|domain| Rc::ptr_eq(&domain.grid, grid)) {
            return live.clone();
        }
        let found = live.find(grid, self.rows, |live| probe.may(&domains, set, live, self.params));
        self.ok(found).unwrap_or_else(|| live.clone())
    }

    /// An operand's domain; `None` when nothing is known of it.
    fn domain(&self, number: usize) -> Option<&Domain> {
        let load = || match self.operands.get(number)? {
            Operand::Column(column) => self.column(column),
            Operand::Cast { of, to, total } => self.ok(self.domain(*of)?.cast(to, *total)),
            Operand::Foreign { of, function, monotone } => {
                let field = function.0.field();
                let evaluate = |values: &_| function.0.evaluate(std::slice::from_ref(values), values.len());
                self.ok(self.domain(*of)?.map(*monotone, field.data_type(), evaluate))
            }
            Operand::Arithmetic { op, terms, data_type } => {
                let value = |term: &'a Term| match term {
                    Term::Value(value) => Some(value),
                    Term::Param(slot) => self.ok(param(*slot, self.params)),
                    Term::Operand(_) => None,
                };
                match terms {
                    [Term::Operand(x), Term::Operand(y)] => {
                        let [x, y] = self.aligned([*x, *y])?;
                        let given = [&x, &y].map(|domain| Given::Domain(domain));
                        self.ok(arithmetic(*op, &given, &x, data_type))
                    }
                    [Term::Operand(x), y] => {
                        let x = self.domain(*x)?;
                        self.ok(arithmetic(
                            *op,
                            &[Given::Domain(x), Given::Constant(value(y)?)],
                            x,
                            data_type,
                        ))
                    }
                    [x, Term::Operand(y)] => {
                        let y = self.domain(*y)?;
                        self.ok(arithmetic(
                            *op,
                            &[Given::Constant(value(x)?), Given::Domain(y)],
                            y,
                            data_type,
                        ))
                    }
                    _ => None,
                }
            }
        };
        self.domains.get(number)?.get_or_init(load).as_ref()
    }

    fn column(&self, column: &Column) -> Option<Domain> {
        let zones = self.source.zones(&column.path, self.level)?;
        let grid = Grid::over(&zones, self.rows);
        let grid = grid.ok_or_else(|| exec_datafusion_err!("zones of {} leave out rows", column.path));
        self.ok(grid.and_then(|grid| Domain::of_column(column, &zones, self.shared(grid))))
    }

    /// Two operands' domains over one grid.
    fn aligned(&self, [x, y]: [usize; 2]) -> Option<[Cow<'_, Domain>; 2]> {
        let (x, y) = (self.domain(x)?, self.domain(y)?);
        if Rc::ptr_eq(&x.grid, &y.grid) {
            return Some([Cow::Borrowed(x), Cow::Borrowed(y)]);
        }
        let (grid, [from_x, from_y]) = x.grid.cut(&y.grid, self.rows);
        let grid = self.shared(grid);
        let refined = |domain: &Domain, from: Vec<u64>| self.ok(domain.refined(&grid, &from.into()));
        Some([Cow::Owned(refined(x, from_x)?), Cow::Owned(refined(y, from_y)?)])
    }

    /// The grid already known with these borders, or this one.
    fn shared(&self, grid: Grid) -> Rc<Grid> {
        let mut grids = self.grids.borrow_mut();
        if let Some(known) = grids.iter().find(|known| known.same(&grid)) {
            return Rc::clone(known);
        }
        let grid = Rc::new(grid);
        grids.push(Rc::clone(&grid));
        grid
    }
}

/// The value of a parameter slot.
///
/// # Errors
/// When it has none.
pub(super) fn param(slot: u16, params: &[ScalarValue]) -> Result<&ScalarValue> {
    let missing = || exec_datafusion_err!("parameter {slot} of a predicate has no value");
    params.get(usize::from(slot)).ok_or_else(missing)
}
