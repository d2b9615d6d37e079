// Licensed under the Apache License, Version 2.0. See LICENSE.

#![no_main]

trommel_fuzz::target!("page_index");
