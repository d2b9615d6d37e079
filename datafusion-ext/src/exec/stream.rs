// Licensed under the Apache License, Version 2.0. See LICENSE.

//! One partition's stream: claim, look once more, read, put out.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::coop::make_cooperative;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::stream;
use trommel_scan::execute::{self, MorselOutput, read_morsel};
use trommel_scan::io::{IoCounters, RangeReader};

use super::FilteredReadExec;
use super::execution::{Claim, Execution, Morsel};
use super::executions::Joined;
use super::metrics::{IoSoFar, ScanMetrics};

/// A partition's share of an execution, on its way out.
struct Reader {
    scan: FilteredReadExec,
    partition: usize,
    /// Joined at the first poll: nothing is worked out before.
    execution: Option<Arc<Execution>>,
    metrics: ScanMetrics,
    io: Arc<IoCounters>,
    batch_size: usize,
    schema: SchemaRef,
    ready: VecDeque<RecordBatch>,
    /// Rows put out so far.
    spent: u64,
}

/// The stream of one partition. The execution it belongs to is joined here; all work waits for a poll.
pub fn stream(
    scan: FilteredReadExec,
    partition: usize,
    execution: Joined<OnceExecution>,
    metrics: ScanMetrics,
    batch_size: usize,
) -> SendableRecordBatchStream {
    let schema = Arc::clone(scan.properties.eq_properties.schema());
    let reader = Reader {
        scan,
        partition,
        execution: None,
        metrics,
        io: Arc::default(),
        batch_size: batch_size.max(1),
        schema: Arc::clone(&schema),
        ready: VecDeque::new(),
        spent: 0,
    };
    let batches = stream::try_unfold((reader, execution), |(mut reader, execution)| async move {
        let batch = reader.next_batch(&execution).await?;
        Ok(batch.map(|batch| (batch, (reader, execution))))
    });
    make_cooperative(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
}

/// An execution that starts when its first partition is polled.
pub type OnceExecution = std::sync::OnceLock<Arc<Execution>>;

impl Reader {
    async fn next_batch(&mut self, joined: &Joined<OnceExecution>) -> Result<Option<RecordBatch>> {
        let execution = match &self.execution {
            Some(execution) => Arc::clone(execution),
            None => {
                let execution = joined.state().get_or_init(|| {
                    // Footers were read at planning; whoever starts the execution reports it.
                    self.metrics.add_planning(&self.scan.snapshot.planning_io);
                    Arc::new(Execution::new(&self.scan))
                });
                Arc::clone(self.execution.insert(Arc::clone(execution)))
            }
        };
        loop {
            if let Some(batch) = self.ready.pop_front() {
                self.metrics.baseline.record_output(batch.num_rows());
                return Ok(Some(batch));
            }
            if execution.limit().exhausted(self.spent) {
                return Ok(None);
            }
            match execution.claim(self.partition, |other| joined.has(other), &self.metrics) {
                Claim::Done => return Ok(None),
                Claim::Skipped => {}
                Claim::Morsel(morsel) => {
                    if let Some(morsel) = execution.last_look(morsel, &self.metrics) {
                        let output = self.read(&execution, &morsel).await?;
                        self.put_out(&execution, output)?;
                    }
                }
            }
            // A long run of skipped units must not keep the thread from other tasks.
            tokio::task::consume_budget().await;
        }
    }

    async fn read(&self, execution: &Execution, morsel: &Morsel) -> Result<MorselOutput> {
        let before = IoSoFar::of(&self.io);
        let start = Instant::now();
        let plan = execution.read_plan(morsel)?;
        let fragment = execution.fragment(morsel);
        let mut reader =
            RangeReader::new(Arc::clone(&fragment.store), &fragment.open.fragment, Arc::clone(&self.io))
                .with_coalesce_gap(fragment.coalesce_gap);
        if let Some(kept) = &morsel.kept {
            reader = reader.with_kept(Arc::clone(kept));
        }
        let rows = execute::Morsel { rows: &morsel.rows, proven: &morsel.proven, params: &[] };
        let output = read_morsel(&fragment.open, plan, rows, &reader).await?;
        morsel.kept.iter().for_each(|kept| kept.done());
        self.metrics.add_read(start.elapsed(), &IoSoFar::of(&self.io), &before);
        self.metrics.morsels.add(1);
        self.metrics.rows_decoded.add(output.rows_decoded as usize);
        self.metrics.rows_matched.add(output.rows as usize);
        self.metrics.rows_dropped.add((morsel.rows.len() - output.rows) as usize);
        Ok(output)
    }

    /// Queues a morsel's rows as batches, as many as the limit grants.
    fn put_out(&mut self, execution: &Execution, output: MorselOutput) -> Result<()> {
        let rows = execution.limit().charge(output.rows, self.spent);
        self.spent += rows;
        let options = RecordBatchOptions::new().with_row_count(Some(output.rows as usize));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), output.columns, &options)?;
        let (rows, mut start) = (rows as usize, 0);
        while start < rows {
            let len = self.batch_size.min(rows - start);
            self.ready.push_back(batch.slice(start, len));
            start += len;
        }
        Ok(())
    }
}
