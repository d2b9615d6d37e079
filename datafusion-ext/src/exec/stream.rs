// Licensed under the Apache License, Version 2.0. See LICENSE.

//! One partition's stream: claim, look once more, filter and fetch, decode and put out.

use std::sync::Arc;
use std::time::Instant;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::compute::BatchCoalescer;
use arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::Result;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::coop::make_cooperative;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::stream;
use trommel_scan::execute::{self, MorselBatches, read_morsel};
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
    /// The fragment read last, which stays open: the next morsel is likely to be of the same.
    file: Option<(usize, RangeReader)>,
    /// What is left of the morsel at hand.
    morsel: Option<MorselBatches>,
    /// Gathers small batches; absent where rows mustn't wait for others, or can't be gathered.
    coalescer: Option<BatchCoalescer>,
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
        file: None,
        morsel: None,
        coalescer: None,
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
        let execution = self.join(joined);
        loop {
            if let Some(batch) = self.coalescer.as_mut().and_then(BatchCoalescer::next_completed_batch) {
                return Ok(self.put_out(batch));
            }
            if let Some(batch) = self.decode(&execution)? {
                match &mut self.coalescer {
                    Some(coalescer) => coalescer.push_batch(batch)?,
                    None => return Ok(self.put_out(batch)),
                }
                continue;
            }
            let claim = match execution.limit().exhausted(self.spent) {
                true => Claim::Done,
                false => execution.claim(self.partition, |other| joined.has(other), &self.metrics),
            };
            match claim {
                Claim::Done => return self.finish(),
                Claim::Skipped => {}
                Claim::Morsel(morsel) => {
                    if let Some(morsel) = execution.last_look(morsel, &self.metrics) {
                        self.morsel = Some(self.read(&execution, &morsel).await?);
                    }
                }
            }
            // A long run of skipped units must not keep the thread from other tasks.
            tokio::task::consume_budget().await;
        }
    }

    /// The execution that this partition belongs to, joined at the first call.
    fn join(&mut self, joined: &Joined<OnceExecution>) -> Arc<Execution> {
        if let Some(execution) = &self.execution {
            return Arc::clone(execution);
        }
        let execution = joined.state().get_or_init(|| {
            // Footers were read at planning; whoever starts the execution reports it.
            self.metrics.add_planning(&self.scan.snapshot.planning_io);
            Arc::new(Execution::new(&self.scan))
        });
        if !execution.is_urgent() && can_gather(&self.schema) {
            let coalescer = BatchCoalescer::new(Arc::clone(&self.schema), self.batch_size);
            self.coalescer = Some(coalescer.with_biggest_coalesce_batch_size(Some(self.batch_size / 2)));
        }
        Arc::clone(self.execution.insert(Arc::clone(execution)))
    }

    /// Filters a morsel's rows and fetches what the survivors need.
    async fn read(&mut self, execution: &Execution, morsel: &Morsel) -> Result<MorselBatches> {
        let before = IoSoFar::of(&self.io);
        let start = Instant::now();
        let plan = execution.read_plan(morsel)?;
        let live = execution.live_steps(plan);
        let fragment = execution.fragment(morsel);
        let io = match &self.file {
            Some((at, io)) if *at == morsel.fragment => io.clone(),
            _ => {
                let (store, io) = (Arc::clone(&fragment.store), Arc::clone(&self.io));
                let io = RangeReader::new(store, &fragment.open.fragment, fragment.distance, io);
                self.file.insert((morsel.fragment, io)).1.clone()
            }
        };
        let io = io.with_kept(morsel.kept.clone());
        let rows = execute::Morsel { rows: &morsel.rows, proven: &morsel.proven, live: &live };
        let batches = read_morsel(&fragment.open, plan, rows, &io, self.batch_size).await?;
        morsel.kept.iter().for_each(|kept| kept.done());

        let (metrics, dropped) = (&self.metrics, batches.dropped());
        metrics.add_read(start.elapsed(), &IoSoFar::of(&self.io), &before);
        metrics.morsels.add(1);
        metrics.morsels_asked_live.add(usize::from(!live.is_empty()));
        metrics.rows_decoded.add(batches.rows_decoded() as usize);
        metrics.rows_matched.add(batches.rows() as usize);
        metrics.rows_dropped.add(dropped.fixed as usize);
        metrics.rows_dropped_live.add(dropped.live as usize);
        metrics.errors.add(dropped.failures as usize);
        Ok(batches)
    }

    /// The next rows of the morsel at hand, as many as the limit grants.
    fn decode(&mut self, execution: &Execution) -> Result<Option<RecordBatch>> {
        let Some(morsel) = &mut self.morsel else { return Ok(None) };
        let start = Instant::now();
        let Some(batch) = morsel.next(self.batch_size)? else {
            self.morsel = None;
            return Ok(None);
        };
        self.metrics.add_decoding(start.elapsed());
        execution.add_output(batch.rows, start.elapsed());
        let granted = execution.limit().charge(batch.rows as u64, self.spent);
        self.spent += granted;
        if granted < batch.rows as u64 {
            self.morsel = None;
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), batch.columns, &options)?;
        let batch = batch.slice(0, granted as usize);
        Ok((batch.num_rows() > 0).then_some(batch))
    }

    /// What is gathered and not put out yet.
    fn finish(&mut self) -> Result<Option<RecordBatch>> {
        let Some(coalescer) = &mut self.coalescer else { return Ok(None) };
        coalescer.finish_buffered_batch()?;
        let last = coalescer.next_completed_batch();
        Ok(last.and_then(|batch| self.put_out(batch)))
    }

    fn put_out(&self, batch: RecordBatch) -> Option<RecordBatch> {
        self.metrics.baseline.record_output(batch.num_rows());
        Some(batch)
    }
}

/// Whether batches can be put together: there must be columns, and dictionaries of several row groups may
/// have more values together than their keys can tell apart.
fn can_gather(schema: &SchemaRef) -> bool {
    let mut all = schema.flattened_fields().into_iter();
    !schema.fields().is_empty() && !all.any(|field| matches!(field.data_type(), DataType::Dictionary(..)))
}
