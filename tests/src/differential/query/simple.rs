// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Queries of one table: filters, limits, aggregates.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::super::kind::Kind;
use super::predicate::Predicate;
use super::{Grammar, Query, Window, clause, ordered, window};
use crate::relation::Relation;

impl Grammar {
    pub(super) fn filter(&self) -> BoxedStrategy<Query> {
        let columns = ["id", "s, id", "f, b", "1 AS one", "*"].map(str::to_owned).to_vec();
        let columns = prop_oneof![2 => Just(self.kinds.columns()), 5 => select(columns)];
        (columns, self.predicate())
            .prop_map(|(columns, Predicate { sql, forms })| {
                Query::plain("filter", format!("SELECT {columns} FROM t WHERE {sql}"), forms)
            })
            .boxed()
    }

    pub(super) fn count(&self) -> BoxedStrategy<Query> {
        self.condition()
            .prop_map(|Predicate { sql, forms }| {
                Query::plain("count", format!("SELECT count(*), count(i), sum(i), sum(f) FROM t{sql}"), forms)
                    .with_sums([3])
            })
            .boxed()
    }

    pub(super) fn topk(&self) -> BoxedStrategy<Query> {
        let columns = prop_oneof![
            1 => Just(self.kinds.columns()),
            2 => select(&["id", "s, f"][..]).prop_map(str::to_owned),
        ];
        (columns, self.condition(), self.keys_of_order(), window())
            .prop_map(|(columns, Predicate { sql, forms }, order, window)| {
                ordered("topk", &columns, &format!("FROM t{sql}"), &order, window, forms)
            })
            .boxed()
    }

    pub(super) fn limit(&self) -> BoxedStrategy<Query> {
        (self.condition(), window())
            .prop_map(|(Predicate { sql, forms }, window)| {
                ordered_by_nothing("limit", &format!("SELECT id, s, f FROM t{sql}"), window, forms)
            })
            .boxed()
    }

    /// `min` and `max`, alone or with other aggregates beside them.
    pub(super) fn min_max(&self) -> BoxedStrategy<Query> {
        let column = self.kinds.one_of(|kind| kind != Kind::Boolean).prop_map(Kind::name);
        let column = prop_oneof![8 => column, 1 => Just("id"), 1 => Just("l + 1")];
        let filter = self.predicate().prop_map(|p| format!(" FILTER (WHERE {})", p.sql));
        let filter = prop_oneof![3 => Just(String::new()), 1 => filter];
        let aggregate = (select(&["min", "max"][..]), column, filter);
        // With several, DataFusion hands down a wrong filter now and then.
        let several = if self.tame { vec(aggregate, 1..2).boxed() } else { vec(aggregate, 1..4).boxed() };
        let others = ["count(*)", "count(s)", "sum(l)", "count(DISTINCT i)", "bool_or(b)", "min(i % 7)"];
        let other = prop_oneof![2 => Just(None), 1 => select(others.to_vec()).prop_map(Some)];
        (several, other, self.condition())
            .prop_map(|(aggregates, other, Predicate { sql, forms })| {
                let mut aggregates: Vec<String> = aggregates
                    .into_iter()
                    .enumerate()
                    .map(|(n, (name, column, filter))| format!("{name}({column}){filter} AS a{n}"))
                    .collect();
                aggregates.extend(other.map(str::to_owned));
                let shape = if other.is_some() { "min-max-and-more" } else { "min-max" };
                Query::plain(shape, format!("SELECT {} FROM t{sql}", aggregates.join(", ")), forms)
            })
            .boxed()
    }

    pub(super) fn group(&self) -> BoxedStrategy<Query> {
        let column = self.kinds.one_of(|kind| !kind.is_float()).prop_map(Kind::name);
        (column, self.condition(), 0usize..4, window())
            .prop_map(|(column, Predicate { sql, forms }, form, window)| {
                let body = format!("FROM t{sql} GROUP BY {column}");
                let columns = format!("{column}, max(l), min(ts), count(*)");
                match form {
                    0 => {
                        ordered("group", &columns, &body, &[("max(l)", " DESC"), (column, "")], window, forms)
                    }
                    1 => Query::plain("group", format!("SELECT {columns} {body}"), forms),
                    2 => ordered("distinct", column, &body, &[(column, " DESC")], window, forms),
                    _ => Query::plain(
                        "distinct",
                        format!("SELECT DISTINCT {column} AS value, i FROM t{sql}"),
                        forms,
                    ),
                }
            })
            .boxed()
    }
}

fn ordered_by_nothing(shape: &'static str, sql: &str, window: Window, forms: Vec<&'static str>) -> Query {
    Query {
        relation: Relation { window: Some(window), ..Relation::default() },
        sql: format!("{sql}{}", clause(window)),
        ..Query::plain(shape, sql.to_owned(), forms)
    }
}
