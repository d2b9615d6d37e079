// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The demo's queries: one for each way in which a scan can learn while it reads, and one that needs none.
//!
//! Constants are picked from the data, so that the queries select alike at every scale. The join runs three times:
//! as the engine plans it by default, which depends on its statistics, and then in either mode, forced.

use anyhow::{Context, Result};
use datafusion::arrow::util::display::array_value_to_string;
use datafusion::prelude::SessionContext;

use super::layout::TpchTable;

/// Orders that the join keeps, before rounding.
const EXPENSIVE_ORDERS: usize = 16;

/// Width of the key range. Order keys are sparse, 8 of 32: some 250 orders, 1 000 lines.
const RANGE_OF_KEYS: i64 = 1000;

/// Makes every join gather its build side in one hash table.
const COLLECT_LEFT: &[(&str, &str)] = &[
    ("datafusion.optimizer.hash_join_single_partition_threshold", "1000000000000"),
    ("datafusion.optimizer.hash_join_single_partition_threshold_rows", "1000000000000"),
];

/// Makes every join split both sides by the hash of their keys.
const PARTITIONED: &[(&str, &str)] = &[
    ("datafusion.optimizer.hash_join_single_partition_threshold", "0"),
    ("datafusion.optimizer.hash_join_single_partition_threshold_rows", "0"),
];

/// All tables that the queries read.
pub const TABLES: [TpchTable; 2] = [TpchTable::Orders, TpchTable::LineItem];

/// One query.
#[derive(Debug, Clone)]
pub struct Query {
    /// A few words for the table of results.
    pub name: &'static str,
    /// What a scan could learn, in one sentence.
    pub lesson: &'static str,
    /// The text.
    pub sql: String,
    /// The tables it reads.
    pub tables: &'static [TpchTable],
    /// Options of the session it runs in, the same for every engine.
    pub settings: &'static [(&'static str, &'static str)],
    /// The column it is ordered by when it has a `LIMIT`: rows that tie on the last one are exchangeable.
    pub sort_key: Option<&'static str>,
}

/// What the queries need to know about the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Constants {
    /// Few orders cost more than this.
    pub high_price: i64,
    /// The largest order key.
    pub last_key: i64,
}

impl Constants {
    /// Picks the constants from the table `orders` of `context`.
    ///
    /// # Errors
    /// The table can't be read, or is empty.
    pub async fn pick(context: &SessionContext) -> Result<Self> {
        // Whole numbers: a literal with a point would be a float, and compare the column as one.
        let high_price = format!(
            "SELECT CAST(ceil(o_totalprice) AS BIGINT) FROM orders ORDER BY o_totalprice DESC \
             LIMIT 1 OFFSET {EXPENSIVE_ORDERS}"
        );
        Ok(Self {
            high_price: number(context, &high_price).await?,
            last_key: number(context, "SELECT max(o_orderkey) FROM orders").await?,
        })
    }
}

async fn number(context: &SessionContext, sql: &str) -> Result<i64> {
    let batches = context.sql(sql).await?.collect().await?;
    let row = batches.iter().find(|batch| batch.num_rows() > 0);
    let batch = row.with_context(|| format!("no rows for {sql}"))?;
    let value = array_value_to_string(batch.column(0), 0)?;
    value.parse().with_context(|| format!("{sql} gave {value:?}, not a number"))
}

/// The queries, in the order they run.
pub fn queries(constants: &Constants) -> Vec<Query> {
    let Constants { high_price, last_key } = *constants;
    let join = format!(
        "SELECT l.* FROM lineitem l JOIN orders o ON l.l_orderkey = o.o_orderkey WHERE o.o_totalprice > {high_price}"
    );
    let first = last_key / 2;
    vec![
        Query {
            name: "TopK, unsorted",
            lesson: "The ten best prices so far rule out what comes later.",
            sql: "SELECT * FROM lineitem ORDER BY l_extendedprice DESC LIMIT 10".to_owned(),
            tables: &[TpchTable::LineItem],
            settings: &[],
            sort_key: Some("l_extendedprice"),
        },
        Query {
            name: "TopK, clustered",
            lesson: "The file is sorted by this key: its last page holds the answer.",
            sql: "SELECT * FROM lineitem ORDER BY l_orderkey DESC LIMIT 10".to_owned(),
            tables: &[TpchTable::LineItem],
            settings: &[],
            sort_key: Some("l_orderkey"),
        },
        Query {
            name: "join",
            lesson: "A handful of orders decides which pages of lineitem can match.",
            sql: join.clone(),
            tables: &TABLES,
            settings: &[],
            sort_key: None,
        },
        Query {
            name: "join, collected",
            lesson: "The same, with the orders in one hash table: one filter for the whole scan.",
            sql: join.clone(),
            tables: &TABLES,
            settings: COLLECT_LEFT,
            sort_key: None,
        },
        Query {
            name: "join, partitioned",
            lesson: "The same, with the orders split by hash: one filter for each partition.",
            sql: join,
            tables: &TABLES,
            settings: PARTITIONED,
            sort_key: None,
        },
        Query {
            name: "key range",
            lesson: "Nothing to learn: the query says what it wants.",
            sql: format!(
                "SELECT * FROM lineitem WHERE l_orderkey BETWEEN {first} AND {}",
                first + RANGE_OF_KEYS - 1
            ),
            tables: &[TpchTable::LineItem],
            settings: &[],
            sort_key: None,
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::data::TpchData;
    use crate::demo::engines::{Engine, run};

    #[tokio::test]
    async fn every_query_selects_some_rows_and_not_all() {
        let folder = tempfile::tempdir().unwrap();
        let mut data = TpchData::find(folder.path(), 0.001, &TABLES).unwrap();
        data.write_missing(2, &|_| ()).unwrap();
        let session = Engine::Stock.open(&data, &TABLES, &[], 2).await.unwrap();
        let constants = Constants::pick(session.context()).await.unwrap();
        assert_eq!(constants.last_key, 5988, "1 500 orders, 8 of 32 keys: 1 to 7, 32 to 39, …");
        assert_eq!(number(session.context(), "SELECT count(*) FROM orders").await.unwrap(), 1500);

        for query in queries(&constants) {
            let rows = run(Engine::Stock, &query, &data, 2, true).await.unwrap().answer.len();
            let expected = match (query.sort_key, query.name) {
                (Some(_), _) => 10..=10,
                (None, "key range") => 700..=1300,
                (None, _) => EXPENSIVE_ORDERS - 2..=7 * EXPENSIVE_ORDERS,
            };
            assert!(expected.contains(&rows), "{}: {rows} rows", query.name);
        }
    }

    #[tokio::test]
    async fn joins_run_in_the_mode_their_name_promises() {
        let folder = tempfile::tempdir().unwrap();
        let mut data = TpchData::find(folder.path(), 0.001, &TABLES).unwrap();
        data.write_missing(2, &|_| ()).unwrap();
        let queries = queries(&Constants { high_price: 400_000, last_key: 5988 });
        for (query, mode) in [(&queries[3], "mode=CollectLeft"), (&queries[4], "mode=Partitioned")] {
            let session = Engine::Stock.open(&data, query.tables, query.settings, 2).await.unwrap();
            let plan = session.context().sql(&query.sql).await.unwrap().create_physical_plan().await.unwrap();
            let plan = datafusion::physical_plan::displayable(plan.as_ref()).indent(false).to_string();
            assert!(plan.contains(mode), "{plan}");
        }
    }
}
