// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Results, as they are written to and read from JSON: one array of objects, one for each query and engine.
//!
//! What wasn't or can't be measured is null. Fields may be added; readers pass over those they don't know.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// One query on one engine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Record {
    /// The suite.
    pub suite: String,
    /// The query's name in the suite.
    pub query: String,
    /// The engine.
    pub engine: String,
    /// TPC-H scale.
    pub scale: f64,
    /// Partitions, that is, threads.
    pub partitions: u64,
    /// `local` or `latency`.
    pub store: String,
    /// Whether each run had a session of its own with nothing cached but footers.
    pub cold: bool,
    /// Runs that were timed.
    pub repeats: u64,
    /// Median time of a run.
    pub median_ms: Option<f64>,
    /// The shortest.
    pub min_ms: Option<f64>,
    /// Time over that of `datafusion`, in pairs.
    pub ratio: Option<f64>,
    /// The lower end of its 95 % interval.
    pub ratio_low: Option<f64>,
    /// The upper end.
    pub ratio_high: Option<f64>,
    /// Bytes read in one run, median.
    pub bytes_read: Option<u64>,
    /// Ranges read in one run, median.
    pub requests: Option<u64>,
    /// Rows of the answer.
    pub rows_out: Option<u64>,
    /// Rows decoded by all scans, median.
    pub rows_decoded: Option<u64>,
    /// Row groups and pages judged, median.
    pub zones_considered: Option<u64>,
    /// Row groups and pages left out, median.
    pub zones_skipped: Option<u64>,
    /// Time that judging zones took, in all partitions together, median.
    pub judging_ms: Option<f64>,
    /// The most bytes allocated at one time, in a run that wasn't timed.
    pub peak_bytes: Option<u64>,
    /// Bytes no reader could avoid, metadata included.
    pub oracle_bytes: Option<u64>,
    /// Bytes read, metadata included, over these.
    pub over_oracle: Option<f64>,
    /// The digest of the answer.
    pub answer_hash: Option<String>,
    /// Why there is no result.
    pub error: Option<String>,
}

/// Reads the records of a file.
///
/// # Errors
/// The file can't be read, or isn't an array of records.
pub fn read(path: &Path) -> Result<Vec<Record>> {
    let text = fs::read_to_string(path).with_context(|| format!("can't read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} isn't an array of results", path.display()))
}

/// Writes records to a file.
///
/// # Errors
/// The file can't be written.
pub fn write(path: &Path, records: &[Record]) -> Result<()> {
    let text = serde_json::to_string_pretty(records)? + "\n";
    fs::write(path, text).with_context(|| format!("can't write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names others rely on.
    const FIELDS: [&str; 13] = [
        "suite",
        "query",
        "engine",
        "median_ms",
        "min_ms",
        "bytes_read",
        "requests",
        "rows_out",
        "rows_decoded",
        "zones_considered",
        "zones_skipped",
        "answer_hash",
        "error",
    ];

    #[test]
    fn json_has_the_fields_it_must_and_comes_back_the_same() {
        let record = Record {
            suite: "scan".to_owned(),
            query: "wide".to_owned(),
            median_ms: Some(1.5),
            ratio_low: Some(0.9),
            ..Record::default()
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.json");
        write(&path, std::slice::from_ref(&record)).unwrap();
        let json: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        for field in FIELDS {
            assert!(json[0].get(field).is_some(), "no {field} in {json}");
        }
        assert!(json[0]["error"].is_null() && json[0]["median_ms"] == 1.5);
        assert_eq!(read(&path).unwrap(), [record]);
    }

    #[test]
    fn fields_may_be_missing_or_unknown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.json");
        fs::write(&path, r#"[{"suite": "s", "query": "q", "engine": "e", "median_ms": 2, "colour": "red"}]"#)
            .unwrap();
        let records = read(&path).unwrap();
        assert_eq!((records[0].median_ms, records[0].bytes_read), (Some(2.0), None));
        fs::write(&path, "{}").unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("isn't an array of results"));
    }
}
