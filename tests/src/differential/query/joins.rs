// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Joins of every type.

use proptest::prelude::*;
use proptest::sample::select;

use super::super::kind::Kind;
use super::predicate::Predicate;
use super::{Grammar, Query, on, ordered, window};

impl Grammar {
    fn keys(&self, number: usize) -> BoxedStrategy<Vec<Kind>> {
        self.kinds.keys(number, self.tame)
    }

    /// Some rows of `t` under other names, `rid` and each column's after `r`.
    pub(super) fn few(&self) -> String {
        let renamed = self.kinds.all().iter().map(|kind| format!("{0} AS r{0}", kind.name()));
        format!("(SELECT id AS rid, {} FROM t WHERE id % 23 = 3) r", renamed.collect::<Vec<_>>().join(", "))
    }

    pub(super) fn join(&self) -> BoxedStrategy<Query> {
        let few = self.few();
        let one = (0usize..10, self.keys(1), self.seldom(), any::<bool>());
        let one = one.prop_map(move |(form, keys, Predicate { sql, forms }, swapped)| {
            let on = on(&keys, "u");
            let key = keys.first().map_or("l", |key| key.name());
            let outer = |shape, word| {
                let (left, right) = if swapped { ("u", "t") } else { ("t", "u") };
                (shape, format!("SELECT id, uid, s, ui FROM {left} {word} {right} ON {on}{sql}"))
            };
            let select = "SELECT id, uid FROM t JOIN u";
            let (shape, text) = match form {
                0 => outer("left-join", "LEFT JOIN"),
                1 => outer("right-join", "RIGHT JOIN"),
                2 => outer("full-join", "FULL JOIN"),
                3 => outer("inner-join", "JOIN"),
                4 => ("join-residual", format!("{select} ON {on} AND t.id % 7 < u.ui{sql}")),
                5 => ("join-count", format!("SELECT count(*), sum(f) FROM t JOIN u ON {on}{sql}")),
                6 => {
                    let on = if swapped { "t.l + 1 = u.ul" } else { "t.l = u.ui" };
                    ("join-expression", format!("{select} ON {on}{sql}"))
                }
                7 => {
                    let on = format!("t.{key} IS NOT DISTINCT FROM u.u{key}");
                    ("join-nulls-equal", format!("{select} ON {on}{sql}"))
                }
                8 => {
                    let also = if swapped { "t.id = r.rid" } else { "t.i = r.ri" };
                    (
                        "join-three",
                        format!("SELECT id, uid, rid FROM t JOIN u ON {on} JOIN {few} ON {also}{sql}"),
                    )
                }
                _ => {
                    let on = on.replace("= u", "= r");
                    ("self-join", format!("SELECT id, rid FROM t JOIN {few} ON {on}{sql}"))
                }
            };
            let query = Query::plain(shape, text, forms);
            if form == 5 { query.with_sums([1]) } else { query }
        });
        let two = (self.keys(2), self.seldom()).prop_map(|(keys, Predicate { sql, forms })| {
            let on = on(&keys, "u");
            Query::plain("join-two-keys", format!("SELECT id, uid, n FROM t JOIN u ON {on}{sql}"), forms)
        });
        prop_oneof![4 => one, 1 => two].boxed()
    }

    /// Semi and anti joins, said as such.
    pub(super) fn semi_join(&self) -> BoxedStrategy<Query> {
        (0usize..4, self.keys(1), self.seldom(), any::<bool>(), any::<bool>())
            .prop_map(|(form, keys, Predicate { sql, forms }, residual, of_u)| {
                let more = if residual { " AND t.id % 5 < u.ui" } else { "" };
                let on = format!("{}{more}", on(&keys, "u"));
                let (shape, word, is_left) = match form {
                    0 => ("left-semi-join", "LEFT SEMI JOIN", true),
                    1 => ("left-anti-join", "LEFT ANTI JOIN", true),
                    2 => ("right-semi-join", "RIGHT SEMI JOIN", false),
                    _ => ("right-anti-join", "RIGHT ANTI JOIN", false),
                };
                // One side is put out; the other one's columns can't be named above the join.
                let text = match (is_left, of_u) {
                    (true, true) => format!("SELECT uid, us FROM u {word} t ON {on}"),
                    (false, true) => format!("SELECT uid, us FROM t {word} u ON {on}"),
                    (true, false) => format!("SELECT id, s FROM t {word} u ON {on}{sql}"),
                    (false, false) => format!("SELECT id, s FROM u {word} t ON {on}{sql}"),
                };
                Query::plain(shape, text, forms)
            })
            .boxed()
    }

    pub(super) fn topk_over_join(&self) -> BoxedStrategy<Query> {
        let words = select(&["JOIN", "LEFT JOIN", "RIGHT JOIN"][..]);
        let joined = (words, self.keys(1), self.seldom(), self.keys_of_order(), window()).prop_map(
            |(word, keys, Predicate { sql, forms }, order, window)| {
                let body = format!("FROM t {word} u ON {}{sql}", on(&keys, "u"));
                ordered("topk-over-join", "id, uid", &body, &order, window, forms)
            },
        );
        let semi = (self.keys(1), self.keys_of_order(), window(), select(&["", "NOT "][..])).prop_map(
            |(keys, order, window, not)| {
                let key = keys.first().map_or("l", |key| key.name());
                let body =
                    format!("FROM t WHERE {key} {not}IN (SELECT u{key} FROM u WHERE u{key} IS NOT NULL)");
                ordered("topk-over-semi", "id, s", &body, &order, window, Vec::new())
            },
        );
        prop_oneof![3 => joined, 1 => semi].boxed()
    }
}
