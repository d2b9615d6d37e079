//! Runnable examples of Trommel, one idea per file: `cargo run -p trommel-examples --example NAME`.
