// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Subqueries: membership, existence, and scalar ones, correlated or not.

use proptest::prelude::*;
use proptest::sample::select;

use super::predicate::Predicate;
use super::{Grammar, Query};

impl Grammar {
    pub(super) fn subquery(&self) -> BoxedStrategy<Query> {
        let mostly = Predicate { sql: "id % 5 <> 2".to_owned(), forms: Vec::new() };
        let predicate = prop_oneof![2 => Just(mostly), 1 => self.predicate()];
        (0usize..5, self.kinds.keys(1, self.tame), predicate, 0i64..8)
            .prop_map(|(form, keys, Predicate { sql, forms }, bound)| {
                let key = keys.first().map_or("l", |kind| kind.name());
                let exists =
                    format!("EXISTS (SELECT 1 FROM u WHERE u.u{key} = t.{key} AND u.uid >= {bound})");
                let list = format!("(SELECT u{key} FROM u WHERE uid <= {bound})");
                let (shape, condition) = match form {
                    0 => ("semi", format!("{key} IN {list} AND {sql}")),
                    1 => ("exists", format!("{exists} AND {sql}")),
                    2 => ("not-exists", format!("NOT {exists} AND {sql}")),
                    3 => ("not-in", format!("{key} NOT IN {list}")),
                    _ => ("mark", format!("{exists} OR {sql}")),
                };
                Query::plain(shape, format!("SELECT id, s FROM t WHERE {condition}"), forms)
            })
            .boxed()
    }

    pub(super) fn scalar_subquery(&self) -> BoxedStrategy<Query> {
        let compare = select(&["=", "<", ">=", "<>", "IS NOT DISTINCT FROM"][..]);
        let key = self.kinds.one_of(|kind| !kind.is_float());
        (0usize..4, compare, key, self.seldom(), 0i64..8, select(&["min", "max"][..]))
            .prop_map(|(form, compare, key, Predicate { sql, forms }, bound, extreme)| {
                let key = key.name();
                let (shape, text) = match form {
                    0 => {
                        let value = format!("(SELECT {extreme}(ul) FROM u WHERE uid < {bound})");
                        ("scalar-subquery", format!("SELECT id FROM t WHERE l {compare} {value}"))
                    }
                    1 => {
                        let value = format!("(SELECT {extreme}({key}) FROM t{sql})");
                        ("scalar-subquery", format!("SELECT id, s FROM t WHERE {key} {compare} {value}"))
                    }
                    2 => {
                        let value = format!("(SELECT {extreme}(ui) FROM u WHERE u.u{key} = t.{key})");
                        ("correlated-subquery", format!("SELECT id FROM t WHERE i {compare} {value}"))
                    }
                    _ => {
                        let value =
                            format!("(SELECT count(*) FROM u WHERE u.u{key} = t.{key} AND uid >= {bound})");
                        ("subquery-column", format!("SELECT id, {value} AS matches FROM t{sql}"))
                    }
                };
                Query::plain(shape, text, forms)
            })
            .boxed()
    }
}
