// Licensed under the Apache License, Version 2.0. See LICENSE.

//! One partition's stream: claim, look once more, filter and fetch, decode and put out.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::compute::BatchCoalescer;
use arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::coop::make_cooperative;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::stream;
use trommel_scan::execute::{self, MorselBatches, read_morsel};
use trommel_scan::io::{Distance, IoCounters, RangeReader};

use super::FilteredReadExec;
use super::execution::{Claim, Execution, Morsel};
use super::executions::Joined;
use super::metrics::ScanMetrics;
use super::window::Window;

/// How many bytes all partitions of a scan of distant files read ahead, at most.
const AHEAD: u64 = 64 << 20;
/// And how many morsels, each of which makes a request or a few at a time.
const MORSELS_AHEAD: u64 = 32;

/// A partition's share of an execution, on its way out.
struct Reader {
    scan: FilteredReadExec,
    partition: usize,
    /// Joined at the first poll: nothing is worked out before.
    execution: Option<Arc<Execution>>,
    metrics: ScanMetrics,
    batch_size: usize,
    schema: SchemaRef,
    /// The fragment asked last, which stays open: the next morsel is likely to be of the same.
    file: Option<(usize, RangeReader)>,
    /// The morsels that are being read.
    ahead: Window<Arc<Morsel>, Result<ReadMorsel>>,
    /// The memory of all of these but one.
    reserved: MemoryReservation,
    /// Whether there is nothing left to claim.
    all_claimed: bool,
    /// What is left of the morsel at hand.
    morsel: Option<MorselBatches>,
    /// How long decoding it took so far.
    decoding: Duration,
    /// Gathers small batches; absent where rows mustn't wait for others, or can't be gathered.
    coalescer: Option<BatchCoalescer>,
    /// Rows put out so far.
    spent: u64,
}

/// A morsel that is filtered and fetched, and what that took.
struct ReadMorsel {
    batches: MorselBatches,
    elapsed: Duration,
    io: Arc<IoCounters>,
    asked_live: bool,
    /// How many of its rows Bloom filters excluded.
    excluded: u64,
}

/// The stream of one partition. The execution it belongs to is joined here; all work waits for a poll.
pub fn stream(
    scan: FilteredReadExec,
    partition: usize,
    execution: Joined<OnceExecution>,
    metrics: ScanMetrics,
    context: &TaskContext,
) -> SendableRecordBatchStream {
    let schema = Arc::clone(scan.properties.eq_properties.schema());
    let consumer = MemoryConsumer::new(format!("FilteredReadExec[{partition}]"));
    let reader = Reader {
        scan,
        partition,
        execution: None,
        metrics,
        batch_size: context.session_config().batch_size().max(1),
        schema: Arc::clone(&schema),
        file: None,
        ahead: Window::default(),
        reserved: consumer.register(context.memory_pool()),
        all_claimed: false,
        morsel: None,
        decoding: Duration::ZERO,
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
            if execution.limit().exhausted(self.spent) {
                return self.finish();
            }
            self.claim_ahead(&execution, joined).await;
            // What was asked for may not matter any more.
            self.ahead.retain(|morsel| execution.still_matters(morsel, &self.metrics));
            match self.ahead.next().await {
                Some((_, read)) => self.morsel = Some(self.take(read?)),
                None if self.all_claimed => return self.finish(),
                None => {}
            }
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

    /// Claims morsels until as many as are worth it are being read.
    async fn claim_ahead(&mut self, execution: &Arc<Execution>, joined: &Joined<OnceExecution>) {
        while !self.all_claimed && self.has_room(execution) {
            match execution.claim(self.partition, |other| joined.has(other), &self.metrics) {
                Claim::Done => self.all_claimed = true,
                Claim::Skipped => {}
                Claim::Morsel(morsel) => {
                    let morsel = Arc::new(morsel);
                    let io = self.file(execution, &morsel);
                    let read = read(Arc::clone(execution), Arc::clone(&morsel), io, self.batch_size);
                    self.ahead.push(morsel, Box::pin(read));
                }
            }
            // A long run of skipped units must not keep the thread from other tasks.
            tokio::task::consume_budget().await;
        }
    }

    /// Whether one more morsel may be read: one always, more where that hides the way to a distant store and
    /// as far as there is memory.
    fn has_room(&mut self, execution: &Execution) -> bool {
        if self.ahead.len() == 0 {
            self.reserved.free();
            return true;
        }
        let bytes = execution.bytes_a_morsel();
        let most = (AHEAD / bytes).min(MORSELS_AHEAD) / self.scan.partitions.max(1) as u64;
        let reserved = self.reserved.size() as u64 / bytes;
        if !execution.reads_ahead() || self.ahead.len() as u64 >= most.max(2) {
            return false;
        }
        self.ahead.len() as u64 <= reserved || self.reserved.try_grow(bytes as usize).is_ok()
    }

    /// The file of a morsel.
    fn file(&mut self, execution: &Execution, morsel: &Morsel) -> RangeReader {
        match &self.file {
            Some((at, file)) if *at == morsel.fragment => file.clone(),
            _ => {
                let fragment = execution.fragment(morsel);
                let (store, counters) = (Arc::clone(&fragment.store), Arc::default());
                let file = RangeReader::new(store, &fragment.open.fragment, fragment.distance, counters);
                self.file.insert((morsel.fragment, file)).1.clone()
            }
        }
    }

    /// Counts what reading a morsel took.
    fn take(&self, read: ReadMorsel) -> MorselBatches {
        let (metrics, dropped) = (&self.metrics, read.batches.dropped());
        metrics.add_read(read.elapsed, &read.io);
        metrics.morsels.add(1);
        metrics.morsels_asked_live.add(usize::from(read.asked_live));
        metrics.rows_decoded.add(read.batches.rows_decoded() as usize);
        metrics.rows_matched.add(read.batches.rows() as usize);
        metrics.rows_bloom.add(read.excluded as usize);
        metrics.rows_dropped.add(dropped.fixed as usize);
        metrics.rows_dropped_live.add(dropped.live as usize);
        metrics.errors.add(dropped.failures as usize);
        read.batches
    }

    /// The next rows of the morsel at hand, as many as the limit grants.
    fn decode(&mut self, execution: &Execution) -> Result<Option<RecordBatch>> {
        let Some(morsel) = &mut self.morsel else { return Ok(None) };
        let start = Instant::now();
        let Some(batch) = morsel.next(self.batch_size)? else {
            execution.costs().add(morsel, self.decoding);
            (self.morsel, self.decoding) = (None, Duration::ZERO);
            return Ok(None);
        };
        let elapsed = start.elapsed();
        self.decoding += elapsed;
        self.metrics.add_decoding(elapsed);
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
        self.reserved.free();
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

/// Filters a morsel's rows and fetches what the survivors need.
async fn read(
    execution: Arc<Execution>,
    morsel: Arc<Morsel>,
    file: RangeReader,
    batch_size: usize,
) -> Result<ReadMorsel> {
    let start = Instant::now();
    let io: Arc<IoCounters> = Arc::default();
    let file = file.with_counters(Arc::clone(&io)).with_kept(morsel.kept.clone());
    let wanted = execution.ask_blooms(&morsel, &file).await;
    let excluded = morsel.rows.len() - wanted.len();
    let plan = execution.read_plan(&morsel)?;
    let live = execution.live_steps(plan);
    let rows = execute::Morsel {
        rows: &wanted,
        proven: &morsel.proven,
        live: &live,
        at_once: file.distance() == Distance::Remote && execution.most_pages_survive(),
    };
    let open = &execution.fragment(&morsel).open;
    let batches = read_morsel(open, plan, rows, &file, batch_size).await?;
    morsel.kept.iter().for_each(|kept| kept.done());
    execution.add_survivors(wanted.len(), batches.rows());
    Ok(ReadMorsel { batches, elapsed: start.elapsed(), io, asked_live: !live.is_empty(), excluded })
}

/// Whether batches can be put together: there must be columns, and dictionaries of several row groups may
/// have more values together than their keys can tell apart.
fn can_gather(schema: &SchemaRef) -> bool {
    let mut all = schema.flattened_fields().into_iter();
    !schema.fields().is_empty() && !all.any(|field| matches!(field.data_type(), DataType::Dictionary(..)))
}
