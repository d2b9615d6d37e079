// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Writing expressions as one would in SQL, without recursion.
//!
//! A node says how it is written as pieces: texts, and children in between. Children are written when it is
//! their turn, off a stack, so a deep expression prints on a small one.

use std::fmt;

use datafusion_common::ScalarValue;

use super::functions::{Arithmetic, Compare, InSet, IsNull, Like, Not};
use super::{BoundExpression, ExprKind, ScalarFnVTable};

/// Takes the pieces that a call is written as, for use with [`write!`].
#[derive(Debug, Default)]
pub struct Printer<'a> {
    pieces: Vec<Piece<'a>>,
}

#[derive(Debug)]
enum Piece<'a> {
    Text(String),
    Expression(&'a BoundExpression),
}

impl<'a> Printer<'a> {
    /// Adds an argument.
    ///
    /// # Errors
    /// Never; like text, for use with `?`.
    pub fn argument(&mut self, argument: &'a BoundExpression) -> fmt::Result {
        self.pieces.push(Piece::Expression(argument));
        Ok(())
    }

    /// Adds an argument, in parentheses where its text would otherwise run into an operator's.
    ///
    /// # Errors
    /// Never; like text, for use with `?`.
    pub fn operand(&mut self, argument: &'a BoundExpression) -> fmt::Result {
        let loose = [Arithmetic::ID, Compare::ID, Not::ID, IsNull::ID, InSet::ID, Like::ID];
        if !matches!(argument.kind(), ExprKind::Call(function) if loose.contains(&function.id())) {
            return self.argument(argument);
        }
        self.write_str("(")?;
        self.argument(argument)?;
        self.write_str(")")
    }

    /// Adds arguments with `joint` in between.
    ///
    /// # Errors
    /// Never; like text, for use with `?`.
    pub fn joined(&mut self, joint: &str, arguments: &'a [BoundExpression]) -> fmt::Result {
        for (i, argument) in arguments.iter().enumerate() {
            self.write_str(if i == 0 { "" } else { joint })?;
            self.argument(argument)?;
        }
        Ok(())
    }

    /// Adds text.
    ///
    /// # Errors
    /// Never; for use with `?`.
    pub fn write_str(&mut self, text: &str) -> fmt::Result {
        match self.pieces.last_mut() {
            Some(Piece::Text(last)) => last.push_str(text),
            _ => self.pieces.push(Piece::Text(text.to_owned())),
        }
        Ok(())
    }

    /// Adds formatted text: what [`write!`] calls.
    ///
    /// # Errors
    /// When formatting one of the values fails.
    pub fn write_fmt(&mut self, text: fmt::Arguments<'_>) -> fmt::Result {
        match text.as_str() {
            Some(text) => self.write_str(text),
            None => {
                let mut buffer = String::new();
                fmt::write(&mut buffer, text)?;
                self.write_str(&buffer)
            }
        }
    }
}

impl fmt::Display for BoundExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut stack = vec![Piece::Expression(self)];
        while let Some(piece) = stack.pop() {
            let expression = match piece {
                Piece::Text(text) => {
                    f.write_str(&text)?;
                    continue;
                }
                Piece::Expression(expression) => expression,
            };
            let mut out = Printer::default();
            match expression.kind() {
                ExprKind::Root(_) => f.write_str("$")?,
                ExprKind::Literal(value) => fmt_literal(value, f)?,
                ExprKind::Param(slot, _) => write!(f, "?{slot}")?,
                ExprKind::Call(function) => function.fmt_call(expression.children(), &mut out)?,
                ExprKind::Foreign(foreign) => {
                    write!(f, "{foreign}")?;
                    if !expression.children().is_empty() {
                        out.write_str("{")?;
                        out.joined(", ", expression.children())?;
                        out.write_str("}")?;
                    }
                }
            }
            stack.extend(out.pieces.into_iter().rev());
        }
        Ok(())
    }
}

impl fmt::Debug for BoundExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn fmt_literal(value: &ScalarValue, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match value.try_as_str().flatten() {
        Some(text) => write!(f, "'{}'", text.replace('\'', "''")),
        None => write!(f, "{value}"),
    }
}
