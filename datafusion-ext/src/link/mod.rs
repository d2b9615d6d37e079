// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The rule that tells each scan the origin of its live filters.

/// The rule that tells each scan the origin of its live filters.
#[derive(Debug, Default)]
pub struct LinkDynamicFilters {}
