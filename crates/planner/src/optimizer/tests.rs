// Licensed under the Apache License, Version 2.0. See LICENSE.

mod contract;
mod generate;
mod property;
pub(super) mod support;
