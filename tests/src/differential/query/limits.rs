// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Limits below joins and other limits, and queries of a table in order.

use proptest::prelude::*;
use proptest::sample::select;

use super::super::order::Order;
use super::predicate::Predicate;
use super::{Grammar, Query, Window, clause, on, ordered, wide_window, window};

impl Grammar {
    /// A limit by a unique key, so that it leaves no choice, below a join or another limit.
    pub(super) fn over_limit(&self) -> BoxedStrategy<Query> {
        let inner = (self.seldom(), select(&["", " DESC"][..]), window()).prop_map(
            |(Predicate { sql, forms }, direction, Window { fetch, .. })| {
                let window = Window { skip: 0, fetch };
                (format!("(SELECT * FROM t{sql} ORDER BY id{direction}{}) t", clause(window)), forms)
            },
        );
        (inner, self.kinds.keys(1, false), self.keys_of_order(), window(), any::<bool>())
            .prop_map(|((inner, forms), keys, order, window, joined)| {
                if joined {
                    let on = on(&keys, "u");
                    let text = format!("SELECT id, uid FROM {inner} JOIN u ON {on}");
                    Query::plain("join-over-limit", text, forms)
                } else {
                    ordered("topk-over-limit", "id, s", &format!("FROM {inner}"), &order, window, forms)
                }
            })
            .boxed()
    }

    /// Queries that ask for the table's declared order, so that a scan may serve it: with or without a limit, above a
    /// join, in a window function, and as a limit that leaves no choice below a join or another limit.
    pub(super) fn of_sorted_table(&self, order: Order) -> BoxedStrategy<Query> {
        let keys_of = move || vec![(order.key(), order.direction())];
        let with_id = move || {
            let mut keys = keys_of();
            if !order.is_unique() {
                keys.push(("id", ""));
            }
            keys
        };
        let by_with_id = move || {
            let keys = with_id();
            keys.iter().map(|(key, direction)| format!("{key}{direction}")).collect::<Vec<_>>().join(", ")
        };
        let all = self.kinds.columns();
        let sorted = (self.condition(), wide_window(), any::<bool>(), 0usize..5).prop_map(
            move |(Predicate { sql, forms }, window, limited, by)| {
                // The second key alone is no order of the table, even where the first isn't put out.
                let (columns, by) = match by {
                    0 => ("id", vec![("id", "")]),
                    1 | 2 => (all.as_str(), with_id()),
                    _ => (all.as_str(), keys_of()),
                };
                let shape = if limited { "sorted-limit" } else { "sorted" };
                ordered(shape, columns, &format!("FROM t{sql}"), &by, limited.then_some(window), forms)
            },
        );
        let joined = (self.kinds.keys(1, self.tame), self.seldom(), window(), any::<bool>()).prop_map(
            move |(keys, Predicate { sql, forms }, window, limited)| {
                let body = format!("FROM t JOIN u ON {}{sql}", on(&keys, "u"));
                ordered("sorted-join", "id, uid", &body, &keys_of(), limited.then_some(window), forms)
            },
        );
        let numbered = self.seldom().prop_map(move |Predicate { sql, forms }| {
            // Of rows, since some types have no ranges.
            let rows = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW";
            let number = format!("row_number() OVER (ORDER BY {} {rows})", by_with_id());
            Query::plain("sorted-window", format!("SELECT id, {number} AS rank FROM t{sql}"), forms)
        });
        let plain = prop_oneof![4 => sorted, 1 => joined, 1 => numbered];
        if self.tame {
            return plain.boxed();
        }
        let inside = (
            self.seldom(),
            wide_window(),
            self.kinds.keys(1, false),
            self.keys_of_order(),
            window(),
            0usize..4,
        );
        let inside = inside.prop_map(move |(Predicate { sql, forms }, inner, keys, outer, window, form)| {
            let inner = format!("(SELECT * FROM t{sql} ORDER BY {}{}) t", by_with_id(), clause(inner));
            if form < 3 {
                // Over the key itself a filter below the limit would leave out its first rows.
                let key = order.kind().filter(|_| form < 2).map(|key| vec![key]);
                let on = on(&key.unwrap_or(keys), "u");
                let text = format!("SELECT id, uid FROM {inner} JOIN u ON {on}");
                Query::plain("join-over-sorted-limit", text, forms)
            } else {
                ordered("topk-over-sorted-limit", "id, s", &format!("FROM {inner}"), &outer, window, forms)
            }
        });
        prop_oneof![6 => plain, 4 => inside].boxed()
    }
}
