// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What EXPLAIN shows of a scan.

use std::fmt;

use datafusion::physical_plan::{DisplayAs, DisplayFormatType};

use super::FilteredReadExec;

impl DisplayAs for FilteredReadExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        let mut parts = self.parts();
        if format == DisplayFormatType::Verbose && !self.snapshot.fragments.is_empty() {
            // One fragment stands for all.
            parts.extend(
                self.explain_fragment(0).ok().map(|plan| ("fragment_plan", plan.after.line().to_string())),
            );
        }
        match format {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                write!(f, "FilteredReadExec: ")?;
                parts.iter().enumerate().try_for_each(|(i, (key, value))| {
                    write!(f, "{}{key}={value}", if i == 0 { "" } else { ", " })
                })
            }
            DisplayFormatType::TreeRender => parts
                .iter()
                .try_for_each(|(key, value)| writeln!(f, "{key}={}", value.trim_matches(['[', ']']))),
        }
    }
}

impl FilteredReadExec {
    /// What there is to show, as keys and values.
    fn parts(&self) -> Vec<(&'static str, String)> {
        let schema = self.properties.eq_properties.schema();
        let names: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        let groups: usize = self.snapshot.fragments.iter().map(|f| f.open.metadata.row_groups().len()).sum();
        let mut parts = vec![
            ("table", self.snapshot.name.clone()),
            ("fragments", self.snapshot.fragments.len().to_string()),
            ("row_groups", groups.to_string()),
            ("projection", format!("[{}]", names.join(", "))),
        ];
        parts.extend(self.fetch.map(|fetch| ("limit", fetch.to_string())));
        if let Some(order) = self.properties.output_ordering() {
            parts.push(("output_ordering", format!("[{order}]")));
        }
        if !self.filters.is_empty() {
            parts.push(("predicate", self.filters.to_string()));
        }
        if !self.live.is_empty() {
            let live: Vec<_> = self.live.iter().map(|filter| filter.expr().to_string()).collect();
            parts.push(("live", live.join(" AND ")));
            if !self.linked {
                parts.push(("linked", "false".to_owned()));
            }
        }
        parts
    }
}
