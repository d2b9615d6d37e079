// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The built-in rules, one concept a file.

use super::ExpressionOptimizerSession;

/// Registers the built-in rules.
pub(super) fn install(_session: &ExpressionOptimizerSession) {}
