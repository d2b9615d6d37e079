// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Floats: the two orders they are compared in, and the rules for loading their bounds.
