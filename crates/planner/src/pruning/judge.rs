// Licensed under the Apache License, Version 2.0. See LICENSE.

//! One judgement: a predicate over the zones of one level, between two rows.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use datafusion_common::{Result, ScalarValue, exec_datafusion_err};

use super::domain::Domain;
use super::judged::{Grid, Judged};
use super::lanes::Lanes;
use super::leaf::Leaf;
use super::operand::Operand;
use super::{Level, Truth, ZoneSource};
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
        Self { source, level, rows, params, operands, domains, grids, errors }
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

    /// The truth set; an error is counted, and makes anything possible.
    pub fn or_any(&self, result: Result<Truth>) -> Truth {
        self.ok(result).unwrap_or(Truth::ANY)
    }

    /// Both, row by row.
    pub fn zip(&self, a: Judged, b: Judged, f: impl Fn(Lanes, Lanes) -> Lanes) -> Judged {
        a.zip(b, self.rows, f)
    }

    /// A test of an operand.
    pub fn leaf(&self, operand: usize, leaf: &Leaf) -> Judged {
        let judged = self.domain(operand).and_then(|domain| {
            let lanes = leaf.with_params(self.params, |test| domain.judge(test));
            Some(Judged::Zoned(Rc::clone(domain.grid()), self.ok(lanes)?))
        });
        judged.unwrap_or(Judged::Constant(Truth::ANY))
    }

    /// An operand's domain; `None` when nothing is known of it.
    fn domain(&self, operand: usize) -> Option<&Domain> {
        let load = || {
            let operand = self.operands.get(operand)?;
            let column = self.source.zones(&operand.path, self.level)?;
            let grid = self.rows.span().and_then(|span| Grid::over(&column, &span));
            let grid = grid.ok_or_else(|| exec_datafusion_err!("zones of {} leave out rows", operand.path));
            self.ok(grid.and_then(|grid| Domain::load(operand, &column, self.shared(grid))))
        };
        self.domains.get(operand)?.get_or_init(load).as_ref()
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
