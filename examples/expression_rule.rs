// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A rule of one's own for filters, from which a scan learns enough to skip most of a table.
//!
//! Part numbers are digits and dashes, but the application searches them with ILIKE, by which nothing can be
//! skipped. What has no letters has no case: the rule makes a LIKE of it, and of that a scan knows which texts
//! come before and after.

use std::sync::Arc;

use datafusion::error::Result;
use datafusion::execution::SessionStateBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_trommel::translate::expression_rules;
use datafusion_trommel::{TrommelSessionExt, TrommelTable};
use trommel_planner::expr::BoundExpression;
use trommel_planner::expr::functions::{Like, LikeOptions};
use trommel_planner::optimizer::{Rewrite, RewriteContext, RuleResult, TypedExprRewriteRule};

/// *x ILIKE '12-%' → x LIKE '12-%'*, when the pattern has no letters.
#[derive(Debug)]
struct Caseless;

impl TypedExprRewriteRule<Like> for Caseless {
    fn name(&self) -> &'static str {
        "caseless"
    }

    fn rewrite(&self, like: &LikeOptions, node: &BoundExpression, _: &RewriteContext<'_>) -> RuleResult {
        let pattern = node.children()[1].as_literal().and_then(|pattern| pattern.try_as_str().flatten());
        let caseless = |pattern: &str| pattern.chars().all(|c| c.is_ascii() && !c.is_ascii_alphabetic());
        if !like.case_insensitive || !pattern.is_some_and(caseless) {
            return Ok(Rewrite::Unchanged);
        }
        let like = LikeOptions { case_insensitive: false, ..*like };
        Ok(Rewrite::Rewritten(BoundExpression::call::<Like>(like, node.children().to_vec())?))
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let file = dir.path().join("parts.parquet").display().to_string();
    SessionContext::new()
        .sql(&format!(
            "COPY (SELECT lpad((value / 1000)::text, 3, '0') || '-' || (value % 1000)::text AS part \
                   FROM generate_series(0, 999999)) \
             TO '{file}' STORED AS PARQUET OPTIONS (max_row_group_size 50000)"
        ))
        .await?
        .collect()
        .await?;

    let with_rule = expression_rules();
    with_rule.register::<Like>(Caseless);
    // Look for `row_groups_pruned_statistics` in the line of FilteredReadExec.
    for rules in [expression_rules(), with_rule] {
        let config = SessionConfig::new().with_extension(Arc::new(rules));
        let builder = SessionStateBuilder::new().with_default_features().with_config(config);
        let ctx: SessionContext = builder.with_trommel().build().into();
        ctx.register_table("parts", Arc::new(TrommelTable::open(&file, &ctx.state()).await?))?;
        ctx.sql("EXPLAIN ANALYZE SELECT part FROM parts WHERE part ILIKE '042-%'").await?.show().await?;
    }
    Ok(())
}
