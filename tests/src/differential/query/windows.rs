// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Window functions, and the first rows of each partition.

use proptest::prelude::*;
use proptest::sample::select;

use super::super::kind::Kind;
use super::predicate::Predicate;
use super::{Grammar, Query, direction};

impl Grammar {
    pub(super) fn window(&self) -> BoxedStrategy<Query> {
        let calls = [
            "row_number()",
            "rank()",
            "lag(l)",
            "lead(s, 2)",
            "sum(i)",
            "max(d)",
            "first_value(ts)",
            "count(*)",
        ];
        let group = self.kinds.one_of(|kind| !kind.is_float()).prop_map(Kind::name);
        let group = prop_oneof![1 => Just(None), 2 => group.prop_map(Some)];
        let by = self.kinds.one().prop_map(Kind::name);
        (select(calls.to_vec()), group, by, direction(), self.seldom(), 0i64..5)
            .prop_map(|(call, group, by, direction, Predicate { sql, forms }, most)| {
                let group = group.map(|group| format!("PARTITION BY {group} ")).unwrap_or_default();
                // By id at last, so that no two rows tie; of rows, since some types have no ranges.
                let rows = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW";
                let over = format!("OVER ({group}ORDER BY {by}{direction}, id {rows})");
                if most == 0 {
                    return Query::plain(
                        "window",
                        format!("SELECT id, {call} {over} AS w FROM t{sql}"),
                        forms,
                    );
                }
                let numbered = format!("SELECT id, {by}, row_number() {over} AS place FROM t{sql}");
                let text = format!("SELECT id, place FROM ({numbered}) WHERE place <= {most}");
                Query::plain("top-of-each", text, forms)
            })
            .boxed()
    }
}
