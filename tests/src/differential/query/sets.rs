// Licensed under the Apache License, Version 2.0. See LICENSE.

//! UNION, INTERSECT, EXCEPT, and recursive queries.

use proptest::prelude::*;
use proptest::sample::select;

use super::predicate::Predicate;
use super::{Grammar, Query, ordered, window};

impl Grammar {
    pub(super) fn set(&self) -> BoxedStrategy<Query> {
        let columns = self.kinds.columns();
        let all = (self.predicate(), self.condition(), self.keys_of_order(), window(), any::<bool>())
            .prop_map(move |(first, second, order, window, limited)| {
                let forms = [first.forms, second.forms].concat();
                let both =
                    format!("SELECT * FROM t WHERE {} UNION ALL SELECT * FROM t{}", first.sql, second.sql);
                if limited {
                    ordered("union", &columns, &format!("FROM ({both})"), &order, window, forms)
                } else {
                    Query::plain("union", both, forms)
                }
            });
        let words = [("union-distinct", "UNION"), ("intersect", "INTERSECT"), ("except", "EXCEPT")];
        let key = self.kinds.one_of(|kind| !kind.is_float());
        let distinct = (select(words.to_vec()), key, self.condition(), any::<bool>()).prop_map(
            |((shape, word), key, Predicate { sql, forms }, swapped)| {
                let key = key.name();
                let (of_t, of_u) =
                    (format!("SELECT {key} FROM t{sql}"), format!("SELECT u{key} AS {key} FROM u"));
                let (left, right) = if swapped { (of_u, of_t) } else { (of_t, of_u) };
                Query::plain(shape, format!("{left} {word} {right}"), forms)
            },
        );
        prop_oneof![2 => all, 3 => distinct].boxed()
    }

    /// Steps from row to row, down from a few first ones.
    pub(super) fn recursive(&self) -> BoxedStrategy<Query> {
        (self.predicate(), self.seldom(), 1i64..5, 0i64..40, any::<bool>())
            .prop_map(|(Predicate { sql, mut forms }, more, depth, first, distinct)| {
                forms.extend(more.forms);
                let (shape, all) = if distinct { ("recursive-distinct", "") } else { ("recursive", " ALL") };
                let start = format!("SELECT id, i, 0 AS depth FROM t WHERE id < {first} AND {sql}");
                let step = format!(
                    "SELECT t.id, t.i, r.depth + 1 FROM r JOIN t ON t.id = r.id + 1 WHERE r.depth < {depth}"
                );
                let steps = format!("WITH RECURSIVE r AS ({start} UNION{all} {step})");
                Query::plain(shape, format!("{steps} SELECT depth, id, i FROM r WHERE id % 3 <> 1"), forms)
            })
            .boxed()
    }
}
